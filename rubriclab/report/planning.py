"""What is said of a plan, the same in a terminal and in files."""

from __future__ import annotations

from rubriclab.active_learning import InformativeCriterion, LabelPlan, SelectedText, StoppingAdvice
from rubriclab.active_learning.learning_curve import CONFIDENCE, MOST, STEP
from rubriclab.data.scale import show
from rubriclab.report import describe
from rubriclab.report.wording import count, estimate, figure
from rubriclab.validation import Interval

TITLE = 60
HALF = 0.5


def why(planned: SelectedText) -> str:
    """Return why a text is worth a label."""
    return _clue(planned.clue) if planned.clue else "none of its scores stands out"


def advised(plan: LabelPlan) -> str:
    """Return how many more labels are worth it, and what is known of that."""
    found = plan.advice
    if found is None:
        return (
            "How many more labels are worth it cannot be told from those there are: too few groups, or none of their "
            "labels is tracked once it is set aside."
        )
    bar = f"{found.threshold:g} per {STEP} labels"
    more = round(found.more.value or 0)
    if not more:
        return (
            f"No more labels are worth it at {bar}: expected held-out agreement is {estimate(found.now)} now, and "
            f"{STEP} more add less than {found.threshold:g}. {_sure(found)}"
        )
    whole = f"{MOST} or more" if more >= MOST else f"about {more}"
    labels = "label is" if more == 1 else "labels are"
    return (
        f"{whole[0].upper()}{whole[1:]} more {labels} worth it: expected held-out agreement "
        f"{figure(found.now.value)} -> {figure(found.then.value)} {_range(found.then)}; beyond that less than {bar}. "
        f"{_sure(found)}"
    )


def basis(plan: LabelPlan) -> str:
    """Return what the figures of a plan rest on."""
    return (
        f"Width: of the {CONFIDENCE:.0%} interval that the uncertain worth of the criteria leaves to a score, in "
        f"points, mean over {count(plan.pool, 'text')} without a label; {plan.width:.2f} now. Agreement: Pearson's "
        "correlation with people on groups set aside, estimated from parts of the labels so far, for texts drawn at "
        "random."
    )


def plan_row(planned: SelectedText) -> dict[str, object]:
    """Return what is planned of a text as one JSON object."""
    return {
        "rank": planned.rank,
        "gain": planned.gain,
        "width": planned.width,
        "agreement": planned.agreement,
        "why": why(planned),
    }


def _sure(found: StoppingAdvice) -> str:
    low, high = found.more.low, found.more.high
    if low is None or high is None:
        return ""
    most = f"{MOST} or more" if high >= MOST else f"{high:.0f}"
    return f"{found.labels} labels leave much open: {low:.0f} to {most} at {CONFIDENCE:.0%} confidence."


def _range(found: Interval) -> str:
    return estimate(found).removeprefix(figure(found.value)).strip()


def _clue(clue: InformativeCriterion) -> str:
    title = describe.title(clue.criterion, TITLE)
    if clue.criterion.question:
        return f"tells what “{title}” is worth: {_answer(clue)}"
    usual = show(round(clue.usual, 1))
    return f"tells what “{title}” is worth: {show(round(clue.score, 1))} here, {usual} on average so far"


def _answer(clue: InformativeCriterion) -> str:
    """Return the answer as it was given, and how common it has been; scores say whether it speaks for the text."""
    spoke, share = clue.score >= HALF, clue.usual if clue.score >= HALF else 1 - clue.usual
    yes = spoke == (clue.criterion.question is None or clue.criterion.question.better == "yes")
    return f"{'yes' if yes else 'no'} here, as for {share:.0%} so far"

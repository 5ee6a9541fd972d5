"""What a transfer comes to, in words and as rows: the same in a terminal, on a page and in a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rubriclab.report.wording import LEVELS, count, counted, estimate, figure, interval
from rubriclab.validation import FEWEST_GROUPS, Interval

if TYPE_CHECKING:
    from rubriclab.provenance import Action
    from rubriclab.transfer.advice import ActionAdvice
    from rubriclab.transfer.results import ActionEvaluation, AgreementMetrics, Transfer

# What to do, as advice begins.
ADVICE: Mapping[Action, str] = {
    "reuse": "Reuse it as it is",
    "recalibrate": "Recalibrate it",
    "reweight": "Reweight its criteria",
    "reselect": "Reweight it, choosing anew among all criteria that were considered when it was learned",
    "relearn": "Relearn it",
}
MEANING: Mapping[Action, str] = {
    "reuse": "as it is",
    "recalibrate": "a new map onto the scale",
    "reweight": "its criteria, weighed anew",
    "reselect": "all criteria once considered, chosen and weighed anew",
    "relearn": "from scratch",
}
LEGEND = (
    "error: squared distance from people, as a share of their variance: 0 is perfect, 1 is what saying the mean of "
    "every text would give"
)


def title(found: Transfer) -> str:
    """Return what was carried over where."""
    return f"{found.rubric} on {found.target}, asked of {found.judge}"


def sentences(found: Transfer) -> Iterator[str]:
    """Yield what is to be known, the advice first."""
    if found.advice:
        yield advice(found)
    else:
        yield "There are no labels to tell how well people agree with it there."
    yield from _cautions(found)
    if found.judge != found.calibrated_for:
        yield f"It is calibrated for {found.calibrated_for}; here {found.judge} was asked."
    if found.aspect != found.source_aspect:
        yield f"It was learned for {found.source_aspect}, and is held to labels of {found.aspect}."
    if not found.scale.same_ends(found.source_scale):
        ends = [f"{scale.low:g} to {scale.high:g}" for scale in (found.source_scale, found.scale)]
        yield f"Its scores are moved from the scale {ends[0]} to {ends[1]}, end to end."
    if found.agreement:
        yield agreement(found)
    if found.unscored:
        yield f"{count(found.unscored, 'text')} of {found.texts:,} could not be scored: {found.unscored_reason}"


def _cautions(found: Transfer) -> Iterator[str]:
    """Yield what keeps the advice from meaning what it seems to mean."""
    own = next(
        (each.cross_validated for each in found.actions if found.advice and each.action == found.advice.action), None
    )
    if own and own.error.value is not None and own.error.value >= 1:
        yield (
            "Even so its scores are no nearer to people than the mean label of all texts would be: by these labels "
            "nothing that can be done makes it of use there."
        )
    elif own and own.error.high is not None and own.error.high >= 1:
        yield "That its scores then come nearer to people than the mean label of all texts would is not certain."
    if own and own.groups < FEWEST_GROUPS:
        yield f"Intervals over {count(own.groups, 'group')} say little; at least {FEWEST_GROUPS} are needed."
    idle = (
        (found.agreement.n + found.agreement.unscored if found.agreement else 0) - found.labels - found.held_out_labels
    )
    if idle > 0:
        yield (
            f"{count(idle, 'more labelled text')} can check nothing, as other texts of their groups were used"
            f"{'; none are left to check what came of it' if not found.held_out_labels else ''}."
        )


def advice(found: Transfer) -> str:
    """Return what to do, and why."""
    told = found.advice
    if told is None:
        raise ValueError("expected a transfer with labels, got one without")
    if told.too_few_groups:
        other = " Another judge uses the scale in its own way." if told.action == "recalibrate" else ""
        return (
            f"{ADVICE[told.action]}, for want of anything better: labels of fewer than {FEWEST_GROUPS} groups, or "
            f"all the same, tell no difference.{other}"
        )
    if told.action == "reuse":
        return (
            f"{ADVICE['reuse']}: nothing that these labels teach makes its scores come nearer to people.{_others(told)}"
        )
    gain = f"takes {estimate(told.gain)} of the labels' variance off its squared errors"
    sure = "" if told.significant else ", which may be chance"
    rest = {
        "recalibrate": "But for texts that now share a score their order stays: for ranking alone it may be reused.",
        "reweight": "A new map onto the scale alone does less.",
        "reselect": "Its own criteria alone do less.",
        "relearn": "Nothing that was learned at home does as much.",
    }
    best = f" As the best of {len(told.compared)} by the same labels, that flatters a little."
    return f"{ADVICE[told.action]}: that {gain}{sure}.{best} {rest[told.action]}{_others(told)}"


def _others(told: ActionAdvice) -> str:
    """Return which other actions may be as good."""
    if not told.indistinguishable:
        return ""
    return f" These labels cannot tell it from: {', '.join(told.indistinguishable)}."


def agreement(found: Transfer) -> str:
    """Return how well people agree with the rubric as it is, beside home and the floors."""
    there, home = found.agreement, found.source
    if there is None:
        raise ValueError("expected a transfer with labels, got one without")
    here = f"As it is it reaches Spearman {estimate(there.spearman)} here, {LEVELS[there.level]}"
    floors = [f"{name} {figure(each.spearman.value)}" for name, each in found.baselines.items()]
    beside = f" ({', '.join(floors)})" if floors else ""
    if home is None or found.drop is None or found.drop.value is None:
        return f"{here}{beside}; what it reached at home is not known."
    return f"{here}{beside}, after {estimate(home.spearman)} on {count(home.n, 'label')} at home: {_drop(found.drop)}."


def action_row(found: ActionEvaluation) -> str:
    """Return what an action leaves, in brief."""
    what = MEANING[found.action]
    return f"{what}, {counted(found.criteria, 'criterion')}" if found.criteria else what


def brief(found: Transfer) -> str:
    """Return the advice in a word, for a table."""
    if found.advice is None:
        return "no labels"
    return found.advice.action + (" (few groups)" if found.advice.too_few_groups else "")


def csv_rows(cells: Sequence[Transfer]) -> list[dict[str, Any]]:
    """Return a row for each cell, with the same columns in all."""
    return [_csv_row(cell) for cell in cells]


def _drop(found: Interval) -> str:
    if found.low is None or found.high is None or not found.low <= 0 <= found.high:
        less = (found.value or 0) > 0
        return f"a {'drop' if less else 'rise'} of {_size(found, less)}"
    return f"the difference of {figure(found.value)} {interval(found)} may be chance"


def _size(found: Interval, less: bool) -> str:
    """Return a change without its sign."""
    if less or found.value is None:
        return estimate(found)
    low, high = (None if end is None else -end for end in (found.high, found.low))
    return estimate(Interval(value=-found.value, low=low, high=high))


def _csv_row(found: Transfer) -> dict[str, Any]:
    row: dict[str, Any] = {
        "rubric": found.rubric,
        "calibrated_for": found.calibrated_for,
        "judge": found.judge,
        "target": found.target,
        "source_aspect": found.source_aspect,
        "aspect": found.aspect,
        "texts": found.texts,
        "unscored": found.unscored,
        "labels": found.labels,
        "held_out": found.held_out_labels,
        "level": found.agreement.level if found.agreement else None,
        **_columns("source_spearman", found.source.spearman if found.source else None),
        **_columns("spearman", found.agreement.spearman if found.agreement else None),
        **_columns("pearson", found.agreement.pearson if found.agreement else None),
        **_columns("error", found.agreement.error if found.agreement else None),
        **_columns("drop", found.drop),
        "shift": found.shift.severity if found.shift else None,
        "advice": found.advice.action if found.advice else None,
    }
    by_action = {each.action: each for each in found.actions}
    for action in ADVICE:
        own = by_action.get(action)
        for name, figures in (("cross_validated", own and own.cross_validated), ("held_out", own and own.held_out)):
            row |= _figures(f"{action}_{name}", figures or None)
    return row


def _figures(name: str, found: AgreementMetrics | None) -> dict[str, Any]:
    own = _columns(f"{name}_error", found.error if found else None)
    return {**own, **_columns(f"{name}_spearman", found.spearman if found else None)}


def _columns(name: str, found: Interval | None) -> dict[str, float | None]:
    known = found or Interval(value=None)
    return {name: known.value, f"{name}_low": known.low, f"{name}_high": known.high}

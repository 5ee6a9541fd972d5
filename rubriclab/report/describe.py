"""A rubric and its criteria in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rubriclab.judges.connect import EMBEDDED
from rubriclab.models.aggregation import Bounds, Term, threshold_by_hand
from rubriclab.models.characters import count, listed
from rubriclab.models.rubric import (
    Criterion,
    Evidence,
    Part,
    Rubric,
)
from rubriclab.models.text import Scale, format_score
from rubriclab.models.version import Provenance
from rubriclab.report.wording import counted, excerpt, figure

if TYPE_CHECKING:
    from rubriclab.learning.scoring import CriterionScore
    from rubriclab.methods.method import UnitVerdict
    from rubriclab.models.version import Cell, Version

ANSWERS = ("yes", "no", "n/a")


def labels_title(provenance: Provenance) -> str:
    """Return `learned from`, or `labelled texts` if a version was only measured on them."""
    measured_only = provenance.agreement is not None and not provenance.agreement.optimistic
    return "labelled texts" if measured_only else "learned from"


def judge(version: Version) -> str:
    """Return the judge that a version was learned with, marked if it is the offline one."""
    name = version.provenance.judge
    return f"{name} (offline, no language model)" if name == EMBEDDED else name


def scales(rubric: Rubric) -> str:
    """Return the scale of the scores, and that of the criteria if it differs."""
    if rubric.aggregation and rubric.scale.whole and rubric.scores_on.same_ends(rubric.scale):
        ends = f"{format_score(rubric.scale.low)} (lowest) to {format_score(rubric.scale.high)} (highest)"
        return f"{ends}; ratings are whole numbers, scores are not"
    if rubric.scores_on.same_ends(rubric.scale):
        return rubric.scale.describe()
    return f"{rubric.scores_on.describe()}; criteria are asked on {rubric.scale.describe()}"


def threshold(rubric: Rubric) -> str:
    """Return from which score on a text passes, and where that is from; empty for a rubric without verdicts."""
    if (names := rubric.scores_on.names) is None or rubric.threshold is None:
        return ""
    by_hand, learned = (
        threshold_by_hand(rubric.aggregation) is not None,
        rubric.aggregation and rubric.aggregation.threshold,
    )
    origin = "set by hand" if by_hand else "learned from the labels" if learned is not None else "not learned"
    return f"{names[1]!r} from a score of {figure(rubric.threshold)}, {origin}"


def carried_over(provenance: Provenance) -> str:
    """Return how a version was transferred from its parent: the action, the number of labels, the former judge."""
    transfer = provenance.transfer
    if transfer is None:
        return ""
    others = f", calibrated for {transfer.judge}" if transfer.judge != provenance.judge else ""
    return f"{transfer.action} with {count(transfer.labels, 'label')} from a rubric of {transfer.aspect}{others}"


def labels(provenance: Provenance) -> str:
    """Return how many labelled texts there were."""
    if not provenance.examples:
        return "no labelled texts"
    return f"{count(len(provenance.examples), 'text')} of {count(len(provenance.groups), 'group')}"


def labels_proposed(rubric: Rubric) -> bool:
    """Return whether labelled texts were shown to the generator of the criteria."""
    return any(criterion.evidence.examples for criterion in rubric.criteria)


def contents(criteria: Sequence[Criterion]) -> str:
    """Return the numbers of criteria by kind, as `5 criteria` or `12 questions in 4 sub-dimensions`."""
    kinds = Counter[str](each.kind for each in criteria)
    traits = len({each.trait for each in criteria if each.kind == "question"})
    graded = "graded criterion" if len(kinds) > 1 else "criterion"
    words = {
        "hypothesis": counted(kinds["hypothesis"], graded),
        "question": f"{count(kinds['question'], 'question')} in {count(traits, 'sub-dimension')}",
        "score": f"{count(kinds['score'], 'score')} of the whole aspect",
        "trait": count(kinds["trait"], "rated trait"),
        "feature": count(kinds["feature"], "text feature"),
    }
    return listed(words[kind] for kind in words if kinds[kind])


def title(criterion: Criterion, most: int | None = None) -> str:
    """Return the title of a criterion: the words of a question, cut after `most`, else the trait."""
    words = criterion.statement if criterion.question else criterion.trait
    return f"{excerpt(words, most) if most else words}{polarity(criterion)}"


def distinct_titles(titles: Mapping[str, str], most: int) -> dict[str, str]:
    """Return the titles of criteria by id, cut after `most`; with the id where two would read the same."""
    cut = {name: excerpt(words, most) for name, words in titles.items()}
    counts = Counter(cut.values())
    return {name: f"{words} ({name})" if counts[words] > 1 else words for name, words in cut.items()}


def polarity(criterion: Criterion) -> str:
    """Return the remark that "no" is the better answer; empty for any other criterion."""
    return " (no is better)" if criterion.question and criterion.question.better == "no" else ""


def remark(question: Criterion, *others: str) -> str:
    """Return `others` that are not empty, what supports an answer, answers for absent content, and the origin."""
    if question.question is None:
        return "; ".join(filter(None, others))
    asked = question.question
    support = f"a fact of the {asked.support} must be named" if asked.support else ""
    stated = (("if absent", asked.absent), ("if the text is broken", asked.broken))
    presupposed = ", ".join(f"{answer} {when}" for when, answer in stated if answer)
    origin = f"{asked.origin} from {asked.seed}" if asked.seed else asked.origin
    return "; ".join(filter(None, (*others, support, presupposed, origin)))


# What a part's criteria are asked of, by the kind of unit.
PIECES = {
    "sentence": "each sentence",
    "sentence pair": "each pair of neighbouring sentences",
    "fact": "each single fact that the text states",
    "response": "the whole text",
    "triple": "the whole text",
}


def units(part: Part) -> str:
    """Return the units of a text, what the judge sees beside them, and who sets weights; empty for whole texts."""
    if part.units is None:
        return ""
    beside = f", beside its {listed(part.units.beside)}" if part.units.beside else ""
    asked = sum(criterion.question is not None for criterion in part.criteria)
    judge = asked > 1 and "judge" in (part.settings.get("weights"), part.units.weights)
    weighed_anew = part.settings.get("weights") in ("as packed", "judge")
    weighed = "; the judge sets the weights of the questions for each text" if judge and weighed_anew else ""
    return f"Asked of {PIECES[part.units.kind]}{beside}{weighed}."


def verdict(unit: UnitVerdict) -> str:
    """Return the verdict on a unit: `holds`, `fails`, a share of the scale, or `none`."""
    if unit.value is None:
        return "none"
    if unit.value in (0, 1):
        return "holds" if unit.value else "fails"
    return f"{unit.value:.0%} of the scale"


def terms(rubric: Rubric) -> dict[str, Term]:
    """Return the term of each criterion by its id; empty for a rubric without aggregation."""
    return {term.criterion: term for term in rubric.aggregation.terms} if rubric.aggregation else {}


def weight(term: Term) -> str:
    """Return a weight with its interval, as `19 % [14, 25]`."""
    return f"{_percent(term.weight)} % [{_percent(term.low)}, {_percent(term.high)}]"


def weighing(term: Term | None) -> str:
    """Return the weight and how often it was selected over resamples of the training groups; empty without any."""
    if term is None:
        return ""
    set_by_hand = f", {limits(term.bounds)} by hand" if term.bounds else ""
    return f"weight {weight(term)}{set_by_hand}, chosen in {percent(term.selected)} of resamples"


def limits(bounds: Bounds | None) -> str:
    """Return the limits that a person set for a weight; empty if it is fitted freely."""
    if bounds is None:
        return ""
    low, high = bounds
    return f"pinned to {percent(low)}" if low == high else f"limited to {percent(low)} to {percent(high)}"


def question_weight(part: Part, question: Criterion, terms: Mapping[str, Term]) -> str:
    """Return the weight of a question; empty if there is no aggregation and all weights are equal."""
    if question.id in terms:
        return weighing(terms[question.id])
    same = len({each.weight for each in part.criteria if each.question}) == 1
    return "" if same else f"weight {format_score(round(question.weight, 2))}"


def correlation_name(rubric: Rubric) -> str:
    """Return what the correlation of a single criterion with the labels is called."""
    return "correlation with passing" if rubric.scores_on.names else "Pearson"


def evaluator_agreement(criterion: Criterion, correlation: str, term: Term | None = None) -> str:
    """Return the weight of a criterion, if there are others, and its correlation with the training labels."""
    agreement = training_correlation(criterion.evidence, correlation)
    if term is not None:
        return f"{weighing(term)}; {agreement}"
    if criterion.kind == "score":
        return agreement if criterion.evidence.judged else ""
    return f"weight {format_score(criterion.weight)}; {agreement}"


def training_correlation(evidence: Evidence, correlation: str) -> str:
    """Return the correlation of a criterion with the training labels, by its name; see `correlation_name`."""
    if not evidence.judged:
        return "not rated on the training texts"
    missing = f", {evidence.missing} missing" if evidence.missing else ""
    return f"{correlation} {figure(evidence.pearson)} on {evidence.judged} training texts{missing}{_heldout(evidence)}"


def _heldout(evidence: Evidence) -> str:
    return "" if evidence.heldout is None else f"; held out {figure(evidence.heldout)}"


def question_figures(evidence: Evidence, correlation: str) -> str:
    """Return a question's answers on the training texts and their correlation with the labels; empty if unasked."""
    alone = f"{correlation} {figure(evidence.pearson)}{_heldout(evidence)}" if evidence.judged else ""
    given = f"from the reasons for {reasons(evidence)}" if evidence.reasons else ""
    return "; ".join(filter(None, (answers(evidence), alone, given)))


def answers(evidence: Evidence) -> str:
    """Return the count of each answer on the training texts; empty if unknown."""
    if evidence.answers is None:
        return ""
    counts = evidence.answers
    parts = [f"{counts.get(answer, 0)} {answer}" for answer in ANSWERS if answer != "n/a" or counts.get(answer)]
    missing = evidence.judged + evidence.missing - sum(counts.values())
    return ", ".join([*parts, f"{missing} missing"] if missing > 0 else parts)


def answered(part: CriterionScore | Cell, criterion: Criterion | None, *, whole: bool = True) -> str:
    """Return a rating of a text: a score, or a question's `yes`, `no` or `n/a`.

    Questions that were asked of units instead of the `whole` text may have a score between both answers.
    """
    if part.score is None:
        return "none" if part.applies else "n/a"
    if criterion is None or criterion.question is None or part.score not in (0, 1) or not whole:
        return format_score(round(part.score, 2))
    better = criterion.question.better
    return better if part.score == 1 else {"yes": "no", "no": "yes"}[better]


def label(score: float, scale: Scale) -> str:
    """Return a label to two decimals, or the name of its level."""
    return repr(scale.names[int(score)]) if scale.names and score in (0, 1) else rounded(score)


def rounded(score: float | None) -> str:
    """Return a score to two decimals, or `none`."""
    return "none" if score is None else format_score(round(score, 2))


def score_interval(ends: tuple[float, float]) -> str:
    """Return the interval of a score, as `[2.5, 3.75]`."""
    low, high = (format_score(round(end, 2)) for end in ends)
    return f"[{low}, {high}]"


def origin(evidence: Evidence) -> str:
    """Return the origin of a criterion, with the numbers of texts and findings that the generator saw."""
    saw = [count(len(evidence.examples), "text")] if evidence.examples else []
    saw += [count(len(evidence.findings), "finding")] if evidence.findings else []
    saw += [f"from {count(len(evidence.reasons), 'reason')}"] if evidence.reasons else []
    refined = f", refined {count(evidence.refined, 'time')}" if evidence.refined else ""
    return f"{evidence.origin}{f' ({listed(saw)})' if saw else ''}{refined}"


def reasons(evidence: Evidence) -> str:
    """Return the raters' reasons that a criterion came from, as `a1-s3 (anna, ben), a1-s4`; empty without any."""
    raters: dict[str, list[str]] = {}
    for reason in evidence.reasons:
        raters.setdefault(reason.example, []).extend([reason.rater] if reason.rater else [])
    return ", ".join(f"{text} ({', '.join(names)})" if names else text for text, names in raters.items())


def carried(criterion: Criterion) -> str:
    """Return the warning that a rubric contains the labelled texts that its judge is shown."""
    texts = criterion.demonstrations
    sources = " with their sources" if any(each.source or each.context for each in texts) else ""
    return (
        f"The judge is shown {count(len(texts), 'labelled text')}{sources}, in full. This rubric and every pack of it "
        "contain them: consider that before sharing it."
    )


def percent(share: float) -> str:
    """Return a share as `19 %`."""
    return f"{_percent(share)} %"


def _percent(share: float) -> str:
    return f"{100 * share:z.0f}"

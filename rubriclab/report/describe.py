"""What is said of a rubric and its criteria, the same in a terminal and on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rubriclab.aggregation import Term
from rubriclab.data.scale import show
from rubriclab.provenance import Provenance
from rubriclab.report.wording import count, counted, excerpt, figure, listed
from rubriclab.rubric import Criterion, Evidence, Part, Rubric

if TYPE_CHECKING:
    from rubriclab.methods.method import UnitVerdict
    from rubriclab.scoring.score import CriterionScore
    from rubriclab.store.version import Version
    from rubriclab.training_record import Cell

ANSWERS = ("yes", "no", "n/a")


def labels_title(made: Provenance) -> str:
    """Return what the labelled texts were to a version: what it learned from, or what it was only measured on."""
    measured_only = made.agreement is not None and not made.agreement.optimistic
    return "labelled texts" if measured_only else "learned from"


def version_origin(version: Version) -> str:
    """Return where a version came from, and whether the judge that it names is asked without being named."""
    if not version.imported:
        return "learned in this store"
    if version.confirmed:
        return "imported, and confirmed by you: its judge is asked"
    return f"imported: its judge is asked only with --judge, or after: rubriclab trust {version.ref}"


def scales(rubric: Rubric) -> str:
    """Return the scale that scores are on, and the one that criteria are asked on where it is another."""
    if rubric.scores_on.same_ends(rubric.scale):
        return rubric.scale.describe()
    return f"{rubric.scores_on.describe()}; criteria are asked on {rubric.scale.describe()}"


def carried_over(made: Provenance) -> str:
    """Return how a version came from its parent: what was learned anew, from how many labels, for another judge."""
    came = made.transfer
    if came is None:
        return ""
    others = f", which was calibrated for {came.judge}" if came.judge != made.judge else ""
    return f"{came.action} with {count(came.labels, 'label')} from a rubric of {came.aspect}{others}"


def labels(made: Provenance) -> str:
    """Return how many labelled texts there were."""
    if not made.examples:
        return "no labelled texts"
    return f"{count(len(made.examples), 'text')} of {count(len(made.groups), 'group')}"


def labels_proposed(rubric: Rubric) -> bool:
    """Return whether whoever proposed the criteria saw labelled texts."""
    return any(criterion.evidence.examples for criterion in rubric.criteria)


def reselection(rubric: Rubric) -> str:
    """Return what to keep in mind of a figure for which each group's labels were set aside in turn."""
    if labels_proposed(rubric):
        return "optimistic too: other groups' labels chose the criteria, but labels helped to propose them"
    return "each group by what the other groups' labels chose"


def tally(criteria: Sequence[Criterion], which: str = "") -> str:
    """Return `3 questions` if they are all questions, else `3 criteria`; `which` stands before the noun."""
    if criteria and all(criterion.kind == "question" for criterion in criteria):
        return count(len(criteria), f"{which}question")
    return counted(len(criteria), f"{which}criterion")


def contents(criteria: Sequence[Criterion]) -> str:
    """Return what a rubric consists of, such as `5 criteria` or `12 questions in 4 sub-dimensions`."""
    kinds = [
        [each for each in criteria if each.kind == kind] for kind in ("hypothesis", "question", "score", "measure")
    ]
    hypotheses, questions, scores, measures = kinds
    traits = {question.trait for question in questions}
    mixed = sum(map(bool, kinds)) > 1
    told = (
        counted(len(hypotheses), "graded criterion" if mixed else "criterion"),
        f"{count(len(questions), 'question')} in {count(len(traits), 'sub-dimension')}",
        f"{count(len(scores), 'score')} of the whole aspect",
        count(len(measures), "surface measure"),
    )
    return listed(words for words, found in zip(told, kinds, strict=True) if found)


def title(criterion: Criterion, most: int | None = None) -> str:
    """Return what a criterion is called: a question by its words, cut after `most`, any other one by its trait."""
    words = criterion.statement if criterion.question else criterion.trait
    return f"{excerpt(words, most) if most else words}{polarity(criterion)}"


def polarity(criterion: Criterion) -> str:
    """Return the remark on a question to which "no" speaks for the text; empty for any other criterion."""
    return " (no is better)" if criterion.question and criterion.question.better == "no" else ""


def source(criterion: Criterion) -> str:
    """Return how a question came about, such as `diversified from s01`; empty for any other criterion."""
    if criterion.question is None:
        return ""
    made = criterion.question
    return f"{made.origin} from {made.seed}" if made.seed else made.origin


def remark(question: Criterion, *others: str) -> str:
    """Return what is said beside a question: `others`, where they are not empty, and how it came about."""
    return "; ".join(filter(None, (*others, support(question), presupposed(question), source(question))))


def presupposed(criterion: Criterion) -> str:
    """Return which answers are stated for what is absent and for a broken text; empty where none are."""
    said = criterion.question
    stated = (("if absent", said and said.absent), ("if the text is broken", said and said.broken))
    return ", ".join(f"{answer} {when}" for when, answer in stated if answer)


def support(criterion: Criterion) -> str:
    """Return what a yes has to be borne out by; empty where the judge simply says it."""
    bearing = criterion.question.support if criterion.question else None
    return f"a fact of the {bearing} must be named" if bearing else ""


# What a part's criteria are asked of, by the kind of unit.
PIECES = {
    "sentence": "each sentence",
    "sentence pair": "each pair of neighbouring sentences",
    "fact": "each single fact that the text states",
    "response": "the whole text",
    "triple": "the whole text",
}


def units(part: Part) -> str:
    """Return what a text is taken apart into, what that is held against and who weighs; empty for whole texts."""
    if part.units is None:
        return ""
    beside = f", beside its {listed(part.units.beside)}" if part.units.beside else ""
    asked = sum(criterion.question is not None for criterion in part.criteria)
    judge = asked > 1 and "judge" in (part.settings.get("weights"), part.units.weights)
    own = part.settings.get("weights") in ("as packed", "judge")
    weighed = "; the judge weighs the questions for each text anew" if judge and own else ""
    return f"Asked of {PIECES[part.units.kind]}{beside}{weighed}."


def verdict(found: UnitVerdict) -> str:
    """Return what was found of a unit, in a word: `holds`, `fails`, a share of the scale, or `none`."""
    if found.value is None:
        return "none"
    if found.value in (0, 1):
        return "holds" if found.value else "fails"
    return f"{found.value:.0%} of the scale"


def terms(rubric: Rubric) -> dict[str, Term]:
    """Return what each criterion counts for, by its id; empty for a rubric that combines nothing."""
    return {term.criterion: term for term in rubric.aggregation.terms} if rubric.aggregation else {}


def weight(term: Term) -> str:
    """Return a share of the whole with its interval, as `19 % [14, 25]`."""
    return f"{_percent(term.weight)} % [{_percent(term.low)}, {_percent(term.high)}]"


def selected(term: Term) -> str:
    """Return how often a criterion was chosen when the training groups were drawn anew, as `94 %`."""
    return f"{_percent(term.selected)} %"


def weighing(term: Term | None) -> str:
    """Return what a criterion counts for and how firmly it was chosen; empty where nothing is combined."""
    return "" if term is None else f"weight {weight(term)}, chosen in {selected(term)} of resamples"


def question_weight(part: Part, question: Criterion, terms: Mapping[str, Term]) -> str:
    """Return what one of a part's questions counts for; empty where nothing is combined and all count the same."""
    if question.id in terms:
        return weighing(terms[question.id])
    same = len({each.weight for each in part.criteria if each.question}) == 1
    return "" if same else f"weight {show(round(question.weight, 2))}"


def evaluator_agreement(criterion: Criterion, term: Term | None = None) -> str:
    """Return the weight, where a criterion shares the score with others, and how it went with the training labels."""
    if term is not None:
        return f"{weighing(term)}; {training_pearson(criterion.evidence)}"
    if criterion.kind == "score":
        return training_pearson(criterion.evidence) if criterion.evidence.judged else ""
    return f"weight {show(criterion.weight)}; {training_pearson(criterion.evidence)}"


def training_pearson(evidence: Evidence) -> str:
    """Return how a criterion went with the training labels."""
    if not evidence.judged:
        return "not rated on the training texts"
    missing = f", {evidence.missing} missing" if evidence.missing else ""
    held_out = f"; {heldout(evidence)}" if evidence.heldout is not None else ""
    return f"Pearson {figure(evidence.pearson)} on {evidence.judged} training texts{missing}{held_out}"


def heldout(evidence: Evidence) -> str:
    """Return how a criterion went with labels that were kept from it; empty where that is not known."""
    return "" if evidence.heldout is None else f"held out {figure(evidence.heldout)}"


def question_figures(evidence: Evidence) -> str:
    """Return a question's answers on the training texts and how they go with the labels; empty if it was not asked."""
    pearson = f"Pearson {figure(evidence.pearson)}" if evidence.judged else ""
    return "; ".join(filter(None, (answers(evidence), pearson, heldout(evidence))))


def answers(evidence: Evidence) -> str:
    """Return how often each answer was given on the training texts; empty where that is not known."""
    if evidence.answers is None:
        return ""
    found = evidence.answers
    given = [f"{found.get(answer, 0)} {answer}" for answer in ANSWERS if answer != "n/a" or found.get(answer)]
    missing = evidence.judged + evidence.missing - sum(found.values())
    return ", ".join([*given, f"{missing} missing"] if missing > 0 else given)


def answered(part: CriterionScore | Cell, criterion: Criterion | None, *, whole: bool = True) -> str:
    """Return what the judge said of a text by one criterion: a score, or a question's `yes`, `no` or `n/a`.

    Questions that were not asked of the `whole` text, but in parts or units, may have a score between both answers,
    shown to two decimals.
    """
    if part.score is None:
        return "none" if part.applies else "n/a"
    if criterion is None or criterion.question is None or part.score not in (0, 1) or not whole:
        return show(round(part.score, 2))
    better = criterion.question.better
    return better if part.score == 1 else {"yes": "no", "no": "yes"}[better]


def rounded(score: float | None) -> str:
    """Return a score to two decimals, or `none`."""
    return "none" if score is None else show(round(score, 2))


def contribution(points: float) -> str:
    """Return what a criterion adds to the score of an average text, as `added +0.40`."""
    return f"added {points:+.2f}"


def score_interval(ends: tuple[float, float]) -> str:
    """Return what holds the score that people would give, as `[2.5, 3.75]`."""
    low, high = (show(round(end, 2)) for end in ends)
    return f"[{low}, {high}]"


def origin(evidence: Evidence) -> str:
    """Return where a criterion came from, with how much of what the generator saw."""
    saw = [count(len(evidence.examples), "text")] if evidence.examples else []
    saw += [count(len(evidence.findings), "finding")] if evidence.findings else []
    refined = f", refined {count(evidence.refined, 'time')}" if evidence.refined else ""
    return f"{evidence.origin}{f' ({listed(saw)})' if saw else ''}{refined}"


def carried(criterion: Criterion) -> str:
    """Return that whoever has the rubric has the labelled texts that are shown with this criterion."""
    texts = criterion.demonstrations
    sources = " with their sources" if any(each.source or each.context for each in texts) else ""
    return (
        f"The judge is shown {count(len(texts), 'labelled text')}{sources}, in full. This rubric and every pack of it "
        "hold them: mind that before you share it."
    )


def _percent(share: float) -> str:
    return f"{100 * share:z.0f}"

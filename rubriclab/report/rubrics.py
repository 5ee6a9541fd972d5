"""Views of rubrics: the conclusion on one, its criteria, how it was trained, and why a text has its score."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import orjson
from markupsafe import Markup

from rubriclab.learning.verdicts import LevelAgreement, level_agreement
from rubriclab.models.aggregation import Term
from rubriclab.models.characters import count, listed
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.text import Scale
from rubriclab.models.version import (
    CALIBRATED,
    DIRECT,
    MAX_LABELS,
    EvaluatorAgreement,
    GateVerdict,
    Measures,
    Outcome,
    RecordedText,
    TrainingRecord,
    Validation,
    VerdictAgreement,
)
from rubriclab.ops.versions import Disagreement, Disagreements, missing_record
from rubriclab.prompts.render import prompts_digest
from rubriclab.report import charts, wording
from rubriclab.report.render import View, data, macro, q, view
from rubriclab.report.wording import estimate, figure
from rubriclab.stats.agreement import ScoreErrors
from rubriclab.stats.intervals import MIN_GROUPS, Interval

if TYPE_CHECKING:
    from rubriclab.models.version import EditChange, HeldOutBy, Version
    from rubriclab.ops.explain import ScoreExplanation
    from rubriclab.store.store import Store


class Badge(NamedTuple):
    """The result in a word or two, its tone, what it is compared with, and the figures that it rests on."""

    words: str
    tone: Literal["good", "warning", "bad"]
    remark: str = ""
    figures: str = ""


# The conclusion.

TONES: Mapping[str, Literal["good", "warning", "bad"]] = {"better": "good", "worse": "bad", "not better": "bad"}
# What stands between a verdict and what it is compared with.
LINKS: Mapping[str, str] = {"better": "than", "worse": "than", "not better": "over"}
UNKNOWN = Badge("no comparison made", "warning")


def verdict_line(version: Version) -> Markup:
    """Return the verdict of learning in one line, for results of a version, and the warning about an offline judge."""
    return macro("verdict_line", version)


def rated_offline(version: Version) -> bool:
    """Return whether the offline judge rated texts: a method without prompts asks no judge."""
    return version.provenance.judge == "embedded" and version.provenance.prompts != prompts_digest(())


def verdict(version: Version) -> str:
    """Return the verdict in words: the same wherever it stands."""
    badge = badge_of(version)
    figures = f" ({badge.figures})" if badge.figures else ""
    return f"{badge.words[0].upper()}{badge.words[1:]} {badge.remark}{figures}".strip()


def badge_of(version: Version) -> Badge:
    validation = version.provenance.validation
    if validation is None:
        return UNKNOWN
    deciding, measures = validation.deciding, validation.measures
    other = wording.evaluator_name(deciding.against)
    if deciding is validation.free:
        other = f"the best free baseline, {other}"
    rubric, rival = wording.rubric_agreement(validation), _by_name(validation).get(deciding.against)
    figures = [
        f"{name} {figure(own.value)} instead of {figure(theirs.value)}{unit}"
        for name, unit, own, theirs in (
            (measures.error, measures.unit, rubric.error, rival and rival.error),
            (measures.order, "", rubric.order, rival and rival.order),
        )
        if own and theirs
    ]
    found = deciding.overall
    remark = f"{LINKS.get(found, 'compared with')} {other}"
    return Badge(wording.outcome(found), TONES.get(found, "warning"), remark, ", ".join(figures))


def in_words(verdict: GateVerdict) -> tuple[str, str]:
    """Return what the gain in error and the one in order show; empty without a gain, or where it decides nothing."""

    def words(outcome: Outcome | None, gain: Interval | None) -> str:
        if outcome is None or gain is None or gain.value is None:
            return ""
        if gain.low is None and verdict.few_groups is not None:
            return "too few groups to tell"
        return wording.outcome(outcome)

    return words(verdict.error_outcome, verdict.less_error), words(verdict.outcome, verdict.difference)


def meanings(verdicts: Sequence[GateVerdict], measures: Measures) -> list[tuple[str, str]]:
    """Return what each word means that can be said of a gain, if one is said of these."""
    said = {words for each in verdicts for words in in_words(each)}
    known = {
        "better": "the interval of the gain is above 0",
        "worse": "the interval of the gain is below 0",
        wording.outcome("not better"): f"a gain that would matter ({wording.least_gain(measures)}) is ruled out",
        "inconclusive": "such a gain is not ruled out",
    }
    return list(known.items()) if any(said) else []


def grounds(verdict: GateVerdict, measures: Measures, level: str) -> str:
    """Return what each gain shows, as `Worse in error, no real gain in Pearson over all texts`."""
    names = dict[str, list[str]]({wording.outcome(verdict.overall): []})
    for words, name in zip(
        in_words(verdict), (wording.error_name(measures), f"{measures.order} {wording.LEVELS[level]}"), strict=True
    ):
        names.setdefault(words, []).append(name)
    found = ", ".join(f"{words} in {listed(those)}" for words, those in names.items() if words and those)
    return found[:1].upper() + found[1:]


def rivals(validation: Validation) -> Iterator[tuple[EvaluatorAgreement, GateVerdict]]:
    """Yield what decides, as far as it was measured: the judge asked directly, as it comes and calibrated, and free."""
    by_name = _by_name(validation)
    for name in (DIRECT, CALIBRATED, validation.free.against):
        if (found := validation.against(name)) and name in by_name:
            yield by_name[name], found


def _by_name(validation: Validation) -> dict[str, EvaluatorAgreement]:
    return {each.name: each for each in validation.evaluators}


def more_labels(deciding: GateVerdict) -> str:
    """Return what to label for a decision, as a sentence without its full stop."""
    if deciding.few_groups is not None:
        return f"Label texts of at least {count(max(MIN_GROUPS - deciding.few_groups, 1), 'more group')} (sources)"
    if deciding.outcome != "inconclusive":
        return "Label more texts from new sources: these cannot tell the errors apart"
    if deciding.more_labels is None or deciding.more_labels.even is None:
        return (
            f"A decision would take more than {MAX_LABELS} more labels: treat the rubric and what it is compared with "
            "as equal, or try another judge or definition"
        )
    even, likely = deciding.more_labels.even, deciding.more_labels.likely
    labels = f"Label about {even} more texts from new sources for an even chance of a decision"
    return labels if even == likely else f"{labels}, {likely or f'more than {MAX_LABELS}'} for four chances in five"


# Edits of rubrics.

# How the held-out agreement of a version was measured.
HELD_OUT_BY: Mapping[HeldOutBy, str] = {
    "learning": "by cross-validation of the whole learning procedure",
    "transfer": "by cross-validation of the transfer",
    "edit": "by refitting the edited rubric on fixed folds",
}
CHANGES = {
    "drop": "dropped",
    "reword": "reworded",
    "merge": "merged",
    "add": "added",
    "pin": "weight pinned",
    "bound": "weight bounded",
    "threshold": "threshold set",
    "definition": "definition changed",
}


def change_in_agreement(statistic: str, difference: Interval, folds: int, labels: int) -> str:
    """Return a paired difference in one sentence; `folds` is 0 where nothing was fitted to the labels."""
    if difference.value is None:
        return "Held-out agreement is undefined: the labels or the scores do not vary."
    name = f"Held-out {statistic}" if folds else statistic[0].upper() + statistic[1:]
    change = f"{name} changes by {estimate(difference)}"
    if difference.low is None or difference.high is None:
        return f"{change}, without an interval: there are too few groups."
    if difference.low > 0:
        return f"{change}: the edited rubric agrees better with these labels."
    if difference.high < 0:
        return f"{change}: the edited rubric agrees less with these labels."
    return f"{change}: no difference can be told with {count(labels, 'label')}."


def edited_sentence(version: Version) -> str:
    """Return who edited a version, and its agreement beside its parent's; empty for a version that nobody edited."""
    edit = version.provenance.edit
    if edit is None:
        return ""
    parent = f" from {version.parent}" if version.parent else ""
    if edit.difference.value is None:
        return f"Edited by {edit.author}{parent}; the effect on agreement is not known."
    held_out = "held-out " if edit.folds else ""
    return (
        f"Edited by {edit.author}{parent}: {held_out}{edit.statistic} {figure(edit.before.value)} before, "
        f"{figure(edit.after.value)} after on the same {count(edit.labels, 'label')}, difference "
        f"{estimate(edit.difference)}. This is optimistic if the edit was made with these labels in view."
    )


def change_words(change: EditChange) -> str:
    which = ", ".join(change.criteria)
    if change.action in ("pin", "bound"):
        return f"{which}: {change.after}"
    if change.action == "threshold":
        return f"{change.before} to {change.after}"
    if change.after is None:
        return which
    wording = f"{change.result}: {change.after}" if change.result else change.after
    return f"{which} to {wording}" if which else wording


# Versions and their criteria.


def version_view(version: Version) -> View:
    """Return the rubric with its origin, its agreement with people, and its criteria one by one."""
    return view("version", version=version, evidence=False)


def evidence_view(version: Version) -> View:
    """Return everything that is known of a version: its criteria with evidence, what was dropped, and its training."""
    return view("version", version=version, evidence=True, unfolded=True)


def sub_dimensions(part: Part) -> list[tuple[str, str, list[Criterion]]]:
    """Return each sub-dimension with its definition and questions, in the order in which the first of each comes."""
    definitions = part.dimensions or {}
    questions: dict[str, list[Criterion]] = {}
    for criterion in part.criteria:
        if criterion.kind == "question":
            questions.setdefault(criterion.trait, []).append(criterion)
    return [(name, definitions.get(name, ""), group) for name, group in questions.items()]


def setting(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


# Training.

KINDS = {"rubric": "", "judged": "with a judge:", "baseline": "free baselines:"}
KIND: Mapping[str, Literal["", "baseline", "total"]] = {"rubric": "total", "judged": "", "baseline": "baseline"}


def learned_view(version: Version) -> View:
    """Return what learning ends with, on one screen: the conclusion, the main criteria, and what scoring costs."""
    rows = weighted_criteria(version)
    titles = wording.distinct_titles({row.criterion.id: wording.title(row.criterion) for row in rows}, EXCERPT)
    return view("learned", version=version, rows=rows, titles=titles)


def report(store: Store, ref: str) -> str:
    """Return a page on how a version was trained, as one HTML document; NotInStore if there is no such version."""
    version = store.load(ref)
    return training_view(version, store.training(version.ref)).page()


def training_view(version: Version, record: TrainingRecord | None) -> View:
    """Return how `version` was trained, with the texts and ratings of its `record` if there is one."""
    unknown = "" if record else f"{missing_record(version)} This page leaves out what needs them."
    return view("training", version=version, record=record, unknown=unknown)


def overview(version: Version) -> View:
    return view("training", version=version, record=None, unknown="")


def levels_of(version: Version, record: TrainingRecord) -> LevelAgreement | None:
    """Return the agreement of the held-out scores in whole levels; `None` unless there are few."""
    labels, scores = (
        np.array(values, dtype=float) for values in zip(*((t.label, t.predicted) for t in record.texts), strict=True)
    )
    return level_agreement(scores, labels, [text.group for text in record.texts], version.rubric.scores_on)


def evaluators_by_kind(validation: Validation) -> Iterator[tuple[str, list[EvaluatorAgreement]]]:
    """Yield every evaluator by kind, the best by held-out agreement in order first, those without one last."""
    ranked = sorted(validation.evaluators, key=lambda each: math.inf if each.order.value is None else -each.order.value)
    for kind, title in KINDS.items():
        if chosen := [evaluator for evaluator in ranked if evaluator.kind == kind]:
            yield title, chosen


def error_cells(errors: ScoreErrors | None) -> list[Interval | str]:
    """Return the error, bias and share near the labels for a table."""
    if errors is None:
        return ["", "", ""]
    return [errors.absolute, f"{errors.bias:+.2f}", wording.percent(errors.near)]


def predicted(record: TrainingRecord) -> list[tuple[float, float]]:
    """Return each label with the held-out score of its text, where that has one."""
    return [(text.label, text.predicted) for text in record.texts if text.predicted is not None]


EXCERPT = 150
CALIBRATIONS: Mapping[str, str] = {
    "none": "the mean of the judge's scores",
    "linear": "a straight line",
    "isotonic": "increasing steps",
    "logistic": "a logistic curve",
}


class WeightedCriterion(NamedTuple):
    criterion: Criterion
    term: Term

    @property
    def percent(self) -> Interval:
        """The weight with its interval, in percent of all weights."""
        return Interval(100 * self.term.weight, 100 * self.term.low, 100 * self.term.high)


def ends(criterion: Criterion) -> tuple[Markup, Markup]:
    """Return what a text of the lowest and of the highest score is like by a criterion."""
    if criterion.levels:
        low, high = criterion.levels[0].description, criterion.levels[-1].description
    elif criterion.question:
        low, high = ("yes", "no") if criterion.question.better == "no" else ("no", "yes")
    else:
        return Markup(), Markup()
    return q(wording.excerpt(low, EXCERPT)), q(wording.excerpt(high, EXCERPT))


def weighted_criteria(version: Version) -> list[WeightedCriterion]:
    """Return the criteria of a rubric that combines several methods, the largest weights first."""
    terms = wording.terms(version.rubric)
    rows = [WeightedCriterion(each, terms[each.id]) for each in version.rubric.criteria if each.id in terms]
    return sorted(rows, key=lambda row: -abs(row.term.weight))


# The texts that a rubric was learned from.

TITLE, MATRIX_COLUMNS = 60, 6


def distance(text: RecordedText) -> float:
    """Return how far the predicted score lies from the label, in points; 0 without a score."""
    return 0.0 if text.predicted is None else abs(text.predicted - text.label)


def disagreements_view(found: Disagreements) -> View:
    """Return the texts as a report of their own, in a terminal too."""
    return view("disagreements", found=found, unfolded=True)


def disagreement_card(axis: charts.Axis, scale: Scale, disagreement: Disagreement, *, full: bool = False) -> Markup:
    """Return a text on the axis, and folded every criterion's score and reason, with the `full` text if asked for."""
    return macro("disagreement_card", axis, scale, disagreement, opened=False, full=full)


def answers_of(disagreement: Disagreement) -> Iterator[tuple[Markup, str, Markup]]:
    """Yield every criterion with its rating of a text and the reason."""
    for candidate, cell in disagreement.answers:
        title = q(wording.title(candidate.criterion, TITLE))
        yield title, wording.answered(cell, candidate.criterion), q(cell.reason)


def raters_words(text: RecordedText, scale: Scale) -> str:
    """Return the raters' scores without their names, each with its reason, and the reasons of unknown raters."""
    scores = {name: wording.label(mark, scale) for name, mark in text.raters.items()}
    given = {name: f"{scores.get(name, '')}: {reason}".removeprefix(": ") for name, reason in text.reasons.items()}
    return f"raters {('; ' if given else ', ').join({**scores, **given}.values())}" if scores or given else ""


def score_axis_of(version: Version, texts: Sequence[RecordedText]) -> charts.Axis:
    """Return the axis that holds the scale and every label and score of the texts."""
    marks = [mark for text in texts for mark in (text.label, *text.raters.values())]
    scores = [Interval(text.predicted, text.low, text.high) for text in texts]
    return charts.axis_of(scores, version.rubric.scores_on.low, version.rubric.scores_on.high, *marks)


def matrix_view(version: Version, record: TrainingRecord) -> View:
    """Return the matrix, the criteria that the rubric kept first, and below it what each criterion is."""
    places, scale = ranked(record), version.rubric.scores_on
    tables = []
    for start in range(0, len(places), MATRIX_COLUMNS):
        some = [(place, record.candidates[place].criterion) for place in places[start : start + MATRIX_COLUMNS]]
        rows = [
            [
                *(q(text.id), wording.label(text.label, scale), wording.rounded(text.predicted)),
                *(wording.answered(cells[place], criterion) for place, criterion in some),
            ]
            for text, cells in zip(record.texts, record.cells, strict=True)
        ]
        tables.append(([f"+{criterion.id}" for _, criterion in some], rows))
    kept = sum(candidate.kept for candidate in record.candidates)
    return view("matrix", record=record, tables=tables, places=places, kept=kept)


def ranked(record: TrainingRecord) -> list[int]:
    """Return the places of the candidates, those that the rubric kept first."""
    return sorted(range(len(record.candidates)), key=lambda place: not record.candidates[place].kept)


def matrix_rows(record: TrainingRecord) -> Iterator[dict[str, Any]]:
    """Yield the matrix text by text, kept criteria first; `reason` is the judge's, or why there is no score."""
    for text, cells in zip(record.texts, record.cells, strict=True):
        columns = {name: getattr(text, name) for name in ("group", "label", "predicted", "low", "high")}
        for place in ranked(record):
            candidate, cell = record.candidates[place], cells[place]
            missing = "missing" if cell.applies else "does not apply"
            yield {
                "text": text.id,
                **columns,
                "criterion": candidate.criterion.id,
                "method": candidate.method,
                "kind": candidate.criterion.kind,
                "kept": candidate.kept,
                "trait": candidate.criterion.trait,
                "statement": candidate.criterion.statement,
                "state": missing if cell.score is None else "scored",
                "score": cell.score,
                "reason": cell.reason,
            }


# One text.


def explanation_view(explanation: ScoreExplanation) -> View:
    """Return the score, each criterion's share of it, and the labelled texts with the most similar ratings."""
    ratings = sorted(explanation.score.criteria, key=lambda each: -abs(each.contribution or 0.0))
    text = explanation.labelled
    scale = explanation.version.rubric.scores_on
    raters = "".join(f", {name} {wording.label(mark, scale)}" for name, mark in text.raters.items()) if text else ""
    label = wording.label(text.label, scale) if text else ""
    ends = accumulate((each.contribution or 0.0 for each in ratings), initial=explanation.average or 0.0)
    return view(
        "explanation",
        found=explanation,
        criteria={criterion.id: criterion for criterion in explanation.version.rubric.criteria},
        ratings=ratings,
        learned_from=f"The rubric was learned from this text: label {label}{raters}.",
        ends=list(ends),
    )


# Decisions by two levels, and scores of few levels.


def recall(agreement: VerdictAgreement, level: int) -> str:
    """Return how many of the texts with a label of `level` are found, as `11 of 15 (73 %) [50, 97]`."""
    found, missed = agreement.cells[3 * level], agreement.cells[1 + level]
    return wording.share(agreement.recalls[level], found, found + missed)


def precision(agreement: VerdictAgreement, level: int) -> str:
    """Return how many of the decisions for `level` are right, as `11 of 15 (73 %) [46, 100]`."""
    right, wrong = agreement.cells[3 * level], agreement.cells[2 - level]
    return wording.share(agreement.precisions[level], right, right + wrong)


def share_rows(agreements: Sequence[VerdictAgreement], names: tuple[str, str]) -> Iterator[list[Markup]]:
    """Yield the rows of recalls and precisions: a title, and a cell for each evaluator."""
    for level, name in enumerate(names):
        yield [q(f"recall of {name!r}"), *(data(each.recalls[level], recall(each, level)) for each in agreements)]
    for level, name in enumerate(names):
        yield [
            q(f"precision of {name!r}"),
            *(data(each.precisions[level], precision(each, level)) for each in agreements),
        ]


def columns_of(agreements: Sequence[VerdictAgreement]) -> list[str]:
    """Return the titles of the columns of evaluators."""
    short = {DIRECT: "asked directly", CALIBRATED: "asked directly, calibrated"}
    return [f"+{short.get(each.name) or wording.evaluator_name(each.name)}" for each in agreements]


def level_titles(agreement: LevelAgreement) -> list[str]:
    return [f"+score {level:g}" for level in agreement.levels]

"""Views of a rubric: its verdict, its criteria, its training, and the explanation of a text's score.

A verdict says whether the rubric agrees better with people than another evaluator, and is shown as a `Badge`. The
verdict of an evaluation on other texts (`Version.deciding_evaluation`) counts, or else the verdict at learning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from markupsafe import Markup

from rubriclab.learning.gate import doubt_about_labels
from rubriclab.learning.pass_fail import ConfusionMatrix, confusion_matrix
from rubriclab.models import evaluation, version as versions
from rubriclab.models.aggregation import Term
from rubriclab.models.characters import count, join_names
from rubriclab.models.rubric import Criterion, Part, Rubric
from rubriclab.models.text import Scale
from rubriclab.ops.versions import Disagreement, Disagreements, explain_missing_record
from rubriclab.prompts.render import prompts_digest
from rubriclab.report import charts, wording
from rubriclab.report.elements import data_element, external, line, quiet
from rubriclab.report.render import View, view
from rubriclab.report.wording import estimate, figure, signed
from rubriclab.stats.intervals import MIN_GROUPS, Interval
from rubriclab.stats.score_agreement import ScoreErrors

if TYPE_CHECKING:
    from rubriclab.models.version import EditChange, Version
    from rubriclab.ops.explain import ScoreExplanation

Tone = Literal["good", "qualified", "warning", "bad"]
TITLE_LENGTH, SUMMARY_TITLE_LENGTH = 60, 150  # maximum characters of a title in tables, and in learning's summary
MATRIX_COLUMNS = 6  # criteria in one table of ratings


class Badge(NamedTuple):
    """A short verdict, and what explains it."""

    words: str
    tone: Tone
    remark: str = ""  # continues `words`, as "than the same judge asked directly"
    headline: str = ""  # the verdict as a sentence
    measured_on: str = ""  # the texts on which the verdict was measured
    figures: str = ""  # the statistics that the verdict rests on
    limit: str = ""  # what the verdict does not show


TONES: Mapping[str, Tone] = {"better": "good", "worse": "bad", "not better": "bad"}
# The word between a verdict and the name of the other evaluator.
PREPOSITIONS: Mapping[str, str] = {"better": "than", "worse": "than", "not better": "over"}
# What a verdict says of the rubric, by its outcome and by the measure that has this outcome, "" if both measures have
# it. `lower` stands for the outcome `not better` if the rubric's correlation (or AUROC) is lower than the other's.
CLAIMS: Mapping[tuple[str, str], str] = {
    ("better", ""): "agrees with people more",
    ("better", "order"): "orders texts closer to people's order",
    ("better", "error"): "gives scores closer to people's",
    ("worse", ""): "agrees with people less",
    ("worse", "order"): "orders texts farther from people's order",
    ("worse", "error"): "gives scores farther from people's",
    ("not better", ""): "agrees with people at most slightly more",
    ("not better", "order"): "orders texts at most slightly closer to people's order",
    ("lower", ""): "does not agree with people more",
    ("lower", "order"): "does not order texts closer to people's order",
    ("inconclusive", ""): "agrees with people better or worse",
    ("inconclusive", "order"): "orders texts closer to people's order or farther from it",
}
CAVEAT = ", but nothing shows that its criteria help"


def rated_offline(version: Version) -> bool:
    """Return whether the offline judge rated texts; methods without prompts do not ask it."""
    return version.provenance.judge == "embedded" and version.provenance.prompts != prompts_digest(())


def headline(verdict: evaluation.GateVerdict | None, other: str, rubric: str = "this rubric", caveat: str = "") -> str:
    """Return a verdict as a sentence, without a full stop, for readers who do not know the methods."""
    opening, claim = "It is not known whether ", CLAIMS["inconclusive", ""]
    if verdict:
        outcome, by_measure = verdict.overall, {"order": verdict.outcome, "error": verdict.error_outcome}
        opening = opening if outcome == "inconclusive" else ""
        measures = [measure for measure, each in by_measure.items() if each]
        if outcome in ("better", "worse"):
            measures = [measure for measure in measures if by_measure[measure] == outcome]
        only_measure = measures[0] if len(measures) == 1 else ""
        claimed_outcome = "lower" if outcome == "not better" and (verdict.difference.value or 0.0) < 0 else outcome
        claim = CLAIMS.get((claimed_outcome, only_measure), CLAIMS[claimed_outcome, ""])
        better_in = [measure for measure, each in by_measure.items() if each == "better"]
        if outcome == "worse" and better_in:
            claim = f"{CLAIMS['better', better_in[0]]}, but {claim}"
    words = f"{opening}{rubric} {claim} than {other}{caveat}"
    if verdict and verdict.equal_in_order and not (verdict.less_error and verdict.less_error.value):  # same error too
        words = f"{rubric} orders these texts exactly as well as {other}"
    return words if "@" in rubric else f"{words[0].upper()}{words[1:]}"  # names in references keep their case


def criteria_may_not_help(version: Version) -> bool:
    """Return whether learning did not show that the criteria improve on the question about the whole text."""
    validation = version.provenance.validation
    verdict = validation.verdict_against(evaluation.WHOLE) if validation else None
    return bool(verdict and (verdict.difference.low or 0.0) <= 0)


def badge_of(version: Version) -> Badge:
    """Return the verdict that counts: of an evaluation on other texts, or else of the gate at learning."""
    record = version.deciding_evaluation
    return badge_on_other_texts(version, record) if record else learning_badge(version)


def verdict(version: Version, *, at_learning: bool = False) -> str:
    """Return the verdict that counts, or the verdict at learning, as a sentence."""
    badge = learning_badge(version) if at_learning else badge_of(version)
    doubt = doubt_about_labels(version.provenance.validation)
    measured_on = f", {badge.measured_on}" if version.deciding_evaluation and not at_learning else ""
    figures = f" ({badge.figures})" if badge.figures else ""
    words = ": ".join(doubt) if doubt else f"{badge.words} {badge.remark}{measured_on}{figures}{badge.limit}"
    return f"{words[0].upper()}{words[1:]}".strip()


def learning_badge(version: Version) -> Badge:
    """Return the verdict that was measured when a version was learned, transferred or edited."""
    validation = version.provenance.validation
    if validation is None:
        return Badge("no comparison made", "warning")
    deciding, measures = validation.deciding_verdict, validation.measures
    other_name = wording.evaluator_name(deciding.against, in_sentence=True)
    if deciding is validation.free_verdict:
        other_name = f"the best free baseline, {other_name}"
    own, figures, outcome = validation.rubric, [], deciding.overall
    for other in [each for each in validation.evaluators if each.name == deciding.against]:
        # The figures of both evaluators: if the rubric is better or worse, only by the measures with this outcome.
        in_error = (measures.error, measures.unit, own.error, other.error, deciding.error_outcome)
        in_order = (measures.order, "", own.order, other.order, deciding.outcome)
        for name, unit, mine, theirs, its_outcome in (in_error, in_order):
            if mine and theirs and (its_outcome == outcome or outcome not in ("better", "worse")):
                decimals = 3 if figure(mine.value) == figure(theirs.value) else 2
                theirs_in_words = figure(theirs.value, decimals)
                figures.append(f"{name} {figure(mine.value, decimals)} instead of {theirs_in_words}{unit}")
    limit = CAVEAT if outcome == "better" and criteria_may_not_help(version) else ""
    remark = f"{PREPOSITIONS.get(outcome, 'compared with')} {other_name}"
    gate_outcome = version.outcome or outcome
    shown_verdict: evaluation.GateVerdict | None = deciding
    shown_against, caveat = deciding.against, limit
    if gate_outcome != outcome:
        # An edited version that is better, but not compared with the judge asked directly, is inconclusive.
        shown_verdict, shown_against, caveat = None, evaluation.DIRECT, ""
        remark = f"as the edited version lacks a comparison with the same judge asked directly: better {remark}"
    held_out = "each scored by a rubric learned without texts of its source"
    measured_on = f"on the {validation.n} texts that it was learned from, {held_out}"
    if version.provenance.made_by != "learning":
        measured_on = f"on {count(validation.n, 'text')}"
    return Badge(
        words=wording.outcome(gate_outcome),
        tone="qualified" if limit else TONES.get(gate_outcome, "warning"),
        remark=remark,
        headline=headline(shown_verdict, wording.plain_name(shown_against), wording.subject(version.rubric), caveat),
        measured_on=measured_on,
        figures=", ".join(figures),
        limit=limit,
    )


def badge_on_other_texts(version: Version, record: evaluation.EvaluationRecord) -> Badge:
    """Return the verdict of an evaluation on other texts, with the version's own figures there."""
    has_two_levels = version.rubric.score_scale.has_two_levels
    measures = evaluation.TWO_LEVEL_MEASURES if has_two_levels else evaluation.GRADED_MEASURES
    error = f"{wording.error_name(measures)} {estimate(record.error)}" if record.error else ""
    order = f"{measures.order} {wording.LEVELS[record.level]} {estimate(record.order)}" if record.order else ""
    against, outcome = record.verdict.against, record.verdict.overall
    other_name = wording.free_baseline(against) if evaluation.is_free_baseline(against) else against
    is_deciding, tone = version.evaluation_prevails(record.compared_with_direct), TONES.get(outcome, "warning")
    texts = f"{count(record.n, 'other text')}{f' in {record.file},' if record.file else ''}"
    plain_name = wording.plain_name(against, asked_directly=bool(record.other and record.other.asked_directly))
    caveat = CAVEAT if outcome == "better" and criteria_may_not_help(version) else ""
    return Badge(
        words=wording.outcome(outcome),
        tone="qualified" if tone == "good" and (caveat or not is_deciding) else tone,
        remark=f"{PREPOSITIONS.get(outcome, 'compared with')} {other_name}",
        headline=headline(record.verdict, plain_name, wording.subject(version.rubric), caveat),
        measured_on=f"on {texts} of {count(record.groups, 'group')}, evaluated on {record.created:%Y-%m-%d}",
        figures=", ".join(filter(None, (error, order))),
        limit="" if is_deciding else "; not compared with the judge asked directly",
    )


class Choice(NamedTuple):
    """The stored version that a verdict advises to score with, "" for none, and what this saves."""

    ref: str
    saving: str = ""
    share: str = ""  # its tokens or calls as a share of the other version's, if this saves something


def cheaper(ref: str, other: str, own: wording.CallsPerText, of_other: wording.CallsPerText) -> Choice:
    """Return which of two versions that agree equally well takes fewer tokens or calls; `ref` if that is unknown."""
    other_saves = wording.saving(of_other, own)
    return Choice(other, *other_saves) if any(other_saves) else Choice(ref, *wording.saving(own, of_other))


def choose(version: Version | None, ref: str, verdict: evaluation.GateVerdict, asked_directly: bool) -> Choice:
    """Return the version to score with: the better one, or the cheaper if neither is better; "" for none.

    If the other version's scores were calibrated for the comparison, it is chosen only if the rubric is worse.
    """
    other, outcome = verdict.against.removesuffix(evaluation.CALIBRATED_ENDING), verdict.overall
    if outcome == "better":
        return Choice(ref)
    if evaluation.is_free_baseline(other):
        return Choice("")
    if outcome == "worse":
        return Choice(other)
    if other != verdict.against or version is None or not asked_directly:
        return Choice(ref)
    return cheaper(ref, other, wording.scoring_calls(version), wording.direct_calls(version))


def gain_outcomes(verdict: evaluation.GateVerdict, level: str = "", n_groups: int = 0) -> tuple[str, str]:
    """Return the outcomes for the error of scores and for the order of texts, each "" if unknown.

    A comparison with one of the rubric's methods alone has no stored outcome for order: `n_groups` is for computing it.
    """
    order_outcome = verdict.outcome
    if n_groups and not order_outcome:
        order_outcome = evaluation.difference_outcome(verdict.difference, evaluation.MIN_EFFECT, n_groups)
    outcomes = []
    for outcome, gain in ((verdict.error_outcome, verdict.less_error), (order_outcome, verdict.difference)):
        if outcome is None or gain is None or gain.value is None:
            outcomes.append("")
        elif gain.low is not None or verdict.few_groups is None:  # there are enough groups
            outcomes.append(wording.outcome(outcome))
        elif level == "system" and verdict.few_groups >= MIN_GROUPS:
            outcomes.append("too few systems to tell")
        else:
            outcomes.append("equal" if verdict.equal_in_order else "too few groups to tell")
    return outcomes[0], outcomes[1]


def outcomes_summary(verdict: evaluation.GateVerdict, measures: evaluation.Measures, level: str) -> str:
    """Return the outcome in each measure, as `Worse in error, no real gain in Pearson over all texts`."""
    names_by_outcome: dict[str, list[str]] = {wording.outcome(verdict.overall): []}  # the overall outcome comes first
    error_level = "" if level == "dataset" else " over all texts"
    measure_names = (f"{wording.error_name(measures)}{error_level}", f"{measures.order} {wording.LEVELS[level]}")
    for outcome, name in zip(gain_outcomes(verdict, level), measure_names, strict=True):
        names_by_outcome.setdefault(outcome, []).append(name)
    known_outcomes = {outcome: names for outcome, names in names_by_outcome.items() if outcome and names}
    summary = ", ".join(f"{outcome} in {join_names(names)}" for outcome, names in known_outcomes.items())
    return summary[:1].upper() + summary[1:]


# When and how the cross-validated agreement of a version was measured.
MEASURED_AT: Mapping[str, str] = {"learning": "at learning", "transfer": "at its transfer", "edit": "at its edit"}
CROSS_VALIDATED_BY: Mapping[str, str] = {
    "learning": "by cross-validation of the whole learning procedure",
    "transfer": "on the texts of the transfer, without the labels of a text's fold",
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
    """Return a paired difference in one sentence; `folds` is 0 if nothing was fitted to the labels."""
    if difference.value is None:
        return "Cross-validated agreement is undefined: the labels or the scores do not vary."
    name = f"Cross-validated {statistic}" if folds else statistic[0].upper() + statistic[1:]
    change = f"{name} changes by {estimate(difference)}"
    if difference.low is None or difference.high is None:
        return f"{change}, without an interval: it stays the same whichever group is left out, or groups are too few."
    if difference.low > 0:
        return f"{change}: the edited rubric agrees better with these labels."
    if difference.high < 0:
        return f"{change}: the edited rubric agrees less with these labels."
    return f"{change}: no difference can be told with {count(labels, 'label')}."


def change_words(change: EditChange) -> str:
    criteria, new_id = ", ".join(change.criteria), change.result
    if change.action in ("pin", "bound"):
        return f"{criteria}: {change.after}"
    if change.action == "threshold":
        return f"{change.before} to {change.after}"
    if change.after is None:
        return criteria
    after = f"{new_id}: {change.after}" if new_id else change.after
    return f"{criteria} to {after}" if criteria else after


def version_view(version: Version) -> View:
    return view("version", version=version, evidence=False)


def evidence_view(version: Version) -> View:
    """Return all details of a version: its criteria with evidence, dropped criteria, and its training."""
    return view("version", version=version, evidence=True, unfolded=True)


def sub_dimensions(part: Part) -> list[tuple[str, str, list[Criterion]]]:
    """Return each sub-dimension with its definition and questions, in the order of their first questions."""
    definitions = part.dimensions or {}
    questions: dict[str, list[Criterion]] = {}
    for criterion in part.criteria:
        if criterion.kind == "question":
            questions.setdefault(criterion.trait, []).append(criterion)
    return [(name, definitions.get(name, ""), group) for name, group in questions.items()]


def learned_view(version: Version) -> View:
    """Return the summary that ends learning: the verdict, the main criteria, and the cost of scoring."""
    rows = weighted_criteria(version)
    titles = {row.criterion.id: wording.title(row.criterion) for row in rows}
    return view("learned", version=version, rows=rows, titles=wording.distinct_titles(titles, SUMMARY_TITLE_LENGTH))


def training_view(version: Version, record: versions.TrainingRecord | None) -> View:
    # `record` is for tables of texts, `charted_record` for the chart: the studio's page has the chart without texts.
    missing_record = "" if record else f"{explain_missing_record(version)} This page omits what needs texts or ratings."
    return view("training", version=version, record=record, charted_record=record, missing_record=missing_record)


def training_confusion_matrix(version: Version, record: versions.TrainingRecord) -> ConfusionMatrix | None:
    """Return the confusion matrix of the cross-validated scores; `None` unless the scale has few whole levels."""
    labels, scores = np.array([(text.label, text.predicted) for text in record.texts], dtype=float).T
    return confusion_matrix(scores, labels, [text.group for text in record.texts], version.rubric.score_scale)


def error_cells(errors: ScoreErrors | None) -> list[Interval | str]:
    if errors is None:
        return [wording.UNMEASURED] * 3
    share_within_point = data_element(Interval(errors.near), wording.percent(errors.near))
    return [errors.absolute, data_element(Interval(errors.bias), signed(errors.bias)), share_within_point]


class WeightedCriterion(NamedTuple):
    criterion: Criterion
    term: Term

    @property
    def percent(self) -> Interval:
        return Interval(100 * self.term.weight, 100 * self.term.low, 100 * self.term.high)


def weighted_criteria(version: Version) -> list[WeightedCriterion]:
    terms = version.rubric.terms
    rows = [WeightedCriterion(each, terms[each.id]) for each in version.rubric.criteria if each.id in terms]
    return sorted(rows, key=lambda row: -abs(row.term.weight))


def parts_by_weight(rubric: Rubric) -> list[tuple[Part, list[Criterion]]]:
    """Return the parts of a rubric and their criteria, the largest weight first."""
    weight = {each.id: weight_in(each.id, rubric) for each in rubric.criteria}
    ordered = [(part, sorted(part.criteria, key=lambda each: -weight[each.id])) for part in rubric.parts]
    return sorted(ordered, key=lambda pair: -max((weight[each.id] for each in pair[1]), default=0.0))


def disagreements_view(disagreements: Disagreements) -> View:
    return view("disagreements", result=disagreements, unfolded=True)


def answer_rows(disagreement: Disagreement, version: Version) -> Iterator[tuple[object, ...]]:
    """Yield row style, title, id, rating and reason of each criterion, the largest weight first."""
    answers = sorted(disagreement.ratings, key=lambda each: -weight_in(each[0].criterion.id, version.rubric))
    ratings = wording.with_equal_decimals(wording.rating_text(cell, candidate.criterion) for candidate, cell in answers)
    for (candidate, cell), rating in zip(answers, ratings, strict=True):
        style, title = styled_row_title(candidate.criterion, version.rubric)
        yield style, title, candidate.criterion.id, rating, external(cell.reason)


def weight_in(criterion_id: str, rubric: Rubric) -> float:
    """Return the absolute weight of a criterion in the rubric; 0 if it has no weight."""
    return abs(rubric.terms[criterion_id].weight) if criterion_id in rubric.terms else 0.0


def styled_row_title(criterion: Criterion, rubric: Rubric) -> tuple[str, Markup]:
    """Return the style of a criterion's row, `baseline` (grey) if it has no weight, and its title with its weight."""
    title, weight = wording.title(criterion, TITLE_LENGTH), weight_in(criterion.id, rubric)
    remarks = ["the whole text"] if criterion.kind == "score" and not criterion.levels else []
    remarks += [f"weight {wording.percent(rubric.terms[criterion.id].weight)}"] if weight else []
    return "" if weight or not rubric.terms else "baseline", line(external(title), quiet(", ".join(remarks)))


def raters_words(text: versions.RecordedText, scale: Scale) -> str:
    """Return the raters' scores without names, each with its reason, and the reasons of raters without a score."""
    scores = {name: wording.label(score, scale) for name, score in text.raters.items()}
    reasoned = {name: f"{scores.get(name, '')}: {reason}".removeprefix(": ") for name, reason in text.reasons.items()}
    words = ("; " if reasoned else ", ").join({**scores, **reasoned}.values())
    return f"raters {words}" if scores or reasoned else ""


def score_axis_of(version: Version, texts: Sequence[versions.RecordedText]) -> charts.Axis:
    marks = [mark for text in texts for mark in (text.label, *text.raters.values())]
    scores = [Interval(text.predicted, text.low, text.high) for text in texts]
    axis = charts.axis_of(scores, version.rubric.score_scale.low, version.rubric.score_scale.high, *marks)
    # Texts with a stored decision (`passed`) were decided by different thresholds, so the axis shows no threshold.
    if version.rubric.threshold is None or any(text.passed is not None for text in texts):
        return axis
    threshold = round(version.rubric.threshold, 2)
    return replace(axis, ticks=(axis.low, threshold, axis.high), start_of_bars=threshold)


def matrix_view(version: Version, record: versions.TrainingRecord) -> View:
    """Return the ratings of all texts by all candidates, kept candidates first, with each candidate's wording below."""
    order, scale = kept_first(record), version.rubric.score_scale
    tables = []
    for start in range(0, len(order), MATRIX_COLUMNS):
        columns = [(index, record.candidates[index].criterion) for index in order[start : start + MATRIX_COLUMNS]]
        rows = [
            [
                *(external(text.id), wording.label(text.label, scale), wording.rounded(text.predicted)),
                *(wording.rating_text(cells[index], criterion) for index, criterion in columns),
            ]
            for text, cells in zip(record.texts, record.cells, strict=True)
        ]
        tables.append(([f"+{criterion.id}" for _, criterion in columns], rows))  # `+`: a column of numbers
    return view("matrix", record=record, tables=tables, order=order, kept=sum(each.kept for each in record.candidates))


def kept_first(record: versions.TrainingRecord) -> list[int]:
    return sorted(range(len(record.candidates)), key=lambda index: not record.candidates[index].kept)


def matrix_rows(record: versions.TrainingRecord) -> Iterator[dict[str, Any]]:
    """Yield a row per text and criterion, kept criteria first; `reason` is for the score, or for its absence."""
    for text, cells in zip(record.texts, record.cells, strict=True):
        columns = {name: getattr(text, name) for name in ("group", "label", "predicted", "low", "high")}
        for index in kept_first(record):
            candidate, cell = record.candidates[index], cells[index]
            unscored = "missing" if cell.applies else "does not apply"
            yield {
                "text": text.id,
                **columns,
                "criterion": candidate.criterion.id,
                "method": candidate.method,
                "kind": candidate.criterion.kind,
                "kept": candidate.kept,
                "trait": candidate.criterion.trait,
                "statement": candidate.criterion.statement,
                "state": unscored if cell.score is None else "scored",
                "score": cell.score,
                "reason": cell.reason,
            }


def explanation_view(explanation: ScoreExplanation) -> View:
    """Return the score, what each criterion adds to it, and the labelled texts with the most similar ratings."""
    ratings = explanation.score.by_share  # the largest contribution first
    text, scale = explanation.labelled, explanation.version.rubric.score_scale
    labels = (f"label {wording.label(text.label, scale)}", raters_words(text, scale)) if text else ()
    totals = accumulate((each.contribution or 0.0 for each in ratings), initial=explanation.average or 0.0)
    return view(
        "explanation",
        result=explanation,
        criteria={criterion.id: criterion for criterion in explanation.version.rubric.criteria},
        ratings=ratings,
        learned_from=f"The rubric was learned from this text: {', '.join(filter(None, labels)).removesuffix('.')}.",
        totals=list(totals),
    )

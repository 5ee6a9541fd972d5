"""Versions, and references to them."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field, JsonValue, TypeAdapter

from rubriclab.display import Displayed
from rubriclab.errors import StoreError
from rubriclab.models.aggregation import MAX_MISSING, Aggregation, Calibration
from rubriclab.models.base import Bounded, Count, FrozenModel, canonical, digest
from rubriclab.models.rubric import DIRECT_METHOD, Criterion, Rubric
from rubriclab.models.text import Example, ShownField, common_fields
from rubriclab.stats.correlation import FloatArray, float_table
from rubriclab.stats.intervals import MIN_GROUPS, Interval
from rubriclab.stats.score_agreement import Level, ScoreErrors

_WORD = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
# Tags that a reader would take for the number of a version, or for its position among the versions.
_LIKE_A_NUMBER = re.compile(r"v?[0-9._-]+(?:(?:a|b|c|rc|alpha|beta|dev|pre|post)[0-9._-]*)?")
_POSITIONS = frozenset({"latest", "newest", "last", "current", "head", "next", "previous", "first", "oldest"})


@dataclass(frozen=True, repr=False)
class Version(Displayed):
    """A rubric in a store under a name and a number.

    Attributes:
        parent: `NAME@NUMBER`; `None` for a first version.
        imported_from: `NAME@NUMBER` in the pack that this version came from, whose author chose its judges and
            addresses. `None` if it was learned in this store.
        confirmed: whether the user has confirmed that this version may choose the judge.
        new: whether the call that returned this version created it.
        evaluation: the stored evaluation on texts that it was not learned from; `None` if this store has none.
    """

    name: str
    number: int
    digest: str
    rubric: Rubric
    provenance: Provenance
    provenance_digest: str
    effort: Effort
    parent: str | None
    created: datetime
    tags: tuple[str, ...] = ()
    new: bool = False
    imported_from: str | None = None
    confirmed: bool = False
    evaluation: EvaluationRecord | None = None

    def __repr__(self) -> str:
        return f"Version({self.ref!r})"

    @property
    def imported(self) -> bool:
        return self.imported_from is not None

    @property
    def ref(self) -> str:
        """`NAME@NUMBER`, the permanent reference to this version."""
        return f"{self.name}@{self.number}"

    @property
    def trusted(self) -> bool:
        """Whether its recorded judge, generator and addresses may be used without the user naming them."""
        return self.confirmed or not self.imported

    @property
    def lacks_direct(self) -> bool:
        """Whether an edit left the gate without a comparison with the same judge asked directly."""
        validation, judged = self.provenance.validation, any(each.kind != "feature" for each in self.rubric.criteria)
        return bool(self.provenance.edit and judged and validation and not validation.against(DIRECT))

    @property
    def outcome(self) -> Outcome | None:
        """The gate's outcome, `None` without a gate; free baselines alone do not let an edited version pass."""
        validation = self.provenance.validation
        outcome = validation.outcome if validation else None
        return "inconclusive" if outcome == "better" and self.lacks_direct else outcome

    def evaluation_prevails(self, compared_with_direct: bool) -> bool:
        """Return whether the verdict of an evaluation counts more than that at learning.

        It does not if the judge asked directly decided at learning, or lacks its comparison there, and was left out.
        """
        validation = self.provenance.validation
        decided_by_free = validation is None or validation.deciding is validation.free
        return compared_with_direct or (decided_by_free and not self.lacks_direct)

    @property
    def deciding_evaluation(self) -> EvaluationRecord | None:
        """The stored evaluation, `None` if the verdict at learning counts more."""
        found = self.evaluation
        return found if found and self.evaluation_prevails(found.compared_with_direct) else None


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference as a user writes it: `NAME` (the newest), `NAME@3` or `NAME@tag`."""

    name: str
    number: int | None = None
    tag: str | None = None


def parse_ref(text: str) -> Ref:
    name, at, suffix = text.partition("@") if isinstance(text, str) else ("", "", "")
    if not _WORD.fullmatch(name) or (at and not _WORD.fullmatch(suffix)):
        raise StoreError(f"{text!r} does not refer to a rubric.", "Write NAME, NAME@NUMBER or NAME@TAG.")
    if not at:
        return Ref(name)
    return Ref(name, number=int(suffix)) if _NUMBER.fullmatch(suffix) else Ref(name, tag=suffix)


def names_a_version(text: str) -> bool:
    name, _, number = text.partition("@")
    return bool(_WORD.fullmatch(name) and _NUMBER.fullmatch(number))


def check_name(name: str, role: str = "the name of a rubric") -> str:
    if not isinstance(name, str) or not _WORD.fullmatch(name):
        raise StoreError(
            f"{name!r} cannot be {role}.",
            "Use at most 100 small letters, digits, dots, dashes and underscores, a letter or digit first.",
        )
    return name


def check_tag(tag: str) -> str:
    """Return `tag`, or raise `StoreError` if it is invalid, or reads like a number or a position (`latest`)."""
    if check_name(tag, "a tag") in _POSITIONS:
        raise StoreError(
            f"{tag!r} cannot be a tag: it says which version is meant, and a tag does not move by itself.",
            "Choose a tag such as stable; NAME alone is the newest version.",
        )
    if _LIKE_A_NUMBER.fullmatch(tag):
        raise StoreError(
            f"{tag!r} cannot be a tag: it could be taken for the number of a version.",
            "Choose a word, such as stable; NAME@NUMBER is a version.",
        )
    return tag


Outcome = Literal["better", "inconclusive", "not better", "worse"]
WORST_FIRST: tuple[Outcome, ...] = ("worse", "not better", "inconclusive", "better")

# The difference in correlation that would matter: about what going from 30 labels to 100 adds to a rubric (measured:
# 0.04 with one component of partial least squares, 0.06 with the five best criteria). Less is not worth a call.
MIN_EFFECT = 0.05
# The reduction of the mean absolute error that would matter, as a share of the scale's width: 0.2 points from 1 to 5.
MIN_ERROR_EFFECT = 0.05
# The reduction of the Brier score that would matter: the same share of 0.25, the Brier score of a coin.
MIN_BRIER_EFFECT = MIN_ERROR_EFFECT / 4
# With fewer groups a difference that matters is not ruled out: the data may lack the groups that show it. If a fifth of
# all groups do, ruling it out errs (simulated) in up to 32 % with 5 groups, 11 % with 10, 7 % with 12 and 6 % with 14.
MIN_GROUPS_TO_RULE_OUT = 12

# Names of the rubric's judge asked directly for one score: uncalibrated, and calibrated with the rubric's labels.
DIRECT = DIRECT_METHOD
# Ends the name of a judge asked directly whose scores are calibrated for a comparison.
CALIBRATED_ENDING = ", calibrated"
CALIBRATED = f"{DIRECT}{CALIBRATED_ENDING}"
# Starts the name of a free baseline on other texts.
BASELINE = "baseline: "
ALL_FEATURES = "all text features"
# The scores of the whole text in the rubric's own call, without the criteria.
WHOLE = "whole"
SINGLE_RATERS = "single raters, each against the mean of the others"
# Estimates of more further labels than this were too uncertain to report.
MAX_LABELS = 300
# More points make a stored evaluation larger, but not its chart clearer.
MAX_POINTS = 2000


class Measures(NamedTuple):
    """Names of the measures of agreement with labels: in order, and in error with its unit."""

    order: str
    error: str
    unit: str


GRADED = Measures("Pearson", "mean absolute error", " points")
VERDICTS = Measures("AUROC", "Brier score", "")


class EvaluatorAgreement(FrozenModel):
    """One evaluator on the training texts, each text scored without the labels of its own group.

    Attributes:
        name: `joint`, `whole`, a method, `direct`, `direct, calibrated`, `constant`, `word count`, `best text feature`
            or `all text features`.
        n, calls: the number of texts that it scored, and of calls per text.
        errors: for evaluators with scores on the labels' scale; `constant` gives the mean label of the other folds.
        auroc, brier: for labels of two levels; `brier` for evaluators with probabilities.
    """

    name: str
    kind: Literal["rubric", "judged", "baseline"]
    n: Count
    spearman: Interval
    pearson: Interval
    calls: float
    errors: ScoreErrors | None = None
    auroc: Interval | None = Field(None, exclude_if=lambda found: found is None)
    brier: Interval | None = Field(None, exclude_if=lambda found: found is None)

    @property
    def order(self) -> Interval:
        """Agreement in order: AUROC for labels of two levels, else Pearson correlation."""
        return self.auroc or self.pearson

    @property
    def error(self) -> Interval | None:
        """Error of the scores: Brier score for labels of two levels, else mean absolute error; `None` if unknown."""
        return self.brier or (self.errors.absolute if self.errors else None)


class MoreLabels(FrozenModel):
    """How many more labels decide in half of all cases (`even`) and in 80 % (`likely`); `None` above `MAX_LABELS`."""

    even: Count | None
    likely: Count | None


class GateVerdict(FrozenModel):
    """Whether the rubric agrees better with people than another evaluator.

    An outcome is `worse` if the whole interval of the difference lies below zero; `not better` if it lies below the
    smallest difference that matters and there are `MIN_GROUPS_TO_RULE_OUT` groups; `better` if it lies above zero and
    reaches that difference; else `inconclusive`. It is `None` for comparisons with single methods, since one of many
    comparisons would be "better" by chance.

    Attributes:
        outcome, difference: in `EvaluatorAgreement.order`; the rubric's minus the other evaluator's, paired.
        error_outcome, less_error: in `error`, if both score on the scale; the other evaluator's minus the rubric's.
        more_labels: if the outcome in order is inconclusive.
        few_groups: the number of groups, if they were too few for an interval or to rule out a difference.
    """

    against: str
    outcome: Outcome | None
    difference: Interval
    error_outcome: Outcome | None = None
    less_error: Interval | None = None
    more_labels: MoreLabels | None = None
    few_groups: Count | None = None

    @property
    def overall(self) -> Outcome:
        """`worse` if a known outcome is, else `better` if one is, else `not better` if all are, else `inconclusive`."""
        outcomes = {self.outcome, self.error_outcome} - {None}
        if "worse" in outcomes:
            return "worse"
        if "better" in outcomes:
            return "better"
        return "not better" if outcomes == {"not better"} else "inconclusive"

    @property
    def lacking_groups(self) -> int | None:
        """How many more groups the outcome needs at least; `None` if it does not lack groups."""
        least = MIN_GROUPS if self.difference.low is None else MIN_GROUPS_TO_RULE_OUT
        return None if self.few_groups is None else max(least - self.few_groups, 1)


def deciding_verdict(
    direct: GateVerdict | None, calibrated: GateVerdict | None, *others: GateVerdict | None
) -> GateVerdict | None:
    """Return the verdict that decides: the lowest of that against the judge asked directly and the `others`.

    The calibrated judge takes the place of the uncalibrated one if the rubric is worse than the calibrated judge only.
    """
    if direct and calibrated and calibrated.error_outcome == "worse" and direct.overall != "worse":
        direct = calibrated
    return min(filter(None, (direct, *others)), key=lambda verdict: WORST_FIRST.index(verdict.overall), default=None)


class Raters(FrozenModel):
    """Interrater agreement: Krippendorff's alpha, and the correlation that a perfect judge could reach.

    `errors`, on the `n` texts with several, compare each with the mean of the others; `None` for labels of two levels.
    """

    alpha: Interval
    ceiling: float | None
    errors: ScoreErrors | None = None
    n: Count | None = None


class ReliabilityBin(FrozenModel):
    """Texts with similar scores: their mean score, and the share of texts that people let pass."""

    n: Count
    score: float
    share: Interval


class VerdictAgreement(FrozenModel):
    """Agreement of verdicts, and of the scores behind them, with people's verdicts, cross-validated.

    Attributes:
        name: as in `EvaluatorAgreement`, or `raters among themselves`.
        cells: numbers of texts by people's level, then the evaluator's: two for people's worse level, two for better.
        recalls, precisions: of the worse and of the better level.
        brier: for raters, who give no scores, the share of verdicts that differ.
        reliability: texts in bins of ascending scores.
    """

    name: str
    cells: tuple[Count, Count, Count, Count]
    recalls: tuple[Interval, Interval]
    precisions: tuple[Interval, Interval]
    balanced_accuracy: Interval
    kappa: Interval
    auroc: Interval
    brier: Interval
    reliability: tuple[ReliabilityBin, ...] = ()


class Validation(FrozenModel):
    """The gate's verdicts, with the figures behind them.

    Attributes:
        level: whether correlations are within groups or over all texts.
        folds: the number of folds that the groups are divided into; each fold is scored without its labels.
        training: the rubric on the labels that it was fitted to.
        evaluators: the rubric first, then the other evaluators, the best first.
        verdicts: against the best free baseline, and against the same judge asked directly, uncalibrated and
            calibrated; these decide. The verdicts against each method alone follow, and do not decide.
        raters: `None` if single raters' scores are not known.
        verdict_agreements: for labels of two levels, of the rubric, of the same judge asked directly, uncalibrated and
            calibrated, and of the raters.
        direct_calibration: for graded labels, the map from the scores of the judge asked directly onto the labels'
            scale, fitted to all labels; it gives `direct, calibrated` for new texts.
    """

    level: Literal["group", "dataset"]
    n: Count
    groups: Count
    folds: Count
    training: EvaluatorAgreement
    evaluators: tuple[EvaluatorAgreement, ...]
    verdicts: tuple[GateVerdict, ...]
    raters: Raters | None = None
    verdict_agreements: tuple[VerdictAgreement, ...] = Field((), exclude_if=lambda found: not found)
    direct_calibration: Calibration | None = Field(None, exclude_if=lambda found: found is None)

    @property
    def rubric(self) -> EvaluatorAgreement:
        return self.evaluators[0]

    @property
    def measures(self) -> Measures:
        return VERDICTS if self.rubric.auroc else GRADED

    def against(self, name: str) -> GateVerdict | None:
        verdict = next((each for each in self.verdicts if each.against == name), None)
        return verdict if verdict and verdict.difference.value is not None else None

    @property
    def free(self) -> GateVerdict:
        return self.verdicts[0]

    @property
    def deciding(self) -> GateVerdict:
        return deciding_verdict(self.against(DIRECT), self.against(CALIBRATED), self.free) or self.free

    @property
    def outcome(self) -> Outcome:
        return self.deciding.overall


def is_baseline(evaluator: str) -> bool:
    return evaluator.startswith(BASELINE)


class EvaluatedSide(FrozenModel):
    """One side of an evaluation.

    Attributes:
        n: the number of texts that it scored.
        errors, order: errors of graded scores; Pearson, or AUROC for labels of two levels.
        decisions: for labels of two levels; `None` if it does not decide, and in records of earlier releases.
    """

    n: Count
    errors: ScoreErrors | None = None
    order: Interval | None = None
    decisions: VerdictAgreement | None = Field(None, exclude_if=lambda found: found is None)

    @property
    def error(self) -> Interval | None:
        """Brier score of decisions, else the mean absolute error; `None` if unknown."""
        if self.decisions:
            return self.decisions.brier
        return self.errors.absolute if self.errors else None


class OtherSide(EvaluatedSide):
    """What a version is compared with; `asked_directly`: whether it is the same judge, asked directly."""

    asked_directly: bool = False


class EvaluationRecord(EvaluatedSide):
    """The verdict on a version, and its agreement with people, on texts that it was not learned from.

    Attributes:
        judge, data: the judge that scored the texts, and the digest of texts and labels.
        n, groups: of the texts behind `order`, without ties of two levels and groups that have no correlation.
        level: whether correlations are within groups, over all texts or between systems.
        verdict: the verdict that decides, against the judge asked directly or the best free baseline.
        compared_with_direct: whether the judge asked directly was evaluated on the same texts, and not only free
            baselines, even if the verdict against a free baseline decides.
        other: the other side of the verdict; `None` in records of earlier releases.
        points: label and score of each text, for graded labels; of more than `MAX_POINTS` texts an even sample in the
            order of labels. Empty in records of earlier releases.
    """

    created: datetime
    judge: str
    data: str
    groups: Count
    level: Level
    verdict: GateVerdict
    compared_with_direct: bool = False
    other: OtherSide | None = Field(None, exclude_if=lambda found: found is None)
    points: tuple[tuple[Bounded, Bounded], ...] = Field((), exclude_if=lambda found: not found)


class RecordedText(FrozenModel):
    """A labelled text, with any score and interval by a rubric that was fitted without the text's group.

    `raters` and `reasons` are by rater's name; the name of an unknown rater is empty. `direct` is the score by the same
    judge asked directly, `None` if it was not asked. `passed` is the decision by the threshold that was learned without
    the text's fold, `None` in records of earlier releases.
    """

    id: str
    group: str
    output: str
    source: str | None = None
    context: str | None = None
    reference: str | None = None
    system: str | None = None
    label: float
    raters: Mapping[str, float] = Field(default_factory=dict)
    reasons: Mapping[str, str] = Field(default_factory=dict, exclude_if=lambda reasons: not reasons)
    predicted: float | None = None
    low: float | None = None
    high: float | None = None
    direct: float | None = Field(None, exclude_if=lambda score: score is None)
    passed: bool | None = Field(None, exclude_if=lambda passed: passed is None)

    def decided_wrongly(self, threshold: float | None) -> bool:
        """Return whether the text got another level than its label; `threshold` is for records of earlier releases."""
        passed = self.passed
        if passed is None and threshold is not None and self.predicted is not None:
            passed = self.predicted >= threshold
        return passed is not None and self.label != 0.5 and passed != (self.label > 0.5)

    @property
    def example(self) -> Example:
        return Example(self.id, self.output, self.group, self.source, self.context, self.reference, self.system)


@dataclass(frozen=True, slots=True)
class Cell:
    """The rating of one text by one criterion with its reason, or the reason why there is none.

    `applies` is false if the criterion does not apply to the text, which is not a failure. A dataclass, since pydantic
    models take ten times the memory, and 10,000 texts have a million cells.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False)

    score: float | None
    reason: str
    applies: bool = True


class Candidate(FrozenModel):
    """A criterion that took part in selection, and its method.

    `made_from` has the ids of labelled texts whose labels helped to make it; `by_hand` is `None` if labels decided it.
    """

    method: str
    criterion: Criterion
    kept: bool
    made_from: tuple[str, ...] = ()
    by_hand: Literal["added", "removed"] | None = None


class TrainingRecord(FrozenModel):
    """Labelled texts, and in `cells` a row for each with a cell for each candidate criterion."""

    texts: tuple[RecordedText, ...]
    candidates: tuple[Candidate, ...]
    cells: tuple[tuple[Cell, ...], ...]

    def content(self) -> Iterator[str]:
        """Yield the canonical JSON of the record row by row; in one piece it takes many times its length in memory.

        Raises ValueError if a row would not read back as the same.
        """
        candidates = [each.model_dump(mode="json", warnings="error") for each in self.candidates]
        yield f'{{"candidates":{canonical(candidates)}'
        for name, kind, rows in (("cells", _CELLS, self.cells), ("texts", _TEXT, self.texts)):
            yield f',"{name}":['
            for index, row in enumerate(rows):
                content = canonical(kind.dump_python(row, mode="json", warnings="error"))
                if kind.validate_json(content) != row:
                    raise ValueError("a row of it would read back as another")
                yield f"{',' if index else ''}{content}"
            yield "]"
        yield "}"

    @property
    def matrix(self) -> FloatArray:
        return float_table(([cell.score for cell in row] for row in self.cells), len(self.candidates))


_CELLS: TypeAdapter[Any] = TypeAdapter(tuple[Cell, ...])
_TEXT: TypeAdapter[Any] = TypeAdapter(RecordedText)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A labelled text, and its distance from a given text, in standard deviations of the criteria's ratings."""

    text: RecordedText
    distance: float


def nearest_texts(
    record: TrainingRecord, aggregation: Aggregation, ratings: Mapping[str, float | None], max_texts: int
) -> tuple[Neighbour, ...]:
    """Return the labelled texts with the most similar ratings by the same criteria, the nearest first.

    The distance is the root of the mean squared difference of the standardised ratings, weighted by the criteria's
    absolute weights, so that what separates two texts is what separates their scores. A text is left out if the
    criteria that rate both texts have at most half of the weight.
    """
    columns = {candidate.criterion.id: column for column, candidate in enumerate(record.candidates) if candidate.kept}
    rated = columns.keys() & {criterion for criterion, rating in ratings.items() if rating is not None}
    terms = [term for term in aggregation.terms if term.criterion in rated]
    if not terms or not max_texts:
        return ()
    spread = np.array([term.spread for term in terms])
    mine = np.array([ratings[term.criterion] for term in terms], dtype=float)
    theirs = record.matrix[:, [columns[term.criterion] for term in terms]]
    differences, weights = (theirs - mine) / spread, np.array([abs(term.weight) for term in terms])
    shared_weights = np.where(np.isnan(differences), 0.0, weights)
    shared = shared_weights.sum(axis=1)
    squares = (shared_weights * np.square(np.nan_to_num(differences))).sum(axis=1)
    comparable = shared > MAX_MISSING * weights.sum()
    distances = np.where(comparable, np.sqrt(squares / np.where(comparable, shared, 1.0)), np.inf)
    neighbours = [Neighbour(text, float(distance)) for text, distance in zip(record.texts, distances, strict=True)]
    neighbours = [each for each in neighbours if math.isfinite(each.distance)]
    return tuple(sorted(neighbours, key=lambda each: (each.distance, each.text.id))[:max_texts])


class TrainingAgreement(FrozenModel):
    """Agreement of the rubric's scores with the labels of the training texts.

    Attributes:
        n: number of training texts with a score.
        optimistic: whether the rubric was learned from these labels.
        reselected: `order`, cross-validated: for each group, criteria are selected without the group's labels. Still
            optimistic, though less so, if labels also helped to propose the criteria.
    """

    level: Literal["dataset"] = "dataset"
    n: Count
    optimistic: bool = True
    spearman: Interval
    pearson: Interval
    kendall: Interval
    reselected: Interval
    auroc: Interval | None = Field(None, exclude_if=lambda found: found is None)

    @property
    def order(self) -> Interval:
        """Agreement in order: AUROC for labels of two levels, else Spearman correlation."""
        return self.auroc or self.spearman

    @property
    def measure(self) -> str:
        return "AUROC" if self.auroc else "Spearman"


class Baseline(FrozenModel):
    """The text feature that correlates best with the training labels. A useful rubric has to beat it.

    `model` is that of all text features, fitted to all training labels: for each feature its mean and its weight.
    """

    feature: str
    sign: Literal[-1, 1]
    pearson: float
    model: Mapping[str, tuple[Bounded, Bounded]] = Field({}, exclude_if=lambda model: not model)


Action = Literal["reuse", "recalibrate", "relearn"]


class TransferOrigin(FrozenModel):
    """How a version was transferred: the action, the parent's judge, aspect and data, the number of new labels."""

    action: Action
    judge: str
    aspect: str
    data: str
    labels: Count


EditAction = Literal["drop", "reword", "merge", "add", "pin", "bound", "threshold", "definition"]


class EditChange(FrozenModel):
    """A change that a person made to criteria of the parent; `result` is the id of any criterion that the change made.

    `before` and `after` are the wording, the definition, the threshold or the limits of the weight.
    """

    action: EditAction
    criteria: tuple[str, ...] = ()
    result: str | None = None
    before: str | None = None
    after: str | None = None


HeldOutBy = Literal["learning", "transfer", "edit"]
EditStatistic = Literal["Pearson", "balanced accuracy"]


class EditOrigin(FrozenModel):
    """How a person made a version from its parent.

    Attributes:
        labels: the number of texts that the weights were fitted to; 0 if nothing was fitted or measured.
        folds: the number of folds of the cross-validated figures; 0 if nothing was fitted to the labels.
        before, after: agreement of the parent and of this version with the labels, on the same folds.
        difference: after minus before, paired. The person may have known the labels.
    """

    author: str
    because: str
    changes: tuple[EditChange, ...]
    labels: Count = 0
    folds: Count = 0
    statistic: EditStatistic = "Pearson"
    before: Interval = Interval(None)
    after: Interval = Interval(None)
    difference: Interval = Interval(None)


class Provenance(FrozenModel):
    """The data, models and settings that a version was learned from.

    Attributes:
        judge, generator: as the user named them.
        judge_address, generator_address: servers that received the requests, if not the provider's own.
        judge_from, generator_from: the imported version (`NAME@NUMBER`) whose record named the judge or generator and
            its server; `None` if the user named them. This version is trusted only if the imported one is.
        model_versions: model names that the provider reported back.
        settings: all hyperparameters, by method.
        prompts, data: digests of the prompt templates, and of the training texts and labels.
        examples, groups: ids of the training texts and their groups, sorted.
        literature_without: data sets whose raters' findings were left out.
        texts: digests of the words of the training texts, sorted, so that a text is recognized under any id.
        grades: the score that each number among the labels counted as, if 1 is the best grade, for example.
        limits: what limits every figure on these labels, in sentences, such as texts that are in several groups.
        text_fields: which of source and context every training text had; scoring needs them too. `None` if unknown.
        version: the version of this package.
    """

    judge: str
    generator: str
    judge_address: str | None = None
    generator_address: str | None = None
    judge_from: str | None = None
    generator_from: str | None = None
    model_versions: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, JsonValue]] = Field(default_factory=dict)
    prompts: str
    data: str
    examples: tuple[str, ...]
    groups: tuple[str, ...]
    texts: tuple[str, ...] = ()
    text_fields: tuple[ShownField, ...] | None = Field(None, exclude_if=lambda fields: fields is None)
    literature_without: tuple[str, ...] = Field((), exclude_if=lambda names: not names)
    grades: Mapping[str, float] = Field(default_factory=dict, exclude_if=lambda grades: not grades)
    limits: tuple[str, ...] = Field((), exclude_if=lambda limits: not limits)
    seed: Count
    agreement: TrainingAgreement | None = None
    baseline: Baseline | None = None
    validation: Validation | None = None
    transfer: TransferOrigin | None = None
    edit: EditOrigin | None = None
    version: str

    @functools.cached_property
    def digest(self) -> str:
        return digest(self.model_dump(mode="json"))

    @property
    def grades_sentence(self) -> str:
        """Which grades counted as which scores; empty without grades."""
        counted = ", ".join(f"{grade} as {score:g}" for grade, score in self.grades.items())
        return f"The grades of the labels count as scores, {counted}: a higher score is better." if counted else ""

    @property
    def held_out_by(self) -> HeldOutBy:
        """What each fold repeats: learning, transfer, or the refit of an edited rubric."""
        if self.edit:
            return "edit"
        return "transfer" if self.transfer else "learning"


def fields_of_both(before: Provenance, examples: Sequence[Example]) -> tuple[ShownField, ...] | None:
    """Return which of source and context all texts of an earlier version and all the examples have."""
    if not examples or before.text_fields is None:
        return before.text_fields
    return tuple(name for name in common_fields(examples) if name in before.text_fields)


class Effort(FrozenModel):
    """Calls, tokens, money and time that a command used. Digests leave it out, since a resumed run uses less.

    Attributes:
        calls, cached: replies received from the provider, and cached replies used instead.
        failed: prompts without a usable reply.
        repaired: prompts that were repeated because the first reply was unusable.
        by_name_or_order: replies whose entries were recognised by names or by order instead of by ids.
        cost_usd: US dollars; `None` if the price is unknown.
        cached_prompt_tokens: the prompt tokens that the provider read from its prompt cache.
        saved_usd: US dollars that the prompt cache saved, minus the price of writing to it; `cost_usd` includes both.
        stages, stage_tokens: replies and their tokens, cached ones included, by prompt template.
    """

    calls: int = Field(default=0, ge=0)
    cached: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    repaired: int = Field(default=0, ge=0)
    by_name_or_order: int = Field(default=0, ge=0, exclude_if=lambda replies: not replies)
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = Field(default=0.0, ge=0)
    cached_prompt_tokens: int = Field(default=0, ge=0, exclude_if=lambda tokens: not tokens)
    saved_usd: float = Field(default=0.0, exclude_if=lambda dollars: not dollars)
    seconds: float = Field(default=0.0, ge=0)
    stages: Mapping[str, int] = Field(default_factory=dict)
    stage_tokens: Mapping[str, int] = Field(default_factory=dict)

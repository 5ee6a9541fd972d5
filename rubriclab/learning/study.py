"""What is computed from candidates and labels: the rubric, its held-out scores, its validation and its record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rubriclab.errors import JudgeError
from rubriclab.learning.baselines import FEATURE_NAMES, feature_values
from rubriclab.learning.calibration import bounds, conformal
from rubriclab.learning.candidates import NOT_JUDGED, Candidates
from rubriclab.learning.fitting import Fit, HeldOut, held_out
from rubriclab.learning.gate import validation
from rubriclab.learning.jackknife import refitted_agreement
from rubriclab.learning.raters import raters
from rubriclab.learning.rating_matrix import RatingMatrix
from rubriclab.learning.selection import SelectedRubric, chosen_shares, select_rubric
from rubriclab.learning.settings import INTERVAL_CONFIDENCE, JointSettings
from rubriclab.learning.single_method import recorded_texts, training_agreement
from rubriclab.learning.verdicts import (
    held_out_verdicts,
    raters_verdicts,
    threshold_of,
    verdict_agreement,
    verdicts_of,
)
from rubriclab.methods.names import JOINT
from rubriclab.models.aggregation import (
    Aggregation,
    Ask,
    Bounds,
    Conformal,
    Term,
    bounds_met,
)
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Assignment
from rubriclab.models.version import (
    DIRECT,
    WHOLE,
    EvaluatorAgreement,
    TrainingAgreement,
    TrainingRecord,
    Validation,
    VerdictAgreement,
)
from rubriclab.option_names import option
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import DIGITS, wilson
from rubriclab.stats.levels import Level

# The gate computes these from the table and from the texts.
COMPARED_ELSEWHERE = ("direct", "text_features")


@dataclass
class Study:
    """Candidates with everything computed from them and the labels.

    Attributes:
        notes: messages for the user.
        given: the rubric, where it is not to be selected, as one that a person has edited.
        reasons: why criteria are dropped, by id, for a given rubric; the former reason for those not named.
        threshold_by_hand: of verdicts, if a person has set it.
    """

    candidates: Candidates
    assignment: Assignment
    settings: JointSettings
    seed: int
    given: SelectedRubric | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    threshold_by_hand: float | None = None

    def __post_init__(self) -> None:
        self.notes: list[str] = []

    @cached_property
    def every(self) -> RatingMatrix:
        """The rating matrix of all candidates."""
        return self.candidates.table(self.assignment, "by method")

    @cached_property
    def features(self) -> FloatArray:
        """The text features, shape (texts, features)."""
        return feature_values(self.candidates.examples, FEATURE_NAMES)

    @cached_property
    def table(self) -> RatingMatrix:
        """The rating matrix of all candidates, for the rubric's way of asking."""
        return self.candidates.table(self.assignment, self.ask)

    @property
    def ids(self) -> tuple[str, ...]:
        """The candidate ids of the table's columns."""
        return self.candidates.ids

    @cached_property
    def selected(self) -> SelectedRubric:
        """The selected rubric with its held-out scores."""
        return self.given or select_rubric(self.table, self.settings, self.ask, seed=self.seed)

    @property
    def ask(self) -> Ask:
        """How the rubric calls the judge."""
        return "in one call" if self.candidates.together else "by method"

    @cached_property
    def fit(self) -> Fit:
        """The selected rubric's weights and calibration."""
        fit = self.selected.fit
        if not fit.columns:
            raise JudgeError(
                "No criterion distinguishes any two of the labelled texts, so there is nothing to weigh.",
                f"Try another {option('judge')}, or other methods.",
            )
        judged = self.table.values[:, list(fit.columns)]
        if (np.nanmax(judged, axis=0) == np.nanmin(judged, axis=0)).all():
            self.notes.append(
                "the judge gave all labelled texts one and the same score, by every criterion; so the score of every "
                "text is the mean of the labels"
            )
        return fit

    @property
    def held_out(self) -> HeldOut:
        """The rubric's scores of each text without the labels of its group, for the gate and for intervals."""
        return self.selected.held_out

    @cached_property
    def alone(self) -> dict[str, FloatArray]:
        """By method, held-out scores by its own candidates, of shape (texts,), NaN where missing."""
        settings = self.settings.model_copy(update={"calibration": "linear"})
        methods = np.array(self.every.methods)
        tables = {
            name: self.every.columns(np.flatnonzero(methods == name).tolist())
            for name in dict.fromkeys(self.every.methods)
            if name not in COMPARED_ELSEWHERE
        }
        return {name: held_out(table, settings, seed=self.seed).raw for name, table in tables.items()}

    @cached_property
    def fitted(self) -> FloatArray:
        """Scores by the rubric, fitted to all labels."""
        return self.fit.scores(self.table.values, self.assignment.scale)

    @cached_property
    def conformal(self) -> Conformal | None:
        """The errors that determine intervals of single texts."""
        if self.assignment.scale.names:
            return None
        return conformal(self.held_out.scores, self.table.labels, INTERVAL_CONFIDENCE)

    @cached_property
    def threshold(self) -> float | None:
        """For verdicts, the lowest score that passes."""
        if (names := self.assignment.scale.names) is None or self.threshold_by_hand is not None:
            return self.threshold_by_hand
        recall, scores, labels = self.settings.recall(names), self.held_out.scores, self.table.labels
        threshold = threshold_of(scores, labels, recall)
        if recall:
            at_level = labels[~np.isnan(scores)] > 0.5 if recall.level else labels[~np.isnan(scores)] < 0.5
            found = (scores[~np.isnan(scores)] >= threshold) == recall.level
            share = wilson(int((found & at_level).sum()), int(at_level.sum()))
            if share.low is None or share.low < recall.least:
                self.notes.append(
                    f"the threshold finds {int((found & at_level).sum())} of {int(at_level.sum())} labelled texts at "
                    f"{names[recall.level]!r}; so few cannot promise a recall of {recall.least:g} for new texts: its "
                    f"95 % interval begins at {share.low or 0:.2f}"
                )
        return round(threshold, DIGITS)

    def not_assessed(self) -> Iterator[str]:
        """Yield how often the judge said that a text cannot be assessed, if it did."""
        if self.assignment.scale.names is None:
            return
        cells = self.candidates.rated(self.ask)
        for kind, what in (("score", "the whole"), ("hypothesis", "a criterion")):
            places = [n for n, each in enumerate(self.candidates.candidates) if each.criterion.kind == kind]
            said = [[not row[n].applies and row[n].reason != NOT_JUDGED for n in places] for row in cells]
            if texts := sum(map(any, said)):
                yield f"the judge says of {texts} of {len(cells)} texts that {what} cannot be assessed: no scores"

    def rubric(self) -> Rubric:
        """Return the rubric: parts with the selected criteria, and their aggregation."""
        terms = _terms(self.fit, self.ids, chosen_shares(self.selected, self.table), self.candidates.bounds)
        aggregation = Aggregation(
            ask=self.ask,
            terms=terms,
            calibration=self.fit.calibration,
            conformal=self.conformal,
            rivals=self.candidates.rivals if self.ask == "in one call" else None,
            form=self.candidates.form,
            threshold=self.threshold,
            threshold_by_hand=self.threshold_by_hand is not None,
        )
        kept, reasons = [term.criterion for term in terms], self._reasons()
        parts, dropped = self.candidates.parts_with(kept, reasons), self.candidates.dropped_parts(kept, reasons)
        task, aspect, scale = self.assignment.words.task, self.assignment.aspect, self.assignment.scale
        return Rubric(task=task, aspect=aspect, scale=scale, parts=parts, aggregation=aggregation, dropped=dropped)

    def _reasons(self) -> dict[str, str]:
        """Return for each dropped candidate the reason."""
        if self.given:
            return dict(self.reasons)
        return {self.ids[place]: why.words(self.ids) for place, why in self.fit.dropped.items()}

    @property
    def direct(self) -> FloatArray | None:
        """The texts' scores by the same judge asked directly, in a call of its own; `None` if they are not known."""
        # The record of an edited rubric holds the ratings of its own way of asking only.
        known = DIRECT in self.every.methods and (self.given is None or self.ask == "by method")
        return self.every.values[:, self.every.methods.index(DIRECT)] if known else None

    @cached_property
    def validation(self) -> Validation:
        """The result of the gate, with what each method and rater contributes."""
        alone = {part.method: [criterion.id for criterion in part.criteria] for part in self.candidates.parts}
        kept = [self.ids[place] for place in self.fit.columns]
        whole = [] if self.ask == "by method" else np.flatnonzero(self.table.holistic).tolist()
        scores = {WHOLE: held_out(self.table.columns(whole), self.settings, seed=self.seed).raw} if whole else {}
        result = validation(
            self.every,
            self.features,
            self.held_out.raw,
            self.fit.raw(self.table.values),
            self.held_out.folds[0],
            alone={**scores, **self.alone},
            calls={
                JOINT: self.candidates.calls(kept, self.assignment, self.ask),
                WHOLE: self.candidates.calls([self.ids[place] for place in whole], self.assignment, self.ask),
                **{name: self.candidates.calls(ids, self.assignment, "by method") for name, ids in alone.items()},
            },
            direct=self.direct,
            points=self.held_out.scores,
        )
        joint, *others = result.evaluators
        updates: dict[str, Any] = {
            "evaluators": (self._refitted(joint, result.level), *others),
            "raters": raters(self.candidates.examples, self.assignment.aspect.name, self.assignment.scale),
            "verdict_agreements": tuple(self._verdict_agreements()),
        }
        return result.model_copy(update=updates)

    @cached_property
    def verdicts(self) -> FloatArray | None:
        """The held-out verdicts, 0 or 1 and NaN without a score; `None` for other labels than verdicts."""
        if (names := self.assignment.scale.names) is None:
            return None
        held_out, recall = self.selected.held_out, self.settings.recall(names)
        fold, by_hand = held_out.folds[0], self.threshold_by_hand
        return held_out_verdicts(held_out.scores, self.table.labels, fold, recall, by_hand)

    def _verdict_agreements(self) -> Iterator[VerdictAgreement]:
        """Yield the agreement of the rubric's verdicts, the same judge's asked directly, and the raters'."""
        if self.verdicts is None:
            return
        labels, groups, examples = self.table.labels, self.table.groups, self.candidates.examples
        held_out = self.held_out
        yield verdict_agreement(JOINT, held_out.scores, self.verdicts, labels, groups, order=held_out.raw)
        if (direct := self.direct) is not None:
            yield verdict_agreement(DIRECT, direct, verdicts_of(direct, 0.5), labels, groups)
        ratings = [example.annotations.get(self.assignment.aspect.name, ()) for example in examples]
        if others := raters_verdicts(ratings, groups):
            yield others

    def _refitted(self, evaluator: EvaluatorAgreement, level: Level) -> EvaluatorAgreement:
        """Return the rubric's agreement with intervals that include the variance of learning."""
        intervals = refitted_agreement(self.table, self.selected.held_out, level=level, seed=self.seed)
        return evaluator.model_copy(update={name: interval.rounded() for name, interval in intervals.items()})

    @property
    def agreement(self) -> TrainingAgreement:
        """Agreement with the labels that the rubric was fitted to, and held-out agreement."""
        labels, groups = self.table.labels, self.table.groups
        result = training_agreement(self.fitted, self.held_out.raw, labels, groups)
        # Over all texts this is the gate's correlation, with the gate's interval.
        same = {"reselected": self.validation.evaluators[0].spearman} if self.validation.level == "dataset" else {}
        return result.model_copy(update=same)

    def record(self, rubric: Rubric) -> TrainingRecord:
        """Return the texts with their held-out scores, and the ratings by all candidates."""
        aspect = self.assignment.aspect.name
        low, high = bounds(self.held_out.scores, self.conformal, self.assignment.scale)
        texts = recorded_texts(self.candidates.examples, aspect, self.held_out.scores, low, high)
        kept = {criterion.id for criterion in rubric.criteria}
        return TrainingRecord(
            texts=texts, candidates=self.candidates.marked(kept), cells=self.candidates.rated(self.ask)
        )


def _terms(fitted: Fit, ids: Sequence[str], selected: FloatArray, limits: Mapping[str, Bounds]) -> tuple[Term, ...]:
    columns = (fitted.weights, fitted.centers, fitted.spreads, fitted.low, fitted.high, selected)
    rows = zip(fitted.columns, *(column.tolist() for column in columns), strict=True)
    return tuple(
        Term(
            criterion=ids[place],
            weight=weight,
            center=center,
            spread=spread,
            low=round(low, DIGITS),
            high=round(high, DIGITS),
            selected=round(chosen, DIGITS),
            bounds=bounds_met(limits.get(ids[place]), weight),
        )
        for place, weight, center, spread, low, high, chosen in rows
    )

"""Mean human score of texts, mean, spread and histogram of their scores, and why texts have none.

Scores are kept while they pass, in 32 bytes a text.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rubriclab.base_models import FrozenModel
from rubriclab.comparison.results import MAX_UNSCORED
from rubriclab.data.scale import Scale
from rubriclab.judges.recording import recorded_name
from rubriclab.scoring import Score
from rubriclab.stats.folds import renumbered, units
from rubriclab.stats.interval import Interval
from rubriclab.stats.prediction_powered import (
    LabelledScores,
    ScoredSet,
    corrected_mean,
    labels_for_margin,
    mean_by_own_labels,
    unlike,
)

if TYPE_CHECKING:
    from rubriclab.services.workspace import Workspace
    from rubriclab.store import Version

BINS = 10
# Different reasons that are counted; others are counted together.
REASONS = 20
OTHER = "another reason"
# Slices that are told apart; texts of others are one slice.
SLICES = 50
OTHERS = "other values"
# The margin that labels are counted for, as a share of the scale's width: 0.2 points from 1 to 5.
MARGIN = 0.05


class SliceSummary(FrozenModel):
    """The texts of a slice that have a score; `labels` of them have a label."""

    name: str
    texts: int
    labels: int
    mean: float
    human_mean: Interval


@dataclass(slots=True)
class ScoreDistribution:
    """The scores of texts on a scale.

    Attributes:
        learned: labels of other texts by which the mean is corrected, unless the texts have labels of their own.
        values: of the texts that have one.
        groups: a number for the group of each of them.
        labels: of each of them, NaN where there is none.
        slices: the place of the slice of each of them in `names`.
        unscored: the others by reason.
        threshold: for verdicts, the lowest score that passes.
    """

    scale: Scale
    learned: LabelledScores | None = None
    values: array[float] = field(default_factory=lambda: array("d"))
    groups: array[int] = field(default_factory=lambda: array("q"))
    labels: array[float] = field(default_factory=lambda: array("d"))
    slices: array[int] = field(default_factory=lambda: array("q"))
    names: dict[str, int] = field(default_factory=dict)
    unscored: Counter[str] = field(default_factory=Counter)
    threshold: float | None = None

    def add(self, score: Score, group: str | None = None, label: float = math.nan, slice_name: str = "") -> None:
        """Count one more text; without `group`, it is a group of its own."""
        if score.score is not None:
            self.values.append(score.score)
            self.groups.append(hash(score.id if group is None else group))
            self.labels.append(label)
            name = slice_name if slice_name in self.names or len(self.names) < SLICES else OTHERS
            self.slices.append(self.names.setdefault(name, len(self.names)))
            return
        reason = score.unscored or ""
        self.unscored[reason if reason in self.unscored or len(self.unscored) < REASONS else OTHER] += 1

    @property
    def mean(self) -> float | None:
        """The mean score; `None` without scores."""
        return math.fsum(self.values) / len(self.values) if self.values else None

    @property
    def pass_rate(self) -> float | None:
        """The share of the texts with a score that pass; `None` without verdicts, or without scores."""
        if self.threshold is None or not self.values:
            return None
        return sum(value >= self.threshold for value in self.values) / len(self.values)

    @property
    def standard_deviation(self) -> float | None:
        """The standard deviation with n - 1; `None` for fewer than two scores."""
        if len(self.values) < 2 or self.mean is None:
            return None
        mean = self.mean
        return math.sqrt(math.fsum((value - mean) ** 2 for value in self.values) / (len(self.values) - 1))

    @property
    def histogram(self) -> tuple[int, ...]:
        """The numbers of scores in `BINS` bins of equal width over the scale; the ends include what lies beyond."""
        counts = [0] * BINS
        for value in self.values:
            place = int((value - self.scale.low) / self.scale.width * BINS)
            counts[min(max(place, 0), BINS - 1)] += 1
        return tuple(counts)

    @property
    def human_mean(self) -> Interval:
        """The estimated mean human score of the texts with a score; without a value if labels are missing or few.

        By labels of the texts themselves if there are any, stratified by slice if each slice has enough.
        """
        texts, slices = self._texts(), np.array(self.slices, dtype=np.int64)
        stratified = mean_by_own_labels(texts, slices) if self.own_labels else Interval(None)
        return self._human_mean(texts) if stratified.value is None else stratified.within(*self._ends)

    def slice_rows(self) -> list[SliceSummary]:
        """Return the texts of each slice, with their mean score and estimated mean human score, in order of names."""
        rows, slices = [], np.array(self.slices)
        for name, number in sorted(self.names.items()):
            texts = self._texts(slices == number)
            mean, human_mean = float(texts.scores.mean()), self._human_mean(texts).rounded()
            labels = len(texts.labelled.labels)
            rows.append(
                SliceSummary(name=name, texts=len(texts.scores), labels=labels, mean=mean, human_mean=human_mean)
            )
        return rows

    def _texts(self, chosen: npt.NDArray[np.bool_] | slice = slice(None)) -> ScoredSet:
        values, labels = (np.array(each)[chosen] for each in (self.values, self.labels))
        return ScoredSet(values, labels, renumbered(np.array(self.groups)[chosen]), np.ones(len(values)))

    def _human_mean(self, texts: ScoredSet) -> Interval:
        if not len(texts.scores):
            return Interval(None)
        if self.own_labels:
            found = mean_by_own_labels(texts, np.zeros_like(texts.unit))
        elif self.learned:
            groups = int(texts.unit.max()) + 1
            found = corrected_mean(float(texts.scores.mean()), len(texts.scores), groups, self.learned)
        else:
            return Interval(None)
        return found.within(*self._ends)

    @property
    def _ends(self) -> tuple[float, float]:
        return self.scale.low, self.scale.high

    @property
    def labelled(self) -> LabelledScores | None:
        """The labels that correct the mean, of the texts themselves or of learning; `None` without any."""
        return self._texts().labelled if self.own_labels else self.learned

    @property
    def own_labels(self) -> bool:
        """Whether texts have labels of their own."""
        return not np.isnan(np.array(self.labels)).all()

    @property
    def labels_needed(self) -> int | None:
        """How many labels give an interval of `margin`; `None` if texts are scored like the labelled ones."""
        labelled = self.labelled
        if labelled is None or self.human_mean.value is None:
            return None
        if not unlike(np.array(self.values), len(set(self.groups)), labelled):
            return None
        return labels_for_margin(labelled, self.margin)

    @property
    def margin(self) -> float:
        """The margin that labels are counted for, in points."""
        return MARGIN * self.scale.width

    def meets(self, threshold: float) -> bool | None:
        """Return whether the mean human score is at least `threshold`; without labels, whether the mean score is.

        For verdicts, the mean human score is the share of texts that people let pass, and without labels the share of
        texts that pass counts.

        It is `None` if the interval holds the threshold, or too many texts have no score to say so.
        """
        unscored, mean = sum(self.unscored.values()), self.mean if self.threshold is None else self.pass_rate
        if mean is None or unscored > MAX_UNSCORED * (unscored + len(self.values)):
            return None
        found = self.human_mean
        low, high = (mean, mean) if found.low is None or found.high is None else (found.low, found.high)
        return True if low >= threshold else False if high < threshold else None

    def to_row(self) -> dict[str, Any]:
        """Return the summary as one JSON object."""
        labelled = self.labelled
        return {
            "human_mean": asdict(self.human_mean.rounded()),
            "labels": 0 if labelled is None else len(labelled.labels),
            "labels_of": None if labelled is None else "texts" if self.own_labels else "learning",
            "labels_needed": self.labels_needed,
            "mean": self.mean,
            **({} if self.threshold is None else {"pass_rate": self.pass_rate}),
            "standard_deviation": self.standard_deviation,
            "histogram": list(self.histogram),
            "unscored_by_reason": dict(self.unscored),
            "slices": [each.model_dump(mode="json") for each in self.slice_rows()] if set(self.names) - {""} else [],
        }


def summarize_scores(scores: Iterable[Score], scale: Scale, threshold: float | None = None) -> ScoreDistribution:
    """Return the summary of scores on a scale."""
    summary = ScoreDistribution(scale, threshold=threshold)
    for score in scores:
        summary.add(score)
    return summary


def held_out_scores(workspace: Workspace, version: Version, judge: str) -> LabelledScores | None:
    """Return the labels of learning with the scores of the same texts by the rubric fitted to other groups.

    `None` for another judge than the one that the version was learned with, or without a training record.
    """
    if recorded_name(judge) != recorded_name(version.provenance.judge):
        return None
    record = workspace.open_store(access="read").training(version.ref)
    texts = [text for text in record.texts if text.predicted is not None] if record else []
    if not texts:
        return None
    labels, scores = np.array([(text.label, text.predicted) for text in texts], dtype=float).T
    systems = np.array([text.system or f"/{place}" for place, text in enumerate(texts)])
    return LabelledScores(labels, scores, units([text.group for text in texts]), renumbered(systems))

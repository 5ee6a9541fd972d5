"""The source rubric and the target texts of a transfer, and the difference of their agreement."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rubriclab.data.aspect import Aspect
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.digest import digest
from rubriclab.errors import DataError
from rubriclab.learning.gate import GateLevel
from rubriclab.provenance import Provenance
from rubriclab.rubric import Rubric
from rubriclab.stats.interval import Interval, rounded
from rubriclab.training_record import TrainingRecord
from rubriclab.transfer.results import SourceAgreement


@dataclass(frozen=True)
class SourceRubric:
    """A version, with the record of its training if there is one."""

    ref: str
    rubric: Rubric
    provenance: Provenance
    record: TrainingRecord | None = None


@dataclass(frozen=True)
class TargetTexts:
    """Texts that a rubric is transferred to.

    Attributes:
        name: as the user wrote it.
        examples: all usable texts, `labelled` among them.
        labelled: those with a score for `aspect`, on `scale`.
        labels: the number of labels to fit to, with the others held out; `None` for all.
    """

    name: str
    examples: tuple[Example, ...]
    labelled: tuple[Example, ...]
    aspect: Aspect
    scale: Scale
    labels: int | None = None

    def split(self, seed: int) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
        """Return the labelled texts to fit to, and those of other groups to evaluate on.

        The texts to fit to come from half of the groups, or as many as needed, one text of each group in turn, so that
        they represent many groups. The draw depends only on ids and the seed. If `labels` is `None`, or the number of
        texts, all are used.

        Raises:
            DataError: if there are fewer texts.
        """
        if self.labels is None or self.labels == len(self.labelled):
            return self.labelled, ()
        if self.labels > len(self.labelled):
            raise DataError(
                f"Expected at most {len(self.labelled)} labels, as many as there are, got {self.labels}.",
                "Give a smaller number of labels.",
            )
        by_group: dict[str, list[Example]] = {}
        for example in sorted(self.labelled, key=lambda example: digest([seed, example.id])):
            by_group.setdefault(example.group, []).append(example)
        groups = sorted(by_group, key=lambda group: digest([seed, group]))
        count = max(1, len(groups) // 2)
        while sum(len(by_group[group]) for group in groups[:count]) < self.labels:
            count += 1
        turns = sorted((turn, rank) for rank in range(count) for turn in range(len(by_group[groups[rank]])))
        fitted = {by_group[groups[rank]][turn].id for turn, rank in turns[: self.labels]}
        return (
            tuple(example for example in self.labelled if example.id in fitted),
            tuple(example for example in self.labelled if example.group not in groups[:count]),
        )


def source_agreement(provenance: Provenance, level: GateLevel) -> SourceAgreement | None:
    """Return the agreement on the source, at that level if it is known, else over all texts."""
    validation, training = provenance.validation, provenance.agreement
    if validation and validation.level in (level, "dataset"):
        rubric = validation.evaluators[0]
        return SourceAgreement(level=validation.level, n=rubric.n, spearman=rubric.spearman, pearson=rubric.pearson)
    if training and training.reselected.value is not None:
        return SourceAgreement(level="dataset", n=training.n, spearman=training.reselected)
    if training and not training.optimistic:
        return SourceAgreement(level="dataset", n=training.n, spearman=training.spearman, pearson=training.pearson)
    return None


def drop(before: Interval, after: Interval) -> Interval:
    """Return the difference of two independent estimates, with an interval computed from their intervals.

    The method of variance estimates recovery (Zou 2007, "Toward using confidence intervals to compare correlations",
    Psychological Methods 12).
    """
    if before.value is None or after.value is None:
        return Interval(None)
    value = before.value - after.value
    if before.low is None or before.high is None or after.low is None or after.high is None:
        return Interval(rounded(value))
    below = math.hypot(before.value - before.low, after.high - after.value)
    above = math.hypot(before.high - before.value, after.value - after.low)
    return Interval(rounded(value), rounded(value - below), rounded(value + above))

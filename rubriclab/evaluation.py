"""How well evaluators agree with human scores, each beside the baselines that cost nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rubriclab.data.example import Example, text_digest
from rubriclab.learning.baselines import feature_values
from rubriclab.learning.raters import ratings
from rubriclab.provenance import Baseline, Provenance
from rubriclab.stats import Agreement, Interval, agreement
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.intraclass import ceiling_interval
from rubriclab.stats.levels import ConstantRule, Level
from rubriclab.stats.pairwise import PairwiseAccuracy, pairwise_accuracy, soft_pairwise_accuracy
from rubriclab.text_features import CATALOGUE, WORD_COUNT

LEVELS: tuple[Level, ...] = ("group", "dataset", "system")
KNOWN = frozenset(entry.name for entry in CATALOGUE)
WORD_COUNT_BASELINE = "baseline: word count"


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Somebody who scores texts: `scores` has one number a text, NaN where it gave none.

    Of the `answers` to single criteria that the scores are made of, `answers_missing` are not there.
    """

    name: str
    scores: FloatArray
    answers_missing: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """One evaluator's agreement with the human scores of one aspect at one level.

    Attributes:
        pairwise: at group level only.
        soft_pairwise: soft pairwise accuracy of systems; at system level only.
        ceiling: the Pearson correlation that a judge who knows the true scores would reach, given how the raters
            differ; `None` without single raters' scores, and between systems.
    """

    evaluator: str
    aspect: str
    unscored: int
    agreement: Agreement
    answers_missing: int = 0
    answers: int = 0
    pairwise: PairwiseAccuracy | None = None
    ceiling: Interval | None = None
    soft_pairwise: float | None = None

    def to_row(self) -> dict[str, Any]:
        """Return the result as one JSON object."""
        found = self.agreement
        return {
            "evaluator": self.evaluator,
            "aspect": self.aspect,
            "level": found.level,
            "n": found.n,
            "groups": found.groups,
            "systems": found.systems,
            "too_few_groups": found.too_few_groups,
            "constant_groups": found.constant_groups,
            "constant_rule": found.constant,
            "unscored": self.unscored,
            "answers_missing": self.answers_missing,
            "answers": self.answers,
            "spearman": asdict(found.spearman),
            "pearson": asdict(found.pearson),
            "kendall": asdict(found.kendall),
            **({"soft_pairwise_accuracy": self.soft_pairwise} if found.level == "system" else {}),
            **({"ceiling": asdict(self.ceiling)} if self.ceiling else {}),
            **({"pairwise_accuracy": asdict(self.pairwise)} if self.pairwise else {}),
        }


def baseline_evaluators(examples: Sequence[Example], chosen: Mapping[str, Baseline]) -> list[Evaluator]:
    """Return the evaluators that never understand a text.

    These are the word count, and for each rubric the text feature that correlated most with its training labels, in
    the direction of that correlation. `chosen` maps a rubric's reference to its feature; equal choices are listed once,
    and features that this version of the package does not have are left out.
    """
    evaluators = [Evaluator(WORD_COUNT_BASELINE, feature_values(examples, [WORD_COUNT])[:, 0])]
    by_feature: dict[tuple[str, int], list[str]] = {}
    for rubric, baseline in chosen.items():
        if baseline.feature not in KNOWN:
            continue
        by_feature.setdefault((baseline.feature, baseline.sign), []).append(rubric)
    for (name, sign), rubrics in by_feature.items():
        remark = f"text feature chosen by the training labels of {', '.join(rubrics)}"
        label = f"baseline: {'' if sign > 0 else '-'}{name} ({remark})"
        evaluators.append(Evaluator(label, sign * feature_values(examples, [name])[:, 0]))
    return evaluators


def evaluate(
    examples: Sequence[Example],
    evaluators: Iterable[Evaluator],
    aspect: str,
    *,
    levels: Sequence[Level] = LEVELS,
    constant: ConstantRule = "skip",
) -> list[Result]:
    """Return the agreement of each evaluator with the scores that `examples` carry for `aspect`, level by level.

    The system level is left out where a text does not name its system. `unscored` counts the texts without a number
    from that evaluator, which its figures leave out; missing answers to criteria are counted as the evaluator says.
    """
    human = np.array([example.scores[aspect] for example in examples], dtype=float)
    groups = [example.group for example in examples]
    systems = [example.system for example in examples]
    known = [system for system in systems if system is not None]
    named = known if len(known) == len(systems) else None
    ceilings = {level: _ceiling(examples, aspect, level) for level in levels}
    return [
        Result(
            evaluator.name,
            aspect,
            int(np.isnan(evaluator.scores).sum()),
            agreement(evaluator.scores, human, groups, named, level=level, constant=constant),
            evaluator.answers_missing,
            evaluator.answers,
            pairwise_accuracy(evaluator.scores, human, groups) if level == "group" else None,
            ceilings[level],
            soft_pairwise_accuracy(evaluator.scores, human, groups, named) if level == "system" and named else None,
        )
        for evaluator in evaluators
        for level in levels
        if level != "system" or named is not None
    ]


def _ceiling(examples: Sequence[Example], aspect: str, level: Level) -> Interval | None:
    rated = ratings(examples, aspect)
    if rated is None or level == "system":
        return None
    groups = [example.group for example in examples]
    return ceiling_interval(rated.table, groups, within=level == "group", raters_known=bool(rated.names))


def unseen(examples: Iterable[Example], learned_from: Iterable[Provenance]) -> tuple[Example, ...]:
    """Return the examples that no version has learned from: neither their group nor their text, whatever its id."""
    made = tuple(learned_from)
    groups = {group for provenance in made for group in provenance.groups}
    texts = {text for provenance in made for text in provenance.texts}
    return tuple(e for e in examples if e.group not in groups and text_digest(e) not in texts)

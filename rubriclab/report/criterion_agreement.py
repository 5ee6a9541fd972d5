"""How far each criterion of a rubric agrees with people by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.report import describe
from rubriclab.report.texts import JudgedText, criterion_scores, human_scores
from rubriclab.report.wording import count, excerpt
from rubriclab.rubric import Criterion, Rubric
from rubriclab.stats import ConstantRule, Interval, Level, estimate, spearman_rows
from rubriclab.stats.bootstrap import batch_size
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.levels import level_statistic, scored_texts, used_texts

RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One criterion's Spearman correlation with the labels.

    Attributes:
        id: the criterion's.
        criterion: `None` for scores under an id that the rubric does not have.
        inapplicable: texts of which the judge found that it cannot be asked.
        unscored: texts without a usable rating.
    """

    id: str
    criterion: Criterion | None
    spearman: Interval
    inapplicable: int
    unscored: int

    @property
    def sub_dimension(self) -> str:
        """The sub-dimension of a question; empty for any other criterion."""
        return self.criterion.trait if self.criterion and self.criterion.question else ""

    @property
    def remark(self) -> str:
        """The id, with how many texts have no score by the criterion, and why."""
        inapplicable = f", {self.inapplicable} n/a" if self.inapplicable else ""
        unscored = f", {count(self.unscored, 'text')} unscored" if self.unscored else ""
        return f"{self.id}{inapplicable}{unscored}"

    def title(self, most: int) -> str:
        """Return what the criterion is called, cut after `most` characters."""
        return describe.title(self.criterion, most) if self.criterion else excerpt(self.id, most)


def criterion_agreements(
    rubric: Rubric, texts: Sequence[JudgedText], level: Level, constant: ConstantRule
) -> list[CriterionRow]:
    """Return the agreement of every criterion that `texts` were scored by, in the rubric's order."""
    by_id: dict[str, Criterion] = {criterion.id: criterion for criterion in rubric.criteria}
    scored = dict.fromkeys(part.id for text in texts for part in text.score.criteria)
    order = [*(name for name in by_id if name in scored), *(name for name in scored if name not in by_id)]
    found = []
    for name in order:
        scores = criterion_scores(texts, name)
        spearman = _spearman(scores, texts, level, constant)
        ratings = [part for text in texts for part in text.score.criteria if part.id == name]
        inapplicable = sum(part.score is None and not part.applies for part in ratings)
        missing = int(np.isnan(scores).sum()) - inapplicable
        found.append(CriterionRow(name, by_id.get(name), spearman, inapplicable, missing))
    return found


def _spearman(scores: FloatArray, texts: Sequence[JudgedText], level: Level, constant: ConstantRule) -> Interval:
    """Return what `rubriclab.stats.agreement` gives for Spearman, without the time that Kendall takes."""
    groups = [text.example.group for text in texts]
    systems = [text.example.system or "" for text in texts]
    used = used_texts(scored_texts([scores], human_scores(texts), groups, systems), level, constant)
    return estimate(
        level_statistic(used, 0, spearman_rows, level, constant),
        used.clusters,
        resamples=RESAMPLES,
        confidence=CONFIDENCE,
        seed=0,
        batch=batch_size(len(used.human)),
    )

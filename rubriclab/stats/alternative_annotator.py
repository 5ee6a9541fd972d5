"""Whether a judge may stand in for one of the raters: the alternative annotator test.

Calderon, Reichart & Dror 2025, "The Alternative Annotator Test for LLM-as-a-Judge: How to Statistically Justify
Replacing Human Annotators with LLMs". Each rater in turn is set aside, and rater and judge are held against the others
on every text; the judge has to come out ahead, given an advantage for being the cheaper one, of half of the raters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rubriclab.stats.correlation import FloatArray

# What the paper gives a judge: 0.2 beside experts, 0.15 beside skilled raters, 0.1 beside crowd workers. Who the raters
# were is not in the data: the strictest of the three passes nobody that another would not.
EPSILON = 0.1
FALSE_DISCOVERIES = 0.05
FEWEST_RATERS = 3
FEWEST_TEXTS = 10
# Below so many texts the paper's t-test gives way to Wilcoxon's signed-rank test.
FEWEST_FOR_T = 30


@dataclass(frozen=True, slots=True)
class AlternativeAnnotator:
    """What the test found.

    Attributes:
        raters: rows of the ratings that were tested: those with enough texts.
        advantages: for each, how often the judge is at least as close to the others as the rater is.
        rejected: for each, whether the judge is significantly better, given its advantage.
        epsilon: that advantage.
    """

    raters: tuple[int, ...]
    advantages: tuple[float, ...]
    rejected: tuple[bool, ...]
    epsilon: float

    @property
    def winning(self) -> float:
        """The winning rate: the share of the raters that the judge beats."""
        return float(np.mean(self.rejected))

    @property
    def advantage(self) -> float:
        """The average advantage probability."""
        return float(np.mean(self.advantages))

    @property
    def passed(self) -> bool:
        """Whether the judge may replace a rater."""
        return self.winning >= 0.5


def alternative_annotator(
    ratings: npt.ArrayLike, judge: npt.ArrayLike, *, epsilon: float = EPSILON
) -> AlternativeAnnotator | None:
    """Return the test's outcome; None below three raters with ten texts each that another and the judge scored too.

    Closeness to the others is the root mean squared distance from their ratings of the text, and equal closeness counts
    for both sides. The differences of a rater's texts are tested one-sidedly against `epsilon`, by a t-test or below 30
    texts by Wilcoxon's; Benjamini & Yekutieli's procedure keeps false discoveries among the raters to 5 %. The tests
    take texts for independent of each other.

    Args:
        ratings: shape (raters, texts), nan where missing.
        judge: shape (texts,), on the raters' scale, nan where unscored.
        epsilon: the judge's advantage.

    Raises:
        ValueError: shapes do not fit.
    """
    table, scores = np.asarray(ratings, dtype=np.float64), np.asarray(judge, dtype=np.float64)
    if table.ndim != 2 or scores.shape != table.shape[1:]:
        raise ValueError(
            f"ratings, judge: expected shapes (raters, texts) and (texts,), got {table.shape}, {scores.shape}"
        )
    compared = {row: outcomes for row in range(len(table)) if len(outcomes := _outcomes(table, scores, row))}
    tested = {row: outcomes for row, outcomes in compared.items() if len(outcomes) >= FEWEST_TEXTS}
    if len(tested) < FEWEST_RATERS:
        return None
    from scipy.stats import false_discovery_control

    chances = [_chance(outcomes[:, 1] - outcomes[:, 0], epsilon) for outcomes in tested.values()]
    adjusted = false_discovery_control(chances, method="by")
    return AlternativeAnnotator(
        tuple(tested),
        tuple(float(outcomes[:, 0].mean()) for outcomes in tested.values()),
        tuple(bool(chance <= FALSE_DISCOVERIES) for chance in adjusted),
        epsilon,
    )


def _outcomes(table: FloatArray, scores: FloatArray, row: int) -> FloatArray:
    """Return whether the judge, and whether the rater, is at least as close to the others, shape (texts, 2)."""
    others = np.delete(table, row, axis=0)
    shared = ~(np.isnan(table[row]) | np.isnan(scores) | np.isnan(others).all(axis=0))
    rater, judge = (
        np.sqrt(np.nanmean(np.square(others[:, shared] - own[shared]), axis=0)) for own in (table[row], scores)
    )
    level = np.isclose(rater, judge, rtol=0, atol=1e-9)
    return np.stack([(judge < rater) | level, (rater < judge) | level], axis=1).astype(np.float64)


def _chance(ahead: FloatArray, epsilon: float) -> float:
    """Return how probable a lead of the rater as small as this is if it were `epsilon`."""
    from scipy.stats import ttest_1samp, wilcoxon

    if len(ahead) < FEWEST_FOR_T:
        return float(wilcoxon(ahead - epsilon, alternative="less").pvalue)
    if np.ptp(ahead) == 0:  # the t statistic is infinite
        return 0.0 if ahead[0] < epsilon else 1.0
    return float(ttest_1samp(ahead, epsilon, alternative="less").pvalue)

"""Shares of texts, or of what is summed over them, with intervals from drawing groups of texts again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rubriclab.stats import FloatArray, Interval, Statistic, batch_size, estimate

RESAMPLES, CONFIDENCE = 1000, 0.95


@dataclass(frozen=True, eq=False)
class Share:
    """The sum of `part` over that of `whole`, each of shape (texts,); a share of nothing is undefined."""

    part: npt.NDArray[np.generic]
    whole: npt.NDArray[np.generic]

    def of(self, cluster: npt.NDArray[np.int64]) -> Statistic:
        """Return the share as a function of how often each cluster of texts counts."""
        part, whole = np.bincount(cluster, self.part), np.bincount(cluster, self.whole)

        def statistic(counts: FloatArray) -> FloatArray:
            with np.errstate(invalid="ignore", divide="ignore"):
                return np.asarray((counts @ part) / (counts @ whole), dtype=float)

        return statistic


def share(of: Share, groups: Sequence[str]) -> Interval:
    """Return the share with its interval; `groups` are those of the texts."""
    cluster = _clusters(groups)
    return _estimated(of.of(cluster), cluster)


def difference(first: Share, second: Share, groups: Sequence[str]) -> Interval:
    """Return the first share less the second with its interval, of the same texts drawn together."""
    cluster = _clusters(groups)
    one, other = first.of(cluster), second.of(cluster)
    return _estimated(lambda counts: one(counts) - other(counts), cluster)


def _clusters(groups: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return what each text is drawn with: its group, or itself where there is but one group."""
    names, cluster = np.unique(groups, return_inverse=True)
    return cluster if len(names) > 1 else np.arange(len(groups))


def _estimated(statistic: Statistic, cluster: npt.NDArray[np.int64]) -> Interval:
    clusters = int(cluster.max(initial=-1)) + 1
    batch = batch_size(clusters)
    return estimate(statistic, clusters, resamples=RESAMPLES, confidence=CONFIDENCE, seed=0, batch=batch).rounded()

"""What training computes over many texts grows with their number, and is what the definitions by all pairs give."""

import asyncio
import tracemalloc
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.active_learning.optimal_design import CRITERIA, GROUPS, REST, DesignPoints, select_texts
from rubriclab.learning.contributions import _pearson
from rubriclab.learning.gate import _defined, gate_level, held_out_pearson
from rubriclab.learning.selection_path import _correlations
from rubriclab.learning.shortcuts import _compared
from rubriclab.methods.hypoeval.bank import Arm
from rubriclab.methods.method import MOST_FOLDS, cross_validated
from rubriclab.services.running import finish
from rubriclab.stats import agreement, pearson_rows
from rubriclab.stats.jackknife_correlations import dependent_correlation
from rubriclab.stats.levels import level_statistic, scored_texts, used_texts
from rubriclab.training_record import Cell, RecordedText, TrainingRecord

RNG = np.random.default_rng(5)


def own_groups(n: int) -> list[str]:
    return [f"g{number}" for number in range(n)]


def rival_groups(n: int) -> list[str]:
    return [f"g{number // 4}" for number in range(n)]


def peak(work: Callable[[], object]) -> int:
    """Return the most memory that `work` holds at once, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def gate_curve(n: int) -> Callable[[], object]:
    labels = RNG.normal(size=n)
    table = SimpleNamespace(labels=labels, groups=own_groups(n))
    return lambda: _pearson(labels + RNG.normal(size=n), table)  # type: ignore[arg-type]


def rungs_compared(n: int) -> Callable[[], object]:
    table = SimpleNamespace(labels=RNG.normal(size=n), groups=own_groups(n))
    raws = RNG.normal(size=(4, n))
    return lambda: _correlations(raws, table)  # type: ignore[arg-type]


def rivals_compared(n: int) -> Callable[[], object]:
    groups = rival_groups(n)
    table = SimpleNamespace(labels=RNG.normal(size=n), groups=groups)
    return lambda: _compared(RNG.normal(size=(n, 2)), table)  # type: ignore[arg-type]


def systems_of_their_own(n: int) -> Callable[[], object]:
    labels, names = RNG.normal(size=n).round(2), own_groups(n)
    return lambda: agreement(labels, labels, names, names, level="system", resamples=2)


def texts_planned(n: int) -> Callable[[], object]:
    pool = DesignPoints(RNG.normal(size=(n, 3)), rival_groups(n))
    return lambda: select_texts(pool, DesignPoints(np.empty((0, 3)), []), np.full(3, 1 / 3), 2)


@pytest.mark.parametrize("prepared", [gate_curve, rungs_compared, rivals_compared, systems_of_their_own, texts_planned])
def test_memory_grows_no_faster_than_the_number_of_texts(prepared: Callable[[int], Callable[[], object]]) -> None:
    prepared(50)()  # what is imported and kept for good does not count
    few, many = (peak(prepared(n)) for n in (1500, 6000))
    assert many < 6 * few + 2**20


@pytest.mark.parametrize("groups", [rival_groups(40), own_groups(40), ["g"] * 40, ["a"] * 12 + ["b"] * 28])
def test_what_the_gate_says_without_each_cluster_is_the_statistic_of_the_others(groups: Sequence[str]) -> None:
    labels = RNG.integers(1, 6, 40).astype(float)
    scores = labels + RNG.normal(size=40)
    level = gate_level(labels, groups)
    texts = used_texts(scored_texts([scores], labels, groups, None), level, "skip")
    statistic = level_statistic(texts, 0, _defined(pearson_rows), level, "skip")
    r, without = held_out_pearson(scores, labels, groups)
    assert r == pytest.approx(statistic(np.ones((1, texts.clusters)))[0])
    np.testing.assert_allclose(without, statistic(1 - np.eye(texts.clusters)), atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), pool=st.integers(1, 25), labelled=st.integers(0, 15), groups=st.integers(1, 9))
def test_a_plan_is_the_one_of_the_full_covariance(seed: int, pool: int, labelled: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    sides = [
        DesignPoints(rng.normal(size=(n, 3)), [f"g{number}" for number in rng.integers(0, groups, n)])
        for n in (pool, labelled)
    ]
    shares = rng.dirichlet(np.ones(3))
    found = select_texts(*sides, shares, 6)  # type: ignore[arg-type, call-arg]
    for pick, (place, after) in zip(found, by_full_covariance(*sides, shares, 6), strict=True):  # type: ignore[arg-type, call-arg]
        assert pick.row == place
        assert pick.after == pytest.approx(after, abs=1e-10)


def by_full_covariance(
    pool: DesignPoints, labelled: DesignPoints, shares: np.ndarray, count: int
) -> list[tuple[int, float]]:
    """Return places and mean variances after each pick, by a matrix over all criteria and groups."""
    every = [*pool.groups, *labelled.groups]
    names = sorted({name for name in every if every.count(name) > 1})
    both = np.vstack([pool.values, labelled.values])
    spreads = both.std(axis=0)
    rows = np.hstack(
        [
            np.where(spreads > 0, (both - both.mean(axis=0)) / np.where(spreads > 0, spreads, 1), 0),
            [[float(group == name) for name in names] for group in every] or np.empty((len(every), 0)),
        ]
    )
    noise = np.array([REST if group in names else REST + GROUPS for group in every])
    prior = np.append(CRITERIA * (0.5 / 3 + 0.5 * shares), np.full(len(names), GROUPS))
    n = len(pool.groups)
    covariance = np.linalg.inv(np.diag(1 / prior) + (rows[n:].T / noise[n:]) @ rows[n:])
    spread, left, found = rows[:n, :3].T @ rows[:n, :3] / n, list(range(n)), []
    before = float((spread * covariance[:3, :3]).sum())
    while left and len(found) < count:
        shared = rows[left] @ covariance
        uncertain = (shared * rows[left]).sum(axis=1) + noise[left]
        gains = ((shared[:, :3] @ spread) * shared[:, :3]).sum(axis=1) / uncertain
        best = int(np.argmax(gains.round(12)))
        before -= float(gains[best])
        covariance = covariance - np.outer(shared[best], shared[best]) / uncertain[best]
        found.append((left.pop(best), before))
    return found


def test_resampled_correlations_are_those_of_the_rows_written_out() -> None:
    cluster = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4, 5])
    variables, target = RNG.normal(size=(10, 3)), RNG.normal(size=10)
    variables[2, 0] = np.nan
    found = dependent_correlation(variables, variables[:, 1], target, cluster, resamples=20)
    there = ~np.isnan(variables[:, 0])
    assert found.r[0] == pytest.approx(np.corrcoef(variables[there, 0], target[there])[0, 1])
    assert found.benchmark[0] == pytest.approx(np.corrcoef(variables[there, 1], target[there])[0, 1])


@pytest.mark.parametrize("groups", [20, 1000])
def test_groups_are_left_out_a_bounded_number_of_times(groups: int) -> None:
    names, asked = [f"g{number % groups}" for number in range(2000)], []

    def predict(others: np.ndarray, inside: np.ndarray) -> np.ndarray:
        asked.append({name for name, left in zip(names, inside, strict=True) if left})
        assert not asked[-1] & {name for name, seen in zip(names, others, strict=True) if seen}
        return np.ones(inside.sum())

    assert cross_validated(names, predict).all()
    assert len(asked) == min(groups, MOST_FOLDS)


def test_an_arm_takes_the_same_memory_after_any_number_of_visits() -> None:
    arm = Arm("h01")
    for step in range(1000):
        arm = arm.seen(0.25, step)
    assert arm == Arm("h01", 1000, 250.0, 999)


def test_resamples_of_many_groups_are_never_all_in_memory() -> None:
    target = RNG.normal(size=6000)
    all_at_once = 8 * 1000 * 6000
    assert (
        peak(lambda: dependent_correlation(RNG.normal(size=(6000, 2)), target, target, np.arange(6000))) < all_at_once
    )


def test_the_result_of_a_command_is_never_formatted_on_the_way() -> None:
    formatted = []

    class Result:
        def __repr__(self) -> str:
            formatted.append(self)
            return "a result"

    async def work() -> Result:
        await asyncio.sleep(0)
        return Result()

    assert isinstance(finish(work), Result)
    assert not formatted


def record(texts: int, criteria: int) -> TrainingRecord:
    row = tuple(Cell(score=float(place % 5), reason=f"Measured: {place}.") for place in range(criteria))
    return TrainingRecord(
        texts=tuple(RecordedText(id=str(n), group="g", output="A text.", label=3) for n in range(texts)),
        candidates=(),
        cells=(row,) * texts,
    )


def test_writing_a_training_record_takes_little_more_memory_than_its_content() -> None:
    whole = record(500, 50)
    content = "".join(whole.content())
    assert peak(whole.content) < 3 * len(content)
    assert TrainingRecord.model_validate_json(content) == whole

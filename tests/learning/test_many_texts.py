"""What training computes over many texts grows with their number, and is what the definitions by all pairs give."""

import asyncio
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from rubriclab.methods.method import MAX_FOLDS, cross_validated
from rubriclab.models.version import Cell, RecordedText, TrainingRecord
from rubriclab.ops.label import select_texts
from rubriclab.ops.workspace import finish
from rubriclab.stats import agreement

RNG = np.random.default_rng(5)


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


def systems_of_their_own(n: int) -> Callable[[], object]:
    labels, names = RNG.normal(size=n).round(2), [f"g{number}" for number in range(n)]
    return lambda: agreement(labels, labels, names, names, level="system")


def texts_planned(n: int) -> Callable[[], object]:
    pool, labelled = RNG.normal(size=(n, 3)), RNG.normal(size=(30, 3))
    return lambda: select_texts(pool, rival_groups(n), labelled, rival_groups(30), np.full(3, 1 / 3))


@pytest.mark.parametrize("prepared", [systems_of_their_own, texts_planned])
def test_memory_grows_no_faster_than_the_number_of_texts(prepared: Callable[[int], Callable[[], object]]) -> None:
    prepared(50)()  # what is imported and kept for good does not count
    few, many = (peak(prepared(n)) for n in (1500, 6000))
    assert many < 6 * few + 2**20


@pytest.mark.parametrize("groups", [20, 1000])
def test_groups_are_left_out_a_bounded_number_of_times(groups: int) -> None:
    names, asked = [f"g{number % groups}" for number in range(2000)], []

    def predict(others: np.ndarray, inside: np.ndarray) -> np.ndarray:
        asked.append({name for name, left in zip(names, inside, strict=True) if left})
        assert not asked[-1] & {name for name, seen in zip(names, others, strict=True) if seen}
        return np.ones(inside.sum())

    assert cross_validated(names, predict).all()
    assert len(asked) == min(groups, MAX_FOLDS)


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

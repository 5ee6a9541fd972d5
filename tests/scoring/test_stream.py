"""A stream of rows to a stream of scores: order, bounds, faults and what happens when a run ends early."""

import asyncio
import itertools
import json

import pytest
from hypoeval_scripts import assignment, criterion, example, rating

from rubriclab.data.rows import RowError
from rubriclab.errors import BudgetReached, DataError, JudgeRefused, SettingsError
from rubriclab.judges.judge import Reply
from rubriclab.learning.scoring import score_stream
from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.models.rubric import Part, Rubric

REF = "r@1"
PART = Part(method="hypoeval", settings=HypoEvalSettings().model_dump(mode="json"), criteria=(criterion("a"),))
RUBRIC = Rubric(task="summarization", aspect=assignment().aspect, scale=assignment().scale, parts=(PART,))


class SlowJudge:
    """Takes as many turns of the event loop as `turns` says for a text, and counts who is with it at once."""

    name = "slow"

    def __init__(self, turns=lambda _: 1, error=None) -> None:
        self.identity = {"model": self.name}
        self._turns = turns
        self._error = error or {}
        self.active = self.most = 0
        self.begun, self.ended = [], []

    async def reply(self, prompt):
        """Return the text's number as the score."""
        number = int(prompt.fields["output"].split()[-1].rstrip("."))
        self.active += 1
        self.begun.append(number)
        self.most = max(self.most, self.active)
        try:
            for _ in range(self._turns(number)):
                await asyncio.sleep(0)
            if number in self._error:
                raise self._error[number]
            self.ended.append(number)
            return Reply(json.dumps(rating(1 + number % 5)), self.name)
        finally:
            self.active -= 1


async def scores_of(rows, judge, under_way=4, into=None):
    """Return the scores, also in `into`, which holds those that came before an error."""
    found = [] if into is None else into
    async for score in score_stream(RUBRIC, rows, judge, REF, under_way):
        found.append(score)
    return found


def texts(count):
    return [example(i, 3) for i in range(count)]


@pytest.mark.parametrize(
    "turns",
    [lambda _: 1, lambda number: 40 - number, lambda number: number * 7 % 11 + 1],
    ids=["even", "falling", "mixed"],
)
@pytest.mark.parametrize("under_way", [1, 3, 16])
async def test_scores_come_in_the_order_of_the_rows(turns, under_way):
    found = await scores_of(texts(30), SlowJudge(turns), under_way)
    assert [(s.id, s.score) for s in found] == [(f"t{i:02d}", 1 + i % 5) for i in range(30)]


@pytest.mark.parametrize("under_way", [1, 3, 8])
async def test_as_many_texts_as_allowed_are_under_way_and_no_more(under_way):
    judge = SlowJudge(lambda _: 5)
    await scores_of(texts(30), judge, under_way)
    assert judge.most == under_way


async def test_a_faulty_row_is_unscored_in_its_place_with_the_fault_as_reason():
    fault = RowError("texts.jsonl", 2, "output", "nothing", "a non-empty text", "the id")
    nameless = RowError("texts.jsonl", 4, None, "a list", "an object")
    rows = [*texts(1), fault, example(2, 3), nameless]
    found = await scores_of(rows, SlowJudge())
    assert [s.id for s in found] == ["t00", "the id", "t02", "texts.jsonl:4"]
    assert [s.score for s in found] == [1, None, 3, None]
    assert found[1].unscored == "texts.jsonl:2: field 'output': got nothing, expected a non-empty text"
    assert found[3].unscored == str(nameless)
    assert all((s.rubric, s.judge, s.aspect) == (REF, "slow", "coherence") for s in found)


async def test_an_error_that_ends_the_run_waits_for_those_under_way():
    judge = SlowJudge(lambda number: 1 if number == 2 else 30, {2: JudgeRefused("wrong key")})
    found = []
    with pytest.raises(JudgeRefused):
        await scores_of(texts(100), judge, 5, into=found)
    assert [score.id for score in found] == ["t00", "t01"]
    assert judge.active == 0
    assert sorted(judge.ended) == [number for number in sorted(judge.begun) if number != 2]
    assert len(judge.begun) < 12


async def test_of_several_errors_the_first_row_s_is_raised():
    errors = {1: BudgetReached("spent"), 0: JudgeRefused("wrong key")}
    with pytest.raises(JudgeRefused):
        await scores_of(texts(4), SlowJudge(lambda number: 9 - number, errors))


async def test_rows_that_cannot_be_read_on_wait_for_those_under_way():
    def rows():
        yield from texts(3)
        raise DataError("the file is cut off")

    judge = SlowJudge(lambda _: 5)
    with pytest.raises(DataError):
        await scores_of(rows(), judge)
    assert sorted(judge.ended) == [0, 1, 2]


async def test_an_endless_stream_is_read_only_as_far_as_needed():
    taken = []

    def endless():
        for number in itertools.count():
            taken.append(number)
            yield example(number, 3)

    found = []
    stream = score_stream(RUBRIC, endless(), SlowJudge(), REF, 4)
    async for score in stream:
        found.append(score.id)
        if len(found) == 10:
            break
    await stream.aclose()
    assert found == [f"t{i:02d}" for i in range(10)]
    assert len(taken) <= 10 + 4


async def test_nothing_goes_on_after_the_reader_has_gone():
    judge = SlowJudge(lambda _: 1000)
    stream = score_stream(RUBRIC, texts(50), judge, REF, 5)
    first = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await asyncio.sleep(0)
    assert judge.active == 0
    assert judge.ended == []


async def test_no_rows_no_scores():
    assert await scores_of([], SlowJudge()) == []


async def test_no_text_under_way_is_refused_instead_of_scoring_nothing():
    with pytest.raises(SettingsError, match="With 0 texts under way"):
        await scores_of(texts(2), SlowJudge(), 0)

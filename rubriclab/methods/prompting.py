"""What the requests of several methods share: several at once, chunks, labelled texts, and repeated samples."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from rubriclab.judges.ask import JudgeAnswer, ask
from rubriclab.judges.judge import Judge
from rubriclab.models.text import Example
from rubriclab.prompts import Prompt

S = TypeVar("S")
T = TypeVar("T")


async def gathered(requests: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of coroutines that run concurrently, in order; the first error is raised, as by `gather`.

    A single one runs in the caller's task: a task of its own would take longer than the offline judge's reply.
    """
    coroutines = list(requests)
    if len(coroutines) == 1:
        return [await coroutines[0]]
    return await asyncio.gather(*coroutines)


async def for_each(
    items: Sequence[S], request: Callable[[S], Coroutine[Any, Any, T]], on_done: Callable[[int], None]
) -> list[T]:
    """Return the result of a request for each item, in order; `on_done` is called with how many are done."""
    done = 0

    async def counted(item: S) -> T:
        nonlocal done
        result = await request(item)
        done += 1
        on_done(done)
        return result

    return await asyncio.gather(*map(counted, items))


R = TypeVar("R", bound=BaseModel)

# Independent samples that are requested at most until one is usable.
SAMPLES = 3


def chunks(items: Sequence[T], most: int) -> list[Sequence[T]]:
    """Return `items` in as few runs of at most `most` as possible, all of about the same length."""
    count = math.ceil(len(items) / most)
    ends = [len(items) * number // count for number in range(count + 1)] if count else []
    return [items[start:end] for start, end in itertools.pairwise(ends)]


def by_source(examples: Sequence[Example]) -> list[Example]:
    """Return the examples with those of the same source next to each other, otherwise in the order given."""
    first: dict[str | None, int] = {}
    for place, example in enumerate(examples):
        first.setdefault(example.source, place)
    return sorted(examples, key=lambda example: first[example.source])


def shown_once(texts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the fields of each text, with the number of an earlier text that shows the same source or context.

    Args:
        texts: with `source`, `context` and `output`, in the order in which a prompt numbers them from 1.

    Returns:
        The same fields, and `source_as_in` and `context_as_in`: a number, or `None` if the text shows its own.
    """
    first: dict[tuple[str, str], int] = {}
    shown = []
    for number, text in enumerate(texts, 1):
        earlier = {}
        for name in ("source", "context"):
            shown_in = first.setdefault((name, text[name] or ""), number)
            earlier[f"{name}_as_in"] = shown_in if shown_in < number and text[name] else None
        shown.append({**text, **earlier})
    return shown


async def first_usable(prompt: Prompt[R], judge: Judge, *, salvage: type[R] | None = None) -> JudgeAnswer[R]:
    """Return the first usable answer of up to `SAMPLES` independent samples, or the last answer if none is usable."""
    for sample in range(SAMPLES):
        answer = await ask(judge, replace(prompt, sample=sample), salvage=salvage)
        if answer.value is not None or not answer.replied:
            break
    return answer

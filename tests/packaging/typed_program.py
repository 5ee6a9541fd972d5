"""A program that uses rubriclab, for type checkers: `make types` and `make test-release` check it, nothing runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_type

import rubriclab as rl


def score_texts(texts: Sequence[str]) -> list[float | None]:
    """Return a score for each text; `None` where it could not be scored."""
    sample = rl.Lab().sample("demo")
    lab = rl.Lab("rubrics.db", judge="embedded")
    assert_type(lab, rl.Lab)
    version = lab.learn(sample.labelled, task="summarization", aspect="coherence", scale=(1, 5), name="coherence")
    assert_type(version, rl.Version)
    scores = lab.score(list(texts), version)
    assert_type(scores, rl.Scores)
    assert_type(lab.evaluate(sample.heldout, [version]), rl.Evaluation)
    return [score.score for score in scores]


async def score_as_they_arrive(rows: Sequence[dict[str, str]]) -> None:
    try:
        async for score in rl.Lab().score_stream_async(rows, "coherence@production"):
            assert_type(score, rl.Score)
            print(score.id, score.score, score.interval)
    except rl.RubriclabError as error:
        print(error.hint)

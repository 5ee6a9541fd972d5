"""A request's digest."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings, strategies as st
from judge_questions import GOOD, rate
from pydantic import BaseModel

from rubriclab.judges.judge import Reply, Token, Usage, messages_of, read_back, request_digest, written
from rubriclab.prompts.prompt import Prompt

JUDGE = {"model": "m"}


def test_everything_that_shapes_the_reply_is_in_the_digest() -> None:
    class Other(BaseModel):
        score: float

    plain = rate()
    variants = [
        plain,
        rate(temperature=0.1),
        rate(max_tokens=1),
        rate(sample=1),
        rate(alternatives=5),
        rate(alternatives=20),
        plain.repaired("x", "y"),
        Prompt(plain.name, plain.fields, Other),
    ]
    digests = {request_digest(judge, prompt) for judge in (JUDGE, {"model": "n"}) for prompt in variants}  # type: ignore[arg-type]
    assert len(digests) == 2 * len(variants)


def test_digest_is_the_same_in_another_process() -> None:
    program = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]); import rubriclab.prompts; "
        "sys.modules['rubriclab.prompts.render'].FOLDER = Path(sys.argv[1]) / 'templates'; "
        "from judge_questions import rate; from rubriclab.judges.judge import request_digest; "
        "print(request_digest({'model': 'm'}, rate('some text')))"
    )
    command = [sys.executable, "-c", program, str(Path(__file__).parent)]
    there = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert there == request_digest(JUDGE, rate("some text"))


@pytest.mark.parametrize("character", [".", "😀"])
def test_rendered_prompts_of_long_texts_do_not_stay_in_memory(character: str) -> None:
    tracemalloc.start()
    try:
        for number in range(150):
            messages_of(rate(f"{number} {'.' * 900_000}{character}"))
        held, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 100_000_000


def test_written_reply_is_read_back_as_kept() -> None:
    reply = Reply(GOOD, "m", Usage(1, 2, None), truncated=True)
    assert read_back(written(reply)) == Reply(GOOD, "m", Usage(1, 2, None), truncated=True, cached=True)


TOKENS = st.builds(
    Token,
    st.text(st.characters(codec="utf-8")),
    st.lists(st.tuples(st.text(st.characters(codec="utf-8")), st.floats(-9999, 0)), max_size=3).map(tuple),
)


@given(st.lists(TOKENS, max_size=4))
@settings(deadline=None, max_examples=50)
def test_tokens_are_read_back_from_json_as_they_were(tokens: list[Token]) -> None:
    reply = Reply(GOOD, "m", tokens=tuple(tokens))
    assert read_back(orjson.loads(orjson.dumps(written(reply)))).tokens == reply.tokens


@pytest.mark.parametrize(
    "tokens", ["4", [4], [{"text": "4"}], [{"text": "4", "alternatives": [["4"]]}], [{"alternatives": []}]]
)
def test_damaged_tokens_are_an_error(tokens: Any) -> None:
    with pytest.raises(ValueError, match="tokens"):
        read_back({**written(Reply(GOOD, "m")), "tokens": tokens})

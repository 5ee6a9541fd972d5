"""Replies and texts that SEAL and DCR have to cope with, from the server's reply to the row that is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import Commands
from method_flows import Run, some_texts
from server import RunningServer

TWO = some_texts(2)
GIVEN = [json.loads(line) for line in TWO.splitlines()]
both = pytest.mark.parametrize("method", ["seal", "dcr"])


@pytest.fixture
def imported(run: Run, asking: Commands) -> Commands:
    """The command line with the rubric that a method learned, and no answers."""
    assert asking("import", "-", stdin=run.pack.encode()).code == 0
    return asking


def scored(commands: Commands, texts: bytes = TWO) -> list[Any]:
    done = commands("score", "-", "--rubric", "news", stdin=texts)
    assert done.code == 0, done.err
    return done.rows


@both
def test_an_empty_text_is_unscored_without_a_question_and_one_sentence_is_one_unit(
    method: str, provider: RunningServer, imported: Commands
) -> None:
    sentence = "Rusk Hollow's school team has won the national junior chess cup."
    rows = [{**GIVEN[0], "id": output, "output": output} for output in ("", " \n", sentence)]
    *empty, one = scored(imported, "\n".join(map(json.dumps, rows)).encode())
    for row in empty:
        assert (row["score"], row["criteria"]) == (None, [])
        assert "expected a non-empty text" in row["unscored"]
    assert 1 <= one["score"] <= 5
    assert [[unit["unit"] for unit in each["units"]] for each in one["criteria"]] == [[sentence]] * len(one["criteria"])
    # SEAL asks for its facts, which are too few, and then how good the whole is; DCR for a reason and its mark.
    assert provider.requests.total() == 2
    assert ('"score"' in provider.bodies[1]["messages"][1]["content"]) == (method == "seal")


@both
def test_where_nothing_could_be_asked_no_provider_is_blamed(
    run: Run, provider: RunningServer, imported: Commands
) -> None:
    wordless = json.dumps({**GIVEN[0], "output": "..."}).encode()
    (row,) = scored(imported, wordless)
    assert "there is no sentence in the summary" in row["unscored"]
    assert provider.requests.total() == 0

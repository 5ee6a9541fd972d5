"""Replies and texts that SEAL and DCR have to cope with, from the server's reply to the row that is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import methods_brain
import numpy as np
import pytest
from commands import Commands
from method_flows import Run, Turns, some_texts
from server import Brain, RunningServer

TWO = some_texts(2)
GIVEN = [json.loads(line) for line in TWO.splitlines()]
Entries = list[dict[str, Any]]
seal = pytest.mark.parametrize("method", ["seal"])
dcr = pytest.mark.parametrize("method", ["dcr"])
both = pytest.mark.parametrize("method", ["seal", "dcr"])


@pytest.fixture
def imported(run: Run, asking: Commands) -> Commands:
    """The command line with the rubric that a method learned, and no answers."""
    assert asking("import", "-", stdin=run.pack.encode()).code == 0
    return asking


def spoiling(name: str, spoil: Callable[[Entries], Entries]) -> Brain:
    """Return the usual brain but for one list in its replies, which is spoilt in the first and in the repair."""

    def brain(messages: Turns, body: dict[str, Any]) -> str:
        said = json.loads(methods_brain.reply(messages, body))
        return json.dumps({**said, name: spoil(said[name])} if name in said else said)

    return brain


def scored(commands: Commands, texts: bytes = TWO) -> list[Any]:
    done = commands("score", "-", "--rubric", "news", stdin=texts)
    assert done.code == 0, done.err
    return done.rows


def by_the_equations(row: dict[str, Any]) -> float:
    """Return a text's score on the scale from 1 to 5 by SEAL's equations 6 and 7, from what its row says."""
    criteria = row["criteria"]
    verdicts = np.array([[unit["value"] for unit in criterion["units"]] for criterion in criteria])
    weights = np.array([criterion["weight"] for criterion in criteria])
    return float(1 + 4 * (weights @ verdicts).mean())


@seal
def test_weights_that_sum_to_anything_come_to_1_and_the_score_follows_from_the_row(run: Run) -> None:
    for row in run.scores:
        assert sum(criterion["weight"] for criterion in row["criteria"]) == pytest.approx(1, abs=1e-5)
        assert row["score"] == pytest.approx(by_the_equations(row), abs=1e-4)
    assert len({criterion["weight"] for criterion in run.scores[0]["criteria"]}) > 1


@seal
def test_a_negative_weight_leaves_texts_unscored_with_their_verdicts(
    run: Run, provider: RunningServer, imported: Commands
) -> None:
    provider.brain = spoiling("weights", lambda entries: [*entries[:-1], {**entries[-1], "weight": -1}])
    for row, whole in zip(scored(imported), run.scores, strict=False):
        assert row["score"] is None
        assert "there are no weights by the judge: " in row["unscored"]
        kept = [[unit["value"] for unit in criterion["units"]] for criterion in row["criteria"]]
        assert kept == [[unit["value"] for unit in criterion["units"]] for criterion in whole["criteria"]]


@seal
def test_a_claim_whose_only_fact_does_not_exist_is_not_borne_out(
    run: Run, provider: RunningServer, imported: Commands
) -> None:
    provider.brain = spoiling("supports", lambda entries: [{**entries[0], "facts": ["c999"]}, *entries[1:]])
    for row, whole in zip(scored(imported), run.scores, strict=False):
        first, *others = row["criteria"][0]["units"]
        assert (first["value"], first["support"]) == (0, [])
        assert first["reason"].startswith("the fact named does not exist: c999; ")
        assert others == whole["criteria"][0]["units"][1:]
        assert row["criteria"][1:] == whole["criteria"][1:]
        assert row["score"] == pytest.approx(by_the_equations(row), abs=1e-4)


@seal
def test_a_sentence_whose_facts_are_left_out_is_missing_and_no_claim_is_held_against_the_rest_of_a_source(
    provider: RunningServer, imported: Commands
) -> None:
    provider.brain = spoiling("sentences", lambda entries: entries[:-1])
    for row in scored(imported):
        borne_out, *others = row["criteria"]
        assert {unit["value"] for unit in borne_out["units"]} == {None}
        assert "could not all be had: no usable facts, also after one repair: " in borne_out["units"][0]["reason"]
        for criterion in others:
            *known, last = criterion["units"]
            assert None not in [unit["value"] for unit in known]
            assert (last["value"], last["sentences"]) == (None, [3])


@dcr
def test_marks_too_many_change_nothing(run: Run, provider: RunningServer, imported: Commands) -> None:
    provider.brain = spoiling("marks", lambda marks: [*marks, marks[0], {**marks[0], "reason": len(marks) + 1}])
    assert scored(imported) == run.scores[: len(GIVEN)]


@dcr
def test_a_mark_too_few_is_missing_and_the_score_rests_on_the_others(
    run: Run, provider: RunningServer, imported: Commands
) -> None:
    provider.brain = spoiling("marks", lambda marks: marks[1:])
    for row, whole in zip(scored(imported), run.scores, strict=False):
        lost, *others = row["criteria"][0]["units"]
        assert lost["value"] is None
        assert "This reason has no mark: no usable entry, also after one repair" in lost["reason"]
        assert others == whole["criteria"][0]["units"][1:]
        assert row["score"] == pytest.approx(1 + 4 * np.mean([unit["value"] for unit in others]), abs=1e-4)


@dcr
def test_with_half_of_the_marks_missing_there_is_no_score(provider: RunningServer, imported: Commands) -> None:
    provider.brain = spoiling("marks", lambda marks: marks[: len(marks) // 2])
    for row in scored(imported):
        assert row["score"] is None
        assert "2 of 4 sentences of the summary without a usable mark" in row["unscored"]


@pytest.mark.parametrize("method", ["seal", "dcr"])
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
    assert ("ratings" in provider.bodies[1]["messages"][1]["content"]) == (method == "seal")


@dcr
def test_a_text_without_words_has_no_sentence_to_ask_about(
    run: Run, provider: RunningServer, imported: Commands
) -> None:
    rows = [{**GIVEN[0], "output": "..."}, GIVEN[1]]
    wordless, other = scored(imported, "\n".join(map(json.dumps, rows)).encode())
    assert wordless["score"] is None
    assert "there is no sentence in the summary" in wordless["unscored"]
    assert (other, provider.requests.total()) == (run.scores[1], 2)


@both
def test_where_nothing_could_be_asked_no_provider_is_blamed(
    run: Run, provider: RunningServer, imported: Commands
) -> None:
    wordless = json.dumps({**GIVEN[0], "output": "..."}).encode()
    (row,) = scored(imported, wordless)
    assert "there is no sentence in the summary" in row["unscored"]
    assert provider.requests.total() == 0

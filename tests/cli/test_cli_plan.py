"""`rubriclab plan`: what to label next, offline, and what is refused."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import asdict
from typing import Any

import pytest
import scripted_model
from commands import HELDOUT, LABELLED, Commands
from server import RunningServer, Unavailable

from rubriclab.data.readers import read
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import Ledger
from rubriclab.judges.options import JudgeOptions
from rubriclab.learning.scoring import score_text
from rubriclab.models.aggregation import Aggregation, Calibration, Term
from rubriclab.models.text import Example
from rubriclab.models.version import Candidate, Cell, Effort, RecordedText, TrainingRecord, Version
from rubriclab.store.store import open_store

ROWS = [json.loads(line) for line in HELDOUT.read_text("utf-8").splitlines()][:12]
BARE = [{name: value for name, value in row.items() if name not in ("scores", "annotations")} for row in ROWS]
PLAN = ("plan", "texts.jsonl", "--rubric", "joint")


@pytest.fixture(scope="session")
def planning(learned: Commands, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """The command line with a store of joint@1: the criteria of news@1 combined, with the record of their scores."""
    commands = Commands(tmp_path_factory.mktemp("planning"), RUBRICLAB_STORE="store.db")
    shutil.copy(learned.folder / "store.db", commands.folder)
    with open_store(commands.folder / "store.db") as store:
        known = store.load("news@1")
        record = asyncio.run(_record(known))
        share = 1 / len(record.candidates)
        terms = tuple(
            Term(criterion=each.id, weight=share, center=3, spread=1, low=0, high=1, selected=1)
            for each in known.rubric.criteria
        )
        mapped = Calibration(kind="linear", x=(0, 1), y=(3, 4))
        aggregation = Aggregation(terms=terms, calibration=mapped)
        rubric = known.rubric.model_copy(update={"aggregation": aggregation})
        store.save("joint", rubric, known.provenance, Effort(), training=record)
        store.save("forgotten", rubric, known.provenance, Effort())
    _write(commands, BARE)
    return commands


async def _record(known: Version) -> TrainingRecord:
    judge = connect("embedded", options=JudgeOptions(), ledger=Ledger())
    examples = [row for row in read(LABELLED) if isinstance(row, Example)]
    scored = [await score_text(known.rubric, example, judge, known.ref) for example in examples]
    fields = ("id", "group", "output", "source", "context", "reference")
    return TrainingRecord(
        texts=tuple(
            RecordedText(**{name: asdict(each)[name] for name in fields}, label=each.scores["coherence"])
            for each in examples
        ),
        candidates=tuple(Candidate(method="hypoeval", criterion=each, kept=True) for each in known.rubric.criteria),
        cells=tuple(tuple(Cell(score=each.score, reason=each.reason) for each in score.criteria) for score in scored),
    )


def _write(commands: Commands, rows: list[dict[str, Any]], name: str = "texts.jsonl") -> None:
    (commands.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def test_rows_come_in_order_as_they_were_given_with_the_reasons(planning: Commands) -> None:
    done = planning(*PLAN, "--count", 4, "-o", "next.jsonl")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (planning.folder / "next.jsonl").read_text("utf-8").splitlines()]
    by_id = {row["id"]: row for row in BARE}
    assert [row["plan"]["rank"] for row in rows] == [1, 2, 3, 4]
    for row in rows:
        reasons = row.pop("plan")
        assert row == by_id[row["id"]]
        assert reasons["new_group"] is True
        assert row["id"] in done.out.replace("\n", "")
    assert "4 rows written to next.jsonl" in done.err


def test_the_order_of_the_rows_changes_nothing_nor_which_are_sampled(planning: Commands) -> None:
    _write(planning, BARE[::-1], "turned.jsonl")
    for more in ((), ("--sample", 5)):
        first = planning(*PLAN, "--json", "--count", 3, *more).json
        second = planning("plan", "turned.jsonl", *PLAN[2:], "--json", "--count", 3, *more).json
        assert first["texts"] == second["texts"]
        assert len(first["texts"]) == 3
        assert first["pool"] == (5 if more else 12)


def test_what_is_left_out_is_said(planning: Commands) -> None:
    learned_from = json.loads(LABELLED.read_text("utf-8").splitlines()[0])
    blank, again = {"id": "blank", "output": " "}, {**BARE[0], "id": "again"}
    _write(planning, [*BARE[:3], again, ROWS[5], {**learned_from, "id": "other"}, blank], "mixed.jsonl")
    done = planning("plan", "mixed.jsonl", *PLAN[2:], "--json")
    assert done.code == 0
    assert {row["id"] for row in done.json["texts"]} in (
        {"again", *(row["id"] for row in BARE[1:3])},
        {row["id"] for row in BARE[:3]},
    )
    assert "left out: 1 text that joint@1 has learned from" in done.err
    assert "left out: 1 text with a label that joint@1 has not learned from yet" in done.err
    assert "left out: 1 row with the same text as another one" in done.err
    assert "mixed.jsonl:7: field 'output': got only white space" in done.err


def test_a_dry_run_asks_nothing_and_goes_by_the_sample(planning: Commands) -> None:
    few, all_of_them = (planning(*PLAN, "--dry-run", "--json", *more).json for more in (("--sample", 3), ()))
    assert few["estimate"]["judge"]["calls"] * 4 == all_of_them["estimate"]["judge"]["calls"] > 0


@pytest.mark.parametrize(("deaf_to", "code"), [("one", 0), ("all", 4)])
def test_texts_without_a_score_are_left_out_and_if_there_is_no_other_the_command_ends(
    planning: Commands, models: RunningServer, deaf_to: str, code: int
) -> None:
    def brain(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        if deaf_to == "all" or BARE[0]["output"] in messages[-1]["content"]:
            raise Unavailable
        return scripted_model.reply(messages, body)

    models.brain = brain
    _write(planning, BARE[:3], "three.jsonl")
    asking = Commands(planning.folder, **planning.environment, OPENAI_API_BASE=models.url, OPENAI_API_KEY="none")
    judge = ("--judge", f"openai/deaf-to-{deaf_to}", "--attempts", 1)
    done = asking("plan", "three.jsonl", *PLAN[2:], *judge, "--json")
    assert done.code == code, done.err
    if code:
        assert not done.out
        assert done.error.startswith("None of 3 texts could be scored; the latest reason: ")
    else:
        assert {row["id"] for row in done.json["texts"]} == {row["id"] for row in BARE[1:3]}
        assert "left out: 1 text that could not be scored; the latest reason: " in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("texts.jsonl", "--rubric", "news@1"), "learned by one method"),
        (("texts.jsonl", "--rubric", "forgotten"), "The store has no training record of forgotten@1"),
        (("texts.jsonl", "--rubric", "joint", "--count", 13), "--count 13 is more than the 12 texts to choose from"),
        ((LABELLED, "--rubric", "joint"), "All 36 usable rows have a label for 'coherence' already"),
    ],
    ids=["one method", "no record", "too many", "all labelled"],
)
def test_what_cannot_be_planned_is_refused(planning: Commands, arguments: tuple[Any, ...], said: str) -> None:
    _write(planning, [{"id": "blank", "output": " "}], "blank.jsonl")
    done = planning("plan", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.error

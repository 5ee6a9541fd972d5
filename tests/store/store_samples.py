"""Rubrics and provenance to store, and what other processes do to a store in these tests."""

from __future__ import annotations

import os
import signal
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, text

from rubriclab.models.evaluation import EvaluationRecord, GateVerdict, TrainingAgreement
from rubriclab.models.judgment import HumanJudgment
from rubriclab.models.rubric import Criterion, Evidence, Level, Part, Rubric
from rubriclab.models.text import Aspect, Scale
from rubriclab.models.version import Effort, Provenance, Version
from rubriclab.stats.intervals import Interval
from rubriclab.store.store import open_store
from rubriclab.store.tables import database_url

EFFORT = Effort(calls=12, cached=3, prompt_tokens=900, completion_tokens=80, cost_usd=None, seconds=1.5)


def criterion(statement: str = "Each sentence follows from the one before.", **fields: Any) -> Criterion:
    levels = (Level(score=1, description="Sentences stand apart."), Level(score=5, description="They are linked."))
    own = {"id": "c1", "kind": "hypothesis", "trait": "links", "levels": levels}
    return Criterion(
        **(own | {"statement": statement, "evidence": Evidence(origin="labels", examples=("a",))} | fields)
    )


def rubric(*criteria: Criterion, **fields: Any) -> Rubric:
    part = Part(method="hypoeval", settings={"k": 10, "alpha": 0.5}, criteria=criteria or (criterion(),))
    own: dict[str, Any] = {
        "task": "summarization",
        "aspect": Aspect(name="coherence", definition="How well the sentences hang together."),
        "scale": Scale(low=1, high=5, whole=True),
        "parts": (part,),
    }
    return Rubric(**(own | fields))


def numbered(number: int) -> Rubric:
    """Return a rubric of which each number has its own."""
    return rubric(criterion(f"The text is better by {number}."))


def provenance(**fields: Any) -> Provenance:
    value = Interval(0.4, 0.1, 0.7)
    agreement = TrainingAgreement(n=30, spearman=value, pearson=value, kendall=value, reselected=value)
    own: dict[str, Any] = {
        "judge": "embedded",
        "generator": "embedded",
        "settings": {"hypoeval": {"k": 10, "alpha": 0.5}},
        "prompts": "sha256:" + "0" * 64,
        "data": "sha256:" + "1" * 64,
        "examples": ("a", "b"),
        "groups": ("g",),
        "seed": 42,
        "agreement": agreement,
        "version": "0.1.0",
    }
    return Provenance(**(own | fields))


def version_of(of: Rubric, by: Provenance, number: int = 2) -> Version:
    created = datetime(2026, 11, 21, 12, 30, 0, 250_000, UTC)
    return Version("news", number, of.digest, of, by, by.digest, EFFORT, "news@1", created)


def evaluation(**fields: Any) -> EvaluationRecord:
    verdict = GateVerdict(against="plain@1", outcome="worse", difference=Interval(-0.2, -0.3, -0.1))
    own: dict[str, Any] = {"created": datetime.now(UTC), "judge": "gpt-4o", "data": "sha256:d", "n": 72, "groups": 18}
    return EvaluationRecord(**{**own, "level": "group", "verdict": verdict, **fields})


def judgment(name: str, **fields: Any) -> HumanJudgment:
    own: dict[str, Any] = {"id": name, "question": "sha256:q", "aspect": "coherence", "rater": "anna", "text": "a"}
    return HumanJudgment(**(own | {"kind": "rating", "value": 3, "created": datetime.now(UTC)} | fields))


def execute(where: str, statement: str, values: Any = None) -> None:
    """Run a statement on a store's database, whose triggers are in place."""
    engine = create_engine(database_url(where))
    try:
        with engine.begin() as connection:
            connection.execute(text(statement), values)
    finally:
        engine.dispose()


def tamper(file: Path, statement: str) -> None:
    """Change one row of a store by other means, its triggers put aside."""
    connection = sqlite3.connect(file)
    with connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        assert connection.execute(statement).rowcount == 1
    connection.close()


def save_many(where: str, name: str, first: int, count: int) -> None:
    """Save `count` rubrics that no other process saves, opening the store anew."""
    with open_store(where) as store:
        for number in range(first, first + count):
            store.save(name, numbered(number), provenance(), EFFORT)


def answer_and_save(where: str, first: int, count: int) -> None:
    """Save a rubric and keep `count` answers; the rubric and one more answer are those of every other process too."""
    with open_store(where) as store:
        store.save("news", rubric(), provenance(), EFFORT)
        for number in (-1, *range(first, first + count)):
            store.answers.put(f"sha256:{number}", {"text": str(number)})


def die_after(statement: str, where: str, name: str) -> None:
    """Save, and be killed when a statement that begins so has been carried out but not committed."""

    def kill(*event_arguments: Any) -> None:
        if event_arguments[2].startswith(statement):
            os.kill(os.getpid(), signal.SIGKILL)

    with open_store(where) as store:
        store.answers.put("sha256:kept", {"text": "paid for"})
        event.listen(Engine, "after_cursor_execute", kill)
        store.save(name, numbered(99), provenance(), EFFORT)

"""Texts and projects that tests of other tools score, the examples of their pages, and what each score has to say."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from commands import CHECKOUT, HELDOUT, Commands, Done
from documentation import example_files
from parity_table import same_scores
from scripted_model import BAD, GOOD, UNSCORABLE, WHY, planted as brain  # noqa: F401, for the tests that import them from here
from server import RunningServer

ROWS: list[dict[str, Any]] = [json.loads(line) for line in HELDOUT.read_text("utf-8").splitlines()[:12]]
TEXTS = [
    {**{name: row[name] for name in ("id", "output", "source")}, "group": f"group {place // 2}"}
    for place, row in enumerate(ROWS)
]
# A text that has a score, and one that has none.
GOOD_AND_BAD = [{**TEXTS[0], "output": f"It is {GOOD}."}, {**TEXTS[1], "output": f"It is {UNSCORABLE}."}]
NO_RATING = "criteria without a usable rating"
JUDGE = ("--rubric-judge", "openai/fake")
OTHER_PLUGINS = ("cacheprovider", "asyncio", "syrupy", "anyio", "hypothesispytest", "langsmith_plugin", "phoenix")
QUIET = ("-q", *(f"-pno:{name}" for name in OTHER_PLUGINS))
# Tests that start many processes, or learn many times, run against the other tools only, some of them by hand.
RUNS_ALL = os.environ.get("RUBRICLAB_INTEGRATIONS") == "all"
in_full = pytest.mark.skipif(
    "RUBRICLAB_INTEGRATIONS" not in os.environ, reason="takes long: run make test-integrations"
)
by_hand = pytest.mark.skipif(not RUNS_ALL, reason="takes minutes: run make test-integrations")


class Parity:
    """What the command says of the texts, by id, and what a tool must say of them without asking again."""

    def __init__(self, rows: Mapping[str, Any], server: RunningServer) -> None:
        self.rows = rows
        self._server = server
        self._asked = len(server.bodies)

    def check(self, integration: str, package: str, scores: Mapping[str, float]) -> None:
        """Check scores by id of the text; the names are those of `same_scores`."""
        same_scores(integration, package, scores, {name: row["score"] for name, row in self.rows.items()})
        assert len(self._server.bodies) == self._asked > 0


def check_details(about: Mapping[str, Any], words: str, row: Mapping[str, Any]) -> None:
    """Check that the metadata and the explanation of a score say what the command says of the text."""
    assert (about["rubric"], about["interval"]) == ("remote@1", row["interval"])
    assert [{"id": key, **value} for key, value in about["criteria"].items()] == row["criteria"]
    assert all(criterion["reason"] in words for criterion in row["criteria"])


def run_example(page: str, file: str, changes: Mapping[str, str] | None = None, **names: Any) -> dict[str, Any]:
    """Return the names after an example of a page has run, with the store of the tests and other `changes`."""
    example = example_files(CHECKOUT / "docs" / "integrations" / f"{page}.md")[file]
    for old, new in {"rubrics.db": "store.db", "news-coherence": "planted", **(changes or {})}.items():
        example = example.replace(old, new)
    exec(example, names)
    return names


@dataclass(frozen=True)
class Project:
    """A folder with a store of the planted versions, and pytest in it."""

    commands: Commands

    @property
    def folder(self) -> Path:
        return self.commands.folder

    def write(self, tests: str, texts: Sequence[dict[str, Any]] = TEXTS) -> None:
        """Write the module of tests; `TEXTS` are the texts in it."""
        (self.folder / "texts.json").write_text(json.dumps(texts), "utf-8")
        header = "import json\nimport pytest\nTEXTS = json.load(open('texts.json', encoding='utf-8'))\n"
        (self.folder / "test_texts.py").write_text(header + tests, "utf-8")

    def pytest(self, *arguments: object, **environment: Any) -> Done:
        given = [*QUIET, *map(str, arguments)]
        code = f"import sys, pytest; sys.exit(pytest.main({given!r}))"
        return self.commands.start("-c", code, **environment).wait()


def row_of(out: str, rubric: str) -> list[str]:
    """Return the cells of a rubric's row in the summary: texts, mean, lowest, failed, calls, cached, US$."""
    (line,) = (line for line in out.splitlines() if line.startswith(f"{rubric}, ") and ": " not in line)
    return line.split()[2:]


def saying(words: str, number: int = 12) -> list[dict[str, str]]:
    """Return texts of six groups with these words in each, so that the judge rates them alike."""
    return [{**row, "output": f"{row['output']} This is {words}."} for row in TEXTS[:number]]

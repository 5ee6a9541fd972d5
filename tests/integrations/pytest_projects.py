"""Small projects whose tests use the fixture `rubric`, run by pytest in processes of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commands import HELDOUT, Commands, Done
from scripted_model import BAD, GOOD, UNSCORABLE, WHY, planted as brain  # noqa: F401, for the tests that import them from here

ROWS: list[dict[str, Any]] = [json.loads(line) for line in HELDOUT.read_text("utf-8").splitlines()[:12]]
TEXTS = [
    {**{name: row[name] for name in ("id", "output", "source")}, "group": f"group {place // 2}"}
    for place, row in enumerate(ROWS)
]
JUDGE = ("--rubric-judge", "openai/fake")
QUIET = ("-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "no:syrupy")


@dataclass(frozen=True)
class Project:
    """A folder with a store of the planted versions, and pytest in it."""

    commands: Commands

    @property
    def folder(self) -> Path:
        """Where the tests lie."""
        return self.commands.folder

    def write(self, tests: str, texts: Sequence[dict[str, Any]] = TEXTS) -> None:
        """Write the module of tests; `TEXTS` are the texts in it."""
        (self.folder / "texts.json").write_text(json.dumps(texts), "utf-8")
        header = "import json\nimport pytest\nTEXTS = json.load(open('texts.json', encoding='utf-8'))\n"
        (self.folder / "test_texts.py").write_text(header + tests, "utf-8")

    def pytest(self, *arguments: object, **environment: Any) -> Done:
        """Return how pytest ended."""
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

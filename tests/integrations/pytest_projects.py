"""Small projects whose tests use the fixture `rubric`, run by pytest in processes of their own."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commands import HELDOUT, Commands, Done

ROWS: list[dict[str, Any]] = [json.loads(line) for line in HELDOUT.read_text("utf-8").splitlines()[:12]]
TEXTS = [
    {**{name: row[name] for name in ("id", "output", "source")}, "group": f"group {place // 2}"}
    for place, row in enumerate(ROWS)
]
QUIET = ("-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "no:syrupy")
# The judge rates texts with these words so; it gives no usable reply about the last.
GOOD, BAD, UNSCORABLE = "well written", "badly written", "unscorable"
WHY = "That is how it reads."


def brain(messages: list[dict[str, str]], _body: dict[str, Any]) -> str:
    """Return the lowest or highest ratings for texts that say what they are worth, and others as drawn."""
    asked = "\n".join(message["content"] for message in messages)
    if UNSCORABLE in asked:
        return "I cannot say."
    drawn = random.Random(asked).choice([2, 3, 4])
    score = 5 if GOOD in asked else 1 if BAD in asked else drawn
    answer = "yes" if score > 2 else "no"
    ids = list(dict.fromkeys(re.findall(r"^\[([\w.-]+)\]", asked, re.MULTILINE)))
    if '"ratings"' in asked:
        return json.dumps({"ratings": [{"criterion": name, "reasoning": WHY, "score": score} for name in ids]})
    if '"answers"' in asked:
        return json.dumps({"answers": [{"question": name, "reason": WHY, "answer": answer} for name in ids]})
    return json.dumps({"reasoning": WHY, "score": score})


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

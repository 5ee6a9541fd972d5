"""The pages of the documentation and their examples."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from commands import CHECKOUT

from docs.site import navigation

PAGES = [
    CHECKOUT / f"{page}.md"
    for page in (navigation.HOME, *(page for entries in navigation.pages().values() for _, page in entries))
]


@dataclass(frozen=True)
class Example:
    """A fenced block of a page: its language, the file that it is (if any), and its content."""

    page: Path
    line: int
    language: str
    file: str
    content: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(CHECKOUT)}:{self.line}"

    def commands(self) -> list[list[str]]:
        """Return the words of each shell command, without comments."""
        lines = self.content.replace("\\\n", " ").splitlines()
        return [words for line in lines if (words := shlex.split(line, comments=True))]


def examples(page: Path) -> list[Example]:
    text = page.read_text("utf-8")
    return [
        Example(page, text.count("\n", 0, fence.start()) + 1, fence[1], fence[2] or "", fence[3])
        for fence in re.finditer(r"^```(\w*)(?: file=(\S+))?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    ]


def example_files(page: Path) -> dict[str, str]:
    """Return the blocks of a page that are files, by name."""
    return {example.file: example.content for example in examples(page) if example.file}

"""Write the measured figures of every README from stored results.

    python -m experiments figures
    python -m experiments figures --check

A README marks where figures belong:

    <!-- figures: NAME -->
    <!-- end of figures -->

NAME is a block that the README's own folder offers, or FOLDER/NAME for one of another folder of experiments. A study
offers the tables of `tables.py`; a script offers what its function `readme_figures` returns, Markdown by name.
Results that were measured with an earlier offline judge make the check fail. Those of a language model, which take
hours and money, stay, and the page says that the prompts have changed since.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from textwrap import indent
from types import ModuleType

from experiments import ROOT, STUDIES
from experiments.runner.results import Results, changed_since, read_stored
from experiments.runner.study import load_study
from experiments.tables import tables
from rubriclab.judges.connect import EMBEDDED

BLOCK = re.compile(
    r"^(?P<begin>(?P<margin> *)<!-- figures: (?P<name>[^\n]+) -->\n)(?P<body>.*?)(?P<end>^ *<!-- end of figures -->$)",
    re.MULTILINE | re.DOTALL,
)


def update(*, check: bool) -> int:
    """Write the figures of all pages, or only print which pages differ; return the exit code."""
    pages, old = differing(), list(outdated())
    for sentence in old:
        print(sentence)
    for path in pages:
        print(path.relative_to(ROOT.parent), "differs from the stored results" if check else "written")
        if not check:
            path.write_text(written(path), "utf-8")
    return 1 if check and (pages or old) else 0


def readmes() -> list[Path]:
    """Return all pages that may hold figures."""
    return [ROOT.parent / "README.md", *sorted((ROOT.parent / "docs").glob("*.md")), *sorted(ROOT.rglob("README.md"))]


def differing() -> list[Path]:
    """Return the pages whose figures are not those of the stored results."""
    return [path for path in readmes() if written(path) != path.read_text("utf-8")]


def written(path: Path) -> str:
    """Return a page with all its figures as in the stored results."""

    def filled(found: re.Match[str]) -> str:
        content = indent(block(path.parent, found["name"]), found["margin"])
        return f"{found['begin']}{content}\n{found['end']}"

    return BLOCK.sub(filled, path.read_text("utf-8"))


def block(folder: Path, name: str) -> str:
    """Return one block of figures."""
    other, _, own = name.rpartition("/")
    named = STUDIES / other if (STUDIES / other).is_dir() else ROOT / other
    offered = blocks(named if other else folder)
    if own not in offered:
        raise ValueError(f"{folder / 'README.md'} names {name!r}; there are: {', '.join(offered) or 'none'}.")
    dated = list(outdated(named if other else folder, offline=False))
    return "\n\n".join([offered[own], *dated])


def outdated(folder: Path = ROOT, *, offline: bool = True) -> Iterator[str]:
    """Yield a sentence for each file of results in `folder` since which the judge's scores or prompts have changed.

    Args:
        offline: of the offline judge, or else of language models.
    """
    for path in sorted(folder.rglob("results/*.json")):
        stored = json.loads(path.read_text("utf-8"))
        if (stored.get("judge") == EMBEDDED) == offline and (changed := changed_since(stored)):
            yield f"`{path.relative_to(ROOT.parent)}`: {changed} have changed since."


@cache
def blocks(folder: Path) -> Mapping[str, str]:
    """Return the blocks that a folder offers, by name."""
    results = folder / "results" / "embedded.json"
    if (folder / "study.toml").exists():
        return tables(load_study(str(folder)), read_stored(Results, results)) if results.exists() else {}
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")):
        if offers := getattr(script(path), "readme_figures", None):
            found |= offers()
    return found


def script(path: Path) -> ModuleType:
    """Return a script as a module."""
    return importlib.import_module(".".join(path.relative_to(ROOT.parent).with_suffix("").parts))

"""Write the measured figures of every README from stored results.

    python -m experiments figures
    python -m experiments figures --check

A README marks where figures belong:

    <!-- figures: NAME -->
    <!-- end of figures -->

NAME is one of the blocks that the README's own folder offers, or FOLDER/NAME for one of another folder of experiments.
A study offers the views of `study_figures.py`; a script offers what its function `readme_figures` returns, Markdown by
name. `--check` writes nothing, prints which READMEs differ, and exits with 1 if any does.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from textwrap import indent
from types import ModuleType

from experiments import study_figures, transfer_advice

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(
    r"^(?P<begin>(?P<margin> *)<!-- figures: (?P<name>[^\n]+) -->\n)(?P<body>.*?)(?P<end>^ *<!-- end of figures -->$)",
    re.MULTILINE | re.DOTALL,
)


def update(*, check: bool) -> int:
    """Write the figures of all pages, or only print which pages differ; return the exit code."""
    pages = differing()
    for path in pages:
        print(path.relative_to(HERE.parent), "differs from the stored results" if check else "written")
        if not check:
            path.write_text(written(path), "utf-8")
    return 1 if check and pages else 0


def readmes() -> list[Path]:
    """Return all READMEs that may hold figures."""
    return [HERE.parent / "README.md", *sorted((HERE.parent / "docs").glob("*.md")), *sorted(HERE.rglob("README.md"))]


def differing() -> list[Path]:
    """Return the READMEs whose figures are not those of the stored results."""
    return [path for path in readmes() if written(path) != path.read_text("utf-8")]


def written(path: Path) -> str:
    """Return a README with all its figures as the stored results have them.

    Raises:
        ValueError: if it asks for a block that there is not.
    """

    def filled(found: re.Match[str]) -> str:
        content = indent(block(path.parent, found["name"]), found["margin"])
        return f"{found['begin']}{content}\n{found['end']}"

    return BLOCK.sub(filled, path.read_text("utf-8"))


def block(folder: Path, name: str) -> str:
    """Return one block of figures.

    Raises:
        ValueError: if the folder does not offer it.
    """
    other, _, own = name.rpartition("/")
    offered = blocks(_folder(other) if other else folder)
    if own not in offered:
        raise ValueError(f"{folder / 'README.md'} asks for {name!r}; there are: {', '.join(offered) or 'none'}.")
    return offered[own]


def _folder(name: str) -> Path:
    study = HERE / "studies" / name
    return study if study.is_dir() else HERE / name


@cache
def blocks(folder: Path) -> Mapping[str, str]:
    """Return the blocks that a folder offers, by name."""
    found: dict[str, str] = {}
    if (folder / "study.toml").exists():
        found |= study_figures.readme_figures(folder)
        if folder.name == "transfer":
            found |= transfer_advice.readme_figures()
    for path in sorted(folder.glob("*.py")):
        if offers := getattr(script(path), "readme_figures", None):
            found |= offers()
    return found


def scripts() -> list[Path]:
    """Return all scripts of experiments."""
    return sorted(HERE.glob("**/*.py"))


def script(path: Path) -> ModuleType:
    """Return a script as a module."""
    return importlib.import_module(".".join(path.relative_to(HERE.parent).with_suffix("").parts))

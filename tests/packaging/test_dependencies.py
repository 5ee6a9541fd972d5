"""Every package that rubriclab imports is declared: a transitive dependency may disappear with any release."""

from __future__ import annotations

import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]


# Distributions of optional packages that are imported under another name.
OTHER_NAMES = {"phoenix": "arize-phoenix-client"}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> set[str]:
    """Return the names of all declared distributions, those of extras included."""
    extras = PROJECT["optional-dependencies"].values()
    requirements = [*PROJECT["dependencies"], *(requirement for extra in extras for requirement in extra)]
    return {normalized(re.split(r"[\[<>=!~; ]", requirement)[0]) for requirement in requirements}


@cache
def imported() -> tuple[tuple[str, Path], ...]:
    """Return the top-level name of each absolute import of rubriclab, with its file."""
    files = sorted((CHECKOUT / "rubriclab").rglob("*.py"))
    imports = re.compile(r"^ *(?:from|import) (\w+)(?=[\w.]* import |[\w.]*(?: as \w+)?$)", re.MULTILINE)
    return tuple((name, file) for file in files for name in imports.findall(file.read_text("utf-8")))


def test_every_imported_package_is_declared() -> None:
    distributions, known = packages_distributions(), declared()
    undeclared = {
        f"{name} ({file.relative_to(CHECKOUT)})"
        for name, file in imported()
        if name not in sys.stdlib_module_names and name != "rubriclab"
        # Whatever is optional and not installed has to be declared under its own name.
        if not known & {normalized(one) for one in distributions.get(name, [OTHER_NAMES.get(name, name)])}
    }
    assert undeclared == set()


def test_every_declared_package_is_imported() -> None:
    distributions = packages_distributions()
    used = {
        normalized(distribution)
        for name, _ in imported()
        for distribution in distributions.get(name, [OTHER_NAMES.get(name, name)])
    }
    # SQLAlchemy imports the driver by the name in the store's address.
    assert declared() - used == {"psycopg"}

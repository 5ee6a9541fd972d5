"""The parity table: each integration, its tool's version, the texts compared, and the largest difference of a score.

    python tests/integrations/parity_table.py FILE [--write] [--unmeasured PACKAGE]

shows the table of what `same_scores` noted in FILE, and compares it with the page; `--write` puts it there.
Integrations that were not measured are an error, except those whose packages are named.
`make test-integrations` notes and compares.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PAGE = CHECKOUT / "docs" / "integrations" / "parity.md"
# Where differences are noted; without it, scores are only compared.
VARIABLE = "RUBRICLAB_PARITY"
HEADER = ("integration", "version", "texts", "largest difference")
PACKAGE = re.compile(r"`(.+)`")
TABLE = re.compile(r"^\| integration \|.*\n(?:\|.*\n)+", re.MULTILINE)

Row = tuple[str, str, str, str]


def same_scores(
    integration: str, package: str, found: Mapping[str, float], command: Mapping[str, float], version: str | None = None
) -> None:
    """Note the largest difference between an integration's scores and those of the command, which must be 0.

    Args:
        integration: as the page names it.
        package: the tool's distribution, as the constraints name it.
        found: scores on the scale of the rubric, by id of the text.
        command: the same of `rubriclab score`.
        version: of the tool; by default that of the installed distribution.
    """
    assert found.keys() == command.keys()
    largest = max(abs(found[name] - command[name]) for name in command)
    if path := os.environ.get(VARIABLE):
        noted = (f"{integration} (`{package}`)", version or metadata.version(package), str(len(found)), f"{largest:g}")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{json.dumps(noted)}\n")
    assert largest == 0


def page_rows(text: str) -> dict[str, Row]:
    """Return the rows of the table in a page, by integration."""
    table = TABLE.search(text)
    assert table, f"expected a table with the columns {', '.join(HEADER)}"
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table[0].splitlines()[2:]]
    return {row[0]: row for row in rows}  # type: ignore[misc]


def markdown(rows: Iterable[Row]) -> str:
    """Return the table of these rows."""
    lines = (HEADER, ("---", "---", "--:", "--:"), *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> int:
    """Show the table; return 1 if the page has another one, or an integration was not measured."""
    parser = argparse.ArgumentParser(description="Show the parity table, and compare it with the page.")
    parser.add_argument("file", type=Path, help="what same_scores noted")
    parser.add_argument("--write", action="store_true", help="put the table in the page")
    parser.add_argument(
        "--unmeasured", metavar="PACKAGE", action="append", default=[], help="a tool that is not installed here"
    )
    given = parser.parse_args()
    noted = map(json.loads, given.file.read_text("utf-8").splitlines())
    measured: dict[str, Row] = {row[0]: tuple(row) for row in noted}
    print(markdown(measured.values()))
    page = PAGE.read_text("utf-8")
    shown = page_rows(page)
    unmeasured = sorted(shown.keys() - measured.keys())
    for name in unmeasured:
        print(f"not measured here: {name}")
    rows = {**shown, **measured}
    if given.write:
        table = markdown(rows[name] for name in sorted(rows, key=str.lower))
        PAGE.write_text(TABLE.sub(lambda _: table, page), "utf-8")
    elif rows != shown:
        command = f"python {Path(__file__).relative_to(CHECKOUT)} {given.file} --write"
        print(f"{PAGE.relative_to(CHECKOUT)} has another table. Update it: {command}")
        return 1
    return int(any(PACKAGE.findall(name)[0] not in given.unmeasured for name in unmeasured))


if __name__ == "__main__":
    sys.exit(main())

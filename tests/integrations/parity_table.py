"""The parity table: each integration, its tool's version, the texts compared, and the largest difference of a score.

`parity_table.py FILE` compares what `same_scores` noted in FILE with the page, `--write` puts it there. An integration
that was not measured is an error, except those that `--unmeasured PACKAGE` names. `make test-integrations` runs it.
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
    """Note the largest difference between an integration's scores and those of the command, by id, which must be 0.

    The integration is named as in the page, its package as in the constraints; the version is by default the installed.
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
    table = TABLE.search(text)
    assert table, f"expected a table with the columns {', '.join(HEADER)}"
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table[0].splitlines()[2:]]
    return {row[0]: row for row in rows}  # type: ignore[misc]


def markdown(rows: Iterable[Row]) -> str:
    lines = (HEADER, ("---", "---", "--:", "--:"), *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> int:
    """Show the table; return 1 if the page has another one, or an integration was not measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--unmeasured", metavar="PACKAGE", action="append", default=[])
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

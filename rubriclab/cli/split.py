"""`rubriclab split`: rows to learn from and rows to hold out, by whole groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rubriclab.cli.files import check_rows_place, dialect_of, writing_rows
from rubriclab.cli.options import STORED, command, count_option, json_option, option, rows_options
from rubriclab.cli.places import FILE, check_output
from rubriclab.cli.printing import note, options_of, print_json, print_view

SIDES = ("train", "heldout")


@command()
@click.argument("file", type=FILE)
@option(
    "--by",
    default="group",
    show_default=True,
    metavar="FIELD",
    help="The field whose groups are never divided: group, system or a column.",
)
@count_option(
    "--train",
    at_least=1,
    default=30,
    show_default=True,
    help="The number of texts to learn from.",
)
@option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of the choice of groups.")
@option(
    "--output",
    "-o",
    section=STORED,
    type=FILE,
    metavar="PREFIX",
    help="Write PREFIX-train and PREFIX-heldout, in the format that PREFIX ends in.  [default: the name of FILE]",
)
@rows_options
@json_option
def split(file: str, *, output: str | None, as_json: bool, **values: Any) -> None:
    """Split FILE by whole groups into rows to learn from and rows to hold out for `rubriclab evaluate`.

    Groups are taken until there are --train texts. The same file and seed give the same split, whatever the order of
    the rows. All columns are kept.
    """
    from rubriclab.services import split as service

    places = _places(file, output)
    for place in places:
        check_rows_place(place)
        check_output(place, "--output", [file])
    options = options_of(service.SplitOptions, values)
    result = service.split(file, options, note)
    dialect = dialect_of(file, options)
    for place, rows in zip(places, (result.train, result.heldout), strict=True):
        with writing_rows(place, always=True, dialect=dialect) as write:
            for row in rows:
                write(row)
    if as_json:
        sizes = ((len(result.train), result.train_groups), (len(result.heldout), result.heldout_groups))
        counts = zip(SIDES, places, sizes, strict=True)
        print_json({side: {"output": place, "rows": rows, "groups": groups} for side, place, (rows, groups) in counts})
        return
    print_view(result)
    note(f"written to {places[0]} and {places[1]}")


def _places(file: str, output: str | None) -> tuple[str, str]:
    """Return the two files: the prefix with `-train` and `-heldout` before its ending, or that of the file read."""
    prefix, ending = _ending(output) if output else ("", "")
    own, own_ending = ("rows", ".jsonl") if file == "-" else _ending(file)
    prefix, ending = prefix or own, ending or own_ending.replace(".xlsm", ".xlsx")
    return f"{prefix}-{SIDES[0]}{ending}", f"{prefix}-{SIDES[1]}{ending}"


def _ending(name: str) -> tuple[str, str]:
    path = Path(name)
    ending = "".join(path.suffixes[-2:]) if path.suffix.lower() == ".gz" else path.suffix
    return (name[: -len(ending)], ending) if ending else (name, "")

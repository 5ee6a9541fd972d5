"""`rubriclab gate`: whether a version agrees better with people than what costs nothing, as an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from rubriclab.cli.options import json_option, store_option

if TYPE_CHECKING:
    from rubriclab.store import Version
    from rubriclab.validation import Outcome, Validation

EXIT_CODES: Mapping[Outcome, int] = {"better": 0, "not better": 1, "inconclusive": 3}


@click.command()
@click.argument("ref")
@store_option
@json_option
def gate(ref: str, *, store: str | None, as_json: bool) -> None:
    """Say whether the version REF agrees better with people than what costs nothing.

    What was found on held-out labels when it was learned decides the exit code: 0 better, 1 not better, 3 inconclusive.
    """
    from rubriclab.cli.printing import print_json, print_view
    from rubriclab.store import open_store

    with open_store(store, access="read") as opened:
        version = opened.load(ref)
    validation = _trust(version)
    if as_json:
        found = validation.model_dump(mode="json", include={"level", "n", "groups", "folds", "evaluators", "verdicts"})
        print_json({"rubric": version.ref, "outcome": validation.outcome, **found})
    else:
        from rubriclab.report.training import gate_view

        print_view(gate_view(version.ref, validation))
    click.get_current_context().exit(EXIT_CODES[validation.outcome])


def _trust(version: Version) -> Validation:
    from rubriclab.errors import UserError

    if version.provenance.validation is None:
        raise UserError(
            f"{version.ref} was never held against anything: it was made by one method.",
            "Learn it without --method, or with several, and the gate is part of learning.",
        )
    return version.provenance.validation

"""`rubriclab gate`: whether a version agrees better with people than the free baselines, as an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import check_exports
from rubriclab.cli.help import command
from rubriclab.cli.options import export_options, json_option, store_option
from rubriclab.cli.printing import print_result
from rubriclab.cli.workspace import workspace_of

if TYPE_CHECKING:
    from rubriclab.validation import Outcome

EXIT_CODES: Mapping[Outcome, int] = {"better": 0, "not better": 1, "inconclusive": 3}


@command()
@click.argument("ref")
@export_options
@store_option
@json_option
def gate(ref: str, *, as_json: bool, **values: Any) -> None:
    """Report whether the version REF agrees better with people than the free baselines.

    The comparison was made on held-out labels when the version was learned. It decides the exit code: 0 better, 1 not
    better, 3 inconclusive.
    """
    from rubriclab.services import versions as service

    check_exports(values)
    with workspace_of(values) as workspace:
        result = service.gate(workspace, ref)
    fields = {"level", "n", "groups", "folds", "evaluators", "verdicts"}
    figures = result.validation.model_dump(mode="json", include=fields)
    row = {"rubric": result.version.ref, "outcome": result.outcome, **figures}
    print_result(result.view(), row, values, as_json=as_json)
    click.get_current_context().exit(EXIT_CODES[result.outcome])

"""`rubriclab compare`: whether outputs got worse, or which of several systems is scored highest."""

from __future__ import annotations

from typing import Any

import click

from rubriclab.cli.drift import EXIT_CODES
from rubriclab.cli.files import check_exports
from rubriclab.cli.help import command
from rubriclab.cli.options import Points, judge_options, measurement_options, option, rubric_option
from rubriclab.cli.places import FILE
from rubriclab.cli.printing import effort_row, print_dry_run, print_result
from rubriclab.cli.workspace import options_of, workspace_of
from rubriclab.errors import SettingsError


@command()
@click.argument("outputs", type=FILE, nargs=-1, required=True, metavar="OLD [NEW]")
@rubric_option
@option("--max-drop", type=Points(min=0), metavar="POINTS", help="The largest acceptable drop in the mean score.")
@option(
    "--by",
    type=click.Choice(["id", "group"]),
    help="The field to pair outputs by.  [default: id, else group, else unpaired]",
)
@judge_options
@measurement_options
def compare(
    outputs: tuple[str, ...],
    *,
    rubric: str,
    dry_run: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Compare two sets of outputs, OLD and NEW, by one rubric, or the systems in one file.

    \b
    rubriclab compare old.jsonl new.jsonl --rubric news@production --max-drop 0.2
    rubriclab compare outputs.jsonl --rubric news@production

    The result has the means, their paired difference with its interval, the criteria that changed, and the texts whose
    scores fell most. The exit code is 0 if the drop is within --max-drop (without it: if there is no significant drop),
    1 if it is beyond, and 3 if inconclusive. One file with several systems (field system) gives a ranking.
    """
    from rubriclab.services import compare as service
    from rubriclab.services.running import finish

    if len(outputs) > 2:
        raise SettingsError(f"Expected OLD and NEW, or one file, got {len(outputs)} files.", "Compare two at a time.")
    before, after = outputs[0], outputs[1] if len(outputs) == 2 else None
    check_exports(values)
    options = options_of(service.CompareOptions, values)
    with workspace_of(values) as workspace:
        if dry_run:
            print_dry_run(service.compare_estimate(workspace, before, after, rubric, options), as_json=as_json)
            return
        result = finish(lambda: service.compare(workspace, before, after, rubric, options))
    row = {**result.result.model_dump(mode="json"), "outcome": result.outcome, **effort_row(result.effort)}
    print_result(result.view(), row, values, as_json=as_json)
    click.get_current_context().exit(EXIT_CODES[result.outcome])

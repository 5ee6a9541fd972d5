"""`rubriclab explain`: why a text has its score."""

from __future__ import annotations

from typing import Any

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import count_option, judge_options, measurement_options, option
from rubriclab.cli.places import FILE


@command()
@click.argument("rubric")
@click.argument("text", type=FILE, required=False)
@option("--id", metavar="ID", help="The id of the text, if there are several; without TEXT, of a labelled text.")
@option("--source", type=FILE, metavar="PATH", help="The file with the source of a plain text.")
@count_option(
    "--nearest",
    from_found="always",
    at_least=0,
    help="The number of labelled texts that are shown, the most similarly rated first.  [default: 5]",
)
@judge_options
@measurement_options
def explain(rubric: str, text: str | None, *, dry_run: bool, as_json: bool, **values: Any) -> None:
    """Explain the score of TEXT by RUBRIC: each criterion's share with its reason, and the nearest labelled texts.

    TEXT is a .txt file, or - for standard input, with the text itself; or a file of rows, of which --id names one.
    Without TEXT, --id names a text that RUBRIC was learned from; its kept ratings are used, and no calls are made.
    """
    from rubriclab.cli.files import check_exports
    from rubriclab.cli.printing import print_dry_run, print_result
    from rubriclab.cli.workspace import options_of, workspace_of
    from rubriclab.services.explain import ExplainOptions, prepare_explanation
    from rubriclab.services.running import finish

    check_exports(values)
    options = options_of(ExplainOptions, values)
    with workspace_of(values) as workspace:
        prepared = prepare_explanation(workspace, rubric, text, options)
        if dry_run:
            print_dry_run(prepared.estimate(), as_json=as_json)
            return
        explanation = finish(prepared.run)
    print_result(explanation.view(), explanation.to_row(), values, as_json=as_json)
    explanation.check_answered()

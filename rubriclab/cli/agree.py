"""`rubriclab agree`: how far several judges agree when they apply one rubric."""

from __future__ import annotations

from typing import Any

import click

from rubriclab.cli.files import check_exports
from rubriclab.cli.help import command
from rubriclab.cli.options import asking_options, measurement_options, option, rubric_option
from rubriclab.cli.places import FILE, JUDGE
from rubriclab.cli.printing import effort_row, print_dry_run, print_result
from rubriclab.cli.workspace import options_of, workspace_of


@command()
@click.argument("texts", type=FILE)
@rubric_option
@option(
    "--judge",
    "judges",
    multiple=True,
    type=JUDGE,
    metavar="JUDGE",
    help="A litellm model string, 'embedded' or recorded:PATH#JUDGE; give at least two.",
)
@asking_options
@measurement_options
def agree(texts: str, *, rubric: str, dry_run: bool, as_json: bool, **values: Any) -> None:
    """Measure the agreement of judges that score TEXTS by the same rubric: alpha, kappas, differences in severity.

    TEXTS need no human scores. Agreement is reported for the scores, binned and not, and for each criterion.
    """
    from rubriclab.services import agree as service
    from rubriclab.services.running import finish

    check_exports(values)
    options = options_of(service.AgreeOptions, values)
    with workspace_of(values) as workspace:
        if dry_run:
            print_dry_run(service.agree_estimate(workspace, texts, rubric, options), as_json=as_json)
            return
        result = finish(lambda: service.agree(workspace, texts, rubric, options))
    row = {"rubric": result.version.ref, **result.agreement.to_row(), **effort_row(result.effort)}
    print_result(result.view(), row, values, as_json=as_json)
    result.check_answered()

"""`rubriclab studio`: the store as pages in a browser."""

from __future__ import annotations

from typing import Any

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import judge_options, option, store_option


@command()
@click.argument("rubric", required=False)
@option("--port", type=click.IntRange(1, 65535), help="The port to serve at.  [default: 8521, or any free port]")
@option("--no-browser", from_found="always", is_flag=True, help="Only print the address.")
@judge_options
@store_option
def studio(rubric: str | None, *, port: int | None, no_browser: bool, **values: Any) -> None:
    """Inspect and edit the rubrics of the store in a browser, or open RUBRIC there.

    Read reports and labelled texts, compare versions, correct labels, edit rubrics and explain scores. A language model
    is called only after its price was shown and confirmed; --judge names it, and --max-cost limits all pages together.
    The pages are served on this computer only, until Ctrl-C.
    """
    from rubriclab.cli.workspace import workspace_of
    from rubriclab.services.running import finish
    from rubriclab.web.studio.app import serve_studio

    settings = workspace_of(values)
    judge, browser = values["judge"], not no_browser
    finish(lambda: serve_studio(settings, rubric, judge=judge, port=port, browser=browser, on_address=click.echo))

"""`rubriclab mcp`: rubrics as tools of an assistant."""

from __future__ import annotations

import signal
from typing import Any

from rubriclab.cli.help import command
from rubriclab.cli.options import judge_options, option, store_option


@command()
@option("--allow-calls", is_flag=True, help="Let the assistant have a language model asked, up to --max-cost.")
@judge_options
@store_option
def mcp(*, allow_calls: bool, **values: Any) -> None:
    """Offer the rubrics of the store to an assistant, by the Model Context Protocol on standard input and output.

    The tools list and show rubrics, score texts and explain scores; none changes a rubric, a tag or a label. Without
    --allow-calls only the offline judge and answers in the store are used. It needs: pip install 'rubriclab[mcp]'
    """
    from rubriclab.cli.workspace import workspace_of
    from rubriclab.integrations.mcp import serve_mcp
    from rubriclab.services.running import finish

    # The protocol's SDK waits for standard input even when it is interrupted; a client that ends it is waited for.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    settings = workspace_of(values)
    finish(lambda: serve_mcp(settings, values["judge"], allow_calls=allow_calls))

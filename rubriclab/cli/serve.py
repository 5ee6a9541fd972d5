"""Commands that serve until they are stopped: `serve`, `studio` and `mcp`."""

from __future__ import annotations

import signal
from typing import Any

import click

from rubriclab.cli.options import STORED, command, json_option, option, record_option, store_option
from rubriclab.cli.output import (
    FILE,
    OUTPUT,
    check_rows_place,
    note,
    options_of,
    print_json,
    print_view,
    workspace_of,
    writing_rows,
)


@command(None, "ServeOptions", "CallOptions")
@click.argument("rubric")
@store_option
@record_option
def serve(rubric: str, **values: Any) -> None:
    """Score texts by RUBRIC over HTTP, until Ctrl-C or SIGTERM.

    POST /v1/score takes a text or a list of texts and returns what `rubriclab score` writes; the page at / describes
    all requests, /openapi.json describes them for programs. Without a token only this computer is served. Answers in
    the store are used; --max-cost and --max-calls limit all requests together. Each request is a line of JSON on
    standard output.
    """
    import orjson

    from rubriclab.ops.options import ServeOptions
    from rubriclab.ops.workspace import finish
    from rubriclab.web.api import serve_rubric

    options, settings = options_of(ServeOptions, values), workspace_of(values)

    def served(address: str) -> None:
        note(f"{rubric} is served at {address}/")

    def accessed(entry: Any) -> None:
        click.echo(orjson.dumps(entry).decode())

    finish(lambda: serve_rubric(settings, rubric, options, on_access=accessed, on_address=served))


@command(None, "JudgeOption", "CallOptions")
@click.argument("rubric", required=False)
@option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="The port to serve at.  [default: 8521, or any free port]",
)
@option("--no-browser", from_found="always", is_flag=True, help="Only print the address.")
@store_option
@record_option
def studio(rubric: str | None, *, port: int | None, no_browser: bool, **values: Any) -> None:
    """Inspect and edit the rubrics of the store in a browser, or open RUBRIC there.

    Read reports and labelled texts, compare versions, correct labels, edit rubrics and explain scores. A language model
    is called only after its price was shown and confirmed; --judge names it, and --max-cost limits all pages together.
    The pages are served on this computer only, until Ctrl-C.
    """
    from rubriclab.ops.workspace import finish
    from rubriclab.web.studio.pages import serve_studio

    settings = workspace_of(values)
    judge, browser = values["judge"], not no_browser
    finish(lambda: serve_studio(settings, rubric, judge=judge, port=port, browser=browser, on_address=click.echo))


@command(None, "JudgeOption", "CallOptions")
@option("--allow-calls", is_flag=True, help="Let the assistant have a language model asked, up to --max-cost.")
@store_option
@record_option
def mcp(*, allow_calls: bool, **values: Any) -> None:
    """Offer the rubrics of the store to an assistant, by the Model Context Protocol on standard input and output.

    The tools list and show rubrics, score texts and explain scores; none changes a rubric, a tag or a label. Without
    --allow-calls only the offline judge and answers in the store are used. It needs: pip install 'rubriclab[mcp]'
    """
    from rubriclab.integrations.mcp import serve_mcp
    from rubriclab.ops.workspace import finish

    # The protocol's SDK waits for standard input even when it is interrupted; a client that ends it is waited for.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    settings = workspace_of(values)
    finish(lambda: serve_mcp(settings, values["judge"], allow_calls=allow_calls))


@command(None, "LabelOptions")
@click.argument("texts", type=FILE)
@option(
    "--output",
    "-o",
    section=STORED,
    required=True,
    type=OUTPUT,
    metavar="PATH",
    help="Write the labelled rows to this file: .jsonl, .csv, .tsv, .xlsx or .parquet.",
)
@store_option
@json_option
def label(texts: str, *, output: str, as_json: bool, **values: Any) -> None:
    """Open a page on which people rate TEXTS, and write the rows with their labels for `rubriclab learn`.

    Every answer is in the store as soon as it is given; run the same command again to continue. Raters see neither
    systems nor other raters' labels. One text in ten comes twice and shows how consistent a rater is.
    """
    from rubriclab.ops.options import LabelOptions
    from rubriclab.ops.workspace import finish
    from rubriclab.web.label import label as serve

    options = options_of(LabelOptions, values)
    check_rows_place(output)
    with workspace_of(values) as workspace:
        result = finish(lambda: serve(workspace, texts, None if output == "-" else output, options))
    if output == "-":
        with writing_rows(output) as write:
            for row in result.rows:
                write(row)
        return
    if as_json:
        print_json(result.to_row())
    else:
        print_view(result)
    if result.rows:
        # Without its scale, learning would take the lowest and highest label for the ends.
        learn = f"rubriclab learn {output} --task {options.task} --aspect {options.aspect} --scale {options.scale}"
        note(f"written to {output}; learn from it with: {learn}")

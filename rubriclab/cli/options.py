"""Options that several commands share, each with its environment variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from rubriclab.cli.places import FILE, JUDGE, STORE

F = TypeVar("F", bound=Callable[..., Any])


def option(name: str, *names: str, **settings: Any) -> Callable[[F], F]:
    """Return a click option that `RUBRICLAB_NAME` sets too; all commands share the variable."""
    long = next(part for part in (name, *names) if part.startswith("--")).split("/")[0]
    variable = "RUBRICLAB_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(name, *names, envvar=variable, show_envvar=False, **settings)


def together(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator that applies several, listed in the order of the help."""

    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


store_option = option(
    "--store",
    type=STORE,
    metavar="PATH|URL",
    help="The database of versions and cached answers: an SQLite file or any SQLAlchemy URL.",
)
json_option = option("--json", "as_json", is_flag=True, help="Print machine-readable results.")
rows_options = together(
    option(
        "--map",
        "mapping",
        metavar="FIELD=COLUMN,…",
        help="The columns that hold the fields, as in output=summary,scores.coherence=coh.",
    ),
    option("--max-line-bytes", type=click.IntRange(min=1), help="The longest row that is read.  [default: 64000000]"),
)
rubric_option = option("--rubric", required=True, metavar="REF", help="NAME (the newest), NAME@NUMBER or NAME@TAG.")


def output_option(what: str) -> Callable[[F], F]:
    """Return the option that says where the rows with `what` go."""
    about = f"Where the {what} go, as JSON Lines.  [default: standard output]"
    return option("--output", "-o", default="-", type=FILE, metavar="PATH", help=about)


dry_run_option = option(
    "--dry-run", is_flag=True, help="Print an upper bound of calls, tokens and money; make no calls."
)


def _checked_address(_context: click.Context, _option: click.Parameter, address: str | None) -> str | None:
    """Refuse an address with credentials before anything else is done, wherever it was set."""
    if address is None:
        return None
    from rubriclab.judges.address import check_address

    return check_address(address, "--api-base")


asking_options = together(
    option("--concurrency", type=int, help="Requests in flight.  [default: 8]"),
    option("--timeout", type=float, help="Seconds for one request, including its whole response.  [default: 60]"),
    option("--attempts", type=int, help="Requests per prompt before its answer is missing.  [default: 6]"),
    option("--requests-per-minute", type=float, help="The provider's limit, if it has one."),
    option("--tokens-per-minute", type=float, help="The provider's limit, if it has one."),
    option("--max-calls", type=int, help="Stop cleanly after this many replies."),
    option("--max-cost", type=float, help="Stop cleanly before the cost exceeds this many US dollars."),
    option(
        "--price",
        metavar="IN:OUT",
        help="US dollars per million prompt and completion tokens, if the price is unknown.",
    ),
    option(
        "--structured",
        type=click.Choice(["auto", "schema", "text"]),
        help="Whether the reply's JSON schema is sent to the provider.  [default: auto]",
    ),
    option(
        "--api-base",
        metavar="URL",
        callback=_checked_address,
        help="The server's address, for a server of your own; without user name or password.",
    ),
    option("--retry-failed", is_flag=True, help="Send a prompt again if its cached reply cannot be used."),
    option(
        "--record",
        type=FILE,
        metavar="PATH",
        help="Record every request digest and reply in this file, to be replayed by recorded:PATH.",
    ),
)
judge_options = together(
    option(
        "--judge",
        type=JUDGE,
        metavar="JUDGE",
        help="A litellm model string, 'embedded' (offline, no language model) or recorded:PATH.",
    ),
    asking_options,
)

settings_option = together(
    option(
        "--set",
        "settings",
        multiple=True,
        metavar="METHOD.NAME=VALUE",
        help="A hyperparameter of the method, as in hypoeval.k=10; may be given several times.",
    ),
    click.option("configured", "--configured", hidden=True, multiple=True),
)

"""Options that several commands share, each with its environment variable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from rubriclab.cli.places import JUDGE, OUTPUT, STORE

# Whether a configuration file that was found in the working folder may set an option: `always` for how input is read
# and how results are shown, `never` for what a command changes in the store, or else once the user has confirmed it.
FromFound = Literal["always", "confirmed", "never"]


class SectionOption(click.Option):
    """An option that help lists under the heading `section`; an empty one is the command's own.

    Attributes:
        from_found: whether a configuration file that was found in the working folder may set it.
    """

    def __init__(self, *args: Any, section: str = "", from_found: FromFound = "confirmed", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.section = section
        self.from_found = from_found


class SectionCommand(click.Command):
    """A command whose help lists its own options first and then the shared ones by section.

    It begins once its outputs have been checked and the log file is open.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Check the outputs, open the log file and run the command."""
        from rubriclab.cli.logs import log_to_file
        from rubriclab.cli.places import check_outputs

        check_outputs(ctx)
        if file := ctx.find_root().params.get("log_file"):
            log_to_file(Path(file), str(ctx.info_name))
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options with a heading for each section."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            # The text above the options describes the arguments; newer versions of click list them here too.
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                title = getattr(param, "section", "") or "Options"
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class SectionGroup(click.Group):
    """A group whose help lists its commands by section, each with the first sentence of its help."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.sections: dict[str, list[str]] = {}
        """The names of the commands by section, in the order of help."""

    def add_section(self, title: str, commands: Sequence[click.Command]) -> None:
        """Add commands that help lists under `title`, in this order."""
        for added in commands:
            self.add_command(added)
            self.sections.setdefault(title, []).append(str(added.name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with a heading for each section."""
        shown = set(self.list_commands(ctx))
        for title, names in self.sections.items():
            with formatter.section(title):
                formatter.write_dl(list(self._lines(name for name in names if name in shown)))

    def _lines(self, names: Iterable[str]) -> Iterable[tuple[str, str]]:
        for name in names:
            text = " ".join((self.commands[name].help or "").split())
            yield name, f"{text.split('. ')[0].removesuffix('.')}."


def command(name: str | None = None) -> Callable[[Callable[..., Any]], SectionCommand]:
    """Return a decorator that makes a function a command with options in sections."""
    return click.command(name, cls=SectionCommand)


JUDGING, LIMITS, INPUT, STORED = "Judge", "Limits", "Input", "Store and output"
F = TypeVar("F", bound=Callable[..., Any])


class JoinedOption(SectionOption):
    """An option that may be given several times; its values are joined by commas."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, multiple=True, **settings)

    def value_from_envvar(self, ctx: click.Context) -> str | None:
        """Return the variable's whole value: click would divide it at white space."""
        return self.resolve_envvar_value(ctx)

    def process_value(self, ctx: click.Context, value: Any) -> str | None:
        """Return the joined values, `None` without any; a variable or configuration file gives a single text."""
        values = super().process_value(ctx, (value,) if isinstance(value, str) else value)
        return ",".join(values) or None


def joined_option(name: str, *names: str, **settings: Any) -> Callable[[F], F]:
    """Return an option as `option` does that may be given several times."""
    return option(name, *names, cls=JoinedOption, **settings)


def option(name: str, *names: str, cls: type[SectionOption] = SectionOption, **settings: Any) -> Callable[[F], F]:
    """Return a click option that `RUBRICLAB_NAME` sets too; all commands share the variable.

    `settings` may hold `section`, the heading under which help lists it, and `from_found`, whether a configuration file
    that was found may set it.
    """
    long = next(part for part in (name, *names) if part.startswith("--")).split("/")[0]
    variable = "RUBRICLAB_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(name, *names, cls=cls, envvar=variable, show_envvar=False, **settings)


def change_option(name: str, metavar: str, help_text: str) -> Callable[[F], F]:
    """Return an option for changes of what is stored, which may be repeated; no file that was found may set it."""
    return option(name, from_found="never", multiple=True, metavar=metavar, help=help_text)


def count_option(name: str, *, at_least: int, at_most: int | None = None, **settings: Any) -> Callable[[F], F]:
    """Return an option as `option` does that takes a whole number."""
    return option(name, type=click.IntRange(at_least, at_most), metavar="N", **settings)


def together(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator that applies several, listed in the order of the help."""

    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


store_option = option(
    "--store",
    section=STORED,
    type=STORE,
    metavar="PATH|URL",
    help="The database of versions and cached answers: an SQLite file or any SQLAlchemy URL.",
)
json_option = option(
    "--json", "as_json", from_found="always", section=STORED, is_flag=True, help="Print machine-readable results."
)
rows_options = together(
    joined_option(
        "--map",
        "mapping",
        from_found="always",
        section=INPUT,
        metavar="FIELD=COLUMN,…",
        help="The columns that hold the fields, as in output=summary,scores.coherence=coh.",
    ),
    joined_option(
        "--missing",
        from_found="always",
        section=INPUT,
        metavar="VALUE,…",
        help="Values taken for missing in scores and texts, as in 'n/a,-'; case is ignored.",
    ),
    joined_option(
        "--levels",
        "level_scores",
        from_found="always",
        section=INPUT,
        metavar="WORD=SCORE,…",
        help="The scores of words, as in good=5,ok=3,bad=1.",
    ),
    option(
        "--sheet",
        from_found="always",
        section=INPUT,
        metavar="NAME|N",
        help="The sheet of an Excel workbook.  [default: the first that is not hidden]",
    ),
    option(
        "--skip-hidden",
        from_found="always",
        section=INPUT,
        is_flag=True,
        help="Leave out hidden rows and columns of an Excel sheet.",
    ),
    count_option(
        "--header-rows",
        from_found="always",
        at_least=1,
        at_most=10,
        section=INPUT,
        help="The number of header rows of a table.  [default: 1]",
    ),
    count_option(
        "--skip-rows",
        from_found="always",
        at_least=0,
        at_most=1000,
        section=INPUT,
        help="The number of rows above the header of a table, such as a title.  [default: 0]",
    ),
    option(
        "--delimiter",
        from_found="always",
        section=INPUT,
        metavar="CHARACTER",
        help="The delimiter of cells: a character, or tab, semicolon, comma, pipe.  [default: detected]",
    ),
    option(
        "--encoding",
        from_found="always",
        section=INPUT,
        metavar="NAME",
        help="The encoding of a text file, such as cp1252.  [default: detected]",
    ),
    option(
        "--decimal",
        from_found="always",
        section=INPUT,
        type=click.Choice(["point", "comma"]),
        help="The decimal separator of scores: 3.5 or 3,5.  [default: detected]",
    ),
    option(
        "--skip-faulty",
        from_found="always",
        section=INPUT,
        is_flag=True,
        help="Leave out faulty rows, and report their number.",
    ),
    option(
        "--max-line-bytes",
        section=INPUT,
        type=click.IntRange(min=1),
        help="The maximum size of a row.  [default: 64000000]",
    ),
)
rivals_options = together(
    option(
        "--rivals",
        section=JUDGING,
        type=click.Choice(["apart", "together"]),
        help="Rate each text in a call of its own, or the texts of one group in one call.  [default: as learned]",
    ),
    count_option(
        "--rivals-per-call",
        at_least=2,
        at_most=100,
        section=JUDGING,
        help="The most texts of a call with --rivals together; larger groups are divided evenly.  [default: 10]",
    ),
)
rubric_option = option("--rubric", required=True, metavar="REF", help="NAME (the newest), NAME@NUMBER or NAME@TAG.")


def output_option(what: str) -> Callable[[F], F]:
    """Return the option that says where the rows with `what` go."""
    files = ".jsonl, .csv, .tsv, .xlsx or .parquet"
    about = f"Write the {what} to this file: {files}.  [default: JSON Lines to standard output]"
    return option("--output", "-o", section=STORED, default="-", type=OUTPUT, metavar="PATH", help=about)


class Number(click.types.FloatParamType):
    """A number; one with a decimal comma is refused with the right form."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d*,\d+", value.strip()):
            self.fail(f"{value!r} has a decimal comma: write {value.strip().replace(',', '.')}.", param, ctx)
        return float(super().convert(value, param, ctx))


class Points(Number, click.FloatRange):
    """A number of points within limits."""


export_options = together(
    option("--html", type=OUTPUT, metavar="PATH", section=STORED, help="Also write the result as one HTML page."),
    option(
        "--markdown",
        type=OUTPUT,
        metavar="PATH",
        section=STORED,
        help="Also write the result as Markdown, for a pull request.",
    ),
    option("--csv", type=OUTPUT, metavar="PATH", section=STORED, help="Also write the figures of the tables as CSV."),
)
row_options = together(
    option("--csv", type=OUTPUT, metavar="PATH", section=STORED, help="Also write the rows of the result as CSV."),
    json_option,
)
dry_run_option = option(
    "--dry-run", section=STORED, is_flag=True, help="Print an estimate of calls, tokens and cost; make no calls."
)


# What commands that read rows and ask a judge share at the end of their help; those that measure can also export.
run_options = together(rows_options, store_option, dry_run_option, json_option)
measurement_options = together(rows_options, export_options, store_option, dry_run_option, json_option)


def checked_address(_context: click.Context, given: click.Parameter, address: str | None) -> str | None:
    """Refuse an address with credentials before anything else is done, wherever it was set."""
    if address is None:
        return None
    from rubriclab.judges.providers import check_address

    return check_address(address, given.opts[0])


asking_options = together(
    option("--concurrency", section=LIMITS, type=int, help="The number of concurrent requests.  [default: 8]"),
    option(
        "--timeout",
        section=LIMITS,
        type=float,
        help="Time limit in seconds for one request and its response.  [default: 60]",
    ),
    option(
        "--attempts",
        section=LIMITS,
        type=int,
        help="Attempts to answer a prompt before it counts as missing.  [default: 8]",
    ),
    option("--requests-per-minute", section=LIMITS, type=float, help="The provider's limit, if it has one."),
    option("--tokens-per-minute", section=LIMITS, type=float, help="The provider's limit, if it has one."),
    option("--max-calls", section=LIMITS, type=int, help="Stop cleanly after this many replies."),
    option("--max-cost", section=LIMITS, type=float, help="Stop cleanly before the cost exceeds this many US dollars."),
    option(
        "--price",
        section=LIMITS,
        metavar="IN:OUT",
        help="US dollars per million prompt and completion tokens, for a model of unknown price.",
    ),
    option(
        "--structured",
        section=JUDGING,
        type=click.Choice(["auto", "schema", "text"]),
        help="Whether the reply's JSON schema is sent to the provider.  [default: auto]",
    ),
    option(
        "--api-base",
        section=JUDGING,
        metavar="URL",
        callback=checked_address,
        help="The address of your own server, without user name or password.",
    ),
    option(
        "--reasoning-tokens",
        section=JUDGING,
        type=int,
        metavar="N",
        help="Tokens for hidden reasoning beyond each reply's own limit.  [default: 4096 for models known to reason]",
    ),
    option(
        "--retry-failed", section=JUDGING, is_flag=True, help="Send a prompt again if its cached reply cannot be used."
    ),
    option(
        "--record",
        section=JUDGING,
        type=OUTPUT,
        metavar="PATH",
        help="Record every request digest and reply in this file, to be replayed by recorded:PATH.",
    ),
)
batch_options = together(
    option(
        "--batch",
        section=JUDGING,
        is_flag=True,
        help="Send prompts by the provider's Batch API, at about half the price; answers come within a day.",
    ),
    option(
        "--batch-size",
        section=LIMITS,
        type=int,
        help="The largest number of prompts in a batch, and of texts at a time.  [default: 10000]",
    ),
)
judge_options = together(
    option(
        "--judge",
        section=JUDGING,
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

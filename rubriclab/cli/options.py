"""Options of commands, made from the models of operations; each has an environment variable."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import click

from rubriclab.cli.output import FILE, JUDGE, OUTPUT, STORE, PlaceType
from rubriclab.models.characters import with_flags

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from rubriclab.base_options import Flag, FromFound, Options

# Headings of help, in its order.
JUDGING, LIMITS, INPUT, STORED = "Judge", "Limits", "Input", "Store and output"
SECTIONS = ("", JUDGING, LIMITS, INPUT, STORED)
F = TypeVar("F", bound=Callable[..., Any])


class SectionOption(click.Option):
    """An option that help lists under the heading `section`; an empty one is the command's own.

    Attributes:
        from_found: whether a configuration file that was found in the working folder may set it.
    """

    def __init__(self, *args: Any, section: str = "", from_found: FromFound = "confirmed", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.section = section
        self.from_found = from_found


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


class SectionCommand(click.Command):
    """A command whose options are those of its models, and those that only the command line has.

    Help lists its own options first and then the shared ones by section. The models are imported when the options are
    first needed, so that the list of all commands comes quickly. It begins once its outputs have been checked and the
    log file is open.

    Attributes:
        models: names of models in `ops.options` and `judges.options`.
    """

    _params: list[click.Parameter]

    def __init__(self, *args: Any, models: Sequence[str] = (), **settings: Any) -> None:
        self.models = models
        super().__init__(*args, **settings)

    @property
    def params(self) -> list[click.Parameter]:
        """Arguments, the options of the models and the other options."""
        if self.models:
            from rubriclab.judges import options as of_judges
            from rubriclab.ops import options as of_operations

            models = [getattr(of_operations, name, None) or getattr(of_judges, name) for name in self.models]
            taken = {param.name for param in self._params}
            made = [option for option in options_of_models(models) if option.name not in taken]
            arguments = [param for param in self._params if isinstance(param, click.Argument)]
            others = [param for param in self._params if not isinstance(param, click.Argument)]
            self._params = [*arguments, *made, *others]
            self.models = ()
        return self._params

    @params.setter
    def params(self, declared: list[click.Parameter]) -> None:
        self._params = declared

    def invoke(self, ctx: click.Context) -> Any:
        """Check the outputs, open the log file and run the command."""
        from rubriclab.cli.main import log_to_file
        from rubriclab.cli.output import check_outputs

        check_outputs(ctx)
        if file := ctx.find_root().params.get("log_file"):
            log_to_file(Path(file), str(ctx.info_name))
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options with a heading for each section."""
        for section in SECTIONS:
            # The text above the options describes the arguments; newer versions of click list them here too.
            options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
            records = [option.get_help_record(ctx) for option in options if getattr(option, "section", "") == section]
            if shown := [record for record in records if record]:
                with formatter.section(section or "Options"):
                    formatter.write_dl(shown)


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


def command(name: str | None = None, *models: str) -> Callable[[Callable[..., Any]], SectionCommand]:
    """Return a decorator that makes a function a command with the options of models, which are given by name."""
    return click.command(name, cls=SectionCommand, models=models)


class Number(click.types.FloatParamType):
    """A number; one with a decimal comma is refused with the right form."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d*,\d+", value.strip()):
            self.fail(f"{value!r} has a decimal comma: write {value.strip().replace(',', '.')}.", param, ctx)
        return float(click.FLOAT.convert(value, param, ctx))


class Points(Number, click.FloatRange):
    """A number whose bounds help shows; the model checks them."""


class Whole(click.IntRange):
    """A whole number whose bounds help shows; the model checks them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        return int(click.INT.convert(value, param, ctx))


# What stands for numbers with bounds, which help shows behind the text.
METAVARS = {Whole: "N", Points: "NUMBER"}


def options_of_models(models: Sequence[type[Options]]) -> Iterator[click.Option]:
    """Yield the options of models, each once."""
    fields = {name: (model, field) for model in models for name, field in model.model_fields.items()}
    flags = {name: _names(name, _flag(field))[-1] for name, (_, field) in fields.items()}
    for name, (model, field) in fields.items():
        if not _flag(field).hidden:
            yield _option(model, name, field, flags)
    if "settings" in fields:
        # What a configuration file sets.
        yield click.Option(["configured", "--configured"], hidden=True, multiple=True)


def _flag(field: FieldInfo) -> Flag:
    from rubriclab.base_options import Flag

    return next((each for each in field.metadata if isinstance(each, Flag)), Flag())


def _names(name: str, flag: Flag) -> list[str]:
    return flag.names.split() or [f"--{name.replace('_', '-')}"]


def _option(model: type[Options], name: str, field: FieldInfo, flags: Mapping[str, str]) -> click.Option:
    flag, names = _flag(field), _names(name, _flag(field))
    declaring = next(each for each in model.__mro__ if name in inspect.get_annotations(each))
    settings = _type(field, flag)
    if settings.get("multiple") or flag.joined:
        settings["default"] = None
    return (JoinedOption if flag.joined else SectionOption)(
        [name, *names],
        section=vars(declaring).get("section", "") if flag.section is None else flag.section,
        from_found=flag.from_found or vars(declaring).get("from_found", "confirmed"),
        required=field.is_required(),
        envvar=f"RUBRICLAB_{names[-1].removeprefix('--').replace('-', '_').upper()}",
        metavar=flag.metavar or METAVARS.get(type(settings.get("type"))),
        help=_help(field, flags),
        **settings,
    )


def _help(field: FieldInfo, flags: Mapping[str, str]) -> str:
    """Return the documentation of a field as help, with its default at the end."""
    text = " ".join((field.description or "").split())
    text, _, default = text.partition(" Default: ")
    if not default and not field.is_required() and field.default not in (None, "", (), {}, False):
        value = field.get_default(call_default_factory=True)
        default = (
            ""
            if isinstance(value, Mapping) or not isinstance(value, str | int | float)
            else str(value).removesuffix(".0")
        )
    shown = with_flags(f"{text}  [default: {default.removesuffix('.')}]" if default else text, flags)
    return shown.replace("`", "")


def _type(field: FieldInfo, flag: Flag) -> dict[str, Any]:
    """Return what click is told of the type of a field."""
    place: PlaceType | None = {"input": FILE, "judge": JUDGE}.get(flag.place)
    kind = _bare(field.annotation)
    several = get_origin(kind) is tuple
    if several:
        kind = _bare(get_args(kind)[0])
    bounds = {key: getattr(each, key) for each in field.metadata for key in ("ge", "gt", "le") if hasattr(each, key)}
    limits: dict[str, Any] = {"min": bounds.get("ge", bounds.get("gt")), "max": bounds.get("le")}
    if place:
        found: Any = place
    elif kind is bool:
        return {"is_flag": True}
    elif get_origin(kind) is Literal:
        found = click.Choice(list(get_args(kind)))
    elif kind is int:
        found = Whole(**limits) if bounds else click.INT
    elif kind is float:
        found = Points(**limits, min_open="gt" in bounds) if bounds else Number()
    else:
        found = click.STRING
    return {"type": found, **({"multiple": True} if (several or flag.multiple) and not flag.joined else {})}


def _bare(annotation: Any) -> Any:
    """Return a type without `None` and how values are validated; a union of others stays one."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        kinds = [_bare(kind) for kind in get_args(annotation) if kind is not NoneType]
        return kinds[0] if len(kinds) == 1 else annotation
    return annotation


def option(name: str, *names: str, cls: type[SectionOption] = SectionOption, **settings: Any) -> Callable[[F], F]:
    """Return a click option that `RUBRICLAB_NAME` sets too; all commands share the variable.

    `settings` may hold `section`, the heading under which help lists it, and `from_found`, whether a configuration file
    that was found may set it.
    """
    long = next(part for part in (name, *names) if part.startswith("--")).split("/")[0]
    variable = "RUBRICLAB_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(name, *names, cls=cls, envvar=variable, show_envvar=False, **settings)


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
rubric_option = option("--rubric", required=True, metavar="REF", help="NAME (the newest), NAME@NUMBER or NAME@TAG.")


def output_option(what: str) -> Callable[[F], F]:
    """Return the option that says where the rows with `what` go."""
    files = ".jsonl, .csv, .tsv, .xlsx or .parquet"
    about = f"Write the {what} to this file: {files}.  [default: JSON Lines to standard output]"
    return option("--output", "-o", section=STORED, default="-", type=OUTPUT, metavar="PATH", help=about)


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


# What commands that ask a judge share at the end of their help; those that measure can also export.
run_options = together(store_option, dry_run_option, json_option)
measurement_options = together(export_options, store_option, dry_run_option, json_option)
record_option = option(
    "--record",
    section=JUDGING,
    type=OUTPUT,
    metavar="PATH",
    help="Record every request digest and reply in this file, to be replayed by recorded:PATH.",
)

"""Commands and their options, which are made from the pydantic models of operations.

The help of a command lists its options by section, and the help on all commands lists the commands by section. A
command has options that `options_of_models` makes of its models' fields, and options by decorators such as `option`.

Messages of operations have options in the form of Python, "`scale=1:5`", and commands that may lack needed options,
"`rubriclab show news`". `for_command_line` makes both ready to be typed: the option becomes `--scale 1:5`, and the
command gets the options that it needs from the running command, such as `--store`.

A relative path on the command line is relative to the working folder; one in a configuration file, to its folder.
"""

from __future__ import annotations

import importlib
import inspect
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import click
from click.core import ParameterSource

from rubriclab import data
from rubriclab.display import with_long_options
from rubriclab.errors import RubriclabError
from rubriclab.models.characters import escape_controls

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from rubriclab.base_options import CliForm, ConfigMaySet, Options

# Where `options_of_models` looks for a class that is named without its module. The slowest to import comes last.
MODEL_MODULES = ("rubriclab.cli.models", "rubriclab.judges.options", "rubriclab.ops.options")


class PathType(click.ParamType):  # type: ignore[type-arg]
    """A value that is or contains a path: an input or output (or `-`), a store (or its URL), or a recorded judge."""

    name = "text"

    def __init__(self, path_kind: str) -> None:
        self.path_kind = path_kind

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value as text; refuse an option such as `--json`, which stands there if the value was left out."""
        if isinstance(value, str) and re.match("--[a-z]", value):
            self.fail(f"expected a value, got the option {value}; a file of this name is ./{value}.", param, ctx)
        return str(click.STRING.convert(value, param, ctx))

    def resolve(self, value: object, folder: Path) -> str:
        """Return `value` with its path resolved against `folder`, or unchanged if that is the working folder."""
        from rubriclab.judges.cache import RECORDED_PREFIX
        from rubriclab.store.tables import resolve_store

        text = str(value)
        prefix = RECORDED_PREFIX if self.path_kind == "judge" else ""
        # A judge without the prefix is no recording, and `-` is standard input or output.
        has_path = text.startswith(prefix) and text != "-"
        if folder == Path.cwd() or not has_path:
            return text
        if self.path_kind == "store":
            return resolve_store(text, folder)
        return f"{prefix}{folder / text.removeprefix(prefix)}"


FILE, OUTPUT = PathType("input"), PathType("output")


def path_kind_of(param: click.Parameter) -> str:
    return param.type.path_kind if isinstance(param.type, PathType) else ""


def long_name(param: click.Parameter) -> str:
    """Return the longest name of an option, such as `--output` of `-o` and `--output`."""
    return max(param.opts, key=len)


def param_values(context: click.Context) -> Iterator[tuple[click.Parameter, str]]:
    """Yield each parameter of a command with its value as text; several values are yielded one by one."""
    for param in context.command.params:
        value = context.params.get(str(param.name))
        values = value if isinstance(value, list | tuple) else [value]
        yield from ((param, str(each)) for each in values if each is not None)


class ConfigurableOption(click.Option):
    """An option with an environment variable, a help section, and the rule for a configuration file that sets it."""

    def __init__(
        self, names: Sequence[str], *, section: str = "", config_may_set: ConfigMaySet = "confirmed", **kwargs: Any
    ) -> None:
        # The environment variable of `--tags/--no-tags` is RUBRICLAB_TAGS.
        name = next(each for each in names if each.startswith("--")).removeprefix("--").partition("/")[0]
        super().__init__(names, envvar=f"RUBRICLAB_{name.replace('-', '_').upper()}", **kwargs)
        self.section = section
        self.config_may_set = config_may_set


class CommaListOption(ConfigurableOption):
    """An option that may be given several times; its values are joined by commas."""

    def value_from_envvar(self, ctx: click.Context) -> str | None:
        # click itself would split the variable at white space.
        return self.resolve_envvar_value(ctx)

    def process_value(self, ctx: click.Context, value: Any) -> str | None:
        """Return the joined values, `None` without values. An environment variable has them as one text already."""
        values = super().process_value(ctx, (value,) if isinstance(value, str) else value)
        return ",".join(values) or None


class SectionCommand(click.Command):
    """A command with the options of its models, which its help lists by section.

    The models are imported when the options are first needed, so that help on all commands comes quickly. The function
    gets a `Call` and the values that its signature names.
    """

    _params: list[click.Parameter]

    def __init__(self, *args: Any, model_names: Sequence[str] = (), section: str = "", **kwargs: Any) -> None:
        self.model_names = model_names
        self.section = section
        super().__init__(*args, **kwargs)

    @property
    def params(self) -> list[click.Parameter]:
        if self.model_names:
            own_names = {param.name for param in self._params}
            self._params += [option for option in options_of_models(self.model_names) if option.name not in own_names]
            self.model_names = ()
        return self._params

    @params.setter
    def params(self, declared: list[click.Parameter]) -> None:
        self._params = declared

    def invoke(self, ctx: click.Context) -> Any:
        from rubriclab.cli.main import log_to_file
        from rubriclab.cli.output import Call, check_outputs

        check_outputs(ctx)
        if file := ctx.find_root().params.get("log_file"):
            log_to_file(Path(file), str(ctx.info_name))
        assert self.callback
        values = {name: ctx.params[name] for name in inspect.signature(self.callback).parameters if name in ctx.params}
        try:
            return ctx.invoke(self.callback, Call(ctx.params), **values)
        except RubriclabError as error:
            # A command in a message repeats options of the running command, which are known here but not in `main`.
            error.message = for_command_line(error.message)
            if error.hint:
                error.hint = for_command_line(error.hint)
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from rubriclab.base_options import SECTIONS

        # The text above the options describes the arguments, which newer versions of click would list here again.
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        for section in SECTIONS:
            records = [option.get_help_record(ctx) for option in options if getattr(option, "section", "") == section]
            visible = [record for record in records if record]
            if visible:
                with formatter.section(section or "Options"):
                    formatter.write_dl(visible)


class CommandGroup(click.Group):
    """A group of commands such as `store size`. The list of all commands shows it as one entry under `section`."""

    def __init__(self, *args: Any, section: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class SectionGroup(click.Group):
    """A group whose help lists its commands by section, each with the first sentence of its help."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sections: dict[str, list[str]] = {}

    def add_section(self, title: str, commands: Sequence[click.Command]) -> None:
        for added in commands:
            self.add_command(added)
            self.sections.setdefault(title, []).append(str(added.name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, names in self.sections.items():
            entries: list[tuple[str, str]] = []
            for name in names:
                help_text = " ".join((self.commands[name].help or "").split())
                first_sentence = help_text.split(". ")[0].removesuffix(".")
                entries.append((name, f"{first_sentence}."))
            with formatter.section(title):
                formatter.write_dl(entries)


def command(*model_names: str, section: str = "", name: str | None = None) -> Callable[[Any], SectionCommand]:
    """Return a decorator that turns a function into a command with the options of the named models.

    The list of all commands shows the command under `section`. Everyday commands and members of groups have none.
    """
    return click.command(name, cls=SectionCommand, model_names=model_names, section=section)


# Decorators for options of a single command, which no model declares. An option of `flag` has no value.
option = partial(click.option, cls=ConfigurableOption)
flag = partial(option, is_flag=True)
path_option = partial(option, metavar="PATH", type=OUTPUT)
output_option = partial(path_option, "--output", "-o")
# Heading of a section of help, written here again because `rubriclab.base_options` takes long to import.
STORE_AND_OUTPUT = "Store and output"
# Placeholders of numbers with bounds, by type, in place of click's INTEGER RANGE and FLOAT RANGE.
METAVARS = {click.IntRange: "N", click.FloatRange: "NUMBER"}


def options_of_models(model_names: Sequence[str]) -> Iterator[click.Option]:
    """Yield the options of models. `versions.PruneOptions` is the model `PruneOptions` in `rubriclab.ops.versions`."""
    from rubriclab.base_options import CliForm

    fields: dict[str, tuple[type[Options], CliForm]] = {}
    option_names: dict[str, list[str]] = {}
    for qualified_name in model_names:
        module_name, _, model_name = qualified_name.rpartition(".")
        module_names = [f"rubriclab.ops.{module_name}"] if module_name else MODEL_MODULES
        modules = map(importlib.import_module, module_names)
        model: type[Options] = next(getattr(module, model_name) for module in modules if hasattr(module, model_name))
        for name, field in model.model_fields.items():
            option_form = next((each for each in field.metadata if isinstance(each, CliForm)), CliForm())
            fields[name] = (model, option_form)
            option_names[name] = option_form.names.split() or [f"--{name.replace('_', '-')}"]
    # In a help text, an option's name becomes its long name, `--scale`; but `output` there is a field of a row.
    long_names = {name: next(each for each in names if each[:2] == "--") for name, names in option_names.items()}
    long_names.pop("output", None)
    for name, (model, option_form) in fields.items():
        if not option_form.hidden:
            yield _make_option(model, name, option_form, option_names[name], long_names)
    if "settings" in fields:
        # By this hidden option, `config.defaults_from` passes the hyperparameters of the configuration file.
        yield click.Option(["configured_hyperparameters", "--configured-hyperparameters"], hidden=True, multiple=True)


def _make_option(
    model: type[Options], name: str, option_form: CliForm, names: Sequence[str], long_names: Mapping[str, str]
) -> click.Option:
    field = model.model_fields[name]
    help_text, _, shown_default = " ".join((field.description or "").split()).partition(" Default: ")
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    if not shown_default and default and isinstance(default, str | int | float):
        shown_default = str(default).removesuffix(".0")
    if shown_default:
        help_text += f"  [default: {shown_default.removesuffix('.')}]"
    arguments = _type_arguments(field, option_form)
    # click gets a default for outputs only. `Call.options` takes the other defaults from the model.
    if arguments.get("multiple"):
        arguments["default"] = None
    elif option_form.path_kind == "output" and not field.is_required():
        arguments["default"] = field.default
    # The `section` and `config_may_set` of a class hold for the fields that the class declares itself.
    declaring_class = next(each for each in model.__mro__ if name in inspect.get_annotations(each))
    option_class = CommaListOption if option_form.is_list else ConfigurableOption
    return option_class(
        [name, *names],
        section=vars(declaring_class).get("section", "") if option_form.section is None else option_form.section,
        config_may_set=option_form.config_may_set or vars(declaring_class).get("config_may_set", "confirmed"),
        required=field.is_required(),
        metavar=option_form.metavar or METAVARS.get(type(arguments.get("type"))),
        help=with_long_options(help_text, long_names).replace("`", ""),
        **arguments,
    )


def _type_arguments(field: FieldInfo, option_form: CliForm) -> dict[str, Any]:
    """Return those arguments of `click.Option` that follow from the type and the bounds of a field."""
    value_type = _value_type(field.annotation)
    is_tuple = get_origin(value_type) is tuple
    if is_tuple:
        value_type = _value_type(get_args(value_type)[0])
    bounds = {key: getattr(each, key) for each in field.metadata for key in ("ge", "gt", "le") if hasattr(each, key)}
    min_and_max: dict[str, Any] = {"min": bounds.get("ge", bounds.get("gt")), "max": bounds.get("le")}
    if option_form.path_kind:
        click_type: Any = PathType(option_form.path_kind)
    elif value_type is bool:
        return {"is_flag": True}
    elif get_origin(value_type) is Literal:
        click_type = click.Choice(get_args(value_type))
    elif value_type is int:
        click_type = click.IntRange(**min_and_max) if bounds else click.INT
    elif value_type is float:
        click_type = click.FloatRange(**min_and_max, min_open="gt" in bounds) if bounds else click.FLOAT
    else:
        click_type = click.STRING
    if is_tuple or option_form.multiple or option_form.is_list:
        return {"type": click_type, "multiple": True}
    return {"type": click_type}


def _value_type(annotation: Any) -> Any:
    """Return a type without `None` and validators; a union of several other types stays a union."""
    if get_origin(annotation) is Annotated:
        return _value_type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        members = [_value_type(member) for member in get_args(annotation) if member is not NoneType]
        return members[0] if len(members) == 1 else annotation
    return annotation


def note(text: str) -> None:
    click.echo(escape_controls(for_command_line(text)), err=True)


def for_command_line(text: str) -> str:
    """Return a message with options as they are typed, `--scale 1:5` for "`scale=1:5`", and with complete commands."""
    return with_long_options(text, all_long_names(), add_needed_options)


def add_needed_options(command: str, running: click.Context | None = None) -> str:
    """Return a command with those options of the running command without which it would fail."""
    from rubriclab.cli.main import every_command

    if command.startswith("--"):  # an option alone
        return command
    # These words stand for files, which are read with the same columns as the files of the running command.
    placeholders = {"LABELLED", "OTHER_LABELLED", "TEXTS"} & set(command.split())
    repeated_names = {"store", "mapping", "missing", "level_scores"} if placeholders else {"store"}
    named_commands = [each for name, each in every_command().items() if command.startswith(f"rubriclab {name}")]
    repeated_names &= {str(param.name) for each in named_commands for param in each.params}
    running = running or click.get_current_context(silent=True)
    for context in [running, running.find_root()] if running else []:
        for param, value in param_values(context):
            name, typed_name = str(param.name), long_name(param)
            # `command` will read the environment and the configuration file itself, so only typed options are repeated.
            is_typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
            shown = data.mapping.drop_rating_fields(value) if name == "mapping" and "TEXTS" in placeholders else value
            if not is_typed or not shown or name not in {*repeated_names, "config"}:
                continue
            words = shlex.split(command)
            if typed_name not in words:
                # `--config` stands before the name of the command.
                index = 1 if name == "config" else len(words)
                command = shlex.join([*words[:index], typed_name, shown, *words[index:]])
            elif "LABELLED" not in words:
                # `command` has the value for LABELLED, but reads other files, for which the user has typed `shown`.
                words[words.index(typed_name) + 1] = shown
                command = shlex.join(words)
    return command


def with_complete_commands(result_or_view: Any) -> Any:
    view = result_or_view.view() if hasattr(result_or_view, "view") else result_or_view
    return view.with_commands_rewritten_by(add_needed_options)


@cache
def all_long_names() -> Mapping[str, str]:
    from rubriclab.cli.main import every_command

    params = [param for command in every_command().values() for param in command.params]
    return {str(param.name): long_name(param) for param in params if isinstance(param, click.Option)}

"""The `rubriclab` command.

In the order of the module: the log, in which API keys are masked; the message about a bug; the group `cli`, with all
commands by section; and `main`, which runs a command line, says how it failed, and exits with a code.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import re
import shlex
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

import click

from rubriclab import __version__, data
from rubriclab.cli import commands, store
from rubriclab.cli.config import CONFIG_NAME, TRUST, defaults_from, load_config, method_names, options_by_key
from rubriclab.cli.options import OUTPUT, CommandGroup, SectionCommand, SectionGroup, for_command_line, note, option
from rubriclab.errors import RubriclabError, UserError
from rubriclab.models.characters import escape_controls, one_line

PACKAGE_LOGGER = logging.getLogger("rubriclab")
_module_logger = logging.getLogger(__name__)
LOG_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

_handlers: list[logging.Handler] = []


class MaskingFormatter(logging.Formatter):
    """Formats a record as one line, with its traceback below. Masks API keys and removes control characters."""

    def format(self, record: logging.LogRecord) -> str:
        from rubriclab.judges.providers import mask_keys

        text = super().format(record)
        trace = record.exc_text or ""
        line = one_line(mask_keys(text.removesuffix(trace)))
        return f"{line}\n{escape_controls(mask_keys(trace))}" if trace else line


class StandardErrorHandler(logging.Handler):
    """Writes to the current `sys.stderr`, which a progress bar replaces while it is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            click.echo(self.format(record), err=True)
        except Exception:
            self.handleError(record)


def start_logging(verbose: int) -> None:
    """Send warnings to standard error; with `verbose` 1 also retries, waits and progress, with 2 also every request."""
    stop_logging()
    level = LOG_LEVELS[min(verbose, len(LOG_LEVELS) - 1)]
    _install(StandardErrorHandler(level), LOG_FORMAT if verbose else "warning: %(message)s")
    PACKAGE_LOGGER.setLevel(level)


def log_to_file(file: Path, command: str) -> None:
    with data.write.name_in_errors(file):
        handler = logging.FileHandler(file, encoding="utf-8", errors="backslashreplace")
    _install(handler, LOG_FORMAT)
    PACKAGE_LOGGER.setLevel(logging.DEBUG)
    _module_logger.info("rubriclab %s: %s", __version__, command)


def stop_logging() -> None:
    while _handlers:
        handler = _handlers.pop()
        PACKAGE_LOGGER.removeHandler(handler)
        handler.close()
    PACKAGE_LOGGER.setLevel(logging.NOTSET)


def _install(handler: logging.Handler, line_format: str) -> None:
    handler.setFormatter(MaskingFormatter(line_format))
    PACKAGE_LOGGER.addHandler(handler)
    _handlers.append(handler)


BUG_EXIT_CODE = 70  # EX_SOFTWARE of sysexits.h: the fault is neither the user's nor the provider's
# If this environment variable is 1, the traceback is printed to standard error instead of written to a file.
TRACEBACK_VARIABLE = "RUBRICLAB_TRACEBACK"
MAX_CAUSE_CHARACTERS = 300


def report_bug(error: Exception) -> int:
    """Say in one line that rubriclab failed and where the traceback is, with API keys masked; return the exit code."""
    from rubriclab.judges.providers import mask_keys

    trace = mask_keys("".join(traceback.format_exception(error)))
    try:
        if os.environ.get(TRACEBACK_VARIABLE) == "1":
            click.echo(trace, err=True)
            trace_location = "the traceback is above"
        else:  # in a file that only this user can read
            descriptor, path = tempfile.mkstemp(prefix="rubriclab-bug-", suffix=".txt")
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(trace)
            trace_location = f"the traceback is in {path}"
    except OSError:
        trace_location = f"the traceback could not be written, {TRACEBACK_VARIABLE}=1 shows it"
    cause = f"{type(error).__name__}: {one_line(mask_keys(str(error)))}"[:MAX_CAUSE_CHARACTERS]
    click.echo(f"error: rubriclab {__version__} has a bug: {cause}. Please report it; {trace_location}.", err=True)
    return BUG_EXIT_CODE


INTERRUPTED_EXIT_CODE = 128 + signal.SIGINT
TERMINATED_EXIT_CODE = 128 + signal.SIGTERM
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a full disk, or a quota or size limit reached


@click.group(cls=SectionGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="rubriclab")
@option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Configuration file; default: {CONFIG_NAME} in the working folder, if it exists.",
)
@option(
    "-v",
    "--verbose",
    count=True,
    help="Log to standard error: -v for retries, waits and progress, -vv for every request too.",
)
@option("--log-file", type=OUTPUT, metavar="FILE", help="Append the log to this file, with every request.")
@click.pass_context
def cli(context: click.Context, config: Path | None, verbose: int, log_file: str | None) -> None:  # noqa: ARG001
    """Learn from about thirty labels what human raters reward, and score texts by it.

    \b
    rubriclab learn labelled.jsonl --task summarization --aspect coherence --name news-coherence
    rubriclab show news-coherence
    rubriclab score texts.jsonl --rubric news-coherence -o scores.jsonl
    rubriclab evaluate heldout.jsonl --rubric news-coherence
    rubriclab improve texts.jsonl --rubric news-coherence -o improved.jsonl

    Every option can also be set by an environment variable (RUBRICLAB_JUDGE for --judge) or in rubriclab.toml.
    Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 the result failed a check
    (threshold, gate, lint, verify), 2 an error for you to fix, 3 inconclusive, 4 the provider failed, 70 a bug in
    rubriclab, 130 interrupted by Ctrl-C, 143 by SIGTERM.
    """
    start_logging(verbose)
    context.default_map = {}
    context.obj = loaded_config = load_config(config)
    if loaded_config is None:
        return
    params_by_command = {name: command.params for name, command in every_command().items()}
    for name, values in defaults_from(loaded_config, params_by_command).items():
        group, _, member = name.partition(" ")
        if member:
            context.default_map.setdefault(group, {})[member] = values
        else:
            context.default_map[name] = values
    if loaded_config.named_by_user or context.invoked_subcommand == TRUST:
        return
    invoked_params = list[click.Parameter]()
    for name, params in params_by_command.items():
        if name.split()[0] == context.invoked_subcommand:
            invoked_params += params
    keys = set(options_by_key(invoked_params))
    if any(param.name == "configured_hyperparameters" for param in invoked_params):  # in a table for each method
        keys.update(method_names())
    if settings := loaded_config.summary(keys):
        note(f"{loaded_config.file} in this folder sets {settings}")


DAILY_NAMES = ("demo", "check", "label", "learn", "show", "report", "score", "evaluate", "compare", "studio")
SECTIONS = ("Data", "Use a rubric", "Examine a rubric", "Store")
_module_values = (*vars(commands).values(), *vars(store).values())
_commands = [each for each in _module_values if isinstance(each, SectionCommand | CommandGroup)]
_daily_commands = {each.name: each for each in _commands if each.name in DAILY_NAMES}
cli.add_section("Every day", [_daily_commands[name] for name in DAILY_NAMES])
assert {each.section for each in _commands} <= {"", *SECTIONS}, "a command with another section would be lost"
for title in SECTIONS:
    cli.add_section(title, [each for each in _commands if each.section == title])


def every_command() -> dict[str, click.Command]:
    """Return the commands by name; a member of a group has a name of two words, such as `store size`."""
    by_name: dict[str, click.Command] = {}
    for name, command in cli.commands.items():
        if isinstance(command, click.Group):
            by_name |= {f"{name} {member_name}": member for member_name, member in command.commands.items()}
        else:
            by_name[name] = command
    return by_name


def main(arguments: list[str] | None = None, command: click.Group = cli, name: str = "rubriclab") -> None:
    """Run a command line and exit; SIGTERM ends it as Ctrl-C does, with an exit code of its own."""
    terminated = False

    def terminate(_number: int, frame: FrameType | None) -> None:
        nonlocal terminated
        terminated = True
        handle_interrupt = signal.getsignal(signal.SIGINT)  # asyncio's own while its event loop is running
        if callable(handle_interrupt):
            handle_interrupt(signal.SIGINT, frame)

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell has started this command in the background, with Ctrl-C ignored. `terminate` needs asyncio's handler,
        # which asyncio installs only in place of the default one. So the default is set, and Ctrl-C is blocked instead.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, terminate)
    try:
        code = run(arguments, command, name)
    except KeyboardInterrupt:  # Ctrl-C again, while the first is reported
        code = INTERRUPTED_EXIT_CODE
    try:
        sys.stdout.flush()
    except OSError:  # Python would try to write the rest when it exits, fail again, and change the exit code
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if code == INTERRUPTED_EXIT_CODE:
        # A further Ctrl-C while Python ends would kill it, with another exit code.
        os._exit(TERMINATED_EXIT_CODE if terminated else code)
    sys.exit(code)


def run(arguments: list[str] | None = None, command: click.Group = cli, name: str = "rubriclab") -> int:
    for stream in (sys.stdout, sys.stderr):
        # Characters that the stream's encoding lacks are written as escapes instead of raising an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        result: Any = command.main(arguments, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        from rubriclab.judges.providers import mask_keys

        arguments = sys.argv[1:] if arguments is None else arguments
        same_command = escape_controls(mask_keys(shlex.join([name, *arguments])))
        click.echo(f"interrupted; answers so far are cached. To resume: {same_command}", err=True)
        return INTERRUPTED_EXIT_CODE
    except SystemExit:
        # click and rich exit like this if the reader of the output has closed it (`| head`), which is no error.
        return 0
    except Exception as error:
        return _print_error(error)
    return result if isinstance(result, int) else 0


def _print_error(error: Exception) -> int:
    """Print what the user can do, or report a bug; return the exit code."""
    if isinstance(error, ModuleNotFoundError):
        from importlib.metadata import requires

        missing = (error.name or "").replace("_", "-").replace("sklearn", "scikit-learn")
        for requirement in requires("rubriclab") or ():
            if "extra ==" not in requirement and re.split(r"[^\w-]", requirement)[0] == missing:
                hint = f"To repair it: pip install '{requirement}', or install rubriclab again."
                error = UserError(f"The installation of rubriclab is incomplete: {missing} is missing.", hint)
    if isinstance(error, RubriclabError):
        # A message may quote a server, a pack or a row, whose control characters must not reach the terminal.
        text = escape_controls(for_command_line(error.text))
        _module_logger.info("ended with exit code %d: %s", error.exit_code, text)
        click.echo(f"error: {text}", err=True)
        return error.exit_code
    if isinstance(error, click.NoSuchOption) and any(error.option_name in option.opts for option in cli.params):
        error = click.UsageError(f"{error.option_name} belongs before the command.", error.ctx)
    if isinstance(error, click.MissingParameter) and error.param and error.param.name == "task":
        from rubriclab.models.text import defined_tasks

        problem = "Missing option '--task', the kind of text, such as --task summarization."
        hint = f"Definitions of aspects come with {', '.join(defined_tasks())}. Other tasks need --definition."
        error = click.UsageError(f"{problem} {hint}", error.ctx)
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        if error.filename:
            reason = f"{error.filename}: {reason}"
        elif error.errno in DISK_FULL:  # without a file name, it is an error of printing
            reason = f"standard output cannot be written: {reason}"
        click.echo(f"error: {reason}", err=True)
        return RubriclabError.exit_code
    _module_logger.info("ended by an unexpected %s", type(error).__name__)
    return report_bug(error)

"""The `rubriclab` command."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import click

from rubriclab import __version__
from rubriclab.characters import plain
from rubriclab.cli import (
    agree,
    drift,
    evaluate,
    experiment,
    gate,
    improve,
    learn,
    lint,
    plan,
    report,
    score,
    show,
    transfer,
    versions,
)
from rubriclab.cli.config import CONFIG_NAME, defaults_from
from rubriclab.errors import RubriclabError

INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="rubriclab")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="RUBRICLAB_CONFIG",
    help=f"Configuration file; by default {CONFIG_NAME} in the current folder, if there is one.",
)
@click.pass_context
def cli(context: click.Context, config: Path | None) -> None:
    """Learn what human raters reward from about thirty labels, and score texts by it.

    \b
    rubriclab learn labelled.jsonl --task summarization --aspect coherence --name news-coherence
    rubriclab show news-coherence
    rubriclab score texts.jsonl --rubric news-coherence -o scores.jsonl
    rubriclab evaluate heldout.jsonl --rubric news-coherence
    rubriclab improve texts.jsonl --rubric news-coherence -o improved.jsonl

    Every option can also be set by the environment variable RUBRICLAB_OPTION (as RUBRICLAB_JUDGE) or in rubriclab.toml.
    Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 the result fails what was
    asked of it, 2 something to be mended by you, 3 inconclusive, 4 the provider failed, 70 a bug in rubriclab.
    """
    defaults = defaults_from(config, {name: command.params for name, command in every_command().items()})
    context.default_map = {}
    for name, values in defaults.items():
        group, _, own = name.partition(" ")
        context.default_map.setdefault(group, {}).update({own: values} if own else values)


for command in (
    learn.learn,
    show.show,
    report.report,
    gate.gate,
    score.score,
    evaluate.evaluate,
    improve.improve,
    plan.plan,
    transfer.transfer,
    drift.drift,
    experiment.experiment,
    agree.agree,
    lint.lint,
    *versions.COMMANDS,
):
    cli.add_command(command)


def every_command() -> dict[str, click.Command]:
    """Return all commands by name, those of a group as `GROUP NAME`."""
    found: dict[str, click.Command] = {}
    for name, command in cli.commands.items():
        if isinstance(command, click.Group):
            found |= {f"{name} {own}": each for own, each in command.commands.items()}
        else:
            found[name] = command
    return found


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: one line for an error, and for a bug where its traceback is."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding shows escapes for what it cannot show, instead of failing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        result: Any = cli.main(arguments, prog_name="rubriclab", standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; run the same command again to go on: answers so far are kept", err=True)
        return INTERRUPTED
    except SystemExit:
        # How click and rich end when whoever read our output has gone (`| head`), which is no fault of the command.
        return 0
    except Exception as error:
        return _failed(error)
    return result if isinstance(result, int) else 0


def _failed(error: Exception) -> int:
    """Say on standard error why a command ended, and return its exit code."""
    if isinstance(error, RubriclabError):
        click.echo(f"error: {plain(str(error))}", err=True)
        return error.exit_code
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, OSError):
        # Reading and writing of users' files is told apart where it happens; what is left is a full disk and its like.
        click.echo(f"error: {error.strerror or error}{f': {error.filename}' if error.filename else ''}", err=True)
        return RubriclabError.exit_code
    from rubriclab.cli.bug import report_bug

    return report_bug(error)


if __name__ == "__main__":
    main()

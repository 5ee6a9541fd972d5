"""`rubriclab demo`: learn, report, score and evaluate on the shipped sample, without a key."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from rubriclab.cli.options import command, option
from rubriclab.errors import UserError

NAME, OFFLINE, STORE = "news-coherence", "news-coherence-offline", "store.db"
TASK = ("--task", "summarization", "--aspect", "coherence", "--scale", "1:5")


@command()
@click.argument("folder", default="demo", type=click.Path(path_type=Path))
@option("--sample-only", is_flag=True, help="Write the files of the sample, and run no command.")
@click.pass_context
def demo(context: click.Context, folder: Path, *, sample_only: bool) -> None:
    """Learn, report, score and evaluate on the shipped sample; needs no key and no language model.

    FOLDER is for the sample and all results: a new one, an empty one, or that of an earlier demonstration.
    [default: demo]

    The first part replays a language model's recorded answers, the second runs the offline judge. Every command is
    printed before it runs, without your configuration file and RUBRICLAB_ variables.
    """
    from rubriclab.ops.check import FILES, README, RECORDING, write_sample

    write_sample(folder)
    if sample_only:
        click.echo(f"The sample is in the folder {folder}: {', '.join(FILES)}.")
        return
    click.echo(
        "The sample's labels are not human ratings: each follows from how its summary was damaged, as "
        f"{folder / README} says. The figures show how the commands work, not agreement with people.\n"
    )
    click.echo("Part 1: a language model, whose answers were recorded\n")
    click.echo(f"$ cd {shlex.quote(str(folder))}")
    recorded = run_in(folder, commands(("--judge", f"recorded:{RECORDING}")))
    if recorded not in (0, UserError.exit_code):
        context.exit(recorded)
    if recorded:
        click.echo(
            "\nThis part ends here. If the error above names a request that is not recorded, a prompt has changed "
            "since the answers were recorded."
        )
    click.echo("\nPart 2: the offline judge, which needs no language model and measures text features instead\n")
    if failed := run_in(folder, offline_commands()):
        context.exit(failed)
    if not recorded:
        click.echo("\nThe recording holds the replies to these commands only: other questions need a language model.")
    end = "-offline" if recorded else ""
    click.echo(f"\nDone. Open {folder}/rubric{end}.html in a browser, and {folder}/scores{end}.csv in a spreadsheet.")
    program = _program()
    click.echo(f"\nTo inspect and edit the rubrics in a browser:\n  {program} {shlex.join(studio_command(folder))}")
    click.echo(f"\nTo rate texts in a browser and learn from them:\n  {program} {shlex.join(label_command(folder))}")


# As many criteria are considered as were when the answers were recorded.
AS_RECORDED = ("--criteria", "6", "--set", "hypoeval.bank_size=30", "--set", "checkeval.most=35")


def commands(judge: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the commands of the first part, to be run in the folder of the sample."""
    from rubriclab.ops.check import HELDOUT, LABELLED

    return [
        ("learn", LABELLED, *TASK, "--name", NAME, *AS_RECORDED, *judge),
        ("report", NAME, "-o", "rubric.html"),
        ("score", HELDOUT, "--rubric", NAME, "-o", "scores.csv", *judge),
        ("evaluate", HELDOUT, "--rubric", NAME, "--html", "evaluation.html", *judge),
        ("export", NAME, "-o", f"{NAME}.json"),
    ]


def offline_commands() -> list[tuple[str, ...]]:
    """Return the commands of the second part, to be run in the folder of the sample."""
    from rubriclab.ops.check import HELDOUT, LABELLED

    judge = ("--judge", "embedded")
    return [
        ("learn", LABELLED, *TASK, "--name", OFFLINE, *judge),
        ("report", OFFLINE, "-o", "rubric-offline.html"),
        ("score", HELDOUT, "--rubric", OFFLINE, "-o", "scores-offline.csv", *judge),
    ]


def studio_command(folder: Path) -> tuple[str, ...]:
    """Return the command that opens the rubrics of the demonstration in a browser."""
    return ("studio", "--store", str(folder / STORE))


def label_command(folder: Path) -> tuple[str, ...]:
    """Return the command that opens a page on which people rate the sample."""
    from rubriclab.ops.check import UNLABELLED

    labelled = ("-o", str(folder / "rated.jsonl"), "--store", str(folder / STORE))
    return ("label", str(folder / UNLABELLED), *TASK, *labelled)


def run_in(folder: Path, lines: Sequence[Sequence[str]]) -> int:
    """Print and run each command in `folder`, until one fails; return its exit code, or 0."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RUBRICLAB_")}
    for line in lines:
        arguments = (*line, "--store", STORE)
        click.echo(f"$ rubriclab {shlex.join(arguments)}")
        sys.stdout.flush()
        # Without the folder on Python's path: it is not ours alone.
        command = [sys.executable, "-P", "-m", "rubriclab", *arguments]
        if code := subprocess.run(command, cwd=folder, env=environment, check=False).returncode:
            return code
    return 0


def _program() -> str:
    if shutil.which("rubriclab"):
        return "rubriclab"
    started = Path(sys.argv[0])
    return str(started) if started.name == "rubriclab" else f"{sys.executable} -m rubriclab"

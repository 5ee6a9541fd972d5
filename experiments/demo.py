"""The demonstration: learn, store, report, score and evaluate on the shipped sample, without a key.

Its first part replays a language model, whose answers ship with the sample; its second part runs the offline judge. If
a prompt has changed since the answers were recorded, the first part is left out, which is said.

To record again, with a language model of your own, about 290 requests::

    python -m experiments demo --record gpt-4o-mini
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# Relative where that is possible, since the judge is named after the file.
SAMPLE = Path(os.path.relpath(Path(__file__).parent / "sample"))
RECORDING = SAMPLE / "recording.jsonl"
LABELLED, HELDOUT, UNLABELLED = (SAMPLE / f"{name}.jsonl" for name in ("labelled", "heldout", "unlabelled"))
NAME, OFFLINE = "news-coherence", "news-coherence-offline"
TASK = ("--task", "summarization", "--aspect", "coherence", "--scale", "1:5")
LABELS = (
    "The sample's labels are not human ratings: each follows from how its summary was damaged, as in "
    f"{SAMPLE / 'README.md'}. The figures show how the commands work, not agreement with people."
)
# What `rubriclab` ends with where a recording lacks a request.
USER_ERROR = 2


def commands(folder: Path, judge: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the commands of the first part, which write to `folder`."""
    return [
        ("learn", str(LABELLED), *TASK, "--name", NAME, *judge),
        ("report", NAME, "-o", str(folder / "rubric.html")),
        ("score", str(HELDOUT), "--rubric", NAME, "-o", str(folder / "scores.csv"), *judge),
        ("evaluate", str(HELDOUT), "--rubric", NAME, "--html", str(folder / "evaluation.html"), *judge),
        ("export", NAME, "-o", str(folder / f"{NAME}.json")),
    ]


def offline_commands(folder: Path) -> list[tuple[str, ...]]:
    """Return the commands of the second part."""
    judge = ("--judge", "embedded")
    return [
        ("learn", str(LABELLED), *TASK, "--name", OFFLINE, *judge),
        ("report", OFFLINE, "-o", str(folder / "rubric-offline.html")),
        ("score", str(HELDOUT), "--rubric", OFFLINE, "-o", str(folder / "scores-offline.csv"), *judge),
    ]


def studio_command(folder: Path) -> tuple[str, ...]:
    """Return the command that opens the rubrics of the demonstration in a browser."""
    return ("studio", "--store", str(folder / "store.db"))


def label_command(folder: Path) -> tuple[str, ...]:
    """Return the command that opens a page on which people rate the sample."""
    labelled = ("-o", str(folder / "rated.jsonl"), "--store", str(folder / "store.db"))
    return ("label", str(UNLABELLED), *TASK, *labelled)


def demonstrate(folder: Path, recording: Path = RECORDING) -> int:
    """Run both parts; their files land in `folder`. Return the exit code of the first command that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{LABELS}\n")
    print("Part 1: a language model, whose answers were recorded\n")
    code = _run_all(commands(folder, ("--judge", f"recorded:{recording}")), folder)
    if code == USER_ERROR:
        print(
            "\nA prompt has changed since the answers were recorded (or there are none), so this part ends here. To "
            "record again with a language model of yours: python -m experiments demo --record MODEL"
        )
    elif code:
        return code
    print("\nPart 2: the offline judge, which needs no language model and measures text features instead\n")
    if failed := _run_all(offline_commands(folder), folder):
        return failed
    first = "rubric" if not code else "rubric-offline"
    if not code:
        print(
            "\nThe recording holds the replies to these commands only: `evaluate --baseline direct` and other new "
            "questions need a language model."
        )
    print(f"\nDone. Open {folder}/{first}.html in a browser, and the scores in a spreadsheet.")
    program = os.path.relpath(Path(sys.executable).parent / "rubriclab")
    print(f"\nTo inspect and edit the rubrics in a browser:\n  {shlex.join((program, *studio_command(folder)))}")
    print(f"\nTo rate texts in a browser and learn from them:\n  {shlex.join((program, *label_command(folder)))}")
    return 0


def record(folder: Path, judge: Sequence[str], recording: Path = RECORDING) -> int:
    """Run the first part with a language model and record its answers; return the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    return _run_all(commands(folder, (*judge, "--record", str(recording))), folder)


def _run_all(lines: Sequence[Sequence[str]], folder: Path) -> int:
    for line in lines:
        if code := _run((*line, "--store", str(folder / "store.db"))):
            return code
    return 0


def _run(arguments: Sequence[str]) -> int:
    print(f"$ rubriclab {shlex.join(arguments)}", flush=True)
    return subprocess.run([sys.executable, "-m", "rubriclab", *arguments], check=False).returncode

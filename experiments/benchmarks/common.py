"""What benchmarks share: the command line, the machine that figures are of, and stored results."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments import ROOT

SAMPLE = ROOT / "sample"
TESTS = ROOT.parent / "tests"
COMMAND = [str(Path(sys.executable).parent / "rubriclab")]


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return the command line of a benchmark with this docstring."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="the file of the figures, as JSON")
    return parser


def this_machine() -> dict[str, Any]:
    """Return the Python version, the system, the number of processors and the load over the last minute."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def described(machine: Mapping[str, Any]) -> str:
    """Return a machine in words."""
    return f"Python {machine['python']}, {machine['processors']} cores, load {machine['load']:.1f}"


def stored(name: str) -> Any:
    """Return stored results."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def store(result: Mapping[str, Any], output: Path | None) -> None:
    """Write results, if there is a file for them."""
    if output:
        output.write_text(json.dumps(result, indent=1) + "\n")


def rows_of(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file of the sample."""
    return [json.loads(line) for line in (SAMPLE / f"{name}.jsonl").read_text("utf-8").splitlines()]


def command(arguments: Sequence[str]) -> None:
    """Run a command of rubriclab."""
    subprocess.run([*COMMAND, *arguments], check=True, capture_output=True)


def seconds(work: Callable[[], object]) -> float:
    """Return the wall-clock seconds that `work` takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun

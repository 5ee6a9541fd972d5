"""The shipped sample is what its script builds."""

import runpy
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "experiments" / "sample"


def test_the_committed_files_are_what_the_maker_builds() -> None:
    for name, content in runpy.run_path(str(FOLDER / "make_sample.py"))["build"]().items():
        assert (FOLDER / name).read_bytes() == content.encode(), f"run {FOLDER / 'make_sample.py'}"

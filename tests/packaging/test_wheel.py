"""What gets installed: the package with its content and templates, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from commands import CHECKOUT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_all_files_of_the_package_and_its_content_and_no_other_package(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    files = [
        file.relative_to(CHECKOUT).as_posix()
        for folder in ("rubriclab", "stores", "literature")
        for file in (CHECKOUT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]
    wanted = {name if name.startswith("rubriclab/") else f"rubriclab/_content/{name}" for name in files}
    assert wanted
    assert wanted <= held
    tops = {name.partition("/")[0] for name in held}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"rubriclab"}


def test_the_command_works_from_the_unpacked_wheel(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        "import rubriclab; from rubriclab import find_aspect; from rubriclab.methods.sources import load_findings;"
        "print(rubriclab.__file__, find_aspect('summarization', 'coherence').name, len(load_findings('story')))"
    )
    environment = {"PYTHONPATH": str(tmp_path / "site"), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    place, aspect, findings = done.stdout.split()
    assert place.startswith(str(tmp_path))
    assert aspect == "coherence"
    assert int(findings) > 0

"""Measured figures in READMEs: each is what the stored results say, and none is written by hand."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import CHECKOUT

from experiments import figures
from experiments.runner.results import changed_since, present_prompts

EXPERIMENTS = CHECKOUT / "experiments"
# Sections about a paper's own figures.
OF_A_PAPER = ("What the paper found", "How to read it", "The same figures, computed again")
DECIMALS = re.compile(r"(?<![\w.])[+-]?\d\.\d{2,}")
# Decimals that are no figures: settings and versions.
SETTINGS = {
    "README.md": {"3.11"},
    "docs/concepts.md": {"0.05", "0.0125"},
    "docs/evaluate.md": {"0.05"},
}


READMES = [str(path.relative_to(CHECKOUT)) for path in figures.readmes()]
SCRIPTS = [str(path.relative_to(CHECKOUT)) for path in sorted(EXPERIMENTS.rglob("*.py"))]


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_of_the_experiments_can_be_imported(script: str) -> None:
    assert figures.script(CHECKOUT / script).__doc__


def test_no_figure_in_a_readme_differs_from_the_stored_results() -> None:
    assert figures.differing() == [], "run: python -m experiments figures"
    assert list(figures.outdated()) == []


@pytest.mark.parametrize(
    "folder", sorted(str(path.parent.relative_to(EXPERIMENTS)) for path in EXPERIMENTS.rglob("results"))
)
def test_the_readme_of_an_experiment_with_results_has_figures_of_them(folder: str) -> None:
    assert figures.BLOCK.search((EXPERIMENTS / folder / "README.md").read_text("utf-8"))


@pytest.mark.parametrize("readme", READMES)
def test_no_measured_figure_is_written_by_hand(readme: str) -> None:
    found = set(DECIMALS.findall(own_prose((CHECKOUT / readme).read_text("utf-8"))))
    assert found <= SETTINGS.get(readme, set()), "put it into a block of figures (experiments/figures.py)"


def own_prose(readme: str) -> str:
    """Return what is neither generated, nor code, nor in a section about a paper's figures."""
    kept, paper = [], 0
    for line in re.sub(r"```.*?```|`[^`\n]*`", "", figures.BLOCK.sub("", readme), flags=re.DOTALL).splitlines():
        if heading := re.match(r"(#+) (.*)", line):
            level = len(heading[1])
            if not paper or level <= paper:
                paper = level if heading[2] in OF_A_PAPER else 0
        if not paper:
            kept.append(line)
    return "\n".join(kept)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package with the results of one measurement, in a folder of its own."""
    for path in EXPERIMENTS.rglob("*"):
        place = path.relative_to(EXPERIMENTS)
        if "__pycache__" in place.parts:
            continue  # other processes write there
        if path.suffix == ".py" or place.parts[0] in ("gate", "sample"):
            target = tmp_path / "experiments" / place
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file():
                shutil.copy(path, target)
    (tmp_path / "README.md").write_text("# A project\n", "utf-8")
    return tmp_path / "experiments"


def check(copy: Path, *arguments: str) -> tuple[int, str, str]:
    """Return the exit code of `python -m experiments figures` in the copy, and what it wrote."""
    command = [sys.executable, "-m", "experiments", "figures", *arguments]
    done = subprocess.run(command, cwd=copy.parent, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_changed_result_of_a_script_makes_the_check_fail_until_the_readme_is_written_again(
    copy: Path,
) -> None:
    stored = copy / "gate" / "results" / "embedded.json"
    rows = json.loads(stored.read_text("utf-8"))
    rows["cases"]["summeval coherence texts"][0]["outcome"] = "better"
    stored.write_text(json.dumps(rows), "utf-8")
    before = (copy / "gate" / "README.md").read_text("utf-8")
    assert check(copy, "--check")[:2] == (1, "experiments/gate/README.md differs from the stored results\n")
    assert (copy / "gate" / "README.md").read_text("utf-8") == before
    assert check(copy)[0] == 0
    assert (copy / "gate" / "README.md").read_text("utf-8") != before
    assert check(copy, "--check")[0] == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, None),
        ({"sample": [0.0]}, "the offline judge's scores"),
        ({"sample": []}, "the offline judge's scores"),
        ({"judge": "openai/some", "prompts": "sha256:1"}, "the prompts"),
        ({"judge": "openai/some"}, None),
    ],
)
def test_results_of_an_earlier_judge_or_earlier_prompts_are_recognised(
    changed: dict[str, object], said: str | None
) -> None:
    stored = json.loads((EXPERIMENTS / "gate" / "results" / "embedded.json").read_text("utf-8"))
    found = changed_since({**stored, "prompts": present_prompts(), **changed})
    assert found == (said or "")

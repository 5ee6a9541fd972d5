"""Measured figures in READMEs: each is what the stored results say, and none is written by hand."""

from __future__ import annotations

import json
import re
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
SETTINGS = {"README.md": {"3.11"}, "docs/concepts.md": {"0.05", "0.0125"}, "docs/evaluate.md": {"0.05"}}

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


def test_a_page_with_another_figure_than_the_results_is_found_and_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "README.md"
    page.write_text("<!-- figures: gate/gate -->\n0.99\n<!-- end of figures -->\nProse.\n", "utf-8")
    monkeypatch.setattr(figures, "readmes", lambda: [page])
    assert figures.differing() == [page]
    page.write_text(figures.written(page), "utf-8")
    assert "0.99" not in (shown := page.read_text("utf-8"))
    assert shown.endswith("-->\nProse.\n")
    assert figures.differing() == []


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

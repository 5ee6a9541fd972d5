"""Measurements run in little, and their results name the judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from study_rows import RIVALS

from experiments.runner.measurement import Measured
from experiments.runner.results import read_stored

FOLDER = Path(__file__).parents[2] / "experiments"
# Options that make a measurement small; others need recorded judgments.
SMALL = {
    "agreement": ("sets=hanna:empathy,hanna:surprise", "variants=direct", "test_groups=3"),
    "gate": ("sets=hanna:empathy", "runs=1", "whole=0"),
    "coverage": ("aspects=", "runs=1", "population=100"),
    "inference": ("sets=hanna:empathy", "runs=1", "simulated=2"),
    "intervals": ("aspects=", "runs=1"),
    "small_judge": ("sets=hanna:empathy", "groups=2", "size=3", "criteria=."),
}


def settings(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--set", pair)]


def stored_criteria(folder: Path) -> None:
    """Write the criteria of HANNA's empathy into a folder, as if they had been learned from five groups in little."""
    stored = json.loads((FOLDER / "small_judge" / "criteria" / "hanna_empathy.json").read_bytes())
    labelled = [f"hanna-{group}-{place}" for group in range(5) for place in range(RIVALS)]
    (folder / "hanna_empathy.json").write_text(json.dumps({**stored, "labelled": labelled}), "utf-8")


@pytest.mark.parametrize("name", SMALL)
def test_every_measurement_runs_in_little_and_names_the_judge(name, experiment, data, tmp_path) -> None:
    stored_criteria(tmp_path)
    done = experiment("measure", name, "--data", data, *settings(*SMALL[name]), "-o", "m.json")
    assert done.code == 0, done.err
    measured = read_stored(Measured, tmp_path / "m.json")
    assert measured.rows
    assert measured.measurement == name
    assert (measured.judge, (measured.identity or {}).get("model")) == ("embedded", "embedded")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gate", "--set", "draws=3"), "Options for --set: runs, sets, whole"),
        (("gate", "--set", "sets=qags_cnndm"), "qags_cnndm consistency has 24 texts in half of its groups"),
    ],
)
def test_what_cannot_be_measured_is_refused(words, message, experiment, data) -> None:
    done = experiment("measure", *words, "--data", data)
    assert done.code == 2
    assert message in done.err.replace("\n", " ")


# Measured with an earlier offline judge, whose rules were not recorded. No file may be added.
OLDER = {
    "agreement/results/embedded.json",
    "studies/labels-needed/results/embedded.json",
}


def test_every_stored_result_says_which_judge_gave_the_answers() -> None:
    unnamed = set()
    for file in FOLDER.glob("**/results/*.json"):
        content = json.loads(file.read_text("utf-8"))
        if not isinstance(content, dict) or "format" not in content:
            continue
        named = content.get("identity") or content.get("identities")
        if not named:
            unnamed.add(str(file.relative_to(FOLDER)))
    assert unnamed == OLDER

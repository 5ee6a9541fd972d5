"""Measurements run in little, and their results name the judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.binary import binary
from experiments.gate import gate
from experiments.runner.measurement import MODULES, Measured, measurement_named
from experiments.runner.results import read_stored

FOLDER = Path(__file__).parents[2] / "experiments"
# Options that make a measurement small.
SMALL = {
    "binary": ("aspects=hanna:empathy=3", "runs=1"),
    "gate": ("sets=hanna:empathy", "runs=1"),
    "intervals": ("aspects=", "runs=1"),
    "withheld": ("sets=hanna:empathy", "runs=1", "simulated=2"),
}
# Processes of a measurement are forked, so that they have these too.
SMALL_CONSTANTS = {
    binary: {"SAMPLE_ASPECTS": (), "LEARNED": 12},
    gate: {"SEEDS": (42,), "RENAMINGS": (1,), "TEXTS": 12, "GROUPS": 5, "RIVALS": 3},
}


def settings(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--set", pair)]


def test_every_folder_with_a_measurement_is_listed_and_has_the_defaults_of_its_stored_results() -> None:
    assert set(MODULES) == {
        path.parent.name for path in FOLDER.glob("*/*.py") if "\nMEASUREMENT = " in path.read_text()
    }
    measured = read_stored(Measured, FOLDER / "small_judge" / "results" / "local.json")
    options = measurement_named("small_judge").options
    assert {name: options.model_fields[name].default for name in measured.options} == dict(measured.options)


@pytest.mark.parametrize("name", SMALL)
def test_every_measurement_runs_in_little_and_names_the_judge(name, experiment, data, tmp_path, monkeypatch) -> None:
    for module, constants in SMALL_CONSTANTS.items():
        for constant, value in constants.items():
            monkeypatch.setattr(module, constant, value)
    done = experiment("measure", name, "--data", data, *settings(*SMALL[name]), "-o", "m.json")
    assert done.code == 0, done.err
    measured = read_stored(Measured, tmp_path / "m.json")
    assert measured.rows
    assert measured.measurement == name
    asked = None if name == "intervals" else "embedded"
    assert (measured.judge, measured.identity.get("model")) == (asked, asked)
    assert bool(measured.sample) == bool(asked)

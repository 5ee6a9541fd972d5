"""A judge and a method of an installed package work like those that are built in."""

from __future__ import annotations

import sys
import tomllib
from functools import partial
from pathlib import Path

import pytest
from commands import CHECKOUT, HELDOUT, LABELLED, TASK, Commands, Done
from documentation import example_files

TOY = ("--method", "toy", "--judge", "counter:20", "--name", "toy")
# Methods beside the documented one: one that cannot be loaded, and one that may not replace what is built in.
MORE = {"broken": "rubriclab_toy.method:NOTHING", "hypoeval": "rubriclab_toy.method:TOY"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages that holds the example of CONTRIBUTING.md alone, with `MORE` methods."""
    site = tmp_path_factory.mktemp("site")
    files = example_files(CHECKOUT / "CONTRIBUTING.md")
    for name, content in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(content, "utf-8")
    project = tomllib.loads(files["pyproject.toml"])["project"]
    project["entry-points"]["rubriclab.methods"] |= MORE
    info = site / "rubriclab_toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n", "utf-8")
    groups = (
        "\n".join([f"[{group}]", *(f"{name} = {target}" for name, target in points.items())])
        for group, points in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups), "utf-8")
    return site


def run(site: Path, folder: Path, *arguments: object) -> Done:
    """Return how `rubriclab ARGUMENTS` ended in a forked process that has the plug-in."""
    return Commands(folder, before=partial(install, str(site)))(*arguments, "--store", "store.db")


def install(site: str) -> None:
    """Have this process find the packages in a folder, as if it had been started with it on its path."""
    sys.path.insert(0, site)


def test_the_documented_judge_and_method_learn_and_score(site: Path, tmp_path: Path) -> None:
    learned = run(site, tmp_path, "learn", LABELLED, *TASK, *TOY)
    assert "toy@1: 2 rated traits" in learned.out, learned.err
    scored = run(site, tmp_path, "score", HELDOUT, "--rubric", "toy")
    assert scored.code == 0, scored.err
    rows = scored.rows
    assert rows
    assert all(1 <= row["score"] <= 5 for row in rows)
    assert rows[0]["criteria"][0]["reason"].endswith(" words.")


def test_the_documented_tests_pass(site: Path, tmp_path: Path) -> None:
    arguments = [str(site / "tests"), "-q", "-p", "no:asyncio", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = Commands(tmp_path, before=partial(install, str(site))).python(f"import pytest; pytest.main({arguments})")
    assert "2 passed" in done.out, done.out


def test_it_takes_settings_and_joins_other_methods(site: Path, tmp_path: Path) -> None:
    together = (*TOY, "--method", "direct", "--set", "toy.max_tokens=300")
    learned = run(site, tmp_path, "learn", LABELLED, *TASK, *together, "--json")
    assert learned.code == 0, learned.err
    shown = run(site, tmp_path, "show", "toy", "--json")
    assert shown.json["provenance"]["settings"]["toy"] == {"max_tokens": 300}


def test_a_method_that_cannot_be_loaded_is_named_with_its_package_and_none_replaces_a_built_in_one(
    site: Path, tmp_path: Path
) -> None:
    done = run(site, tmp_path, "learn", LABELLED, *TASK, "--method", "broken", "--judge", "embedded")
    assert done.code == 2
    assert "The method 'broken' of the package rubriclab-toy 1.0 cannot be loaded: AttributeError" in done.err
    done = run(site, tmp_path, "learn", LABELLED, *TASK, "--method", "hypoeval", "--judge", "embedded", "--dry-run")
    assert done.code == 0, done.err


def test_a_fault_of_a_plug_in_is_no_bug_of_rubriclab(site: Path, tmp_path: Path) -> None:
    crash = ("--method", "toy", "--judge", "counter:0", "--name", "toy")
    done = run(site, tmp_path, "learn", LABELLED, *TASK, *crash)
    assert done.code == 2, done.err
    assert "The judge 'counter' of the package rubriclab-toy 1.0 raised ZeroDivisionError" in done.err

"""A judge and a method of an installed package work like those that are built in."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path
from textwrap import dedent

import pytest
from commands import CHECKOUT, HELDOUT, LABELLED, Commands, Done
from documentation import example_files

MODULE = '''
"""A judge that answers with the length of the text, and a method that asks for one number."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

import rubriclab as rl


class Settings(BaseModel):
    step: float = 0.5


class Rating(BaseModel):
    reason: str
    score: float


class WordCounter:
    """Answers `toy/rate` with a score that grows with the words, and every other prompt with nothing of use."""

    def __init__(self, spec: str) -> None:
        self.name = f"toyjudge:{spec}"
        self.identity = {"judge": self.name}

    async def reply(self, prompt: Any) -> rl.Reply:
        if self.name.endswith(":crash"):
            raise ZeroDivisionError("division by zero")
        words = len(str(prompt.fields.get("output", "")).split())
        reply = {"reason": f"{words} words", "reasoning": f"{words} words", "score": min(5.0, 1 + words / 20)}
        wanted = prompt.reply.model_fields
        return rl.Reply(text=json.dumps({name: reply[name] for name in wanted if name in reply}), model=self.name)


def make_judge(spec: str, options: rl.JudgeOptions) -> WordCounter:
    return WordCounter(spec)


def prompt_for(example, assignment):
    fields = {**assignment.fields(), **assignment.text_fields(example)}
    return rl.Prompt("toy/rate", fields, Rating, max_tokens=200)


async def score(example, part, assignment, judge):
    answer = await rl.ask(judge, prompt_for(example, assignment))
    value = answer.value.score if answer.value else None
    return value, (rl.CriterionRating("toy", value, answer.value.reason if answer.value else "no answer"),)


async def learn(training_input, settings, *, judge, generator, seed, on_progress):
    assignment = training_input.assignment
    evidence = rl.Evidence(origin="definition")
    trait = assignment.aspect.name
    criterion = rl.Criterion(id="toy", kind="score", trait=trait, statement="How long it is.", evidence=evidence)
    part = rl.Part(method="toy", settings=settings.model_dump(), criteria=(criterion,))
    ratings = [(await score(text, part, assignment, judge))[1] for text in training_input.examples]
    scores = np.array([np.nan if row[0].score is None else row[0].score for row in ratings])
    ids = tuple(text.id for text in training_input.examples)
    return rl.Learned(part, ids, ("toy",), tuple(ratings), scores, scores, optimistic=False)


METHOD = rl.Method(
    name="toy",
    settings=Settings,
    presets={},
    prompts=("toy/rate",),
    learn=learn,
    score=score,
    single_criterion=True,
    templates=Path(__file__).parent / "templates",
)
'''
TEMPLATE = """\
=== system
You rate texts.
=== user
How {{ aspect }} is this text?

{{ output | fenced("text") }}
"""
SCALE = ("--task", "summarization", "--aspect", "coherence", "--scale", "1:5")
TOY = ("--method", "toy", "--judge", "toyjudge:x", "--name", "toy")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages that holds the plug-in alone."""
    site = tmp_path_factory.mktemp("site")
    package, info = site / "rubriclab_toy", site / "rubriclab_toy-1.0.dist-info"
    (package / "templates").mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text(MODULE, "utf-8")
    (package / "templates" / "rate.md").write_text(TEMPLATE, "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rubriclab-toy\nVersion: 1.0\n", "utf-8")
    points = """\
        [rubriclab.judges]
        toyjudge = rubriclab_toy:make_judge
        [rubriclab.methods]
        toy = rubriclab_toy:METHOD
        broken = rubriclab_toy:NOTHING
        hypoeval = rubriclab_toy:METHOD
        """
    (info / "entry_points.txt").write_text(dedent(points), "utf-8")
    return site


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages that holds the example of CONTRIBUTING.md alone."""
    site = tmp_path_factory.mktemp("documented")
    files = example_files(CHECKOUT / "CONTRIBUTING.md")
    for name, content in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(content, "utf-8")
    project = tomllib.loads(files["pyproject.toml"])["project"]
    info = site / "rubriclab_toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n", "utf-8")
    groups = (
        "\n".join([f"[{group}]", *(f"{name} = {target}" for name, target in points.items())])
        for group, points in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups), "utf-8")
    return site


@pytest.fixture(scope="module")
def learned(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store has `toy@1`, learned by the plug-in's method with its judge, as a user would."""
    folder = tmp_path_factory.mktemp("learned")
    done = started(site, folder, "learn", LABELLED, *SCALE, *TOY)
    assert done.code == 0, done.err
    return folder


def started(site: Path, folder: Path, *arguments: object) -> Done:
    """Return how `rubriclab ARGUMENTS` ended in a fresh interpreter that has the plug-in."""
    return Commands(folder, PYTHONPATH=str(site)).script(*arguments, "--store", "store.db")


def run(site: Path | None, folder: Path, *arguments: object) -> Done:
    """Return how `rubriclab ARGUMENTS` ended in a forked process that has the plug-in, or not."""
    before = partial(install, str(site)) if site else None
    return Commands(folder, before=before)(*arguments, "--store", "store.db")


def install(site: str) -> None:
    """Have this process find the packages in a folder, as if it had been started with it on its path."""
    sys.path.insert(0, site)


def test_a_judge_and_a_method_of_a_package_learn_and_score(site: Path, learned: Path) -> None:
    scored = started(site, learned, "score", HELDOUT, "--rubric", "toy")
    assert scored.code == 0, scored.err
    rows = scored.rows
    assert rows
    assert all(1 <= row["score"] <= 5 for row in rows)
    assert rows[0]["criteria"][0]["reason"].endswith(" words")


def test_the_documented_package_works_as_written(documented: Path, tmp_path: Path) -> None:
    toy = ("--method", "toy", "--judge", "counter:20", "--name", "toy")
    learned = run(documented, tmp_path, "learn", LABELLED, *SCALE, *toy)
    assert learned.code == 0, learned.err
    assert "toy@1: 2 rated traits" in learned.out
    scored = run(documented, tmp_path, "score", HELDOUT, "--rubric", "toy")
    assert scored.code == 0, scored.err
    together = run(documented, tmp_path, "learn", LABELLED, *SCALE, "--method", "direct", *toy)
    assert together.code == 0, together.err


def test_the_documented_tests_pass(documented: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:asyncio", "-p", "no:xdist", "-p", "no:cacheprovider"]
    environment = {"HOME": str(tmp_path), "PATH": "", "LANG": "C.UTF-8", "PYTHONPATH": str(documented)}
    done = subprocess.run(
        [*command, "tests"], cwd=documented, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_offline_judge_refuses_the_prompts_of_a_plug_in(documented: Path, tmp_path: Path) -> None:
    done = run(documented, tmp_path, "learn", LABELLED, *SCALE, "--method", "toy", "--judge", "embedded")
    assert done.code == 4
    assert "The offline judge cannot answer 'toy/rate' prompts." in done.err


def test_it_takes_settings_and_joins_other_methods(site: Path, tmp_path: Path) -> None:
    together = ("--method", "toy", "--method", "direct", "--judge", "toyjudge:x", "--set", "toy.step=0.25")
    learned = run(site, tmp_path, "learn", LABELLED, *SCALE, *together, "--name", "both", "--json")
    assert learned.code == 0, learned.err
    shown = run(site, tmp_path, "show", "both", "--json")
    assert shown.json["provenance"]["settings"]["toy"] == {"step": 0.25}


def test_without_the_package_a_rubric_says_which_method_is_missing(site: Path, learned: Path) -> None:
    scored = run(None, learned, "score", HELDOUT, "--rubric", "toy", "--judge", "embedded")
    assert scored.code == 2
    assert "error: The method 'toy' is not installed." in scored.err


def test_a_method_that_cannot_be_loaded_is_named_with_its_package(site: Path, tmp_path: Path) -> None:
    done = run(site, tmp_path, "learn", LABELLED, *SCALE, "--method", "broken", "--judge", "embedded")
    assert done.code == 2
    assert "The method 'broken' of the package rubriclab-toy 1.0 cannot be loaded: AttributeError" in done.err


def test_a_package_cannot_replace_a_method_that_is_built_in(site: Path, tmp_path: Path) -> None:
    done = run(site, tmp_path, "learn", LABELLED, *SCALE, "--method", "hypoeval", "--judge", "embedded", "--dry-run")
    assert done.code == 0, done.err


def test_a_fault_of_a_plug_in_is_no_bug_of_rubriclab(site: Path, tmp_path: Path) -> None:
    crash = ("--method", "toy", "--judge", "toyjudge:crash", "--name", "toy")
    done = run(site, tmp_path, "learn", LABELLED, *SCALE, *crash)
    assert done.code == 2, done.err
    assert "The judge 'toyjudge' of the package rubriclab-toy 1.0 raised ZeroDivisionError" in done.err

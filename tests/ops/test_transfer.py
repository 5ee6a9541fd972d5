"""The recommended way to use a rubric elsewhere, and a rubric asked of another judge than it was fitted to."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from commands import HELDOUT, LABELLED, Commands
from drift_samples import COHERENCE, ONE_TO_FIVE, version
from target_samples import place

from rubriclab.data.readers import read
from rubriclab.judges.cache import Recording
from rubriclab.judges.replies import Reply
from rubriclab.learning.adaptation import rate_by_version
from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.methods.sources import load_findings
from rubriclab.models.text import Example, Scale
from rubriclab.models.version import Action, RecordedText, TrainingRecord
from rubriclab.ops.transfer import Target, outside_training_range, prepare_relearning, recommend, text_errors
from rubriclab.ops.workspace import Workspace
from rubriclab.prompts.prompt import Prompt
from rubriclab.store.store import open_store

LABELS = np.array([1.0, 2, 3, 4, 5, 1, 2, 3, 4, 5])
GROUPS = [f"g{number // 2}" for number in range(10)]
PASS_OR_FAIL = Scale(low=0, high=1, whole=False, names=("fail", "pass"))


def errors_of(scores: Mapping[str, np.ndarray], labels: np.ndarray = LABELS, scale: Scale = ONE_TO_FIVE) -> Any:
    return {action: text_errors(each, labels, scale, scale) for action, each in scores.items()}


def recommended(**scores: np.ndarray) -> Action:
    return recommend(errors_of(scores), LABELS, GROUPS, "reuse")[0]


def test_the_way_with_the_smallest_error_is_recommended() -> None:
    better = {"recalibrate": LABELS + 0.5, "relearn": LABELS + 0.2}
    assert recommended(reuse=LABELS + 1, **better) == "relearn"
    assert recommended(reuse=LABELS + 0.1, **better) == "reuse"
    # Of equal ways, the cheapest.
    assert recommended(reuse=LABELS + 1, recalibrate=LABELS + 0.5, relearn=LABELS - 0.5) == "recalibrate"


def test_decisions_are_recommended_by_brier_score_without_ties() -> None:
    labels = np.array([0.0, 1, 0.5, 1, 0] * 2)
    # Without ties, the mean absolute errors are 0.125 and 0.3, the Brier scores 0.125 and 0.09.
    certain, careful = np.abs(labels - np.tile([1.0, 0, 0, 0, 0], 2)), np.abs(labels - 0.3)
    certain[5:] = labels[5:]
    scores = {"reuse": certain, "recalibrate": careful}
    chosen, gains, _ = recommend(errors_of(scores, labels, PASS_OR_FAIL), labels, GROUPS, "reuse")
    assert chosen == "recalibrate"
    assert gains[chosen].value == pytest.approx(0.035)


def test_the_gain_is_the_mean_difference_of_errors_in_points_with_students_interval_over_groups() -> None:
    wider = Scale(low=0, high=8, whole=True)
    assert text_errors(LABELS + 1, LABELS, ONE_TO_FIVE, wider).tolist() == [2.0] * len(LABELS)
    other = LABELS + np.tile([0.5, 0.0], 5)
    other[:2] = LABELS[:2] + 1
    _, gains, _ = recommend(errors_of({"reuse": LABELS + 1, "recalibrate": other}), LABELS, GROUPS, "reuse")
    means = np.array([0, 0.75, 0.75, 0.75, 0.75])
    margin = 2.776445 * means.std(ddof=1) / np.sqrt(5)
    assert gains["recalibrate"].value == pytest.approx(means.mean())
    assert gains["recalibrate"].low == pytest.approx(means.mean() - margin, abs=1e-5)


def test_too_few_groups_or_equal_labels_show_no_difference() -> None:
    cases: Any = ((LABELS, ["a", "b"] * 5, "reuse"), (np.full(10, 3.0), GROUPS, "recalibrate"))
    for labels, groups, default in cases:
        found = errors_of({"reuse": labels + 1, "recalibrate": labels}, labels)
        assert recommend(found, labels, groups, default)[::2] == (default, True)


def test_the_share_outside_of_the_training_range_counts_texts_rated_lower_or_higher_than_any_training_text() -> None:
    at = place(lambda values: values[:, 0])
    rows = np.argsort(at.table.values[:, 0])[10:30]
    cells = tuple(at.rated.cells[row] for row in rows)
    texts = tuple(RecordedText(id=f"s{row}", group="g", output="Text.", label=1.0) for row in rows)
    record = TrainingRecord(texts=texts, candidates=at.rated.candidates, cells=cells)
    raw = np.array([(row - 3).mean() for row in at.table.values])
    known = raw[rows]
    expected = np.mean((raw < known.min()) | (raw > known.max()))
    assert 0 < expected < 1
    share = outside_training_range(at.rubric, record, at.rated)
    assert share.value == pytest.approx(expected)
    assert outside_training_range(at.rubric, None, at.rated) is None
    bare = at.rubric.model_copy(update={"aggregation": None})
    assert outside_training_range(bare, record, at.rated) is None


OTHER = "recorded:other.jsonl"
CARRY = ("transfer", "both", "--to", "target.jsonl", "--judge", OTHER, "--no-relearn")


class Sparing:
    """A judge that gives 1, 2 or 3 points of 5: the more of a text's words its source has, the more points."""

    name = "sparing"
    identity: Mapping[str, Any] = {"model": "sparing"}

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the same score for every criterion that is asked about."""
        share = shared(prompt.fields)
        entry = {"reason": "Counted.", "score": 1 + (share > 0.8) + (share > 0.9)}
        found = {"reasoning": "Counted.", "score": entry["score"]}
        if prompt.name == "hypoeval/rate_together":
            names = [criterion["id"] for criterion in prompt.fields["criteria"]]
            return Reply(json.dumps(dict.fromkeys(names, entry)), self.name)
        if prompt.name == "single_call/judge":
            names = [each["id"] for each in (*prompt.fields["criteria"], *prompt.fields["overall"])]
            return Reply(json.dumps(dict.fromkeys(names, entry)), self.name)
        assert prompt.name in ("hypoeval/rate", "direct/rate")
        return Reply(json.dumps(found), self.name)


def shared(fields: Mapping[str, Any]) -> float:
    said, source = (re.findall(r"\w+", fields[name].lower()) for name in ("output", "source"))
    return sum(word in source for word in said) / len(said)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """The command line with both@1, fitted to the embedded judge, and another judge's answers to all that it asks."""
    commands = Commands(tmp_path_factory.mktemp("elsewhere"), RUBRICLAB_STORE="store.db")
    little = ("--set", "hypoeval.k=3", "--set", "hypoeval.bank_size=6", "--set", "joint.repeats=1")
    options = ("--task", "summarization", "--aspect", "coherence", "--scale", "1:5", "--name", "both", *little)
    assert commands("learn", LABELLED, *options, "--method", "hypoeval", "--method", "direct").code == 0
    lines = HELDOUT.read_text("utf-8").splitlines(keepends=True)[:48]
    (commands.folder / "target.jsonl").write_text("".join(lines))
    texts = [row for row in read(str(commands.folder / "target.jsonl")) if isinstance(row, Example)]
    with open_store(commands.folder / "store.db") as store:
        rubric = store.load("both").rubric
    asyncio.run(rate_by_version(rubric, "both@1", texts, Recording(Sparing(), commands.folder / "other.jsonl")))
    return commands


def test_the_saved_version_is_calibrated_for_the_judge_that_was_asked(elsewhere: Commands) -> None:
    done = elsewhere(*CARRY, "--save", "--action", "recalibrate", "--name", "moved")
    assert 'both@1 is calibrated for "embedded"; with another judge its agreement may differ: ' in done.err
    assert "`rubriclab transfer both@1 --to LABELLED --judge MODEL" in done.err
    assert f"saved as moved@1, whose parent is both@1; calibrated for {OTHER}" in done.out
    made = json.loads(elsewhere("export", "moved").out)["provenance"]
    assert (made["judge"], made["generator"], made["transfer"]["judge"]) == (OTHER, "embedded", "embedded")
    assert re.search(r"48 texts of 8 groups, after \d+ groups of its\s+parent", elsewhere("show", "moved").out)
    scored = elsewhere("score", "target.jsonl", "--rubric", "moved")
    assert f'judge: "{OTHER}", as moved@1 was learned with it' in scored.err
    elsewhere(*CARRY, "--save", "--action", "reuse", "--name", "wide", "--scale", "0:20")
    assert "Note: the scores use only 1 to 5 of the given scale 0 to 20." in elsewhere("show", "wide").out
    lines = (elsewhere.folder / "target.jsonl").read_text("utf-8").splitlines()
    labels = [json.loads(line)["scores"]["coherence"] for line in lines]
    before = elsewhere("score", "target.jsonl", "--rubric", "both", "--judge", OTHER).rows
    assert off(scored.rows, labels) < off(before, labels) / 2


def test_free_baselines_of_a_transfer_are_those_of_an_evaluation_of_the_same_texts(elsewhere: Commands) -> None:
    found = elsewhere(*CARRY, "--json").json
    evaluated = elsewhere("evaluate", "target.jsonl", "--rubric", "both", "--judge", OTHER, "--json").json["results"]
    level = found["actions"][0]["level"]
    of_level = {row["evaluator"]: row for row in evaluated if row["level"] == level}
    assert len(found["baselines"]) == 3
    for each in found["baselines"]:
        assert each["pearson"]["value"] == pytest.approx(of_level[each["name"]]["pearson"]["value"], abs=1e-4)
    assert found["mean_error"]["low"] < found["mean_error"]["value"] < found["mean_error"]["high"]


def off(rows: list[dict[str, Any]], labels: list[float]) -> float:
    return sum(float(row["score"] - label) ** 2 for row, label in zip(rows, labels, strict=True)) / len(labels)


@pytest.mark.parametrize("without", [(), ("summeval",)])
def test_findings_that_a_version_was_learned_without_are_left_out_when_it_is_learned_again(
    without: tuple[str, ...],
) -> None:
    learned = version({"order": 1.0})
    settings = {"hypoeval": HypoEvalSettings().model_dump(mode="json")}
    provenance = learned.provenance.model_copy(update={"settings": settings, "literature_without": without})
    target = Target("target.jsonl", (), (), COHERENCE, ONE_TO_FIVE)
    training = prepare_relearning(replace(learned, provenance=provenance), target, Workspace())
    findings = training.plans[0].training_input.findings
    marked = {name for each in findings for name in each.benchmarks}
    assert ("summeval" in marked) is not bool(without)
    assert findings == load_findings("summarization", "coherence", excluded=without)

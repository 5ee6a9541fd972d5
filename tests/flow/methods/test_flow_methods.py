"""Each method but HypoEval from labels to figures, through the command line and a server that counts."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from commands import Commands
from flow_server import MODEL
from method_flows import BY_FACTS, LEARNED_FROM, RECORDING, SCORED, SCORING, Run, every_method, learning, some_texts
from server import RunningServer

from rubriclab.stats.correlation import spearman

LEARNING = {
    # Other sides and verdicts for two sub-dimensions, finer points for three seeds, and what is left doubtful.
    "checkeval": lambda asked: 2 + 3 + 2 < asked - 2 * LEARNED_FROM <= 2 + 3 + 2 + 15,
    # Two explanations and all texts by each; two rewritings, each with the other half's texts; a last one, with all.
    "seeval": lambda asked: asked == 2 * (1 + LEARNED_FROM) + 2 * (1 + LEARNED_FROM // 2) + 1 + LEARNED_FROM,
    "direct": lambda asked: asked == LEARNED_FROM,
    "geval": lambda asked: asked == 1 + LEARNED_FROM,
    # A proposal, and the facts of two sources besides.
    "seal": lambda asked: asked == 1 + BY_FACTS * LEARNED_FROM + 2,
    "dcr": lambda asked: asked == 2 * LEARNED_FROM,
}
# Sub-dimensions; SEAL keeps the one that it proposed.
SIDES = {"checkeval": 2, "seal": 2}


@every_method
def test_learning_asks_what_the_method_takes_and_nothing_twice(run: Run) -> None:
    assert LEARNING[run.method](run.learning)
    assert run.repeated == 0
    assert (run.result["calls"]["made"], run.result["calls"]["failed"]) == (run.learning, 0)
    assert (run.result["rubric"], run.result["new"]) == ("news@1", True)
    assert run.result["agreement"]["spearman"]["value"] > 0


@every_method
def test_a_dry_run_asks_nothing_and_states_about_as_many_calls_as_learning_takes(
    run: Run, provider: RunningServer, asking: Commands
) -> None:
    most = asking(*learning(asking, run.method, "--dry-run")).json["estimate"].values()
    # This server reports probabilities, so that one call of G-Eval's 20 is enough.
    expected = {"geval": 20}.get(run.method, 2) * run.learning
    assert run.learning / 2 <= sum(row["calls"] for row in most) <= expected
    assert provider.requests.total() == 0


@every_method
def test_scoring_asks_what_the_method_takes(run: Run) -> None:
    assert run.scoring == SCORING[run.method]
    assert len({criterion["trait"] for criterion in run.criteria}) == SIDES.get(run.method, 1)
    assert [row["judge"] for row in run.scores] == [MODEL] * SCORED
    assert all(row["unscored"] is None and 1 <= row["score"] <= 5 for row in run.scores)
    assert len({row["score"] for row in run.scores}) > 1
    names = [criterion["id"] for criterion in run.criteria]
    assert all([criterion["id"] for criterion in row["criteria"]] == names for row in run.scores)


@every_method
def test_evaluation_asks_nothing_about_texts_that_are_scored(
    run: Run, provider: RunningServer, learned: Commands
) -> None:
    done = learned("evaluate", "-", "--rubric", "news", "--level", "dataset", "--json", stdin=some_texts())
    ours, *baselines = done.json["results"]
    assert (ours["evaluator"], ours["n"], ours["unscored"]) == ("news@1", SCORED, 0)
    labels = [json.loads(line)["scores"]["coherence"] for line in some_texts().splitlines()]
    scores = [row["score"] for row in run.scores]
    assert ours["spearman"]["value"] == pytest.approx(spearman(np.array(scores), np.array(labels)))
    assert baselines
    assert provider.requests.total() == 0


@every_method
def test_learning_again_from_the_texts_in_another_order_asks_nothing_and_makes_no_new_version(
    run: Run, provider: RunningServer, learned: Commands
) -> None:
    command = learning(learned, run.method)
    file = learned.folder / str(command[1])
    file.write_bytes(b"".join(reversed(file.read_bytes().splitlines(keepends=True))))
    again = learned(*command).json
    assert (again["rubric"], again["new"], again["digest"]) == ("news@1", False, run.digest)
    assert provider.requests.total() == 0


@every_method
def test_a_recording_replays_learning_and_scoring_without_server_and_key(run: Run, rubriclab: Commands) -> None:
    shutil.copy(run.folder / RECORDING, rubriclab.folder)
    replay = ("--judge", f"recorded:{RECORDING}")
    assert rubriclab(*learning(rubriclab, run.method, *replay)).json["digest"] == run.digest
    scored = rubriclab("score", "-", "--rubric", "news", *replay, stdin=some_texts()).rows
    assert scored == [{**row, "judge": f"recorded:{RECORDING}"} for row in run.scores]


@every_method
def test_an_exported_rubric_scores_alike_where_it_is_imported(run: Run, rubriclab: Commands) -> None:
    shutil.copy(run.folder / RECORDING, rubriclab.folder)
    assert rubriclab("import", "-", stdin=run.pack.encode()).code == 0
    scored = rubriclab("score", "-", "--rubric", "news", "--judge", f"recorded:{RECORDING}", stdin=some_texts()).rows
    assert [row["criteria"] for row in scored] == [row["criteria"] for row in run.scores]
    assert [row["score"] for row in scored] == [row["score"] for row in run.scores]

"""Inspect AI, whose tasks run with its own mock model."""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from pytest_projects import GOOD_AND_BAD, NO_RATING, TEXTS, Parity, check_details, run_example

from rubriclab import Lab

# Inspect's mock model counts tokens with a table that it would fetch from the network; litellm has a copy.
os.environ["TIKTOKEN_CACHE_DIR"] = f"{find_spec('litellm').submodule_search_locations[0]}/litellm_core_utils/tokenizers"
pytest.importorskip("inspect_ai", reason="needs Inspect AI: run make test-integrations")

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ModelOutput, get_model

from rubriclab.integrations.inspect_ai import row_of, rubric_scorer

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def collected_streams() -> Iterator[None]:
    """Inspect leaves streams of a failed task open; the warning would fail a later test."""
    yield
    gc.collect()


def run(texts: list[dict[str, Any]], scorer: Any, **options: Any) -> EvalLog:
    """Return the log of a task whose model answers with the texts, read from its file."""
    samples = [Sample(id=text["id"], input=text["source"]) for text in texts]
    outputs = [ModelOutput.from_content("mockllm/model", text["output"]) for text in texts]
    model = get_model("mockllm/model", custom_outputs=outputs)
    task = Task(dataset=samples, scorer=scorer)
    (log,) = inspect_ai.eval(task, model, max_samples=1, display="none", log_dir="logs", **options)
    return read_eval_log(log.location)


def scores_of(log: EvalLog) -> dict[Any, Any]:
    return {sample.id: sample.scores["rubric_scorer"] for sample in log.samples}


def metrics_of(log: EvalLog) -> dict[str, Any]:
    return {name: metric.value for name, metric in log.results.scores[0].metrics.items()}


def test_scores_are_those_of_the_command_and_no_text_is_asked_about_twice(store: Path, parity: Parity) -> None:
    rows = parity.rows
    log = run(TEXTS, rubric_scorer("remote@1", store=str(store)))
    assert log.status == "success"
    found = scores_of(log)
    parity.check("Inspect AI", "inspect-ai", {name: score.value for name, score in found.items()})
    for name, score in found.items():
        row, metadata = rows[name], score.metadata
        assert score.answer == next(text["output"] for text in TEXTS if text["id"] == name)
        assert metadata["judge"] == "openai/fake"
        check_details(metadata, score.explanation, row)
    values = [row["score"] for row in rows.values()]
    metrics, mean = metrics_of(log), sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    assert metrics["mean"] == pytest.approx(mean)
    assert metrics["stderr"] == pytest.approx(deviation / math.sqrt(len(values)))


def test_a_text_without_a_score_is_unscored_with_the_reason(store: Path) -> None:
    log = run([*GOOD_AND_BAD, {**TEXTS[2], "output": " "}], rubric_scorer("remote", store=str(store)))
    good, bad, faulty = scores_of(log).values()
    assert (math.isnan(bad.value), bad.reason, math.isnan(faulty.value), faulty.reason) == (
        True,
        "grader_failed",
        True,
        "scoring_failed",
    )
    assert NO_RATING in bad.explanation
    assert "output" in faulty.explanation
    (result,) = log.results.scores
    assert (result.scored_samples, result.unscored_samples) == (1, 2)
    assert metrics_of(log)["mean"] == good.value


def test_the_row_is_that_of_the_sample_or_of_a_function(store: Path) -> None:
    seen: list[Any] = []

    def row(state: Any, target: Any) -> dict[str, Any]:
        seen.append(row_of(state, target))
        return {"output": "It rained. So they stayed in.", "source": "Rain."}

    with Lab(store, judge="embedded", progress=None).scorer("planted") as opened:
        sample = Sample(id=7, input="I", target="T", metadata={"context": "C", "group": "g", "other": "x"})
        model = get_model("mockllm/model", custom_outputs=[ModelOutput.from_content("mockllm/model", "O")])
        task = Task(dataset=[sample], scorer=rubric_scorer(opened, row=row))
        (log,) = inspect_ai.eval(task, model, display="none", log_dir="logs")
        expected = opened("It rained. So they stayed in.", source="Rain.").score
    assert scores_of(log)[7].value == expected
    assert seen == [{"output": "O", "source": "I", "id": "7", "reference": "T", "context": "C", "group": "g"}]


def test_the_example_of_the_documentation_works(store: Path) -> None:
    names = run_example("inspect-ai", "bridge.py")
    (log,) = inspect_ai.eval(names["bridge"](), "mockllm/model", display="none", log_dir="logs")
    assert (log.status, len(log.samples)) == ("success", 1)

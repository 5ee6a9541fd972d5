"""MLflow, with its own evaluation and tracking store in a local SQLite database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_projects import GOOD_AND_BAD, NO_RATING, TEXTS, Parity, run_example

os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
mlflow = pytest.importorskip("mlflow", reason="needs MLflow: run make test-integrations")

from rubriclab.integrations.mlflow import MLflowScorer  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("answers", f"file://{folder}/artifacts"))
    yield folder
    mlflow.set_tracking_uri(None)


def items(texts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"inputs": {"source": text["source"], "id": text["id"]}, "outputs": text["output"]} for text in texts]


def by_id(result: Any, column: str) -> dict[str, Any]:
    frame = result.result_df
    return {row["request"]["id"]: row[column] for _, row in frame.iterrows()}


def feedbacks(result: Any, name: str) -> dict[str, dict[str, Any]]:
    """Return what was logged with the traces under a name, by id of the text."""
    found = {}
    for _, row in result.result_df.iterrows():
        (logged,) = (each for each in row["assessments"] if each["assessment_name"] == name)
        found[row["request"]["id"]] = logged
    return found


def test_scores_are_those_of_the_command_and_no_text_is_asked_about_twice(store: Path, parity: Parity) -> None:
    rows = parity.rows
    with MLflowScorer("remote@1", store=store, at_least=3) as remote:
        result = mlflow.genai.evaluate(data=items(TEXTS), scorers=[remote])
    parity.check("MLflow", "mlflow", by_id(result, "remote/value"))
    mean = sum(row["score"] for row in rows.values()) / len(rows)
    assert result.metrics["remote/mean"] == pytest.approx(mean, abs=1e-12)
    assert result.passed == all(row["score"] >= 3 for row in rows.values())
    for name, logged in feedbacks(result, "remote").items():
        row, metadata = rows[name], logged["metadata"]
        assert logged["source"] == {"source_type": "LLM_JUDGE", "source_id": "openai/fake"}
        assert [metadata["rubriclab.low"], metadata["rubriclab.high"]] == list(map(str, row["interval"]))
        for criterion in row["criteria"]:
            assert metadata[criterion["id"]] == str(criterion["score"])
            assert metadata[f"{criterion['id']}.contribution"] == str(criterion["contribution"])
            assert metadata[f"{criterion['id']}.reason"] == criterion["reason"]
            assert criterion["reason"] in logged["rationale"]


def test_a_text_without_a_score_has_an_error_and_does_not_count_in_the_mean(store: Path) -> None:
    with MLflowScorer("remote", store=store, name="coherence") as remote:
        result = mlflow.genai.evaluate(data=items(GOOD_AND_BAD), scorers=[remote])
    (good, bad) = (feedbacks(result, "coherence")[text["id"]]["feedback"] for text in GOOD_AND_BAD)
    assert result.metrics == {"coherence/mean": good["value"]}
    assert (bad.get("value"), bad["error"]["error_code"]) == (None, "UNSCORED")
    assert NO_RATING in bad["error"]["error_message"]


def test_the_example_of_the_documentation_works(store: Path) -> None:
    assert run_example("mlflow", "evaluate.py")["result"].metrics["planted/mean"] > 1

"""MLflow, with its own evaluation, tracking store and model registry in a local SQLite database."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import CHECKOUT
from documentation import example_files
from parity_table import same_scores
from pytest_projects import GOOD, TEXTS, UNSCORABLE
from server import RunningServer

from rubriclab import Lab
from rubriclab.errors import DataError, NotConfirmed, PackError, SettingsError

os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
mlflow = pytest.importorskip("mlflow", reason="needs MLflow: run make test-integrations")

from rubriclab.integrations.mlflow import MLflowScorer, load_version, log_version, row_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
PAGE = CHECKOUT / "docs" / "integrations" / "mlflow.md"


@pytest.fixture(scope="module", autouse=True)
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a tracking store."""
    folder = tmp_path_factory.mktemp("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("answers", f"file://{folder}/artifacts"))
    yield folder
    mlflow.set_tracking_uri(None)


def items(texts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return texts as MLflow takes them."""
    return [{"inputs": {"source": text["source"], "id": text["id"]}, "outputs": text["output"]} for text in texts]


def by_id(result: Any, column: str) -> dict[str, Any]:
    """Return a column of the results by id of the text."""
    frame = result.result_df
    return {row["request"]["id"]: row[column] for _, row in frame.iterrows()}


def feedbacks(result: Any, name: str) -> dict[str, dict[str, Any]]:
    """Return what was logged with the traces under a name, by id of the text."""
    found = {}
    for _, row in result.result_df.iterrows():
        (logged,) = (each for each in row["assessments"] if each["assessment_name"] == name)
        found[row["request"]["id"]] = logged
    return found


def test_scores_are_those_of_the_command_and_no_text_is_asked_about_twice(
    store: Path, command_rows: Callable[[], dict[str, Any]], server: RunningServer
) -> None:
    rows = command_rows()
    asked = len(server.bodies)
    with MLflowScorer("remote@1", store=store, at_least=3) as remote:
        result = mlflow.genai.evaluate(data=items(TEXTS), scorers=[remote])
    assert len(server.bodies) == asked > 0
    expected = {name: row["score"] for name, row in rows.items()}
    same_scores("MLflow", "mlflow", by_id(result, "remote/value"), expected)
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
    texts = [{**TEXTS[0], "output": f"It is {GOOD}."}, {**TEXTS[1], "output": f"It is {UNSCORABLE}."}]
    with MLflowScorer("remote", store=store, name="coherence") as remote:
        result = mlflow.genai.evaluate(data=items(texts), scorers=[remote])
    (good, bad) = (feedbacks(result, "coherence")[text["id"]]["feedback"] for text in texts)
    assert result.metrics == {"coherence/mean": good["value"]}
    assert (bad.get("value"), bad["error"]["error_code"]) == (None, "UNSCORED")
    assert "criteria without a usable rating" in bad["error"]["error_message"]


def test_a_cap_ends_in_errors_that_name_it_and_not_in_scores(store: Path, server: RunningServer) -> None:
    with MLflowScorer("remote", store=store, max_calls=2) as remote:
        result = mlflow.genai.evaluate(data=items(TEXTS[:4]), scorers=[remote])
    assert len(server.bodies) <= 2
    errors = [logged["feedback"].get("error") or {} for logged in feedbacks(result, "remote").values()]
    assert any("The cap of 2 calls is reached" in error.get("error_message", "") for error in errors)


def test_the_row_of_a_text_is_that_of_its_inputs_or_of_a_function() -> None:
    expected = {"expected_response": "A reference."}
    assert row_of(inputs={"question": "Why?"}, outputs="So.", expectations=expected) == {
        "source": "Why?",
        "reference": "A reference.",
        "output": "So.",
    }
    named = row_of(inputs={"source": "S", "style": "x"}, outputs={"output": "O", "n": 1})
    assert named == {"source": "S", "output": "O"}
    with pytest.raises(DataError, match=r"several fields \(a, b\), and none of them is named 'source'"):
        row_of(inputs={"a": "1", "b": "2"}, outputs="O")
    with pytest.raises(DataError, match="'outputs' has several fields"):
        row_of(inputs={}, outputs={"a": "1", "b": "2"})


def test_faulty_settings_are_named_before_anything_is_scored(store: Path) -> None:
    with pytest.raises(SettingsError, match="The threshold 9 is not on the scale of remote@1, 1 to 5"):
        MLflowScorer("remote", store=store, at_least=9)
    with pytest.raises(SettingsError, match="max_call"):
        MLflowScorer("remote", store=store, max_call=2)


def test_a_logged_version_has_its_agreement_and_verdict(store: Path) -> None:
    version = Lab(store).load("planted@1")
    logged = log_version("planted", store=store)
    run = mlflow.get_run(logged.run_id)
    validation = version.provenance.validation
    assert run.data.tags["rubriclab.verdict"] == validation.outcome
    assert run.data.tags["rubriclab.version"] == "planted@1"
    assert run.data.metrics["held_out/pearson"] == validation.evaluators[0].pearson.value
    assert run.data.metrics["held_out/pearson_low"] == validation.evaluators[0].pearson.low
    assert run.data.metrics["difference/pearson"] == validation.verdicts[0].difference.value
    with mlflow.start_run() as active:
        assert log_version("alone@1", store=store).run_id == active.info.run_id
    tags = mlflow.get_run(active.info.run_id).data.tags
    assert tags["rubriclab.verdict"] == "not compared"


def test_a_version_comes_back_from_a_run_and_from_the_registry_unchanged_and_unconfirmed(
    store: Path, tmp_path: Path
) -> None:
    first = log_version("planted", store=store, registered_model="coherence")
    second = log_version("remote@1", store=store, registered_model="coherence")
    assert (first.registered, second.registered) == ("models:/coherence/1", "models:/coherence/2")
    mlflow.MlflowClient().set_registered_model_alias("coherence", "production", "2")
    lab = Lab(store)
    by_alias = "models:/coherence@production"
    for uri, name in ((first.uri, "planted"), (first.registered, "planted"), (by_alias, "remote")):
        loaded = load_version(uri, store=tmp_path / "other.db")
        assert (loaded.ref, loaded.digest) == (f"{name}@1", lab.load(f"{name}@1").digest)
        assert loaded.imported
    with pytest.raises(NotConfirmed):
        MLflowScorer("remote@1", store=tmp_path / "other.db")


def test_what_is_no_single_pack_is_not_loaded(store: Path, tmp_path: Path) -> None:
    with mlflow.start_run() as run:
        for name in ("planted", "alone"):
            log_version(f"{name}@1", store=store)
        mlflow.log_text("{}", "other/pack.json")
        mlflow.log_text("none", "none/pack.txt")
    for path, message in (("rubriclab", "2 files of JSON"), ("other", "is no pack|format"), ("none", "no pack")):
        with pytest.raises(PackError, match=message):
            load_version(f"runs:/{run.info.run_id}/{path}", store=tmp_path / "other.db")


def test_the_example_of_the_documentation_works(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = example_files(PAGE)["evaluate.py"]
    monkeypatch.chdir(store.parent)
    names: dict[str, Any] = {}
    exec(example.replace("rubrics.db", "store.db").replace("news-coherence", "planted"), names)
    assert names["result"].metrics["planted/mean"] > 1
    assert names["loaded"].digest == Lab(store).load("planted").digest


def test_the_function_of_the_documentation_makes_the_row_of_a_text(store: Path) -> None:
    names: dict[str, Any] = {"MLflowScorer": partial(MLflowScorer, store=store)}
    exec(example_files(PAGE)["row.py"].replace("news-coherence", "planted"), names)
    outputs = {"choices": [{"message": {"content": TEXTS[0]["output"]}}]}
    with names["scorer"] as scorer:
        feedback = scorer(inputs={"article": TEXTS[0]["source"]}, outputs=outputs)
    assert isinstance(feedback.value, float)

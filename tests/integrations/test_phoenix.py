"""Phoenix, with its own `run_experiment`, without a network: the data set is what its server would answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_projects import GOOD_AND_BAD, NO_RATING, TEXTS, Parity, check_details, run_example

pytest.importorskip("phoenix.client", reason="needs Phoenix: run make test-integrations")

from phoenix.client import Client
from phoenix.client.experiments import run_experiment

from rubriclab.integrations.phoenix import PhoenixEvaluator, rows

pytestmark = pytest.mark.filterwarnings("ignore")
NOW = "2026-01-01T00:00:00+00:00"


def client_with(texts: list[dict[str, Any]]) -> Client:
    examples = [
        {
            "id": text["id"],
            "node_id": text["id"],
            "input": {"article": text["source"]},
            "output": {},
            "metadata": {"id": text["id"], "answer": text["output"]},
            "updated_at": NOW,
        }
        for text in texts
    ]
    about = {"id": "d", "name": "texts", "description": None, "metadata": {}, "created_at": NOW, "updated_at": NOW}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/datasets":
            return httpx.Response(200, json={"data": [about], "next_cursor": None})
        if request.url.path == "/v1/datasets/d":
            return httpx.Response(200, json={"data": about})
        data = {"dataset_id": "d", "version_id": "v", "examples": examples, "filtered_splits": []}
        return httpx.Response(200, json={"data": data})

    return Client(http_client=httpx.Client(base_url="http://phoenix", transport=httpx.MockTransport(answer)))


def run(texts: list[dict[str, Any]], evaluator: PhoenixEvaluator) -> dict[str, Any]:
    """Return the evaluation runs of Phoenix's `run_experiment` by id of the text."""

    def answer(metadata: Any) -> str:
        return str(metadata["answer"])

    client = client_with(texts)
    dataset = client.datasets.get_dataset(dataset="d")
    done = run_experiment(
        dataset=dataset, task=answer, evaluators=[evaluator], dry_run=len(texts), client=client, retries=0
    )
    names = {task["id"]: task["dataset_example_id"] for task in done["task_runs"]}
    return {names[each.experiment_run_id]: each for each in done["evaluation_runs"]}


def test_scores_are_those_of_the_command_and_no_text_is_asked_about_twice(store: Path, parity: Parity) -> None:
    with PhoenixEvaluator("remote@1", store=store) as evaluator:
        found = run(TEXTS, evaluator)
    parity.check("Phoenix", "arize-phoenix-client", {name: each.result["score"] for name, each in found.items()})
    for name, each in found.items():
        assert (each.name, each.annotator_kind) == ("remote", "LLM")
        check_details(each.result["metadata"], each.result["explanation"], parity.rows[name])


async def test_a_text_without_a_score_has_no_number_but_the_reason(store: Path) -> None:
    with PhoenixEvaluator("remote", store=store) as evaluator:
        good, bad = (each.result for each in run(GOOD_AND_BAD, evaluator).values())
        again = await evaluator.async_evaluate(input=TEXTS[0]["source"], output=GOOD_AND_BAD[0]["output"])
    assert again == good
    assert "score" not in bad
    assert NO_RATING in bad["explanation"]


def span(name: str, source: Any, output: str, **attributes: str) -> dict[str, Any]:
    return {
        "name": "answer",
        "context": {"trace_id": "t", "span_id": name},
        "attributes": {"input.value": source, "output.value": output, **attributes},
    }


def said(about: str, person: str | None, result: dict[str, Any], **fields: Any) -> dict[str, Any]:
    given = {"name": "helpfulness", "annotator_kind": "HUMAN", "span_id": about, "result": result, "user_id": person}
    return {"id": "a", "created_at": NOW, "updated_at": NOW, "source": "APP", **given, **fields}


def test_annotations_of_people_label_the_spans() -> None:
    found = rows(
        [
            span("s1", '{"source": "It rained.", "group": "g"}', "Rain.", **{"input.mime_type": "application/json"}),
            span("s2", "It rained.", "No."),
        ],
        [
            said("s1", "anna", {"score": 2, "explanation": "short"}, updated_at="2026-01-03T00:00:00+00:00"),
            said("s1", "anna", {"score": 5}),
            said("s1", "ben", {"score": 4, "label": "good"}),
            said("s1", "anna", {"label": "good"}, name="tone"),
            said("s1", "anna", {"explanation": "a note"}),
            said("s1", None, {"score": 1}, annotator_kind="LLM"),
            said("s2", None, {"score": 1}),
            said("other", "anna", {"score": 1}),
        ],
    )
    labels = {"helpfulness": {"anna": 2.0, "ben": 4.0}, "tone": {"anna": "good"}}
    first = {"source": "It rained.", "group": "g", "output": "Rain.", "id": "s1"}
    assert found == [
        {**first, "annotations": labels, "reasons": {"helpfulness": {"anna": "short"}}},
        {"source": "It rained.", "output": "No.", "id": "s2", "annotations": {"helpfulness": {"unnamed-4": 1.0}}},
    ]


def test_the_example_of_the_documentation_works(store: Path) -> None:
    own = {"client = Client()\n": "", 'dataset="questions"': 'dataset="d"', "client=client": "client=client, dry_run=1"}
    names = run_example("phoenix", "experiment.py", own, client=client_with([{**TEXTS[0], "id": "1"}]))
    (evaluation,) = names["experiment"]["evaluation_runs"]
    assert isinstance(evaluation.result["score"], float)

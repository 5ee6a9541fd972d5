"""Langfuse, with its own `run_experiment`, without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_projects import GOOD_AND_BAD, NO_RATING, TEXTS, Parity, check_details, run_example

pytest.importorskip("langfuse", reason="needs Langfuse: run make test-integrations")

from langfuse import Langfuse
from langfuse.api import ObservationV2, ScoreV3
from langfuse.api.core.pydantic_utilities import parse_obj_as

from rubriclab.integrations.langfuse import LangfuseEvaluator, TextUnscored, rows

pytestmark = pytest.mark.filterwarnings("ignore")
NOW = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def client() -> Iterator[Langfuse]:
    """A client that sends nothing."""
    client = Langfuse(public_key="none", secret_key="none", base_url="http://127.0.0.1:9", tracing_enabled=False)
    yield client
    client.shutdown()


def run(texts: list[dict[str, Any]], evaluator: LangfuseEvaluator, client: Langfuse) -> dict[str, list[Any]]:
    """Return the evaluations of Langfuse's `run_experiment` by id of the text."""

    def answer(*, item: Any, **_other: Any) -> str:
        return str(item["metadata"]["answer"])

    data = [
        {"input": {"article": text["source"]}, "metadata": {"id": text["id"], "answer": text["output"]}}
        for text in texts
    ]
    result = client.run_experiment(name="texts", data=data, task=answer, evaluators=[evaluator])
    return {each.item["metadata"]["id"]: each.evaluations for each in result.item_results}


def test_scores_are_those_of_the_command_and_no_text_is_asked_about_twice(
    store: Path, parity: Parity, client: Langfuse
) -> None:
    with LangfuseEvaluator("remote@1", store=store) as evaluator:
        found = {name: each for name, (each,) in run(TEXTS, evaluator, client).items()}
    parity.check("Langfuse", "langfuse", {name: each.value for name, each in found.items()})
    for name, each in found.items():
        assert (each.name, each.data_type) == ("remote", "NUMERIC")
        check_details(each.metadata, each.comment, parity.rows[name])


async def test_a_text_without_a_score_has_no_evaluation_but_an_error(store: Path, client: Langfuse) -> None:
    with LangfuseEvaluator("remote", store=store) as evaluator:
        good, bad = run(GOOD_AND_BAD, evaluator, client).values()
        with pytest.raises(TextUnscored, match=NO_RATING):
            await evaluator(input="I", output=GOOD_AND_BAD[1]["output"])
    assert (len(good), bad) == (1, [])


def observation(name: str, trace: str, parent: str | None = None, **fields: Any) -> ObservationV2:
    about = {"id": name, "traceId": trace, "parentObservationId": parent, "startTime": NOW, "projectId": "p"}
    return parse_obj_as(ObservationV2, {"type": "SPAN", "environment": "e", **about, **fields})


def score(kind: str, about: str, value: Any, person: str | None = "anna", **fields: Any) -> Any:
    given = {"id": "s", "projectId": "p", "name": "helpfulness", "source": "ANNOTATION", "environment": "e"}
    when = {"timestamp": NOW, "createdAt": NOW, "updatedAt": NOW}
    about_what = {"value": value, "authorUserId": person, "subject": {"kind": kind, "id": about}}
    return parse_obj_as(ScoreV3, {"dataType": "NUMERIC", **given, **when, **about_what, **fields})


def test_scores_of_people_label_the_observations() -> None:
    found = rows(
        [
            observation("o1", "t1", input={"source": "It rained."}, output="Rain.", metadata={"group": "g"}),
            observation("o2", "t1", "o1", input="It rained.", output="No."),
        ],
        [
            score("trace", "t1", 2, comment="short", updatedAt="2026-01-03T00:00:00Z"),
            score("observation", "o1", 5),
            score("observation", "o1", 4, "ben"),
            score("observation", "o1", "good", name="tone", dataType="CATEGORICAL"),
            score("observation", "o1", "a note", name="note", dataType="TEXT"),
            score("observation", "o1", 1, source="EVAL"),
            score("observation", "o2", True, None, dataType="BOOLEAN"),
            score("session", "t1", 1),
            score("trace", "other", 1),
        ],
    )
    first = {"group": "g", "source": "It rained.", "output": "Rain.", "id": "o1"}
    labels = {"helpfulness": {"anna": 2.0, "ben": 4.0}, "tone": {"anna": "good"}}
    assert found == [
        {**first, "annotations": labels, "reasons": {"helpfulness": {"anna": "short"}}},
        {"source": "It rained.", "output": "No.", "id": "o2", "annotations": {"helpfulness": {"unnamed-4": 1.0}}},
    ]


def test_the_example_of_the_documentation_works(store: Path) -> None:
    names = run_example("langfuse", "experiment.py")
    ((evaluation,),) = [each.evaluations for each in names["result"].item_results]
    assert isinstance(evaluation.value, float)
    names["langfuse"].shutdown()

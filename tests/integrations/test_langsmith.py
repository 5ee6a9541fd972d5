"""LangSmith, with its own `evaluate` and `aevaluate`, without a network."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pytest_projects import GOOD_AND_BAD, NO_RATING, TEXTS, Parity, check_details, run_example

pytest.importorskip("langsmith", reason="needs LangSmith: run make test-integrations")

from langsmith import Client, evaluate
from langsmith.schemas import Example, Feedback, FeedbackSourceBase, Run

from rubriclab.integrations.langsmith import LangSmithEvaluator, row_of, rows

pytestmark = pytest.mark.filterwarnings("ignore")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def client() -> Client:
    """A client whose server does not exist; `aevaluate` would send traces even without `upload_results`."""
    return Client(api_url="http://127.0.0.1:9", api_key="none", tracing_sampling_rate=0.0)


def examples(texts: list[dict[str, Any]]) -> list[Example]:
    """Return texts as examples, with the output in the metadata for the target to return."""
    return [
        Example(id=uuid.uuid4(), inputs={"article": text["source"], "id": text["id"], "answer": text["output"]})
        for text in texts
    ]


def row_of_example(run: Any, example: Any) -> dict[str, Any]:
    return {"output": run.outputs["answer"], "source": example.inputs["article"], "id": example.inputs["id"]}


def answer(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"answer": inputs["answer"]}


def run(texts: list[dict[str, Any]], evaluator: LangSmithEvaluator, client: Client, **options: Any) -> dict[str, Any]:
    results = evaluate(
        answer, data=examples(texts), evaluators=[evaluator], client=client, upload_results=False, **options
    )
    return {
        result["example"].inputs["id"]: found for result in results for found in result["evaluation_results"]["results"]
    }


def test_scores_are_those_of_the_command_and_no_text_is_asked_about_twice(
    store: Path, parity: Parity, client: Client
) -> None:
    with LangSmithEvaluator("remote@1", store=store, row=row_of_example) as evaluator:
        found = run(TEXTS, evaluator, client, max_concurrency=4)
    parity.check("LangSmith", "langsmith", {name: result.score for name, result in found.items()})
    for name, result in found.items():
        assert (result.key, result.feedback_config) == ("remote", {"type": "continuous", "min": 1, "max": 5})
        check_details(result.metadata, result.comment, parity.rows[name])


def test_a_text_without_a_score_has_no_number_but_the_reason(store: Path, client: Client) -> None:
    with LangSmithEvaluator("remote", store=store, row=row_of_example) as evaluator:
        good, bad = run(GOOD_AND_BAD, evaluator, client).values()
    assert good.score is not None
    assert (bad.score, bad.extra["error"], NO_RATING in bad.comment) == (None, True, True)


def finished(inputs: dict[str, Any], outputs: dict[str, Any] | None, **fields: Any) -> Run:
    fields = {"id": uuid.uuid4(), **fields}
    return Run(
        name="n", start_time=NOW, run_type="chain", inputs=inputs, outputs=outputs, trace_id=fields["id"], **fields
    )


def test_the_fields_of_a_row_are_those_of_the_run_and_the_example() -> None:
    example = Example(
        id=uuid.uuid4(), inputs={"question": "Why?"}, outputs={"answer": "So."}, metadata={"group": "g", "n": 1}
    )
    done = finished({"question": "Why?"}, {"text": "Because."})
    expected = {"id": str(done.id), "output": "Because.", "source": "Why?", "reference": "So.", "group": "g"}
    assert row_of(done, example) == expected
    assert row_of(finished({"id": "7", "source": "S", "style": 1}, {"output": "O", "n": 2})) == {
        "id": "7",
        "source": "S",
        "output": "O",
    }


def said(
    about: Run, person: str | None, kind: str = "app", hour: int = 1, number: uuid.UUID | None = None, **fields: Any
) -> Feedback:
    when = NOW.replace(hour=hour)
    source = FeedbackSourceBase(type=kind, user_name=person, user_id=number)
    return Feedback(
        **{"key": "helpfulness", **fields},
        id=uuid.uuid4(),
        run_id=about.id,
        trace_id=about.id,
        created_at=when,
        modified_at=when,
        feedback_source=source,
    )


def test_feedback_of_people_labels_the_runs() -> None:
    example = uuid.uuid4()
    first, second, third = (
        finished({"source": "It rained."}, {"output": text}, reference_example_id=example)
        for text in ("It rained.", "Sun.", "No.")
    )
    found = rows(
        [first, second, third],
        [
            said(first, "ben", score=2, hour=3, comment="short"),
            said(first, "anna", score=4),
            said(first, "ben", score=5, hour=1),
            said(first, None, kind="model", score=1),
            said(first, "anna", key="tone", value="good"),
            said(first, "anna", correction={"text": "x"}),
            said(second, None, score=True),
        ],
    )
    group = str(example)
    assert found[0] == {
        "group": group,
        "id": str(first.id),
        "source": "It rained.",
        "output": "It rained.",
        "annotations": {"helpfulness": {"anna": 4.0, "ben": 2.0}, "tone": {"anna": "good"}},
        "reasons": {"helpfulness": {"ben": "short"}},
    }
    assert found[1]["annotations"] == {"helpfulness": {"unnamed-4": 1.0}}
    assert found[2] == {"group": group, "id": str(third.id), "source": "It rained.", "output": "No."}
    assert "annotations" in rows([first], [said(first, None, kind="api", score=1)], sources=("api",))[0]


def test_two_people_of_one_name_are_two_raters() -> None:
    run, ids = finished({"source": "It rained."}, {"output": "Rain."}), sorted([uuid.uuid4(), uuid.uuid4()])
    given = [said(run, "anna", number=number, score=score) for number, score in zip(ids, (1, 5), strict=True)]
    (row,) = rows([run], [*given, said(run, "ben", number=uuid.uuid4(), score=3)])
    assert row["annotations"] == {"helpfulness": {str(ids[0]): 1.0, str(ids[1]): 5.0, "ben": 3.0}}
    (row,) = rows([run], [said(run, "ben", number=ids[0], score=3), said(run, "ben", score=4, hour=2)])
    assert row["annotations"] == {"helpfulness": {"ben": 4.0}}


def test_the_example_of_the_documentation_works(store: Path) -> None:
    (result,) = run_example("langsmith", "evaluate.py")["results"]
    assert result["evaluation_results"]["results"][0].score is not None

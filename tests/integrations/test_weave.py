"""Weave, with its own `Evaluation`, without a network and without its server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest
from commands import CHECKOUT
from documentation import example_files
from parity_table import same_scores
from pytest_projects import GOOD, TEXTS, UNSCORABLE
from server import RunningServer

from rubriclab import Lab
from rubriclab.errors import DataError

os.environ["WEAVE_DISABLED"] = "true"
pytest.importorskip("weave", reason="needs Weave: run make test-integrations")

import weave
from weave.trace.call import Call
from weave.trace.feedback import Feedback
from weave.trace.weave_client import WeaveClient

from rubriclab.integrations.weave import WeaveScorer, row_of, rows

pytestmark = pytest.mark.filterwarnings("ignore")
PAGE = CHECKOUT / "docs" / "integrations" / "weave.md"


def run(texts: list[dict[str, Any]], scorer: WeaveScorer) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the scores of Weave's `Evaluation` by id of the text, and its summary."""
    answers = {text["id"]: text["output"] for text in texts}

    @weave.op
    def model(id: str) -> str:  # noqa: A002 (the name of the column)
        return str(answers[id])

    evaluation = weave.Evaluation(
        dataset=[{"id": text["id"], "article": text["source"]} for text in texts], scorers=[scorer]
    )
    results = asyncio.run(evaluation.get_eval_results(model))
    found = {text["id"]: row["scores"].get(scorer.name) for text, row in zip(texts, results.rows, strict=True)}
    return found, asyncio.run(evaluation.summarize(results))


def test_scores_are_those_of_the_command_and_no_text_is_asked_about_twice(
    store: Path, command_rows: Callable[[], dict[str, Any]], server: RunningServer
) -> None:
    expected = command_rows()
    asked = len(server.bodies)
    with WeaveScorer("remote@1", store=store) as scorer:
        found, summary = run(TEXTS, scorer)
    assert len(server.bodies) == asked > 0
    scores = {name: each["score"] for name, each in found.items()}
    same_scores("Weave", "weave", scores, {name: row["score"] for name, row in expected.items()})
    values = [row["score"] for row in expected.values()]
    assert summary["remote"]["score"]["mean"] == pytest.approx(sum(values) / len(values))
    for name, each in found.items():
        assert (each["rubric"], each["interval"]) == ("remote@1", expected[name]["interval"])
        criteria = [{"id": key, **value} for key, value in each["criteria"].items()]
        assert criteria == expected[name]["criteria"]
        assert all(criterion["reason"] in each["reason"] for criterion in criteria)


def test_a_text_without_a_score_has_none_and_does_not_count_in_the_mean(store: Path) -> None:
    texts = [{**TEXTS[0], "output": f"It is {GOOD}."}, {**TEXTS[1], "output": f"It is {UNSCORABLE}."}]
    with WeaveScorer("remote", store=store) as scorer:
        found, summary = run(texts, scorer)
    good, bad = (found[text["id"]] for text in texts)
    assert bad["score"] is None
    assert "criteria without a usable rating" in bad["reason"]
    assert summary["remote"]["score"]["mean"] == good["score"]


def test_the_fields_of_a_row_are_the_columns() -> None:
    assert row_of(output={"text": "So."}, question="Why?", id="1", reference="R") == {
        "reference": "R",
        "id": "1",
        "source": "Why?",
        "output": "So.",
    }
    with pytest.raises(DataError, match="'inputs' has several fields"):
        row_of(output="O", a="1", b="2")


def said(about: str, person: str, kind: str, payload: dict[str, Any], day: int = 1) -> Feedback:
    """Return feedback as Weave does."""
    return Feedback(
        id="f",
        project_id="p",
        weave_ref=f"weave:///team/project/call/{about}",
        wb_user_id=person,
        feedback_type=kind,
        payload=payload,
        created_at=f"2026-01-0{day}T00:00:00Z",
    )


def test_annotations_of_people_label_the_calls() -> None:
    calls = [
        Call(_op_name="o", trace_id="t", project_id="p", parent_id=None, id=name, inputs={"question": "Q"}, output=name)
        for name in ("c1", "c2")
    ]
    given = [
        said("c1", "anna", "wandb.annotation.helpfulness", {"value": 2}, 3),
        said("c1", "anna", "wandb.annotation.helpfulness", {"value": 5}),
        said("c1", "ben", "wandb.annotation.helpfulness", {"value": True}),
        said("c1", "ben", "wandb.annotation.tone", {"value": "good"}),
        said("c1", "ben", "wandb.reaction.1", {"emoji": "x"}),
        said("c3", "ben", "wandb.annotation.tone", {"value": "good"}),
    ]
    labels = {"helpfulness": {"anna": 2.0, "ben": 1.0}, "tone": {"ben": "good"}}
    assert rows(calls, given) == [
        {"source": "Q", "output": "c1", "id": "c1", "annotations": labels},
        {"source": "Q", "output": "c2", "id": "c2"},
    ]


def test_the_example_of_the_documentation_works(store: Path) -> None:
    example = example_files(PAGE)["evaluate.py"]
    names: dict[str, Any] = {}
    exec(example.replace("rubrics.db", "store.db").replace("news-coherence", "planted"), names)
    assert isinstance(names["summary"]["planted"]["score"]["mean"], float)


def test_the_annotations_of_the_documentation_can_be_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call(_op_name="o", trace_id="t", project_id="p", parent_id=None, id="c1", inputs={"q": "Q"}, output="A")
    client = create_autospec(WeaveClient, instance=True)
    client.get_calls.return_value = [call]
    client.get_feedback.return_value = [said("c1", "anna", "wandb.annotation.helpfulness", {"value": 2})]
    monkeypatch.setattr(weave, "init", create_autospec(weave.init, return_value=client))
    lab = create_autospec(Lab, instance=True)
    exec(example_files(PAGE)["annotations.py"], {"lab": lab})
    ((learned,), options) = lab.learn.call_args
    assert [row["annotations"] for row in learned] == [{options["aspect"]: {"anna": 2.0}}]

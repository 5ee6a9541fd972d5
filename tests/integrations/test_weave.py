"""Weave, with its own `Evaluation`, without a network and without its server."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from pytest_projects import GOOD_AND_BAD, NO_RATING, TEXTS, Parity, check_details, run_example

os.environ["WEAVE_DISABLED"] = "true"
pytest.importorskip("weave", reason="needs Weave: run make test-integrations")

import weave
from weave.trace.call import Call
from weave.trace.feedback import Feedback

from rubriclab.integrations.weave import WeaveScorer, rows

pytestmark = pytest.mark.filterwarnings("ignore")


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


def test_scores_are_those_of_the_command_and_no_text_is_asked_about_twice(store: Path, parity: Parity) -> None:
    with WeaveScorer("remote@1", store=store) as scorer:
        found, summary = run(TEXTS, scorer)
    parity.check("Weave", "weave", {name: each["score"] for name, each in found.items()})
    values = [row["score"] for row in parity.rows.values()]
    assert summary["remote"]["score"]["mean"] == pytest.approx(sum(values) / len(values))
    for name, each in found.items():
        check_details(each, each["reason"], parity.rows[name])


def test_a_text_without_a_score_has_none_and_does_not_count_in_the_mean(store: Path) -> None:
    with WeaveScorer("remote", store=store) as scorer:
        found, summary = run(GOOD_AND_BAD, scorer)
    good, bad = found.values()
    assert (bad["score"], NO_RATING in bad["reason"]) == (None, True)
    assert summary["remote"]["score"]["mean"] == good["score"]


def said(about: str, person: str, kind: str, payload: dict[str, Any], day: int = 1) -> Feedback:
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
    inputs = {"question": "Q", "output": "of an earlier call"}
    calls = [
        Call(_op_name="o", trace_id="t", project_id="p", parent_id=None, id=name, inputs=inputs, output=name)
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
    names = run_example("weave", "evaluate.py")
    assert isinstance(names["summary"]["planted"]["score"]["mean"], float)

"""Why a text has its score: from kept ratings or new ones, in parts that sum to the score, beside labelled texts."""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT, HELDOUT_ROWS, LABELLED

from rubriclab import DataError, Lab, SettingsError
from rubriclab.errors import NotInStore

TASK: dict[str, Any] = {"task": "summarization", "aspect": "coherence", "scale": (1, 5), "judge": "embedded"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A store with one rubric learned by the offline judge."""
    lab = Lab(tmp_path_factory.mktemp("explain") / "store.db", progress=None)
    lab.learn(LABELLED, name="news", **TASK)
    return lab


def test_contributions_lead_from_the_average_text_to_the_score_and_the_score_is_that_of_scoring(lab: Lab) -> None:
    for row in HELDOUT_ROWS[:5]:
        found = lab.explain([row], "news")
        assert found.score == lab.score([row], "news")[0]
        assert found.average is not None
        assert found.score.score is not None
        shares = math.fsum(each.contribution or 0.0 for each in found.score.criteria)
        assert found.average + shares == pytest.approx(found.score.score, abs=1e-5)


def test_a_labelled_text_is_explained_by_its_kept_ratings_without_a_call(lab: Lab) -> None:
    record = lab.training_record("news")
    text = record.texts[3]
    found = lab.explain(rubric="news", id=text.id)
    assert found.labelled == text
    assert text not in [each.text for each in found.nearest]
    assert lab.dry_run("explain", rubric="news", id=text.id).roles == {}
    assert lab.dry_run("explain", [text.example], "news").roles["judge"].calls == 1
    fresh = lab.explain([text.example], "news")
    assert fresh.labelled == text
    assert fresh.score.score == pytest.approx(found.score.score)


def test_the_nearest_texts_are_those_with_the_most_similar_ratings(lab: Lab) -> None:
    found = lab.explain([HELDOUT_ROWS[0]], "news", nearest=3)
    aggregation = found.version.rubric.aggregation
    assert aggregation is not None
    ratings = {each.id: each.score for each in found.score.criteria}
    record = lab.training_record("news")
    distances = {}
    for text, cells in zip(record.texts, record.cells, strict=True):
        kept = {c.criterion.id: cell.score for c, cell in zip(record.candidates, cells, strict=True) if c.kept}
        pairs = [(term, ratings[term.criterion], kept[term.criterion]) for term in aggregation.terms]
        shared = [(abs(term.weight), (a - b) / term.spread) for term, a, b in pairs if a is not None and b is not None]
        distances[text.id] = math.sqrt(sum(w * d**2 for w, d in shared) / sum(w for w, _ in shared))
    expected = sorted(distances, key=lambda name: (distances[name], name))[:3]
    assert [each.text.id for each in found.nearest] == expected
    assert found.nearest[-1].distance == pytest.approx(distances[expected[-1]])


def test_the_context_of_a_plain_text_is_shown_to_the_judge_and_beside_the_text(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "store.db", "embedded")
    asked = [{**row, "source": None, "context": f"What happened in {row['group']}?"} for row in HELDOUT_ROWS]
    lab.learn(asked, task="summarization", aspect="coherence", methods="direct", name="answers")
    files = {name: tmp_path / f"{name}.txt" for name in ("text", "context")}
    files["text"].write_text(asked[0]["output"])
    with pytest.raises(SettingsError, match=r'has no context, .* Give `context="FILE"`'):
        lab.explain(files["text"], "answers")
    files["context"].write_text(asked[0]["context"])
    found = lab.explain(files["text"], "answers", context=str(files["context"]))
    assert found.example.context == asked[0]["context"]
    assert found.score.score == lab.explain(asked[:1], "answers").score.score
    page = html.unescape(found.view().page())
    assert page.index(asked[0]["context"]) < page.index(asked[0]["output"])
    with pytest.raises(SettingsError, match="`context` belongs to a plain text"):
        lab.explain(asked[:1], "answers", context=str(files["context"]))


def test_it_is_said_which_text_is_meant_where_that_is_not_clear(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r'has \d+ texts, and only one can be explained; choose one with `id="ID"`'):
        lab.explain(HELDOUT, "news")
    with pytest.raises(DataError, match="no text with the id 'nobody'"):
        lab.explain(HELDOUT, "news", id="nobody")
    with pytest.raises(NotInStore, match="Did you mean 'ferry::none'"):
        lab.explain(rubric="news", id="ferry::non")

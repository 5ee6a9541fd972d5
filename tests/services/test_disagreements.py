"""The labelled texts on which people and a rubric differ most."""

from __future__ import annotations

import pytest
from commands import LABELLED

from rubriclab import Lab
from rubriclab.errors import NotInStore


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    lab = Lab(tmp_path_factory.mktemp("disagreements") / "store.db", progress=None)
    learning = {"task": "summarization", "aspect": "coherence", "scale": (1, 5), "judge": "embedded"}
    lab.learn(LABELLED, name="news", **learning)
    lab.learn(LABELLED, name="alone", methods="hypoeval", **learning)
    return lab


def test_the_texts_with_the_largest_differences_come_first_with_reasons_of_every_criterion(lab: Lab) -> None:
    found = lab.disagreements("news", count=8)
    sizes = [abs(each.points) for each in found.texts]
    everywhere = [abs(text.predicted - text.label) for text in found.record.texts if text.predicted is not None]
    assert sizes == sorted(everywhere, reverse=True)[:8]
    criteria = {criterion.id for criterion in found.version.rubric.criteria}
    for row in found.to_rows():
        assert row["difference"] == pytest.approx(row["predicted"] - row["label"], abs=1e-6)
        assert {each["id"] for each in row["criteria"]} == criteria
        assert all(each["reason"] for each in row["criteria"])
        assert row["source"]


def test_one_side_only_shows_what_the_rubric_scores_higher_or_lower(lab: Lab) -> None:
    for side, sign in (("higher", 1), ("lower", -1)):
        texts = lab.disagreements("news", side=side).texts
        assert texts
        assert all(each.points * sign > 0 for each in texts)


def test_a_version_without_a_training_record_is_refused_with_the_reason(lab: Lab) -> None:
    with pytest.raises(NotInStore, match="learned by one method"):
        lab.disagreements("alone")

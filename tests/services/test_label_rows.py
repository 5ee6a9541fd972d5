"""Labels from the page beside those that a file has already."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rubriclab.data.annotations import PairwiseComparison
from rubriclab.data.readers import from_rows
from rubriclab.models.judgment import History, HumanJudgment
from rubriclab.models.text import Example
from rubriclab.ops.label import LabelText, labelled_rows


def text(**fields: Any) -> LabelText:
    (example,) = from_rows([{"id": "a", "output": "One.", **fields}])
    assert isinstance(example, Example)
    return LabelText(example, {})


def rated(own: LabelText, value: float | None, reason: str = "") -> HumanJudgment:
    return HumanJudgment(
        id=f"{own.example.id}{value}",
        question="q",
        aspect="coherence",
        rater="anna",
        kind="cannot judge" if value is None else "rating",
        text=own.key,
        value=value,
        reason=reason,
        created=datetime.now(UTC),
    )


def test_labels_of_others_stay_and_count_in_the_mean() -> None:
    own = text(
        scores={"coherence": 2, "fluency": 5},
        annotations={"coherence": {"ben": 1, "cleo": 3}, "fluency": [5, 5]},
        reasons={"coherence": "short"},
    )
    (row,) = labelled_rows([own], History([rated(own, 5, "clear")]), "coherence")
    assert row["annotations"] == {"coherence": {"ben": 1, "cleo": 3, "anna": 5}, "fluency": [5, 5]}
    assert row["scores"] == {"coherence": 3, "fluency": 5}
    assert row["reasons"] == {"coherence": {"earlier": "short", "anna": "clear"}}


def test_labels_without_names_are_named_earlier() -> None:
    listed, scored = text(annotations={"coherence": [1, 2]}), text(id="b", scores={"coherence": 2})
    rows = list(labelled_rows([listed, scored], History([rated(listed, 3), rated(scored, 4)]), "coherence"))
    assert [row["annotations"]["coherence"] for row in rows] == [
        {"earlier 1": 1, "earlier 2": 2, "anna": 3},
        {"earlier": 2, "anna": 4},
    ]
    assert [row["scores"]["coherence"] for row in rows] == [2, 3]


def test_texts_that_nobody_could_judge_are_left_out_unless_they_have_a_label() -> None:
    own, labelled = text(), text(id="b", scores={"coherence": 2})
    history = History([rated(own, None), rated(labelled, None, "unclear")])
    (row,) = labelled_rows([own, labelled], history, "coherence")
    assert (row["id"], row["scores"], row["reasons"]) == ("b", {"coherence": 2}, {"coherence": {"anna": "unclear"}})


def test_comparisons_of_the_file_stay() -> None:
    own, other = text(), text(id="b", output="Two.")
    former = [PairwiseComparison("a", "b", tie=True, rater="ben")]
    rows = list(labelled_rows([own, other], History(), "coherence", former))
    assert [row["id"] for row in rows[:2]] == ["a", "b"]
    assert rows[2] == {"preferred": "a", "over": "b", "tie": True, "rater": "ben"}

"""Corrections of labels: what a label is after them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from rubriclab.corrections import Correction, corrected, current_value
from rubriclab.training_record import RecordedText

TEXT = RecordedText(id="t", group="g", output="A text.", label=3.0, raters={"anna": 2.0, "ben": 4.0})
START = datetime(2026, 1, 1, tzinfo=UTC)


def correction(number: int = 0, **fields: Any) -> Correction:
    own: dict[str, Any] = {"kind": "correct", "text": "t", "rubric": "news", "version": 1, "aspect": "coherence"}
    made = {"by": "anna", "created": START + timedelta(seconds=number)}
    return Correction(**{"id": f"c.{number}", **own, **made, **fields})


def test_a_corrected_label_has_the_new_value_and_a_withdrawn_one_none() -> None:
    assert corrected(TEXT, [correction(old=3, new=4)]).label == 4
    assert corrected(TEXT, [correction(kind="rubric right", old=3)]) is None
    assert corrected(TEXT, [correction(kind="misses", note="the date")]) == TEXT
    assert corrected(TEXT, [correction(text="other", old=3, new=4)]) == TEXT


def test_a_correction_of_a_label_that_has_another_value_by_now_changes_nothing() -> None:
    assert corrected(TEXT, [correction(old=2, new=5)]) == TEXT


def test_the_label_becomes_the_mean_of_the_raters_if_one_of_them_is_corrected() -> None:
    found = corrected(TEXT, [correction(rater="anna", old=2, new=3)])
    assert (found.label, found.raters) == (3.5, {"ben": 4, "anna": 3})
    withdrawn = corrected(TEXT, [correction(rater="anna", kind="rubric right", old=2)])
    assert (withdrawn.label, withdrawn.raters) == (4, {"ben": 4})
    both = [
        correction(n, rater=name, kind="rubric right", old=old) for n, (name, old) in enumerate(TEXT.raters.items())
    ]
    assert corrected(TEXT, both) is None


def test_a_withdrawn_label_can_be_given_again_also_by_a_rater() -> None:
    gone = correction(kind="rubric right", old=3)
    assert current_value(TEXT, "", [gone]) is None
    assert corrected(TEXT, [gone, correction(1, old=None, new=5)]).label == 5
    # The rater's own score still stands.
    assert current_value(TEXT, "anna", [gone]) == 2
    assert corrected(TEXT, [gone, correction(1, rater="anna", old=2, new=4)]).label == 4


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0, None]), max_size=6), st.sampled_from(["", "anna"]))
def test_a_version_made_from_corrected_labels_is_not_corrected_again(values: list[float | None], rater: str) -> None:
    chain: list[Correction] = []
    for number, value in enumerate(values):
        old = current_value(TEXT, rater, chain)
        kind = "correct" if value is not None else "rubric right"
        chain.append(correction(number, rater=rater, kind=kind, old=old, new=value))
    after = corrected(TEXT, chain)
    assert current_value(TEXT, rater, chain) == (values[-1] if values else current_value(TEXT, rater, []))
    if after is not None:
        assert corrected(after, chain) == after


@pytest.mark.parametrize("wrong", [{"by": ""}, {"kind": "wrong"}, {"new": float("nan")}, {"version": 0}, {"id": ""}])
def test_a_correction_without_an_author_or_with_impossible_values_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        correction(**wrong)

"""The labels of a version and their corrections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from edit_samples import ASPECT, examples

from rubriclab import DataError, Lab, SettingsError
from rubriclab.errors import NotInStore, StoreError

FIRST, SECOND = (text.id for text in examples()[:2])
LABEL = {text.id: text.scores[ASPECT] for text in examples()}
ANNA = {text.id: text.annotations[ASPECT][0] for text in examples()}
BEN = {text.id: text.annotations[ASPECT][1] for text in examples()}


def labels_now(lab: Lab) -> dict[str, float]:
    return {row["id"]: row["scores"][ASPECT] for row in lab.labels("planted").to_rows()}


def test_a_correction_keeps_the_old_label_who_why_and_when_beside_the_new_one(planted_lab: Lab) -> None:
    result = planted_lab.labels("planted", correct={FIRST: 4.5}, by="anna", because="misread the source")
    (made,) = result.added
    assert (made.kind, made.text, made.old, made.new) == ("correct", FIRST, LABEL[FIRST], 4.5)
    assert (made.by, made.because, made.rubric, made.version) == ("anna", "misread the source", "planted", 1)
    again = planted_lab.labels("planted", correct={FIRST: 2}, by="ben")
    assert [(each.old, each.new, each.by) for each in again.corrections] == [
        (LABEL[FIRST], 4.5, "anna"),
        (4.5, 2, "ben"),
    ]
    assert labels_now(planted_lab) == {**LABEL, FIRST: 2}
    # The version itself still says what it was learned from.
    assert {text.id: text.label for text in planted_lab.training_record("planted").texts} == LABEL
    assert planted_lab.verify().problems == ()


def test_a_raters_corrected_score_moves_the_label_to_the_mean(planted_lab: Lab) -> None:
    result = planted_lab.labels("planted", correct={FIRST: 1}, rater="anna", by="anna")
    (row,) = [row for row in result.to_rows() if row["id"] == FIRST]
    assert row["annotations"][ASPECT] == {"ben": BEN[FIRST], "anna": 1}
    assert row["scores"][ASPECT] == pytest.approx((1 + BEN[FIRST]) / 2)
    assert (result.added[0].rater, result.added[0].old) == ("anna", ANNA[FIRST])


def test_a_label_that_the_rubric_disproves_is_left_out_of_fitting_and_agreement(planted_lab: Lab) -> None:
    result = planted_lab.labels("planted", rubric_right=FIRST, misses={SECOND: "it repeats the date"}, by="anna")
    assert FIRST not in labels_now(planted_lab)
    assert labels_now(planted_lab)[SECOND] == LABEL[SECOND]
    assert [(each.kind, each.note) for each in result.added] == [
        ("rubric right", ""),
        ("misses", "it repeats the date"),
    ]
    edited = planted_lab.edit("planted", drop="dates", by="anna", because="it repeats")
    assert edited.effect.n == len(LABEL) - 1
    assert (edited.saved.provenance.edit.corrected, edited.effort.calls) == (1, 0)
    assert FIRST not in {text.id for text in planted_lab.training_record(edited.saved).texts}
    back = planted_lab.labels("planted@1", correct={FIRST: 3}, by="ben")
    assert (back.added[0].old, labels_now_of(planted_lab, "planted@1")[FIRST]) == (None, 3)


def labels_now_of(lab: Lab, ref: str) -> dict[str, float]:
    return {row["id"]: row["scores"][ASPECT] for row in lab.labels(ref).to_rows()}


def test_an_edit_uses_corrected_labels_once_and_its_child_keeps_them(planted_lab: Lab) -> None:
    planted_lab.labels("planted", correct={FIRST: 4.5}, by="anna")
    saved = planted_lab.edit("planted", drop="dates", by="anna", because="it repeats").saved
    record = planted_lab.training_record(saved)
    assert {text.id: text.label for text in record.texts}[FIRST] == 4.5
    later = planted_lab.edit(saved, drop="length", by="anna", because="it is noise").saved
    assert later.provenance.edit.corrected == 0
    assert {text.id: text.label for text in planted_lab.training_record(later).texts}[FIRST] == 4.5


@pytest.mark.parametrize("score", [2.5, 3.7])
def test_a_single_score_between_the_whole_numbers_of_the_scale_is_refused(planted_lab: Lab, score: float) -> None:
    with pytest.raises(SettingsError, match=rf"label {score} of {FIRST} is not a whole number.* from 1 to 5"):
        planted_lab.labels("planted", correct={FIRST: score}, rater="anna", by="anna")
    assert planted_lab.labels("planted").corrections == ()
    # The label itself is a mean of two raters here, which may lie between whole numbers.
    assert planted_lab.labels("planted", correct={FIRST: score}, by="anna").added[0].new == score


def test_a_label_that_is_given_or_withdrawn_already_is_refused(planted_lab: Lab) -> None:
    with pytest.raises(SettingsError, match=rf"The label of {FIRST} is {LABEL[FIRST]:g} already"):
        planted_lab.labels("planted", correct={FIRST: LABEL[FIRST]}, by="anna")
    planted_lab.labels("planted", rubric_right=FIRST, by="anna")
    with pytest.raises(SettingsError, match=rf"The label of {FIRST} is withdrawn already"):
        planted_lab.labels("planted", rubric_right=FIRST, by="anna")
    assert len(planted_lab.labels("planted").corrections) == 1


def test_a_correction_does_not_reach_another_text_with_the_same_id_in_a_file(planted_lab: Lab) -> None:
    planted_lab.labels("planted", correct={FIRST: 4.5}, rubric_right=SECOND, by="anna")
    rows = [
        {"id": text.id, "group": text.group, "output": text.output, "source": text.source, "scores": dict(text.scores)}
        for text in examples()
    ]
    assert planted_lab.edit("planted", drop="dates", labels=rows, preview=True).effect.n == len(LABEL) - 1
    others = [{**row, "output": f"{row['output']} The end."} for row in rows[:8]]
    assert planted_lab.edit("planted", drop="dates", labels=others, preview=True).effect.n == 8


def test_a_request_that_is_sent_again_is_stored_once_also_after_a_later_correction(planted_lab: Lab) -> None:
    request: dict[str, Any] = {"correct": {FIRST: 4.5}, "by": "anna", "request": "tab-1"}
    first = planted_lab.labels("planted", **request).added
    planted_lab.labels("planted", correct={FIRST: 2}, by="ben")
    assert planted_lab.labels("planted", **request).added == first
    assert labels_now(planted_lab)[FIRST] == 2
    with pytest.raises(StoreError, match="Another correction has the id"):
        planted_lab.labels("planted", **{**request, "correct": {FIRST: 1}})


def test_the_rows_are_what_learn_takes(planted_lab: Lab, tmp_path: Path) -> None:
    rows = planted_lab.labels("planted", correct={FIRST: 4.5}, rubric_right=SECOND, by="anna").to_rows()
    (tmp_path / "corrected.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = planted_lab.check(tmp_path / "corrected.jsonl", aspect=ASPECT, scale=(1, 5)).to_row()
    assert (found["usable"], found["texts"], found["skipped"]) == (True, len(LABEL) - 1, 0)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"correct": {FIRST: 3}}, r"A correction records who made it\. Give by='NAME'"),
        ({"correct": {f"{FIRST}x": 3}, "by": "anna"}, rf"has no labelled text '{FIRST}x'\. Did you mean '{FIRST}'"),
        ({"rubric_right": "nobody", "by": "anna"}, r"has no labelled text 'nobody'\. It has 24 labelled texts"),
        ({"misses": {"nobody": "x"}, "by": "anna"}, "has no labelled text 'nobody'"),
        ({"correct": {FIRST: 6}, "by": "anna"}, rf"label 6 of {FIRST} is outside of the scale\. It is 1 \(lowest\)"),
        ({"correct": {FIRST: float("nan")}, "by": "anna"}, "The label nan"),
        (
            {"correct": {FIRST: 3}, "rater": "ann", "by": "anna"},
            r"no score by 'ann'\. Did you mean 'anna'\? It has: anna",
        ),
        ({"correct": {FIRST: 3}, "rubric_right": FIRST, "by": "anna"}, "is both corrected and withdrawn"),
        ({"correct": {FIRST: 3}, "rubric_right": "nobody", "by": "anna"}, "no labelled text 'nobody'"),
    ],
)
def test_a_wrong_correction_is_refused_and_nothing_is_stored(
    planted_lab: Lab, changes: dict[str, Any], error: str
) -> None:
    with pytest.raises(SettingsError, match=error):
        planted_lab.labels("planted", **changes)
    assert planted_lab.labels("planted").corrections == ()


def test_a_version_that_keeps_no_labels_is_refused_with_the_reason(planted_lab: Lab) -> None:
    with pytest.raises(NotInStore, match="learned by one method"):
        planted_lab.labels("alone", correct={FIRST: 3}, by="anna")


def test_if_all_labels_are_withdrawn_an_edit_says_so(planted_lab: Lab) -> None:
    planted_lab.labels("planted", rubric_right=tuple(LABEL), by="anna")
    assert labels_now(planted_lab) == {}
    with pytest.raises(DataError, match=r"All labels of planted@1 were withdrawn\. Give others: labels='FILE'"):
        planted_lab.edit("planted", drop="dates", preview=True)


def test_an_edit_with_labels_of_few_groups_has_no_interval_and_one_with_a_single_label_is_refused(
    planted_lab: Lab,
) -> None:
    planted_lab.labels("planted", rubric_right=tuple(LABEL)[6:], by="anna")
    difference = planted_lab.edit("planted", drop="dates", preview=True).effect.difference
    assert (difference.low, difference.high) == (None, None)
    planted_lab.labels("planted", rubric_right=tuple(LABEL)[1:6], by="anna")
    with pytest.raises(SettingsError, match="No criterion that is left distinguishes any two of the labelled texts"):
        planted_lab.edit("planted", drop="dates", preview=True)

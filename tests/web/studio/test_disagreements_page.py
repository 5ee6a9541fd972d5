"""Where people and the rubric differ: what the page shows, and what it stores of a person's judgment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from working_studio import HOSTILE, REF, SCRIPT, Client

from rubriclab import Lab

PAGE, LABELS = f"/{REF}/disagreements", f"/{REF}/disagreements/labels"


def judged(**values: Any) -> dict[str, Any]:
    return {"text": HOSTILE, "by": "anna", "because": "misread", "request": "r1", **values}


def stored(lab: Lab) -> list[dict[str, Any]]:
    return [each.model_dump(exclude={"id", "created"}) for each in lab.labels("news").corrections]


def test_texts_come_furthest_first_with_source_raters_and_reasons_of_every_criterion(studio: Client, twin: Lab) -> None:
    shown = unescape(studio.get(PAGE, count=5).text)
    found = twin.disagreements(REF, count=5)
    places = [shown.index(f'<bdi class="id">{each.text.id}</bdi>') for each in found.texts if each.text.id != HOSTILE]
    assert places == sorted(places)
    for each in found.texts:
        assert (each.text.source or "")[:200] in shown
        assert all(f"{name} {score:g}" in shown for name, score in each.text.raters.items() if name != HOSTILE)
        assert all(cell.reason in shown for _, cell in each.answers)


def test_one_side_and_more_texts_can_be_asked_for(studio: Client, twin: Lab) -> None:
    higher = twin.disagreements(REF, side="higher", count=100).texts
    shown = studio.get(PAGE, side="higher", count=100).text
    assert shown.count('class="case"') == len(higher)
    assert f"count={2 + 10}#case-3" in studio.get(PAGE, count=2).text
    assert 'id="case-3"' in studio.get(PAGE, count=12).text
    for wrong in ({"side": "left"}, {"count": 0}, {"count": "x"}):
        assert studio.get(PAGE, **wrong).status_code == 422


@pytest.mark.parametrize(
    ("judgment", "options"),
    [
        ({"kind": "correct", "score": 2}, {"correct": {HOSTILE: 2}}),
        ({"kind": "correct", "score": 2, "rater": HOSTILE}, {"correct": {HOSTILE: 2}, "rater": HOSTILE}),
        ({"kind": "rubric right"}, {"rubric_right": HOSTILE}),
        ({"kind": "misses", "note": SCRIPT}, {"misses": {HOSTILE: SCRIPT}}),
    ],
)
def test_a_judgment_stores_what_labels_stores_and_is_shown_beside_the_label(
    studio: Client, store: Path, twin: Lab, judgment: dict[str, Any], options: dict[str, Any]
) -> None:
    answer = studio.post(LABELS, **judged(**judgment))
    assert answer.status_code == 200
    twin.labels(REF, by="anna", because="misread", **options)
    lab = Lab(store)
    assert stored(lab) == stored(twin)
    assert lab.labels(REF).to_rows() == twin.labels(REF).to_rows()
    assert "misread" in answer.json()["html"]
    assert "<script>" not in answer.json()["html"]
    assert answer.json()["html"] in studio.get(PAGE, count=100).text


def test_a_corrected_and_a_withdrawn_label_are_shown_with_the_old_one_also_where_the_score_is_explained(
    studio: Client,
) -> None:
    judgments: list[tuple[dict[str, Any], str]] = [
        ({"kind": "correct", "score": 2}, "Label 2, was 4"),
        ({"kind": "rubric right"}, "Label withdrawn, was 4"),
    ]
    for number, (judgment, words) in enumerate(judgments):
        assert studio.post(LABELS, **judged(**judgment, request=f"r{number}")).json()["now"] == words
        assert words in studio.get(PAGE, count=100).text
        assert words in studio.get(f"/{REF}/explain", id=HOSTILE).text


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "correct", "score": 2, "text": "nobody"}, "no labelled text"),
        ({"kind": "correct", "score": 2, "by": " "}, "records who made it"),
        ({"kind": "praise"}, "kind: expected"),
        ({"kind": "correct", "score": 2, "labels": "/etc/passwd"}, "labels: unknown name"),
    ],
)
def test_a_judgment_that_cannot_be_stored_is_refused_with_the_reason(
    studio: Client, store: Path, wrong: dict[str, Any], words: str
) -> None:
    answer = studio.post(LABELS, **judged(**wrong))
    assert answer.status_code == 422
    assert words in answer.json()["error"]
    assert stored(Lab(store)) == []


def test_hostile_ids_texts_raters_and_reasons_are_shown_as_text(studio: Client) -> None:
    shown = studio.get(PAGE, count=100).text
    assert "<img" not in shown
    assert "<script>document" not in shown
    assert f"{HOSTILE} 3: {SCRIPT}; anna 5: It holds together." in unescape(shown)


def test_only_the_own_page_may_judge_edit_and_explain(studio: Client, store: Path) -> None:
    right = {"Origin": studio.url, "X-Rubriclab-Token": studio.access.token}
    for path in (LABELS, f"/{REF}/edit/effect", f"/{REF}/edit/save", f"/{REF}/explain", "/-/operations/x/stop"):
        for headers in ({**right, "Origin": "http://other.example"}, {"Origin": studio.url}, {}):
            answer = studio.http.post(path, json=judged(kind="correct", score=2), headers=headers)
            assert answer.status_code == 403, path
    assert stored(Lab(store)) == []


def test_a_version_without_labelled_texts_says_why_there_are_none(studio: Client, store: Path) -> None:
    from working_studio import rows

    lab = Lab(store, progress=None)
    lab.learn(rows(), name="alone", methods="direct", task="summarization", aspect="coherence", judge="embedded")
    answer = studio.get("/alone/disagreements")
    assert answer.status_code == 404
    assert "learned by one method" in answer.text
    ready = studio.post("/alone/edit/ready")
    assert ready.status_code == 422
    assert "keeps no labelled texts" in ready.json()["error"]


def test_corrections_from_several_tabs_at_once_follow_each_other(studio: Client, twin: Lab, store: Path) -> None:
    text = twin.labels("news").texts[0].id
    with ThreadPoolExecutor(6) as pool:
        scores = (1, 2, 3, 4, 5, 1.5)
        sent = [judged(kind="correct", text=text, score=score, request=f"tab-{score}") for score in scores]
        assert {answer.status_code for answer in pool.map(lambda body: studio.post(LABELS, **body), sent)} == {200}
    made = Lab(store, progress=None, notify=lambda _text: None).labels("news").corrections
    assert [each.old for each in made[1:]] == [each.new for each in made[:-1]]

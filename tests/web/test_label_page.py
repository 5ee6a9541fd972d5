"""The labelling page over real HTTP: who sees what, and that every answer is kept once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from label_pages import ROWS, LabelPage, label_page, output_of

from rubriclab.models.judgment import MAX_JUDGMENT_REASON_LENGTH
from rubriclab.web.label import page_settings

HOSTILE = '</script><script>document.title="hacked"</script><img src=x onerror=alert(1)>\'"&{{ 7*7 }}\u202e'


@pytest.fixture
def page(tmp_path: Path) -> Iterator[LabelPage]:
    with label_page(tmp_path) as page:
        yield page


def test_ratings_are_written_as_rows_by_rater_with_reasons(page: LabelPage) -> None:
    first = page.get("/item").json()
    page.answer(first, value=5, reason=" It holds together. ")
    assert page.answer_all("anna", lambda _text: 4) == 12  # 12 texts and one repeat, less the first
    assert page.answer_all("ben", lambda _text: 2) == 13
    assert page.post("/finish", {"rater": "ben"}).json() == {"words": "12 written."}
    rows = {row["id"]: row for row in map(json.loads, page.output.read_text().splitlines())}
    assert list(rows) == [row["id"] for row in ROWS]
    (best,) = [row for row in rows.values() if row["output"] == output_of(first)]
    assert best["annotations"] == {"coherence": {"anna": 5, "ben": 2}}
    assert best["scores"] == {"coherence": 3.5}
    assert best["reasons"] == {"coherence": {"anna": "It holds together."}}
    assert (best["note"], best["system"][:13]) == ("kept", "secret-system")
    assert sum("reasons" in row for row in rows.values()) == 1


def test_two_levels_have_names_on_the_page_and_in_the_rows(tmp_path: Path) -> None:
    with label_page(tmp_path, scale="fail:pass") as page:
        assert page_settings(page.labeling, "anna")["scale"]["levels"] == [
            {"value": 0, "name": "fail", "key": "0"},
            {"value": 1, "name": "pass", "key": "1"},
        ]
        item = page.get("/item").json()
        assert page.answer(item, value=0.5).status_code == 400
        page.answer(item, value=1)
        (row,) = page.labeling.result().rows
    assert (row["scores"], row["annotations"]) == ({"coherence": "pass"}, {"coherence": {"anna": "pass"}})


def test_nothing_reveals_systems_ids_or_labels(tmp_path: Path) -> None:
    labelled = [
        {**row, "scores": {"coherence": 4.321}, "annotations": {"coherence": {"zoe": 4.321}}, "label": 4.321}
        for row in ROWS
    ]
    with label_page(tmp_path, labelled) as page:
        page.answer_all("ben", lambda _text: 2)
        seen = [page.get("/").text, page.get("/panel").text]
        seen += [page.get("/item", position=position).text for position in range(13)]
    for text in seen:
        for secret in ("secret-system", "g0-system", "4.321", "zoe", '"g1"', "kept", "ben"):
            assert secret not in text


def test_two_raters_at_once_lose_nothing_and_do_not_mix(page: LabelPage) -> None:
    with ThreadPoolExecutor(2) as pool:
        both = pool.map(page.answer_all, ("anna", "ben"), (lambda _: 1, lambda _: 5))
        assert list(both) == [13, 13]
    rows = page.labeling.result().rows
    assert [row["annotations"]["coherence"] for row in rows] == [{"anna": 1, "ben": 5}] * 12


def test_a_submission_sent_twice_counts_once(page: LabelPage) -> None:
    item = page.get("/item").json()
    name = uuid.uuid4().hex
    with ThreadPoolExecutor(4) as pool:
        sent = list(pool.map(lambda _: page.answer(item, id=name, value=4), range(8)))
    assert {response.status_code for response in sent} == {200}
    assert [response.json()["progress"]["done"] for response in sent] == [1] * 8
    assert page.answer(item, id=name, value=5).status_code == 400
    (row,) = page.labeling.result().rows
    assert row["annotations"]["coherence"] == {"anna": 4}
    assert len(page.labeling._store.judgments(page.labeling.question.digest)) == 1


def test_undo_takes_back_one_answer_at_a_time_however_often_it_is_sent(page: LabelPage) -> None:
    first = page.get("/item").json()
    second = page.answer(first, value=2).json()
    page.answer(second, value=5)
    undo = {"rater": "anna", "id": uuid.uuid4().hex}
    for _ in range(2):
        undone = page.post("/undo", undo).json()
        assert undone["shown"]["item"] == second["shown"]["item"]
        assert undone["progress"]["done"] == 1
    page.post("/undo", {**undo, "id": uuid.uuid4().hex})
    assert page.post("/undo", {**undo, "id": uuid.uuid4().hex}).json() == {"undone": False}
    assert page.labeling.result().rows == ()


def test_answers_that_cannot_be_right_are_refused(page: LabelPage) -> None:
    item = page.get("/item").json()
    for wrong in (
        {"value": 0},
        {"value": 6},
        {"value": 2.5},
        {"value": None},
        {"kind": "ranking"},
        {"kind": "withdrawal"},
        {"id": "short"},
        {"reason": "x" * (MAX_JUDGMENT_REASON_LENGTH + 1)},
    ):
        response = page.answer(item, **wrong)
        assert response.status_code == 400, wrong
        assert response.json()["error"]
    unknown = {"shown": {"item": "another"}}
    assert page.answer(unknown).status_code == 400
    for body in (b"", b"{", b"[]", b"\xff", json.dumps({"rater": "anna"}).encode()):
        assert page.post("/judgments", body).status_code == 400
    assert page.post("/judgments", b"x" * 70_000).status_code == 413
    for rater in ("", " ", "a\nb", "x" * 61):
        assert page.answer(item, rater, value=3).status_code == 400
    for position in ("-1", "13", "x", "9" * 30):
        assert page.get("/item", position=position).status_code == 400
    assert page.labeling.result().rows == ()


def test_hostile_texts_names_and_definitions_stay_text(tmp_path: Path) -> None:
    rows = [{"output": HOSTILE, "source": HOSTILE, "context": HOSTILE, "reference": HOSTILE}]
    with label_page(tmp_path, rows, aspect=HOSTILE, definition=HOSTILE) as page:
        name = "<script>alert(1)</script>'\""
        for response in (page.get("/", None), page.get("/", name)):
            assert "<script>document" not in response.text
            assert "<script>alert" not in response.text
            assert "<img" not in response.text
        item = page.get("/item", name)
        assert item.headers["content-type"] == "application/json"
        assert output_of(item.json()) == HOSTILE
        assert page.answer(item.json(), name, reason=HOSTILE).status_code == 200
        (row,) = page.labeling.result().rows
        assert row["annotations"] == {HOSTILE: {name: 3}}


def test_links_and_tokens_stay_the_same_when_the_server_is_started_again(tmp_path: Path) -> None:
    with label_page(tmp_path, share=["anna"]) as page:
        before = page.access
    with label_page(tmp_path, share=["anna", "ben"]) as page:
        assert page.access.token == before.token
        assert page.access.link_path("anna") == before.link_path("anna")
        assert page.access.link_path("ben") != before.link_path("anna")
    with label_page(tmp_path, share=["anna"], definition="Another question.") as page:
        assert page.access.token != before.token
        assert page.access.link_path("anna") != before.link_path("anna")


def test_only_who_started_a_shared_page_is_told_of_files_and_may_end_it(tmp_path: Path) -> None:
    with label_page(tmp_path, share="anna", rater="zoe") as page:
        page.client.get(page.access.link_path("anna"))
        assert page.post("/finish", {"rater": "anna"}).json() == {
            "words": "Your answers are kept, and written to a file of the person who shares this page. Thank you."
        }
        assert page.post("/stop", {"rater": "anna"}).status_code == 400
        page.client.get(page.access.link_path("zoe"))
        assert page.post("/finish", {"rater": "zoe"}).json() == {"words": "0 written."}
        assert page.post("/stop", {"rater": "zoe"}).status_code == 200

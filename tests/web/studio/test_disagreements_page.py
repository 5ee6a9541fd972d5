"""Where people and the rubric differ: what the page shows."""

from __future__ import annotations

from html import unescape

from studio_samples import HOSTILE, REF, Client

from rubriclab import Lab
from rubriclab.report.rubrics import raters_words

PAGE = f"/{REF}/disagreements"


def test_texts_come_furthest_first_with_source_raters_and_reasons_of_every_criterion(studio: Client, twin: Lab) -> None:
    shown = unescape(studio.get(PAGE, count=5).text)
    found = twin.disagreements(REF, count=5)
    places = [shown.index(f'<bdi class="id">{each.text.id}</bdi>') for each in found.texts if each.text.id != HOSTILE]
    assert places == sorted(places)
    for each in found.texts:
        assert (each.text.source or "")[:200] in shown
        assert raters_words(each.text, found.version.rubric.score_scale) in shown
        assert all(cell.reason in shown for _, cell in each.ratings)


def test_one_side_and_more_texts_can_be_asked_for(studio: Client, twin: Lab) -> None:
    higher = twin.disagreements(REF, side="higher", count=100).texts
    shown = studio.get(PAGE, side="higher", count=100).text
    assert shown.count('class="case"') == len(higher)
    assert f"count={2 + 10}#case-3" in studio.get(PAGE, count=2).text
    assert 'id="case-3"' in studio.get(PAGE, count=12).text
    for wrong in ({"side": "left"}, {"count": 0}, {"count": "x"}):
        assert studio.get(PAGE, **wrong).status_code == 422


def test_only_the_own_page_may_edit_and_explain(studio: Client) -> None:
    right = {"Origin": studio.url, "X-Rubriclab-Token": studio.access.token}
    for path in (f"/{REF}/edit/effect", f"/{REF}/edit/save", f"/{REF}/explain", "/-/operations/x/stop"):
        for headers in ({**right, "Origin": "http://other.example"}, {"Origin": studio.url}, {}):
            answer = studio.http.post(path, json={}, headers=headers)
            assert answer.status_code == 403, path

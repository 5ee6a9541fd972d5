"""A rubric edited on the page: effect and version are those of `edit`; answers are asked for once agreed to."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from studio_samples import HOSTILE, JUDGE, PAID, REF, TEXTS, Client, PaidJudge, served

from rubriclab import Lab
from rubriclab.report.outputs import typeset
from rubriclab.report.wording import estimate, figure, percent

EFFECT, SAVE = f"/{REF}/edit/effect", f"/{REF}/edit/save"
SIGNED = {"author": "anna", "because": "counts twice"}
ADDED = {"add": ["Are the sentences connected?"]}


def first_criteria(lab: Lab) -> list[str]:
    return [criterion.id for criterion in lab.load(REF).rubric.criteria[:3]]


def newest(store: Path, name: str) -> int:
    return Lab(store).load(name).number


def test_the_effect_is_that_of_a_preview_and_saves_nothing(studio: Client, store: Path, twin: Lab) -> None:
    first, second, third = first_criteria(twin)
    edit: dict[str, Any] = {"drop": [first], "pin": {second: 0.3}, "bound": {third: [0, 0.2]}}
    answer = studio.post(EFFECT, **edit).json()
    effect = twin.edit(REF, preview=True, **edit).effect
    weights = {each.criterion: percent(each.after) for each in effect.weights if each.after is not None}
    assert answer["weights"] == weights
    sides = f"Pearson {figure(effect.before.value)} before, {figure(effect.after.value)} after"
    assert answer["summary"] == typeset(sides)
    assert typeset(estimate(effect.difference)) in answer["lead"]
    assert typeset(estimate(effect.difference)) in answer["html"]
    assert answer["saved"] is None
    assert newest(store, "news") == 1


def test_saving_makes_the_version_that_edit_makes_and_hostile_criteria_are_shown_as_text(
    studio: Client, store: Path, twin: Lab
) -> None:
    first, *others = first_criteria(twin)
    words = {"reword": {first: HOSTILE}, "merge": [[others, "Both at once."]], "definition": "How it ends."}
    edit: dict[str, Any] = {**words, **ADDED, **SIGNED, "name": "other"}
    saved = studio.post(SAVE, **edit).json()["saved"]
    expected = twin.edit(REF, **edit).saved
    version = Lab(store).load(saved)
    assert version.ref == expected.ref == "other@1"
    assert version.digest == expected.digest
    assert version.parent == REF
    assert version.provenance.edit == expected.provenance.edit
    page = studio.get(f"/{saved}/edit").text
    assert "<img" not in page
    assert "&lt;img" in page


def test_a_judge_is_asked_only_once_its_price_is_agreed_to(store: Path, judge: type[PaidJudge]) -> None:
    with served(store) as studio:
        effect, save = f"/{PAID}/edit/effect", f"/{PAID}/edit/save"
        dropped = studio.post(effect, drop=[Lab(store).load(PAID).rubric.criteria[0].id]).json()
        assert "html" in dropped
        price = studio.post(effect, **ADDED).json()["price"]
        assert price["calls"] == TEXTS
        assert price["label"].startswith(f"Get {TEXTS} answers (about $0.0")
        assert JUDGE in price["words"]
        assert studio.post(effect, **ADDED, agreed=TEXTS - 1).json()["price"] == price
        assert studio.post(save, **ADDED, **SIGNED).json()["price"] == price
        assert judge.asked == 0
        assert "html" in studio.post(effect, **ADDED, agreed=TEXTS).json()
        asked = judge.asked
        assert asked == TEXTS
        assert studio.post(save, **ADDED, **SIGNED).json()["saved"] == "paid@2"
        assert judge.asked == asked


def test_a_cap_holds_for_the_pages_together_and_answers_so_far_are_kept(store: Path, judge: type[PaidJudge]) -> None:
    with served(store, max_calls=10) as studio:
        answer = studio.post(f"/{PAID}/edit/effect", **ADDED, agreed=TEXTS)
        assert answer.status_code == 422
        assert "The cap of 10 calls is reached" in answer.json()["error"]
        assert judge.asked == 10
    with served(store) as studio:
        assert "html" in studio.post(f"/{PAID}/edit/effect", **ADDED, agreed=TEXTS).json()
        assert judge.asked == TEXTS


def test_an_edit_that_asks_shows_how_far_it_is_and_can_be_stopped(store: Path, judge: type[PaidJudge]) -> None:
    judge.seconds = 0.05
    with served(store, concurrency=1) as studio:
        answers: list[Any] = []

        def ask() -> None:
            answers.append(studio.post(f"/{PAID}/edit/effect", **ADDED, agreed=TEXTS, request="mine"))

        asking = threading.Thread(target=ask)
        asking.start()
        seen = set[float]()
        while asking.is_alive():
            share = studio.get("/-/operations/mine").json()["share"]
            if share is not None:
                seen.add(share)
            if len(seen) > 3:
                studio.post("/-/operations/mine/stop")
            time.sleep(0.02)
        asking.join()
        assert answers[0].status_code == 422
        assert "Answers so far are kept" in answers[0].json()["error"]
        assert 0 < judge.asked < TEXTS
        assert studio.get("/-/operations/mine").json() == {"doing": None, "share": None}


def test_a_provider_that_refuses_is_reported_and_nothing_is_saved(store: Path, judge: type[PaidJudge]) -> None:
    judge.refuses = True
    with served(store) as studio:
        answer = studio.post(f"/{PAID}/edit/save", **ADDED, **SIGNED, agreed=TEXTS)
        assert answer.status_code == 502
        assert "key" in answer.json()["error"]
    assert newest(store, "paid") == 1

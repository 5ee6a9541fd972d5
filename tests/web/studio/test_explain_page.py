"""Why a text has its score: the explanation is that of `explain`; the judge is asked once its price is agreed to."""

from __future__ import annotations

from studio_samples import REF, SCRIPT, Client, rows

from rubriclab import Lab
from rubriclab.models.text import Example
from rubriclab.report.rubrics import explanation_view

PAGE, SOURCE = f"/{REF}/explain", rows()[0]["source"]
TEXT = "The ferry stops. However, the council asks for offers. Therefore the islanders wait."


def test_a_pasted_text_is_explained_as_by_explain_with_its_source(studio: Client, twin: Lab) -> None:
    example = Example("pasted text", TEXT, "pasted text", SOURCE)
    expected = explanation_view(twin.explain([example], REF)).body()
    assert studio.post(PAGE, output=TEXT, source=SOURCE).json()["html"] == expected
    assert "average text" in expected


def test_an_unknown_text_and_an_empty_one_are_refused_in_place(studio: Client) -> None:
    answer = studio.get(PAGE, id="ferry::non")
    assert answer.status_code == 404
    assert "Did you mean" in answer.text
    assert 'id="explain"' in answer.text
    refused = studio.post(PAGE, output=" \n")
    assert refused.status_code == 422
    assert "Expected a text" in refused.json()["error"]
    without = studio.post(PAGE, output=TEXT, source="\n")
    assert without.status_code == 422
    assert "Give the source of the text." in without.json()["error"]
    assert studio.post(PAGE, output=SCRIPT, id="x").status_code == 422

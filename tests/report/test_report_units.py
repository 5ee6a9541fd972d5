"""Rubrics that judge a text piece by piece: shown, compared, and their verdicts on a page."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kinds_samples import QUESTIONS, checklist_part, question
from report_samples import examples, results_of, version, words_of

from rubriclab.learning.scoring import CriterionScore, Score
from rubriclab.methods.method import UnitVerdict
from rubriclab.models.rubric import Part
from rubriclab.models.text import Units
from rubriclab.models.version import Version
from rubriclab.report import wording
from rubriclab.report.evaluation import evaluation_view
from rubriclab.report.results import difference_view
from rubriclab.report.rubrics import version_view
from rubriclab.store.diff import compare

FACTS = Units(kind="fact", beside=("source",))
EVIL = "<script>alert(1)</script>"


def by_units(units: Units = FACTS, **fields: object) -> Part:
    """Return a part of two questions that are asked of units."""
    own = {"method": "seal", "units": units, "settings": {"weights": "as packed"}, "dropped": ()}
    return checklist_part(question("f1", support="source"), QUESTIONS[2]).model_copy(update=own | fields)


def rubric(part: Part) -> Version:
    return version(name="pieces", parts=(part,))


def verdicts() -> tuple[UnitVerdict, ...]:
    return (
        UnitVerdict("The dam broke.", (0,), 1.0, "So the source says.", ("The dam gave way.",)),
        UnitVerdict("Ten died.", (1,), 0.0, "The source has nobody die."),
        UnitVerdict(f"It rained. {EVIL}", (2,), None, "No answer came."),
        UnitVerdict("All of it.", (), 0.25, "Only the start."),
    )


@pytest.mark.parametrize(
    ("units", "weights", "words"),
    [
        (FACTS, "as packed", "Asked of each single fact that the text states, beside its source."),
        (Units(kind="sentence pair"), "equal", "Asked of each pair of neighbouring sentences."),
        (
            Units(kind="response", beside=("source", "context"), weights="judge"),
            "as packed",
            "Asked of the whole text, beside its source and context; the judge sets the weights of the questions "
            "for each text.",
        ),
        (Units(kind="response", weights="judge"), "labels", "Asked of the whole text."),
    ],
)
def test_a_rubric_says_what_its_questions_are_asked_of(units: Units, weights: str, words: str) -> None:
    part = by_units(units, settings={"weights": weights})
    assert wording.units(part) == words
    assert words in words_of(version_view(rubric(part)), 200)


def test_a_question_says_whose_facts_must_be_named() -> None:
    assert "a fact of the source must be named" in words_of(version_view(rubric(by_units())), 200)


def test_other_units_are_a_difference() -> None:
    before, after = rubric(by_units()), rubric(by_units(Units(kind="sentence", beside=("source", "context"))))
    changes = {change.field: (change.before, change.after) for change in compare(before, after).fields}
    assert changes["units"] == ("fact", "sentence")
    assert changes["units beside"] == ("source", "source, context")
    assert "source, context" in words_of(difference_view(compare(before, after)), 200)


def test_a_page_shows_the_verdict_on_each_unit_the_failing_ones_first() -> None:
    made, texts = rubric(by_units()), examples()
    scores = [
        Score(
            text.id,
            "coherence",
            1.0 + number % 5,
            (CriterionScore("f1", 0.5, "Half.", units=verdicts()),),
            None,
            made.ref,
            "fake",
        )
        for number, text in enumerate(texts)
    ]
    results = results_of([made], {made.ref: scores}, texts)
    page = evaluation_view([made], results, {made.ref: scores}, texts).page()
    found = [page.index(words) for words in ("Ten died.", "All of it.", "The dam broke.")]
    assert found == sorted(found)
    assert "by: The dam gave way." in page
    assert EVIL not in page


def test_a_verdict_is_told_in_a_word() -> None:
    first = verdicts()[0]
    assert [wording.verdict(replace(first, value=value)) for value in (1, 0, None, 0.25)] == [
        "holds",
        "fails",
        "none",
        "25% of the scale",
    ]

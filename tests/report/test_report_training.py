"""How a rubric was trained: in a terminal after learning, and as a page."""

from __future__ import annotations

import re

import pytest
from joint_samples import WEIGHTS, joint_record, joint_trust, joint_version
from kinds_samples import QUESTIONS, checklist, explained, shown, unlabelled
from pages import Page
from report_samples import printed, version, words_of

from rubriclab.models.version import (
    Candidate,
    Cell,
    RecordedText,
    TrainingRecord,
    Version,
)
from rubriclab.ops.versions import find_disagreements
from rubriclab.report.rubrics import evidence_view, matrix_view, training_report


@pytest.fixture(scope="module")
def page() -> Page:
    """The page on a rubric of several methods."""
    return Page(training_report(joint_version(), joint_record()))


def terminal(width: int = 120, **fields: object) -> str:
    """Return the words of the terminal view of the rubric, of which `fields` are replaced."""
    return words_of(evidence_view(joint_version(**fields)), width)


def test_the_page_begins_with_judge_badge_sentence_and_next_steps(page: Page) -> None:
    for part in (
        "Judge: gpt-4o-mini",
        "better than the same judge asked directly: mean absolute error 0.35 instead of 0.59 points (better)",
        "The best free baseline is a model of all text features, Pearson 0.38 (difference 0.28 [0.07, 0.49]: better).",
        "What to do next",
        "A perfect judge would reach about 0.87",
    ):
        assert part in page.reading.replace("−", "-")
    assert "Offline judge" not in page.reading


def test_comparisons_have_an_outcome_in_correlation_and_in_error_where_they_decide(page: Page) -> None:
    for words in (terminal(), page.reading.replace("−", "-")):
        assert "direct 0.09 [-0.04, 0.20] inconclusive 0.24 [0.10, 0.38] better" in words
        assert "direct, calibrated 0.09 [-0.04, 0.20] inconclusive 0.02 [-0.06, 0.10] not better" in words
        assert "hypoeval 0.06 [-0.05, 0.17] Pearson:" in words
        assert "Comparisons without an outcome decide nothing." in words


def test_every_evaluator_is_drawn_with_its_figures_by_kind_the_best_first(page: Page) -> None:
    table = page.reading[page.reading.index("lines are 95 %") : page.reading.index("is too high by 0.12")]
    names = ["this rubric", "hypoeval", "direct", "seeval", "checkeval"]
    names += [
        "a model of all text features",
        "the text feature chosen in each fold",
        "word count",
        "constant undefined",
        "ceiling",
    ]
    places = [table.index(name) for name in names]
    assert places == sorted(places)
    whiskers = [line for line in page.having("line") if line.get("class") == "whisker"]
    assert len(whiskers) > len(names)


def test_the_optimistic_figure_stands_apart_and_is_compared_with_the_held_out_one(page: Page) -> None:
    both = "fitted to, the rubric reaches Pearson 0.78 [0.59, 0.93], on held-out labels 0.66"
    for words in (terminal(), page.reading):
        assert both in words
        assert "the former is too high by 0.12." in words
        assert re.search(r"for comparison: this rubric on the labels it was fitted to.*? 0\.78 \[0\.59, 0\.93\]", words)
    no_better = terminal(validation=joint_trust(training=joint_trust().evaluators[0]))
    assert "too high" not in no_better


def test_criteria_stand_by_weight_with_interval_and_how_often_they_were_chosen(page: Page) -> None:
    text = printed(evidence_view(joint_version()))
    assert re.search(r"h01  linked sentences +19 % \[14, 25\] +100 % +0\.61", text)
    assert re.search(r"repeated_trigrams  repeated phrases +-5 % \[-10, 1\] +65 % +-0\.36", text)
    text = text[text.index("\nCriteria by weight") :]
    ranked = sorted(WEIGHTS, key=lambda name: -abs(WEIGHTS[name]))
    places = [text.index(f"\n{name}  ") for name in ranked]
    assert places == sorted(places)
    assert re.search(r"h01 linked sentences hypoeval: .*? 19 % \[14, 25\] 100 % 0\.61", page.reading)
    assert "−5 % [−10, 1] 65 % −0.36" in page.reading
    assert sum(d.get("class") == "bar" for d in page.having("rect")) == len(WEIGHTS)


def test_intervals_say_how_many_labels_they_hold(page: Page) -> None:
    texts = joint_record().texts
    inside = sum((text.low or 0) <= text.label <= (text.high or 0) for text in texts)
    assert f"{inside} of 30 labels lie inside" in page.reading
    assert "90 %." in page.reading


def test_the_largest_disagreements_stand_with_texts_raters_and_reasons(page: Page) -> None:
    furthest = find_disagreements(joint_record())[:6]
    gaps = [abs(each.points) for each in furthest]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] == max(abs((text.predicted or 0) - text.label) for text in joint_record().texts)
    text = furthest[0].text
    start = page.reading.index(f"{text.id} people")
    first = page.reading[start : start + 900]
    assert f"anna {text.raters['anna']:.0f}, ben" in first
    assert text.output in first
    assert "h01 linked sentences" in first
    assert furthest[0].answers[0][1].reason in first
    assert "h04" not in page.reading[start : page.reading.index("The rubric", start)]


def test_what_is_not_known_is_left_out_of_both() -> None:
    bare = joint_version(validation=joint_trust(raters=None))
    text = printed(evidence_view(bare))
    assert re.search("calls +4 per text", text)
    for words in (text, Page(training_report(bare, joint_record())).reading):
        for absent in ("ceiling", "Raters"):
            assert absent not in words


@pytest.mark.parametrize("one", [version(), checklist(), explained(), shown(), unlabelled()], ids=lambda one: one.ref)
def test_the_page_of_a_version_of_one_method_shows_what_is_known_of_it(one: Version) -> None:
    page = Page(training_report(one, None))
    how = "it was learned by one method" if one.provenance.examples else "it was made without labels"
    assert f"{one.ref} was not validated: {how}" in page.reading
    assert [link["href"] for link in page.having("a")] == ["#criteria", "#provenance"]
    assert one.digest in page.reading


def test_a_version_without_its_record_says_where_texts_are() -> None:
    page = Page(training_report(joint_version(), None))
    assert "The store has no training record of news@3" in page.reading
    for title in ("Text by text", "Largest disagreements"):
        assert title not in page.reading


def test_texts_without_held_out_scores_are_neither_drawn_nor_compared() -> None:
    record = joint_record()
    texts = tuple(t.model_copy(update={"predicted": None, "low": None, "high": None}) for t in record.texts)
    page = Page(training_report(joint_version(), record.model_copy(update={"texts": texts})))
    for title in ("Text by text", "Largest disagreements"):
        assert title not in page.reading


def test_the_matrix_has_kept_criteria_first_and_says_what_is_missing() -> None:
    text = printed(matrix_view(joint_record()), 200)
    headers = [line.split() for line in text.splitlines() if line.startswith("text")]
    assert headers[0] == ["text", "label", "rubric", "h01", "h02", "h03", "q01", "q02", "q03"]
    assert headers[1][3] == "e1"
    assert re.search(r"harbour-0 +5 +4\.37 +5 +5 +5 +n/a +no", text)
    assert re.search(r"school-1 +3\.33 +3\.76 +3 +none", text)
    record = TrainingRecord(
        texts=(RecordedText(id="a", group="a", output="A.", label=2.0),),
        candidates=(Candidate(method="checkeval", criterion=QUESTIONS[0], kept=False),),
        cells=((Cell(score=None, reason="Cut off."),),),
    )
    assert re.search(r"a +2 +none +none", printed(matrix_view(record)))

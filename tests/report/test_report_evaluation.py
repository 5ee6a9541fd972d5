"""The page on an evaluation, as a parser reads it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from joint_samples import joint_version
from kinds_samples import answers_of, checklist, shown
from pages import Page
from report_samples import examples, results_of, scores_of, version

from rubriclab.models.text import Aspect, Example
from rubriclab.models.version import Version
from rubriclab.report.evaluation import evaluation_view
from rubriclab.report.rubrics import training_report


def report() -> str:
    """Return the report on two versions, of which one errs and leaves a text unscored."""
    one, two, texts = version(1), version(2), examples()
    scored = {
        one.ref: scores_of(one, texts, lambda number, _: None if number == 5 else 1.0 + (number * 3) % 4),
        two.ref: scores_of(two, texts, lambda _, text: text.scores["coherence"]),
    }
    return evaluation_view([one, two], results_of([one, two], scored, texts), scored, texts).page()


@pytest.fixture(scope="module")
def usual() -> Page:
    """The report on two rubrics."""
    return Page(report())


def test_every_evaluator_stands_at_every_level_with_its_interval(usual: Page) -> None:
    for title in ("Within groups", "Over all texts", "Between systems"):
        assert title in usual.reading
    assert [row.get("class") for row in usual.having("tr")].count("baseline") == 2 * 3
    assert usual.reading.count("-words: text feature chosen by the training labels of news@1, news@2.") == 3
    assert (
        "news@1: 23 texts in 6 groups; no group with constant labels; 1 text unscored; 2 of 48 answers missing; "
        "scores rest on the others." in usual.reading
    )


def test_criteria_stand_with_levels_weight_and_evidence() -> None:
    reading = Page(training_report(version(), None)).reading
    for part in (
        "h01 linked sentences weight 1.5; Pearson 0.61 on 29 training texts, 1 missing",
        "Each sentence takes up the one before. 1 loose sentences 5 a firm chain",
        "labels and literature (2 texts and 1 finding), refined 2 times",
        "train-1, train-2",
        "1 more criterion considered and dropped",
        "h02 short words no place in the final bank of 20",
    ):
        assert part in reading


def test_each_criterion_has_its_own_agreement_beside_the_whole_rubrics(usual: Page) -> None:
    row = r"linked sentences h01, 1 text unscored (−?\d\.\d\d) \[.*?\] a clear end h03, 1 text unscored \1 \["
    assert re.search(row, usual.reading)
    assert re.search(r"linked sentences h01 1\.00 \[1\.00, 1\.00\] .* the rubric 1\.00", usual.reading)


def test_disagreements_show_both_scores_the_text_the_reasons_and_the_source(usual: Page) -> None:
    start = usual.reading.index("Largest disagreements with people")
    first = usual.reading[start : start + 700]
    assert re.search(r"people 2, rubric 4 Text 1 about", first)
    assert re.search(r"h01 linked sentences 4 Reason for \d-1\. h03 a clear end 4", first)
    assert re.search(r"Source The source of \d\.", first)


def test_unscored_texts_are_listed_with_their_reasons(usual: Page) -> None:
    assert "1 text of 24 without a score; every figure leaves them out." in usual.reading
    assert "text why 1-1 no usable rating for 1-1" in usual.reading
    assert "All 24 texts have a score." in usual.reading


def test_provenance_is_complete(usual: Page) -> None:
    for part in (
        "scored here by fake",
        "calibrated for gpt-4o-mini",
        "generator gpt-4o",
        "model reported gpt-4o-mini-2024-07-18",
        "learned from 3 texts of 2 groups, with seed 114514 created 2026-11-21 22:40 UTC, by rubriclab 0.1.0",
        "cost unknown",
    ):
        assert part in usual.reading
    made, reading = version(), Page(training_report(version(), None)).reading
    for part in (
        f"rubric {made.digest}",
        f"provenance {made.provenance_digest}",
        f"data {made.provenance.data}",
        f"prompts {made.provenance.prompts}",
        "hypoeval k 10 sources labels and literature",
    ):
        assert part in reading


def test_links_lead_to_every_section(usual: Page) -> None:
    assert [link["href"] for link in usual.having("a")] == ["#summary", "#agreement", "#rubric-1", "#rubric-2"]


def test_several_aspects_have_a_summary_each() -> None:
    texts = examples()
    for text in texts:
        text.scores["fluency"] = 9 - text.scores["coherence"]  # type: ignore[index]
    one, two = version(), version(name="plain", aspect=Aspect(name="fluency", definition="How well it reads."))
    scored = {one.ref: scores_of(one, texts, _as_coherent), two.ref: scores_of(two, texts, _as_coherent)}
    results = [
        *results_of([one], {one.ref: scored[one.ref]}, texts),
        *results_of([two], {two.ref: scored[two.ref]}, texts),
    ]
    found = Page(evaluation_view([one, two], results, scored, texts).page())
    assert "Agreement with the labels of coherence and fluency" in found.reading
    assert "news@1 has a Spearman correlation with the labels of coherence: 1.00" in found.reading
    assert "plain@1 has a Spearman correlation with the labels of fluency: −1.00" in found.reading


def test_texts_without_any_score_make_a_report_that_says_so() -> None:
    rubric, texts = version(agreement=None, baseline=None), examples()
    scored = {rubric.ref: scores_of(rubric, texts, lambda *_: None)}
    found = Page(evaluation_view([rubric], results_of([rubric], scored, texts), scored, texts).page())
    assert "No correlation with the labels of coherence is defined on these texts" in found.reading
    assert "24 texts of 24 without a score" in found.reading
    assert "Score by score" not in found.reading
    assert "Largest disagreements" not in found.reading


def test_missing_scores_are_refused_by_name() -> None:
    news, texts = version(), examples()
    with pytest.raises(ValueError, match="expected the scores of 'news@1' too, got those of none"):
        evaluation_view([news], [], {}, texts).page()


def page_of(*versions: Version) -> Page:
    """Return the report on versions of any kind, of which checklists answer and others score."""
    texts = examples()
    scored = {
        one.ref: answers_of(one, texts)
        if one.rubric.criteria[0].kind == "question"
        else scores_of(one, texts, lambda number, _: 1.0 + (number * 3) % 4)
        for one in versions
    }
    return Page(evaluation_view(versions, results_of(versions, scored, texts), scored, texts).page())


def test_a_checklist_stands_by_sub_dimension_with_answers_and_origins() -> None:
    page = Page(training_report(checklist(), None))
    for part in (
        "4 questions in 2 sub-dimensions method checkeval",
        "Neighbouring sentences are connected. links s01 Does each sentence take up an earlier one? seed "
        "; 20 yes, 7 no, 1 n/a, 2 missing; Pearson 0.31 s01-d1 Is every pronoun clear? diversified from s01",
        "s02 Does the summary start afresh anywhere? (no is better) seed",
        "s01-d2 Are sentences linked? redundant: asks what s01 asks",
        "s03 Is it good? vague",
    ):
        assert part in page.reading
    assert "weight" not in page.reading


def test_answers_are_words_where_the_rubric_disagrees() -> None:
    checks = checklist()
    page, said = page_of(checks), {"yes": {1.0: "yes", 0.0: "no"}, "no": {1.0: "no", 0.0: "yes"}}
    shown_ids = re.findall(r"(\d-\d) people", page.reading)
    assert shown_ids
    for score in answers_of(checks, examples()):
        if score.id in shown_ids:
            rows = page.reading[page.reading.index(f"{score.id} people") :]
            for asked, part in zip(checks.rubric.criteria, score.criteria, strict=True):
                assert asked.question
                answer = "n/a" if part.score is None else said[asked.question.better][part.score]
                title = asked.statement + (" (no is better)" if asked.question.better == "no" else "")
                rows = rows[rows.index(f"{asked.id} {title} ") :].removeprefix(f"{asked.id} {title} ")
                assert rows.startswith(f"{answer} {part.reason}")


def test_texts_that_are_shown_are_folded_away_with_a_warning() -> None:
    page = Page(training_report(shown(), None))
    assert "The judge uses the definition above. The judge is shown 2 labelled texts with their sources" in (
        page.reading
    )
    assert "2 labelled texts 2 train-1 The text train-1. It goes on." in page.reading
    assert "4.33 train-2 The text train-2." in page.reading
    assert "".join(page.content["details"]).count("The text train-") == 2
    assert "An article." not in page.reading


def test_a_combined_rubric_shows_weights_intervals_and_what_each_criterion_adds() -> None:
    one, texts = joint_version(), examples()
    scored = {
        one.ref: [
            replace(
                score,
                interval=(1.0, 2.755),
                criteria=tuple(
                    replace(each, contribution=-0.4 if each.id == "h01" else 0.25) for each in score.criteria
                ),
            )
            for score in scores_of(one, texts, lambda number, _: 1.0 + (number * 3) % 4)
        ]
    }
    page = Page(evaluation_view([one], results_of([one], scored, texts), scored, texts).page())
    assert re.search(r"linked sentences h01, weight 19 % -?\d", page.reading.replace("−", "-"))
    assert re.search(r"people \d, rubric \d \[1, 2\.7[56]\]", page.reading)
    assert re.search(r"h01 linked sentences \d added −0\.40 Reason for", page.reading)
    assert re.search(r"repeated_trigrams repeated phrases \d added \+0\.25 Reason for", page.reading)
    assert "better than the same judge asked directly" in page.reading


def _as_coherent(_: int, text: Example) -> float:
    return text.scores["coherence"]


def test_the_ceiling_stands_within_groups_and_over_all_texts_where_single_raters_are_known() -> None:
    one = version(1)
    texts = [
        replace(text, annotations={"coherence": (text.scores["coherence"], text.scores["coherence"] + number % 2)})
        for number, text in enumerate(examples())
    ]
    scored = {one.ref: scores_of(one, texts, lambda _, text: text.scores["coherence"])}
    results = results_of([one], scored, texts)
    page = Page(evaluation_view([one], results, scored, texts).page())
    assert page.reading.count("As the raters differ, a perfect judge would reach a Pearson correlation of 0.") == 2
    assert "As the raters differ" not in Page(report()).reading

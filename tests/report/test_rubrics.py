"""Views of rubrics: the conclusion, criteria, units, training and single texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from commands import Commands
from joint_samples import WEIGHTS, against_direct, joint_record, joint_trust, joint_version
from kinds_samples import (
    LEFT_OUT,
    QUESTIONS,
    checklist,
    checklist_part,
    explained,
    overall,
    question,
    shown,
    unlabelled,
)
from pages import Page
from report_samples import criterion, examples, printed, results_of, version, words_of

from rubriclab.learning.scoring import Score
from rubriclab.methods.method import CriterionRating, UnitVerdict
from rubriclab.models.rubric import Criterion, Evidence, Part
from rubriclab.models.text import Scale, Units
from rubriclab.models.version import (
    Candidate,
    Cell,
    EditOrigin,
    GateVerdict,
    MoreLabels,
    RecordedText,
    TrainingRecord,
    Version,
)
from rubriclab.ops.versions import find_disagreements
from rubriclab.report import wording
from rubriclab.report.evaluation import evaluation_view
from rubriclab.report.render import View, macro
from rubriclab.report.results import difference_view, log_view, names_view
from rubriclab.report.rubrics import (
    actions,
    evidence_view,
    gate_view,
    learned_view,
    matrix_rows,
    matrix_view,
    overview,
    sub_dimensions,
    training_report,
    verdict,
    version_view,
)
from rubriclab.report.wording import estimate
from rubriclab.stats.intervals import Interval
from rubriclab.store.diff import compare
from rubriclab.store.store import open_store
from rubriclab.web.studio.pages import summary


def decided(outcome: Any, judge: str = "gpt-4o-mini", **fields: Any) -> Version:
    """Return a version whose gate has this outcome; `fields` go to the deciding verdict."""
    difference = fields.pop("difference", Interval(0.1, -0.1, 0.3))
    free = GateVerdict(against="word count", outcome=outcome, difference=difference, **fields)
    return joint_version(judge=judge, validation=joint_trust(verdicts=(free,)))


def conclusion_words(one: Version) -> str:
    return words_of(View(macro("conclusion", one)), 200)


def steps(one: Version) -> str:
    return "\n".join(actions(one))


def test_the_sentence_names_the_baseline_with_its_agreement_and_the_ceiling() -> None:
    words = conclusion_words(decided("better", difference=Interval(0.2, 0.1, 0.3)))
    assert "over all texts, cross-validated on its 30 training texts of 10 groups" in words
    assert "BETTER than word count, Pearson 0.04 (difference 0.20 [0.10, 0.30]: better)." in words
    assert "A perfect judge would reach about 0.87, because the raters disagree." in words


def test_commands_are_shown_as_code_in_pages_and_markdown() -> None:
    view = View(macro("conclusion", decided("better")))
    page = view.page()
    assert "`" not in page.partition("<main>")[2]
    words = "</span> <span>".join(["rubriclab", "score", "TEXTS", "--rubric", "news@3"])
    assert f"<code><span>{words}</span></code>" in page
    assert "`rubriclab score TEXTS --rubric news@3`" in view.markdown()


def test_a_version_that_was_not_validated_is_to_be_evaluated() -> None:
    assert "NOT VALIDATED" in conclusion_words(version())
    assert "`rubriclab evaluate HELDOUT --rubric news@1`" in steps(version())


def test_undecided_asks_for_as_many_labels_as_would_decide() -> None:
    assert "Label about 90 to 240 more texts from new sources (the lower" in steps(
        decided("inconclusive", more_labels=MoreLabels(even=90, likely=240))
    )


def test_too_few_groups_asks_for_groups_instead_of_labels() -> None:
    few = decided("inconclusive", few_groups=3, difference=Interval(0.2))
    assert "Label texts of at least 2 more groups" in steps(few)
    assert "(difference 0.20: too few groups to tell)" in conclusion_words(few)


def test_the_offline_judge_is_said_to_be_none_and_a_language_model_is_the_first_step() -> None:
    offline = decided("not better", judge="embedded")
    assert "Offline judge: the criteria were rated by text features" in macro("offline_banner", offline)
    assert steps(offline).startswith("Use a language model: `rubriclab learn … --judge MODEL`.")
    assert "embedded (offline, no language model)" in conclusion_words(offline)
    assert not macro("offline_banner", decided("not better")).strip()
    assert "Score with the baseline instead" in steps(decided("not better"))


def against(direct: GateVerdict, free: Any = "better") -> Version:
    """Return a version compared with the judge asked directly, and by this outcome with a free baseline."""
    baseline = GateVerdict(against="all text features", outcome=free, difference=Interval(0.28, 0.07, 0.49))
    calibrated = joint_trust().verdicts[2]
    return joint_version(validation=joint_trust(verdicts=(baseline, direct, calibrated)))


def test_the_verdict_compares_first_with_the_same_judge_asked_directly() -> None:
    assert verdict(joint_version()) == (
        "Better than the same judge asked directly: mean absolute error 0.35 instead of 0.59 points (better), Pearson "
        "0.66 instead of 0.57 (inconclusive). Calibrated on the same labels, the plain question has an error of 0.37 "
        "(not better). The best free baseline is a model of all text features, Pearson 0.38 (difference 0.28 [0.07, "
        "0.49]: better)."
    )
    assert conclusion_words(joint_version()).startswith(f"BETTER{verdict(joint_version())[6:]}")


def test_the_verdict_names_the_free_baseline_where_that_is_what_the_rubric_does_not_beat() -> None:
    words = verdict(against(against_direct("better", Interval(0.24, 0.1, 0.38)), free="not better"))
    assert words.startswith(
        "Not better than the best free baseline. Compared with the same judge asked directly: mean absolute error 0.35 "
        "instead of 0.59 points (better), "
    )
    assert words.endswith("is a model of all text features, Pearson 0.38 (difference 0.28 [0.07, 0.49]: not better).")


def test_without_errors_and_with_a_loss_the_verdict_says_so() -> None:
    worse = against(against_direct(None, None, outcome="not better", difference=Interval(-0.1, -0.2, -0.05)))
    assert "than the same judge asked directly: Pearson 0.66 instead of 0.57 (worse). The best free" in verdict(worse)
    few = against(against_direct(None, None, difference=Interval(0.1), few_groups=3))
    assert "Pearson 0.66 instead of 0.57 (too few groups to tell)." in verdict(few)
    assert "Label texts of at least 2 more groups" in steps(few)


def test_a_rubric_that_is_not_better_is_kept_for_its_reasons_only() -> None:
    same = against(against_direct(None, None, outcome="not better", difference=Interval(0.01, -0.01, 0.03)))
    assert "a gain of 0.05 or more is ruled out" in steps(same)
    assert "`rubriclab learn … --method direct` makes a version that scores without a rubric" in steps(same)
    worse = against(against_direct(None, None, outcome="not better", difference=Interval(-0.1, -0.2, -0.05)))
    assert "which agrees better" in steps(worse)
    assert "without a rubric" not in steps(joint_version())


def test_where_only_the_error_is_undecided_no_number_of_labels_is_promised() -> None:
    gain = Interval(0.1, -0.1, 0.3)
    undecided = against(
        against_direct("inconclusive", gain, outcome="not better", difference=Interval(0.0, -0.02, 0.02))
    )
    assert "Label more texts from new sources: these cannot tell the errors apart" in steps(undecided)


def test_an_edited_version_says_who_edited_it_and_its_agreement_beside_its_parents() -> None:
    effect = Interval(-0.01, -0.03, 0.01)
    edit = EditOrigin(
        author="lead",
        because="order",
        changes=(),
        labels=30,
        folds=6,
        before=Interval(0.66, 0.5, 0.8),
        after=Interval(0.65, 0.5, 0.8),
        difference=effect,
    )
    learned = joint_version(parent="news@2")
    edited = replace(learned, provenance=learned.provenance.model_copy(update={"edit": edit}))
    words = conclusion_words(edited)
    assert (
        "Edited by lead from news@2: held-out Pearson 0.66 before, 0.65 after on the same 30 labels, difference -0.01"
        in words
    )
    assert "optimistic if the edit was made with these labels in view" in words


def test_a_rubric_not_compared_with_the_judge_alone_says_so() -> None:
    words = conclusion_words(decided("better"))
    assert "Not compared with the same judge asked directly, as it was not asked while learning." in words
    assert "evaluate both: `rubriclab learn … --method direct`" in steps(decided("better"))


def test_questions_stand_with_their_sub_dimension_in_the_order_of_the_rubric() -> None:
    part = checklist_part(
        question("a", "order"), question("b", "links"), question("c", "style"), question("d", "order")
    )
    assert [(name, definition[:10], [one.id for one in group]) for name, definition, group in sub_dimensions(part)] == [
        ("order", "Things are", ["a", "d"]),
        ("links", "Neighbouri", ["b"]),
        ("style", "", ["c"]),
    ]


def test_a_part_without_questions_has_no_sub_dimension() -> None:
    assert sub_dimensions(Part(method="seeval", settings={}, criteria=(overall("Why."),))) == []


def test_what_was_dropped_stands_in_one_table_with_its_reason() -> None:
    shown = words_of(View(macro("contents", version(parts=(checklist_part(),)).rubric), unfolded=True), 200)
    assert "3 more criteria considered and dropped" in shown
    assert all(f"{each.criterion.id} " in shown and each.reason in shown for each in LEFT_OUT)


VERDICTS = Scale(low=0, high=1, whole=False, names=("bad", "good"))


@pytest.mark.parametrize(
    ("scale", "named", "measure"),
    [(None, "Pearson", "Pearson"), (VERDICTS, "correlation with passing", "point-biserial")],
)
def test_correlations_of_criteria_are_named_for_the_scale_and_said_once_to_be_with_the_labels_that_chose_them(
    scale: Scale | None, named: str, measure: str
) -> None:
    fields: dict[str, Any] = {"scale": scale} if scale else {}
    one = version(**fields)
    shown = " ".join(words_of(View(macro("contents", one.rubric), unfolded=True), 200).split())
    assert shown.count("by which the criteria were also chosen, so optimistic.") == 1
    assert f"{named} 0.61 on 29 training texts" in shown
    assert measure in shown
    assert ("Pearson" in shown) == (scale is None)


def test_correlations_with_labels_that_chose_no_criteria_are_not_marked() -> None:
    one = version()
    assert one.provenance.agreement
    measured = one.provenance.agreement.model_copy(update={"optimistic": False})
    assert "optimistic" not in words_of(View(macro("contents", one.rubric, measured), unfolded=True), 200)


def test_a_rubric_says_what_it_consists_of() -> None:
    assert wording.contents([criterion()]) == "1 criterion"
    assert wording.contents([criterion("h1"), criterion("h2")]) == "2 criteria"
    assert wording.contents(QUESTIONS) == "4 questions in 2 sub-dimensions"
    assert wording.contents([question("a")]) == "1 question in 1 sub-dimension"
    assert wording.contents([overall("Why.")]) == "1 score of the whole aspect"
    assert wording.contents([overall("Why."), criterion()]) == "1 graded criterion and 1 score of the whole aspect"


@pytest.mark.parametrize(
    ("judged", "missing", "answers", "said"),
    [
        (30, 0, {"yes": 30}, "30 yes, 0 no"),
        (29, 1, {"n/a": 4, "no": 5, "yes": 20}, "20 yes, 5 no, 4 n/a, 1 missing"),
        # Where a text that cannot be asked about has no rating, it is still an answer and nothing that is missing.
        (25, 5, {"n/a": 4, "no": 5, "yes": 20}, "20 yes, 5 no, 4 n/a, 1 missing"),
        (0, 0, None, ""),
    ],
)
def test_answers_are_counted_with_those_that_are_missing(
    judged: int, missing: int, answers: dict[str, int] | None, said: str
) -> None:
    found = Evidence(origin="seed questions", judged=judged, missing=missing, answers=answers)
    assert wording.answers(found) == said


def test_a_criterion_that_was_never_rated_has_no_figure() -> None:
    assert wording.training_correlation(Evidence(origin="literature"), "Pearson") == "not rated on the training texts"
    assert wording.evaluator_agreement(overall("Why.", evidence=Evidence(origin="definition")), "Pearson") == ""


@pytest.mark.parametrize(
    ("asked", "score", "applies", "said"),
    [
        (question("a"), 1.0, True, "yes"),
        (question("a"), 0.0, True, "no"),
        (question("a", better="no"), 1.0, True, "no"),
        (question("a", better="no"), 0.0, True, "yes"),
        (question("a"), None, False, "n/a"),
        (question("a"), None, True, "none"),
        (question("a"), 0.5, True, "0.5"),
        (criterion(), 1.0, True, "1"),
        (criterion(), None, True, "none"),
        (None, 0.0, True, "0"),
    ],
)
def test_an_answer_is_shown_as_it_was_given(
    asked: Criterion | None, score: float | None, applies: bool, said: str
) -> None:
    assert wording.answered(CriterionRating("a", score, "", applies), asked) == said


def test_a_rubric_without_figures_is_shown_without_them() -> None:
    part = Part(method="hypoeval", settings={"k": 10}, criteria=(criterion(),))
    bare = version(agreement=None, baseline=None, parent=None, model_versions=(), tags=(), parts=(part,))
    words = words_of(version_view(bare))
    assert "Agreement with the labels It was not measured when this version was made" in words
    assert "No other criteria were considered." in words
    for absent in ("Spearman", "baseline", "parent"):
        assert absent not in words


def test_weights_of_questions_are_shown_where_they_differ() -> None:
    words = words_of(version_view(checklist(1, question("a", weight=0.5), question("b", weight=2))))
    assert "Does the summary pass the test a? weight 0.5; seed" in words
    assert "Does the summary pass the test b? weight 2; seed" in words
    even = words_of(version_view(checklist(1, question("a", weight=2), question("b", weight=2))))
    assert "weight" not in even


def test_answers_are_counted_with_evidence_only() -> None:
    words = words_of(evidence_view(checklist()))
    assert words.count("20 yes, 7 no, 1 n/a, 2 missing; Pearson 0.31") == 4
    assert "20 yes" not in words_of(version_view(checklist()))


def test_labels_that_only_chose_make_an_honest_figure_of_the_cross_validated_one() -> None:
    words = words_of(version_view(checklist()))
    assert "Spearman 0.71 [0.52, 0.83], optimistic: the same labels selected the criteria" in words
    assert "cross-validated Spearman 0.44 [-0.12, 0.66] over groups" in words
    assert "still optimistic" not in words


def test_a_rubric_made_without_labels_does_not_speak_of_them() -> None:
    words = words_of(evidence_view(unlabelled()))
    assert "learned from no labelled texts, with seed" in words
    assert "origin definition" in words
    for absent in ("0 texts", "0 groups", "baseline", "training texts", "Pearson", "optimistic"):
        assert absent not in words


def test_cross_validated_figures_of_criteria_proposed_from_labels_are_marked_in_lists_and_differences() -> None:
    mark = "cross-validated (optimistic: labels of all groups helped to propose the criteria)"
    proposed = version()
    unmeasured = version(2, agreement=None)
    for view in (names_view([proposed]), log_view([proposed]), compare(unmeasured, proposed).view()):
        assert mark in words_of(view, 400)
    assert mark not in words_of(names_view([checklist()]), 400)


def test_a_list_says_what_was_not_measured() -> None:
    words = words_of(names_view([checklist(), explained(), unlabelled()]), 200)
    assert "checks@1 coherence not validated 0.44 [-0.12, 0.66] 30" in words
    assert "Agreement of checks@1: Spearman, over all texts, cross-validated, with its 95 % interval." in words
    assert "told@1 coherence not validated 0.42 [0.21, 0.67] 30" in words
    assert "Agreement of told@1: Spearman, over all texts, on labels not learned from" in words
    assert "plain@1 coherence not validated not measured" in words


def test_list_log_show_and_gate_give_the_same_figure_and_say_which() -> None:
    one = joint_version()
    for view in (names_view([one]), log_view([one])):
        assert "0.66 [0.47, 0.81]" in (words := words_of(view, 200))
        assert "Pearson, over all texts, cross-validated" in words
    for words in (words_of(version_view(one)), words_of(gate_view(one, joint_trust()))):
        assert "Pearson 0.66 [0.47, 0.81] over all texts, cross-validated on its 30 training texts" in words


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
            (CriterionRating("f1", 0.5, "Half.", units=verdicts()),),
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
    assert re.search(r"linked sentences +19 % \[14, 25\]", text)
    assert re.search(r"repeated phrases +-5 % \[-10, 1\]", text)
    assert re.search(r"h01 .* +100 % +0\.61", text)
    assert re.search(r"repeated_trigrams .* +65 % +-0\.36", text)
    text = text[text.index("\nThe rubric") :]
    ranked = sorted(WEIGHTS, key=lambda name: -abs(WEIGHTS[name]))
    places = [re.search(rf"\n *{name}\b", text).start() for name in ranked]
    assert places == sorted(places)
    assert re.search(r"linked sentences h01 19 % \[14, 25\] Nothing of it: .*? Full linked sentences", page.reading)
    assert "−5 % [−10, 1]" in page.reading
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
    assert "h04" not in page.reading[start : page.reading.index("Wording", start)]


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
    for title in ("Each dot is a labelled text", "Largest disagreements"):
        assert title not in page.reading


def test_texts_without_held_out_scores_are_neither_drawn_nor_compared() -> None:
    record = joint_record()
    texts = tuple(t.model_copy(update={"predicted": None, "low": None, "high": None}) for t in record.texts)
    page = Page(training_report(joint_version(), record.model_copy(update={"texts": texts})))
    for title in ("Each dot is a labelled text", "Largest disagreements"):
        assert title not in page.reading


def test_the_matrix_has_kept_criteria_first_and_says_what_is_missing() -> None:
    text = printed(matrix_view(joint_version(), joint_record()), 200)
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
    assert re.search(r"a +2 +none +none", printed(matrix_view(joint_version(), record)))


def test_there_is_a_row_for_each_text_and_criterion() -> None:
    record = joint_record()
    rows = list(matrix_rows(record))
    assert len(rows) == 30 * 12
    assert [row["criterion"] for row in rows[:12]][-3:] == ["h04", "q04", "q05"]
    assert len({(row["text"], row["criterion"]) for row in rows}) == len(rows)


def test_each_row_says_what_was_found_or_why_nothing_was() -> None:
    rows = {(row["text"], row["criterion"]): row for row in matrix_rows(joint_record())}
    missing, inapplicable = rows["school-1", "h02"], rows["harbour-0", "q01"]
    assert (missing["state"], missing["score"], missing["reason"]) == ("missing", None, "The reply was cut off.")
    assert (inapplicable["state"], inapplicable["reason"]) == ("does not apply", "It has no pronoun.")
    assert rows["harbour-0", "h01"]["state"] == "scored"
    assert rows["harbour-0", "h04"]["kept"] is False


AGREEMENT, ERROR = (
    "0.66 [0.47, 0.81]",
    "mean absolute error 0.35 [0.25, 0.45] points, bias +0.02, 93 % within one point",
)

BRIEF_ERROR = "93 % of the scores lie within one point of the label, with a bias of +0.02."


@pytest.fixture(scope="module")
def shown_views(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What each page and command shows of one rubric."""
    commands = Commands(tmp_path_factory.mktemp("shown_views"), RUBRICLAB_STORE="store.db")
    one = joint_version()
    with open_store(commands.folder / "store.db") as store:
        store.save("news", one.rubric, one.provenance, one.effort, training=joint_record())
    studio = summary(one)
    assert studio["agreement"]
    asked = (("list",), ("log", "news"), ("show", "news"), ("show", "news", "--evidence"), ("gate", "news"))
    printed = {" ".join(arguments): " ".join(commands(*arguments).out.split()) for arguments in asked}
    row = (studio["verdict"], studio["comparisons"], estimate(studio["agreement"]), studio["errors"])
    return printed | {
        "learn": words_of(learned_view(one), 200),
        "report": Page(commands("report", "news").out).reading.replace("−", "-"),
        "page of the studio": words_of(overview(one), 200),
        "list of the studio": " ".join(row),
    }


def test_every_page_and_command_has_one_verdict_one_agreement_and_one_error(shown_views: Mapping[str, str]) -> None:
    sentence = verdict(joint_version()).partition(" ")[2]
    for name, words in shown_views.items():
        assert sentence in words, name
        assert AGREEMENT in words or re.search(r"this rubric 0\.66 0\.35", words), name
        assert set(re.findall(r"scores reach Pearson (\S+ \[[^]]+\])", words)) <= {AGREEMENT}, name
        assert set(re.findall(r"on held-out labels (\S+ \[[^]]+\])", words)) <= {AGREEMENT}, name
        assert ERROR in words or BRIEF_ERROR in words or name == "list", name


def test_the_context_of_a_text_stands_beside_it_before_the_details() -> None:
    record = joint_record()
    texts = tuple(text.model_copy(update={"context": f"What about {text.id}?"}) for text in record.texts)
    page = Page(training_report(joint_version(), record.model_copy(update={"texts": texts})))
    first = find_disagreements(record)[0].text
    assert f"Context What about {first.id}? Text {first.output}" in page.reading

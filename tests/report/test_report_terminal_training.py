"""What learning ends with in a terminal, a combined rubric in brief, and the matrix that it was chosen from."""

from __future__ import annotations

import re

import pytest
from joint_samples import WEIGHTS, hostile_joint, joint_record, joint_trust, joint_version
from kinds_samples import QUESTIONS
from pages import Page
from report_samples import printed, version, words_of
from rich.cells import cell_len

from rubriclab.report.matrix import matrix_view
from rubriclab.report.training import training_report, training_view
from rubriclab.report.version import version_view
from rubriclab.training_record import Candidate, Cell, RecordedText, TrainingRecord
from rubriclab.validation import EvaluatorAgreement, GateVerdict, Interval

HOSTILE = "[red]no markup[/red] \x1b[31mred\x1b]8;;http://x.example\x07 \u202eright\u2066 \x00 \r gone" + "W" * 120


def test_the_page_begins_with_the_verdict() -> None:
    words = words_of(training_view(joint_version()))
    assert words.startswith("news@3: Better than all surface measures by 0.28 [0.07, 0.49], on 30 held-out labels.")
    assert "Beside others differences in held-out Pearson; the verdict above decides alone" in words


def test_other_verdicts_stand_in_one_table() -> None:
    words = words_of(training_view(joint_version()), 120)
    assert "direct 0.09 [-0.04, 0.20]" in words
    assert "Inconclusive against" not in words


def test_differences_without_an_interval_are_shown_with_the_reason() -> None:
    few = tuple(
        GateVerdict(against=each.against, outcome="inconclusive", difference=Interval(value=0.2), few_groups=3)
        for each in joint_trust().verdicts
    )
    words = words_of(training_view(joint_version(validation=joint_trust(verdicts=few))), 120)
    assert (
        "difference is 0.20; too few groups (3) to tell, labels from at least 5 would, on 30 held-out labels." in words
    )
    assert "direct 0.20" in words


def test_an_unknown_error_of_a_price_is_said_to_be_so() -> None:
    validation = joint_trust()
    unknown = tuple(point.model_copy(update={"error": None}) for point in validation.frontier)
    found = joint_version(validation=validation.model_copy(update={"frontier": unknown}))
    assert "0.58 ± undefined" in words_of(training_view(found), 120)
    assert "0.58 ± undefined" in Page(training_report(found, None)).reading


def test_every_evaluator_has_both_figures_and_its_price_and_floors_stand_apart() -> None:
    view = printed(training_view(joint_version()))
    assert re.search(r"this rubric +0\.61 \[0\.42, 0\.76\] +0\.66 \[0\.47, 0\.81\] +4\n", view)
    places = [view.index(f"\n{name}") for name in ("this rubric", "at a price:", "hypoeval", "floors:", "word count")]
    assert places == sorted(places)
    assert re.search(r"ceiling, as raters differ +0\.87", view)


def test_floors_stay_below_the_rest_where_they_agree_better() -> None:
    validation = joint_trust()
    rubric, *others = validation.evaluators
    mixed = validation.model_copy(update={"evaluators": (rubric, *reversed(others))})
    view = printed(training_view(joint_version(validation=mixed)))
    assert view.count("floors:") == 1
    assert view.index("\nhypoeval") < view.index("floors:") < view.index("\nword count")


def test_wide_figures_stand_above_their_intervals_and_fit() -> None:
    validation = joint_trust()
    negative = validation.evaluators[0].spearman.model_copy(update={"value": -0.5, "low": -0.7, "high": -0.2})
    worse = validation.evaluators[0].model_copy(update={"spearman": negative})
    found = validation.model_copy(update={"evaluators": (worse, *validation.evaluators[1:])})
    view = printed(training_view(joint_version(validation=found)))
    assert re.search(r"this rubric +-0\.50 +0\.66 +4 *\n +\[-0\.70, -0\.20\]", view)


def test_optimism_is_told_beside_the_held_out_figure() -> None:
    words = words_of(training_view(joint_version()))
    assert "fitted to, the rubric reaches Pearson 0.78 [0.59, 0.93], on labels that were held out 0.66" in words
    assert "the first flatters by 0.12." in words


def test_a_rubric_that_fits_its_labels_no_better_is_not_said_to_flatter() -> None:
    validation = joint_trust(training=joint_trust().evaluators[0])
    assert "flatters" not in words_of(training_view(joint_version(validation=validation)))


def test_criteria_stand_by_weight_with_interval_and_how_often_they_were_chosen() -> None:
    view = printed(training_view(joint_version()))
    assert re.search(r"h01  linked sentences +19 % \[14, 25\] +100 % +0\.61", view)
    assert re.search(r"repeated_trigrams  repeated phrases +-5 % \[-10, 1\] +65 % +-0\.36", view)
    ranked = sorted(WEIGHTS, key=lambda name: -abs(WEIGHTS[name]))
    places = [view.index(f"\n{name}  ") for name in ranked]
    assert places == sorted(places)
    assert "3 more criteria considered and left out" in words_of(training_view(joint_version()))


def test_the_interval_of_weights_is_called_what_it_is() -> None:
    assert "with its posterior interval;" in words_of(training_view(joint_version()))
    trained = joint_version(settings={"joint": {"confidence": 0.8}})
    assert "with its 80 % posterior interval;" in words_of(training_view(trained))
    assert "with its 80 % posterior interval;" in Page(training_report(trained, None)).reading


def test_a_shortcut_is_marked_by_what_goes_furthest_beyond_the_raters() -> None:
    view = training_view(joint_version())
    assert "! shortcut: follows length more than the raters do" in words_of(view)
    assert printed(view).count("! shortcut") == 1
    assert re.search(r"\n! h03 +0\.34 +0\.14 +0\.58", printed(view))


def test_what_leaving_out_shortcuts_cost_is_said_where_it_was_asked_for() -> None:
    assert "which cost 0.03 in held-out Pearson over all texts" in words_of(
        training_view(joint_version(validation=joint_trust(forgone=0.03)))
    )


def test_the_frontier_marks_the_rubric_and_the_smallest_that_is_nearly_as_good() -> None:
    words = words_of(training_view(joint_version()), 120)
    assert "2 0.62 ± 0.08 more criteria (6 criteria) smallest within one standard error" in words
    assert re.search("4 0.66 ± 0.07 more criteria .9 criteria. this rubric", words)


def test_raters_are_told_with_severity_and_whether_one_could_be_replaced() -> None:
    words = words_of(training_view(joint_version()))
    assert "ben 30 -0.31 [-0.51, -0.11] 0.72 0.58" in words
    assert "does as well as 2 of 3 raters, with an average advantage probability of 0.71, so it could replace" in words


def test_what_is_not_known_is_left_out() -> None:
    bare = joint_trust(raters=None, shortcuts=(), frontier=())
    view = printed(training_view(joint_version(validation=bare)))
    for word in ("ceiling", "Raters", "Shortcuts", "Accuracy at a price", "! "):
        assert word not in view
    assert "Scoring takes 4 calls per text." in view


def test_a_version_that_was_not_tested_has_no_such_page() -> None:
    with pytest.raises(ValueError, match="got news@1, which was not"):
        training_view(version())


def test_a_combined_rubric_is_shown_with_weights_and_the_gate_in_brief() -> None:
    words = words_of(version_view(joint_version()))
    for part in (
        "Agreement with people held out Better than all surface measures by 0.28",
        "Pearson 0.66 [0.47, 0.81]; 0.78 with the labels it was fitted to",
        "best floor all surface measures, Pearson 0.38 [0.19, 0.53]",
        "ceiling Pearson 0.87",
        "calls 4 per text",
        "h01 linked sentences weight 19 % [14, 25], chosen in 100 % of resamples; Pearson 0.61 on 30 training texts",
        "(no is better) weight 14 % [9, 20], chosen in 92 % of resamples; seed",
        "1 surface measure method surface repeated_trigrams repeated phrases weight -5 % [-10, 1]",
    ):
        assert part in words
    assert "optimistic" not in words


@pytest.mark.parametrize("width", [40, 80, 200])
def test_every_view_keeps_to_the_terminal_and_no_words_act_on_it(width: int) -> None:
    evil, record = hostile_joint(HOSTILE)
    for view in (training_view(evil), version_view(evil), matrix_view(record), matrix_view(joint_record())):
        shown = printed(view, width)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", shown)
        assert max(cell_len(line) for line in shown.splitlines()) <= width


def test_the_matrix_has_kept_criteria_first_and_says_what_is_missing() -> None:
    view = printed(matrix_view(joint_record()))
    assert "30 labelled texts by 12 candidate criteria  9 kept, which come first" in view
    header = next(line for line in view.splitlines() if line.startswith("text"))
    assert header.split()[:10] == ["text", "label", "rubric", "h01", "h02", "h03", "q01", "q02", "q03", "e1"]
    assert re.search(r"harbour-0 +5 +4\.37 +5 +5 +5 +n/a +no", view)
    assert re.search(r"school-1 +3\.33 +3\.76 +3 +none", view)
    assert "h04 a clear end hypoeval; not kept" in words_of(matrix_view(joint_record()))


def test_a_wide_terminal_holds_the_matrix_in_one_table() -> None:
    narrow, wide = (printed(matrix_view(joint_record()), width).count("\nharbour-0") for width in (50, 200))
    assert (narrow, wide) == (5, 1)


def test_a_matrix_of_one_text_without_prediction_is_shown() -> None:
    asked = QUESTIONS[0]
    record = TrainingRecord(
        texts=(RecordedText(id="a", group="a", output="A.", label=2.0),),
        candidates=(Candidate(method="checkeval", criterion=asked, kept=False),),
        cells=((Cell(score=None, reason="Cut off."),),),
    )
    assert re.search(r"a +2 +none +none", printed(matrix_view(record)))


def test_an_undefined_rubric_is_told_as_such() -> None:
    validation = joint_trust()
    ours = validation.evaluators[0].model_copy(
        update={
            "pearson": validation.evaluators[0].pearson.model_copy(update={"value": None, "low": None, "high": None})
        }
    )
    found = validation.model_copy(
        update={"evaluators": (EvaluatorAgreement.model_validate(ours), *validation.evaluators[1:])}
    )
    words = words_of(training_view(joint_version(validation=found)))
    assert "on labels that were held out undefined." in words

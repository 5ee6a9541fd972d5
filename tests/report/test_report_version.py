"""What a version says of itself, and what it leaves out where nothing is known."""

from __future__ import annotations

from joint_samples import joint_trust, joint_version
from kinds_samples import checklist, explained, question, unlabelled
from report_samples import criterion, version, words_of

from rubriclab.models.rubric import Part
from rubriclab.report.results import log_view, names_view
from rubriclab.report.rubrics import evidence_view, gate_view, version_view
from rubriclab.store.diff import compare


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

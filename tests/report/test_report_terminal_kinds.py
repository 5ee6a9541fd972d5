"""Checklists, explanations and labelled texts in a terminal: shown, listed, and compared."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds_samples import (
    EXPLANATION,
    QUESTIONS,
    checklist,
    demonstration,
    explained,
    hostile_kinds,
    overall,
    question,
    shown,
    unlabelled,
)
from report_samples import printed, version, words_of
from rich.cells import cell_len
from rich.console import RenderableType

from rubriclab.report.difference import difference_view
from rubriclab.report.lists import log_view, names_view
from rubriclab.report.version import version_view
from rubriclab.rubric import DroppedCriterion, Evidence, Part
from rubriclab.store.diff import compare

ACTING = {"Cc", "Cs", "Zl", "Zp"}


def lines_of(view: RenderableType, width: int = 80) -> list[str]:
    """Return the lines of a view without the spaces behind them."""
    return [line.rstrip() for line in printed(view, width).splitlines()]


def block(lines: list[str], first: str) -> list[str]:
    """Return the lines from `first` to the next empty one."""
    rest = lines[lines.index(first) :]
    return rest[: rest.index("")] if "" in rest else rest


def every_view(words: str) -> Iterator[RenderableType]:
    evil = hostile_kinds(words)
    yield version_view(evil)
    yield version_view(evil, evidence=True)
    yield log_view([evil])
    for other in (checklist(), explained(), shown()):
        yield difference_view(compare(evil, other))
        yield difference_view(compare(other, evil))
    near = hostile_kinds(f"{words}\nand more of it")
    yield difference_view(compare(evil, near))


def test_a_checklist_stands_by_sub_dimension_with_one_question_a_line() -> None:
    lines = lines_of(version_view(checklist()))
    assert "4 questions in 2 sub-dimensions  method checkeval" in lines
    assert block(lines, "links") == [
        "links",
        "Neighbouring sentences are connected.",
        "  s01     Does each sentence take up an earlier one?  seed",
        "  s01-d1  Is every pronoun clear?  diversified from s01",
    ]
    assert block(lines, "order") == [
        "order",
        "Things are told in a sequence that can be followed.",
        "  s02     Does the summary start afresh anywhere? (no is better)  seed",
        "  s02-e1  Do causes come first?  elaborated from s02",
    ]
    assert "weight" not in "\n".join(lines)


def test_weights_of_questions_are_shown_where_they_differ() -> None:
    told = words_of(version_view(checklist(1, question("a", weight=0.5), question("b", weight=2))))
    assert "Does the summary pass the test a? weight 0.5; seed" in told
    assert "Does the summary pass the test b? weight 2; seed" in told
    even = words_of(version_view(checklist(1, question("a", weight=2), question("b", weight=2))))
    assert "weight" not in even


def test_answers_are_counted_with_evidence_only() -> None:
    told = words_of(version_view(checklist(), evidence=True))
    assert told.count("20 yes, 7 no, 1 n/a, 2 missing; Pearson 0.31") == 4 + 3
    assert "20 yes" not in words_of(version_view(checklist()))


def test_dropped_questions_stand_under_their_reason() -> None:
    lines = lines_of(version_view(checklist(), evidence=True))
    assert "Dropped: 3 questions" in lines
    assert [line for line in block(lines, "2 dropped: redundant") if "yes" not in line] == [
        "2 dropped: redundant",
        "  s01-d2  Are sentences linked?  asks what s01 asks; links; diversified from s01",
        "  s04     Are links shown?  asks what s01-d1 asks; links; seed",
    ]
    assert "  s03  Is it good?  order; seed" in block(lines, "1 dropped: vague")
    short = words_of(version_view(checklist()))
    assert "3 more questions considered and dropped; --evidence shows them" in short
    assert "redundant" not in short


def test_a_question_dropped_before_it_was_asked_has_no_figures() -> None:
    never = question("s09", statement="Is it fine?", evidence=Evidence(origin="seed questions"))
    part = Part(
        method="checkeval",
        settings={},
        criteria=QUESTIONS,
        dropped=(DroppedCriterion(criterion=never, reason="vague"),),
    )
    told = words_of(version_view(checklist(parts=(part,)), evidence=True))
    assert told.endswith("1 dropped: vague s09 Is it fine? links; seed")


def test_an_explanation_keeps_its_paragraphs_lists_and_indentation() -> None:
    lines = lines_of(version_view(explained()))
    first = lines.index("  Coherence asks me to read the summary as one piece.")
    assert lines[first - 1] == "  Pearson 0.45 on 30 training texts; held out 0.52"
    assert lines[first + 1 : first + 10] == [
        "",
        "  I look at:",
        "  1. how each sentence takes up the one before, which is to say whether a reader",
        "     is ever left to guess who is meant;",
        "  2. whether the order helps:",
        "     - causes before effects",
        "     - people before what they do",
        "",
        "  A 5 reads as one account.",
    ]


def test_many_empty_lines_are_one_and_windows_lines_are_lines() -> None:
    told = lines_of(version_view(explained(statement="One.\r\n\r\n \r\n\r\nTwo.\r\n")))
    first = told.index("  One.")
    assert told[first : first + 3] == ["  One.", "", "  Two."]


def test_a_judge_that_goes_by_the_definition_is_not_given_it_twice() -> None:
    told = words_of(version_view(unlabelled()))
    assert told.count("How well the sentences hang together.") == 1
    assert "The judge goes by the definition above." in told


def test_labels_without_a_part_in_it_are_not_called_optimistic() -> None:
    told = words_of(version_view(explained(), evidence=True))
    assert "Agreement with labels that had no part in it 30 texts Spearman 0.42 [0.21, 0.67] Pearson 0.40" in told
    assert "labelled texts 3 texts of 2 groups, with seed 114514" in told
    for word in ("optimistic", "re-selected", "learned from"):
        assert word not in told


def test_labels_that_only_chose_make_an_honest_figure_of_the_re_selected_one() -> None:
    told = words_of(version_view(checklist()))
    assert "Spearman 0.71 [0.52, 0.83], optimistic: the same labels chose the criteria" in told
    assert "Spearman 0.44 [-0.12, 0.66], each group by what the other groups' labels chose" in told
    assert "optimistic too" not in told


def test_a_rubric_made_without_labels_does_not_speak_of_them() -> None:
    told = words_of(version_view(unlabelled(), evidence=True))
    assert "learned from no labelled texts, with seed" in told
    assert "It was not measured when this version was made; `rubriclab evaluate` measures it." in told
    assert "origin definition" in told
    for word in ("0 texts", "0 groups", "Floor", "training texts", "Pearson", "optimistic"):
        assert word not in told


def test_texts_that_are_shown_are_shortened_with_their_scores_and_the_reader_is_warned() -> None:
    told = words_of(version_view(shown()))
    assert "The judge is shown 2 labelled texts with their sources, in full." in told
    assert "every pack of it hold them" in told
    assert "2 train-1 The text train-1. It goes on." in told
    assert "4.33 train-2 The text train-2." in told
    assert told.count("It goes on.") < 40
    assert "An article." not in told


def test_a_list_says_what_was_not_measured() -> None:
    rows = [line.split() for line in lines_of(names_view([checklist(), explained(), unlabelled()])) if "@" in line]
    assert [row[:5] for row in rows] == [
        ["checks@1", "coherence", "4", "0.44", "[-0.12,"],
        ["told@1", "coherence", "1", "0.42", "[0.21,"],
        ["plain@1", "coherence", "1", "not", "measured"],
    ]


def test_a_log_says_by_which_method_and_what_it_consists_of() -> None:
    told = words_of(log_view([checklist(), explained(), unlabelled()]))
    assert "method checkeval" in told
    assert "criteria 4 questions in 2 sub-dimensions; Spearman 0.44 [-0.12, 0.66] re-selected" in told
    assert "criteria 1 score of the whole aspect; Spearman 0.42 [0.21, 0.67] parent" in told
    assert "learned from no labelled texts, with seed 114514" in told
    assert "criteria 1 score of the whole aspect; agreement not measured" in told
    assert "hypotheses" not in told


def test_a_changed_explanation_is_compared_line_by_line() -> None:
    after = explained(2, EXPLANATION.replace("reads as one", "is one").replace("I look at:", "I look at this:"))
    lines = lines_of(difference_view(compare(explained(), after)))
    first = lines.index("  statement")
    assert lines[first + 1 :] == [
        "    - I look at:",
        "    + I look at this:",
        "      1. how each sentence takes up the one before, which is to say whether a",
        "      reader is ever left to guess who is meant;",
        "    …",
        "    - A 5 reads as one account.",
        "    + A 5 is one account.",
    ]


def test_a_change_of_white_space_alone_is_said_to_be_one() -> None:
    after = explained(2, EXPLANATION.replace("\n\n", "\n\n\n"))
    assert "statement white space only" in words_of(difference_view(compare(explained(), after)))


def test_rubrics_that_read_the_same_are_said_to_differ_in_something_else() -> None:
    other = Evidence(origin="prior knowledge", judged=3)
    after = explained(2, parts=(Part(method="seeval", settings={}, criteria=(overall(EXPLANATION, evidence=other),)),))
    assert "All of them read the same; it is their evidence" in words_of(difference_view(compare(explained(), after)))
    assert "read the same" not in words_of(difference_view(compare(explained(), explained(2))))


def test_questions_that_come_and_go_take_a_line_each() -> None:
    after = checklist(2, *QUESTIONS[:3], question("s09", "ends", statement="Has it an end?", better="no"))
    lines = lines_of(difference_view(compare(checklist(), after)))
    assert "- order: Do causes come first?" in lines
    assert "+ ends: Has it an end? (no is better)" in lines


def test_a_question_that_was_turned_round_is_named_with_what_turned() -> None:
    turned = QUESTIONS[0].model_copy(update={"question": question("x", better="no").question})
    told = words_of(difference_view(compare(checklist(), checklist(2, turned, *QUESTIONS[1:]))))
    assert "~ Does each sentence take up an earlier one? (no is better) 100 % alike better answer - yes + no" in told


def test_texts_shown_anew_are_shortened() -> None:
    told = words_of(difference_view(compare(shown(demonstration("a")), shown(demonstration("a"), demonstration("b")))))
    assert "demonstration b, output + The text b. It goes on." in told
    assert "demonstration b, score + 2.0" in told
    assert "demonstration a" not in told
    assert told.count("It goes on.") < 30


def test_figures_are_called_optimistic_only_where_labels_had_a_part() -> None:
    better = explained(2, agreement=version().provenance.agreement)
    mixed = words_of(difference_view(compare(explained(), better)))
    assert "optimistic; other labels give other figures" in mixed
    assert "Spearman, re-selected 0.42 [0.21, 0.67] 0.44" in mixed
    honest = words_of(difference_view(compare(unlabelled(), explained())))
    assert "Agreement with the training labels the labels had no part in it before after" in honest
    assert "Spearman not measured 0.42 [0.21, 0.67]" in honest
    assert "re-selected" not in honest


@settings(deadline=None, max_examples=12)
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(lambda t: t.strip()))
def test_no_words_of_a_checklist_or_an_explanation_act_or_leave_the_width(words: str) -> None:
    for view in every_view(words):
        told = printed(view)
        assert {c for c in told if unicodedata.category(c) in ACTING} <= {"\n"}
        assert max(map(cell_len, told.split("\n"))) <= 80


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(["", " ", "- a", "  12. b", "word " * 30, "\t\tdeep", " " * 60 + "x"]), min_size=1))
def test_an_explanation_of_any_shape_fits_and_loses_no_word(lines: list[str]) -> None:
    statement = "\n".join([*lines, "the end"])
    told = printed(version_view(explained(statement=statement)))
    assert max(map(cell_len, told.split("\n"))) <= 80
    # The last section is the statement alone.
    after = told[told.index("held out 0.52") + len("held out 0.52") : told.index("No other criterion")]
    assert after.split() == statement.split()


@pytest.mark.parametrize("width", [30, 200])
def test_checklists_and_explanations_fit_the_width(width: int) -> None:
    for one in (checklist(), explained(), shown(), unlabelled()):
        view = version_view(one, evidence=True)
        assert all(cell_len(line) <= width for line in printed(view, width).splitlines())


def test_markup_in_a_question_is_shown_and_not_obeyed() -> None:
    told = words_of(version_view(hostile_kinds("[red]not markup[/red] \x1b[31m \u202e"), evidence=True), 1000)
    assert "[red]not markup[/red] \\x1b[31m \\u202e" in told


def test_a_score_beside_questions_is_shown_too() -> None:
    both = checklist(parts=(Part(method="checkeval", settings={}, criteria=(overall("Why."), *QUESTIONS)),))
    told = words_of(version_view(both))
    assert "4 questions in 2 sub-dimensions and 1 score of the whole aspect method checkeval e1 coherence" in told
    assert "links s01 Does each" in told

"""Scores and comments of another tool become annotations and reasons of rows."""

from __future__ import annotations

from rubriclab.integrations.annotations import Annotation, annotated_rows

WHY = "It answers the question and says why."


def test_comments_are_reasons_of_the_scores_of_their_rater_and_no_scores() -> None:
    given = [
        Annotation("a", "tone", 4.0, "anna"),
        Annotation("a", "comment", WHY, "anna"),
        Annotation("a", "comment", "fine", "ben"),
        Annotation("a", "tone", "good", "ben", "Polite."),
        Annotation("a", "length", 2.0, "ben"),
        Annotation("a", "why this tone?", "warm\nand short", "ben"),
        Annotation("b", "comment", "short", "anna"),
        Annotation("b", "comment", "shorter", None),
        Annotation("b", "tone", 3.0, "ben"),
    ]
    assert annotated_rows([{"id": "a"}, {"id": "b"}, {"id": "c"}], given) == [
        {
            "id": "a",
            "annotations": {"tone": {"anna": 4.0, "ben": "good"}, "length": {"ben": 2.0}},
            "reasons": {"tone": {"anna": WHY, "ben": "Polite.\nfine\nwarm\nand short"}, "length": {"ben": "fine"}},
        },
        {
            "id": "b",
            "annotations": {"tone": {"ben": 3.0}},
            "answers": {"comment": {"anna": "short", "": "shorter"}},
        },
        {"id": "c"},
    ]


def test_short_comments_under_a_name_of_comments_are_no_scores() -> None:
    given = [Annotation("a", "tone", 4.0, "anna"), Annotation("a", "tone_reason", "good", "anna")]
    assert annotated_rows([{"id": "a"}], given)[0]["reasons"] == {"tone": {"anna": "good"}}
    given = [Annotation("a", "reasoning", "good", "anna")]
    assert annotated_rows([{"id": "a"}], given)[0]["annotations"] == {"reasoning": {"anna": "good"}}


def test_of_several_comments_of_a_rater_the_last_one_counts() -> None:
    given = [
        Annotation("a", "comment", WHY, "anna"),
        Annotation("a", "comment", "late", "anna"),
        Annotation("a", "x", 1.0, "anna"),
    ]
    assert annotated_rows([{"id": "a"}], given)[0]["reasons"] == {"x": {"anna": "late"}}

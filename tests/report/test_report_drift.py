"""What a terminal says of drift."""

from __future__ import annotations

from drift_samples import compared, version

from rubriclab.learning.paired_scores import Comparison, DriftLimits
from rubriclab.report.results import comparison_view

ONE, OTHER = version({"a": 1}), version({"a": 1}, number=2)


def shown(found: Comparison) -> str:
    return " ".join(str(comparison_view(found)).split())


def test_it_says_what_moved_and_by_how_much() -> None:
    before, after = version({"a": 1, "b": 1}), version({"b": 1, "c": 3}, number=2)
    view = shown(compared(before, after, [{"a": 5.0, "b": 4.0, "c": 1.0}, {"a": 4.0, "b": 4.0, "c": 4.0}]))
    assert "news@1 with a to news@2 with a" in view
    assert "Texts that flip at 3 0 up, 1 down" in view
    assert "t0 4.5 1.75" in view
    assert "b 0.00 [0.00, 0.00] -0.25" in view
    assert "c -0.38 added" in view


def test_limits_come_first_each_with_its_figure() -> None:
    limits = DriftLimits(max_shift=0.1, max_flips=0.5, min_rank=0.5)
    view = str(
        comparison_view(
            compared(ONE, OTHER, [{"a": 2.0}, {"a": 4.0}], [{"a": 2.5}, {"a": 4.5}], limits=limits),
        )
    ).splitlines()
    place = next(number for number, line in enumerate(view) if "BEYOND THE LIMIT" in line)
    assert place < 4
    assert [line.strip() for line in view[place : place + 3]] == [
        "BEYOND THE LIMIT  the mean score moves by 0.5 points, limit 0.1",
        "WITHIN THE LIMIT  a share of 0 of the texts flips, limit 0.5",
        "WITHIN THE LIMIT  the rankings correlate by 1, limit 0.5",
    ]


def test_unscored_texts_are_said_with_a_reason() -> None:
    view = shown(compared(ONE, OTHER, [{"a": 4.0}, {"a": 2.0}], [{"a": 4.0}, {"a": None}]))
    assert "1 text scored by both, of 2 texts" in view
    assert "after: 1 text unscored: t1 has too few ratings" in view


def test_where_nothing_can_be_compared_it_says_so() -> None:
    view = shown(compared(ONE, OTHER, [{"a": 4.0}], [{"a": None}], limits=DriftLimits(min_rank=0.5)))
    assert "No text was scored by both sides" in view
    assert "INCONCLUSIVE the rankings correlate by an undefined figure" in view


def test_hostile_words_reach_no_terminal() -> None:
    evil = "\x1b[31m[bold]red[/bold]"
    after = version({"b": 1}, number=2, words={"b": evil})
    view = shown(compared(ONE, after, [{"a": 4.0, evil: 2.0}], judges=(evil, evil)))
    assert "\x1b" not in view
    assert "[bold]red[/bold]" in view

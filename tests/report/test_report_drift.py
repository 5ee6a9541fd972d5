"""What a terminal says of drift."""

from __future__ import annotations

from collections.abc import Sequence

from drift_samples import HUNDRED, paired, scorers, texts, version

from rubriclab.cli.printing import view_text
from rubriclab.comparison import DriftLimits, PairedScore, ScorerPair, check_limits, compare_scores
from rubriclab.comparison.drift import LISTED
from rubriclab.report.drift import drift_view

NAMES = ("a", "b", "c")


def shown(both: ScorerPair, pairs: Sequence[PairedScore], limits: DriftLimits | None = None) -> str:
    found = compare_scores(both, pairs)
    return view_text(drift_view(found, check_limits(found, limits or DriftLimits())))


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_it_says_what_moved_who_did_it_and_by_how_much() -> None:
    both = scorers(version({"a": 1, "b": 1}), version({"b": 1, "c": 3}, number=2))
    view = one_line(shown(both, paired(both, [{"a": 5.0, "b": 4.0, "c": 1.0}, {"a": 4.0, "b": 4.0, "c": 4.0}])))
    assert "news@1 with a to news@2 with a" in view
    assert "Texts that flip at 3 0 up, 1 down" in view
    assert "t0 4.5 1.75 c -1.50 (added), a -1.00 (removed), b -0.25" in view
    assert "change of each contribution to the score, in points" in view


def test_limits_come_first_each_with_its_figure() -> None:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2))
    pairs = paired(both, [{"a": 2.0}, {"a": 4.0}], [{"a": 2.5}, {"a": 4.5}])
    view = shown(both, pairs, DriftLimits(max_shift=0.1, max_flips=0.5, min_rank=0.5)).splitlines()
    place = view.index("")
    assert [line.strip() for line in view[place - 3 : place]] == [
        "Beyond the limit: the mean score moves by 0.5 points; --max-shift allows 0.1",
        "Within the limit: a share of 0 of the texts flips; --max-flips allows 0.5",
        "Within the limit: the rankings correlate by 1; --min-rank requires 0.5",
    ]


def test_unscored_texts_are_said_with_a_reason() -> None:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2))
    view = one_line(shown(both, paired(both, [{"a": 4.0}, {"a": 2.0}], [{"a": 4.0}, {"a": None}])))
    assert "1 text scored by both, of 2 texts" in view
    assert "unscored by news@2 with a, the latest reason: t1 has too few ratings" in view


def test_where_nothing_can_be_compared_it_says_so() -> None:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2))
    view = shown(both, paired(both, [{"a": 4.0}], [{"a": None}]), DriftLimits(min_rank=0.5))
    assert "No text was scored by both sides" in view
    assert "Inconclusive: the rankings correlate by an undefined figure" in view


def test_more_flips_than_are_named_are_counted() -> None:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2))
    view = shown(both, paired(both, [{"a": 2.0}] * (LISTED + 4), [{"a": 4.0}] * (LISTED + 4)))
    assert "4 more that changed less" in view


def test_without_weights_shares_stand_for_points() -> None:
    made = version({"a": 1, "b": 1}, combined=False)
    both = scorers(made, made, judges=("strict", "mild"))
    view = one_line(shown(both, paired(both, [{"a": 2.0, "b": 3.0}] * 2, [{"a": 4.0, "b": 3.0}] * 2)))
    assert "contributions are unknown" in view
    assert "a +50 %" in view
    assert "all texts" not in view


def test_figures_are_on_the_scale_before() -> None:
    both = scorers(version({"a": 1}, onto=HUNDRED), version({"a": 1}, number=2))
    assert "on 0 (lowest) to 100 (highest)" in one_line(shown(both, paired(both, texts(6, NAMES))))


def test_hostile_words_reach_no_terminal() -> None:
    evil = "\x1b[31m[bold]red[/bold]"
    both = scorers(version({"a": 1}), version({"b": 1}, number=2, words={"b": evil}), judges=(evil, evil))
    view = shown(both, paired(both, [{"a": 4.0, evil: 2.0}]))
    assert "\x1b" not in view
    assert "[bold]red[/bold]" in view

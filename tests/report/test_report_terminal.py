"""Every view in a terminal: pinned whole, within any width, and harmless whatever it says."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings, strategies as st
from markupsafe import Markup
from report_samples import explained, printed
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion
from view_samples import VIEWS, hostile, pinned

from rubriclab.report.elements import external, head, row
from rubriclab.report.render import View
from rubriclab.report.rubrics import version_view
from rubriclab.stats.intervals import Interval

HOSTILE = (
    "[red]not markup[/red] \x1b[31mred\x1b]8;;http://x.example\x07 \x9b2J \u202eright\u2066 \u2028 \ud83d :smile: "
    "\x00 \r \u6f22\u5b57 e\u0301"
)
SHOWN = (
    r"[red]notmarkup[/red]\x1b[31mred\x1b]8;;http://x.example\x07\x9b2J\u202eright\u2066\u2028\ud83d:smile:"
    "\\x00\\r\u6f22\u5b57e\u0301"
)
WIDE_WORD = "\u6f22" * 60
WIDE = Interval(-0.47, -0.61, -0.33)


def acting(text: str) -> set[str]:
    """Return the characters of `text` that a terminal would not simply show."""
    turning = {c for c in text if "\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069"}
    return turning | {c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} - {"\n"}


def widest(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_as_pinned(name: str, snapshot: SnapshotAssertion) -> None:
    assert pinned(name, lambda sample: str(sample()).splitlines(), VIEWS) == snapshot


def test_views_fit_a_narrow_window() -> None:
    for name, view in VIEWS.items():
        assert widest(printed(view(), 30)) <= 30, name


@pytest.mark.parametrize("name", VIEWS)
def test_hostile_words_are_shown_do_nothing_and_stay_within_the_width(name: str) -> None:
    shown = hostile(VIEWS[name], f"{HOSTILE} {WIDE_WORD}")
    text, narrow = printed(shown, 3000), printed(shown)
    assert acting(text) == acting(narrow) == set()
    assert SHOWN in "".join(text.split())
    assert widest(narrow) <= 80


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_digit_of_a_figure_is_cut_off(width: int) -> None:
    cells = row(external("a-rubric-with-a-long-name@12"), WIDE, WIDE, WIDE)
    text = printed(View(Markup("<table>{}{}</table>").format(head("", "+a", "+b", "+c"), cells)), width)
    assert "…" not in text
    assert widest(text) <= width
    assert text.count("-0.33]") == 3


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from(["", " ", "- a", "  12. b", "word " * 30, "\t\tdeep", " " * 60 + "x"]), min_size=1))
def test_an_explanation_of_any_shape_fits_and_loses_no_word(lines: list[str]) -> None:
    statement = "\n".join([*lines, "the end"])
    text = printed(version_view(explained(statement=statement)))
    assert widest(text) <= 80
    # The last section is the statement alone.
    after = text[text.index("cross-validated 0.52") + len("cross-validated 0.52") : text.index("No other criteria")]
    assert after.split() == statement.split()

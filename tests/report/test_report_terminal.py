from __future__ import annotations

import ast
import unicodedata
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import (
    criterion,
    examples,
    hostile_evaluation,
    hostile_version,
    interval,
    printed,
    results_of,
    scores_of,
    version,
    words_of,
)
from rich.cells import cell_len
from rich.console import Console, RenderableType

import rubriclab
from rubriclab.characters import is_blank
from rubriclab.evaluation import Result
from rubriclab.report.difference import difference_view
from rubriclab.report.evaluation import results_view
from rubriclab.report.lists import log_view, names_view, problems_view
from rubriclab.report.version import version_view
from rubriclab.rubric import Part
from rubriclab.stats import Agreement, IntervalEstimate
from rubriclab.store.diff import compare
from rubriclab.store.verify import Problem

Found = tuple[float | None, float | None, float | None]
HOSTILE = "[red]not markup[/red] \x1b[31mred\x1b]8;;http://x.example\x07 \x9b2J \u202eright\u2066 :smile: \x00 \r gone"


def every_view(words: str) -> dict[str, RenderableType]:
    """Return each view of things that say `words`."""
    evil = hostile_version(words)
    _, results, _, _ = hostile_evaluation(words)
    return {
        "version": version_view(evil, evidence=True),
        "results": results_view(results),
        "names": names_view([evil]),
        "log": log_view([evil]),
        "difference": difference_view(compare(version(), evil)),
        "removal": difference_view(compare(evil, version())),
        "problems": problems_view([Problem(words, words)]),
    }


def test_a_rubric_is_shown_whole() -> None:
    shown = words_of(version_view(version()))
    for part in (
        "news@1 production",
        "coherence: How well the sentences hang together.",
        "task summarization",
        "scale 1 (lowest) to 5 (highest), whole numbers only",
        "calibrated for gpt-4o-mini",
        "generator gpt-4o",
        "reported as gpt-4o-mini-2024-07-18",
        "learned from 3 texts of 2 groups, with seed 114514",
        "created 2026-11-21 22:40 UTC",
        "parent news@7",
        "412 calls (37 more answered from cache, 2 failed, 1 repaired), 9,000 + 0 tokens, cost unknown, 61 s",
        "Spearman 0.71 [0.52, 0.83], optimistic",
        "re-selected Spearman 0.44 [-0.12, 0.66], optimistic too",
        "the less number of words (words), the better: Pearson -0.31",
        "h01 linked sentences weight 1.5; Pearson 0.61 on 29 training texts, 1 missing",
        "Each sentence takes up the one before.",
        "1 loose sentences 5 a firm chain",
    ):
        assert part in shown


def test_a_digest_can_be_copied_from_80_columns() -> None:
    shown = version()
    assert shown.digest.removeprefix("sha256:") in printed(version_view(shown))


def test_without_evidence_it_is_said_where_the_dropped_criteria_are() -> None:
    shown = words_of(version_view(version()))
    assert "1 more criterion considered and dropped; --evidence shows them" in shown
    assert "final bank" not in shown
    assert "train-1" not in shown


def test_with_evidence_origin_rewards_and_dropped_criteria_are_shown() -> None:
    shown = words_of(version_view(version(), evidence=True))
    for part in (
        "origin labels and literature (2 texts and 1 finding), refined 2 times",
        "texts train-1, train-2",
        "findings sum-07",
        "█▄▂▁▁ reward 1.80 to 1.08 over 5 visits, of which utility 0.90 to 0.90",
        "Dropped: 1 criterion",
        "1 dropped: no place in the final bank of 20 h02 short words not rated on the training texts Words are short.",
    ):
        assert part in shown


def test_a_rubric_without_figures_is_shown_without_them() -> None:
    bare = version(agreement=None, baseline=None, parent=None, model_versions=(), tags=(), parts=_one_part())
    shown = words_of(version_view(bare))
    assert "Spearman" not in shown
    assert "Floor" not in shown
    assert "Agreement with people It was not measured when this version was made" in shown
    assert "No other criterion was considered." in shown
    assert "parent" not in shown


def test_results_stand_by_aspect_and_level_with_floors_set_apart() -> None:
    news, texts = version(), examples()
    scored = {news.ref: scores_of(news, texts, lambda number, text: text.scores["coherence"] + number % 3)}
    shown = printed(results_view(results_of([news], scored, texts)))
    lines = [line.strip() for line in shown.splitlines()]
    titles = [line for line in lines if line.startswith("coherence, ")]
    assert titles == ["coherence, within groups", "coherence, over all texts", "coherence, between systems"]
    first = lines[: lines.index("coherence, over all texts")]
    assert [line.split("  ")[0] for line in first if line.startswith(("news@1", "floors:", "word", "-words"))] == [
        "news@1",
        "floors:",
        "word count",
        "-words",
        "-words: best measure for news@1.",
    ]
    assert "All on 24 texts in 6 groups; no group with constant labels; none unscored." in " ".join(lines)


def test_figures_of_results_have_their_intervals() -> None:
    shown = printed(results_view([_result("news@1", (0.471, 0.412, 0.528))]))
    assert "0.47 [0.41, 0.53]  0.47 [0.41, 0.53]  0.47 [0.41, 0.53]" in shown


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_digit_of_a_figure_is_cut_off(width: int) -> None:
    rows = [
        _result("a-rubric-with-a-long-name@12", (-0.47, -0.61, -0.33)),
        _result("floor: word count", (0.1, -0.2, 0.3)),
    ]
    shown = printed(results_view(rows), width)
    assert "…" not in shown
    assert all(cell_len(line) <= width for line in shown.splitlines())
    assert shown.count("-0.33]") == 3
    if width == 80:
        assert shown.count("[-0.61, -0.33]") == 3


def test_unscored_texts_and_constant_groups_are_counted() -> None:
    found = _result("news@1", (0.4, 0.1, 0.6), unscored=3, constant_groups=2)
    shown = words_of(results_view([found, _result("floor: word count", (0.4, 0.1, 0.6), constant_groups=2)]))
    assert "news@1: 20 texts in 5 groups; 2 groups with constant labels left out; 3 texts unscored." in shown
    assert "word count: 20 texts in 5 groups; 2 groups with constant labels left out; none unscored." in shown


def test_an_undefined_figure_is_said_to_be_so() -> None:
    assert "undefined" in printed(results_view([_result("news@1", (None, None, None))]))


def test_nothing_to_show_is_said() -> None:
    for view in (results_view([]), names_view([]), log_view([]), problems_view([])):
        assert printed(view).strip()


def test_names_stand_in_one_line_each() -> None:
    shown = printed(names_view([version(), version(2, name="stories", agreement=None, tags=())]))
    rows = [line.split() for line in shown.splitlines() if "@" in line]
    assert rows == [
        ["news@1", "coherence", "2", "0.44", "[-0.12,", "0.66]", "production"],
        ["stories@2", "coherence", "2", "not", "measured"],
    ]


def test_a_log_keeps_its_order_and_says_what_each_version_is() -> None:
    shown = words_of(log_view([version(2), version(1, parent=None, judge="embedded", generator="embedded")]))
    assert shown.index("news@2") < shown.index("news@1")
    assert "judge gpt-4o-mini, generator gpt-4o" in shown
    assert "parent news@7" in shown
    assert "judge embedded learned from 3 texts of 2 groups, with seed 114514" in shown
    assert "parent none" in shown


def test_a_difference_names_every_change() -> None:
    before = version()
    reworded = criterion(statement="Each sentence takes up the last one.")
    after = version(
        2,
        seed=2,
        parts=_one_part(reworded, criterion("h09", "vivid verbs", statement="Verbs show the scene at hand.")),
        examples=tuple(f"new-{number:02}" for number in range(12)),
        data="sha256:" + "c" * 64,
        agreement=before.provenance.agreement.model_copy(update={"pearson": interval(0.5)}),  # type: ignore[union-attr]
    )
    shown = words_of(difference_view(compare(before, after)))
    for part in (
        "news@1 to news@2 The rubrics are different.",
        "seed 114514 2",
        "data sha256:bbbbbbbbbbbb sha256:cccccccccccc",
        "Pearson 0.68 [0.50, 0.80] 0.50",
        "0 unchanged, 1 changed, 1 added, 1 removed",
        "- a clear end",
        "+ vivid verbs Verbs show the scene at hand.",
        "~ linked sentences",
        "statement - Each sentence takes up the one before. + Each sentence takes up the last one.",
        "Training texts +12 -3",
        "new-09 and 2 more",
        "- train-1, train-2, train-3",
    ):
        assert part in shown
    assert "Kendall" not in shown


def test_equal_versions_differ_in_nothing() -> None:
    shown = printed(difference_view(compare(version(), version(2))))
    assert "The rubrics are the same." in shown
    assert "How it was learned" not in shown
    assert "Training texts" not in shown


def test_problems_are_counted_and_named() -> None:
    found = [Problem("news@1", "its rubric is missing"), Problem("news@2", "its record does not match")]
    assert words_of(problems_view(found)) == (
        "2 problems: news@1 its rubric is missing news@2 its record does not match"
    )


@pytest.mark.parametrize("view", list(every_view("x")))
def test_hostile_words_are_shown_and_do_nothing(view: str) -> None:
    shown = printed(every_view(HOSTILE)[view], 1000)
    assert _acting(shown) == set()
    joined = "".join(shown.split())
    assert "[red]notmarkup[/red]\\x1b[31mred\\x1b]8;;http://x.example\\x07\\x9b2J\\u202eright\\u2066" in joined
    assert ":smile:\\x00\\rgone" in joined


def test_half_a_character_is_shown_and_does_not_stop_the_print() -> None:
    views = (results_view([_result("news \udc80@1", (0.1, 0.0, 0.2))]), problems_view([Problem("\udc80", "\ud83d")]))
    for view in views:
        shown = printed(view)
        shown.encode("utf-8")
        assert "\\udc80" in shown


@settings(deadline=None, max_examples=12)
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(lambda t: not is_blank(t)))
def test_no_words_reach_the_terminal_raw_or_leave_its_width(words: str) -> None:
    for view in every_view(words).values():
        shown = printed(view)
        assert _acting(shown) == set()
        shown.encode("utf-8")
        assert max(map(cell_len, shown.split("\n"))) <= 80


@pytest.mark.parametrize("view", list(every_view("x")))
def test_a_pipe_gets_no_colour_and_a_terminal_does(view: str) -> None:
    assert "\x1b" not in printed(every_view("x")[view])
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system="standard", no_color=False)
    console.print(every_view("x")[view])
    assert isinstance(console.file, StringIO)
    assert "\x1b[" in console.file.getvalue()


@pytest.mark.parametrize("width", [30, 80, 200])
def test_views_fit_the_width(width: int) -> None:
    news = version()
    wide: dict[str, Callable[[], Any]] = {
        "version": lambda: version_view(news, evidence=True),
        "log": lambda: log_view([news]),
        "names": lambda: names_view([news]),
    }
    for view in wide.values():
        assert all(cell_len(line) <= width for line in printed(view(), width).splitlines())


def test_only_the_terminal_views_and_no_other_report_import_rich() -> None:
    folder = Path(rubriclab.__file__).parent / "report"
    importing = {
        path.relative_to(folder).parts[0]
        for path in folder.rglob("*.py")
        if any(name.split(".")[0] == "rich" for name in _imported(path))
    }
    assert importing == {"terminal"}


def _imported(path: Path) -> list[str]:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return plain + [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]


def _acting(shown: str) -> set[str]:
    """Return the characters of `shown` that a terminal would not simply show."""
    turning = {c for c in shown if "\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069"}
    return turning | {c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} - {"\n"}


def _one_part(*criteria: Any) -> tuple[Part, ...]:
    return (Part(method="hypoeval", settings={"k": 10}, criteria=criteria or (criterion(),)),)


def _result(evaluator: str, found: Found, unscored: int = 0, constant_groups: int = 0) -> Result:
    statistic = IntervalEstimate(*found)
    return Result(
        evaluator,
        "coherence",
        unscored,
        Agreement(
            level="group",
            n=20,
            groups=5,
            constant_groups=constant_groups,
            single_groups=0,
            constant="skip",
            resampled="groups",
            spearman=statistic,
            pearson=statistic,
            kendall=statistic,
        ),
    )

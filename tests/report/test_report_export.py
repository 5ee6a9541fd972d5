"""Views as Markdown, CSV and data frames: all is there, and nothing from outside formats or executes anything."""

from __future__ import annotations

import csv
import io
import re

import pytest
from markupsafe import Markup

from rubriclab.report.render import View, badge, head, q, row
from rubriclab.stats.intervals import Interval

HOSTILE = "| <script>alert(1)</script> *x* `y` \\input{a} & % $ # _ ^ ~"


def view(name: str = "rubric") -> View:
    rows = row(q(name), Interval(0.5, 0.4, 0.6), "12") + row("baselines:", kind="title")
    html = """<h1>Results</h1>{}<p>A sentence.</p><section><h2>Agreement</h2><table>{}{}</table></section>
        <ul><li>First.</li></ul>"""
    return View(Markup(html).format(badge("better", "good", "than word count"), head("", "+Pearson", "+n"), rows))


def test_markdown_has_headings_sentences_and_tables() -> None:
    assert view().markdown().splitlines() == [
        "## Results",
        "",
        "**better** than word count",
        "",
        "A sentence.",
        "",
        "### Agreement",
        "",
        "|  | Pearson | n |",
        "| --- | --: | --: |",
        "| rubric | 0.50 \\[0.40, 0.60\\] | 12 |",
        "| **baselines:** | | |",
        "",
        "- First.",
    ]


def test_csv_has_counts_as_numbers() -> None:
    html = Markup("<h1>Results</h1><table>{}{}</table>")
    shown = View(html.format(head("", "+Pearson", "+n"), row(q("a-1"), Interval(-0.5, -0.75, -0.25), "1,234")))
    assert "Results,a-1,,,,,,n,1234,,," in shown.csv()


def test_csv_states_what_figures_rest_on() -> None:
    basis = {"compared_with": "-repeated_words", "aspect": "coherence", "level": "group", "n": 24, "groups": 6}
    cells = row(q("a"), q("-repeated_words"), Interval(0.5, 0.4, 0.6), **basis)
    html = Markup("<h1>Results</h1><table>{}{}</table>").format(head("", "compared with", "+Spearman"), cells)
    shown = View(html)
    (found,) = csv.DictReader(io.StringIO(shown.csv()))
    rests_on = {"compared_with": "'-repeated_words", "aspect": "coherence", "level": "group", "n": "24", "groups": "6"}
    assert found == {
        "table": "Results",
        "row": "a",
        "column": "Spearman",
        "value": "0.5",
        "low": "0.4",
        "high": "0.6",
        "text": "",
        **rests_on,
    }


def test_a_data_frame_has_the_rows_of_csv_as_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    frame = view().to_frame()
    written = pandas.read_csv(io.StringIO(view().csv()), keep_default_na=False)
    assert list(frame.columns) == list(written.columns)
    assert frame[["row", "column", "value", "low", "high"]].iloc[0].tolist() == ["rubric", "Pearson", 0.5, 0.4, 0.6]
    assert len(frame) == len(written) == 2


def test_hostile_names_are_escaped_in_every_form() -> None:
    shown = view(HOSTILE).markdown()
    assert "<script>" not in shown
    assert len({line.count(" | ") for line in shown.splitlines() if line.startswith("| ") and "**" not in line}) == 1


def test_markdown_notifies_nobody_and_links_nowhere() -> None:
    shown = view("@team #12 http://a.example www.a.example [b](c)").markdown()
    assert not re.search(r"[@#]\w|(?<!\\)(://|[\[\]])|www\.", shown.split("| --- |")[1])

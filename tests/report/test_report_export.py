"""Views as Markdown, LaTeX and CSV: everything is there, and nothing from outside formats or executes anything."""

from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given, strategies as st

from rubriclab.report.export import csv_tables, csv_text, latex_tables, markdown
from rubriclab.report.model import Badge, Basis, Bullets, Figure, Paragraph, Row, Section, View, quoted, table
from rubriclab.stats.interval import Interval

HOSTILE = "| <script>alert(1)</script> *x* `y` \\input{a} & % $ # _ ^ ~"


def view(name: str = "rubric") -> View:
    rows: list[Row | str] = [Row((quoted(name), Figure(Interval(0.5, 0.4, 0.6)), "12")), "baselines:"]
    shown = table(("", "Pearson", "n"), rows, numeric=("Pearson", "n"))
    blocks = (Badge("better", "good", "than word count"), Paragraph("A sentence."), Section("Agreement", (shown,)))
    return View("Results", (*blocks, Bullets(("First.",))))


def test_markdown_has_headings_sentences_and_tables() -> None:
    assert markdown(view()).splitlines() == [
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


def test_latex_has_a_table_with_the_section_as_caption() -> None:
    text = latex_tables(view())
    assert r"\caption{Agreement}" in text
    assert r"rubric & 0.50 [0.40, 0.60] & 12 \\" in text
    assert r"\begin{tabular}{lrr}" in text


def test_csv_has_every_figure_with_its_interval() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_tables(view()))))
    assert rows[0] == {
        "table": "Agreement",
        "row": "rubric",
        **dict.fromkeys(("compared_with", "aspect", "level", "n", "groups"), ""),
        "column": "Pearson",
        "value": "0.5",
        "low": "0.4",
        "high": "0.6",
        "text": "",
    }


def test_csv_has_counts_as_numbers_and_latex_true_minus_signs() -> None:
    shown = view_of(Row((quoted("a-1"), Figure(Interval(-0.5, -0.75, -0.25)), "1,234")))
    assert "Results,a-1,,,,,,n,1234,,," in csv_tables(shown)
    assert r"a-1 & $-$0.50 [$-$0.75, $-$0.25] & 1,234 \\" in latex_tables(shown)


def test_csv_and_latex_state_what_figures_rest_on() -> None:
    basis = Basis("-repeated_words", "coherence", "group", 24, 6)
    row = Row((quoted("a"), quoted("-repeated_words"), Figure(Interval(0.5, 0.4, 0.6))), basis=basis)
    columns = ("", "compared with", "Spearman")
    shown = View("Results", (table(columns, [row], numeric=("Spearman",), title="coherence: 24 texts in 6 groups"),))
    (found,) = csv.DictReader(io.StringIO(csv_tables(shown)))
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
    assert r"\caption{coherence: 24 texts in 6 groups}" in latex_tables(shown)
    (plot,) = shown.plots()
    assert plot.csv().splitlines()[1] == "a,'-repeated_words,coherence,group,24,6,0.5,0.4,0.6"
    assert "a \N{MINUS SIGN} -repeated_words" in plot.svg
    assert "coherence: 24 texts in 6 groups" in plot.svg


@pytest.mark.parametrize("cell", ["-1+cmd|x", "-cmd|' /C calc'!A0", "=1", "@x", "+a"])
def test_csv_disarms_formulas_and_leaves_numbers_as_they_are(cell: str) -> None:
    assert csv_text([[cell, "-repeated_words", "-0.5"]]) == f"'{cell},'-repeated_words,-0.5\r\n"


def view_of(row: Row) -> View:
    return View("Results", (table(("", "Pearson", "n"), [row], numeric=("Pearson", "n")),))


def test_hostile_names_are_escaped_in_every_form() -> None:
    shown = markdown(view(HOSTILE))
    assert "<script>" not in shown
    assert len({line.count(" | ") for line in shown.splitlines() if line.startswith("| ") and "**" not in line}) == 1
    assert r"\input" not in latex_tables(view(HOSTILE))


def test_markdown_notifies_nobody_and_links_nowhere() -> None:
    shown = markdown(view("@team #12 http://a.example www.a.example [b](c)"))
    assert not re.search(r"[@#]\w|(?<!\\)(://|[\[\]])|www\.", shown.split("| --- |")[1])


@given(st.text(max_size=40))
def test_no_cell_of_csv_begins_a_formula(name: str) -> None:
    rows = list(csv.reader(io.StringIO(csv_tables(view(f"={name}")))))
    assert all(not cell.startswith(("=", "@")) for row in rows for cell in row)


def test_a_latex_row_that_begins_with_a_bracket_or_star_is_no_argument() -> None:
    assert not re.search(r"(\\\\|rule)\s*[\[*]", latex_tables(view("[4pt] a")) + latex_tables(view("* b")))


@given(st.text(max_size=60))
def test_latex_braces_stay_balanced(name: str) -> None:
    text = latex_tables(view(name)).replace(r"\{", "").replace(r"\}", "")
    assert text.count("{") == text.count("}")

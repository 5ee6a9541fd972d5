"""Plots as files: documents of their own, with their data, whatever names stand in them."""

from __future__ import annotations

import csv
import io
import sys
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from rubriclab import Scale
from rubriclab.report import plots
from rubriclab.report.charts import value_axis
from rubriclab.report.model import Figure, Plot, PlotData, Row, Section, View, quoted, table
from rubriclab.report.plot_files import FONTS, plot_files, png, png_obstacle
from rubriclab.stats.interval import Interval


def view(*names: str, title: str = "Agreement") -> View:
    rows = [Row((quoted(name), Figure(Interval(0.5, 0.4, 0.6)), "12")) for name in names]
    pairs = ((1.0, 2.0), (3.0, 3.5))
    scatter = plots.scatter(pairs, Scale(low=1, high=5, whole=True), names[0])
    blocks = (
        Section(quoted(title), (table(("", "Pearson", "n"), rows, numeric=("Pearson", "n")),)),
        Section("Scatter", (Plot("Each dot is a text.", scatter, PlotData(("label", "score"), pairs)),)),
    )
    return View("Results", blocks)


def test_each_column_with_intervals_and_each_plot_of_the_page_is_a_file() -> None:
    found = view("news@1", "word count").plots()
    assert [plot.name for plot in found] == ["01-agreement-pearson", "02-scatter"]
    assert found[0].csv() == (
        "row,compared_with,aspect,level,n,groups,value,low,high\r\n"
        "news@1,,,,,,0.5,0.4,0.6\r\n"
        "word count,,,,,,0.5,0.4,0.6\r\n"
    )
    assert found[1].csv() == "label,score\r\n1.0,2.0\r\n3.0,3.5\r\n"


def test_a_file_has_its_colours_and_no_variable_that_only_a_page_resolves() -> None:
    for plot in view("news@1").plots():
        assert "var(" not in plot.svg
        assert ".dot { fill: #" in plot.svg


@given(st.text(min_size=1, max_size=80))
def test_any_name_gives_valid_xml_a_safe_file_name_and_no_formula(name: str) -> None:
    for plot in plot_files(view(name, title=f"../{name}")):
        root = ElementTree.fromstring(plot.svg)  # noqa: S314: our own
        assert not [part for part in root.iter() if part.tag.endswith("script")]
        assert set(plot.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
        assert not any(cell.startswith("=") for row in csv.reader(io.StringIO(plot.csv())) for cell in row)


@given(st.lists(st.tuples(*3 * [st.floats(-1e6, 1e6)]), min_size=1, max_size=8))
def test_an_axis_holds_every_value_between_at_most_nine_ticks(ends: list[tuple[float, float, float]]) -> None:
    intervals = [Interval(middle, low, high) for low, middle, high in map(sorted, ends)]
    axis = value_axis(intervals)
    room = 1e-6 * (axis.high - axis.low)
    assert all(axis.low - room <= end <= axis.high + room for low, middle, high in ends for end in (low, middle, high))
    assert 2 <= len(axis.ticks) <= 9


def test_a_png_is_drawn_where_the_package_and_a_font_are_installed() -> None:
    pytest.importorskip("resvg_py")
    if obstacle := png_obstacle():
        assert FONTS[0] in obstacle
    else:
        assert png(view("news@1").plots()[0].svg).startswith(b"\x89PNG")


def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    assert png_obstacle.__wrapped__().endswith("pip install 'rubriclab[plots]'")

"""Views as pages, Markdown, CSV and data frames: all is there, and nothing from outside acts."""

from __future__ import annotations

import csv
import io
import json
import re
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from commands import Commands
from markupsafe import Markup
from pages import ALLOWED, ALLOWED_ATTRIBUTES, HOSTILE, Page
from report_samples import joint_record, joint_version, version, words_of
from syrupy.assertion import SnapshotAssertion
from view_samples import PAGES, VIEWS, Sample, hostile, pinned

from rubriclab.report.elements import badge, external, head, row
from rubriclab.report.render import View
from rubriclab.report.rubrics import learned_view, matrix_rows, training_view
from rubriclab.report.wording import estimate
from rubriclab.stats.intervals import Interval
from rubriclab.store.store import open_store
from rubriclab.web.studio.pages import summarize

# What a page shows in place of the hostile words.
SHOWN = re.sub("[\u202e\u2066\x1b\x00\ud83d]", lambda found: ascii(found[0])[1:-1], HOSTILE)
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def check_harmless(page: Page) -> None:
    """Check that nothing on a page can run, load, style or turn anything."""
    assert {tag for tag, _ in page.tags} <= ALLOWED
    assert {name for _, attributes in page.tags for name in attributes} <= ALLOWED_ATTRIBUTES
    assert page.comments == []
    assert all((link["href"] or "").startswith("#") for link in page.having("a"))
    assert not ACTING.search(page.text)
    assert not re.search(r"@import|url\(|https?:", "".join(page.content["style"]))


@pytest.mark.parametrize("name", ["evaluation", "training"])
def test_a_page_needs_no_network_and_can_be_read_without_seeing_it(name: str) -> None:
    seen = Page(PAGES[name]().page())
    check_harmless(seen)
    policy = next(meta["content"] for meta in seen.having("meta") if "http-equiv" in meta)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert seen.having("html") == [{"lang": "en"}]
    levels = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert len(seen.having("caption")) == len(seen.having("table"))
    assert len(seen.having("figcaption")) == len(seen.having("figure"))
    ids = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {(link["href"] or "")[1:] for link in seen.having("a")} <= set(ids)
    assert all(section["aria-labelledby"] in ids for section in seen.having("section"))
    drawings = [drawing for drawing in seen.having("svg") if "overflow" not in drawing]
    assert all(d.get("aria-hidden") == "true" or (d.get("role") == "img" and d["aria-label"]) for d in drawings)


@cache
def lines_of(sample: Sample) -> list[str]:
    return Page(sample().page()).lines


@pytest.mark.parametrize("name", PAGES)
def test_the_words_of_pages_are_as_pinned(name: str, snapshot: SnapshotAssertion) -> None:
    assert pinned(name, lines_of, PAGES) == snapshot


@pytest.mark.parametrize("name", [*PAGES, *VIEWS])
def test_hostile_words_are_shown_and_add_no_element_and_no_attribute(name: str) -> None:
    page = Page(hostile((VIEWS | PAGES)[name], HOSTILE).page())
    check_harmless(page)
    assert len(page.having("style")) == len(page.having("title")) == len(page.having("main")) == 1
    assert " ".join(SHOWN.split()) in page.reading
    assert "tracker.example" not in "".join(page.content["style"])


@pytest.mark.parametrize("name", VIEWS)
def test_a_notebook_gets_every_view_with_styles_that_reach_nothing_else(name: str) -> None:
    fragment = Page(VIEWS[name]()._repr_html_())
    check_harmless(fragment)
    assert fragment.tags[0] == ("div", {"class": "rubriclab fragment"})
    assert not {"html", "head", "body", "title", "script", "h1", "h2"} & {tag for tag, _ in fragment.tags}
    (style,) = fragment.content["style"]
    rules = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    depth, selectors = 0, [""]
    for character in rules:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            selectors += [""] if character == "}" else []
            selectors[-1] += character if character != "}" else ""
    assert all("rubriclab" in selector for selector in selectors if selector.strip())


HOSTILE_NAME = "| <script>alert(1)</script> *x* `y` \\input{a} & % $ # _ ^ ~"


def view(name: str = "rubric") -> View:
    rows = row(external(name), Interval(0.5, 0.4, 0.6), "12") + row("baselines:", kind="title")
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


def test_csv_has_figures_as_numbers_and_states_what_they_rest_on() -> None:
    basis: dict[str, Any] = {"aspect": "coherence", "level": "group", "n": 24, "groups": 6}
    cells = row(
        external("a-1"), external("-words"), Interval(-0.5, -0.75, -0.25), "1,234", compared_with="-words", **basis
    )
    html = Markup("<h1>Results</h1><table>{}{}</table>").format(head("", "compared with", "+Spearman", "+n"), cells)
    first, second = csv.DictReader(io.StringIO(View(html).csv()))
    start = {"table": "Results", "row": "a-1", "compared_with": "'-words", **{k: str(v) for k, v in basis.items()}}
    assert first == {**start, "column": "Spearman", "value": "-0.5", "low": "-0.75", "high": "-0.25", "text": ""}
    assert second == {**start, "column": "n", "value": "1234", "low": "", "high": "", "text": ""}


def test_a_data_frame_has_the_rows_of_csv_as_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    frame = view().to_frame()
    written = pandas.read_csv(io.StringIO(view().csv()), keep_default_na=False)
    assert list(frame.columns) == list(written.columns)
    assert frame[["row", "column", "value", "low", "high"]].iloc[0].tolist() == ["rubric", "Pearson", 0.5, 0.4, 0.6]
    assert len(frame) == len(written) == 2


def test_hostile_names_are_escaped_in_every_form() -> None:
    shown = view(HOSTILE_NAME).markdown()
    assert "<script>" not in shown
    assert len({line.count(" | ") for line in shown.splitlines() if line.startswith("| ") and "**" not in line}) == 1


def test_markdown_notifies_nobody_and_links_nowhere() -> None:
    shown = view("@team #12 http://a.example www.a.example [b](c)").markdown()
    assert not re.search(r"[@#]\w|(?<!\\)(://|[\[\]])|www\.", shown.split("| --- |")[1])


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """A store with joint@1 and its record, bare@1 without one, and news@1 of a single method, to be read only."""
    commands = Commands(tmp_path_factory.mktemp("kept"), RUBRICLAB_STORE="store.db")
    joint, news = joint_version(), version()
    with open_store(commands.folder / "store.db") as store:
        store.save("joint", joint.rubric, joint.provenance, joint.effort, training=joint_record())
        store.save("bare", joint.rubric, joint.provenance, joint.effort)
        store.save("news", news.rubric, news.provenance, news.effort)
    return commands


def test_the_matrix_is_printed_and_exported_whole(kept: Commands) -> None:
    printed = kept("show", "joint", "--matrix")
    assert (printed.code, printed.err) == (0, "")
    assert "30 labelled texts by 11 candidate criteria" in printed.out
    whole = kept("show", "joint", "--matrix", "--json").json
    assert whole.pop("rubric") == "joint@1"
    assert whole == joint_record().model_dump(mode="json")
    for name in ("matrix.csv", "matrix.jsonl"):
        done = kept("show", "joint", "--matrix", "-o", name)
        assert (done.code, done.out) == (0, "")
    rows = list(matrix_rows(joint_record()))
    lines = (kept.folder / "matrix.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows
    table = csv.DictReader(io.StringIO((kept.folder / "matrix.csv").read_text("utf-8")))
    assert [row["reason"] for row in table] == [row["reason"] for row in rows]


VERDICT = "better (this rubric gives scores closer to people's|than the same judge asked directly)"
AGREEMENT, ERROR = "0.66 [0.56, 0.76]", "0.35 [0.25, 0.45]"


def test_every_page_and_command_has_one_verdict_one_agreement_and_one_error(kept: Commands) -> None:
    one = joint_version()
    studio = summarize(one)
    asked = (("list",), ("log", "joint"), ("show", "joint"), ("show", "joint", "--evidence"), ("gate", "joint"))
    shown_views = {" ".join(arguments): " ".join(kept(*arguments).out.split()) for arguments in asked}
    row = (studio["badge"].words, studio["badge"].remark, *(estimate(each) for each, _ in studio["agreement"].values()))
    shown_views |= {
        "learn": words_of(learned_view(one), 200),
        "report": Page(kept("report", "joint").out).reading,
        "page of the studio": words_of(training_view(one, None), 200),
        "list of the studio": " ".join(row),
    }
    for name, words in shown_views.items():
        assert re.search(VERDICT, words.lower()), name
        plain = re.sub(r" +(?=\[)", " ", words)
        assert AGREEMENT in plain or re.search(r"0\.35[ –]+0\.66|0\.66[ –]+0\.35", plain), name
        assert ERROR in plain or re.search(r"0\.35[ –]+0\.66|0\.66[ –]+0\.35", plain) or name == "list", name

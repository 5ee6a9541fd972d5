"""Pages and fragments of every view: self-contained, readable without sight, and harmless whatever they say."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
from joint_samples import hostile_joint, joint_record, joint_version
from kinds_samples import hostile_kinds
from markupsafe import Markup
from pages import ALLOWED, ALLOWED_ATTRIBUTES, HOSTILE, Page
from report_samples import examples, hostile_evaluation, results_of, scores_of, version
from view_samples import USUAL_VIEWS, hostile_views

from rubriclab.models.text import Example
from rubriclab.report.evaluation import evaluation_view
from rubriclab.report.render import View, head, q, row, typeset
from rubriclab.report.rubrics import training_report
from rubriclab.stats.intervals import Interval

# What a page shows in place of the hostile words.
SHOWN = re.sub("[\u202e\u2066\x1b\x00]", lambda found: ascii(found[0])[1:-1], HOSTILE)
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def evaluation() -> str:
    """Return the page on an evaluation."""
    news, texts = version(), examples()
    scored = {news.ref: scores_of(news, texts, lambda number, _: None if number == 5 else 1.0 + (number * 3) % 4)}
    return evaluation_view([news], results_of([news], scored, texts), scored, texts).page()


def training() -> str:
    """Return the page on a training run."""
    return training_report(joint_version(), joint_record())


# Pages in which every word is hostile, made when they are called for.
HOSTILE_PAGES: dict[str, Callable[[], str]] = {
    "evaluation": lambda: evaluation_view(*hostile_evaluation(HOSTILE)).page(),
    "training": lambda: training_report(*hostile_joint(HOSTILE)),
    "kinds": lambda: training_report(hostile_kinds(HOSTILE), None),
    **{name: partial(lambda name: hostile_views(HOSTILE)[name].page(), name) for name in hostile_views(HOSTILE)},
}


def check_harmless(page: Page) -> None:
    """Check that nothing on a page can run, load, style or turn anything."""
    assert {tag for tag, _ in page.tags} <= ALLOWED
    assert {name for _, attributes in page.tags for name in attributes} <= ALLOWED_ATTRIBUTES
    assert page.comments == []
    assert all((link["href"] or "").startswith("#") for link in page.having("a"))
    assert not ACTING.search(page.text)
    assert not re.search(r"@import|url\(|https?:", "".join(page.content["style"]))


@pytest.mark.parametrize("made", [evaluation, training])
def test_a_page_needs_no_network_and_can_be_read_without_seeing_it(made: Callable[[], str]) -> None:
    seen = Page(made())
    check_harmless(seen)
    policy = next(meta["content"] for meta in seen.having("meta") if "http-equiv" in meta)
    assert policy
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


def test_the_same_input_gives_the_same_page() -> None:
    assert evaluation() == evaluation()
    assert training() == training()


@pytest.mark.parametrize("name", list(HOSTILE_PAGES))
def test_hostile_words_are_shown_and_add_no_element_and_no_attribute(name: str) -> None:
    page = Page(HOSTILE_PAGES[name]())
    check_harmless(page)
    assert len(page.having("style")) == len(page.having("title")) == len(page.having("main")) == 1
    assert " ".join(SHOWN.split()) in page.reading
    assert "tracker.example" not in "".join(page.content["style"])


def test_texts_from_outside_end_their_own_direction() -> None:
    page = Page(HOSTILE_PAGES["evaluation"]())
    assert page.reading.count(" ".join(SHOWN.split())) > 20
    assert len(page.having("bdi")) > 50
    assert {quote.get("dir") for quote in page.having("blockquote")} == {"auto"}


def test_half_a_character_in_a_text_does_not_stop_the_file_from_being_written() -> None:
    rubric, texts = version(), examples()
    fields = {name: getattr(texts[0], name) for name in Example.__slots__}
    texts[0] = Example(**{**fields, "id": "0\udc80", "output": "half \ud83d"})
    scored = {rubric.ref: scores_of(rubric, texts, lambda number, _: 4.0 - number % 4)}
    page = evaluation_view([rubric], results_of([rubric], scored, texts), scored, texts).page()
    page.encode("utf-8")
    assert "half \\ud83d" in Page(page).reading


@pytest.mark.parametrize("name", list(USUAL_VIEWS))
def test_a_notebook_gets_every_view_with_styles_that_reach_nothing_else(name: str) -> None:
    fragment = Page(USUAL_VIEWS[name]()._repr_html_())
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


def test_what_shows_itself_shows_the_same_as_its_view() -> None:
    news = version()
    for shown in (news, news.rubric):
        assert shown._repr_html_() == shown.view()._repr_html_()
        assert Page(shown._repr_html_()).reading.startswith(("news@1", "Rubric of coherence"))


def test_our_own_figures_have_true_minus_signs_and_words_from_outside_keep_theirs() -> None:
    assert typeset("news-1@2 reaches -0.10 [-0.2, 0.3]") == "news-1@2 reaches −0.10 [−0.2, 0.3]"
    cells = row(q("-1 degree"), Interval(-0.5), "-2")
    html = Markup("<table>{}{}</table><p>{}</p>").format(head("", "+a", "+b"), cells, q("at -3"))
    page = Page(View(html)._repr_html_())
    assert "-1 degree −0.50 −2 at -3" in page.reading

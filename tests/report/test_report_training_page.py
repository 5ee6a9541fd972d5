"""The page on how a rubric was trained, as a parser reads it."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from joint_samples import hostile_joint, joint_record, joint_trust, joint_version
from kinds_samples import checklist, explained, hostile_kinds, shown, unlabelled
from pages import ALLOWED, ALLOWED_ATTRIBUTES, HOSTILE, Page
from report_samples import version

from rubriclab.report import recorded
from rubriclab.report.training import training_report
from rubriclab.rubric import Rubric
from rubriclab.store.version import Version


@pytest.fixture(scope="module")
def usual() -> Page:
    """The page on a rubric of several methods."""
    return Page(training_report(joint_version(), joint_record()))


def test_the_page_begins_with_the_verdict_and_what_it_compares(usual: Page) -> None:
    start = usual.reading.index("Verdict Better than")
    first = usual.reading[start : start + 600]
    for part in (
        "Better than all surface measures by 0.28 [0.07, 0.49], on 30 held-out labels.",
        "this rubric 0.66 [0.47, 0.81] 4 calls per text",
        "all surface measures 0.38 [0.19, 0.53] the best floor",
        "ceiling 0.87",
    ):
        assert part in first


def test_other_verdicts_stand_in_a_table_that_decides_nothing(usual: Page) -> None:
    table = usual.reading[usual.reading.index("Beside others") :]
    assert "the verdict above decides alone" in table[:150]
    assert "direct 0.09 [−0.04, 0.20]" in table
    assert "Inconclusive against" not in usual.reading


def test_the_ladder_holds_everybody_and_the_ceiling(usual: Page) -> None:
    ladder = usual.reading[usual.reading.index("Ladder.") : usual.reading.index("the first flatters by 0.12")]
    names = ["ceiling", "this rubric", "hypoeval", "equal weights", "direct", "seeval", "checkeval"]
    names += ["all surface measures", "best surface measure", "word count", "constant"]
    places = [ladder.index(f"{name} ", ladder.index("lines are 95 %")) for name in names]
    assert places == sorted(places)
    assert "constant undefined" in ladder


def test_a_floor_that_agrees_better_stands_above_the_rubric_on_the_ladder() -> None:
    validation = joint_trust()
    better = validation.evaluators[-2].model_copy(
        update={"pearson": validation.evaluators[-2].pearson.model_copy(update={"value": 0.9})}
    )
    found = validation.model_copy(
        update={"evaluators": (*validation.evaluators[:-2], better, validation.evaluators[-1])}
    )
    page = Page(training_report(joint_version(validation=found), None))
    ladder = page.reading[page.reading.index("Ladder.") :]
    assert ladder.index(f"{better.name} 0.90") < ladder.index("this rubric 0.66")


def test_many_hypotheses_have_their_paths_folded_away() -> None:
    few, rubric = joint_version(), joint_version().rubric
    hypotheses = rubric.parts[0]
    assert rubric.aggregation
    many = [hypotheses.criteria[0].model_copy(update={"id": f"x{number}"}) for number in range(10)]
    term = rubric.aggregation.terms[0]
    terms = [term.model_copy(update={"criterion": each.id, "weight": 1 / len(many)}) for each in many]
    grown = Rubric(
        task=rubric.task,
        aspect=rubric.aspect,
        scale=rubric.scale,
        parts=(hypotheses.model_copy(update={"criteria": tuple(many)}),),
        aggregation=rubric.aggregation.model_copy(update={"terms": tuple(terms)}),
    )
    assert "The other" not in Page(training_report(few, None)).reading
    page = Page(training_report(joint_version(rubric=grown), None))
    assert "The other 4" in page.reading
    drawn = [drawing for drawing in page.having("svg") if drawing.get("class") == "spark"]
    assert len(drawn) == 2 * 10


def test_every_evaluator_has_a_row_with_its_price_and_the_optimistic_figure_is_last(usual: Page) -> None:
    assert "this rubric 0.61 [0.42, 0.76] 0.66 [0.47, 0.81] 4 hypoeval 0.58" in usual.reading
    assert "this rubric, optimistic 0.74 [0.55, 0.89] 0.78 [0.59, 0.93] 4" in usual.reading
    assert [row.get("class") for row in usual.having("tr")].count("floor") == 4


def test_intervals_say_how_many_labels_they_hold(usual: Page) -> None:
    texts = joint_record().texts
    inside = sum((text.low or 0) <= text.label <= (text.high or 0) for text in texts)
    assert f"{inside} of 30 labels lie inside. That is so by construction" in usual.reading
    assert "of new texts the intervals are to hold 90 %." in usual.reading
    dots = [c for c in usual.having("path") if c.get("class") == "hollow"]
    assert len(dots) >= 30 - inside > 0


def test_weights_stand_with_intervals_how_often_they_were_chosen_and_warnings(usual: Page) -> None:
    assert "linked sentences h01 , hypoeval 19 % [14, 25] chosen 100 %" in usual.reading
    assert "repeated phrases repeated_trigrams , surface −5 % [−10, 1] chosen 65 %" in usual.reading
    assert "⚠ shortcut: follows length more than the raters do" in usual.reading
    assert sum(d.get("class") == "bar" for d in usual.having("rect")) == 9


def test_the_largest_disagreements_stand_with_texts_raters_and_reasons(usual: Page) -> None:
    found = recorded.disagreements(joint_record())
    gaps = [abs(one.points) for one in found]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] == max(abs((text.predicted or 0) - text.label) for text in joint_record().texts)
    start = usual.reading.index(f"{found[0].text.id} people")
    first = usual.reading[start : start + 900]
    text = found[0].text
    assert f"anna {text.raters['anna']:.0f}, ben" in first
    assert text.output in first
    assert "h01 linked sentences" in first
    assert found[0].answers[0][1].reason in first
    assert "h04" not in usual.reading[start : usual.reading.index("Shortcuts", start)]


def test_prices_shortcuts_and_raters_are_told(usual: Page) -> None:
    for part in (
        "0.62 ± 0.08 more criteria (6 criteria) smallest within one standard error",
        "more criteria (9 criteria) this rubric",
        "the raters follows length 0.21, copied share 0.11, formatting −0.04 1.00 0.94",
        "⚠ marked one subject h03 follows length 0.58",
        "ben 30 −0.31 [−0.51, −0.11] 0.72 0.58",
        "does as well as 2 of 3 raters",
        "weight 19 % [14, 25], chosen in 100 % of resamples; Pearson 0.61 on 30 training texts",
        "Data digest",
    ):
        assert part in usual.reading


def test_a_page_needs_no_network_runs_nothing_and_can_be_read_without_seeing_it(usual: Page) -> None:
    assert {tag for tag, _ in usual.tags} <= ALLOWED
    assert {name for _, attributes in usual.tags for name in attributes} <= ALLOWED_ATTRIBUTES | {"open"}
    assert not re.search(r"@import|url\(|https?:", usual.text)
    levels = [int(tag[1]) for tag, _ in usual.tags if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert len(usual.having("caption")) == len(usual.having("table"))
    assert len(usual.having("figcaption")) == len(usual.having("figure"))
    ids = {attributes.get("id") for _, attributes in usual.tags}
    assert {(link["href"] or "")[1:] for link in usual.having("a")} <= ids


def test_hostile_words_add_no_element_and_turn_nothing() -> None:
    page = Page(training_report(*hostile_joint(HOSTILE)))
    assert {tag for tag, _ in page.tags} <= ALLOWED
    assert {name for _, attributes in page.tags for name in attributes} <= ALLOWED_ATTRIBUTES | {"open"}
    assert page.comments == []
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", page.text)
    assert "<bdi>" not in page.reading
    assert "{{ 7*7 }}" in page.reading


def test_a_version_without_its_record_says_where_texts_are() -> None:
    page = Page(training_report(joint_version(), None))
    assert "No texts and ratings are kept with news@3" in page.reading
    assert "Better than all surface measures" in page.reading
    assert "What counts how much" in page.reading
    for title in ("Text by text", "Where it disagrees"):
        assert title not in page.reading


@pytest.mark.parametrize(
    "one", [version(), checklist(), explained(), shown(), unlabelled(), hostile_kinds(HOSTILE)], ids=str
)
def test_a_version_of_one_method_shows_what_is_known_of_it(one: Version) -> None:
    page = Page(training_report(one, None))
    assert "deserves trust was not tested: it was learned by one method" in page.reading
    assert [link["href"] for link in page.having("a")] == ["#verdict", "#criteria", "#provenance"]
    assert {tag for tag, _ in page.tags} <= ALLOWED
    assert one.digest in page.reading


def test_what_is_not_known_is_left_out() -> None:
    bare = joint_trust(raters=None, shortcuts=(), frontier=())
    page = Page(training_report(joint_version(validation=bare), joint_record()))
    for word in ("ceiling", "The raters", "Shortcuts", "Accuracy at a price"):
        assert word not in page.reading


def test_texts_without_held_out_scores_are_neither_drawn_nor_compared() -> None:
    record = joint_record()
    texts = tuple(t.model_copy(update={"predicted": None, "low": None, "high": None}) for t in record.texts)
    page = Page(training_report(joint_version(), record.model_copy(update={"texts": texts})))
    for title in ("Text by text", "Where it disagrees"):
        assert title not in page.reading


def test_the_same_training_gives_the_same_page() -> None:
    assert training_report(joint_version(), joint_record()) == training_report(joint_version(), joint_record())

"""`few_shot`: which labelled texts are shown, and that they are shown and never scored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from holistic_scripts import graded, learn, overall, ratings_asked, said
from hypoeval_scripts import ASPECT, example
from hypothesis import given, settings, strategies as st

from rubriclab.methods.holistic import demonstrations
from rubriclab.prompts import render

TEXTS = graded(20, groups=10)
ROWS = st.lists(st.tuples(st.floats(1, 5), st.integers(0, 5)), min_size=1, max_size=15)


def texts_of(rows):
    return [example(i, score, f"g{group}") for i, (score, group) in enumerate(rows)]


def chosen(texts, count=3, seed=1):
    return demonstrations(texts, ASPECT, count, seed)


@settings(deadline=None, max_examples=80)
@given(rows=ROWS, count=st.integers(1, 20), seed=st.integers(0, 5))
def test_demonstrations_are_different_texts_lowest_first_and_never_more_than_asked_for(rows, count, seed):
    texts = texts_of(rows)
    shown = chosen(texts, count, seed)
    by_id = {text.id: text for text in texts}
    assert len(shown) == len({each.example for each in shown}) == min(count, len(texts))
    assert [each.score for each in shown] == sorted(by_id[each.example].scores[ASPECT] for each in shown)
    for each in shown:
        text = by_id[each.example]
        assert (each.output, each.source, each.context) == (text.output, text.source, text.context)


@settings(deadline=None, max_examples=80)
@given(rows=ROWS, count=st.integers(1, 20))
def test_groups_repeat_only_where_there_are_too_few(rows, count):
    texts = texts_of(rows)
    group = {text.id: text.group for text in texts}
    shown = chosen(texts, count)
    different = len({group[each.example] for each in shown})
    assert different == min(len(shown), len(set(group.values())))


@settings(deadline=None, max_examples=60)
@given(scores=st.lists(st.floats(1, 5), min_size=3, max_size=15, unique=True), count=st.integers(2, 6))
def test_the_labels_shown_are_spread_over_those_given(scores, count):
    texts = [example(i, score, f"g{i}") for i, score in enumerate(scores)]
    shown = chosen(texts, count)
    # One from each part of the labels, in order of rank, as far as single texts allow.
    ranks = [sorted(scores).index(each.score) / len(scores) for each in shown]
    places = [(place + 0.5) / min(count, len(scores)) for place in range(len(shown))]
    assert np.abs(np.array(ranks) - places).max() <= max(1.0 / len(shown), 2.0 / len(scores))


def test_which_of_several_equal_texts_is_shown_hangs_on_the_seed_alone():
    found = {seed: chosen(TEXTS, 3, seed) for seed in range(8)}
    assert all(chosen(TEXTS, 3, seed) == shown for seed, shown in found.items())
    assert len(set(found.values())) > 1
    assert {tuple(each.score for each in shown) for shown in found.values()} == {(1, 3, 5)}


async def test_what_is_shown_is_never_scored():
    judge = overall()
    learned = await learn("few_shot", TEXTS, judge=judge, k=5)
    (criterion,) = learned.part.criteria
    shown = {each.example for each in criterion.demonstrations}
    assert len(shown) == 5
    assert criterion.evidence.examples == tuple(each.example for each in criterion.demonstrations)
    assert criterion.evidence.origin == "labels"
    assert not shown & set(learned.examples)
    assert shown | set(learned.examples) == {text.id for text in TEXTS}
    outputs = {text.output for text in TEXTS if text.id in shown}
    assert not outputs & {prompt.fields["output"] for prompt in judge.prompts}
    assert criterion.evidence.judged == len(ratings_asked(judge)) == 15


async def test_where_all_texts_are_shown_none_is_left_to_score():
    judge = overall()
    learned = await learn("few_shot", TEXTS[:3], judge=judge)
    assert (judge.prompts, learned.examples) == ([], ())
    assert len(learned.part.criteria[0].demonstrations) == 3
    few = await learn("few_shot", TEXTS[:2], judge=judge)
    assert [each.score for each in few.part.criteria[0].demonstrations] == [1, 2]


async def test_each_demonstration_is_shown_with_its_score_before_the_text():
    texts = [replace(text, context="Facts.") if i % 2 else text for i, text in enumerate(TEXTS)]
    judge = overall(lambda _: 3)
    learned = await learn("few_shot", texts, judge=judge)
    shown = learned.part.criteria[0].demonstrations
    told = render(judge.prompts[0])[1]["content"]
    places = [told.index(each.output) for each in shown]
    assert places == sorted(places)
    assert places[-1] < told.index("The text to rate comes last.") < told.index(judge.prompts[0].fields["output"])
    for each in shown:
        after = told[told.index(each.output) :].split("The raters' score: ")[1]
        assert after.startswith(f"{each.score:g}\n")
        assert (each.source or "") in told


async def test_ids_and_other_scores_are_not_shown():
    texts = [replace(text, id=f"secret-{text.id}", scores={**text.scores, "fluency": 4.125}) for text in TEXTS]
    judge = overall()
    await learn("few_shot", texts, judge=judge)
    for prompt in judge.prompts:
        assert {name for item in prompt.fields["demonstrations"] for name in item} == {
            "output",
            "source",
            "context",
            "score",
        }
        assert "secret" not in said(prompt)
        assert "4.125" not in said(prompt)

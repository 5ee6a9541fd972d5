"""Comparisons of texts: how rows of them are parsed, and which labels they leave as they are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.data.cells import TYPED, UNTYPED
from rubriclab.data.comparisons import PairwiseComparison, fit_scores, parse_comparisons
from rubriclab.data.mapping import NO_MAPPING, parse_mapping
from rubriclab.data.readers import read
from rubriclab.data.rows import RowError
from rubriclab.models.text import Example, Scale


def said(row, rules=TYPED, mapping=None):
    answer = parse_comparisons(row, "labels", 3, parse_mapping(mapping) if mapping else NO_MAPPING, rules)
    assert isinstance(answer, tuple), answer
    return answer


def refused(row, rules=TYPED):
    answer = parse_comparisons(row, "labels", 3, rules=rules)
    assert isinstance(answer, RowError), answer
    return answer


def test_a_ranking_is_all_of_its_pairs_with_ties_in_lists_of_their_own():
    found = said({"ranking": ["a", ["b", "c"], 4], "aspect": "coherence"})
    assert [(each.better, each.worse, each.tie) for each in found] == [
        ("a", "b", False),
        ("a", "c", False),
        ("a", "4", False),
        ("b", "c", True),
        ("b", "4", False),
        ("c", "4", False),
    ]
    assert {each.aspect for each in found} == {"coherence"}


def test_a_table_of_text_writes_rankings_and_ties_its_own_way():
    blank = dict.fromkeys(("output", "preferred", "over", "ranking", "tie", "aspect"), "")
    assert said({**blank, "ranking": "a > b = c"}, rules=UNTYPED) == said({"ranking": ["a", ["b", "c"]]})
    tie = said({**blank, "preferred": "a", "over": "b", "tie": "TRUE"}, rules=UNTYPED)
    assert tie == (PairwiseComparison("a", "b", tie=True),)


@pytest.mark.parametrize(
    ("row", "field", "came"),
    [
        ({"preferred": "a"}, "over", "nothing"),
        ({"over": "a"}, "preferred", "nothing"),
        ({"preferred": "a", "over": "a"}, "over", "'a', the same text"),
        ({"preferred": "a", "over": ["b"]}, "over", "a list of 1"),
        ({"preferred": True, "over": "b"}, "preferred", "true"),
        ({"preferred": 1.5, "over": "b"}, "preferred", "1.5"),
        ({"preferred": "a", "over": "b", "tie": "yes"}, "tie", "the text 'yes'"),
        ({"preferred": "a", "over": "b", "tie": 1}, "tie", "1"),
        ({"preferred": "a", "over": "b", "aspect": ["x"]}, "aspect", "a list of 1"),
        ({"preferred": "a", "over": "b", "ranking": ["a", "b"]}, "preferred", "a preference beside a ranking"),
        ({"ranking": "a > b"}, "ranking", "the text 'a > b'"),
        ({"ranking": []}, "ranking", "0 texts"),
        ({"ranking": ["a"]}, "ranking", "1 text"),
        ({"ranking": ["a", ["b", "a"]]}, "ranking", "'a' twice"),
        ({"ranking": ["a", []]}, "ranking", "an empty list in the ranking"),
        ({"ranking": ["a", None]}, "ranking", "nothing"),
        ({"ranking": ["a", [["b"]]]}, "ranking", "a list of 1"),
        ({"ranking": {"a": 1}}, "ranking", "an object"),
    ],
)
def test_what_is_no_comparison_is_a_fault(row, field, came):
    fault = refused(row)
    assert (fault.field, fault.got, fault.line) == (field, came, 3)


def test_readers_keep_comparisons_beside_the_texts_with_their_lines():
    lines = [
        {"preferred": "a", "over": "b"},
        {"id": "a", "output": "A", "group": "g"},
        {"ranking": ["b", "a"]},
        {"preferred": "a"},
        {"id": "b", "output": "B", "group": "g"},
        {"preferred": "b", "over": "a", "tie": True},
    ]
    rows = read([json.dumps(line) for line in lines])
    assert [(rows.line, type(row)) for row in rows] == [(2, Example), (4, RowError), (5, Example)]
    assert [(line, each.better) for line, each in rows.comparisons] == [(1, "a"), (3, "b"), (6, "b")]


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["output", "preferred", "over", "tie", "ranking", "aspect", "rater"]), JSON))
@settings(max_examples=40)
def test_whatever_stands_in_a_row_there_is_an_answer(row):
    for rules in (TYPED, UNTYPED):
        answer = parse_comparisons(row, "labels", 1, rules=rules)
        assert answer is None or isinstance(answer, RowError | tuple)
        if isinstance(answer, tuple):
            assert all(isinstance(each, PairwiseComparison) and each.better != each.worse for each in answer)


def test_a_text_keeps_its_label_beside_another_text_with_its_id() -> None:
    examples = [Example("same", f"Text {n}.", "g", scores={"x": n}) for n in range(3)]
    completed, _ = fit_scores(examples, (), "x", Scale(low=0, high=2, whole=True))
    assert list(completed) == examples

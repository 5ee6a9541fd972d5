"""Rows that compare texts: what they say, and what they cannot."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.data.annotations import PairwiseComparison, comparisons_of
from rubriclab.data.mapping import NATIVE, parse_mapping
from rubriclab.data.readers import read
from rubriclab.data.rows import RowError
from rubriclab.models.cells import TYPED, UNTYPED
from rubriclab.models.text import Example


def said(row, rules=TYPED, mapping=None):
    answer = comparisons_of(row, "labels", 3, parse_mapping(mapping) if mapping else NATIVE, rules)
    assert isinstance(answer, tuple), answer
    return answer


def refused(row, rules=TYPED):
    answer = comparisons_of(row, "labels", 3, rules=rules)
    assert isinstance(answer, RowError), answer
    return answer


def test_a_preference_names_both_texts_the_aspect_and_the_rater():
    row = {"preferred": "a", "over": 7, "aspect": "coherence", "rater": "anna"}
    assert said(row) == (PairwiseComparison("a", "7", False, "coherence", "anna"),)
    assert said({"preferred": "a", "over": "b", "tie": True}) == (PairwiseComparison("a", "b", tie=True),)


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
    "row",
    [
        {"output": "A text.", "preferred": "a", "over": "b"},
        {"output": "A text.", "ranking": 3, "aspect": "x"},
        {"output": None, "aspect": "coherence", "rater": "anna", "tie": True},
        {"preferred": None, "over": " ", "ranking": None},
        {},
        ["preferred"],
    ],
)
def test_a_row_with_a_text_or_without_any_id_is_of_another_kind(row):
    assert comparisons_of(row, "labels", 3) is None


@pytest.mark.parametrize(
    ("row", "field", "came"),
    [
        ({"preferred": "a"}, "over", "nothing"),
        ({"over": "a"}, "preferred", "nothing"),
        ({"preferred": "a", "over": "a"}, "over", "'a', the text itself"),
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
        ({"ranking": ["a", []]}, "ranking", "an empty list in it"),
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


def test_a_csv_file_may_hold_both(tmp_path):
    (tmp_path / "mixed.csv").write_text("id,group,output,preferred,over\na,g,A,,\nb,g,B,,\n,,,b,a\n")
    rows = read(tmp_path / "mixed.csv")
    assert [row.id for row in rows] == ["a", "b"]
    assert rows.comparisons == [(4, PairwiseComparison("b", "a"))]


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["output", "preferred", "over", "tie", "ranking", "aspect", "rater"]), JSON))
@settings(max_examples=200)
def test_whatever_stands_in_a_row_there_is_an_answer(row):
    for rules in (TYPED, UNTYPED):
        answer = comparisons_of(row, "labels", 1, rules=rules)
        assert answer is None or isinstance(answer, RowError | tuple)
        if isinstance(answer, tuple):
            assert all(isinstance(each, PairwiseComparison) and each.better != each.worse for each in answer)

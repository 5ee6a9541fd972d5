"""Who is learned from and who is tested: no group on both sides, whatever the set, the seed and the labels."""

import one_case
import pytest
from hypothesis import given, strategies as st
from study_rows import RIVALS, write_sets

from experiments.runner.cases import Case, every_case, left_out, material, most_labels
from experiments.runner.sets import sets_in
from experiments.runner.study import Study

SETS = {"summeval": "coherence", "newsroom": "fluency", "hanna": "empathy", "qags_cnndm": "consistency"}


def study(**fields: object) -> Study:
    every = {name: [aspect] for name, aspect in SETS.items()}
    return one_case.study(**{"sets": every, "labels": [30], "test_texts": None, **fields})


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return sets_in(write_sets(tmp_path_factory.mktemp("cases")))


@given(
    name=st.sampled_from(list(SETS)),
    seed=st.integers(0, 50),
    labels=st.lists(st.integers(5, 30), min_size=1, max_size=3, unique=True),
    fields=st.fixed_dictionaries(
        {"split": st.sampled_from(["official", "drawn"]), "test_texts": st.none() | st.integers(2, 20)}
    ),
)
def test_no_group_is_learned_from_and_tested(found, name, seed, labels, fields) -> None:
    some = study(labels=labels, **fields)
    tested, before = set(), []
    for number in sorted(labels):
        texts_of = material(Case(set=name, aspect=SETS[name], labels=number, seed=seed), some, found)
        assert len(texts_of.learned_from) == len({each.id for each in texts_of.learned_from}) == number
        groups = {each.group for each in texts_of.test}
        assert len(groups) >= 2
        assert not groups & {each.group for each in texts_of.learned_from}
        tested.add(tuple(each.id for each in texts_of.test))
        assert [each.id for each in texts_of.learned_from][: len(before)] == before
        before = [each.id for each in texts_of.learned_from]
    assert len(tested) == 1


def test_official_texts_are_learned_from_where_they_leave_groups_to_test(found) -> None:
    official = set(found.official("summeval"))
    texts = material(Case(set="summeval", aspect="coherence", labels=30, seed=7), study(), found)
    assert texts.split == "official"
    assert {each.id for each in texts.learned_from} == official
    other = material(Case(set="summeval", aspect="coherence", labels=30, seed=8), study(), found)
    assert [each.id for each in texts.test] == [each.id for each in other.test]


def test_official_texts_that_touch_every_group_are_not_used(found) -> None:
    assert found.official("newsroom")
    texts = material(Case(set="newsroom", aspect="fluency", labels=12, seed=7), study(labels=[12]), found)
    assert texts.split == "drawn"
    assert texts.test


def test_sets_that_are_absent_or_too_small_are_left_out_and_said(tmp_path) -> None:
    write_sets(tmp_path)
    (tmp_path / "hanna.jsonl").unlink()
    some = study(labels=[10, 36, 100])
    there = sets_in(tmp_path)
    cases = list(every_case(some, there))
    assert {case.set for case in cases} == set(SETS) - {"hanna"}
    assert {case.labels for case in cases if case.set == "summeval"} == {10, 36}
    assert {case.labels for case in cases if case.set == "qags_cnndm"} == {10}
    notes = " ".join(left_out(some, there))
    assert "left out: hanna (hanna.jsonl" in notes
    assert "summeval is too small to learn from 100 labels" in notes
    assert "qags_cnndm is too small to learn from 36, 100 labels" in notes
    assert most_labels(there.texts("summeval", "coherence")) == 6 * RIVALS


def test_the_test_is_as_large_as_wanted(found) -> None:
    case = Case(set="hanna", aspect="empathy", labels=12, seed=1)
    by_groups = material(case, study(split="drawn", labels=[12], test_groups={"hanna": 3}), found)
    assert len({each.group for each in by_groups.test}) == 3
    by_texts = material(case, study(split="drawn", labels=[12], test_texts=13), found)
    assert len(by_texts.test) == 3 * RIVALS

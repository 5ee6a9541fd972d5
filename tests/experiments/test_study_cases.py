"""Who is learned from and who is tested: no group on both sides, whatever the set, the seed and the labels."""

import one_case
from hypothesis import given, strategies as st

from experiments.runner.cases import Case, material
from experiments.runner.study import Study

SETS = {"summeval": "coherence", "newsroom": "fluency", "hanna": "empathy", "qags_cnndm": "consistency"}


def study(**fields: object) -> Study:
    every = {name: [aspect] for name, aspect in SETS.items()}
    return one_case.study(**{"sets": every, "labels": [30], "test_texts": None, **fields})


@given(
    name=st.sampled_from(list(SETS)),
    seed=st.integers(0, 50),
    labels=st.lists(st.integers(5, 30), min_size=1, max_size=3, unique=True),
    fields=st.fixed_dictionaries(
        {"split": st.sampled_from(["official", "drawn"]), "test_texts": st.none() | st.integers(2, 20)}
    ),
)
def test_no_group_is_learned_from_and_tested(sets, name, seed, labels, fields) -> None:
    some = study(labels=labels, **fields)
    tested, before = set(), []
    for number in sorted(labels):
        texts_of = material(Case(set=name, aspect=SETS[name], labels=number, seed=seed), some, sets)
        assert len(texts_of.learned_from) == len({each.id for each in texts_of.learned_from}) == number
        groups = {each.group for each in texts_of.test}
        assert len(groups) >= 2
        assert not groups & {each.group for each in texts_of.learned_from}
        tested.add(tuple(each.id for each in texts_of.test))
        assert [each.id for each in texts_of.learned_from][: len(before)] == before
        before = [each.id for each in texts_of.learned_from]
    assert len(tested) == 1

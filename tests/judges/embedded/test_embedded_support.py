"""How far a text supports a sentence: its words in any form, its names and its numbers to the letter."""

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.judges.embedded.support import ENOUGH, clauses, roots, support

SOURCE = (
    "The county council will close the Harrow bridge on 3 November.",
    "Two of its 14 cables are rusty, and repairs would cost 1.4 million crowns.",
    "Okoye told islanders that buses may still cross.",
)


@pytest.mark.parametrize(
    "sentence",
    [
        "The Harrow bridge closes on 3 November.",
        "Repairing the rusty cables costs 1.4 million crowns.",
        "Buses can cross to the island, Okoye says.",
        "Two of the 14 cables have rusted.",
        "the council 's closing the bridge , and repairs cost 1. 4 million crowns .",
    ],
)
def test_a_sentence_in_other_forms_of_the_same_words_is_supported(sentence: str) -> None:
    assert support(sentence, SOURCE).holds


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("The Harrow bridge closes on 5 November.", ("5",)),
        ("Repairs of the bridge would cost 6.8 million crowns.", ("6.8",)),
        ("Nine of its cables are rusty.", ("Nine",)),
        ("The council will close the Dunlow bridge.", ("Dunlow",)),
    ],
)
def test_a_number_or_a_name_that_is_not_there_decides(sentence: str, missing: tuple[str, ...]) -> None:
    found = support(sentence, SOURCE)
    assert not found.holds
    assert found.decisive == missing


def test_a_number_counts_only_in_a_sentence_about_the_same() -> None:
    assert support("Okoye told islanders about 14 buses.", SOURCE).decisive == ("14",)
    assert support("Okoye told islanders about 14 rusty buses.", SOURCE).holds


def test_a_sentence_about_something_else_is_not_supported() -> None:
    found = support("Seagulls can drink salt water through a gland.", SOURCE)
    assert (found.holds, found.found, found.decisive) == (False, 0, ())
    assert found.absent[0] == "Seagulls"


def test_the_sentences_it_is_found_in_are_named_and_are_few() -> None:
    found = support("Buses may cross, but the rusty cables close the bridge on 3 November.", SOURCE)
    assert found.sentences[0] == 0
    assert sorted(found.sentences) == [0, 1, 2]
    assert support("bridge", SOURCE * 20).sentences == (0,)


def test_a_text_without_content_words_is_supported() -> None:
    assert support("It is so.", SOURCE).holds
    assert support("", ()).share == 1
    assert not support("The bridge.", ()).holds
    assert 0 < ENOUGH < 1


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4))
@settings(deadline=None, max_examples=150)
def test_any_texts_can_be_compared(sentence: str, others: list[str]) -> None:
    found = support(sentence, others)
    assert 0 <= found.share <= 1
    assert found.words == len(roots(sentence))
    assert set(found.decisive) <= set(found.absent)
    assert support(sentence, [*others, sentence]).share == 1


# Clauses


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("The bridge is closed.", ("The bridge is closed.",)),
        (
            "Brightwater Lines gives up the contract, because two of its boats failed their inspection.",
            ("Brightwater Lines gives up the contract", "because two of its boats failed their inspection."),
        ),
        (
            "the council asked three firms and it is looking for a small vessel ; repairs cost two million .",
            ("the council asked three firms", "and it is looking for a small vessel", "repairs cost two million ."),
        ),
        ("Cars, buses and lorries cross.", ("Cars, buses and lorries cross.",)),
        ("Repairs, which began, are late.", ("Repairs, which began, are late.",)),
        ("It is so.", ("It is so.",)),
    ],
)
def test_a_sentence_is_cut_into_clauses_that_each_tell_something(sentence: str, found: tuple[str, ...]) -> None:
    assert clauses(sentence) == found


@given(st.text(alphabet="abc,;:()- .", max_size=80))
@settings(deadline=None, max_examples=150)
def test_clauses_hold_all_content_words_of_the_sentence(sentence: str) -> None:
    found = clauses(sentence)
    assert found
    assert {root for clause in found for root in roots(clause)} == set(roots(sentence))

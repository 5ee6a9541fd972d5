"""Each feature moves as its title says when a text is damaged in a known way; formulas against worked examples."""

from collections.abc import Callable

import pytest

from rubriclab.text_features import extract_features
from rubriclab.text_features.source import copied_runs
from rubriclab.text_features.text import Text

SOURCE = (
    "The council of Bern voted on Monday to close the old harbour bridge. Engineers had found 14 cracks in its "
    "pillars. Mayor Anna Keller said that repairs would cost 3,000 francs a day. Ferries will carry commuters "
    "until the spring."
)
GOOD = (
    "The council of Bern voted to close the harbour bridge. Engineers had found 14 cracks. "
    "Ferries will carry commuters."
)


Damage = Callable[[str], str]
DAMAGES: list[tuple[str, Damage, str, int]] = [
    ("cut off", lambda t: t[:-12], "ends_complete", -1),
    ("repeated", lambda t: f"{t} {t}", "repeated_bigrams", +1),
    ("repeated", lambda t: f"{t} {t}", "repeated_words", +1),
    ("lower case", lambda t: t.lower(), "opening_capital", -1),
    ("long words", lambda t: f"{t} Infrastructural deterioration.", "long_words", +1),
    ("wrong number", lambda t: t.replace("14", "96"), "unsupported_numbers", +1),
    ("off topic", lambda t: f"{t} Penguins enjoy frozen pizza.", "words_from_source", -1),
    ("off topic", lambda t: f"{t} Penguins enjoy frozen pizza.", "least_supported_sentence", -1),
    ("off topic", lambda t: f"{t} Penguins enjoy frozen pizza.", "divergence_from_source", +1),
    ("lost point", lambda t: t.split(". ", 1)[1], "source_words_covered", -1),
    ("broken grammar", lambda t: t.replace("harbour bridge", "the of"), "stumbles", +1),
    ("doubled word", lambda t: t.replace("found", "found found"), "stumbles", +1),
    ("spaced marks", lambda t: t.replace(".", " ."), "detached_punctuation", +1),
    ("bullets", lambda t: f"- {t}\n- **done**", "markup", +1),
    ("spliced", lambda t: t.replace("harbour", "cracks harbour spring"), "splices", +1),
    ("stock reply", lambda t: f"{t} That's interesting.", "stock_phrases", +1),
    ("question", lambda t: f"{t} Do you know?", "question_marks", +1),
    ("dialogue", lambda t: f'{t} "We must go," she said.', "quoted_share", +1),
]


@pytest.mark.parametrize(("label", "damage", "name", "sign"), DAMAGES, ids=[f"{d[0]}-{d[2]}" for d in DAMAGES])
def test_a_known_change_of_the_text_moves_its_feature(label: str, damage: Damage, name: str, sign: int) -> None:
    before, after = extract_features(GOOD, SOURCE)[name], extract_features(damage(GOOD), SOURCE)[name]
    assert (after - before) * sign > 0, (label, before, after)


def test_copied_runs_follow_the_definition_of_coverage() -> None:
    text, source = Text("a b c x d e"), Text("z d e y a b c")
    assert copied_runs(text, source) == [3, 2]
    values = extract_features("a b c x d e", "z d e y a b c")
    assert values["copied_share"] == pytest.approx(5 / 6)
    assert values["longest_copy"] == 3


def test_a_full_copy_is_covered_supported_and_without_divergence() -> None:
    values = extract_features(SOURCE, SOURCE)
    for name in (
        "words_from_source",
        "source_words_covered",
        "copied_share",
    ):
        assert values[name] == pytest.approx(1), name
    assert values["divergence_from_source"] == pytest.approx(0)
    assert values["length_to_source"] == pytest.approx(0)
    assert values["fourgrams_from_source"] == 1


def test_disjoint_texts_diverge_by_one_bit() -> None:
    assert extract_features("Penguins enjoy pizza.", SOURCE)["divergence_from_source"] == pytest.approx(1)


def test_a_reply_that_uses_the_fact_covers_more_of_the_context_than_a_stock_reply() -> None:
    history, fact = "Do you like coffee?\nYes, a lot. Where was it first grown?", "Coffee was first grown in Ethiopia."
    informed = extract_features("It was first grown in Ethiopia.", history, fact)
    stock = extract_features("I don't know.", history, fact)
    assert informed["context_covered"] > stock["context_covered"]
    assert informed["last_turn_overlap"] > 0
    assert stock["stock_phrases"] == 1
    assert stock["last_turn_overlap"] == 0


def test_neighbouring_sentences_on_one_subject_are_linked_and_unrelated_ones_are_not() -> None:
    together = extract_features("The bridge is old. The bridge has cracks.")
    apart = extract_features("The bridge is old. My uncle sells pears.")
    assert together["linked_sentences"] > apart["linked_sentences"]

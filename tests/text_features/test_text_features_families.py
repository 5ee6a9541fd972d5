"""Each family moves as its titles say when a text is damaged in a known way; formulas against worked examples."""

from collections.abc import Callable

import pytest

from rubriclab.text_features import measure
from rubriclab.text_features.fragments import copied_fragments
from rubriclab.text_features.overlap import matched_sentences
from rubriclab.text_features.text import Text
from rubriclab.text_features.vocabulary import moving_type_token_ratio

SOURCE = (
    "The council of Bern voted on Monday to close the old harbour bridge. Engineers had found 14 cracks in its "
    "pillars. Mayor Anna Keller said that repairs would cost 3,000 francs a day. Ferries will carry commuters "
    "until the spring."
)
GOOD = (
    "The council of Bern voted to close the harbour bridge. Engineers had found 14 cracks. "
    "Ferries will carry commuters."
)


def _reversed_sentences(text: str) -> str:
    return ". ".join(reversed(text.rstrip(".").split(". "))) + "."


Damage = Callable[[str], str]
DAMAGES: list[tuple[str, Damage, str, int]] = [
    ("cut off", lambda t: t[:-12], "ends_complete", -1),
    ("repeated", lambda t: f"{t} {t}", "repeated_fourgrams", +1),
    ("repeated", lambda t: f"{t} {t}", "repeated_sentences", +1),
    ("repeated", lambda t: f"{t} {t}", "most_similar_sentences", +1),
    ("shuffled", _reversed_sentences, "ascending_sentences", -1),
    ("shuffled", _reversed_sentences, "in_source_order", -1),
    ("wrong number", lambda t: t.replace("14", "96"), "unsupported_numbers", +1),
    ("wrong name", lambda t: t.replace("of Bern", "of Geneva"), "unsupported_names", +1),
    ("off topic", lambda t: f"{t} Penguins enjoy frozen pizza.", "words_from_source", -1),
    ("off topic", lambda t: f"{t} Penguins enjoy frozen pizza.", "least_supported_sentence", -1),
    ("off topic", lambda t: f"{t} Penguins enjoy frozen pizza.", "divergence_from_source", +1),
    ("lost point", lambda t: t.split(". ", 1)[1], "source_words_covered", -1),
    ("lost point", lambda t: t.split(". ", 1)[1], "lead_covered", -1),
    ("lost point", lambda t: t.split(". ", 1)[1], "source_position", +1),
    ("broken grammar", lambda t: t.replace("harbour bridge", "the of"), "stumbles", +1),
    ("doubled word", lambda t: t.replace("found", "found found"), "stumbles", +1),
    ("lower case", str.lower, "capital_starts", -1),
    ("open quotation", lambda t: f'"{t}', "unpaired_marks", +1),
    ("spaced marks", lambda t: t.replace(".", " ."), "detached_punctuation", +1),
    ("escapes", lambda t: t.replace("of", "&amp; -lrb-"), "debris", +1),
    ("bullets", lambda t: f"- {t}\n- **done**", "markup", +1),
    ("spliced", lambda t: t.replace("harbour", "cracks harbour spring"), "splices", +1),
    ("emotion", lambda t: f"{t} Anna cried with grief.", "emotion_words", +1),
    ("stock reply", lambda t: f"{t} That's interesting.", "stock_phrases", +1),
    ("question", lambda t: f"{t} Do you know?", "question_marks", +1),
    ("dialogue", lambda t: f'{t} "We must go," she said.', "quoted_share", +1),
    ("hard words", lambda t: f"{t} Infrastructural deterioration necessitates intervention.", "reading_ease", -1),
]


@pytest.mark.parametrize(("label", "damage", "name", "sign"), DAMAGES, ids=[f"{d[0]}-{d[2]}" for d in DAMAGES])
def test_a_known_change_of_the_text_moves_its_measure(label: str, damage: Damage, name: str, sign: int) -> None:
    before, after = measure(GOOD, SOURCE)[name], measure(damage(GOOD), SOURCE)[name]
    assert (after - before) * sign > 0, (label, before, after)


def test_fragments_follow_the_definitions_of_coverage_and_density() -> None:
    text, source = Text("a b c x d e"), Text("z d e y a b c")
    assert copied_fragments(text, source) == [3, 2]
    values = measure("a b c x d e", "z d e y a b c")
    assert values["copied_share"] == pytest.approx(5 / 6)
    assert values["copied_density"] == pytest.approx((9 + 4) / 6)
    assert values["longest_copy"] == 3


def test_a_full_copy_is_covered_supported_and_without_divergence() -> None:
    values = measure(SOURCE, SOURCE)
    for name in (
        "words_from_source",
        "source_words_covered",
        "in_source_order",
        "copied_share",
    ):
        assert values[name] == pytest.approx(1), name
    assert values["divergence_from_source"] == pytest.approx(0)
    assert values["length_to_source"] == pytest.approx(0)
    assert values["sentences_copied_whole"] == 1


def test_disjoint_texts_diverge_by_one_bit() -> None:
    assert measure("Penguins enjoy pizza.", SOURCE)["divergence_from_source"] == pytest.approx(1)


def test_sentences_are_matched_to_the_source_sentence_that_shares_their_rarest_words() -> None:
    assert matched_sentences(Text("Ferries carry commuters. Cracks were in pillars."), Text(SOURCE)) == [3, 1]


def test_moving_type_token_ratio_equals_the_mean_over_windows() -> None:
    words = list("abacabad")
    windows = [words[i : i + 3] for i in range(6)]
    assert moving_type_token_ratio(words, 3) == pytest.approx(sum(len(set(w)) for w in windows) / 18)


def test_reading_ease_follows_flesch() -> None:
    # 2 sentences, 6 words, 6 syllables.
    assert measure("The cat sat. The dog ran.")["reading_ease"] == pytest.approx(206.835 - 1.015 * 3 - 84.6)


def test_a_reply_that_uses_the_fact_covers_more_of_the_context_than_a_stock_reply() -> None:
    history, fact = "Do you like coffee?\nYes, a lot. Where was it first grown?", "Coffee was first grown in Ethiopia."
    informed = measure("It was first grown in Ethiopia.", history, fact)
    stock = measure("I don't know.", history, fact)
    assert informed["context_covered"] > stock["context_covered"]
    assert informed["last_turn_overlap"] > 0
    assert stock["stock_phrases"] == 1
    assert stock["last_turn_overlap"] == 0


def test_neighbouring_sentences_on_one_subject_overlap_more_than_unrelated_ones() -> None:
    together = measure("The bridge is old. The bridge has cracks.")
    apart = measure("The bridge is old. My uncle sells pears.")
    assert together["neighbour_overlap"] > apart["neighbour_overlap"]
    assert together["linked_sentences"] > apart["linked_sentences"]
    assert together["topic_return"] > apart["topic_return"]


def test_a_story_of_one_tense_is_not_mixed() -> None:
    values = measure("She walked home. She was tired and slept.")
    assert values["past_tense"] == 1
    assert values["tense_mixing"] == 0
    assert measure("She walked home. I am tired.")["tense_mixing"] > 0

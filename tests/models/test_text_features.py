"""The catalogue documents every text feature; each moves as its title says, for any text and in linear time."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from rubriclab.models.text_features import CATALOGUE, WORD_COUNT, Features, Text, aspect_kinds, stem, usual_directions

NAMES = [feature.name for feature in CATALOGUE]
SOURCE = (
    "The council of Bern voted on Monday to close the old harbour bridge. Engineers had found 14 cracks in its "
    "pillars. Mayor Anna Keller said that repairs would cost 3,000 francs a day. Ferries will carry commuters "
    "until the spring."
)
GOOD = (
    "The council of Bern voted to close the harbour bridge. Engineers had found 14 cracks. "
    "Ferries will carry commuters."
)
any_text = st.text(max_size=400) | st.text(alphabet="ab .\n,!?'\"“”(1é中\x00\ud800", max_size=400)


@pytest.mark.parametrize(
    ("aspect", "definition", "kinds"),
    [
        ("coherence", "Is it interesting?", ("coherence",)),
        ("groundedness", "", ("faithfulness",)),
        ("grammar and structure", "", ("fluency", "coherence")),
        ("q3", "Are the facts supported by the article?", ("faithfulness",)),
        ("overall", "", ("fluency", "coherence", "coverage", "faithfulness", "engagement")),
    ],
)
def test_an_aspect_is_recognised_by_its_name_or_else_by_its_definition(
    aspect: str, definition: str, kinds: tuple[str, ...]
) -> None:
    assert aspect_kinds(aspect, definition) == kinds


def test_usual_directions_hold_for_an_aspect_in_the_tasks_that_they_are_known_for() -> None:
    assert list(usual_directions("overall", task="summarization")) == NAMES
    assert usual_directions("coherence", task="story")["repeated_bigrams"] == -1
    assert usual_directions("consistency", task="summarization")["copied_share"] == 1
    assert usual_directions("consistency", task="dialogue")["copied_share"] == 0
    assert usual_directions("coherence and informativeness", task="summarization")["words"] == 0.5


def test_features_that_need_a_source_or_context_are_nan_without_it_and_numbers_with_it() -> None:
    alone, accompanied = Features(GOOD), Features(GOOD, SOURCE, SOURCE)
    for feature in CATALOGUE:
        assert math.isnan(alone[feature.name]) == bool(feature.needs), feature.name
        assert math.isfinite(accompanied[feature.name]), feature.name


@pytest.mark.parametrize("blank", ["", " \n\t", "...!?", "\x00", "😀😀"])
def test_a_text_without_words_has_zero_length_and_no_shares(blank: str) -> None:
    values = Features(blank, SOURCE, SOURCE)
    assert (values[WORD_COUNT], values["distinct_content_words"]) == (0, 0)
    assert math.isnan(values["words_from_source"])
    assert math.isnan(values["repeated_words"])


@given(output=any_text, source=st.none() | any_text, names=st.permutations(NAMES))
def test_any_text_has_the_same_finite_values_and_shares_whichever_are_read_first(
    output: str, source: str | None, names: list[str]
) -> None:
    together = {name: repr(value) for name, value in Features(output, source, source).items()}
    assert list(together) == NAMES
    alone = Features(output, source, source)
    alone._values = {}
    assert {name: repr(alone[name]) for name in names} == together
    for feature in CATALOGUE:
        value = alone[feature.name]
        assert not math.isinf(value)
        if feature.unit.startswith("share of") and not math.isnan(value):
            assert -1e-9 <= value <= 1 + 1e-9, feature.name


@pytest.mark.parametrize("piece", ["a", ".", '"', "“", "\n", " ", "the ", "a. ", "1,", "<a", "中", "\x00", "'", "``"])
def test_long_monotonous_input_is_measured_in_linear_time(piece: str) -> None:
    # A quadratic pattern would need minutes for this and run into the suite's time limit.
    flood = piece * (60_000 // len(piece))
    assert dict(Features(flood, flood, flood))[WORD_COUNT] >= 0


Damage = Callable[[str], str]
DAMAGES: list[tuple[str, Damage, str, int]] = [
    ("cut off", lambda t: t[:-12], "ends_complete", -1),
    ("repeated", lambda t: f"{t} {t}", "repeated_bigrams", +1),
    ("repeated", lambda t: f"{t} {t}", "repeated_words", +1),
    ("lower case", lambda t: t.lower(), "opening_capital", -1),
    ("long words", lambda t: f"{t} Infrastructural deterioration.", "long_words", +1),
    ("wrong number", lambda t: t.replace("14", "96"), "unsupported_numbers", +1),
    ("off topic", lambda t: f"{t} Penguins enjoy frozen pizza.", "words_from_source", -1),
    ("lost point", lambda t: t.split(". ", 1)[1], "source_words_covered", -1),
    ("broken grammar", lambda t: t.replace("harbour bridge", "the of"), "stumbles", +1),
    ("doubled word", lambda t: t.replace("found", "found found"), "stumbles", +1),
    ("spaced marks", lambda t: t.replace(".", " ."), "detached_punctuation", +1),
    ("bullets", lambda t: f"- {t}\n- **done**", "markup", +1),
    ("spliced", lambda t: t.replace("harbour", "cracks harbour spring"), "splices", +1),
]


@pytest.mark.parametrize(("label", "damage", "name", "sign"), DAMAGES, ids=[f"{d[0]}-{d[2]}" for d in DAMAGES])
def test_a_known_change_of_the_text_moves_its_feature(label: str, damage: Damage, name: str, sign: int) -> None:
    before, after = Features(GOOD, SOURCE)[name], Features(damage(GOOD), SOURCE)[name]
    assert (after - before) * sign > 0, (label, before, after)
    assert Features("Der Hund sah ihn an. Am Abend rief er uns noch einmal an.")["stumbles"] == 0


def test_copied_runs_follow_the_definition_of_coverage() -> None:
    assert Features("a b c x d e", "z d e y a b c").run_lengths == [3, 2]
    values = Features("a b c x d e", "z d e y a b c")
    assert values["copied_share"] == pytest.approx(5 / 6)
    assert values["longest_copy"] == 3


def test_a_tokenised_output_has_the_words_of_its_cased_source() -> None:
    cased = Text("“Don't go,” said the U.S. Army's well-known spokesman, who'd seen 1,000 cars.")
    tokenised = Text("`` do n't go , '' said the u.s. army 's well - known spokesman , who 'd seen 1,000 cars .")
    assert tokenised.words == cased.words


def test_inflected_forms_share_a_stem_and_short_and_doubtful_words_are_left_alone() -> None:
    for left, right in (("cities", "city"), ("boxes", "box"), ("bridge's", "bridges"), ("walked", "walking")):
        assert stem(left) == stem(right)
    for word in ("glass", "bus", "this", "sing", "red"):
        assert stem(word) == word

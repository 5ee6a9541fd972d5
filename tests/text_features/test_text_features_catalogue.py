"""The catalogue documents every text feature, and `extract_features` returns exactly these, for any text."""

import math
import re

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.text_features import CATALOGUE, WORD_COUNT, TextFeature, catalogue, extract_features, features_of
from rubriclab.text_features.catalogue import SharedTexts

NAMES = [feature.name for feature in CATALOGUE]
SOURCE = (
    "The council of Bern voted on Monday to close the old harbour bridge. Engineers had found 14 cracks in its "
    "pillars. Mayor Anna Keller said that repairs would cost 3,000 francs a day. Ferries will carry commuters."
)
SUMMARY = "Bern will close its harbour bridge because engineers found 14 cracks. Ferries will carry commuters."
any_text = st.text(max_size=400) | st.text(alphabet="ab .\n,!?'\"“”(1é中\x00\ud800", max_size=400)


def test_exactly_the_names_of_the_catalogue_are_returned_in_its_order() -> None:
    assert list(extract_features(SUMMARY, SOURCE, "A fact.")) == NAMES
    assert list(extract_features("")) == NAMES


def test_names_are_unique_snake_case_and_include_the_word_count() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) for name in NAMES)
    assert WORD_COUNT in NAMES


@pytest.mark.parametrize("feature", CATALOGUE, ids=NAMES)
def test_every_entry_documents_title_unit_and_keywords(feature: TextFeature) -> None:
    assert len(feature.title.split()) >= 1
    assert feature.title[0].islower()
    assert not feature.title.endswith(".")
    assert feature.unit
    assert feature.keywords
    assert all(word == word.lower() for word in feature.keywords)


@pytest.mark.parametrize("feature", CATALOGUE, ids=NAMES)
def test_no_feature_is_usually_better_both_high_and_low(feature: TextFeature) -> None:
    assert not set(feature.better_high) & set(feature.better_low)
    assert all(feature.direction(kind) == 1 for kind in feature.better_high)
    assert all(feature.direction(kind) == -1 for kind in feature.better_low)


def test_features_that_need_a_source_or_context_are_nan_without_it_and_numbers_with_it() -> None:
    alone, accompanied = extract_features(SUMMARY), extract_features(SUMMARY, SOURCE, SOURCE)
    for feature in CATALOGUE:
        assert math.isnan(alone[feature.name]) == bool(feature.needs), feature.name
        assert math.isfinite(accompanied[feature.name]), feature.name


@pytest.mark.parametrize("blank", ["", " \n\t", "...!?", "\x00", "😀😀"])
def test_a_text_without_words_has_zero_length_and_no_shares(blank: str) -> None:
    values = extract_features(blank, SOURCE, SOURCE)
    assert values[WORD_COUNT] == 0
    assert values["distinct_content_words"] == 0
    assert math.isnan(values["words_from_source"])
    assert math.isnan(values["repeated_words"])


@settings(deadline=None, max_examples=150)
@given(output=any_text, source=st.none() | any_text, context=st.none() | any_text)
def test_any_text_is_measured_without_infinities_and_twice_alike(
    output: str, source: str | None, context: str | None
) -> None:
    first = extract_features(output, source, context)
    catalogue._cache.clear()
    second = extract_features(output, source, context)
    assert list(first) == NAMES
    assert not any(math.isinf(value) for value in first.values())
    assert [repr(value) for value in first.values()] == [repr(value) for value in second.values()]


@settings(deadline=None, max_examples=50)
@given(output=any_text, source=st.none() | any_text, names=st.permutations(NAMES))
def test_a_feature_has_the_same_value_whichever_are_read_before_it(
    output: str, source: str | None, names: list[str]
) -> None:
    catalogue._cache.clear()
    together = extract_features(output, source, source)
    catalogue._cache.clear()
    alone = features_of(output, source, source)
    assert {name: repr(alone[name]) for name in names} == {name: repr(value) for name, value in together.items()}


def test_only_features_that_are_read_are_computed_and_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    compute = catalogue.Features._computed

    def counting(self: catalogue.Features, name: str) -> float:
        computed.append(name)
        return compute(self, name)

    monkeypatch.setattr(catalogue.Features, "_computed", counting)
    output = f"{SUMMARY} Nobody has measured this."
    for _ in range(2):
        features_of(output, SOURCE)["copied_share"]
    assert computed == ["copied_share"]


def test_shared_texts_keep_no_more_than_their_characters_and_the_latest_text_however_long() -> None:
    texts = SharedTexts(most=10)
    first = texts.get("abcd")
    assert texts.get("abcd") is first
    texts.get("efgh")
    assert texts.get("abcd") is first
    texts.get("ijkl")
    assert texts.get("abcd") is first
    long = texts.get("m" * 50)
    assert texts.get("m" * 50) is long
    assert texts.get("abcd") is not first


def test_what_is_done_to_the_values_of_a_text_does_not_show_when_it_is_measured_again() -> None:
    first = extract_features(SUMMARY, SOURCE)
    copy = dict(first)
    first.clear()
    assert repr(extract_features(SUMMARY, SOURCE)) == repr(copy)


def test_the_same_words_beside_another_source_or_context_are_measured_anew() -> None:
    others = ((), (SOURCE,), (SUMMARY,), (None, SOURCE), (SOURCE, SOURCE))
    results = [repr(extract_features(SUMMARY, *beside)) for beside in others]
    assert len(set(results)) == len(results)


@settings(deadline=None, max_examples=100)
@given(output=any_text, source=any_text)
def test_shares_stay_between_zero_and_one(output: str, source: str) -> None:
    values = extract_features(output, source, source)
    for feature in CATALOGUE:
        if feature.unit.startswith("share of") and not math.isnan(values[feature.name]):
            assert -1e-9 <= values[feature.name] <= 1 + 1e-9, feature.name


@pytest.mark.parametrize("piece", ["a", ".", '"', "“", "\n", " ", "the ", "a. ", "1,", "<a", "中", "\x00", "'", "``"])
def test_long_monotonous_input_is_measured_in_linear_time(piece: str) -> None:
    # A quadratic pattern would need minutes for this and run into the suite's time limit.
    flood = piece * (60_000 // len(piece))
    values = extract_features(flood, flood, flood)
    assert values[WORD_COUNT] >= 0

"""Passages that a text shares with its source."""

from __future__ import annotations

import re
import time

from hypothesis import given, strategies as st

from rubriclab.labeling.passages import FEWEST_WORDS, matching_passages

WORDS = st.lists(st.sampled_from(["the", "map", "was", "found", "again", "in", "Carrow", "地図"]), max_size=40)


def test_shared_words_are_marked_on_both_sides() -> None:
    ((output,), source) = matching_passages(["He said THE OLD harbour, lay there."], "So the old harbour lay north.")
    assert [(each.text, each.passages) for each in output] == [
        ("He said ", ()),
        ("THE OLD harbour, lay", (0,)),
        (" there.", ()),
    ]
    assert [each.text for each in source if each.passages == (0,)] == ["the old harbour lay"]


def test_fewer_words_are_not_marked() -> None:
    ((output,), source) = matching_passages(["the old harbour"], "the old harbour lay north")
    assert {each.passages for each in (*output, *source)} == {()}


def test_chinese_is_compared_by_characters() -> None:
    ((output,), _) = matching_passages(["他说旧港口在北"], "地图上旧港口在这里")
    assert [each.text for each in output if each.passages] == ["旧港口在"]


def words_of(text: str) -> list[str]:
    return re.findall(r"[地図]|[a-zA-Z]+", text)


@given(st.lists(WORDS, min_size=1, max_size=3), WORDS)
def test_segments_hold_the_texts_and_each_passage_is_the_same_words(
    outputs: list[list[str]], source: list[str]
) -> None:
    written = [" ".join(words) for words in outputs]
    found, in_source = matching_passages(written, ", ".join(source))
    assert ["".join(each.text for each in segments) for segments in found] == written
    assert "".join(each.text for each in in_source) == ", ".join(source)
    passages: dict[int, list[str]] = {}
    for segments in found:
        for segment in segments:
            for number in segment.passages:
                passages.setdefault(number, []).append(segment.text)
    for number, parts in passages.items():
        words = words_of("".join(parts))
        assert len(words) >= FEWEST_WORDS
        assert words_of("".join(each.text for each in in_source if number in each.passages)) == words


def test_repetitive_texts_take_no_time() -> None:
    begun = time.process_time()
    matching_passages(["a " * 5000], "a " * 20_000)
    assert time.process_time() - begun < 10

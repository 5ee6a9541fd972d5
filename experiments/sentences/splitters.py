"""The sentence splitters that are compared, each as a function from a text to where its sentences end."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from importlib.metadata import version

from rubriclab.research import sentence_spans

Splitter = Callable[[str], list[int]]


def rubriclab() -> Splitter:
    """Return rubriclab's own rule."""
    return lambda text: [end for _, end in sentence_spans(text)]


def pysbd() -> Splitter:
    """Return pysbd with the rules for English."""
    segmenter = importlib.import_module("pysbd").Segmenter(language="en", clean=False)
    return lambda text: ends_of_pieces(text, segmenter.segment(text))


def syntok() -> Splitter:
    """Return syntok's segmenter."""
    analyze = importlib.import_module("syntok.segmenter").analyze

    def ends(text: str) -> list[int]:
        last = [sentence[-1] for paragraph in analyze(text) for sentence in paragraph]
        return [token.offset + len(token.value) for token in last]

    return ends


def blingfire() -> Splitter:
    """Return blingfire's default sentence breaker."""
    split = importlib.import_module("blingfire").text_to_sentences
    return lambda text: ends_of_pieces(text, split(text).split("\n"))


def spacy() -> Splitter:
    """Return spaCy's rule-based sentencizer over a blank English pipeline."""
    pipeline = importlib.import_module("spacy").blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 10**8
    return lambda text: [len(text[: span.end_char].rstrip()) for span in pipeline(text).sents]


SPLITTERS: dict[str, Callable[[], Splitter]] = {
    "rubriclab": rubriclab,
    "pysbd": pysbd,
    "syntok": syntok,
    "blingfire": blingfire,
    "spacy": spacy,
}


def installed() -> tuple[dict[str, Splitter], list[str]]:
    """Return the splitters that can be imported here by name and version, and the names of the absent ones."""
    found, absent = {}, []
    for name, make in SPLITTERS.items():
        try:
            splitter = make()
        except ModuleNotFoundError:
            absent.append(name)
        else:
            found[name if name == "rubriclab" else f"{name} {version(name)}"] = splitter
    return found, absent


def ends_of_pieces(text: str, pieces: Iterable[str]) -> list[int]:
    """Return where the pieces of a text end in it, whatever was done to the white space between and in them."""
    after_visible = [0, *(at + 1 for at, character in enumerate(text) if not character.isspace())]
    ends, visible = [], 0
    for piece in pieces:
        visible += sum(not character.isspace() for character in piece)
        ends.append(after_visible[visible])
    if visible != len(after_visible) - 1:
        raise ValueError(f"the pieces hold {visible} visible characters, the text {len(after_visible) - 1}")
    return ends

"""Names and numbers, and whether the source holds them.

A name is a word that the text or its source writes with a capital inside a sentence, so that names are
found in lower-cased output as well, as long as its source is cased.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from rubriclab.text_features.definition import NEEDS_SOURCE, Measure
from rubriclab.text_features.text import Text, share

_FACTS = (
    "fact",
    "accura",
    "consisten",
    "hallucinat",
    "support",
    "correct",
    "faithful",
    "invent",
    "contradict",
    "verif",
)
_ENTITY = ("name", "entit", "person", "people", "place", "specific", "concrete", "who")

MEASURES = (
    Measure(
        "unsupported_names",
        "names that the source does not have",
        "per 100 words",
        "after Nan et al. (2021, EACL), entity-level factual consistency",
        (*_FACTS, *_ENTITY),
        NEEDS_SOURCE,
        better_low=("faithfulness",),
        tasks=("summarization",),
    ),
    Measure(
        "unsupported_numbers",
        "numbers that the source does not have",
        "per 100 words",
        "after Zhao et al. (2020, Findings of EMNLP), quantity hallucination",
        (*_FACTS, "number", "figure", "date", "quantit", "statistic"),
        NEEDS_SOURCE,
        better_low=("faithfulness",),
        tasks=("summarization",),
    ),
    Measure(
        "source_names_covered",
        "share of the source's names that return, frequent names counting more",
        "share of the source's mentions of names",
        "elementary; title and cue words of Edmundson (1969, Journal of the ACM)",
        (*_ENTITY, "cover", "key", "main", "informati", "character"),
        NEEDS_SOURCE,
        better_high=("coverage",),
        tasks=("summarization",),
    ),
    Measure(
        "least_supported_sentence",
        "support of the sentence with the least of its content in the source",
        "share of that sentence's content words",
        "sentence-level aggregation of Laban et al. (2022, TACL), here on words",
        (*_FACTS, "source", "ground", "claim", "statement"),
        NEEDS_SOURCE,
        better_high=("faithfulness", "coverage"),
        tasks=("summarization",),
    ),
    Measure(
        "names",
        "names",
        "per 100 words",
        "elementary",
        (*_ENTITY, "character"),
    ),
    Measure(
        "numbers",
        "numbers written in digits",
        "per 100 words",
        "elementary",
        ("number", "figure", "date", "quantit", "statistic", "specific", "precise", "data"),
    ),
)


def measure_entities(text: Text, source: Text | None) -> dict[str, float]:
    """Values of this module's measures; support is nan without a source, density without words."""
    per_hundred = share(100, len(text.words))
    mentioned = _mentions(text, source)
    return {
        **_support(text, source, mentioned, per_hundred),
        "names": len(mentioned) * per_hundred,
        "numbers": len(text.numbers) * per_hundred,
    }


def _mentions(text: Text, source: Text | None) -> list[str]:
    known = text.names.keys() | (source.names.keys() if source else set())
    return [word for word in text.bare_words if word in known]


def _support(text: Text, source: Text | None, mentioned: Iterable[str], per_hundred: float) -> dict[str, float]:
    if source is None or not source.words:
        return {entry.name: math.nan for entry in MEASURES if entry.needs}
    figures = set(source.numbers)
    names = source.names
    covered = sum(names[name] for name in set(mentioned) & names.keys())
    return {
        "unsupported_names": sum(name not in source.bare_vocabulary for name in mentioned) * per_hundred,
        "unsupported_numbers": sum(number not in figures for number in text.numbers) * per_hundred,
        "source_names_covered": share(covered, names.total()),
        "least_supported_sentence": _least_supported(text, source),
    }


def _least_supported(text: Text, source: Text) -> float:
    original = source.content_counts.keys()
    shares = [len(words & original) / len(words) for words in text.sentence_content_sets if words]
    return min(shares, default=math.nan)

"""How sentences hang together: shared words, references and connectives between neighbours."""

from __future__ import annotations

import math
from statistics import fmean

from rubriclab.text_features.definition import Measure
from rubriclab.text_features.lexicon import CONNECTIVES, DEMONSTRATIVES, THIRD_PERSON
from rubriclab.text_features.text import Text, jaccard

_COHESION = (
    "coheren",
    "cohes",
    "flow",
    "connect",
    "transition",
    "link",
    "logical",
    "organi",
    "structure",
    "smooth",
    "sequence",
)
_TOPIC = ("topic", "focus", "theme", "subject", "stay", "off-topic", "drift", "relevan", *_COHESION)
_REFERENCES = THIRD_PERSON | DEMONSTRATIVES

MEASURES = (
    Measure(
        "neighbour_overlap",
        "content shared by neighbouring sentences",
        "mean Jaccard index of content words, 0 to 1; nan for one sentence",
        "argument overlap of Coh-Metrix, Graesser et al. (2004, Behavior Research Methods)",
        _COHESION,
        better_high=("coherence",),
    ),
    Measure(
        "linked_sentences",
        "share of sentences tied to the one before by a shared word, a reference or a connective",
        "share of sentences after the first; 1 for one sentence",
        "ties of Halliday and Hasan (1976, Cohesion in English)",
        _COHESION,
        better_high=("coherence",),
    ),
    Measure(
        "topic_return",
        "share of sentences that take up a content word of the first",
        "share of sentences after the first; 1 for one sentence",
        "elementary",
        (*_TOPIC, "first", "begin", "opening"),
        better_high=("coherence", "coverage"),
    ),
    Measure(
        "carried_content",
        "share of content words heard before in another sentence",
        "share of a sentence's content words, mean over sentences after the first",
        "given and new of Clark and Haviland (1977, Discourse Production and Comprehension)",
        _TOPIC,
    ),
    Measure(
        "reference_starts",
        "share of sentences that open with a pronoun or demonstrative",
        "share of sentences",
        "centering, Grosz et al. (1995, Computational Linguistics)",
        ("pronoun", "refer", "antecedent", "ambigu", *_COHESION),
    ),
    Measure(
        "unanchored_opening",
        "an opening with a reference or connective that has nothing before it",
        "1 if the first sentence opens so, else 0",
        "elementary",
        ("begin", "start", "open", "introduc", "context", "dangling", "antecedent", "ambigu", "self-contained"),
        better_low=("coherence", "coverage"),
    ),
    Measure(
        "connectives",
        "connecting words",
        "per sentence",
        "Halliday and Hasan (1976, Cohesion in English)",
        ("connective", "because", "cause", "reason", "explain", *_COHESION),
        better_high=("coherence", "engagement"),
    ),
)


def measure_cohesion(text: Text) -> dict[str, float]:
    """Values of this module's measures; nan for a text without words."""
    sentences, content = text.sentence_words, text.sentence_content_sets
    if not sentences:
        return {entry.name: math.nan for entry in MEASURES}
    later = range(1, len(sentences))
    return {
        "neighbour_overlap": _mean([jaccard(content[i - 1], content[i]) for i in later], math.nan),
        "linked_sentences": _mean([_is_linked(text, i) for i in later], 1.0),
        "topic_return": _mean([bool(content[0] & content[i]) for i in later], 1.0),
        "carried_content": _carried(content),
        "reference_starts": fmean(words[0] in _REFERENCES for words in sentences),
        "unanchored_opening": float(
            sentences[0][0] in _REFERENCES - {"this", "it's"} or sentences[0][0] in {"and", "but", "so"}
        ),
        "connectives": sum(word in CONNECTIVES for word in text.words) / len(sentences),
    }


def _mean(values: list[float] | list[bool], empty: float) -> float:
    return fmean(values) if values else empty


def _is_linked(text: Text, index: int) -> bool:
    opening = text.sentence_words[index][:3]
    content = text.sentence_content_sets
    return any(w in _REFERENCES or w in CONNECTIVES for w in opening) or bool(content[index - 1] & content[index])


def _carried(content: tuple[frozenset[str], ...]) -> float:
    seen: set[str] = set(content[0])
    shares = []
    for words in content[1:]:
        if words:
            shares.append(len(words & seen) / len(words))
        seen |= words
    return _mean(shares, math.nan)

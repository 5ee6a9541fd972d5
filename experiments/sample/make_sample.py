"""Builds the shipped sample from `sources.json`: six summaries of each source text, five of them damaged on purpose.

Every label follows from the damage by the table PENALTIES; nobody rated these texts. The README beside this file
describes each damage. `make_sample.py` writes the two files, `make_sample.py --check` proves that they are up to date.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

HERE = Path(__file__).resolve().parent
ASPECTS = ("coherence", "consistency", "fluency", "relevance")
LOWEST, HIGHEST = 1, 5
# Texts held out that are shown without labels too, as texts to plan labels for.
UNLABELLED = 24
LABELLED_SOURCES = 6

# What each damage takes from the highest score, in the order of ASPECTS.
PENALTIES: dict[tuple[str, str], tuple[int, int, int, int]] = {
    ("shuffled", "mild"): (1, 0, 0, 0),
    ("shuffled", "severe"): (3, 0, 0, 0),
    ("swapped_facts", "mild"): (0, 2, 0, 0),
    ("swapped_facts", "severe"): (0, 4, 0, 0),
    ("repetition", "mild"): (1, 0, 0, 1),
    ("repetition", "severe"): (2, 0, 1, 2),
    ("off_topic", "mild"): (1, 1, 0, 1),
    ("off_topic", "severe"): (3, 2, 0, 3),
    ("broken_grammar", "mild"): (0, 0, 2, 0),
    ("broken_grammar", "severe"): (1, 0, 4, 0),
    ("lost_key_point", "mild"): (1, 0, 0, 2),
    ("lost_key_point", "severe"): (2, 0, 0, 4),
}

# The six systems of each source, by rotation: an undamaged summary, mild and severe damages, and combinations.
SYSTEMS = """
none shuffled-mild swapped_facts-severe
repetition-mild+broken_grammar-mild lost_key_point-severe off_topic-mild
none shuffled-severe swapped_facts-mild+broken_grammar-severe
broken_grammar-mild off_topic-severe lost_key_point-mild+repetition-mild
none repetition-severe off_topic-mild+broken_grammar-mild
broken_grammar-severe lost_key_point-mild swapped_facts-severe+shuffled-severe
none swapped_facts-mild+shuffled-mild repetition-severe
lost_key_point-mild+broken_grammar-severe swapped_facts-severe+off_topic-mild lost_key_point-severe
none broken_grammar-mild shuffled-severe
swapped_facts-mild off_topic-severe+broken_grammar-severe lost_key_point-mild+repetition-mild
none swapped_facts-mild+broken_grammar-mild swapped_facts-severe+repetition-mild
off_topic-severe lost_key_point-severe broken_grammar-severe
"""
PLANS = [SYSTEMS.split()[first : first + 6] for first in range(0, 36, 6)]


class Source(BaseModel):
    """A text of our own with a good summary, and what the damages need that only a person can write."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z]+$")
    kind: str
    source: str
    summary: tuple[str, ...] = Field(min_length=3)
    swaps: tuple[tuple[str, str], ...] = Field(min_length=3, max_length=3)
    off_topic: tuple[str, str]
    vague_opening: str
    side_details: tuple[str, ...] = Field(min_length=4)


Sentences = tuple[str, ...]
ARTICLES = frozenset({"a", "an", "the"})
PREPOSITIONS = frozenset({"at", "by", "for", "from", "in", "of", "on", "over", "to", "under", "with"})


def lose_key_point(source: Source, sentences: Sentences, severe: bool) -> Sentences:
    """Mild: the opening, which holds the key point, becomes a vague one. Severe: only true side details remain."""
    return source.side_details if severe else (source.vague_opening, *sentences[1:])


def swap_facts(source: Source, sentences: Sentences, severe: bool) -> Sentences:
    """Mild: the first fact of the list is replaced by a false one. Severe: all three are."""
    text = "\n".join(sentences)
    for old, new in source.swaps if severe else source.swaps[:1]:
        if text.count(old) != 1:
            raise ValueError(f"{source.id}: the fact {old!r} must occur once, found {text.count(old)} times")
        text = text.replace(old, new)
    return tuple(text.split("\n"))


def shuffle(_: Source, sentences: Sentences, severe: bool) -> Sentences:
    """Mild: the second and the third sentence change places. Severe: the order is reversed."""
    if severe:
        return sentences[::-1]
    first, second, third, *rest = sentences
    return (first, third, second, *rest)


def leave_topic(source: Source, sentences: Sentences, severe: bool) -> Sentences:
    """Mild: an unrelated sentence after the second. Severe: one each in place of the second and of the last."""
    one, other = source.off_topic
    if severe:
        return (sentences[0], one, *sentences[2:-1], other)
    return (*sentences[:2], one, *sentences[2:])


def repeat(_: Source, sentences: Sentences, severe: bool) -> Sentences:
    """Mild: the second sentence comes again at the end. Severe: the first two come again instead of the others."""
    return sentences[:2] * 2 if severe else (*sentences, sentences[1])


def break_grammar(_: Source, sentences: Sentences, severe: bool) -> Sentences:
    """Articles are missing and prepositions doubled. Mild: in every second sentence. Severe: in all, and every fourth
    pair of small words changes places."""
    return tuple(
        _broken(sentence, scrambled=severe) if severe or number % 2 == 0 else sentence
        for number, sentence in enumerate(sentences)
    )


def _broken(sentence: str, *, scrambled: bool) -> str:
    words: list[str] = []
    for word in sentence.split():
        if word.lower() not in ARTICLES:
            words.extend([word, word.lower()] if word.lower() in PREPOSITIONS else [word])
    if scrambled:
        # Names and numbers stay where they are: the facts are not what is damaged here.
        pairs = [i for i in range(len(words) - 1) if _small(words[i]) and _small(words[i + 1])]
        for i in pairs[::4]:
            words[i], words[i + 1] = words[i + 1], words[i]
    text = " ".join(words)
    return text[0].upper() + text[1:]


def _small(word: str) -> bool:
    return word.isalpha() and word.islower()


# In the order in which a combination applies them; broken grammar comes last so that it touches every sentence.
DAMAGES: dict[str, Callable[[Source, Sentences, bool], Sentences]] = {
    "lost_key_point": lose_key_point,
    "swapped_facts": swap_facts,
    "shuffled": shuffle,
    "off_topic": leave_topic,
    "repetition": repeat,
    "broken_grammar": break_grammar,
}


def parse_system(system: str) -> list[tuple[str, str]]:
    """Return the damages that a system's name lists, as pairs of damage and severity, in the order of DAMAGES."""
    if system == "none":
        return []
    pairs = [(damage, severity) for damage, _, severity in (part.partition("-") for part in system.split("+"))]
    return sorted(pairs, key=lambda pair: list(DAMAGES).index(pair[0]))


def damaged(source: Source, system: str) -> str:
    """Return the summary of `source` with the damages that `system` names."""
    sentences = source.summary
    for damage, severity in parse_system(system):
        sentences = DAMAGES[damage](source, sentences, severity == "severe")
    return " ".join(sentences)


def labels(system: str) -> dict[str, int]:
    """Return the labels that follow from the damages: the highest score less all penalties, never below the lowest."""
    penalties = [PENALTIES[pair] for pair in parse_system(system)]
    return {
        aspect: max(LOWEST, HIGHEST - sum(penalty[column] for penalty in penalties))
        for column, aspect in enumerate(ASPECTS)
    }


def rows(sources: list[Source], first: int = 0) -> list[dict[str, object]]:
    """Return the rows for `sources`, of which the first takes the plan with the number `first`."""
    return [
        {
            "id": f"{source.id}::{system}",
            "group": source.id,
            "system": system,
            "source": source.source,
            "reference": None,
            "context": None,
            "output": damaged(source, system),
            "scores": labels(system),
            "annotations": None,
        }
        for number, source in enumerate(sources, start=first)
        for system in PLANS[number % len(PLANS)]
    ]


def build() -> dict[str, str]:
    """Return the content of each file of the sample by its name."""
    raw = json.loads((HERE / "sources.json").read_text(encoding="utf-8"))
    sources = [Source.model_validate(entry) for entry in raw]
    split = LABELLED_SOURCES
    heldout = rows(sources[split:], first=split)
    parts = {
        "labelled.jsonl": rows(sources[:split]),
        "heldout.jsonl": heldout,
        "unlabelled.jsonl": [{**row, "scores": None} for row in heldout[:UNLABELLED]],
    }
    return {name: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in part) for name, part in parts.items()}


def main() -> int:
    """Write the sample, or with `--check` return 1 if a file differs from what would be written."""
    parser = argparse.ArgumentParser(description="Build the shipped sample.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is not up to date")
    check = parser.parse_args().check
    stale = [
        name
        for name, content in build().items()
        if not (HERE / name).is_file() or (HERE / name).read_bytes() != content.encode()
    ]
    if check:
        for name in stale:
            print(f"{name} is not up to date; run {Path(__file__).name}", file=sys.stderr)
        return 1 if stale else 0
    for name, content in build().items():
        (HERE / name).write_bytes(content.encode())
    return 0


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block: how far length alone tells the labels."""
    from rubriclab.stats import agreement

    lines = [f"| file | {' | '.join(ASPECTS)} |", "|---" * (len(ASPECTS) + 1) + "|"]
    for name in ("labelled.jsonl", "heldout.jsonl"):
        rows = [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]
        lengths = [float(len(row["output"].split())) for row in rows]
        groups = [row["group"] for row in rows]
        found = [
            agreement(lengths, [row["scores"][aspect] for row in rows], groups, level="group").spearman
            for aspect in ASPECTS
        ]
        lines.append(f"| `{name}` | {' | '.join(f'{each.value:.2f}' for each in found)} |")
    return {"length": "\n".join(lines)}


if __name__ == "__main__":
    sys.exit(main())

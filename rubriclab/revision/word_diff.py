"""Readable differences: the changed words of a sentence, and the number of changed sentences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rubriclab.sentences import split_sentences


def word_diff(before: str, after: str) -> str:
    """Return both sentences in one: removed and added words as `[-old-]{+new+}`, the others unchanged."""
    return " ".join(_runs(before.split(), after.split()))


def sentences_changed(before: str, after: str) -> int:
    """Return how many sentences of `before` are not in `after`, in their order."""
    from rapidfuzz.distance import LCSseq

    sentences = split_sentences(before)
    return len(sentences) - int(LCSseq.similarity(sentences, split_sentences(after)))


def _runs(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return runs of unchanged and of marked words.

    Unchanged words are a longest common subsequence; rapidfuzz finds it in milliseconds for sentences of any length.
    """
    from rapidfuzz.distance import Indel

    runs: list[str] = []
    for kept, steps in groupby(Indel.opcodes(before, after), key=lambda step: step.tag == "equal"):
        run = list(steps)
        old = " ".join(word for step in run for word in before[step.src_start : step.src_end])
        new = " ".join(word for step in run for word in after[step.dest_start : step.dest_end])
        runs.append(old if kept else (f"[-{old}-]" if old else "") + (f"{{+{new}+}}" if new else ""))
    return runs

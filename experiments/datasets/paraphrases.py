"""QQP and PAWS-QQP: pairs of questions, and whether the two ask the same.

QQP: Iyer, Dandekar & Csernai 2017, "First Quora Dataset Release: Question Pairs", as GLUE publishes it (`train.tsv`
with the columns `id`, `question1`, `question2`, `is_duplicate`).

PAWS-QQP: Zhang, Baldridge & He 2019, "PAWS: Paraphrase Adversaries from Word Scrambling", NAACL (`dev_and_test.tsv`
with the columns `id`, `sentence1`, `sentence2`, `label`), which its authors' script makes of QQP. The script writes
texts as Python writes bytes (`b'...'`); these are decoded.

The first question is the reference, and the second one is the text that is judged beside it. The score is 1 for a pair
that asks the same and 0 for one that does not. Every pair is a group of its own. The first 5,000 pairs of QQP are read,
as in DCR's study (appendix C.1, after BERTScore).
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from experiments.datasets.records import Records, name_of, text
from rubriclab import Example
from rubriclab.data.fields import FieldError, Fields
from rubriclab.descriptions import describe

ASPECT = "equivalence"
FIRST_PAIRS = 5000
LABELS = {"0": 0.0, "1": 1.0}


def qqp_examples(records: Records) -> Iterator[Example]:
    """Yield the first pairs of QQP's training set."""
    for row in itertools.islice(records, FIRST_PAIRS):
        yield _pair(f"qqp-{name_of(row, 'id')}", row, "question1", "question2", "is_duplicate")


def paws_examples(records: Records) -> Iterator[Example]:
    """Yield the pairs of PAWS-QQP."""
    for row in records:
        yield _pair(f"paws-qqp-{name_of(row, 'id')}", row, "sentence1", "sentence2", "label")


def _pair(own_id: str, row: Fields, first: str, second: str, label: str) -> Example:
    said = text(row, label)
    if said not in LABELS:
        raise FieldError(label, describe(said), "0 or 1")
    return Example(
        id=own_id,
        output=_read(text(row, second), second),
        group=own_id,
        reference=_read(text(row, first), first),
        scores={ASPECT: LABELS[said]},
    )


def _read(said: str, field: str) -> str:
    """Return a text, also where it is written as Python writes bytes."""
    if not said.startswith(("b'", 'b"')):
        return said
    try:
        return str(ast.literal_eval(said).decode("utf-8"))
    except (ValueError, SyntaxError, UnicodeDecodeError):
        raise FieldError(field, describe(said), "a text, or bytes as Python writes them") from None

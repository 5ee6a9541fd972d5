"""The public sets by name, and reading one of them."""

from __future__ import annotations

import csv
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from experiments.datasets import readers
from experiments.datasets.records import Records, WrongRecord, csv_rows, json_document, json_lines
from rubriclab import DataError, Example, SettingsError


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A set of human ratings.

    Attributes:
        file: the name of the file that is read.
        address: where it is published.
        licence: of the ratings; texts belong to their publishers and authors.
    """

    file: str
    address: str
    licence: str
    opens: Callable[[Path], Iterator[tuple[int, Any]]]
    reader: Callable[[Records], Iterable[Example]]


_QAGS = ("https://github.com/W4ngatang/qags (data)", "none stated", json_lines)

PUBLISHED = {
    "summeval": PublishedSet(
        "model_annotations.aligned.paired.jsonl, or model_annotations.aligned.jsonl without the articles",
        "https://github.com/Yale-LILY/SummEval",
        "MIT",
        json_lines,
        readers.summeval,
    ),
    "newsroom": PublishedSet(
        "newsroom-human-eval.csv",
        "https://github.com/lil-lab/newsroom (humaneval)",
        "Apache-2.0; articles for research only, by Newsroom's data agreement",
        csv_rows,
        readers.newsroom,
    ),
    "hanna": PublishedSet(
        "hanna_stories_annotations.csv",
        "https://github.com/dig-team/hanna-benchmark-asg",
        "MIT",
        csv_rows,
        readers.hanna,
    ),
    "writingprompts_a": PublishedSet(
        "wp_a.json",
        "https://github.com/ChicagoHAI/HypoEval-Gen (data_original)",
        "Apache-2.0, as HypoEval's authors state",
        json_document,
        readers.writingprompts,
    ),
    "topical_chat": PublishedSet(
        "tc_usr_data.json",
        "http://shikib.com/tc_usr_data.json, of https://github.com/Shikib/usr",
        "CDLA-Sharing-1.0 for the dialogues; none stated for the ratings",
        json_document,
        readers.topical_chat,
    ),
    "qags_cnndm": PublishedSet(
        "mturk_cnndm.jsonl", *_QAGS, partial(readers.qags, name="qags_cnndm", system="Bottom-Up")
    ),
    "qags_xsum": PublishedSet("mturk_xsum.jsonl", *_QAGS, partial(readers.qags, name="qags_xsum", system="BART")),
}


def read_published(name: str, path: str | Path) -> tuple[Example, ...]:
    """Return the texts of a public set, from the file that its authors publish (`.gz` too), in its order."""
    if name not in PUBLISHED:
        raise SettingsError(f"There is no public set {name!r};", f"the sets are {', '.join(PUBLISHED)}.")
    published, path = PUBLISHED[name], Path(path)
    hint = f"{name} is read from {published.file}, as published at {published.address}."
    records = Records(published.opens(path))
    try:
        examples = tuple(published.reader(records))
    except WrongRecord as wrong:
        raise DataError(f"{path}:{records.line}: {wrong}.", hint) from None
    except (OSError, EOFError, zlib.error, UnicodeError, csv.Error, json.JSONDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.", hint) from None
    twice = [each for each, count in Counter(example.id for example in examples).items() if count > 1]
    if twice or not examples:
        fault = f"two texts have the id {twice[0]!r}, expected each text once" if twice else "there are no rows"
        raise DataError(f"{path}: {fault}.", hint)
    return examples


def native_row(example: Example) -> dict[str, Any]:
    """Return an example as a row that `rubriclab.read` reads back, without the fields that it does not have.

    If raters have names, the annotations of an aspect are an object by rater.
    """
    row = {field.name: getattr(example, field.name) for field in fields(example) if field.name != "raters"}
    row["scores"] = dict(example.scores)
    row["annotations"] = {
        aspect: dict(zip(names, numbers, strict=True)) if (names := example.raters.get(aspect)) else list(numbers)
        for aspect, numbers in example.annotations.items()
    }
    return {name: value for name, value in row.items() if value not in (None, {})}

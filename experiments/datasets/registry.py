"""The public sets by name, and reading one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from experiments.datasets import hanna, newsroom, paraphrases, qags, summeval, topical_chat, writingprompts
from experiments.datasets.records import (
    Records,
    csv_records,
    json_document_records,
    json_line_records,
    tsv_records,
)
from rubriclab import DataError, Example, RowError, SettingsError
from rubriclab.data.fields import FieldError


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A set of human ratings and where its authors publish it.

    Attributes:
        name: what it is asked for by.
        file: what the file is called that is read.
        address: where it is published.
        authors: whose ratings they are.
        licence: what may be done with them; texts belong to their publishers and authors.
        opens: the rows of the file.
        reader: what they become.
    """

    name: str
    file: str
    address: str
    authors: str
    licence: str
    opens: Callable[[Path], Records]
    reader: Callable[[Records], Iterable[Example]]


_QAGS = "https://github.com/W4ngatang/qags (data)"
_SETS = (
    PublishedSet(
        name="summeval",
        file="model_annotations.aligned.paired.jsonl, or model_annotations.aligned.jsonl without the articles",
        address="https://github.com/Yale-LILY/SummEval",
        authors="Fabbri et al. 2021",
        licence="MIT",
        opens=json_line_records,
        reader=summeval.examples,
    ),
    PublishedSet(
        name="newsroom",
        file="newsroom-human-eval.csv",
        address="https://github.com/lil-lab/newsroom (humaneval)",
        authors="Grusky, Naaman & Artzi 2018",
        licence="Apache-2.0; articles for research only, by Newsroom's data agreement",
        opens=csv_records,
        reader=newsroom.examples,
    ),
    PublishedSet(
        name="hanna",
        file="hanna_stories_annotations.csv",
        address="https://github.com/dig-team/hanna-benchmark-asg",
        authors="Chhun et al. 2022",
        licence="MIT",
        opens=csv_records,
        reader=hanna.examples,
    ),
    PublishedSet(
        name="writingprompts_a",
        file="wp_a.json",
        address="https://github.com/ChicagoHAI/HypoEval-Gen (data_original)",
        authors="Chiang & Lee 2023",
        licence="Apache-2.0, as HypoEval's authors state",
        opens=json_document_records,
        reader=writingprompts.examples,
    ),
    PublishedSet(
        name="topical_chat",
        file="tc_usr_data.json",
        address="http://shikib.com/tc_usr_data.json, of https://github.com/Shikib/usr",
        authors="Mehri & Eskenazi 2020",
        licence="CDLA-Sharing-1.0 for the dialogues; none stated for the ratings",
        opens=json_document_records,
        reader=topical_chat.examples,
    ),
    PublishedSet(
        name="qags_cnndm",
        file="mturk_cnndm.jsonl",
        address=_QAGS,
        authors="Wang, Cho & Lewis 2020",
        licence="none stated",
        opens=json_line_records,
        reader=partial(qags.examples, name="qags_cnndm", system="Bottom-Up"),
    ),
    PublishedSet(
        name="qags_xsum",
        file="mturk_xsum.jsonl",
        address=_QAGS,
        authors="Wang, Cho & Lewis 2020",
        licence="none stated",
        opens=json_line_records,
        reader=partial(qags.examples, name="qags_xsum", system="BART"),
    ),
    PublishedSet(
        name="qqp",
        file="train.tsv, of which the first 5,000 pairs are read",
        address="https://gluebenchmark.com/tasks (Quora Question Pairs)",
        authors="Iyer, Dandekar & Csernai 2017",
        licence="Quora's terms of service; not for commercial use",
        opens=tsv_records,
        reader=paraphrases.qqp_examples,
    ),
    PublishedSet(
        name="paws_qqp",
        file="dev_and_test.tsv",
        address="https://github.com/google-research-datasets/paws (PAWS-QQP, made of QQP by its script)",
        authors="Zhang, Baldridge & He 2019",
        licence="free for any purpose, as its authors state; the questions are Quora's",
        opens=tsv_records,
        reader=paraphrases.paws_examples,
    ),
)

PUBLISHED: Mapping[str, PublishedSet] = MappingProxyType({each.name: each for each in _SETS})


def read_published(name: str, path: str | Path) -> tuple[Example, ...]:
    """Return the texts of a public set, from the file that its authors publish, in its order.

    The file may be packed with gzip (`.gz`). Each text has the scores that papers report on, and each rater's where the
    file has them.

    Raises:
        SettingsError: if there is no such set.
        DataError: if the file cannot be read, or is not the one that the set is read from.
    """
    if name not in PUBLISHED:
        raise SettingsError(f"There is no public set {name!r};", f"the sets are {', '.join(PUBLISHED)}.")
    published, path = PUBLISHED[name], Path(path)
    hint = f"{name} is read from {published.file}, as published at {published.address}."
    if not path.is_file():
        raise DataError(f"{path} cannot be read: there is no such file.", hint)
    records = published.opens(path)
    try:
        examples = tuple(published.reader(records))
    except FieldError as wrong:
        fault = RowError(str(path), max(records.line, 1), wrong.field or None, wrong.got, wrong.expected)
        raise DataError(f"{fault}.", hint, faults=[str(fault)]) from None
    except DataError as error:
        raise DataError(str(error), hint) from None
    if not examples:
        raise DataError(f"{path} has no rows.", hint)
    if twice := next((each for each, count in Counter(e.id for e in examples).items() if count > 1), None):
        raise DataError(f"{path}: two texts would have the id {twice!r}, expected each text once.", hint)
    return examples

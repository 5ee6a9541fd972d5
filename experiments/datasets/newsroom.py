"""NewsRoom's human evaluation: summaries of 60 news articles by seven systems, each rated by three crowd workers.

Grusky, Naaman & Artzi 2018, NAACL.
A CSV file with one row for each rating: `ArticleID`, `System`, `ArticleText`, `SystemSummary` and four aspects from 1
to 5. Texts are HTML as the raters' page took it: `</p><p>` between paragraphs, characters as entities. Workers have no
names. The article's own summary, the reference of some papers, is not in the file, and its title is not read.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from experiments.datasets.records import Annotations, Records, means, name_of, rating, text
from rubriclab import Example
from rubriclab.data.fields import FieldError

ASPECTS = ("coherence", "fluency", "informativeness", "relevance")
_PARAGRAPHS = re.compile(r"(?:\s*</?p>\s*)+")


@dataclass(slots=True)
class _Summary:
    output: str
    source: str
    given: dict[str, list[float]] = field(default_factory=lambda: {aspect: [] for aspect in ASPECTS})


def examples(records: Records) -> Iterator[Example]:
    """Yield the summaries, grouped by article, in the order in which the file first names them."""
    summaries = dict[tuple[str, str], _Summary]()
    for row in records:
        key = name_of(row, "ArticleID"), name_of(row, "System")
        output, source = _plain(text(row, "SystemSummary")), _plain(text(row, "ArticleText"))
        summary = summaries.setdefault(key, _Summary(output, source))
        if (summary.output, summary.source) != (output, source):
            raise FieldError("SystemSummary", f"two texts of {key[1]!r} for article {key[0]!r}", "one")
        for aspect in ASPECTS:
            summary.given[aspect].append(rating(row, f"{aspect.capitalize()}Rating"))
    for (article, system), summary in summaries.items():
        annotations: Annotations = {aspect: tuple(numbers) for aspect, numbers in summary.given.items()}
        yield Example(
            id=f"{article}::{system}",
            output=summary.output,
            group=article,
            source=summary.source,
            system=system,
            scores=means(annotations),
            annotations=annotations,
        )


def _plain(marked: str) -> str:
    return html.unescape(_PARAGRAPHS.sub("\n\n", marked)).strip()

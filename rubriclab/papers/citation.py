"""How a paper is cited, read off its first pages by a language model and checked against them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from rubriclab.errors import JudgeError, LiteratureError
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.literature import Reference
from rubriclab.papers.bibliography import new_key, reference_of
from rubriclab.papers.paper import Paper, PaperPage
from rubriclab.papers.replies import ReadCitation
from rubriclab.prompts import Prompt

TEMPLATE = "literature/citation"
PAGES_SHOWN = 2
MOST_SHOWN = 8_000


def citation_prompt(paper: Paper) -> Prompt[ReadCitation]:
    """Return the prompt that shows the beginning of a paper, at most two pages."""
    pages = [{"number": page.number, "text": page.text} for page in _shown(paper)]
    return Prompt(TEMPLATE, {"pages": pages}, ReadCitation, max_tokens=2_000)


async def read_citation(paper: Paper, generator: Judge, known: Collection[str] = ()) -> Reference:
    """Return how a paper is cited, as its first pages state it.

    Args:
        known: keys that are taken.

    Raises:
        LiteratureError: if the pages do not state title, authors, year and venue, or what was read is not on them.
        JudgeError: if the generator gives no usable reply.
    """
    answer = await ask(generator, citation_prompt(paper))
    if answer.value is None:
        raise JudgeError(f"{paper.name}: how it is cited could not be read: {answer.missing}", _hint())
    read = answer.value
    shown = _letters("\n".join(page.text for page in _shown(paper)))
    authors = [author for author in read.authors if author.strip()]
    missing = [
        name
        for name, there in (
            ("title", bool(read.title.strip()) and _letters(read.title) in shown),
            ("authors", bool(authors) and all(_letters(author.split(",")[0]) in shown for author in authors)),
            ("year", read.year is not None and str(read.year) in shown),
            ("venue", bool(read.venue.strip())),
        )
        if not there
    ]
    if missing or read.year is None:
        raise LiteratureError(
            f"{paper.name} does not state on its first pages how it is cited; not found: {', '.join(missing)}.", _hint()
        )
    key = new_key(authors, read.title, read.year, known)
    return reference_of(key, authors, read.title, read.year, read.venue)


def _shown(paper: Paper) -> list[PaperPage]:
    pages = paper.pages[:PAGES_SHOWN] if paper.paged else paper.pages[:1]
    return [PaperPage(page.number, page.text[: MOST_SHOWN // len(pages)]) for page in pages]


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text)).casefold()


def _hint() -> str:
    return "Give its BibTeX entry in a .bib file after it."

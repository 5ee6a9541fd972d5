"""How a paper is cited, read off its first pages by a language model and checked against them."""

from __future__ import annotations

import re
from collections.abc import Collection

from rubriclab.errors import JudgeError, LiteratureError
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.literature import Reference
from rubriclab.papers.bibliography import folded, new_key, reference_of
from rubriclab.papers.paper import Paper, PaperPage
from rubriclab.papers.replies import ReadCitation
from rubriclab.prompts import Prompt

TEMPLATE = "literature/citation"
PAGES_SHOWN = 2
MOST_SHOWN = 8_000
# Shorter words could be found in what stands side by side by chance.
SHORTEST_SPACED_OUT = 4
_SPACED_OUT = r"[-\u00ad\u2010]?\s*"
# Other work that a page refers to: (Lin, 2004), (Lin et al. 2004; Berg, 2010), Lin and Berg (2004), a bibliography.
_CITED = re.compile(
    r"\([^()]*(?:et al\.?,?|[a-z],)\s\d{4}[a-z]?[^()]*\)"
    r"|(?:et al\.|\b[A-Z][\w'’-]*[a-z])\s\(\d{4}[a-z]?\)"
    r"|^[\d.\s]*(?:References|REFERENCES|Bibliography)\s*$.*",
    re.MULTILINE | re.DOTALL,
)


def citation_prompt(paper: Paper) -> Prompt[ReadCitation]:
    """Return the prompt that shows the beginning of a paper, at most two pages."""
    pages = [{"number": page.number, "text": page.text} for page in _shown(paper)]
    return Prompt(TEMPLATE, {"pages": pages}, ReadCitation, max_tokens=2_000)


async def read_citation(paper: Paper, generator: Judge, known: Collection[str] = ()) -> Reference:
    """Return how a paper is cited, as its first pages state it.

    Args:
        known: keys that are taken.

    Raises:
        LiteratureError: if the pages do not state title, authors, year and venue, or one of them as it was read is not
            on them in whole words. Given names that are not on them are left out.
        JudgeError: if the generator gives no usable reply.
    """
    answer = await ask(generator, citation_prompt(paper))
    if answer.value is None:
        raise JudgeError(f"{paper.name}: how it is cited could not be read: {answer.missing}", _hint())
    read = answer.value
    shown = "\n".join(page.text for page in _shown(paper))
    own = folded(_CITED.sub(" ", shown))
    authors = [author for author in read.authors if author.strip()]
    missing = [
        name
        for name, there in (
            ("title", _states(folded(shown), read.title)),
            ("authors", bool(authors) and all(_states(own, _family(author)) for author in authors)),
            ("year", read.year is not None and _states_year(own, read.year)),
            ("venue", _states(own, read.venue)),
        )
        if not there
    ]
    if missing or read.year is None:
        raise LiteratureError(
            f"{paper.name} does not state {_where(paper)} how it is cited; not found: {', '.join(missing)}.", _hint()
        )
    names = [_stated_name(own, author) for author in authors]
    key = new_key(names, read.title, read.year, known)
    return reference_of(key, names, read.title, read.year, read.venue)


def _shown(paper: Paper) -> list[PaperPage]:
    pages = paper.pages[:PAGES_SHOWN] if paper.paged else paper.pages[:1]
    return [PaperPage(page.number, page.text[: MOST_SHOWN // len(pages)]) for page in pages]


def _where(paper: Paper) -> str:
    """Return in words which pages were searched: those of a chosen range may not begin with the title page."""
    if not paper.paged:
        return "at its beginning"
    numbers = [page.number for page in _shown(paper)]
    if numbers[0] == 1:
        return "on its first pages"
    return f"on page {numbers[0]}" if len(numbers) == 1 else f"on pages {numbers[0]} and {numbers[-1]}"


def _family(author: str) -> str:
    return author.split(",", maxsplit=1)[0]


def _stated_name(pages: str, author: str) -> str:
    """Return an author's name without given names that are not on the pages."""
    family, _, given = author.partition(",")
    stated = [name for name in given.split() if _states(pages, name)]
    return ", ".join(filter(None, (family.strip(), " ".join(stated))))


def _states(pages: str, wording: str) -> bool:
    """Return whether pages have these words, each whole; they may be spaced out, as small capitals often are."""
    words = re.findall(r"[^\W_]+", folded(wording))
    spaced = "[\\W_]+".join(_SPACED_OUT.join(word) if len(word) >= SHORTEST_SPACED_OUT else word for word in words)
    return bool(words) and re.search(rf"(?<![^\W_]){spaced}(?![^\W_])", pages) is not None


def _states_year(pages: str, year: int) -> bool:
    """Return whether pages have the year, not as a part of another number such as 2012.03456."""
    return re.search(rf"(?<![\d.]){year}(?!\d|\.\d)", pages) is not None


def _hint() -> str:
    return "Give its BibTeX entry in a .bib file after it."

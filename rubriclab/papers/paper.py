"""A paper as text, page by page, and the parts in which a language model reads it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rubriclab.characters import is_blank
from rubriclab.documents import Unreadable, read_file, text_of
from rubriclab.errors import LiteratureError
from rubriclab.papers.bibliography import read_abstract

MOST_PAPER_BYTES = 100_000_000
MOST_PAGES = 500
MOST_CHARACTERS = 3_000_000
# A word that is split at the end of a line.
_SPLIT_WORD = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n[ \t]*(?=[a-zà-ÿ])")
# A stroke through the sign after it, as TeX writes "≠": Unicode puts it behind the sign.
_NEGATED = re.compile("\u0338[ \t]*([<=>≤≥∈≡∼≈])")
_UNSAFE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2060-\u2069\ud800-\udfff]")
_NAME_OF_PDF = b"%PDF-"
# Where a page that is longer than a part may be cut, best first.
_CUTS = ("\n\n", ". ", "\n", " ")


@dataclass(frozen=True, slots=True)
class PaperPage:
    """A page with its number, counted from 1, or a passage of it."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper as text.

    Attributes:
        name: the name of its file.
        pages: those that were read, without blank ones.
        paged: whether the file has pages; a text file without form feeds is one page.
        blank: how many pages that were read hold no text.
    """

    name: str
    pages: tuple[PaperPage, ...]
    paged: bool
    blank: int = 0


def read_paper(path: Path, pages: tuple[int, int] | None = None, source: str | None = None) -> Paper:
    """Return the text of a PDF or text file, or the abstract in a `.bib` file.

    The pages of a text file are divided by form feeds.

    Args:
        pages: the first and last page to read, counted from 1; by default all.
        source: the key of the paper's entry, if a `.bib` file has several.

    Raises:
        LiteratureError: if the file cannot be read, has more than 500 pages or 3 million characters, lacks the pages
            asked for, holds no text or no abstract, or is a PDF that is encrypted or damaged.
    """
    try:
        texts, paged = _texts(path, pages, source)
    except Unreadable as error:
        raise LiteratureError(
            f"{path} cannot be read: {error}.", "A paper is a PDF, or a text file in UTF-8."
        ) from None
    first, last = _range(path, len(texts), pages)
    numbered = [PaperPage(number, cleaned(texts[number - 1])) for number in range(first, last + 1)]
    kept = tuple(page for page in numbered if not is_blank(page.text))
    if not kept:
        raise LiteratureError(f"{path} holds no text.", "Give a file with the text of the paper.")
    if sum(len(page.text) for page in kept) > MOST_CHARACTERS:
        raise LiteratureError(
            f"{path} has more than {MOST_CHARACTERS:,} characters.", "Give a single paper, or some of its pages."
        )
    return Paper(path.name, kept, paged, len(numbered) - len(kept))


def is_bibliography(path: Path) -> bool:
    """Return whether a file is BibTeX, by its name."""
    return path.suffix.lower() == ".bib"


def cleaned(text: str) -> str:
    """Return the text of a page without control characters, and with words joined that were split at a line's end."""
    lines = _UNSAFE.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n"))
    composed = unicodedata.normalize("NFC", _NEGATED.sub("\\1\u0338", lines))
    return _SPLIT_WORD.sub("", re.sub(r"[ \t]+\n", "\n", composed)).strip()


def parts(paper: Paper, most: int) -> tuple[tuple[PaperPage, ...], ...]:
    """Return the pages of a paper in runs of at most `most` characters, of about equal length; a longer page is cut."""
    total = sum(len(page.text) for page in paper.pages)
    # Some room, as pages cannot be divided exactly.
    most = min(most, math.ceil(1.1 * total / math.ceil(total / most)))
    runs: list[list[PaperPage]] = [[]]
    for page in paper.pages:
        for piece in _pieces(page, most):
            if runs[-1] and sum(len(each.text) for each in runs[-1]) + len(piece.text) > most:
                runs.append([])
            runs[-1].append(piece)
    return tuple(tuple(run) for run in runs if run)


def _pieces(page: PaperPage, most: int) -> Iterator[PaperPage]:
    rest = page.text
    while len(rest) > most:
        end = _cut(rest, most)
        yield PaperPage(page.number, rest[:end].strip())
        rest = rest[end:].strip()
    if rest:
        yield PaperPage(page.number, rest)


def _cut(text: str, most: int) -> int:
    for mark in _CUTS:
        end = text.rfind(mark, most // 2, most)
        if end >= 0:
            return end + len(mark)
    return most


def _texts(path: Path, pages: tuple[int, int] | None, source: str | None) -> tuple[Sequence[str], bool]:
    """Return the text of each page, and whether the file has pages."""
    if is_bibliography(path):
        return [read_abstract(path, source)], False
    content = read_file(path, MOST_PAPER_BYTES)
    if _NAME_OF_PDF not in content[:1024]:
        return _text_pages(content)
    from rubriclab.papers.pdf import pdf_texts

    return pdf_texts(path, content, pages), True


def _text_pages(content: bytes) -> tuple[Sequence[str], bool]:
    if b"\x00" in content:
        raise Unreadable("it is neither a PDF nor text")
    texts = text_of(content).split("\f")
    # A form feed ends each page, so that nothing follows the last.
    texts = texts[:-1] if len(texts) > 1 and is_blank(texts[-1]) else texts
    return texts, len(texts) > 1


def _range(path: Path, count: int, pages: tuple[int, int] | None) -> tuple[int, int]:
    first, last = pages or (1, count)
    if last > count:
        has = "1 page" if count == 1 else f"{count} pages"
        raise LiteratureError(f"{path} has {has}; got the pages {first}-{last}.", f"Name pages from 1 to {count}.")
    if last - first + 1 > MOST_PAGES:
        raise LiteratureError(
            f"{path} has {count:,} pages; at most {MOST_PAGES} are read.", "Name the pages of the paper, as in 12-30."
        )
    return first, last

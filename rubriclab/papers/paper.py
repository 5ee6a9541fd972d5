"""A paper as text, page by page, the parts in which a language model reads it, and what it quotes."""

from __future__ import annotations

import io
import logging
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rapidfuzz import fuzz

from rubriclab.characters import is_blank
from rubriclab.documents import Unreadable, read_file, text_of
from rubriclab.errors import LiteratureError

MOST_BYTES = 100_000_000
# Pages of a PDF have this many letters and digits on average, and they are this share of its characters. Otherwise the
# pages are scanned, or the fonts do not say which letters they show.
FEWEST_LETTERS = 20
LEAST_READABLE = 0.6
# A word that is split at the end of a line.
_SPLIT_WORD = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\s*\n\s*(?=[a-zà-ÿ])")
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2060-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class PaperPage:
    """A page with its number, counted from 1, or a passage of it."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Paper:
    """The pages of a paper that hold text; `paged` is false for a text file without form feeds, which is one page."""

    name: str
    pages: tuple[PaperPage, ...]
    paged: bool


def read_paper(path: Path) -> Paper:
    """Return the text of a PDF or text file; the pages of a text file are divided by form feeds.

    Raises:
        LiteratureError: if the file cannot be read, holds no text, or is a PDF that is encrypted, scanned or damaged.
    """
    try:
        content = read_file(path, MOST_BYTES)
        is_pdf = b"%PDF-" in content[:1024]
        texts = _pdf_texts(content) if is_pdf else text_of(content).split("\f")
    except Unreadable as error:
        hint = "A paper is a PDF with a text layer, or a text file in UTF-8."
        raise LiteratureError(f"{path} cannot be read: {error}.", hint) from None
    pages = tuple(PaperPage(number, cleaned(text)) for number, text in enumerate(texts, 1) if not is_blank(text))
    if not pages:
        raise LiteratureError(f"{path} holds no text.", "Give a file with the text of the paper.")
    return Paper(path.name, pages, is_pdf or len(texts) > 1)


def cleaned(text: str) -> str:
    """Return the text of a page without control characters, and with words joined that were split at a line's end."""
    lines = _UNSAFE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _SPLIT_WORD.sub("", unicodedata.normalize("NFC", lines)).strip()


def parts(paper: Paper, most: int) -> Iterator[list[PaperPage]]:
    """Yield the pages of a paper in runs of at most `most` characters; a longer page is cut between words."""
    run: list[PaperPage] = []
    for page in paper.pages:
        rest = page.text
        while rest:
            end = len(rest) if len(rest) <= most else rest.rfind(" ", 1, most) + 1 or most
            if run and sum(len(each.text) for each in run) + end > most:
                yield run
                run = []
            run.append(PaperPage(page.number, rest[:end]))
            rest = rest[end:]
    yield run


def _pdf_texts(content: bytes) -> list[str]:
    """Return the text of each page in the order in which the file draws it: by columns in most papers."""
    try:
        from pypdf import PdfReader
    except ImportError:
        raise LiteratureError("Reading PDF files needs: pip install 'rubriclab[literature]'") from None
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # warns of small faults that a reader cannot mend
    try:
        reader = PdfReader(io.BytesIO(content))
        # A file that only restricts printing or copying has an empty password.
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is protected by a password")
        texts = [page.extract_text() for page in reader.pages]
    except Unreadable:
        raise
    except Exception as error:  # a damaged file makes pypdf raise errors of almost any kind
        raise Unreadable(" ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__) from None
    shown = "".join("".join(texts).split())
    letters = sum(map(str.isalnum, shown))
    if letters < FEWEST_LETTERS * len(texts) or letters < LEAST_READABLE * len(shown):
        raise Unreadable("its pages have no readable text, as if they were scanned")
    return texts


FEWEST_WORDS = 5
# Out of 100: lost ligatures, and words divided between lines, are more similar; another word in a sentence is not.
SIMILAR = 95
_ALIKE = str.maketrans(
    {
        **dict.fromkeys("“”„«»", '"'),
        **dict.fromkeys("‘’‛ʼ´`", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00ad\ufe0e\ufe0f©®™•▪◦"),
        "İ": "I",
    }
)
_LIGATURES = re.compile("[\ufb00-\ufb06]")
_APART = re.compile(r" (?=[<>=≤≥≠±%])|(?<=[<>=≤≥≠±]) |(?<=-) (?=[.\d])")
# In writing without spaces, each sign counts.
_WORD = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|\\w+")
# What may not differ at all; words with a prefix of opposites too, as in "consistent" and "inconsistent".
_EXACT = re.compile(
    r"[<>=≤≥≠±]|(?:(?<!\w)-)?\.?\d(?:[.,:/]?\d)*%?|\b(?:no|not|never|none|nor|neither|without|cannot|hardly)\b|\w+n't"
    r"|\b(?:un|in|im|ir|dis|non|mis)\w+"
)


def find_quotation(quotation: str, pages: Sequence[PaperPage], first: int | None = None) -> PaperPage | None:
    """Return where a quotation stands in a paper, in the paper's own words; the page `first` is searched first.

    What layout and text extraction change is tolerated; numbers, signs of comparison and negations may not differ.
    Return `None` if it stands on no page, or has fewer than `FEWEST_WORDS` words.
    """
    sought = _normalized(cleaned(quotation))
    if len(_WORD.findall(sought)) < FEWEST_WORDS:
        return None
    for page in sorted(pages, key=lambda each: each.number != first):
        if passage := _passage(sought, _normalized(page.text)):
            return PaperPage(page.number, passage)
    return None


def _normalized(text: str) -> str:
    composed = unicodedata.normalize("NFC", text)
    letters = _LIGATURES.sub(lambda found: unicodedata.normalize("NFKC", found[0]), composed)
    return _APART.sub("", " ".join(letters.translate(_ALIKE).split()))


def _passage(sought: str, page: str) -> str | None:
    found = fuzz.partial_ratio_alignment(sought.lower(), page.lower(), score_cutoff=SIMILAR)
    if found is None or not sought:
        return None
    # To the ends of the first and last word.
    words = [
        word for word in re.finditer(r"\S+", page) if word.end() > found.dest_start and word.start() < found.dest_end
    ]
    passage = page[words[0].start() : words[-1].end()].strip("\"'.,;: ")
    return passage if _EXACT.findall(sought.lower()) == _EXACT.findall(passage.lower()) else None

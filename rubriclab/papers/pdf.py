"""The text of the pages of a PDF, by pypdf, in the order in which the file draws it: by columns in most papers."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rubriclab.errors import LiteratureError

if TYPE_CHECKING:
    from pypdf import PdfReader

EXTRA = "install it with: pip install 'rubriclab[literature]'"
MOST_READ = 500
# A page with fewer characters is not a page of a paper: it has only headers, or what a scanner adds.
FEWEST_CHARACTERS = 40
# A smaller share of letters and digits among what is not white space: the fonts of the file do not say which they are.
LEAST_READABLE = 0.6


def pdf_texts(path: Path, content: bytes, pages: tuple[int, int] | None = None) -> Sequence[str]:
    """Return the text of each page; it is empty for pages that are not read.

    Args:
        pages: the range to read; none is read if the range is longer than `MOST_READ` or not all of it is in the file.

    Raises:
        LiteratureError: if pypdf is not installed, or the file is encrypted, damaged or has no text: its pages are
            pictures, or its fonts do not say which characters they show.
    """
    try:
        from pypdf import PdfReader
    except ImportError:
        raise LiteratureError(f"{path}: reading PDF files needs pypdf;", EXTRA) from None
    with _errors_of(path):
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted:
            _unlock(path, reader)
        count = len(reader.pages)
        first, last = pages or (1, count)
        if last > count or last - first + 1 > MOST_READ:
            return [""] * count
        texts = [
            reader.pages[number - 1].extract_text() if first <= number <= last else "" for number in range(1, count + 1)
        ]
    _check_text(path, texts[first - 1 : last])
    return texts


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Explain errors of pypdf, whose warnings about small faults of a file are of no use to a reader."""
    logger = logging.getLogger("pypdf")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    except (LiteratureError, MemoryError):
        raise
    except Exception as error:  # a damaged file makes pypdf raise errors of almost any kind
        reason = " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__
        raise LiteratureError(
            f"{path} cannot be read as a PDF: {reason}.", "Check that it is complete, or give its text as a .txt file."
        ) from None
    finally:
        logger.setLevel(level)


def _unlock(path: Path, reader: PdfReader) -> None:
    """Open a file that only restricts printing or copying, which has an empty password."""
    if not reader.decrypt(""):
        raise LiteratureError(
            f"{path} is protected by a password.", "Save a copy without one, or give its text as a .txt file."
        )


def _check_text(path: Path, texts: Sequence[str]) -> None:
    seen = [character for text in texts for character in text if not character.isspace()]
    if len(seen) < FEWEST_CHARACTERS * max(1, len(texts)) / 2:
        raise LiteratureError(
            f"{path} has no text on its pages, as if they were scanned.",
            "Add a text layer with a program for character recognition (OCR), or give its text as a .txt file.",
        )
    if sum(map(str.isalnum, seen)) < LEAST_READABLE * len(seen):
        raise LiteratureError(
            f"{path} does not say which characters its fonts show, so its text cannot be read.",
            "Use character recognition (OCR), or give its text as a .txt file.",
        )

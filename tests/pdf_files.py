"""PDF files made by hand: pages of text lines, pages without text, passwords, damage."""

from __future__ import annotations

import io
from collections.abc import Sequence

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

LEFT, RIGHT, TOP, LEADING = 50, 320, 780, 14
ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\()"})
# A line of text with the place where it begins, in points.
Line = tuple[int, int, str]


def column(lines: Sequence[str], x: int = LEFT) -> list[Line]:
    return [(x, TOP - LEADING * number, text) for number, text in enumerate(lines)]


def pdf(*pages: Sequence[Line], password: str | None = None, algorithm: str = "AES-256") -> bytes:
    """Return a PDF whose pages draw their lines in the order given; an empty password only restricts copying."""
    writer = PdfWriter()
    font = DictionaryObject()
    font.update(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
            NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
        }
    )
    fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
    for lines in pages:
        page = writer.add_blank_page(595, 842)
        drawn = DecodedStreamObject()
        shown = (f"BT /F1 9 Tf 1 0 0 1 {x} {y} Tm ({text.translate(ESCAPES)}) Tj ET" for x, y, text in lines)
        drawn.set_data("\n".join(shown).encode("cp1252"))
        page[NameObject("/Contents")] = writer._add_object(drawn)
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if password is not None:
        writer.encrypt(password, owner_password="owner", algorithm=algorithm)
    content = io.BytesIO()
    writer.write(content)
    return content.getvalue()

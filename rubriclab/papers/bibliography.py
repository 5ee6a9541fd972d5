"""How a paper is cited: from a BibTeX entry of any form, to the flat entries that findings refer to."""

from __future__ import annotations

import html
import itertools
import re
import string
import unicodedata
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from rubriclab.characters import is_blank
from rubriclab.documents import Unreadable, read_file, text_of
from rubriclab.errors import LiteratureError
from rubriclab.literature import Reference, load_references
from rubriclab.option_names import option
from rubriclab.pydantic_errors import first_fault

if TYPE_CHECKING:
    from pybtex.database import Entry, Person

EXTRA = "install it with: pip install 'rubriclab[literature]'"
MOST_BIB_BYTES = 5_000_000
LONGEST_KEY_PART = 30
Chosen = TypeVar("Chosen")
# What LaTeX and HTML show as something else, in values without braces.
_ENTITY = re.compile(r"&#?\w+;")
_MARKUP = re.compile(rf"[\\~]|{_ENTITY.pattern}")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
# A DOI in any field; braces, quotation marks and commas end a value.
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"{},]+")
# Where a work appeared, the most telling field first.
_VENUES = ("journal", "journaltitle", "booktitle", "publisher", "school", "institution", "howpublished", "eprinttype")


def read_reference(path: Path, key: str | None = None) -> Reference:
    """Return a publication of a `.bib` file, as citation managers and doi.org write it.

    Args:
        key: of the entry, if there are several. Faults of the others do not matter.

    Raises:
        LiteratureError: if the file cannot be read or is not BibTeX, `key` names no entry or is needed, the entry lacks
            authors, title, year or venue, or pybtex is needed and not installed.
    """
    try:
        flat = load_references(path)
    except LiteratureError:
        flat = {}
    if flat and not _has_markup(found := chosen_entry(path, flat, key)[1]):
        return found
    return _reference(path, *chosen_entry(path, _entries(path), key))


def read_abstract(path: Path, key: str | None = None) -> str:
    """Return the abstract that an entry of a `.bib` file holds.

    Args:
        key: of the entry, if there are several.

    Raises:
        LiteratureError: if the file cannot be read or is not BibTeX, `key` names no entry or is needed, the entry holds
            no abstract, or pybtex is not installed.
    """
    _, chosen = chosen_entry(path, _entries(path), key)
    fields = _fields(chosen)
    if not is_blank(abstract := fields.get("abstract", "")):
        return abstract
    doi = _DOI.search(" ".join(chosen.fields.values()))
    there = f"; the paper is at https://doi.org/{doi[0]}" if doi else ""
    raise LiteratureError(
        f"{path} says how a paper is cited, without an abstract; its text is needed too.",
        f"Give the PDF or text file before it{there}.",
    )


def chosen_entry(path: Path, entries: Mapping[str, Chosen], key: str | None) -> tuple[str, Chosen]:
    """Return the entry that `key` names, or the only one, with its key.

    Raises:
        LiteratureError: if there is none, or several and no `key`.
    """
    if not entries and key is None:
        raise LiteratureError(f"{path} has no entry.", "Give a file with the BibTeX entry of the paper.")
    if key is None and len(entries) > 1:
        raise LiteratureError(
            f"{path} has {len(entries)} entries.", f"Name the paper's: {option('source', next(iter(entries)))}."
        )
    name = key or next(iter(entries))
    if name not in entries:
        raise LiteratureError(f"{path} has no entry {name!r}; it has {', '.join(entries) or 'none'}.")
    return name, entries[name]


def reference_of(key: str, authors: Collection[str], title: str, year: int | str, venue: str) -> Reference:
    """Return a publication in words that a flat entry can hold.

    Raises:
        ValidationError: if something is missing, or the year is not a number.
    """
    names = tuple(_flat(author).replace(" and ", " & ") for author in authors)
    fields = {"key": key, "authors": names, "title": _flat(title), "year": year, "venue": _flat(venue)}
    return Reference.model_validate(fields)


def entry_of(reference: Reference) -> str:
    """Return the flat BibTeX entry of a publication."""
    fields = {
        "author": " and ".join(reference.authors),
        "title": reference.title,
        "year": str(reference.year),
        "journal": reference.venue,
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@article{{{reference.key},\n{lines}}}\n"


def new_key(authors: Collection[str], title: str, year: int, known: Collection[str] = ()) -> str:
    """Return a key such as `lin2004rouge` that is not known yet."""
    family = _bare(next(iter(authors), "").split(",")[0])
    words = [word for word in map(_bare, title.split()) if word]
    word = next((word for word in words if len(word) > 3 or not word.isascii()), "paper")
    key = f"{family[:LONGEST_KEY_PART] or 'anonymous'}{year}{word[:LONGEST_KEY_PART]}"
    letters = (f"{key}{letter}" for letter in string.ascii_lowercase[1:])
    numbers = (f"{key}-{number}" for number in itertools.count(len(string.ascii_lowercase) + 1))
    return next(name for name in itertools.chain([key], letters, numbers) if name not in known)


def is_same_work(one: Reference, other: Reference) -> bool:
    """Return whether two entries are about the same publication, by title and year."""
    titles = [_bare(each.title) or each.title for each in (one, other)]
    return titles[0] == titles[1] and one.year == other.year


def folded(text: str) -> str:
    """Return a text in lower case without ligatures and accents, which PDF files write in several ways."""
    letters = "".join(letter for letter in text if unicodedata.category(letter) != "Sk")
    decomposed = unicodedata.normalize("NFKD", letters).casefold()
    return unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", decomposed))


def _entries(path: Path) -> Mapping[str, Entry]:
    try:
        from pybtex.database import parse_string
        from pybtex.exceptions import PybtexError
    except ImportError:
        raise LiteratureError(f"{path}: reading this BibTeX file needs pybtex;", EXTRA) from None
    try:
        database = parse_string(text_of(read_file(path, MOST_BIB_BYTES)), "bibtex")
    except Unreadable as error:
        raise LiteratureError(f"{path} cannot be read: {error}.", "Give a BibTeX file.") from None
    except (PybtexError, RecursionError, ValueError) as error:
        reason = " ".join(str(error).split()).rstrip(".")[:200]
        raise LiteratureError(f"{path} is not BibTeX: {reason}.", "Give a file such as doi.org returns.") from None
    entries: Mapping[str, Entry] = database.entries
    return entries


def _reference(path: Path, key: str, entry: Entry) -> Reference:
    fields = _fields(entry)
    people = [_name(person) for role in ("author", "editor") for person in entry.persons.get(role, ())]
    when = fields.get("year") or fields.get("date") or ""
    year = _YEAR.search(when)
    venue = next((fields[name] for name in _VENUES if fields.get(name)), "arXiv" if "eprint" in fields else "")
    try:
        return reference_of(_safe_key(key), people, fields.get("title", ""), year[0] if year else when, venue)
    except ValidationError as error:
        wanted = "author, title, year, and journal, booktitle or publisher"
        raise LiteratureError(f"{path}, entry {key!r}: {first_fault(error)}.", f"It needs {wanted}.") from None


def _fields(entry: Entry) -> dict[str, str]:
    return {name.lower(): _decoded(value) for name, value in entry.fields.items()}


def _has_markup(reference: Reference) -> bool:
    return any(map(_MARKUP.search, (*reference.authors, reference.title, reference.venue)))


def _name(person: Person) -> str:
    family = _decoded(" ".join([*person.prelast_names, *person.last_names]))
    given = _decoded(" ".join([*person.first_names, *person.middle_names]))
    return ", ".join(filter(None, (family, given)))


def _decoded(value: str) -> str:
    """Return what markup shows: `Kry{\\'s}ci{\\'n}ski` is Kryściński, and `&amp;`, as doi.org writes it, is `&`."""
    from pybtex.richtext import Text

    plain = _ENTITY.sub(lambda entity: html.unescape(entity[0]), value)
    try:
        return str(Text.from_latex(plain))
    except Exception:  # pybtex raises errors of several kinds for unbalanced braces
        return plain


def _flat(text: str) -> str:
    return " ".join(re.sub(r"[{}]", "", text).split())


def _safe_key(key: str) -> str:
    return re.sub(r"[\s,{}]+", "-", key).strip("-") or "paper"


def _bare(text: str) -> str:
    """Return the letters, digits and vowel signs of a text in any script."""
    return "".join(letter for letter in folded(text) if letter.isalnum() or unicodedata.category(letter)[0] == "M")

"""Where the sentences of a text begin and end.

Cased running text stands beside lower-cased, tokenised machine output ("said mr . smith of the u.s .", "`` so ''"). The
text is first copied with every quotation mark turned to the left or the right, character for character; whether a mark
of that copy ends a sentence is then told by the word before it and the words after it. Linear time on any input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


# No sentence ends with these, whatever follows.
_NEVER_LAST = _words("mr mrs ms messrs dr prof e.g i.e vs cf viz")
# A sentence ends with these only where a usual opening follows: "at Acme Inc. The firm", "in the u.s . he left".
_SELDOM_LAST = _words(
    "sen rep gov gen st sgt capt cpt lt col maj cmdr adm det rev hon pres sr jr supt inc co corp ltd bros dept est "
    "ave blvd rd mt ft etc al approx esp ariz calif colo conn fla mich minn neb nev okla tenn tex wis"
)
# Here any capital will do, except for what goes with a time of day.
_OFTEN_LAST = _words("etc a.m p.m")
_AFTER_A_TIME = _words(
    "monday tuesday wednesday thursday friday saturday sunday et est edt ct cst cdt pt pst pdt gmt bst utc"
)
# Shortened only in front of a number: "no. 5", "aug. 26".
_NUMBERED = _words("jan feb mar apr jun jul aug sep sept oct nov dec no nos nr vol p pp fig figs sec ch art eq")
# Words that open a sentence and seldom go on with one; the others do either, and tell only with a capital.
_OPENINGS = _words("he she it they we you i there the these those his their our my")
_CAPITALISED_OPENINGS = _OPENINGS | _words(
    "a after all also although an and as at before both but by during each for from her here how however if in its "
    "last many meanwhile most next no not now on one or since so some still that then this though to two under until "
    "what when where whether which while who why with yes yet"
)
_GLUED_OPENINGS = _OPENINGS - {"i", "it", "my"}
_ADDRESS_ENDINGS = _words("com org html htm php")
_SPEECH = _words(
    "added adds answered answers asked asks continued cried cries demanded exclaimed explained explains growled "
    "inquired insisted interrupted joked mumbled murmured muttered questioned reads recalled remarked repeated replied "
    "replies responded responds said say says screamed screams shouted shouts sighed snapped tells thinks thought told "
    "trailed tweeted whispered whispers wondered writes wrote yelled yells"
)

# No quotation marks are the apostrophes inside words and of endings split off: "the club 's", "they 'll".
_QUOTE = re.compile(r"``?|''|\"|(?<!\w)'(?!(?:s|d|m|re|ve|ll|em)\b)|'(?!\w)|-[lr]rb-|\n", re.IGNORECASE)
# The lookbehind lets only the first mark of a run start a match, so a megabyte of dots stays linear.
_END = re.compile(
    r"(?<![.!?…؟۔।])[.!?…؟۔।]++"
    r"(?:[.!?…؟۔।”’»)\]}*_]|[ \t]++(?:[”»)\]}]|’(?!\w)|[.!?…]++(?=[\s”’)\]]|$)))*+"
    r"|[。！？｡]++[」』”’）】]*+"
    r"|\n\s*+"
)
_NEXT = re.compile(r"(?P<space>\s*+)(?P<between>[^\w\s]*+\s*+[“‘(\[]*+)(?P<word>[\w’'-]*+)(?P<dot>\s?\.)?")
_CLOSING = re.compile(r"[”’»)\]}]")
_ASKING = re.compile(r"[?!؟]")
_PLAIN_WORD_BEFORE = re.compile(r"[^\W\d_]{2}$")
_WORD_BEFORE = re.compile(
    r"((?<![^\W\d_])(?:[^\W\d_]\.)++[^\W\d_]|(?<![\w'’.=/])[^\W\d_]++|\bph\.d)[ \t]?$", re.IGNORECASE
)
_NUMBER_BEFORE = re.compile(r"(?<![\w-])\d{1,3}[ \t]?$")
_LIST_ITEM_NUMBER = re.compile(r"[\s>*_#-]*(?:\d{1,2}|[A-Za-z])$")
_BULLET = re.compile(r"[-*+•‣◦·#>|]+[ \t]|\(?(?:\d{1,3}|[A-Za-z])[.)][ \t]")
_BRACKET = re.compile(r"\s*[“‘]?[(\[]")
_SPEAKER = re.compile(
    rf"\s*,?\s*(?:(?:(?:dr|mrs?|ms|prof)\s?\.|[\w’']+)\s+){{0,4}}?(?:{'|'.join(sorted(_SPEECH))})\b", re.IGNORECASE
)
_AFTER_SPEAKER = re.compile(r"\s*(?:$|[.,:;!?…]|(?:as|to (?:him|her|me|us|them)|\w+ly)\b)")
_MARKED_LINE = re.compile(r"[.!?…][”’)\]]*+[ \t]*+\n")
_PARAGRAPH = re.compile(r"^[^\n]++(?:\n[^\n]++){2,}+", re.MULTILINE)
_INNER_WORD = re.compile(r"(?<=[a-z,;] )[A-Za-z]")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")

_REACH_BEFORE = 16
_REACH_AFTER = 120
_CASED_SHARE = 0.01
_TOO_FEW_TO_TELL = 20
_WRAPPED_WIDTHS = range(40, 121)


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, without the space around them."""
    return tuple(text[start:end] for start, end in sentence_spans(text))


def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return where each sentence of a text starts and ends, as in `text[start:end]`, in order.

    What lies between the spans is white space, or pieces without any letter or digit, which are no sentences.
    """
    return tuple(
        _trimmed(text, start, end) for start, end in _pieces(text) if _LETTER_OR_DIGIT.search(text, start, end)
    )


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return end - len(piece.lstrip()), start + len(piece.rstrip())


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    page = _page(text)
    start = 0
    for match in _END.finditer(page.text):
        if _is_end(page, start, match):
            yield start, match.end()
            start = match.end()
    yield start, len(text)


@dataclass(frozen=True, slots=True)
class _Page:
    """What is known of a whole text: a copy with directed quotation marks, how it is spelled, and how it is set."""

    text: str
    is_cased: bool  # capitals stand inside sentences, so that a small letter tells that the sentence goes on
    has_marked_lines: bool
    soft_breaks: frozenset[int]


def _page(text: str) -> _Page:
    inner = _INNER_WORD.findall(text)
    capitals = sum(letter.isupper() for letter in inner)
    is_cased = capitals > _CASED_SHARE * len(inner) or (len(inner) < _TOO_FEW_TO_TELL and not text.islower())
    directed = _directed(text, is_cased)
    return _Page(directed, is_cased, bool(_MARKED_LINE.search(directed)), frozenset(_soft_breaks(text)))


def _soft_breaks(text: str) -> Iterator[int]:
    """Yield the line breaks that were only set because the next word did not fit any more."""
    for paragraph in _PARAGRAPH.finditer(text):
        lines = paragraph.group().split("\n")
        width = max(map(len, lines))
        if width in _WRAPPED_WIDTHS and all(
            len(f"{line} {(following.split(maxsplit=1) or [''])[0]}") > width for line, following in pairwise(lines)
        ):
            at = paragraph.start()
            for line in lines[:-1]:
                at += len(line)
                yield at
                at += 1


def _directed(text: str, is_cased: bool) -> str:
    """Return the text with quotation marks and spelled brackets as “, ”, ( or ), at the same places."""
    has_backticks = "`" in text
    is_open = {"'": False, '"': False}

    def turned(match: re.Match[str]) -> str:
        token = match.group()
        if token == "\n":
            is_open["'"] = is_open['"'] = False
            return token
        if len(token) == 5:
            return ("(" if token[1] in "lL" else ")") * 5
        kind = "'" if token in ("'", "`") else '"'
        opens = token[0] == "`" or _opens_quote(match, is_open[kind], has_backticks, is_cased)
        if opens is not None:
            is_open[kind] = opens
        return token if opens is None else ("“" if opens else "”") * len(token)

    return _QUOTE.sub(turned, text)


def _opens_quote(match: re.Match[str], is_open: bool, has_backticks: bool, is_cased: bool) -> bool | None:
    """Return whether a straight quotation mark opens a quotation, or nothing where it is an apostrophe."""
    text, token = match.string, match.group()
    left, right = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    before = text[max(0, match.start() - 3) : match.start()].rstrip()[-1:]
    free_left = not left or left.isspace() or left in "([{“‘—"
    free_right = not right or right.isspace() or right in ".,;:!?)]}…"
    if free_left and not free_right:
        return not (is_open and is_cased and right.islower() and before in ".!?…")
    if free_right and not free_left:
        return False
    if free_left:
        if token == "'":
            return None if not is_open and not has_backticks and before == "s" else not (is_open or has_backticks)
        return not is_open and (token == '"' or before not in ".!?…,")
    if before in ".!?…,":
        return False
    return None if token == "'" else not is_open


def _is_end(page: _Page, start: int, match: re.Match[str]) -> bool:
    run = match.group()
    if run[0] == "\n":
        return _ends_line(page, match)
    if run[0] in "。！？｡":
        return True
    following = _NEXT.match(page.text[match.end() : match.end() + _REACH_AFTER])
    if following is None or not following["word"]:
        return True
    if not following["space"] and not _CLOSING.search(run) and "“" not in following["between"]:
        return _lacks_space(page, match, following["word"])
    if _goes_on_after_closing(page, start, run, following):
        return False
    return _ends_by_mark(page, start, match, following)


def _lacks_space(page: _Page, match: re.Match[str], word: str) -> bool:
    """Return whether a mark amid characters ends a sentence ("went home.the dog"), and no number, name or address."""
    opens = word in _GLUED_OPENINGS or (word[0].isupper() and word.lower() in _CAPITALISED_OPENINGS)
    return opens and bool(_PLAIN_WORD_BEFORE.search(page.text, max(0, match.start() - 2), match.start()))


def _goes_on_after_closing(page: _Page, start: int, run: str, following: re.Match[str]) -> bool:
    """Return whether the sentence around a quotation or bracket that ended with a mark goes on after it."""
    closing, word = _CLOSING.search(run), following["word"]
    if closing is None or "“" in following["between"]:
        return False
    if closing[0] in ")]}":
        return word[0].islower() and not _BRACKET.match(page.text, start)
    return (page.is_cased and word[0].islower()) or _is_attributed(run, following)


def _is_attributed(run: str, following: re.Match[str]) -> bool:
    """Return whether words like "she asked" follow a quotation; after a full stop they must be all."""
    speaker = _SPEAKER.match(following.string)
    if speaker is None:
        return False
    return bool(_ASKING.search(run) or _AFTER_SPEAKER.match(following.string, speaker.end()))


def _ends_by_mark(page: _Page, start: int, match: re.Match[str], following: re.Match[str]) -> bool:
    """Return whether a run of marks ends a sentence, whatever quotations and brackets are around it."""
    run, word = match.group(), following["word"]
    goes_on = word[0].islower() and (page.is_cased or word not in _OPENINGS)
    dots = run.count(".") + 3 * run.count("…")
    if _ASKING.search(run):
        return not (page.is_cased and goes_on) or word in _CAPITALISED_OPENINGS
    if dots >= 3:
        return not goes_on
    return dots != 1 or not _is_shortened(page, start, match.start(), following)


def _is_shortened(page: _Page, start: int, dot: int, following: re.Match[str]) -> bool:
    """Return whether a dot belongs to a shortened word, a number or an address, and the sentence goes on."""
    text, word = page.text, following["word"].lower()
    if word in _ADDRESS_ENDINGS or (dot - start <= 12 and _LIST_ITEM_NUMBER.match(text, start, dot)):
        return True
    if word[0].isdigit() and not following["between"] and _NUMBER_BEFORE.search(text, max(0, dot - 5), dot):
        return True
    before = _WORD_BEFORE.search(text, max(0, dot - _REACH_BEFORE), dot)
    return before is not None and _goes_on_after(before[1].lower(), following, page.is_cased)


def _goes_on_after(shortened: str, following: re.Match[str], is_cased: bool) -> bool:
    """Return whether the words after one that may be shortened belong to the same sentence."""
    word = following["word"]
    if shortened in _NEVER_LAST or (word[0].isdigit() and shortened in _NUMBERED):
        return True
    is_initial = len(shortened) == 1 and shortened != "i"
    if not is_initial and "." not in shortened and shortened not in _SELDOM_LAST:
        return False
    if word[0].islower() or not is_cased:
        return is_cased or word.lower() not in _OPENINGS
    if word.lower() in _CAPITALISED_OPENINGS:
        return len(word) == 1 and bool(following["dot"])
    return shortened not in _OFTEN_LAST or word.lower() in _AFTER_A_TIME or not word[0].isupper()


def _ends_line(page: _Page, match: re.Match[str]) -> bool:
    """Return whether a line break ends a sentence: a headline, a list item, a speaker's turn, a paragraph."""
    following = page.text[match.end() : match.end() + 8]
    if not following or following[0] in ",;:.!?)":
        return False
    if match.group().count("\n") > 1 or _BULLET.match(following):
        return True
    is_indented = match.group()[-1] in " \t"
    goes_on = following[0].islower() and (page.is_cased or is_indented or not page.has_marked_lines)
    return not goes_on and match.start() not in page.soft_breaks

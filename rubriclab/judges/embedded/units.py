"""Units of a text by the offline judge (SEAL): their facts, and a verdict on each by measures of its own words.

A question about a unit is answered as one about a whole text is, with the unit measured in the text's place; beside
facts, the facts of one text that are shown stand for that text. Some things are looked at more closely: whether a fact,
or an answer beside its evidence, is borne out; whether neighbours are tied by a word; whether a unit says again what an
earlier one said; and what of its form is out of order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.judges.embedded.backing import backing, roots
from rubriclab.judges.embedded.clauses import clauses
from rubriclab.judges.embedded.knowledge import directions
from rubriclab.judges.embedded.questions import answered, asks_for_fault, is_own, meant
from rubriclab.judges.embedded.rating import measured, on_scale, rating
from rubriclab.judges.embedded.traits import BY_NAME
from rubriclab.sentences import split_sentences
from rubriclab.text_features.lexicon import ARTICLES, DEMONSTRATIVES, POSSESSIVES
from rubriclab.text_features.text import split_words, unify

# Facts that are named for one claim, at most.
NAMED = 3

# A unit of which an earlier one has this share of the words says it again.
SAID_AGAIN = 0.8

# A unit of so many words or more that has no article or word in its place is likely to lack one.
WORDS_WITHOUT_ARTICLE = 12

# What a question counts for of which nothing is known to move with the aspect; 1 is the most that any counts for.
LEAST_WEIGHT = 0.1

_AGAIN = ("already", "again", "repeat")
# Asks for something that was not told before: both count.
_NEW = "no earlier"
_DETAIL = ("name", "number", "date", "value", "figure")
_FORM = ("gramma", "punctuat", "spell", "spacing", "format", "markup", "typo")


def facts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the clauses of each sentence, at most as many as wanted; what is beyond stays with the last."""
    sentences = []
    for sentence in fields["sentences"]:
        pieces, most = clauses(sentence["text"]), fields["most"]
        if len(pieces) > most:
            pieces = (*pieces[: most - 1], ", ".join(pieces[most - 1 :]))
        sentences.append({"sentence": sentence["id"], "facts": [piece for piece in pieces if roots(piece)]})
    return {"sentences": sentences}


def split(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sentences of a text, by rule."""
    return {"sentences": list(split_sentences(fields["text"]))}


def verify(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer to each question about each unit."""
    verdicts = []
    for place, unit in enumerate(fields["units"]):
        about = _in_place(fields, unit)
        for question in fields["questions"]:
            said, reason = _verdict(about, question, [_text(earlier) for earlier in fields["units"][:place]])
            verdicts.append({"unit": unit["id"], "question": question["id"], "reason": reason, "answer": said})
    return {"verdicts": verdicts, **_weights(fields)}


def support(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return for each unit the shown facts that hold enough of its words, if any do."""
    shown = [fact["text"] for fact in fields["facts"]]
    supports = []
    for unit in fields["units"]:
        found = backing(_text(unit), shown)
        names = [fields["facts"][place]["id"] for place in found.sentences[:NAMED]] if found.holds else []
        lacking = f" Not found: {', '.join(found.decisive or found.absent)}." if not found.holds else ""
        reason = (
            f"Measured, not read: {found.found} of {found.words} content words stand in the nearest facts.{lacking}"
        )
        supports += [
            {"unit": unit["id"], "question": question["id"], "reason": reason, "facts": names}
            for question in fields["questions"]
        ]
    return {"supports": supports, **_weights(fields)}


def rate(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a score by each question for each unit."""
    ratings = []
    for unit in fields["units"]:
        about = _in_place(fields, unit)
        for question in fields["questions"]:
            exact, reason = rating(about, {"trait": question["name"], "statement": question["text"], "levels": ()})
            score = on_scale(exact, fields["scale"])
            ratings.append({"unit": unit["id"], "question": question["id"], "reason": reason, "score": score})
    return {"ratings": ratings, **_weights(fields)}


def _text(unit: Mapping[str, Any]) -> str:
    return f"{unit['first']} {unit['second']}" if "first" in unit else str(unit["text"])


def _in_place(fields: Mapping[str, Any], unit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a prompt about the unit alone, beside what is shown with it.

    A reference tells better than the source what matters, so it stands in the source's place where facts are shown.
    """
    source = _shown(fields, "reference") or _shown(fields, "source") if fields["facts"] else fields["source"]
    return {**fields, "output": _text(unit), "source": source, "context": _shown(fields, "context")}


def _shown(fields: Mapping[str, Any], material: str) -> str | None:
    """Return a text that is shown, or else the facts of it that are."""
    told = [fact["text"] for fact in fields["facts"] if fact["of"] == material]
    return fields[material] or "\n".join(told) or None


def _verdict(fields: Mapping[str, Any], question: Mapping[str, Any], earlier: Sequence[str]) -> tuple[str, str]:
    """Return the answer to a question about the unit in `fields`, with what it was read off."""
    text = question["text"]
    good, bad = ("no", "yes") if asks_for_fault(text) else ("yes", "no")
    signs = None if is_own(text) else _signs(fields, text.lower(), earlier)
    if signs is not None:
        return (bad if signs else good), f"Measured, not read: {'; '.join(signs) or 'no sign of a fault'}."
    answer, reason = answered(fields, question["name"], text)
    # A question that finds nothing to look at speaks for the unit.
    return (good if answer == "n/a" else answer), reason


def _signs(fields: Mapping[str, Any], question: str, earlier: Sequence[str]) -> list[str] | None:
    """Return the signs of a fault in a unit that is looked at more closely; `None` for any other."""
    kind, unit = fields["kind"], fields["output"]
    if kind in ("sentence", "fact") and any(word in question for word in (*_AGAIN, _NEW)):
        if earlier and max(_share(unit, other) for other in earlier) >= SAID_AGAIN:
            return ["its words stand in an earlier one"]
        return None if _NEW in question else []
    if any(word in question for word in _FORM):
        return _slips(fields)
    if kind == "sentence pair":
        tied = measured(fields)["linked_sentences"] > 0
        return [] if tied else ["no word, reference or connective ties the two"]
    if kind == "triple" and fields["source"]:
        return _unbacked(fields, any(word in question for word in _DETAIL))
    return None


def _unbacked(fields: Mapping[str, Any], details: bool) -> list[str]:
    """Return what of the sentences is not borne out by the source: names and numbers alone, or the sentence at all."""
    source = split_sentences(fields["source"])
    found = [backing(sentence, source) for sentence in split_sentences(fields["output"])]
    if details:
        return [f'"{word}" is not in what stands beside it' for each in found for word in each.decisive]
    return [f"{each.found} of {each.words} content words stand beside it" for each in found if not each.holds]


def _share(unit: str, other: str) -> float:
    own = roots(unit).keys()
    return len(own & roots(other).keys()) / len(own) if own else 0.0


def _slips(fields: Mapping[str, Any]) -> list[str]:
    """Return what is out of order in a unit's form; letter case and detached marks are the whole text's manner."""
    values = measured(fields)
    words = split_words(unify(fields["output"]).lower())
    bare = len(words) >= WORDS_WITHOUT_ARTICLE and (ARTICLES | POSSESSIVES | DEMONSTRATIVES).isdisjoint(words)
    signs = {
        BY_NAME["stumbles"].title: values["stumbles"] > 0,
        BY_NAME["debris"].title: values["debris"] > 0,
        BY_NAME["unpaired_marks"].title: values["unpaired_marks"] > 0,
        "no mark at its end": values["ends_complete"] == 0,
        "no article in many words": bare,
    }
    return [sign for sign, shows in signs.items() if shows]


def _weights(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what each question counts for: how much its measures usually move with the aspect."""
    if not fields["weigh"]:
        return {}
    usual = directions(fields)
    weights = []
    for question in fields["questions"]:
        moves = [abs(usual[name]) for name in meant(fields, question["name"], question["text"])]
        strength = sum(moves) / len(moves) if moves else 0.0
        weights.append({"question": question["id"], "weight": round(max(strength, LEAST_WEIGHT), 3)})
    return {"weights": weights}

"""Units of a text by the offline judge (SEAL): their facts, and a verdict on each by features of its own words.

A question about a unit is answered as one about a whole text is, with the unit measured in the text's place; beside
facts, the facts of one text that are shown stand for that text. Some things are looked at more closely: whether a fact,
or an answer beside its evidence, is supported; whether neighbours are tied by a word; whether a unit repeats an earlier
one; and whether its form is in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.judges.embedded.questions import answered, asks_for_fault, meant, own_reading
from rubriclab.judges.embedded.rating import on_scale, rating
from rubriclab.judges.embedded.support import clauses, roots, shared, support
from rubriclab.judges.embedded.wording import directions, spoken_of, values_of
from rubriclab.sentences import split_sentences

# Facts that are named for one claim, at most.
NAMED = 3

# A unit that shares this much of its words with an earlier one repeats it.
REPEATED = 0.8

# The weight of a question whose features are not known to move with the aspect; 1 is the largest weight.
LEAST_WEIGHT = 0.1


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
            answer, reason = _verdict(about, question, [_text(earlier) for earlier in fields["units"][:place]])
            verdicts.append({"unit": unit["id"], "question": question["id"], "reason": reason, "answer": answer})
    return {"verdicts": verdicts, **_weights(fields)}


def find_support(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return for each unit the shown facts that hold enough of its words, if any do."""
    shown = [fact["text"] for fact in fields["facts"]]
    supports = []
    for unit in fields["units"]:
        result = support(_text(unit), shown)
        names = [fields["facts"][place]["id"] for place in result.sentences[:NAMED]] if result.holds else []
        lacking = f" Not found: {', '.join(result.decisive or result.absent)}." if not result.holds else ""
        reason = f"Measured, not read: {result.found} of {result.words} content words are in the nearest facts."
        supports += [
            {"unit": unit["id"], "question": question["id"], "reason": reason + lacking, "facts": names}
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

    A reference shows better than the source what matters, so it stands in the source's place where facts are shown.
    """
    source = _shown(fields, "reference") or _shown(fields, "source") if fields["facts"] else fields["source"]
    return {**fields, "output": _text(unit), "source": source, "context": _shown(fields, "context")}


def _shown(fields: Mapping[str, Any], material: str) -> str | None:
    """Return a text that is shown, or else the facts of it that are."""
    return fields[material] or "\n".join(fact["text"] for fact in fields["facts"] if fact["of"] == material) or None


def _verdict(fields: Mapping[str, Any], question: Mapping[str, Any], earlier: Sequence[str]) -> tuple[str, str]:
    """Return the answer to a question about the unit in `fields`, with what it was read off."""
    text = question["text"]
    good, bad = ("no", "yes") if asks_for_fault(text) else ("yes", "no")
    faults = None if own_reading(text) else _faults(fields, spoken_of(text), earlier)
    if faults is not None:
        return (bad if faults else good), f"Measured, not read: {'; '.join(faults) or 'no sign of a fault'}."
    answer, reason = answered(fields, question["name"], text)
    # A question that nothing can be measured for speaks for the unit.
    return (good if answer == "n/a" else answer), reason


def _faults(fields: Mapping[str, Any], spoken: Mapping[str, int], earlier: Sequence[str]) -> list[str] | None:
    """Return the faults of a unit that is looked at more closely; `None` for any other."""
    kind, unit, values = fields["kind"], fields["output"], values_of(fields)
    if kind in ("sentence", "fact") and any(shared(unit, other) >= REPEATED for other in earlier):
        return ["its words stand in an earlier one"]
    if kind == "sentence" and "stumbles" in spoken:
        slips = {"impossible word neighbours": values["stumbles"], "no mark at its end": 1 - values["ends_complete"]}
        return [slip for slip, count in slips.items() if count > 0]
    if kind == "fact" and fields["source"] and "frequent_words_covered" in spoken:
        return [] if values["frequent_words_covered"] else ["it has none of the most frequent words of what is shown"]
    if kind == "sentence pair":
        return [] if values["linked_sentences"] else ["no word, reference or connective ties the two"]
    if kind == "triple" and fields["source"]:
        return _unsupported(fields, details="unsupported_numbers" in spoken)
    return None


def _unsupported(fields: Mapping[str, Any], *, details: bool) -> list[str]:
    """Return what the source does not support: names and numbers alone, or whole sentences."""
    source = split_sentences(fields["source"])
    results = [support(sentence, source) for sentence in split_sentences(fields["output"])]
    if details:
        return [f'"{word}" is not in what is shown beside it' for result in results for word in result.decisive]
    return [f"only {r.found} of {r.words} content words are in what is shown" for r in results if not r.holds]


def _weights(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return each question's weight: how much its features usually move with the aspect."""
    if not fields["weigh"]:
        return {}
    usual = directions(fields)
    weights = []
    for question in fields["questions"]:
        moves = [abs(usual[name]) for name in meant(fields, question["name"], question["text"])]
        weight = max(sum(moves) / len(moves), LEAST_WEIGHT)
        weights.append({"question": question["id"], "weight": round(weight, 3)})
    return {"weights": weights}

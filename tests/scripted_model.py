"""Sensible answers to the prompts of all methods, of `improve` and `literature` without a model, for the local server.

What a question says is found by its form (fenced texts, criteria with indented levels, entries with ids, the schema in
the last line) rather than by its wording, which may be improved without a change here. Answers depend on the question,
the text and the model's name alone, so that two models differ and a run can be repeated.

- Hypotheses are drawn from the question's wording. A rating by them follows the number of distinct words of the text,
  more closely for some traits than for others, so that learning has something to find.
- Other scores and answers follow how much of the text keeps to the order of its source, the more closely if the judge
  was told to look at that: a rewritten explanation and evaluation steps say so.
- A sentence or a claim is borne out if most of its words are those of what it is compared with, and is mended by taking
  over what it is most like there.
"""

from __future__ import annotations

import functools
import itertools
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

from rubriclab.models.text import format_score

Brain = Callable[[list[dict[str, str]], dict[str, Any]], str]

PROPERTIES = (
    "range of vocabulary",
    "facts per sentence",
    "links between neighbouring sentences",
    "named people and places",
    "figures and dates",
    "repeated statements",
    "an ending that closes all that was begun",
    "an opening that says what happened",
    "completeness of clauses",
    "agreement of pronouns",
    "sentences on another subject",
    "order of events",
    "precision of verbs",
    "reasons given for what happened",
    "consequences spelled out",
    "quoted voices",
    "balance of detail",
    "filler words",
)
PLACES = ("throughout", "at the start", "towards the end", "from one sentence to the next")
ADVICE = ("read it aloud", "underline each case", "count the cases", "compare it with its neighbours")
DEGREES = ("nothing at all", "very little", "a fair amount", "a good deal", "as much as there could be")
# Distinct words of a text that deserves the lowest and the highest score.
FEWEST, MOST = 40, 80

# How far a score follows the quality, and how much farther where the judge was told what to look at.
CLOSENESS, BETTER_CLOSENESS = 0.4, 0.95
HINT = "how closely the source's order is kept"
# Share of words in the source's order of a text that deserves the lowest and the highest score.
WORST, BEST = 0.3, 0.6
# Share of texts that a question cannot be asked of.
INAPPLICABLE = 0.06
# Share of its words from which on a sentence is borne out by a text, and a claim by a single fact; how far models
# differ in that, and how much farther they go in texts that keep to the source's order.
BORNE_OUT, STATED, LENIENCE, ORDERED = 0.7, 0.5, 0.1, 0.4
# Facts that a sentence comes to at most.
MOST_FACTS = 3

# A finding that no page supports.
INVENTED = "Raters were asked about the colour of the paper and liked blue."
# Texts with these words are rated lowest and highest by `planted`, which gives no usable reply about the last.
GOOD, BAD, UNSCORABLE = "well written", "badly written", "unscorable"
WHY = "That is how it reads."

_FENCED = re.compile(r"<<<([^>]+) ([0-9a-f]{16})>>>\n(.*?)\n<<<end of \1 \2>>>", re.DOTALL)
_CRITERION = re.compile(r"^(?:\[([\w.-]+)\] |\d+\. )?([^\s:][^:\n]*): .+\n {3}-?[\d.]+: ", re.MULTILINE)
_SCALE = re.compile(r"(-?[\d.]+) \((?:lowest|certainly '.*')\) to (-?[\d.]+) \([^)]+\)(, whole numbers only)?")
SCHEMA = re.compile(r"^Answer with one JSON object .*:\n(\{.*\})$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"<[^<>]+>(?=[,}])")
_ANCHORS = re.compile(r"scores ((?:-?[\d.]+, )+-?[\d.]+)")
_COUNT = re.compile(r"(\d+) hypothes[ie]s")
_LISTED = re.compile(
    r"^\[([\w.-]+)\] (.+?)(?: \(Here \"no\" is the good answer\.\)| \(absent: [^)]*\))?$", re.MULTILINE
)
_NEW = re.compile(r"Add (\d+) question")
_FINER = re.compile(r"into (\d+)(?: to (\d+))? finer")
_FAULT = re.compile(r"repeat|filler|another subject|start afresh", re.IGNORECASE)
_UNRELATED = re.compile(r"figures and dates|quoted voices")
_EXAGGERATED = "throughout"
_SIDES = re.compile(r"Propose (\d+)")
_FAILING = re.compile(r"The fault is in sentences? ([\d and]+)\.")
_UNIT, _FACT = re.compile(r"(u\d+)(?:, .*)?"), re.compile(r"([crx]\d+)")
_NUMBERED = re.compile(r"(?:sentence|report) (\d+)")
# A label with a comma says what a whole text is called that is a unit, unless it is that of half a pair.
_PIECE = re.compile(r"u\d+(?:, (?:first|second) sentence)?|[crx]\d+|(?:sentence|report) \d+")
_PAGE = re.compile(r"page (\d+)")
_REASON = re.compile(r"Reason \d+[^\n]*:\n<<<(reason \d+ [0-9a-f]{16})>>>\n.*?\n<<<end of \1>>>\n?", re.DOTALL)


@dataclass(frozen=True)
class Question:
    """One question, what can be read off its form, and what else an answer depends on: what the judge said before, its
    name, and whether it samples."""

    text: str
    earlier: str = ""
    model: str = ""
    sampled: bool = False

    @cached_property
    def form(self) -> dict[str, Any]:
        """The fields of the reply, each with its JSON schema, or with an example of its entry."""
        fields: dict[str, Any] = self.schema.get("properties", self.schema)
        return fields

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the reply, or its example if it has an entry for each id."""
        shown = _PLACEHOLDER.sub("0", self.find(SCHEMA)[1])
        return dict(json.loads(shown.replace("{...}", "{}").replace(", ...]", "]")))

    @property
    def is_keyed(self) -> bool:
        """Whether the reply has an entry for each id."""
        return "properties" not in self.schema

    @property
    def verdict(self) -> str:
        """What tells the kinds of question apart: the reply's last field, or `ids`."""
        return "ids" if self.is_keyed else list(self.form)[-1]

    @cached_property
    def instructions(self) -> str:
        return _FENCED.sub("", self.text)

    @cached_property
    def texts(self) -> list[str]:
        """The texts that it is about; the one to judge is the last."""
        return [text for _label, _tag, text in _FENCED.findall(self.text)]

    @cached_property
    def criteria(self) -> list[tuple[str, str]]:
        return _CRITERION.findall(self.instructions)

    def find(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.search(self.instructions)
        if not found:
            raise ValueError(f"nothing like {pattern.pattern!r} in: {self.instructions}")
        return found

    def on_scale(self, share: float) -> float:
        scale = self.find(_SCALE)
        low, high = float(scale[1]), float(scale[2])
        score = low + share * (high - low)
        return round(score) if scale[3] else round(score, 2)

    @property
    def listed(self) -> list[tuple[str, str]]:
        return _LISTED.findall(self.instructions)

    @cached_property
    def entry(self) -> dict[str, Any]:
        """The fields of each entry of the reply; none if it has no entries of several fields."""
        if self.is_keyed:
            first = next(iter(self.form.values()))
            is_nested = isinstance(first, dict) and all(isinstance(inner, dict) for inner in first.values())
            first = next(iter(first.values())) if is_nested else first
            return first if isinstance(first, dict) else {}
        named = [field["items"]["$ref"] for field in self.form.values() if "$ref" in field.get("items", {})]
        return dict(self.schema["$defs"][named[0].rsplit("/", 1)[1]]["properties"]) if named else {}

    @cached_property
    def whole_texts(self) -> list[str]:
        """The texts that are no pieces of others: what is held against, if anything, and last what is judged."""
        return [text for label, _tag, text in _FENCED.findall(self.text) if not _PIECE.fullmatch(label)]

    def pieces(self, labels: re.Pattern[str]) -> dict[str, str]:
        """Return what is shown under `labels`, by what their group finds in them; both sentences of a pair as one."""
        found: dict[str, str] = {}
        for label, _tag, text in _FENCED.findall(self.text):
            if name := labels.fullmatch(label):
                found[name[1]] = f"{found[name[1]]} {text}" if name[1] in found else text
        return found

    @property
    def quality(self) -> float:
        """What the judged text deserves, in [0, 1]."""
        facts = " ".join(self.pieces(_FACT).values())
        texts = [*filter(None, [facts]), *self.whole_texts][-2:]
        return min(1.0, max(0.0, (in_order(texts[0], texts[-1]) - WORST) / (BEST - WORST)))

    def lot(self, *about: str) -> random.Random:
        """Return what is drawn for this model `about` something, always the same."""
        return random.Random("\n".join((self.model, *about)))


def reply(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
    """Return the answer as JSON in the form that is asked for; a repair is answered like the question.

    Raises:
        ValueError: if the question does not say what an answer needs.
    """
    asked = question_in(messages, body)
    return json.dumps(ANSWERS[_kind(asked)](asked))


def question_in(messages: list[dict[str, str]], body: dict[str, Any]) -> Question:
    """Return the question: the user's turn that has a schema, whatever was said before and complained of after."""
    turns = [n for n, turn in enumerate(messages) if turn["role"] == "user" and _has_schema(turn["content"])]
    earlier = "\n".join(turn["content"] for turn in messages[: turns[-1]] if turn["role"] == "assistant")
    return Question(messages[turns[-1]]["content"], earlier, body["model"], body.get("temperature", 0) > 0)


def is_repair(messages: list[dict[str, str]]) -> bool:
    """Return whether the messages ask once more for an answer that could not be used."""
    return not _has_schema(messages[-1]["content"])


@functools.cache
def in_order(source: str, output: str) -> float:
    """Return the share of the output's words that stand in the source in the same order."""
    read, wrote = (re.findall(r"\w+", text.lower()) for text in (source, output))
    blocks = SequenceMatcher(None, read, wrote, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / max(1, len(wrote))


@functools.cache
def shared(text: str, other: str) -> float:
    """Return the share of the distinct words of `text` that stand in the other one."""
    wanted, there = (set(re.findall(r"\w+", each.lower())) for each in (text, other))
    return len(wanted & there) / max(1, len(wanted))


def _has_schema(text: str) -> bool:
    return bool(SCHEMA.search(text))


def _kind(asked: Question) -> str:
    """Return what the answer's form makes of a question; questions with a seed are on other sides than its own."""
    if asked.is_keyed:
        if asked.form.keys() == {name for name, _ in asked.criteria}:
            return "hypotheses' ratings"
        return _keyed_kind(next(iter(asked.form)), list(asked.entry))
    *others, last = asked.form
    if asked.criteria and last == "score":
        return "hypotheses' rating"
    kinds = {
        "questions": "other sides" if "seed" in asked.entry else "finer points",
        "explanation": "rewriting" if others else last,
        "sentences": "mended sentences",
    }
    return kinds.get(last, last)


def _keyed_kind(first: str, entry: list[str]) -> str:
    if first.startswith("sentence "):
        return "sentences" if entry else "facts"
    if first == "weights" or _UNIT.fullmatch(first):
        return {"facts": "supports", "score": "ratings"}.get(entry[-1] if entry else "", "unit verdicts")
    if first.startswith("report "):
        return "marks"
    return "verdicts" if "yes_means" in entry else "one call"


def _proposal(question: Question) -> dict[str, Any]:
    draw = random.Random(question.text)
    traits = [trait for _name, trait in question.criteria]
    if not traits:
        known = [f"{what}, {where}" for what, where in itertools.product(PROPERTIES, PLACES)]
        traits = draw.sample(known, int(question.find(_COUNT)[1]))
    anchors = [float(score) for score in question.find(_ANCHORS)[1].split(", ")]
    hypotheses = [_hypothesis(trait, anchors, draw.choice(ADVICE)) for trait in traits]
    return {"reasoning": "The texts rated high differ from the others in these.", "hypotheses": hypotheses}


def _hypothesis(trait: str, anchors: list[float], advice: str) -> dict[str, Any]:
    what, _, where = trait.partition(", ")
    degrees = [DEGREES[round(place * (len(DEGREES) - 1) / (len(anchors) - 1))] for place in range(len(anchors))]
    return {
        "trait": trait,
        "statement": f"Raters look for {what} {where}; to tell how much of it there is, {advice}.",
        "levels": {
            format_score(score): f"{degree} of what is meant by {what}"
            for score, degree in zip(anchors, degrees, strict=True)
        },
    }


def _rating(question: Question) -> dict[str, Any]:
    traits = " and ".join(trait for _name, trait in question.criteria)
    return {"reasoning": f"It was read for {traits}.", "score": _rated(question, traits)}


def _ratings_by_hypotheses(question: Question) -> dict[str, Any]:
    return {
        name: {"reason": f"It was read for {trait}.", "score": _rated(question, trait)}
        for name, trait in question.criteria
    }


def _rated(question: Question, trait: str) -> float:
    output = question.texts[-1]
    distinct = len(set(re.findall(r"\w+", output.lower())))
    quality = min(1.0, max(0.0, (distinct - FEWEST) / (MOST - FEWEST)))
    closeness = random.Random(trait).random()
    share = closeness * quality + (1 - closeness) * random.Random(f"{trait}\n{output}").random()
    return question.on_scale(share)


def same(reason: str, members: list[str]) -> dict[str, Any]:
    return {"reason": reason, "relation": "same", "members": members, "best": members[0]}


def _findings(asked: Question) -> dict[str, Any]:
    """Return every sentence with "raters" as a finding, and one that was invented."""
    findings = [
        {
            "page": int(number),
            "quotation": " ".join(sentence.split()),
            "claim": f"People said: {' '.join(sentence.split())}",
            "aspects": ["coherence"] if "order" in sentence and "- coherence:" in asked.text else [],
            "benchmarks": ["SummEval"] if "SummEval" in sentence else [],
        }
        for number, text in asked.pieces(_PAGE).items()
        for sentence in re.split(r"(?<=\.)\s", text)
        if "raters" in sentence
    ]
    invented = {"page": 1, "quotation": INVENTED, "claim": "Blue is best.", "aspects": [], "benchmarks": []}
    return {"reasoning": "Some sentences are about raters.", "findings": [*findings, invented]}


def _explanation(asked: Question) -> dict[str, Any]:
    look = "in what order things come" if asked.sampled else "whether it is one piece"
    return {"explanation": f"I am to say how good a text is in one respect. I ask myself {look}."}


def _rewriting(asked: Question) -> dict[str, Any]:
    explanation, *texts = asked.texts
    note = f"(Note {asked.lot(*texts).randrange(10**6)}.)"
    return {"reasoning": "People reward a plain order.", "explanation": f"{explanation} I look at {HINT}. {note}"}


def _score(asked: Question) -> dict[str, Any]:
    closeness = BETTER_CLOSENESS if HINT in asked.instructions + asked.earlier else CLOSENESS
    noise = asked.lot(*asked.form, asked.earlier, *asked.texts).random()
    score = asked.on_scale(closeness * asked.quality + (1 - closeness) * noise)
    return {**dict.fromkeys(asked.form, "It was read once, from beginning to end."), "score": score}


def _finer_points(asked: Question) -> dict[str, Any]:
    fewest, most = asked.find(_FINER).groups()
    texts = _new_questions(asked, int(most or fewest))
    return {"reasoning": "It comprises these.", "questions": [_stated(text) for text in texts]}


def _other_sides(asked: Question) -> dict[str, Any]:
    (seed, _), *_others = asked.listed
    texts = _new_questions(asked, int(asked.find(_NEW)[1]))
    return {"reasoning": "These are missed.", "questions": [{"seed": seed, **_stated(text)} for text in texts]}


def _stated(text: str) -> dict[str, str]:
    return {"text": text, "absent": "no", "broken": "no"}


def _new_questions(asked: Question, number: int) -> list[str]:
    about = " ".join(wording for _name, wording in asked.listed)
    return [f"Is there {trait}?" for trait in _new_traits(asked, number, about)]


def _new_traits(asked: Question, number: int, about: str) -> list[str]:
    known = [f"{what} {where}" for what, where in itertools.product(PROPERTIES, PLACES)]
    return asked.lot(_kind(asked), about).sample(known, number)


def _verdicts(asked: Question) -> dict[str, Any]:
    aspect = re.search(r'judged for "([^"]+)"', asked.instructions)
    return {
        name: {
            "reasoning": "By its wording.",
            **dict.fromkeys(("absent", "broken"), "no"),
            "yes_means": "worse" if _FAULT.search(wording) else "better",
            "about": "something else" if _UNRELATED.search(wording) else aspect[1] if aspect else "",
            "style": "exaggerated" if _EXAGGERATED in wording else "fine",
        }
        for name, wording in asked.listed
    }


def _groups(asked: Question) -> dict[str, Any]:
    """Return hypotheses on the same trait as groups, or else questions about the same property."""
    about = asked.criteria or [
        (name, next((what for what in PROPERTIES if what in wording), "")) for name, wording in asked.listed
    ]
    members: dict[str, list[str]] = {}
    for name, what in about:
        members.setdefault(what, []).append(name)
    return {"groups": [same(f"Both are about {what}.", names) for what, names in members.items() if what and names[1:]]}


def _one_call(asked: Question) -> dict[str, Any]:
    """Answer the prompt about everything by its form; what is asked for whole scores is no question."""
    said: dict[str, Any] = {}
    for name, wording in asked.listed:
        if isinstance(asked.form[name], dict) and "score" in asked.form[name]:
            noise = asked.lot(wording, asked.texts[-1]).random()
            score = asked.on_scale(BETTER_CLOSENESS * asked.quality + (1 - BETTER_CLOSENESS) * noise)
            said[name] = {"reason": "It shows.", "score": score}
        elif isinstance(asked.form[name], dict):
            said[name] = {"reason": "It was looked up.", "answer": _answer(asked, wording)}
        else:
            said[name] = _yes_or_no(wording, _goodness(asked, wording, asked.lot(wording, asked.texts[-1])))
    return said


def _answer(asked: Question, wording: str) -> str:
    draw = asked.lot(wording, asked.texts[-1])
    return "n/a" if draw.random() < INAPPLICABLE else _yes_or_no(wording, _goodness(asked, wording, draw))


def _goodness(asked: Question, wording: str, draw: random.Random) -> float:
    closeness = random.Random(wording).uniform(0.4, 0.9)
    return closeness * asked.quality + (1 - closeness) * draw.random()


def _yes_or_no(wording: str, goodness: float) -> str:
    return "yes" if (goodness > 0.5) != bool(_FAULT.search(wording)) else "no"


def _facts(asked: Question) -> dict[str, Any]:
    return {
        f"sentence {number}": re.split(r"[,;:] | and ", text.rstrip(". "))[:MOST_FACTS]
        for number, text in asked.pieces(_NUMBERED).items()
    }


def _supports(asked: Question) -> dict[str, Any]:
    facts = asked.pieces(_FACT)

    def verdict(claim: str, _wording: str, _good: float) -> dict[str, Any]:
        best = max(facts, key=lambda name: shared(claim, facts[name]))
        stated = shared(claim, facts[best]) > STATED + LENIENCE * asked.lot(claim).random()
        return {"facts": [best] if stated else []}

    return _of_units(asked, verdict)


def _of_units(asked: Question, verdict: Callable[[str, str, float], dict[str, Any]]) -> dict[str, Any]:
    """Return a verdict for each question about each unit, and weights that sum to anything but 1 where asked for."""
    reason = f"It was looked up by {asked.model}."
    said: dict[str, Any] = {
        unit: {
            question: {"reason": reason, **verdict(text, wording, _goodness(asked, wording, asked.lot(wording, text)))}
            for question, wording in asked.listed
        }
        for unit, text in asked.pieces(_UNIT).items()
    }
    if "weights" in asked.form:
        said["weights"] = {name: asked.lot(*asked.texts, name).randint(1, 9) for name, _ in asked.listed}
    return said


def _sub_dimensions(asked: Question) -> dict[str, Any]:
    new = [
        {"name": trait, "definition": f"How much of it there is: {trait}.", "question": f"Is there {trait}?"}
        for trait in _new_traits(asked, int(asked.find(_SIDES)[1]), asked.instructions)
    ]
    return {"reasoning": "These are missed.", "sub_dimensions": new}


def _comparison(asked: Question) -> dict[str, Any]:
    reference, output = asked.whole_texts
    sentences = asked.pieces(_NUMBERED) or {"1": output}
    return {f"sentence {number}": _compared(asked, sentence, reference) for number, sentence in sentences.items()}


def _compared(asked: Question, sentence: str, reference: str) -> dict[str, Any]:
    lenience = ORDERED * (asked.quality - 0.5) + LENIENCE * (asked.lot(sentence).random() - 0.5)
    holds = shared(sentence, reference) + lenience > BORNE_OUT
    entry = {"reason": f"“{sentence}”, as {asked.model} reads it, is {'' if holds else 'not '}consistent."}
    return {**entry, "consistent": "yes" if holds else "no"} if "consistent" in asked.entry else entry


def _marks(asked: Question) -> dict[str, Any]:
    return {
        f"report {number}": {"thought": "It says so.", "mark": -1 if "not consistent." in text else 1}
        for number, text in asked.pieces(_NUMBERED).items()
    }


def _mended_sentences(asked: Question) -> dict[str, Any]:
    """Return what each sentence at fault is most like in the first text shown; another sample takes the next best."""
    sentences = asked.pieces(_NUMBERED)
    named = {number for found in _FAILING.findall(asked.instructions) for number in re.findall(r"\d+", found)}
    free = [each for each in re.split(r"(?<=[.!?])\s+", asked.whole_texts[0]) if each not in sentences.values()]
    changes = []
    for number in sorted(named or sentences, key=int):
        alike = sorted(free, key=lambda each: shared(sentences[number], each))
        text = alike[-2 if asked.sampled else -1] if len(alike) > 1 else ""
        free = [each for each in free if each != text]
        changes.append({"sentence": int(number), "reasoning": "It is put as it stands there.", "text": text})
    return {"sentences": changes}


ANSWERS: dict[str, Callable[[Question], dict[str, Any]]] = {
    "hypotheses": _proposal,
    "hypotheses' rating": _rating,
    "hypotheses' ratings": _ratings_by_hypotheses,
    "findings": _findings,
    "explanation": _explanation,
    "rewriting": _rewriting,
    "steps": lambda _: {"steps": ["Read the text once.", f"Consider {HINT}.", "Settle on a score."]},
    "score": _score,
    "finer points": _finer_points,
    "other sides": _other_sides,
    "verdicts": _verdicts,
    "groups": _groups,
    "one call": _one_call,
    "facts": _facts,
    "unit verdicts": lambda asked: _of_units(asked, lambda _, wording, good: {"answer": _yes_or_no(wording, good)}),
    "supports": _supports,
    "ratings": lambda asked: _of_units(asked, lambda _unit, _wording, good: {"score": asked.on_scale(good)}),
    "sub_dimensions": _sub_dimensions,
    "sentences": _comparison,
    "marks": _marks,
    "mended sentences": _mended_sentences,
}


def two_minds(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
    """Rate as `reply` does; the model called `mild` a point higher, as far as the scale goes."""
    rated = json.loads(reply(messages, body))
    if body["model"] == "mild":
        rated["score"] = min(5, rated["score"] + 1)
    return json.dumps(rated)


def planted(messages: list[dict[str, str]], _body: dict[str, Any]) -> str:
    """Return the lowest or highest ratings for texts that say what they are worth, and others as drawn."""
    asked = "\n".join(message["content"] for message in messages)
    if UNSCORABLE in asked:
        return "I cannot say."
    drawn = random.Random(asked).choice([2, 3, 4])
    score = 5 if GOOD in asked else 1 if BAD in asked else drawn
    answer = "yes" if score > 2 else "no"
    ids = list(dict.fromkeys(re.findall(r"^\[([\w.-]+)\]", asked, re.MULTILINE)))
    form = Question(asked).form if ids else {}
    if ids and set(form) == set(ids):
        said = {name: {"score": score} if "score" in entry else {"answer": answer} for name, entry in form.items()}
        return json.dumps({name: {"reason": WHY, **verdict} for name, verdict in said.items()})
    return json.dumps({"reasoning": WHY, "score": score})


def citing(brain: Brain, numbers: Sequence[Any]) -> Brain:
    """Return `brain` with `numbers` cited in every reply that may cite reasons; it is not shown the reasons."""

    def cite(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        question, _, form = messages[-1]["content"].rpartition("\n")
        # The form of a keyed reply is no JSON.
        schema = json.loads(form) if '"properties"' in form else {}
        forms = [schema, *schema.get("$defs", {}).values()]
        cites = [each for each in forms if "reasons" in each.get("properties", {})]
        for each in cites:
            del each["properties"]["reasons"]
        told = f"{_REASON.sub('', question)}\n{json.dumps(schema) if schema else form}"
        answer = json.loads(brain([*messages[:-1], {**messages[-1], "content": told}], body))
        for entry in [*answer.get("hypotheses", ()), *answer.get("questions", ()), answer] if cites else ():
            if entry is not answer or "explanation" in answer:
                entry["reasons"] = [*numbers]
        return json.dumps(answer)

    return cite

"""What a judge finds of a text, unit by unit and question by question (SEAL, section 3.4, equation 4)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rubriclab.data.example import Example
from rubriclab.judges.ask import JudgeAnswer, ask, read
from rubriclab.judges.judge import Judge
from rubriclab.methods.questions import about
from rubriclab.methods.replies import why_missing
from rubriclab.methods.seal.aggregate import of_scale
from rubriclab.methods.seal.facts import Facts, facts_of
from rubriclab.methods.seal.inquiry import Examination, Inquiry, numbered, verdict_prompts
from rubriclab.methods.seal.replies import (
    FORMS,
    NamedSupport,
    NamedVerdict,
    UnitEntry,
    UnitRating,
    Weights,
    asked_questions,
    asked_units,
    entries_of,
    shown_facts,
)
from rubriclab.methods.seal.units import Taken, Unit, take_apart, whole
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion
from rubriclab.segmentation import Material

# A unit's id and a question's.
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class VerifiedUnit:
    """What was found of one question about one unit: v in equation 4.

    Attributes:
        value: 1 for the better answer, 0 for the other, a share of the scale where it was rated; `None` for no verdict.
        support: the facts that bear the unit out, in their own words.
    """

    value: float | None
    reason: str
    support: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedUnit:
    """What a judge found of one text.

    Attributes:
        verdicts: one for each pair of unit and question, by their ids.
        rated: whether units were rated on the scale instead of verified.
        weights: what the questions count for in this text, by id; `None` where the judge was not asked.
        fault: why the text can have no score, whatever the verdicts.
    """

    units: tuple[Unit, ...] = ()
    verdicts: Mapping[Pair, VerifiedUnit] = field(default_factory=dict)
    rated: bool = False
    weights: Mapping[str, float] | None = None
    fault: str | None = None


async def judge_text(example: Example, exam: Examination, judge: Judge) -> JudgedUnit:
    """Return the verdicts on a text, and the weights where the judge is to weigh.

    Nothing is asked about an empty text, nor where every question needs facts of what the text comes without.
    """
    words = exam.assignment.words
    if not any(map(str.isalnum, example.output)):
        return JudgedUnit(fault=f"there is no sentence in the {words.output}")
    texts = exam.materials(example)
    lacking = exam.lacking(texts)
    if len(lacking) == len(exam.questions):
        return _put_together(whole(example.output), exam, lacking, {})
    taken = await take_apart(example.output, exam.units.kind, words, judge, exam.settings)
    askable = tuple(unit for unit in taken.units if unit.lost is None)
    if not askable:
        return _put_together(taken, exam, lacking, {})
    inquiry = Inquiry(exam, example.output, taken.kind, askable, texts, {}, frozenset(), lacking)
    if taken.kind == "fact":
        inquiry = await _with_facts(inquiry, judge)
    return await _judged(inquiry, taken, judge)


async def _with_facts(inquiry: Inquiry, judge: Judge) -> Inquiry:
    """Return the inquiry with facts in place of whole texts."""
    exam, texts = inquiry.exam, inquiry.texts
    words, most = exam.assignment.words, exam.settings.most_facts
    asked = (facts_of(text, name, words, judge, most=most) for name, text in texts.items())
    facts: dict[Material, Facts] = dict(zip(texts, await asyncio.gather(*asked), strict=True))
    # Were units held against some of the facts alone, those that are borne out by a lost one would count as wrong.
    unnamed = {name: _unnamed(name, each, inquiry) for name, each in facts.items() if each.lost}
    needed = ((question.id, about(question).support) for question in exam.questions)
    return replace(
        inquiry,
        texts={name: text for name, text in texts.items() if name in unnamed},
        facts={name: numbered(name, [fact.text for fact in each.found]) for name, each in facts.items()},
        incomplete=frozenset(unnamed),
        lacking={**inquiry.lacking, **{name: unnamed[of] for name, of in needed if of in unnamed}},
    )


async def _judged(inquiry: Inquiry, taken: Taken, judge: Judge) -> JudgedUnit:
    """Return what the judge answers to the inquiry, for all units of the text."""
    prompts = verdict_prompts(inquiry)
    answers = await asyncio.gather(*(ask(judge, prompt, salvage=FORMS[prompt.name][0]) for prompt in prompts))
    found: dict[Pair, VerifiedUnit] = {}
    for prompt, answer in zip(prompts, answers, strict=True):
        found |= dict(_verdicts(prompt, answer, inquiry))
    judged = replace(_put_together(taken, inquiry.exam, inquiry.lacking, found), rated=inquiry.rated)
    return _weighed(judged, prompts[0], answers[0]) if prompts and prompts[0].fields["weigh"] else judged


def _verdicts(prompt: Prompt[Any], answer: JudgeAnswer[Any], inquiry: Inquiry) -> Iterator[tuple[Pair, VerifiedUnit]]:
    """Yield a verdict on every pair that the prompt asks about, missing where there is no usable one."""
    entries = entries_of(answer.value) if answer.value is not None else ()
    found = {(entry.unit, entry.question): entry for entry in entries}
    questions = {question.id: question for question in inquiry.exam.questions}
    pairs = list(itertools.product(asked_units(prompt.fields), asked_questions(prompt.fields)))
    missing = VerifiedUnit(None, why_missing(prompt, answer, "verdict") if len(found) < len(pairs) else "")
    for pair in pairs:
        entry = found.get(pair)
        yield pair, _verdict(entry, questions[pair[1]], prompt, inquiry) if entry else missing


def _verdict(entry: UnitEntry, question: Criterion, prompt: Prompt[Any], inquiry: Inquiry) -> VerifiedUnit:
    reason = entry.reason.strip()
    match entry:
        case NamedVerdict():
            return VerifiedUnit(_value(question, holds=entry.answer == "yes"), reason)
        case UnitRating():
            return VerifiedUnit(of_scale(entry.score, inquiry.exam.assignment.scale), reason)
        case NamedSupport():
            return _supported(entry, question, shown_facts(prompt.fields))
    raise TypeError(f"expected a verdict, a rating or support, got {type(entry).__name__}")


def _supported(entry: NamedSupport, question: Criterion, shown: Mapping[str, str]) -> VerifiedUnit:
    """Return whether a fact that exists bears the unit out."""
    named = list(dict.fromkeys(entry.facts))
    support = tuple(shown[name] for name in named if name in shown)
    if support:
        return VerifiedUnit(_value(question, holds=True), entry.reason.strip(), support)
    unknown = f"the fact named does not exist: {', '.join(named)}" if named else ""
    return VerifiedUnit(_value(question, holds=False), "; ".join(filter(None, (unknown, entry.reason.strip()))))


def _value(question: Criterion, *, holds: bool) -> float:
    return float(holds == (about(question).better == "yes"))


def _unnamed(material: Material, facts: Facts, inquiry: Inquiry) -> str:
    why = next(iter(facts.lost.values()))
    return f"the facts of the {inquiry.exam.assignment.words.called(material)} could not all be had: {why}"


def _put_together(
    taken: Taken, exam: Examination, lacking: Mapping[str, str], found: Mapping[Pair, VerifiedUnit]
) -> JudgedUnit:
    """Return a verdict on every question about every unit, those that nothing was asked about among them."""
    verdicts = {}
    for unit in taken.units:
        for question in exam.questions:
            why = lacking.get(question.id) or unit.lost
            verdicts[unit.id, question.id] = VerifiedUnit(None, why) if why else found[unit.id, question.id]
    return JudgedUnit(taken.units, verdicts)


def _weighed(judged: JudgedUnit, prompt: Prompt[Any], answer: JudgeAnswer[Any]) -> JudgedUnit:
    """Return the verdicts with the judge's weights, which can be sound where the verdicts beside them are not."""
    found, complaint = None, answer.missing
    if isinstance(answer.value, Weights):
        found = answer.value
    elif answer.reply is not None:
        found, complaint = read(answer.reply, replace(prompt, reply=Weights))
        complaint = f"unusable reply, also after one repair: {complaint}"
    if found is None:
        return replace(judged, fault=f"there are no weights by the judge: {complaint}")
    return replace(judged, weights={each.question: each.weight for each in found.weights})

"""A judge's verdicts on the units of a text by all questions (SEAL, section 3.4, equation 4).

A judge that is shown whole materials answers yes or no. One that is shown their facts names those that support a unit,
and the verdict follows from whether the named facts exist.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rubriclab.judges.ask import JudgeAnswer, ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.questions import question_of
from rubriclab.methods.replies import ScoreEntry, why_missing
from rubriclab.methods.seal.prompts import TextVerification, VerificationPlan, facts_by_id, verdict_prompts
from rubriclab.methods.seal.replies import (
    WEIGHTS,
    UnitSupport,
    UnitVerdict,
    asked_questions,
    asked_units,
    shown_facts,
)
from rubriclab.methods.seal.units import (
    Decomposition,
    Facts,
    TextField,
    Unit,
    decompose,
    extract_all_facts,
    extract_facts,
    fact_units,
    whole_text,
)
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import Example, Material, Scale
from rubriclab.prompts import Prompt
from rubriclab.prompts.keyed import KeyedReply
from rubriclab.stats.intervals import DIGITS

# The ids of a unit and a question.
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """The verdict on one unit by one question: v in equation 4.

    Attributes:
        value: 1 for the good answer, 0 for the other, a share of the scale if it was rated; `None` without a verdict.
        support: the texts of the facts that support the unit.
    """

    value: float | None
    reason: str
    support: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextVerdicts:
    """The verdicts on one text.

    Attributes:
        verdicts: one for each pair of unit and question, by their ids.
        rated: whether units were rated on the scale instead of verified.
        weights: the judge's weights of the questions for this text, by id; `None` if not requested.
        fault: why the text cannot have a score.
    """

    units: tuple[Unit, ...] = ()
    verdicts: Mapping[Pair, PairVerdict] = field(default_factory=dict)
    rated: bool = False
    weights: Mapping[str, float] | None = None
    fault: str | None = None


async def judge_text(example: Example, plan: VerificationPlan, judge: Judge) -> TextVerdicts:
    """Return the verdicts on a text, and the judge's weights if requested.

    No calls are made for an empty text, nor if every question needs facts of a missing text.
    """
    words = plan.assignment.words
    if not any(map(str.isalnum, example.output)):
        return TextVerdicts(fault=f"there is no sentence in the {words.output}")
    texts = plan.materials(example)
    lacking = plan.lacking(texts)
    if len(lacking) == len(plan.questions):
        return _all_verdicts(whole_text(example.output), plan, lacking, {})
    facts: dict[TextField, Facts] = {}
    if plan.units.kind == "fact" and plan.settings.decompose and plan.settings.facts == "one call":
        facts = await extract_all_facts(example.output, texts, words, judge)
        decomposition = fact_units(example.output, facts["output"], plan.settings)
    else:
        decomposition = await decompose(example.output, plan.units.kind, words, judge, plan.settings)
    askable = tuple(unit for unit in decomposition.units if unit.lost is None)
    if not askable:
        return _all_verdicts(decomposition, plan, lacking, {})
    verification = TextVerification(plan, example.output, decomposition.kind, askable, texts, {}, frozenset(), lacking)
    if decomposition.kind == "fact":
        verification = await with_facts(verification, facts, judge)
    return await _judged(verification, decomposition, judge)


async def _judged(verification: TextVerification, decomposition: Decomposition, judge: Judge) -> TextVerdicts:
    prompts = verdict_prompts(verification)
    answers = await asyncio.gather(*(ask(judge, prompt) for prompt in prompts))
    verdicts: dict[Pair, PairVerdict] = {}
    for prompt, answer in zip(prompts, answers, strict=True):
        verdicts |= dict(_verdicts(prompt, answer, verification))
    judged = replace(
        _all_verdicts(decomposition, verification.plan, verification.lacking, verdicts), rated=verification.rated
    )
    return _weighed(judged, prompts[0], answers[0]) if prompts and prompts[0].fields["weigh"] else judged


def _verdicts(
    prompt: Prompt[KeyedReply], answer: JudgeAnswer[KeyedReply], verification: TextVerification
) -> Iterator[tuple[Pair, PairVerdict]]:
    units = {name: each for name, each in (answer.value.entries if answer.value else {}).items() if name != WEIGHTS}
    usable = {(unit, name): entry for unit, each in units.items() for name, entry in each.entries.items()}
    questions = {question.id: question for question in verification.plan.questions}
    pairs = list(itertools.product(asked_units(prompt.fields), asked_questions(prompt.fields)))
    missing = PairVerdict(None, why_missing(prompt, answer, "verdict") if len(usable) < len(pairs) else "")
    for pair in pairs:
        entry = usable.get(pair)
        yield pair, missing if entry is None else _verdict(entry, questions[pair[1]], prompt, verification)


def _verdict(
    entry: UnitVerdict | UnitSupport | ScoreEntry | str | list[str] | float,
    question: Criterion,
    prompt: Prompt[KeyedReply],
    verification: TextVerification,
) -> PairVerdict:
    reason = "" if isinstance(entry, str | list | float) else entry.reason.strip()
    match entry:
        case UnitVerdict(answer=answer) | (str() as answer):
            return PairVerdict(_value(question, holds=answer == "yes"), reason)
        case ScoreEntry(score=score) | (float() as score):
            return PairVerdict(share_of_scale(score, verification.plan.assignment.scale), reason)
        case UnitSupport(facts=facts) | (list() as facts):
            support, reason = supporting_facts(facts, reason, shown_facts(prompt.fields))
            return PairVerdict(_value(question, holds=bool(support)), reason, support)


def share_of_scale(score: float, scale: Scale) -> float:
    """Return a score on `scale` as a share in [0, 1]."""
    return round((score - scale.low) / scale.width, DIGITS)


def _value(question: Criterion, *, holds: bool) -> float:
    return float(holds == (question_of(question).better == "yes"))


def _all_verdicts(
    decomposition: Decomposition,
    plan: VerificationPlan,
    lacking: Mapping[str, str],
    requested: Mapping[Pair, PairVerdict],
) -> TextVerdicts:
    """Return a verdict on every unit by every question, also where none was requested."""
    verdicts = {}
    for unit in decomposition.units:
        for question in plan.questions:
            why = lacking.get(question.id) or unit.lost
            verdicts[unit.id, question.id] = PairVerdict(None, why) if why else requested[unit.id, question.id]
    return TextVerdicts(decomposition.units, verdicts)


def _weighed(judged: TextVerdicts, prompt: Prompt[KeyedReply], answer: JudgeAnswer[KeyedReply]) -> TextVerdicts:
    """Return the verdicts with the judge's weights, which may be usable even if the verdicts of the reply are not."""
    weights = answer.value.entries.get(WEIGHTS) if answer.value else None
    if weights is None:
        why = why_missing(prompt, answer, "weights")
        return replace(judged, fault=f"there are no weights by the judge: {why}")
    return replace(judged, weights=weights.entries)


async def with_facts(
    verification: TextVerification, known: Mapping[TextField, Facts], judge: Judge
) -> TextVerification:
    """Return the verification with facts in place of whole texts; those that are not known are extracted."""
    plan, texts = verification.plan, verification.texts
    words = plan.assignment.words
    requests = (extract_facts(text, name, words, judge) for name, text in texts.items() if name not in known)
    extracted = iter(await asyncio.gather(*requests))
    facts: dict[Material, Facts] = {name: known[name] if name in known else next(extracted) for name in texts}
    # With only some of the facts, units that a lost fact supports would count as wrong.
    incomplete = {name: _why_incomplete(name, each, verification) for name, each in facts.items() if each.lost}
    needed = ((question.id, question_of(question).support) for question in plan.questions)
    return replace(
        verification,
        texts={name: text for name, text in texts.items() if name in incomplete},
        facts={name: facts_by_id(name, [fact.text for fact in each.found]) for name, each in facts.items()},
        incomplete=frozenset(incomplete),
        lacking={**verification.lacking, **{name: incomplete[of] for name, of in needed if of in incomplete}},
    )


def supporting_facts(facts: Sequence[str], reason: str, shown: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """Return the texts of the named facts that exist, and the reason; it says so if none of those named exists.

    Args:
        shown: the facts in the prompt, by id.
    """
    named = list(dict.fromkeys(facts))
    support = tuple(shown[name] for name in named if name in shown)
    unknown = f"the fact named does not exist: {', '.join(named)}" if named and not support else ""
    return support, "; ".join(filter(None, (unknown, reason)))


def _why_incomplete(material: Material, facts: Facts, verification: TextVerification) -> str:
    why = next(iter(facts.lost.values()))
    return f"the facts of the {verification.plan.assignment.words.called(material)} could not all be had: {why}"

"""SEAL (section 3): a judge answers questions about each unit of a text, and the answers give the score.

1. A text is decomposed into units: its sentences, pairs of successive sentences, or facts, which are short statements
   extracted by the judge. If there would be too few, the whole text is the only unit.
2. The judge gives a verdict on every unit by every question. It compares the unit with materials: the source, the
   context or a reference text. If units are facts, it is shown the facts of the materials instead. It answers yes or
   no, names the facts of a material that support the unit, or, for a whole text, gives a score.
3. The score is the mean over units of the weighted share of good verdicts (equations 4 to 7).
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationInfo, model_validator

from rubriclab.judges.judge import Judge, JudgeAnswer, ask
from rubriclab.judges.providers import BYTES_PER_TOKEN
from rubriclab.methods import prompting
from rubriclab.methods.method import TOO_LARGE_MISSING_SHARE, CriterionRating, Presets, Scored, UnitVerdict
from rubriclab.methods.questions import YesOrNo, question_of
from rubriclab.models import text as text_model
from rubriclab.models.base import MethodSettings
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.sentences import Sentence, locate_sentences, split_sentences
from rubriclab.prompts.prompt import ExpectedEntry, KeyedReply, Prompt, keyed_reply, tolerates_faults
from rubriclab.stats.correlation import FloatArray, float_table, floats
from rubriclab.stats.intervals import DIGITS

# Sections 3.3 to 3.5 and 4, table 19 and appendix D; no labels are used, and no prompt asks for reasons.
PRESETS: Presets = {
    "paper": {
        "sentences": "judge",
        "facts": "one call",
        "answers": "bare",
        "proposed": 0,
        "filter": "off",
        "most_per_call": 200,
    }
}

# What is judged if the checklist names no units: the whole text, whose kind is "response".
DEFAULT_UNITS = text_model.Units(kind="response", beside=("source", "context"))


class SealSettings(MethodSettings):
    """Hyperparameters of SEAL; part of the digest of a version."""

    most_per_call: prompting.WholeNumber = Field(default=40, ge=1, le=200)
    """At most this many verdicts are in one call; more need further calls. The paper has all in one."""

    whole_below_sentences: prompting.WholeNumber = Field(default=3, ge=2, le=100)
    """Number of sentences below which a text is rated whole on the scale, if units are sentences or pairs of them. The
    paper tries 2 to 5 and finds 3 best (table 19). A single sentence is always rated whole."""

    whole_below_facts: prompting.WholeNumber = Field(default=6, ge=1, le=100)
    """Number of facts below which a text is rated whole on the scale, if units are facts. The paper tries 5 to 8 and
    finds 6 best (table 19); with 1, texts are never rated whole."""

    sentences: Literal["rules", "judge"] = "rules"
    """What splits a text into sentences, if units are sentences or pairs of them: rules, at no cost, or the judge in a
    separate call (paper). Facts are always extracted by the judge."""

    facts: Literal["by text", "one call"] = "by text"
    """How facts are extracted, if units are facts: in a call for each text, so that a source's facts are extracted
    once for all its outputs; or in one call for the output and all that it is compared with (paper)."""

    answers: Literal["with reasons", "bare"] = "with reasons"
    """Whether a verdict begins with a reason, before its answer, facts or score; or has no reason (paper)."""

    decompose: bool = True
    """Whether texts are decomposed into units; if not, each is verified whole (the paper's ablation w/o SD)."""

    verify: bool = True
    """Whether units are judged by yes and no; if not, they are rated on the scale (the paper's ablation w/o SV)."""

    weights: Literal["as packed", "judge", "equal"] = "as packed"
    """Who weighs the questions. `as packed`: whoever the checklist says. `judge`: the judge, for each text (paper, for
    dialogue and QAGS). `equal`: all weights are equal (its ablation w/o weights)."""

    proposed: prompting.WholeNumber = Field(default=4, ge=0, le=20)
    """New sub-dimensions requested, each with its question; 0 requests none (paper)."""

    filter: Literal["labels", "off"] = "labels"
    """What drops questions: the training labels, or nothing (paper). Without labelled texts all are kept."""


_FACT_ID = re.compile(r"\W*([a-z]\d+)\b", re.IGNORECASE)
# The id of a reply's entry with the weights of the questions, which stands beside the entries for the units.
WEIGHTS = "weights"


def _shown_ids(fields: Mapping[str, Any], name: Literal["units", "questions", "facts"]) -> list[str]:
    return [entry["id"] for entry in fields[name]]


def _read_fact_id(value: Any) -> Any:
    match = _FACT_ID.match(value) if isinstance(value, str) else None
    return match[1].lower() if match else value


class UnitAnswer(BaseModel):
    """A question's answer for a unit."""

    reason: str
    answer: YesOrNo


def _check_facts_shown(fact_ids: list[str], info: ValidationInfo) -> list[str]:
    shown_ids = _shown_ids(info.context or {"facts": ()}, "facts")
    unknown_ids = [id_ for id_ in fact_ids if id_ not in shown_ids]
    if unknown_ids and not tolerates_faults(info):
        raise ValueError(f"there is no fact {unknown_ids[0]!r:.60}; there are {shown_ids[0]} to {shown_ids[-1]}")
    return fact_ids


# The ids of facts that the prompt shows.
ShownFacts = Annotated[list[Annotated[str, BeforeValidator(_read_fact_id)]], AfterValidator(_check_facts_shown)]


class UnitSupport(BaseModel):
    """The facts that bear a unit out."""

    reason: str
    facts: ShownFacts


class Weights(KeyedReply):
    """The weight of each question for one text; any sum is allowed."""

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if len(self.entries) < len(self.expected):
            raise ValueError("every question needs a weight")
        if not any(self.entries.values()):
            raise ValueError("at least one weight must be above 0")
        return self


Weight = Annotated[prompting.Number, Field(ge=0, allow_inf_nan=False)]


def verdicts_reply(template: str, fields: Mapping[str, Any]) -> type[KeyedReply]:
    """Return the reply model of a template: an entry for each question about each unit, and weights if requested."""
    # The types of a verdict, with a reason and without one.
    verdict_types: Mapping[str, tuple[Any, Any]] = {
        "seal/verify": (UnitAnswer, YesOrNo),
        "seal/support": (UnitSupport, ShownFacts),
        "seal/rate": (prompting.score_entry(fields), prompting.bare_score(fields)),
    }
    verdict_type = verdict_types[template][1 if fields["bare"] else 0]
    questions = fields["questions"]
    verdicts = tuple(ExpectedEntry(each["id"], verdict_type, names=(each["text"],)) for each in questions)
    unit_reply = keyed_reply(verdicts)
    entries = [ExpectedEntry(unit_id, unit_reply) for unit_id in _shown_ids(fields, "units")]
    if fields["weigh"]:
        weights = tuple(ExpectedEntry(each["id"], Weight, names=(each["text"],)) for each in questions)
        entries.append(ExpectedEntry(WEIGHTS, keyed_reply(weights, base=Weights), WEIGHTS))
    return keyed_reply(tuple(entries), form_after_text=True)


MATERIALS: tuple[text_model.Material, ...] = ("source", "context", "reference")
# The first letters of the ids of facts.
FACT_LETTERS: Mapping[text_model.Material, str] = {"source": "c", "context": "x", "reference": "r"}


@dataclass(frozen=True, slots=True)
class VerificationPlan:
    """What the verification of all texts has in common; `dimensions` has the definitions of sub-dimensions by name."""

    questions: tuple[Criterion, ...]
    dimensions: Mapping[str, str]
    units: text_model.Units
    assignment: text_model.Assignment
    settings: SealSettings

    @property
    def judge_weighs(self) -> bool:
        weights = self.units.weights if self.settings.weights == "as packed" else self.settings.weights
        return len(self.questions) > 1 and weights == "judge"


# The kind of a text's units: the plan's kind, or "whole" if the text is not divided into such units.
Kind = text_model.UnitKind | Literal["whole"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of a text.

    Attributes:
        text: the words of the unit, or of the first sentence of a pair.
        sentences: the indices of the sentences that contain the unit, from 0; empty for the whole text.
        second: the second sentence of a pair; else `None`.
        why_unverifiable: why the unit cannot be verified; `None` if it can.
    """

    id: str
    text: str
    sentences: tuple[int, ...] = ()
    second: str | None = None
    why_unverifiable: str | None = None

    def fields(self) -> dict[str, str]:
        pieces = {"text": self.text} if self.second is None else {"first": self.text, "second": self.second}
        return {"id": self.id, **pieces}

    def verdict(self, value: float | None, reason: str, support: tuple[str, ...] = ()) -> UnitVerdict:
        words = self.text if self.second is None else f"{self.text} {self.second}"
        return UnitVerdict(words, self.sentences, value, reason, support)


# Maximum number of sentences whose facts are extracted in one call, unless the settings ask for all in one call.
SENTENCES_PER_CALL = 20
SENTENCES_BEFORE = 3  # shown before the sentences of a call, since pronouns may refer to them
MAX_FACTS_PER_SENTENCE = 6
TOKENS_PER_FACT = 32


def _check_number_of_facts(facts: list[str], info: ValidationInfo) -> list[str]:
    most = info.context["most"] if info.context else len(facts)
    if len(facts) > most and not tolerates_faults(info):
        raise ValueError(f"at most {most} facts are wanted of one sentence; got {len(facts)}")
    return facts[:most]


# The facts of one sentence; none if the sentence states nothing.
StatedFacts = Annotated[list[text_model.Words], AfterValidator(_check_number_of_facts)]
TextField = Literal["output"] | text_model.Material
# The facts of each sentence of a text, or why they could not be obtained.
FactsBySentence = Sequence[list[str] | str]


async def extract_facts(
    texts: Mapping[TextField, str], words: text_model.TaskWords, judge: Judge, *, in_one_call: bool = False
) -> dict[TextField, FactsBySentence]:
    """Return the facts that the sentences of each text state.

    If a text states nothing, its first sentence is its only fact. The paper asks for all facts `in_one_call`.
    """
    sentences_by_field = {name: split_sentences(text) for name, text in texts.items()}
    all_sentences = [(name, sentence) for name, sentences in sentences_by_field.items() for sentence in sentences]

    async def ask_about(indices: Sequence[int]) -> FactsBySentence:
        sentences = []
        for index in indices:
            name, sentence = all_sentences[index]
            sentences.append({"id": index + 1, "text": sentence, "what": name, "label": words.name_of(name)})
        before = " ".join(sentence for _, sentence in all_sentences[max(0, indices[0] - SENTENCES_BEFORE) : indices[0]])
        fields = {"words": words.model_dump(), "before": before, "sentences": sentences, "most": MAX_FACTS_PER_SENTENCE}
        reply_model = prompting.numbered_reply("sentence", [index + 1 for index in indices], StatedFacts)
        max_tokens = 256 + TOKENS_PER_FACT * MAX_FACTS_PER_SENTENCE * len(indices)
        prompt = Prompt("seal/facts", fields, reply_model, max_tokens=max_tokens)
        entries, missing_reason = await prompting.ask_entries(judge, prompt, "facts")
        distinct = {id_: list(dict.fromkeys(facts)) for id_, facts in entries.items()}
        return [distinct.get(each.id, missing_reason) for each in reply_model.expected]

    n_sentences = len(all_sentences)
    index_chunks = prompting.chunks(range(n_sentences), n_sentences if in_one_call else SENTENCES_PER_CALL)
    facts_in_order = itertools.chain.from_iterable(await asyncio.gather(*map(ask_about, index_chunks)))
    facts_by_field: dict[TextField, FactsBySentence] = {}
    for name, sentences in sentences_by_field.items():
        facts = list(itertools.islice(facts_in_order, len(sentences)))
        if facts and not any(facts):
            facts[0] = [sentences[0]]
        facts_by_field[name] = facts
    return facts_by_field


class SplitText(BaseModel):
    """A text's sentences, which together hold its words in their order."""

    sentences: list[text_model.Words] = Field(min_length=1)

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Self:
        if info.context:
            locate_sentences(info.context["text"], self.sentences)
        return self


async def decompose(
    text: str, plan: VerificationPlan, judge: Judge, facts: FactsBySentence | None = None
) -> tuple[Kind, tuple[Unit, ...]]:
    """Return the kind of the text's units, and the units in order; `facts` are the text's facts, if already extracted.

    A sentence whose facts the judge did not give is a unit that cannot be verified, and so is a text that the judge did
    not split.
    """
    kind, settings, words = plan.units.kind, plan.settings, plan.assignment.words
    whole = Unit("u1", text)
    if kind in ("response", "triple"):  # a triple is the whole text beside its source and its reference
        return kind, (whole,)
    if not settings.decompose:
        return "whole", (whole,)
    if kind == "fact":
        facts = facts or (await extract_facts({"output": text}, words, judge))["output"]
        pieces = []
        for index, (sentence, sentence_facts) in enumerate(zip(split_sentences(text), facts, strict=True)):
            if isinstance(sentence_facts, str):
                pieces.append(Unit("", sentence, (index,), why_unverifiable=sentence_facts))
            else:
                pieces += [Unit("", fact, (index,)) for fact in sentence_facts]
        too_few = len(pieces) < settings.whole_below_facts and not any(unit.why_unverifiable for unit in pieces)
    else:
        by_rules = split_sentences(text)
        sentences = tuple(Sentence(sentence, (index,)) for index, sentence in enumerate(by_rules))
        if judge_splits(kind, settings):
            # The reply repeats the text. The estimate is doubled, since the tokens of some scripts have fewer bytes.
            max_tokens = 256 + 2 * len(text.encode()) // BYTES_PER_TOKEN
            fields = {"words": words.model_dump(), "text": text}
            answer = await ask(judge, Prompt("seal/split", fields, SplitText, max_tokens=max_tokens))
            if answer.value is None:
                why = f"the judge did not split the text into sentences: {answer.missing}"
                return kind, (replace(whole, why_unverifiable=why),)
            sentences = locate_sentences(text, answer.value.sentences)
        too_few = len(sentences) < settings.whole_below_sentences
        pieces = [Unit("", each.text, each.indices) for each in sentences]
        if kind == "sentence pair":
            pieces = []
            for first, second in itertools.pairwise(sentences):
                indices = tuple(sorted({*first.indices, *second.indices}))
                pieces.append(Unit("", first.text, indices, second.text))
    if too_few:
        return "whole", (whole,)
    return kind, tuple(replace(unit, id=f"u{number}") for number, unit in enumerate(pieces, 1))


def judge_splits(kind: text_model.UnitKind, settings: SealSettings) -> bool:
    return kind in ("sentence", "sentence pair") and settings.decompose and settings.sentences == "judge"


@dataclass(frozen=True, slots=True)
class TextVerification:
    """The units of one text, which are all of one kind, and what the judge compares them with.

    Attributes:
        texts: the materials shown as texts; if units are facts, only those whose facts could not all be extracted.
        facts: the facts of each material, by id; empty unless units are facts.
        why_not_asked: why a question cannot be asked about this text, by the id of the question.
    """

    plan: VerificationPlan
    output: str
    kind: Kind
    units: tuple[Unit, ...]
    texts: Mapping[text_model.Material, str]
    facts: Mapping[text_model.Material, Mapping[str, str]]
    why_not_asked: Mapping[str, str]

    @property
    def is_rated(self) -> bool:
        """Whether the judge rates units on the scale, instead of answering yes or no or naming facts."""
        settings = self.plan.settings
        return not settings.verify or (self.kind == "whole" and settings.decompose)


TOKENS_PER_VERDICT = 90
TOKENS_PER_WEIGHT = 24


def verdict_prompts(verification: TextVerification) -> list[Prompt[KeyedReply]]:
    """Return the prompts that together ask all questions that can be asked, each about every unit.

    If the judge weighs the questions, the first prompt also requests the weights. If the first prompt has only some
    of the questions, an additional prompt requests the weights instead.
    """
    plan, max_verdicts = verification.plan, verification.plan.settings.most_per_call
    # The questions that can be asked, by template and by the material whose facts are to be named.
    groups: dict[tuple[str, text_model.Material | None], list[Criterion]] = {}
    for question in plan.questions:
        if question.id in verification.why_not_asked:
            continue
        template, fact_material = "seal/rate", None
        if not verification.is_rated:
            fact_material = question_of(question).support if verification.kind == "fact" else None
            template = "seal/support" if fact_material else "seal/verify"
        groups.setdefault((template, fact_material), []).append(question)
    verifiable_units = [unit for unit in verification.units if unit.why_unverifiable is None]
    prompts: list[Prompt[KeyedReply]] = []
    for (template, fact_material), questions in groups.items():
        for chunk in prompting.chunks(questions, max_verdicts):
            for units in prompting.chunks(verifiable_units, max(1, max_verdicts // len(chunk))):
                weigh = plan.judge_weighs and not prompts and len(chunk) == len(plan.questions)
                prompts.append(_verdict_prompt(verification, template, chunk, units, fact_material, weigh=weigh))
    if prompts and plan.judge_weighs and not prompts[0].fields["weigh"]:
        return [_verdict_prompt(verification, "seal/verify", plan.questions, (), weigh=True), *prompts]
    return prompts


def _verdict_prompt(
    verification: TextVerification,
    template: str,
    questions: Sequence[Criterion],
    units: Sequence[Unit],
    fact_material: text_model.Material | None = None,
    *,
    weigh: bool = False,
) -> Prompt[KeyedReply]:
    """Return a prompt for verdicts. It shows only the facts of `fact_material`, or by default all materials."""
    plan = verification.plan
    texts = {} if fact_material else verification.texts
    fact_materials = [fact_material] if fact_material else [name for name in verification.facts if name not in texts]
    max_tokens = 256 + TOKENS_PER_VERDICT * len(units) * len(questions)
    if weigh:
        max_tokens += TOKENS_PER_WEIGHT * len(questions)
    fields: dict[str, Any] = {
        **plan.assignment.fields(),
        "kind": verification.kind,
        "units": [unit.fields() for unit in units],
        "questions": [
            {
                "id": question.id,
                "name": question.trait,
                "definition": plan.dimensions.get(question.trait, ""),
                "text": question.statement,
            }
            for question in questions
        ],
        **{material: texts.get(material) for material in MATERIALS},
        "facts": [
            {"id": id_, "of": material, "text": fact}
            for material in fact_materials
            for id_, fact in verification.facts[material].items()
        ],
        "output": verification.output,
        "weigh": weigh,
        "bare": plan.settings.answers == "bare",
    }
    return Prompt(template, fields, verdicts_reply(template, fields), max_tokens=max_tokens)


@dataclass(frozen=True, slots=True)
class TextVerdicts:
    """The verdicts on one text, v in equation 4, by the ids of the unit and the question.

    Attributes:
        is_rated: as in `TextVerification`.
        weights: the judge's weights of the questions for this text, by id; `None` if not requested.
        why_unscored: why the text cannot have a score; `None` if it can.
    """

    units: tuple[Unit, ...] = ()
    verdicts: Mapping[tuple[str, str], UnitVerdict] = field(default_factory=dict)
    is_rated: bool = False
    weights: Mapping[str, float] | None = None
    why_unscored: str | None = None


async def judge_text(example: text_model.Example, plan: VerificationPlan, judge: Judge) -> TextVerdicts:
    """Return the verdicts on a text, and the judge's weights if requested. An empty text is not judged."""
    if not any(map(str.isalnum, example.output)):
        return TextVerdicts(why_unscored=f"there is no sentence in the {plan.assignment.words.output}")
    verification = await _prepare_verification(example, plan, judge)
    prompts = verdict_prompts(verification)
    answers = await asyncio.gather(*(ask(judge, prompt) for prompt in prompts))
    # Each pair of unit and question first gets a verdict without a value; a verdict in a reply replaces it.
    verdicts: dict[tuple[str, str], UnitVerdict] = {}
    for unit, question in itertools.product(verification.units, plan.questions):
        why_missing = verification.why_not_asked.get(question.id) or unit.why_unverifiable or ""
        verdicts[unit.id, question.id] = unit.verdict(None, why_missing)
    for prompt, answer in zip(prompts, answers, strict=True):
        verdicts |= _read_verdicts(prompt, answer, verification)
    text_verdicts = TextVerdicts(verification.units, verdicts, verification.is_rated)
    if not (prompts and prompts[0].fields["weigh"]):
        return text_verdicts
    # The judge's weights may be usable even if the verdicts of the reply are not.
    weights = answers[0].value.entries.get(WEIGHTS) if answers[0].value else None
    if weights is None:
        why = prompting.why_missing(prompts[0], answers[0], "weights")
        return replace(text_verdicts, why_unscored=f"there are no weights by the judge: {why}")
    return replace(text_verdicts, weights=weights.entries)


async def _prepare_verification(example: text_model.Example, plan: VerificationPlan, judge: Judge) -> TextVerification:
    """Return the units of a text, the materials to compare them with, and why some questions cannot be asked.

    If no question can be asked, the text is not decomposed.
    """
    words, settings, output = plan.assignment.words, plan.settings, example.output
    # Some questions ask which facts of a material support a unit.
    support_materials: dict[str, text_model.Material] = {}
    for question in plan.questions:
        if material := question_of(question).support:
            support_materials[question.id] = material
    # A material without letters and digits does not count.
    texts: dict[text_model.Material, str] = {}
    for material in MATERIALS:
        text = getattr(example, material) or ""
        if material in {*plan.units.beside, *support_materials.values()} and any(map(str.isalnum, text)):
            texts[material] = text
    # A question about supporting facts cannot be asked if the text comes without their material.
    why_not_asked = {
        question_id: f"no fact can be named: the {words.output} comes without a {words.name_of(material)}"
        for question_id, material in support_materials.items()
        if material not in texts
    }
    if len(why_not_asked) == len(plan.questions):
        return TextVerification(plan, output, "whole", (Unit("u1", output),), texts, {}, why_not_asked)
    extracted: dict[TextField, FactsBySentence] = {}
    if plan.units.kind == "fact" and settings.decompose and settings.facts == "one call":
        all_texts = dict[TextField, str]([("output", output), *texts.items()])
        extracted = await extract_facts(all_texts, words, judge, in_one_call=True)
    kind, units = await decompose(output, plan, judge, extracted.get("output"))
    if kind != "fact" or all(unit.why_unverifiable is not None for unit in units):
        return TextVerification(plan, output, kind, units, texts, {}, why_not_asked)
    # The text's facts are compared with the facts of the materials.
    not_extracted = {material: text for material, text in texts.items() if material not in extracted}
    requests = (extract_facts({material: text}, words, judge) for material, text in not_extracted.items())
    for facts_of_text in await asyncio.gather(*requests):
        extracted |= facts_of_text
    facts: dict[text_model.Material, dict[str, str]] = {}
    incomplete: dict[text_model.Material, str] = {}
    for material in texts:
        stated = itertools.chain(*(each for each in extracted[material] if not isinstance(each, str)))
        facts[material] = {f"{FACT_LETTERS[material]}{number}": fact for number, fact in enumerate(stated, 1)}
        if missing := [each for each in extracted[material] if isinstance(each, str)]:
            incomplete[material] = f"the facts of the {words.name_of(material)} could not all be obtained: {missing[0]}"
    # If facts of a material are missing, the judge is shown the whole material. The judge is not asked which facts
    # support a unit, since a unit that only a missing fact supports would count as wrong.
    texts = {material: text for material, text in texts.items() if material in incomplete}
    why_not_asked |= {id_: incomplete[name] for id_, name in support_materials.items() if name in incomplete}
    return TextVerification(plan, output, kind, units, texts, facts, why_not_asked)


def _read_verdicts(
    prompt: Prompt[KeyedReply], answer: JudgeAnswer[KeyedReply], verification: TextVerification
) -> dict[tuple[str, str], UnitVerdict]:
    """Return the verdict on each unit in `prompt` by each question, or a missing one with the reason."""
    entries: dict[tuple[str, str], Any] = {}
    if answer.value:
        for unit_id, unit_reply in answer.value.entries.items():
            entries |= {(unit_id, question_id): entry for question_id, entry in unit_reply.entries.items()}
    pairs = list(itertools.product(_shown_ids(prompt.fields, "units"), _shown_ids(prompt.fields, "questions")))
    missing_reason = "" if entries.keys() >= {*pairs} else prompting.why_missing(prompt, answer, "verdict")
    facts = {fact["id"]: fact["text"] for fact in prompt.fields["facts"]}
    units = {unit.id: unit for unit in verification.units}
    better_answers = {question.id: question_of(question).better for question in verification.plan.questions}
    scale = verification.plan.assignment.scale
    verdicts: dict[tuple[str, str], UnitVerdict] = {}
    for unit_id, question_id in pairs:
        entry = entries.get((unit_id, question_id))
        reason = entry.reason.strip() if isinstance(entry, UnitAnswer | UnitSupport | prompting.ScoreEntry) else ""
        value: float | None = None
        support: tuple[str, ...] = ()
        # An entry without a reason is the answer, the list of facts or the score alone.
        match entry:
            case None:
                reason = missing_reason
            case prompting.ScoreEntry(score=score) | (float() as score):
                value = round((score - scale.low) / scale.width, DIGITS)
            case UnitAnswer(answer=answer_word) | (str() as answer_word):
                value = float(answer_word == better_answers[question_id])
            case UnitSupport(facts=fact_ids) | (list() as fact_ids):
                support = tuple(facts[id_] for id_ in dict.fromkeys(fact_ids) if id_ in facts)
                if fact_ids and not support:
                    fault = f"the fact named does not exist: {', '.join(dict.fromkeys(fact_ids))}"
                    reason = f"{fault}; {reason}" if reason else fault
                value = float(bool(support) == (better_answers[question_id] == "yes"))
        verdicts[unit_id, question_id] = units[unit_id].verdict(value, reason, support)
    return verdicts


def weight_shares(weights: Sequence[float]) -> FloatArray:
    """Return the weights as shares of their sum, shape (questions,). Some may be 0, as in the paper's appendix D."""
    # Divided by the largest first, since the sum of large numbers may overflow.
    relative = np.asarray(weights, dtype=float) / max(weights)
    return np.asarray(relative / relative.sum())


def unit_scores(verdicts: FloatArray, weights: Sequence[float]) -> FloatArray:
    """Return each unit's weighted share of good verdicts (equation 6), shape (units,). `verdicts` has a row per unit.

    The share is NaN if the unit's missing verdicts have half of the weight or more.
    """
    shares, has_verdict = weight_shares(weights), ~np.isnan(verdicts)
    share_with_verdict = has_verdict @ shares
    good_share = np.where(has_verdict, verdicts, 0.0) @ shares
    # Rounded, so that exactly half is recognized whatever the order of the sum.
    is_enough = share_with_verdict.round(9) > 1 - TOO_LARGE_MISSING_SHARE
    no_score = np.full(len(verdicts), np.nan)
    return np.asarray(np.divide(good_share, share_with_verdict, out=no_score, where=is_enough))


def mean_of_units(values: FloatArray) -> float | None:
    """Return the mean value of a text's units (equation 7), or `None` if half of the values or more are missing."""
    present = values[~np.isnan(values)]
    if not len(values) or len(values) - len(present) >= TOO_LARGE_MISSING_SHARE * len(values):
        return None
    return float(np.clip(present.mean(), 0.0, 1.0))


# Maximum number of units that the reason of a question's rating quotes, with the reasons of their verdicts.
MAX_QUOTED_UNITS = 3
MAX_QUOTED_CHARACTERS = 80


async def score(example: text_model.Example, part: Part, assignment: text_model.Assignment, judge: Judge) -> Scored:
    """Return the text's score on the assignment's scale, and each question's rating with its verdicts and reason.

    The score is `None` if the text is empty, if half of its units or more have no usable verdicts, or if the
    judge's weights are requested and unusable.
    """
    settings = SealSettings.model_validate(part.settings)
    plan = VerificationPlan(part.criteria, part.dimensions or {}, part.units or DEFAULT_UNITS, assignment, settings)
    return score_verdicts(await judge_text(example, plan, judge), part.criteria, assignment.scale)


def score_verdicts(verdicts: TextVerdicts, questions: Sequence[Criterion], scale: text_model.Scale) -> Scored:
    judge_weights = verdicts.weights or {}
    weights = [judge_weights.get(question.id, question.weight) for question in questions]
    why_unscored = verdicts.why_unscored
    if why_unscored is None and not any(weights):
        why_unscored = "the judge gives none of these questions any weight"
    ratings = tuple(rate_question(verdicts, question) for question in questions)
    if why_unscored is None and (judge_weights or len(set(weights)) > 1):
        shares = [round(share, DIGITS) for share in weight_shares(weights).tolist()]
        ratings = tuple(replace(rating, weight=share) for rating, share in zip(ratings, shares, strict=True))
    if verdicts.units and why_unscored is None:
        rows = [[verdicts.verdicts[unit.id, question.id].value for question in questions] for unit in verdicts.units]
        share = mean_of_units(unit_scores(float_table(rows, len(questions)), weights))
        if share is not None:
            return round(scale.low + share * scale.width, DIGITS), ratings
    # There is no score. Either a missing rating gives the reason, or all ratings become missing, with the reason.
    if why_unscored is None and any(rating.score is None for rating in ratings):
        return None, ratings
    why = why_unscored or "half or more of its units have no score: too many of their verdicts are missing"
    return None, tuple(replace(rating, score=None, reason=why) for rating in ratings)


def rate_question(text_verdicts: TextVerdicts, question: Criterion) -> CriterionRating:
    """Return a question's rating: the mean value of the verdicts on the units. Its reason quotes the worst units."""
    if not text_verdicts.units:
        return CriterionRating(question.id, None, text_verdicts.why_unscored or "")
    verdicts = tuple(text_verdicts.verdicts[unit.id, question.id] for unit in text_verdicts.units)
    share = mean_of_units(floats(verdict.value for verdict in verdicts))
    score = None if share is None else round(share, DIGITS)
    if len(verdicts) < 2:
        return CriterionRating(question.id, score, verdicts[0].reason, units=verdicts)
    present = [verdict.value for verdict in verdicts if verdict.value is not None]
    if text_verdicts.is_rated and present:
        reason = f"{np.mean(present):.0%} of the scale on average over {len(present)} of {len(verdicts)} units"
    else:
        reason = f"{present.count(1.0)} of {len(verdicts)} units pass"
    if n_missing := len(verdicts) - len(present):
        reason += f", {n_missing} without a verdict"
    not_passed = [verdict for verdict in verdicts if verdict.value != 1.0]
    worst_first = sorted(not_passed, key=lambda verdict: 1.0 if verdict.value is None else verdict.value)
    quotations = []
    for verdict in worst_first[:MAX_QUOTED_UNITS]:
        words = " ".join(verdict.unit.split())
        excerpt = words if len(words) <= MAX_QUOTED_CHARACTERS else f"{words[:MAX_QUOTED_CHARACTERS]}…"
        quotations.append(f"“{excerpt}”: {verdict.reason.rstrip('.')}")
    if quotations:
        reason += f": {'; '.join(quotations)}"
    return CriterionRating(question.id, score, f"{reason}.", units=verdicts)

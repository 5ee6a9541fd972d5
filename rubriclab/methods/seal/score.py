"""SEAL: a text's units, the verdict on each of them by each question, and the score from the verdicts (section 3).

text -> units (sentences, pairs, facts; or the whole text if it has too few) -> prompts with every question about every
unit, beside the texts or facts to compare with -> verdicts -> weighted shares of good verdicts (equations 4 to 7)

A judge that is shown whole texts answers yes or no; one that is shown their facts names those that support a unit.
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
from rubriclab.methods.method import MISSING_SHARE, CriterionRating, Presets, Scored, UnitVerdict
from rubriclab.methods.questions import YesOrNo, question_of
from rubriclab.models import text as text_model
from rubriclab.models.base import MethodSettings
from rubriclab.models.rubric import Criterion, Part
from rubriclab.prompts.prompt import ExpectedEntry, KeyedReply, Prompt, is_salvage, keyed_reply
from rubriclab.stats.correlation import FloatArray, float_table
from rubriclab.stats.intervals import DIGITS

# Sections 3.3 to 3.5 and 4, table 19 and appendix D: sub-dimensions written by hand, no labels, the model splits texts
# into sentences, one call for all verdicts, and one for the facts of all texts. No prompt asks for reasons.
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

# Without a checklist that names units, a text is judged whole, like a response.
DEFAULT_UNITS = text_model.Units(kind="response", beside=("source", "context"))


class SealSettings(MethodSettings):
    """Hyperparameters of SEAL; part of the digest of a version."""

    most_per_call: prompting.Whole = Field(default=40, ge=1, le=200)
    """Most verdicts in one call; more need further calls. The paper has all in one."""

    whole_below_sentences: prompting.Whole = Field(default=3, ge=2, le=100)
    """Number of sentences below which a text is rated whole on the scale, if units are sentences or pairs of them. The
    paper tries 2 to 5 and finds 3 best (table 19). A single sentence is always rated whole."""

    whole_below_facts: prompting.Whole = Field(default=6, ge=1, le=100)
    """Number of facts below which a text is rated whole on the scale, if units are facts. The paper tries 5 to 8 and
    finds 6 best (table 19); with 1, texts are never rated whole."""

    sentences: Literal["rules", "judge"] = "rules"
    """What splits a text into sentences, if units are sentences or pairs of them: rules, at no cost, or the judge in a
    separate call (paper). Facts are always extracted by the judge."""

    facts: Literal["by text", "one call"] = "by text"
    """How facts are extracted, if units are facts: text by text, in portions, so that those of a source are extracted
    once for all its outputs; or those of the output and of all that it is compared with in one call (paper)."""

    answers: Literal["with reasons", "bare"] = "with reasons"
    """What a verdict contains: a reason and then the answer, the supporting facts or the score; or these alone
    (paper)."""

    decompose: bool = True
    """Whether texts are decomposed into units; if not, each is verified whole (the paper's ablation w/o SD)."""

    verify: bool = True
    """Whether units are judged by yes and no; if not, they are rated on the scale (the paper's ablation w/o SV)."""

    weights: Literal["as packed", "judge", "equal"] = "as packed"
    """The weights of questions: those of the pack; those that the judge gives for each text (paper, for dialogue and
    QAGS); or equal weights (its ablation w/o weights)."""

    proposed: prompting.Whole = Field(default=4, ge=0, le=20)
    """New sub-dimensions requested, each with its question; 0 requests none (paper)."""

    filter: Literal["labels", "off"] = "labels"
    """What drops questions: the training labels, or nothing (paper). Without labelled texts all are kept."""


_FACT_ID = re.compile(r"\W*([a-z]\d+)\b", re.IGNORECASE)
# The key of the questions' weights beside the units.
WEIGHTS = "weights"


def _shown_ids(fields: Mapping[str, Any], name: Literal["units", "questions", "facts"]) -> list[str]:
    return [entry["id"] for entry in fields[name]]


def _as_fact(value: Any) -> Any:
    match = _FACT_ID.match(value) if isinstance(value, str) else None
    return match[1].lower() if match else value


class UnitAnswer(BaseModel):
    """A question's answer for a unit."""

    reason: str
    answer: YesOrNo


def _known_facts(facts: list[str], info: ValidationInfo) -> list[str]:
    known_ids = _shown_ids(info.context or {"facts": ()}, "facts")
    if not is_salvage(info) and (unknown := [name for name in facts if name not in known_ids]):
        raise ValueError(f"there is no fact {unknown[0]!r:.60}; there are {known_ids[0]} to {known_ids[-1]}")
    return facts


# The ids of facts, all of them among those shown.
ShownFacts = Annotated[list[Annotated[str, BeforeValidator(_as_fact)]], AfterValidator(_known_facts)]


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


def unit_form(template: str, fields: Mapping[str, Any]) -> type[KeyedReply]:
    """Return the reply model of a template: an entry for each question about each unit, and weights if requested."""
    forms: Mapping[str, tuple[Any, Any]] = {
        "seal/verify": (UnitAnswer, YesOrNo),
        "seal/support": (UnitSupport, ShownFacts),
        "seal/rate": (prompting.score_entry(fields), prompting.bare_score(fields)),
    }
    entry = forms[template][fields["bare"]]
    questions = [(question["id"], (question["text"],)) for question in fields["questions"]]
    of_unit = keyed_reply(tuple(ExpectedEntry(name, entry, names=wording) for name, wording in questions))
    entries = [ExpectedEntry(unit, of_unit) for unit in _shown_ids(fields, "units")]
    if fields["weigh"]:
        weights = tuple(ExpectedEntry(name, Weight, names=wording) for name, wording in questions)
        entries.append(ExpectedEntry(WEIGHTS, keyed_reply(weights, base=Weights), WEIGHTS))
    return keyed_reply(tuple(entries), after_text=True)


MATERIALS: tuple[text_model.Material, ...] = ("source", "context", "reference")
# The first letters of the ids of facts.
LETTERS: Mapping[text_model.Material, str] = {"source": "c", "context": "x", "reference": "r"}
TOKENS_PER_VERDICT = 90
TOKENS_PER_WEIGHT = 24


@dataclass(frozen=True, slots=True)
class VerificationPlan:
    """The questions, units and settings of the verification of all texts."""

    questions: tuple[Criterion, ...]
    dimensions: Mapping[str, str]
    units: text_model.Units
    assignment: text_model.Assignment
    settings: SealSettings

    @property
    def judge_weighs(self) -> bool:
        packed = self.settings.weights == "as packed" and self.units.weights == "judge"
        return len(self.questions) > 1 and (self.settings.weights == "judge" or packed)

    @property
    def support_by_question(self) -> dict[str, text_model.Material]:
        supports = ((question.id, question_of(question).support) for question in self.questions)
        return {name: material for name, material in supports if material}

    def materials(self, example: text_model.Example) -> dict[text_model.Material, str]:
        """Return the texts to compare with: those that the units name or a question needs, if the example has them."""
        needed_names = {*self.units.beside, *self.support_by_question.values()}
        texts: dict[text_model.Material, str] = {
            name: getattr(example, name) or "" for name in MATERIALS if name in needed_names
        }
        # A text without letters and digits has no sentence.
        return {name: text for name, text in texts.items() if any(map(str.isalnum, text))}


@dataclass(frozen=True, slots=True)
class TextVerification:
    """The verification of one text: units, all of one kind, and what they are compared with.

    Attributes:
        texts: the texts to compare with; where units are facts, only those of which some facts are missing.
        facts: by id.
        lacking: by a question's id, why it cannot be asked of this text.
    """

    plan: VerificationPlan
    output: str
    kind: Kind
    units: tuple[Unit, ...]
    texts: Mapping[text_model.Material, str]
    facts: Mapping[text_model.Material, Mapping[str, str]]
    lacking: Mapping[str, str]

    @property
    def rated(self) -> bool:
        settings = self.plan.settings
        return not settings.verify or (self.kind == "whole" and settings.decompose)


def verdict_prompts(verification: TextVerification) -> list[Prompt[KeyedReply]]:
    """Return the prompts with every question about every unit.

    If the judge weighs the questions, the first prompt with all of them requests the weights too. If no prompt has
    all questions, a separate prompt requests the weights.
    """
    plan, most = verification.plan, verification.plan.settings.most_per_call
    # The questions that can be asked, by template and by the material whose facts must support a unit.
    groups: dict[tuple[str, text_model.Material | None], list[Criterion]] = {}
    for question in plan.questions:
        if question.id in verification.lacking:
            continue
        support = question_of(question).support if verification.kind == "fact" and not verification.rated else None
        template = "seal/support" if support else "seal/verify"
        if verification.rated:
            template = "seal/rate"
        groups.setdefault((template, support), []).append(question)
    arguments = [
        (template, chunk, units, material)
        for (template, material), questions in groups.items()
        for chunk in prompting.chunks(questions, most)
        for units in prompting.chunks(verification.units, max(1, most // len(chunk)))
    ]
    prompts = [_verdict_prompt(verification, *each) for each in arguments]
    if not prompts or not plan.judge_weighs:
        return prompts
    if _shown_ids(prompts[0].fields, "questions") == [question.id for question in plan.questions]:
        return [_verdict_prompt(verification, *arguments[0], weigh=True), *prompts[1:]]
    return [_verdict_prompt(verification, "seal/verify", plan.questions, (), weigh=True), *prompts]


def _verdict_prompt(
    verification: TextVerification,
    template: str,
    questions: Sequence[Criterion],
    units: Sequence[Unit],
    material: text_model.Material | None = None,
    *,
    weigh: bool = False,
) -> Prompt[KeyedReply]:
    """Return the prompt for verdicts, beside only the facts of `material` if it is given, else all texts and facts."""
    plan = verification.plan
    texts = {} if material else verification.texts
    names = [material] if material else [name for name in verification.facts if name not in texts]
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
        **{name: texts.get(name) for name in MATERIALS},
        "facts": [
            {"id": key, "of": name, "text": fact} for name in names for key, fact in verification.facts[name].items()
        ],
        "output": verification.output,
        "weigh": weigh,
        "bare": plan.settings.answers == "bare",
    }
    max_tokens = 256 + TOKENS_PER_VERDICT * len(units) * len(questions) + TOKENS_PER_WEIGHT * len(questions) * weigh
    return Prompt(template, fields, unit_form(template, fields), max_tokens=max_tokens)


# Sentences in one call, and preceding sentences shown as context for pronouns.
SENTENCES_PER_CALL = 20
SENTENCES_BEFORE = 3
# Most facts extracted from one sentence.
MAX_FACTS = 6
TOKENS_PER_FACT = 32


def _check_number_of_facts(facts: list[str], info: ValidationInfo) -> list[str]:
    most = info.context["most"] if info.context else len(facts)
    if len(facts) > most and not is_salvage(info):
        raise ValueError(f"at most {most} facts are wanted of one sentence; got {len(facts)}")
    return facts[:most]


# The facts of one sentence; none if the sentence states nothing.
StatedFacts = Annotated[list[text_model.Words], AfterValidator(_check_number_of_facts)]
# The example's field that a text is from.
TextField = Literal["output"] | text_model.Material
# The facts of each sentence of a text, or why they could not be obtained.
SentenceFacts = Sequence[list[str] | str]


async def extract_facts(
    texts: Mapping[TextField, str], words: text_model.TaskWords, judge: Judge, *, in_one_call: bool = False
) -> dict[TextField, SentenceFacts]:
    """Return the facts that the sentences of texts state, at most `MAX_FACTS` of each.

    A text that states nothing has its first sentence as its only fact. The paper asks for all facts `in_one_call`.
    """
    sentences = {what: text_model.split_sentences(text) for what, text in texts.items()}
    all_sentences = [(what, sentence) for what, some in sentences.items() for sentence in some]

    async def ask_about(indices: Sequence[int]) -> SentenceFacts:
        shown = [(index + 1, *all_sentences[index]) for index in indices]
        before = all_sentences[max(0, indices[0] - SENTENCES_BEFORE) : indices[0]]
        fields = {
            "words": words.model_dump(),
            "before": " ".join(text for _, text in before),
            "sentences": [
                {"id": n, "text": text, "what": what, "label": words.name_of(what)} for n, what, text in shown
            ],
            "most": MAX_FACTS,
        }
        expected = tuple(ExpectedEntry(f"sentence {n}", StatedFacts, names=(str(n),)) for n, *_ in shown)
        max_tokens = 256 + TOKENS_PER_FACT * MAX_FACTS * len(indices)
        prompt = Prompt("seal/facts", fields, keyed_reply(expected, after_text=True), max_tokens=max_tokens)
        entries, missing = await prompting.ask_entries(judge, prompt, "facts")
        distinct = {id_: list(dict.fromkeys(facts)) for id_, facts in entries.items()}
        return [distinct.get(each.id, missing) for each in expected]

    count = len(all_sentences)
    runs = prompting.chunks(range(count), count if in_one_call else SENTENCES_PER_CALL)
    stated = itertools.chain.from_iterable(await asyncio.gather(*map(ask_about, runs)))
    facts_by_field: dict[TextField, SentenceFacts] = {}
    for what, own_sentences in sentences.items():
        facts = list(itertools.islice(stated, len(own_sentences)))
        if facts and not any(facts):
            facts[0] = [own_sentences[0]]
        facts_by_field[what] = facts
    return facts_by_field


class SplitText(BaseModel):
    """A text's sentences, which together hold its words in their order."""

    sentences: list[text_model.Words] = Field(min_length=1)

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Self:
        if info.context:
            text_model.locate_sentences(info.context["text"], self.sentences)
        return self


# The kind of the units of a text: that of the plan, or the whole text if it is too short.
Kind = text_model.UnitKind | Literal["whole"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a text; of a pair, `text` is the first sentence.

    Attributes:
        sentences: indices of the sentences that contain it, from 0; empty for the whole text.
        fault: why the unit cannot be verified; `None` if it can.
    """

    id: str
    text: str
    sentences: tuple[int, ...] = ()
    second: str | None = None
    fault: str | None = None

    @property
    def words(self) -> str:
        return self.text if self.second is None else f"{self.text} {self.second}"

    def fields(self) -> dict[str, str]:
        pieces = {"text": self.text} if self.second is None else {"first": self.text, "second": self.second}
        return {"id": self.id, **pieces}

    def verdict(self, value: float | None, reason: str, support: tuple[str, ...] = ()) -> UnitVerdict:
        return UnitVerdict(self.words, self.sentences, value, reason, support)


async def decompose(
    text: str, plan: VerificationPlan, judge: Judge, facts: SentenceFacts | None = None
) -> tuple[Kind, tuple[Unit, ...]]:
    """Return the kind of the text's units, and the units in order: the whole text alone if there would be too few.

    A sentence without obtained facts, or a text that could not be split, is a unit with a fault.
    """
    whole, kind, settings, words = Unit("u1", text), plan.units.kind, plan.settings, plan.assignment.words
    if kind in ("response", "triple"):
        return kind, (whole,)
    if not settings.decompose:
        return "whole", (whole,)
    if kind == "fact":
        facts = facts or (await extract_facts({"output": text}, words, judge))["output"]
        pieces = []
        for index, (sentence, sentence_facts) in enumerate(zip(text_model.split_sentences(text), facts, strict=True)):
            if isinstance(sentence_facts, str):
                pieces.append(Unit("", sentence, (index,), fault=sentence_facts))
            else:
                pieces += [Unit("", fact, (index,)) for fact in sentence_facts]
        too_few = len(pieces) < settings.whole_below_facts and not any(unit.fault for unit in pieces)
    else:
        by_rules = enumerate(text_model.split_sentences(text))
        sentences = tuple(text_model.Sentence(sentence, (index,)) for index, sentence in by_rules)
        if split_by_judge(kind, settings):
            # The reply repeats the text; twice the estimate, since the tokens of some scripts have fewer bytes.
            max_tokens = 256 + 2 * len(text.encode()) // BYTES_PER_TOKEN
            fields = {"words": words.model_dump(), "text": text}
            answer = await ask(judge, Prompt("seal/split", fields, SplitText, max_tokens=max_tokens))
            if answer.value is None:
                fault = f"the judge did not split the text into sentences: {answer.missing}"
                return kind, (replace(whole, fault=fault),)
            sentences = text_model.locate_sentences(text, answer.value.sentences)
        too_few = len(sentences) < settings.whole_below_sentences
        pieces = [Unit("", each.text, each.indices) for each in sentences]
        if kind == "sentence pair":
            pairs = itertools.pairwise(sentences)
            pieces = [Unit("", a.text, tuple(sorted({*a.indices, *b.indices})), b.text) for a, b in pairs]
    if too_few:
        return "whole", (whole,)
    return kind, tuple(replace(unit, id=f"u{number}") for number, unit in enumerate(pieces, 1))


def split_by_judge(kind: text_model.UnitKind, settings: SealSettings) -> bool:
    return kind in ("sentence", "sentence pair") and settings.decompose and settings.sentences == "judge"


@dataclass(frozen=True, slots=True)
class TextVerdicts:
    """The verdicts on one text, v in equation 4: one for each pair of unit and question, by their ids.

    Attributes:
        rated: whether units were rated on the scale instead of verified.
        weights: the judge's weights of the questions for this text, by id; `None` if not requested.
        fault: why the text cannot have a score.
    """

    units: tuple[Unit, ...] = ()
    verdicts: Mapping[tuple[str, str], UnitVerdict] = field(default_factory=dict)
    rated: bool = False
    weights: Mapping[str, float] | None = None
    fault: str | None = None


async def judge_text(example: text_model.Example, plan: VerificationPlan, judge: Judge) -> TextVerdicts:
    """Return the verdicts on a text, and the judge's weights if requested.

    No calls are made for an empty text, nor if every question needs facts of a missing text.
    """
    words, settings, output = plan.assignment.words, plan.settings, example.output
    if not any(map(str.isalnum, output)):
        return TextVerdicts(fault=f"there is no sentence in the {words.output}")
    texts = plan.materials(example)
    lacking = {
        name: f"no fact can be named: the {words.output} comes without a {words.name_of(material)}"
        for name, material in plan.support_by_question.items()
        if material not in texts
    }
    kind: Kind = "whole"
    units: tuple[Unit, ...] = (Unit("u1", output),)
    extracted: dict[TextField, SentenceFacts] = {}
    if len(lacking) < len(plan.questions):
        if plan.units.kind == "fact" and settings.decompose and settings.facts == "one call":
            all_texts = dict[TextField, str]([("output", output), *texts.items()])
            extracted = await extract_facts(all_texts, words, judge, in_one_call=True)
        kind, units = await decompose(output, plan, judge, extracted.get("output"))
    askable = tuple(unit for unit in units if unit.fault is None)
    facts: dict[text_model.Material, dict[str, str]] = {}
    if kind == "fact" and askable:
        requests = (extract_facts({name: text}, words, judge) for name, text in texts.items() if name not in extracted)
        for facts_of_text in await asyncio.gather(*requests):
            extracted |= facts_of_text
        # If some facts are missing, the units that they support would count as wrong.
        incomplete: dict[text_model.Material, str] = {}
        for name in texts:
            if failures := [each for each in extracted[name] if isinstance(each, str)]:
                incomplete[name] = f"the facts of the {words.name_of(name)} could not all be obtained: {failures[0]}"
            stated = itertools.chain(*(each for each in extracted[name] if not isinstance(each, str)))
            facts[name] = {f"{LETTERS[name]}{number}": fact for number, fact in enumerate(stated, 1)}
        texts = {name: text for name, text in texts.items() if name in incomplete}
        lacking |= {name: incomplete[of] for name, of in plan.support_by_question.items() if of in incomplete}

    verification = TextVerification(plan, output, kind, askable, texts, facts, lacking)
    prompts = verdict_prompts(verification)
    answers = await asyncio.gather(*(ask(judge, prompt) for prompt in prompts))
    verdicts = {
        (unit.id, question.id): unit.verdict(None, lacking.get(question.id) or unit.fault or "")
        for unit, question in itertools.product(units, plan.questions)
    }
    for prompt, answer in zip(prompts, answers, strict=True):
        verdicts |= _verdicts(prompt, answer, verification)
    text_verdicts = TextVerdicts(units, verdicts, verification.rated)
    if not (prompts and prompts[0].fields["weigh"]):
        return text_verdicts
    # The judge's weights may be usable even if the verdicts of the reply are not.
    weights = answers[0].value.entries.get(WEIGHTS) if answers[0].value else None
    if weights is None:
        why = prompting.why_missing(prompts[0], answers[0], "weights")
        return replace(text_verdicts, fault=f"there are no weights by the judge: {why}")
    return replace(text_verdicts, weights=weights.entries)


def _verdicts(
    prompt: Prompt[KeyedReply], answer: JudgeAnswer[KeyedReply], verification: TextVerification
) -> dict[tuple[str, str], UnitVerdict]:
    usable: dict[tuple[str, str], Any] = {}
    if answer.value:
        for unit, of_unit in answer.value.entries.items():
            usable |= {(unit, name): entry for name, entry in of_unit.entries.items()}
    pairs = list(itertools.product(_shown_ids(prompt.fields, "units"), _shown_ids(prompt.fields, "questions")))
    missing = "" if usable.keys() >= {*pairs} else prompting.why_missing(prompt, answer, "verdict")
    facts = {fact["id"]: fact["text"] for fact in prompt.fields["facts"]}
    units = {unit.id: unit for unit in verification.units}
    questions = {question.id: question for question in verification.plan.questions}
    scale = verification.plan.assignment.scale
    verdicts = {(unit, name): units[unit].verdict(None, missing) for unit, name in pairs}
    for unit, name in verdicts.keys() & usable.keys():
        verdicts[unit, name] = units[unit].verdict(*_verdict(usable[unit, name], questions[name], facts, scale))
    return verdicts


def _verdict(
    entry: UnitAnswer | UnitSupport | prompting.ScoreEntry | str | list[str] | float,
    question: Criterion,
    facts: Mapping[str, str],
    scale: text_model.Scale,
) -> tuple[float, str, tuple[str, ...]]:
    reason = "" if isinstance(entry, str | list | float) else entry.reason.strip()
    support: tuple[str, ...] = ()
    match entry:
        case prompting.ScoreEntry(score=score) | (float() as score):
            return round((score - scale.low) / scale.width, DIGITS), reason, ()
        case UnitAnswer(answer=answer) | (str() as answer):
            holds = answer == "yes"
        case UnitSupport(facts=names) | (list() as names):
            support = tuple(facts[name] for name in dict.fromkeys(names) if name in facts)
            if names and not support:
                unknown = f"the fact named does not exist: {', '.join(dict.fromkeys(names))}"
                reason = "; ".join(filter(None, (unknown, reason)))
            holds = bool(support)
    return float(holds == (question_of(question).better == "yes")), reason, support


def normalise(weights: Sequence[float]) -> FloatArray:
    """Return weights, at least one of them above zero, in shares that sum to 1, shape (questions,).

    Equation 5 requires every weight to be above zero. The prompts of the paper's appendix D allow zero, as we do.
    """
    # Divided by the largest first, since the sum of large numbers may overflow.
    relative = np.asarray(weights, dtype=float) / max(weights)
    return np.asarray(relative / relative.sum())


def unit_scores(verdicts: FloatArray, weights: Sequence[float]) -> FloatArray:
    """Return each unit's weighted share of good verdicts (equation 6) in [0, 1], shape (units,).

    NaN for a unit whose missing verdicts have half of the weight or more.
    """
    shares, has_verdict = normalise(weights), ~np.isnan(verdicts)
    # Rounded, so that half is half whatever the order of the sum.
    weight = np.round(has_verdict @ shares, 9)
    good = np.where(has_verdict, verdicts, 0.0) @ shares
    enough = weight > 1 - MISSING_SHARE
    return np.asarray(np.divide(good, has_verdict @ shares, out=np.full(len(verdicts), np.nan), where=enough))


def mean_of_units(values: FloatArray) -> float | None:
    """Return the mean over a text's units (equation 7) in [0, 1]; `None` if half of them or more are missing."""
    present = values[~np.isnan(values)]
    if not len(values) or len(values) - len(present) >= MISSING_SHARE * len(values):
        return None
    return float(np.clip(present.mean(), 0.0, 1.0))


# The most units whose reasons are repeated in the reason of a question, and characters of a unit that are quoted.
REASONS_REPEATED = 3
EXCERPT = 80


async def score(example: text_model.Example, part: Part, assignment: text_model.Assignment, judge: Judge) -> Scored:
    """Return the text's score on the assignment's scale, and each question's rating with its verdicts and reason.

    The score is `None` if the text is empty, if half of its units or more have no usable verdicts, or if the
    judge's weights are requested and unusable.
    """
    settings = SealSettings.model_validate(part.settings)
    plan = VerificationPlan(part.criteria, part.dimensions or {}, part.units or DEFAULT_UNITS, assignment, settings)
    return score_verdicts(await judge_text(example, plan, judge), part.criteria, assignment.scale)


def score_verdicts(verdicts: TextVerdicts, questions: Sequence[Criterion], scale: text_model.Scale) -> Scored:
    weights = [(verdicts.weights or {}).get(question.id, question.weight) for question in questions]
    fault = verdicts.fault
    if fault is None and not any(weights):
        fault = "the judge gives none of these questions any weight"
    ratings = tuple(rate_question(verdicts, question) for question in questions)
    if not fault and (verdicts.weights or len(set(weights)) > 1):
        shares = normalise(weights).tolist()
        ratings = tuple(replace(each, weight=round(w, DIGITS)) for each, w in zip(ratings, shares, strict=True))
    if verdicts.units and not fault:
        share = mean_of_units(unit_scores(verdict_matrix(verdicts, questions), weights))
        if share is not None:
            return round(scale.low + share * scale.width, DIGITS), ratings
    if fault is None and any(rating.score is None for rating in ratings):
        return None, ratings
    why = fault or "half or more of its units lack verdicts with half of the weight or more"
    return None, tuple(replace(rating, score=None, reason=why) for rating in ratings)


def verdict_matrix(verdicts: TextVerdicts, questions: Sequence[Criterion]) -> FloatArray:
    """Return the verdicts as numbers, NaN if missing; shape (units, questions)."""
    rows = [[verdicts.verdicts[unit.id, question.id].value for question in questions] for unit in verdicts.units]
    return float_table(rows, len(questions))


def rate_question(text_verdicts: TextVerdicts, question: Criterion) -> CriterionRating:
    """Return a question's rating, also if the text has no score: the share of units that pass, or their mean rating."""
    if not text_verdicts.units:
        return CriterionRating(question.id, None, text_verdicts.fault or "")
    units = tuple(text_verdicts.verdicts[unit.id, question.id] for unit in text_verdicts.units)
    share = mean_of_units(verdict_matrix(text_verdicts, [question])[:, 0])
    score = None if share is None else round(share, DIGITS)
    if len(units) < 2:
        return CriterionRating(question.id, score, units[0].reason, units=units)
    present = [unit.value for unit in units if unit.value is not None]
    if text_verdicts.rated and present:
        reason = f"{np.mean(present):.0%} of the scale on average over {len(present)} of {len(units)} units"
    else:
        reason = f"{present.count(1.0)} of {len(units)} units pass"
    if missing := len(units) - len(present):
        reason += f", {missing} without a verdict"
    worst_first = sorted(units, key=lambda unit: 1.0 if unit.value is None else unit.value)
    reasons = [f"{_excerpt(unit.unit)}: {unit.reason.rstrip('.')}" for unit in worst_first if unit.value != 1.0]
    if reasons:
        reason += f": {'; '.join(reasons[:REASONS_REPEATED])}"
    return CriterionRating(question.id, score, f"{reason}.", units=units)


def _excerpt(words: str) -> str:
    plain = " ".join(words.split())
    return f"“{plain}”" if len(plain) <= EXCERPT else f"“{plain[:EXCERPT]}…”"

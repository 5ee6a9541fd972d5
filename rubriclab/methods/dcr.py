"""DCR: each sentence of a text is compared with a reference by the checks of a checklist, and marked 1 or -1.

The reference is the text's source, its context, or a reference text. In the paper's first call (DCE, equation 1), the
judge gives a reason why each sentence is consistent with the reference or not. Its second call (AMC, equation 2)
converts these reasons to marks. The score is the share of marks of 1 (equation 3). Nothing is learned from labels.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, Literal, Self

import pydantic

from rubriclab.errors import ChecklistError, DataError
from rubriclab.judges.judge import Judge, ask
from rubriclab.judges.providers import BYTES_PER_TOKEN
from rubriclab.methods import method as interface
from rubriclab.methods.holistic import single_criterion_learning, whole_aspect_criterion
from rubriclab.methods.prompting import WholeNumber, ask_entries, chunks, numbered_reply
from rubriclab.methods.questions import YesOrNo
from rubriclab.methods.sources import Checklist
from rubriclab.models.base import MethodSettings
from rubriclab.models.rubric import Criterion, Evidence, Part
from rubriclab.models.sentences import Sentence, locate_sentences, split_sentences
from rubriclab.models.text import Assignment, Example, Material, Units, Words
from rubriclab.prompts.prompt import KeyedReply, Prompt
from rubriclab.stats.intervals import DIGITS

# Section 3, appendices C.1 and E.2.
PRESETS: interface.Presets = {"paper": {"sentences": "judge", "verdict": "converted", "most_per_call": 200}}


class DCRSettings(MethodSettings):
    """Hyperparameters of DCR; part of the digest of a version."""

    level: Literal["sentence", "paragraph"] = "sentence"
    """What is compared with the reference: each sentence (paper), or the whole text at once (an alternative that the
    paper tries in appendix C.3; it misses more inconsistent texts)."""

    sentences: Literal["rules", "judge"] = "rules"
    """What splits the text into sentences: rules, or the judge (paper) in one call that also compares them all. A
    reply whose sentences are not the text, word for word, is not usable."""

    verdict: Literal["converted", "with the reason"] = "with the reason"
    """The source of a mark: a second call that reads only the reasons (the paper's AMC), or a verdict in the same reply
    as the reason, which halves the calls. Of 90 sentences of 30 QAGS texts that a language model judged both ways, one
    got a different mark, and agreement with people was about the same (Spearman 0.81 with two calls, 0.84 with one)."""

    most_per_call: WholeNumber = pydantic.Field(default=40, ge=1, le=200)
    """At most this many sentences, or reasons, are in one call; more need further calls. The paper has all in one."""


MarkValue = Literal[1, -1]
_MARK_SCHEMA = pydantic.WithJsonSchema({"type": "integer", "minimum": -1, "maximum": 1})

# Typographic minus signs count too; otherwise, marks of -1 would be missing more often than marks of 1.
_MARKS: Mapping[str, MarkValue] = {"1": 1, "+1": 1, **dict.fromkeys(("-1", "\u22121", "\u20131"), -1)}


def _require_words(reason: str) -> str:
    if not any(character.isalnum() for character in reason):
        raise ValueError(f"a reason in words was expected; got {reason!r:.60}")
    return reason


def _read_mark(value: Any) -> MarkValue:
    if type(value) is float and value in (1, -1):
        value = int(value)
    # Not `isinstance`, since True is an int too.
    mark = _MARKS.get(str(value).strip()) if type(value) in (int, str) else None
    if mark is None:
        raise ValueError(f"1 or -1 was expected; got {value!r:.60}")
    return mark


class Reason(pydantic.BaseModel):
    """Why a sentence is or is not consistent."""

    reason: Annotated[Words, pydantic.AfterValidator(_require_words)]


class SentenceVerdict(Reason):
    """Whether a sentence is consistent, after the reason."""

    consistent: YesOrNo


class _SplitSentence(pydantic.BaseModel):
    sentence: Words


# In the schema, the fields of the last base come first: the sentence before the reason.
class SplitReason(Reason, _SplitSentence):
    """A sentence of the text, and why it is or is not consistent."""


class SplitVerdict(SentenceVerdict, SplitReason):
    """A sentence of the text, and whether it is consistent, after the reason."""


class SplitReasons(pydantic.BaseModel):
    """The text's sentences with reasons; together they hold its words in their order."""

    sentences: Sequence[SplitReason] = pydantic.Field(min_length=1)

    @pydantic.model_validator(mode="after")
    def _complete(self, info: pydantic.ValidationInfo) -> Self:
        if info.context:
            locate_sentences(info.context["output"], [each.sentence for each in self.sentences])
        return self


class SplitVerdicts(SplitReasons):
    """The text's sentences with reasons and verdicts; together they hold its words in their order."""

    sentences: Sequence[SplitVerdict] = pydantic.Field(min_length=1)


class Mark(pydantic.BaseModel):
    """The mark that a reason is converted to."""

    thought: str
    mark: Annotated[MarkValue, pydantic.BeforeValidator(_read_mark), _MARK_SCHEMA]


async def ask_by_number(judge: Judge, prompt: Prompt[KeyedReply]) -> dict[int, Any]:
    """Return the entry of the reply for each number in the prompt, or why there is no usable one."""
    entries, missing_reason = await ask_entries(judge, prompt, "entry")
    return {int(each.id.split()[1]): entries.get(each.id, missing_reason) for each in prompt.reply.expected}


_BULLET = "- "  # begins each check in the statement of the criterion
_UNIT_HINT = (
    'DCR judges each sentence beside exactly one text: "units": {"kind": "sentence", "beside": ["source"]}, or '
    '["context"] or ["reference"].'
)


def make_criterion(checklist: Checklist, material: Material, assignment: Assignment) -> Criterion:
    """Return the criterion whose statement lists the questions of the checklist as checks."""
    output, material_name = assignment.words.output, assignment.words.name_of(material)
    lines = [f"Each sentence of the {output} is held against the {material_name} by these checks:"]
    for question in checklist.questions:
        good_answer = "" if question.better == "yes" else " (No is the good answer.)"
        on_one_line = " ".join(question.text.split())
        lines.append(f"{_BULLET}{on_one_line}{good_answer}")
    return whole_aspect_criterion(assignment, "\n".join(lines), Evidence(origin="written by hand"))


def reference_field(units: Units | None) -> Material:
    """Return the field that the sentences are compared with; raises ChecklistError if the `units` are not for DCR."""
    if units is None:
        raise ChecklistError("The checklist has no `units`: nothing says what sentences are compared with.", _UNIT_HINT)
    if units.kind != "sentence" or len(units.beside) != 1 or units.weights != "equal":
        weights = ", with weights from the judge" if units.weights != "equal" else ""
        received = f"{units.kind} beside {' and '.join(units.beside) or 'nothing'}{weights}"
        raise ChecklistError(f"The checks are for a {received}, which DCR cannot judge.", _UNIT_HINT)
    return units.beside[0]


# A reply has at most this many tokens: TOKENS_BESIDE_… once, plus TOKENS_PER_… for each of its reasons or marks.
TOKENS_BESIDE_REASONS = 512  # large, since a single reason about a whole text may exceed `TOKENS_PER_REASON`
TOKENS_PER_REASON = 128
TOKENS_BESIDE_MARKS = 256
TOKENS_PER_MARK = 64


def why_incomparable(example: Example, material: Material, assignment: Assignment) -> str | None:
    words = assignment.words
    if not any(map(str.isalnum, getattr(example, material) or "")):
        return f"there is no {words.name_of(material)} to compare it with (field {material!r})"
    if not any(map(str.isalnum, example.output)):
        return f"there is no sentence in the {words.output}"
    return None


def evaluate_prompts(
    example: Example, pieces: Sequence[Sentence], part: Part, assignment: Assignment
) -> list[Prompt[Any]]:
    """Return the prompts about the numbered pieces of a text, or one prompt about the text if the judge splits it."""
    settings = DCRSettings.model_validate(part.settings)
    (criterion,), material = part.criteria, reference_field(part.units)
    with_verdict, is_paragraph = settings.verdict == "with the reason", settings.level == "paragraph"
    checks = [line.removeprefix(_BULLET) for line in criterion.statement.splitlines() if line.startswith(_BULLET)]
    fields = {
        **assignment.fields(),
        "reference": getattr(example, material),
        "label": assignment.words.name_of(material),
        # A statement without a list is the only check.
        "checks": checks or [criterion.statement],
        "paragraph": is_paragraph,
        "output": example.output,
        "verdict": with_verdict,
        "sentences": [],
    }
    if settings.sentences == "judge" and not is_paragraph:
        # The reply repeats the text. The estimate is doubled, since the tokens of some scripts have fewer bytes.
        copy_tokens = 2 * len(example.output.encode()) // BYTES_PER_TOKEN
        max_tokens = TOKENS_BESIDE_REASONS + copy_tokens + TOKENS_PER_REASON * len(pieces)
        return [Prompt("dcr/evaluate", fields, SplitVerdicts if with_verdict else SplitReasons, max_tokens=max_tokens)]
    sentences: list[dict[str, Any]] = [{"id": n, "text": piece.text} for n, piece in enumerate(pieces, 1)]
    prompts = []
    entry_type = SentenceVerdict if with_verdict else Reason
    for portion in chunks(sentences, settings.most_per_call):
        reply_model = numbered_reply("sentence", [each["id"] for each in portion], entry_type)
        max_tokens = TOKENS_BESIDE_REASONS + TOKENS_PER_REASON * len(portion)
        portion_fields = {**fields, "sentences": list(portion)}
        prompts.append(Prompt("dcr/evaluate", portion_fields, reply_model, max_tokens=max_tokens))
    return prompts


# The reason of the score repeats the reasons for at most this many inconsistent sentences.
REASONS_REPEATED = 3


async def score(example: Example, part: Part, assignment: Assignment, judge: Judge) -> interface.Scored:
    """Return the text's score on the assignment's scale, and its rating with a verdict on each sentence.

    The score is `None` if the text or its reference has no sentence, or if half of the marks or more are missing. Else
    it is the share of marks of 1, which is (Z + 1) / 2 for the mean mark Z of equation 3. The paper's alpha and beta,
    which discount reasons about the whole text (appendix E.4), are 0.
    """
    settings, material = DCRSettings.model_validate(part.settings), reference_field(part.units)
    criterion, words = part.criteria[0], assignment.words
    if why := why_incomparable(example, material, assignment):
        return None, (interface.CriterionRating(criterion.id, None, why),)
    is_paragraph = settings.level == "paragraph"
    pieces = [Sentence(text, (index,)) for index, text in enumerate(split_sentences(example.output))]
    if is_paragraph:
        pieces = [Sentence(example.output, ())]
    prompts = evaluate_prompts(example, pieces, part, assignment)
    verdicts = tuple(chain.from_iterable(await asyncio.gather(*(_mark_all(each, pieces, judge) for each in prompts))))
    values = [verdict.value for verdict in verdicts if verdict.value is not None]
    of_sentences, material_name = f"of {len(verdicts)} sentences of the {words.output}", words.name_of(material)
    if len(verdicts) - len(values) >= interface.TOO_LARGE_MISSING_SHARE * len(verdicts):
        first_reason = next(verdict.reason for verdict in verdicts if verdict.value is None)
        reason = f"{len(verdicts) - len(values)} {of_sentences} without a usable mark; the first: {first_reason}"
        return None, (interface.CriterionRating(criterion.id, None, reason, units=verdicts),)
    if is_paragraph:
        mark_words = "is consistent" if values == [1.0] else "is not consistent"
        summary = [f"The {words.output} {mark_words} with the {material_name}. {verdicts[0].reason}"]
    else:
        inconsistent = [f"Sentence {n}: {each.reason}" for n, each in enumerate(verdicts, 1) if each.value == 0]
        summary = [f"{values.count(1.0)} {of_sentences} are consistent with the {material_name}."]
        summary += inconsistent[:REASONS_REPEATED]
        if len(inconsistent) > REASONS_REPEATED:
            summary.append(f"{len(inconsistent) - REASONS_REPEATED} more are not.")
        if len(values) < len(verdicts):
            summary.append(f"{len(verdicts) - len(values)} without a usable mark.")
    score = round(assignment.scale.low + sum(values) / len(values) * assignment.scale.width, DIGITS)
    return score, (interface.CriterionRating(criterion.id, score, " ".join(summary), units=verdicts),)


async def _mark_all(prompt: Prompt[Any], pieces: Sequence[Sentence], judge: Judge) -> list[interface.UnitVerdict]:
    """Return a verdict on each sentence in a prompt: its value is 1 if consistent, 0 if not, and `None` if missing."""
    replies: Mapping[int, Reason | str]  # by number; a `str` says why there is no usable reply
    if prompt.fields["sentences"]:
        replies = await ask_by_number(judge, prompt)
    else:
        output = prompt.fields["output"]
        answer = await ask(judge, prompt)
        if answer.value is None:
            return [interface.UnitVerdict(output, (), None, answer.missing)]
        split: Sequence[SplitReason] = answer.value.sentences
        pieces = locate_sentences(output, [each.sentence for each in split])
        replies = dict(enumerate(split, 1))
    reasons = {number: reply.reason for number, reply in replies.items() if isinstance(reply, Reason)}
    marks: Mapping[int, Mark | str] = {}
    if reasons and not prompt.fields["verdict"]:  # the reply had no verdicts beside its reasons
        fields = {"reasons": [{"id": number, "text": text} for number, text in reasons.items()]}
        reply_model = numbered_reply("report", reasons, Mark)  # the prompt calls each reason a report
        max_tokens = TOKENS_BESIDE_MARKS + TOKENS_PER_MARK * len(reasons)
        marks = await ask_by_number(judge, Prompt("dcr/convert", fields, reply_model, max_tokens=max_tokens))
    verdicts = []
    for number, reply in replies.items():
        value = None
        mark = marks.get(number)
        reason = reply if isinstance(reply, str) else reply.reason
        if isinstance(reply, SentenceVerdict):
            value = float(reply.consistent == "yes")
        elif isinstance(mark, Mark):
            value = float(mark.mark == 1)
        elif mark is not None:
            reason += f" (This reason has no mark: {mark})"
        sentence = pieces[number - 1]
        verdicts.append(interface.UnitVerdict(sentence.text, sentence.indices, value, reason))
    return verdicts


async def _make_part(training_input: interface.TrainingInput, settings: DCRSettings, *_unused: Any) -> Part:
    checklist, assignment = training_input.checklist, training_input.assignment
    if checklist is None:
        raise ChecklistError("DCR needs the checks of a checklist, and there is none.", "Give one: `checklist=FILE`.")
    material = reference_field(checklist.units)
    reasons = [why_incomparable(text, material, assignment) for text in training_input.examples]
    if reasons and all(reasons):
        hint = f"Give the {material} (`mapping={material}=COLUMN`), or a checklist that compares with another field."
        if any(getattr(text, material) for text in training_input.examples):
            hint = f"Give texts with words in both the output and the {material}."
        raise DataError(
            f"None of the {len(reasons)} labelled texts can be compared with its {assignment.words.name_of(material)}; "
            f"for {training_input.examples[0].id}, {reasons[0]}.",
            hint,
        )
    criterion, units = make_criterion(checklist, material, assignment), Units(kind="sentence", beside=(material,))
    return Part(method="dcr", settings=settings.model_dump(mode="json"), criteria=(criterion,), units=units)


def learning_calls(training_input: interface.TrainingInput, settings: DCRSettings) -> interface.LearningCalls:
    n_portions = len(training_input.examples)
    if settings.sentences == "rules" and settings.level == "sentence":
        sentence_counts = (len(split_sentences(example.output)) for example in training_input.examples)
        n_portions = sum(math.ceil(count / settings.most_per_call) for count in sentence_counts)
    calls_per_portion = 2 if settings.verdict == "converted" else 1
    return interface.LearningCalls(n_portions * calls_per_portion)


def part_faults(part: Part) -> Iterator[str]:
    try:
        reference_field(part.units)
    except ChecklistError as error:
        yield f"units: {error.message}"


DCR = interface.Method(
    name="dcr",
    note="each sentence compared with a reference",
    settings=DCRSettings,
    presets=PRESETS,
    prompts=("dcr/evaluate", "dcr/convert"),
    learn=single_criterion_learning(score, _make_part),
    score=score,
    learning_calls=learning_calls,
    single_criterion=True,
    part_faults=part_faults,
    needs_labels=False,
    checklists="comparisons",  # the folder stores/comparisons
    needs_checklist=lambda _: True,
)

"""One rewriting of a text: what is asked, the form of the reply, and the text put together again.

The writer names each sentence that it changes by its number, and everything else is copied from the text as it stands:
what it was not asked to change it cannot change (the published prompts ask for all sentences and trust in the rest).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from pydantic import BaseModel, ValidationInfo, field_validator, model_validator

from rubriclab.data.example import Example
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.estimate import CallEstimate, estimate_prompt
from rubriclab.methods.holistic import STRIDE
from rubriclab.methods.replies import Whole, sound_entries
from rubriclab.prompts import Prompt
from rubriclab.revision.pairwise import Origins
from rubriclab.revision.weaknesses import TextFault
from rubriclab.revision.word_diff import word_diff
from rubriclab.rubric import Rubric
from rubriclab.scoring.score import assignment_of
from rubriclab.sentences import sentence_spans, split_sentences

# Where the same text is rewritten for the same faults once more, another wording is wanted.
TEMPERATURE = 0.7

TOKENS_PER_CHANGE = 128
# A reply may hold the whole text at twice its length: two bytes of it a token, where a token has four or so.
BYTES_PER_TOKEN = 2
WORDS_PER_REASON = 60

# Control characters but white space, what turns the direction of writing, and lone surrogates, which no file can hold.
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

Place = tuple[int, int]
"""Where words start and end, as in `text[start:end]`."""


@dataclass(frozen=True, slots=True)
class SentenceEdit:
    """A sentence that was rewritten.

    Attributes:
        sentence: its number in the text that was rewritten, from 1.
        before, after: its words; nothing after where it was removed.
        reasoning: the writer's.
    """

    sentence: int
    before: str
    after: str
    reasoning: str

    @property
    def diff(self) -> str:
        """The words taken out as `[-old-]`, those put in as `{+new+}`."""
        return word_diff(self.before, self.after)

    def to_row(self) -> dict[str, Any]:
        """Return the change as one JSON object."""
        return {**asdict(self), "diff": self.diff}


@dataclass(frozen=True, slots=True)
class RewriteDraft:
    """A rewriting, not judged yet: the changes and the text with them; or in `missing` why it cannot be used.

    `origins` tells for each sentence of the new text from which of the old ones it came.
    """

    output: str
    changes: tuple[SentenceEdit, ...] = ()
    missing: str | None = None
    origins: Origins = ()


class Replacement(BaseModel):
    """What takes the place of one sentence; an empty text removes it."""

    sentence: Whole
    reasoning: str
    text: str

    @field_validator("sentence")
    @classmethod
    def _may_change(cls, sentence: int, info: ValidationInfo) -> int:
        if info.context and sentence not in (allowed := allowed_ids(info.context)):
            raise ValueError(f"only {', '.join(map(str, allowed))} may be changed; got sentence {sentence}")
        return sentence

    @field_validator("text", "reasoning")
    @classmethod
    def _seen(cls, text: str) -> str:
        if found := _UNSEEN.search(text):
            raise ValueError(f"words were expected, without control characters; got {found[0]!a}")
        return text

    @field_validator("text", "reasoning")
    @classmethod
    def _on_one_line(cls, text: str) -> str:
        return " ".join(text.split())


class TextRewrite(BaseModel):
    """The sentences that change, each once; the others are kept."""

    sentences: list[Replacement]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        named = [each.sentence for each in self.sentences]
        if len(set(named)) < len(named):
            raise ValueError(f"each sentence can be changed once; got {', '.join(map(str, named))}")
        return self


class SoundRewriting(TextRewrite):
    """The replacements that can be used: of sentences that may be changed, without two texts for one of them."""

    @field_validator("sentences", mode="before")
    @classmethod
    def _sound_ones(cls, items: Any, info: ValidationInfo) -> list[Replacement]:
        def sentence(item: Mapping[str, Any]) -> int | None:
            named = str(item.get("sentence"))
            return int(named) if named.isdecimal() else None

        allowed = allowed_ids(info.context) if info.context else []
        return sound_entries(items, Replacement, allowed, sentence, words=("reasoning",), context=info.context)


def allowed_ids(fields: Mapping[str, Any]) -> list[int]:
    """Return the sentences that a prompt with these fields allows to change."""
    return [sentence["id"] for sentence in fields["sentences"]] if fields["free"] else list(fields["failing"])


async def rewrite(writer: Judge, prompt: Prompt[TextRewrite], output: str) -> RewriteDraft:
    """Return `output` as the writer rewrites it.

    A draft without changes, without any sentence left, or in which a sentence to be kept does not begin and end as one
    any more cannot be used and says so.

    Raises:
        JudgeRefused, ProviderDown, BudgetReached, ReplayMiss: as the writer does; they concern every text.
    """
    answer = await ask(writer, prompt, salvage=SoundRewriting)
    if answer.value is None:
        return RewriteDraft(output, missing=answer.missing)
    sentences = split_sentences(output)
    given = sorted(answer.value.sentences, key=lambda each: each.sentence)
    changes = tuple(
        SentenceEdit(each.sentence, before, each.text, each.reasoning)
        for each in given
        if " ".join((before := sentences[each.sentence - 1]).split()) != each.text
    )
    if not changes:
        return RewriteDraft(output, missing="the rewriting leaves every sentence as it was")
    rewritten, places = replaced(output, {change.sentence: change.after for change in changes})
    spans = sentence_spans(rewritten)
    if not spans:
        return RewriteDraft(output, changes, "the rewriting leaves nothing of the text")
    kept = places.keys() - {change.sentence for change in changes}
    # As where a new wording has no full stop: in a later round, both would count as one sentence.
    if not {places[number] for number in kept} <= set(spans):
        return RewriteDraft(output, changes, "the rewriting runs into a sentence that was to be kept")
    return RewriteDraft(rewritten, changes, origins=_origins(spans, places))


def _origins(spans: Sequence[Place], places: Mapping[int, Place]) -> Origins:
    """Return which of the old sentences, from 0, each sentence of a new text overlaps, given where those stand now."""
    return [
        [number - 1 for number, (start, end) in places.items() if start < last and end > first] for first, last in spans
    ]


def rewrite_prompt(
    rubric: Rubric, example: Example, faults: Sequence[TextFault], sample: int = 0, *, free: bool
) -> Prompt[TextRewrite]:
    """Return the prompt that asks to rewrite a text for its faults; the first of several tries is sample 0.

    The writer is shown what the judge was: the reference only where units are judged beside it. Only sentences that a
    fault names may change, or all of them where the text is `free`, as nobody judged its sentences.
    """
    assignment = assignment_of(rubric)
    texts = assignment.text_fields(example)
    beside = {material for part in rubric.parts if part.units for material in part.units.beside}
    sentences = split_sentences(example.output)
    failing = sorted({number for fault in faults for number in fault.sentences})
    fields = {
        **assignment.fields(),
        "source": texts["source"],
        "context": texts["context"],
        "reference": example.reference if "reference" in beside else None,
        "sentences": [{"id": number, "text": text} for number, text in enumerate(sentences, 1)],
        "faults": [{**asdict(fault), "sentences": list(fault.sentences)} for fault in faults],
        "failing": failing,
        "free": free,
    }
    size = len(example.output.encode("utf-8", "replace"))
    longest = 256 + TOKENS_PER_CHANGE * (len(sentences) if free else len(failing)) + size // BYTES_PER_TOKEN
    return Prompt(
        "improve/rewrite",
        fields,
        TextRewrite,
        temperature=TEMPERATURE if sample else 0.0,
        max_tokens=longest,
        sample=STRIDE * sample,
    )


def rewriting_at_most(rubric: Rubric, example: Example) -> CallEstimate:
    """Return the most that one rewriting asks of the writer: every sentence or the whole fails every criterion."""
    everywhere = range(1, len(split_sentences(example.output)) + 1)
    reason = "because " * WORDS_PER_REASON
    faults = [
        TextFault(criterion.trait, criterion.statement, rubric.aspect.definition, place, reason)
        for part in rubric.parts
        for criterion in part.criteria
        for place in ([(number,) for number in everywhere] if part.units else [()])
    ]
    free = not any(part.units for part in rubric.parts)
    return estimate_prompt(rewrite_prompt(rubric, example, faults, free=free))


def replaced(text: str, sentences: Mapping[int, str]) -> tuple[str, Mapping[int, Place]]:
    """Return `text` with some of its sentences replaced, by their numbers from 1, and where each of them stands now.

    All else is kept as it stands. An empty replacement removes a sentence, with the white space on one side of it: the
    break between paragraphs, and what opens and ends the text, stays.
    """
    spans = sentence_spans(text)
    if not spans:
        return text, {}
    starts = [start for start, _ in spans[1:]] + [len(text)]
    kept: list[str] = []
    places: dict[int, Place] = {}
    at = 0
    gap = text[: spans[0][0]]
    for number, ((start, end), following) in enumerate(zip(spans, starts, strict=True), 1):
        new, after = sentences.get(number, text[start:end]), text[end:following]
        if new:
            kept += [gap, new]
            places[number] = (at + len(gap), at := at + len(gap) + len(new))
            gap = after
        else:
            gap = _closed(gap, after, first=not kept, last=number == len(spans))
    return "".join(kept) + gap, places


def _closed(before: str, after: str, *, first: bool, last: bool) -> str:
    """Return what stands in place of a sentence that is removed: one of the gaps around it.

    Gaps with more than white space (a stray quotation mark, a line of stars) are both kept.
    """
    if before.strip() or after.strip():
        return before + after
    if first or last:
        return before if first else after
    return max(before, after, key=lambda gap: gap.count("\n"))

"""Rewriting a text by the faults that a judge found in it.

In the paper of the method DCR (section 3), a model rewrites single sentences by the reasons why they are inconsistent.
Here the rubric may be of any methods, and a fault may be in single sentences or in the whole text. The ratings of the
text give the faults. A model, the writer, is shown the faults and replies with new sentences, which replace old ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Annotated, Any

from pydantic import BaseModel, ValidationInfo, field_validator

from rubriclab.errors import SettingsError
from rubriclab.judges.judge import Judge, ask
from rubriclab.methods.holistic import SAMPLE_STEP
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.prompting import WholeNumber, keep_valid
from rubriclab.models.rubric import Criterion, Part, Rubric
from rubriclab.models.sentences import sentence_spans, split_sentences
from rubriclab.models.text import Example
from rubriclab.prompts.prompt import Prompt, tolerates_faults


@dataclass(frozen=True, slots=True)
class TextFault:
    """A fault that the judge found in a text by one criterion, with the reason.

    Attributes:
        criterion: the trait that the criterion is about.
        asks: the statement of the criterion.
        aim: what the text should reach: the highest level, the better answer, or the definition of the aspect.
        sentences: the numbers of the sentences at fault, from 1; empty if the whole text is at fault.
    """

    criterion: str
    asks: str
    aim: str
    sentences: tuple[int, ...]
    reason: str

    def to_row(self) -> dict[str, Any]:
        return {"criterion": self.criterion, "sentences": list(self.sentences), "reason": self.reason}


def text_faults(
    rubric: Rubric, ratings: Sequence[CriterionRating], output: str, good_from: float
) -> tuple[TextFault, ...]:
    """Return the faults: ratings, or verdicts on units such as sentences, below the share `good_from` of the scale."""
    by_id = {criterion.id: (criterion, part) for part in rubric.parts for criterion in part.criteria}
    faults: list[TextFault] = []
    for rating in ratings:
        criterion, part = by_id.get(rating.id, (None, None))
        if part and not gives_reasons(part):
            continue
        low, width = rubric.scale.low, rubric.scale.width
        if criterion and criterion.question:
            # A question's rating is a share of good answers, whatever the rubric's scale.
            low, width = 0.0, 1.0
        if criterion:
            trait, asks, aim = criterion.trait, criterion.statement, _aim(criterion, rubric)
        else:  # one rating by the criteria together
            trait, asks = rubric.aspect.name, rubric.aspect.definition
            aim = " ".join(_aim(criterion, rubric) for criterion in rubric.criteria)
        if not rating.units and rating.score is not None and (rating.score - low) / width < good_from:
            faults.append(TextFault(trait, asks, aim, (), rating.reason))
        for verdict in rating.units:
            if verdict.value is not None and verdict.value < good_from:
                # A unit is quoted if it is not in the text, or if it is a fact, whose words may differ from the text's.
                is_outside_text = not verdict.sentences and verdict.unit.strip() != output.strip()
                needs_quotation = is_outside_text or (part and part.units and part.units.kind == "fact")
                reason = f"“{verdict.unit}”: {verdict.reason}" if needs_quotation else verdict.reason
                numbers = tuple(index + 1 for index in verdict.sentences)
                faults.append(TextFault(trait, asks, aim, numbers, reason))
    return tuple(faults)


def gives_reasons(part: Part) -> bool:
    """Return whether the ratings by this part have reasons. Scores that are weighted by probabilities have none."""
    return part.settings.get("scoring", "once") == "once"


def require_reasons(rubric: Rubric, version_ref: str) -> None:
    if not any(gives_reasons(part) for part in rubric.parts):
        raise SettingsError(
            f"{version_ref} scores by probabilities, without reasons to rewrite a text by;",
            f"learn a version whose scores have reasons, as with `settings={rubric.parts[0].method}.scoring=once`.",
        )


def _aim(criterion: Criterion, rubric: Rubric) -> str:
    if criterion.levels:
        return max(criterion.levels, key=lambda level: level.score).description
    return criterion.question.better if criterion.question else rubric.aspect.definition


# The temperature of repeated requests to rewrite one text, which should give different wordings.
TEMPERATURE = 0.7

TOKENS_PER_CHANGE = 128
# Half of the average number of bytes in a token, so that the reply may be twice as long as the text.
MIN_BYTES_PER_TOKEN = 2

# Control characters (but not white space); also marks of text direction, and lone surrogates (they have no encoding).
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

Origins = Sequence[Collection[int]]
"""For each sentence of the new text, the indices of the sentences of the old text that it replaces."""


@dataclass(frozen=True, slots=True)
class ChangedSentence:
    """A sentence of the old text, by its number from 1, and what replaces it: an empty text if it was removed."""

    sentence: int
    before: str
    after: str
    reasoning: str

    @property
    def diff(self) -> str:
        """The new sentence together with the words removed from the old one: `[-removed-]`, `{+added+}`."""
        from rapidfuzz.distance import Indel

        old_words, new_words = self.before.split(), self.after.split()
        runs: list[str] = []
        for is_kept, steps in groupby(Indel.opcodes(old_words, new_words), key=lambda step: step.tag == "equal"):
            run = list(steps)
            old = " ".join(word for step in run for word in old_words[step.src_start : step.src_end])
            new = " ".join(word for step in run for word in new_words[step.dest_start : step.dest_end])
            removed, added = f"[-{old}-]" if old else "", f"{{+{new}+}}" if new else ""
            runs.append(old if is_kept else removed + added)
        return " ".join(runs)

    def to_row(self) -> dict[str, Any]:
        return {**asdict(self), "diff": self.diff}


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A rewritten text with its changes, or the old text and the reason why the rewriting is `unusable`."""

    output: str
    changes: tuple[ChangedSentence, ...] = ()
    unusable: str | None = None
    origins: Origins = ()


class SentenceReply(BaseModel):
    """What replaces one sentence; an empty text removes it."""

    sentence: WholeNumber
    reasoning: str
    text: str

    @field_validator("sentence")
    @classmethod
    def _may_change(cls, sentence: int, info: ValidationInfo) -> int:
        if fields := info.context:
            all_numbers = [each["id"] for each in fields["sentences"]]
            allowed = all_numbers if fields["free"] else fields["failing"]
            if sentence not in allowed:
                numbers = ", ".join(map(str, allowed))
                raise ValueError(f"expected a sentence that may change ({numbers}), got {sentence}")
        return sentence

    @field_validator("text", "reasoning")
    @classmethod
    def _visible_line(cls, text: str) -> str:
        if match := _INVISIBLE.search(text):
            raise ValueError(f"expected text without control characters, got {match[0]!a}")
        return " ".join(text.split())


class RewriteReply(BaseModel):
    """The sentences that change, each at most once; the others are kept."""

    sentences: Annotated[list[SentenceReply], keep_valid(optional_fields=("reasoning",))]

    @field_validator("sentences")
    @classmethod
    def _each_once(cls, replacements: list[SentenceReply], info: ValidationInfo) -> list[SentenceReply]:
        counts = Counter(each.sentence for each in replacements)
        unambiguous = [each for each in replacements if counts[each.sentence] == 1]
        if unambiguous and tolerates_faults(info):
            return unambiguous
        if len(counts) < len(replacements):
            numbers = ", ".join(map(str, sorted(counts.elements())))
            raise ValueError(f"expected at most one change of each sentence, got {numbers}")
        return replacements


async def rewrite(writer: Judge, prompt: Prompt[RewriteReply], output: str) -> Rewriting:
    """Return the rewriting of `output` by the writer.

    It is unusable if it changes nothing, leaves no sentence, or joins an unchanged sentence with another. Errors that
    are not about this text, such as a missing key, are raised.
    """
    answer = await ask(writer, prompt, salvage_model=RewriteReply)
    if answer.value is None:
        return Rewriting(output, unusable=answer.missing)
    sentences = split_sentences(output)
    changes: tuple[ChangedSentence, ...] = ()
    for reply in sorted(answer.value.sentences, key=lambda reply: reply.sentence):
        before = sentences[reply.sentence - 1]
        if " ".join(before.split()) != reply.text:
            changes += (ChangedSentence(reply.sentence, before, reply.text, reply.reasoning),)
    if not changes:
        return Rewriting(output, unusable="the rewriting changes no sentence")
    rewritten, slices = replace_sentences(output, {change.sentence: change.after for change in changes})
    spans = sentence_spans(rewritten)
    if not spans:
        return Rewriting(output, changes, "the rewriting removes the whole text")
    unchanged_numbers = slices.keys() - {change.sentence for change in changes}
    # A new wording without a full stop runs into the next sentence.
    if not {slices[number] for number in unchanged_numbers} <= set(spans):
        return Rewriting(output, changes, "the rewriting joins an unchanged sentence with another")
    origins = []
    for span_start, span_end in spans:
        overlaps = {number: start < span_end and end > span_start for number, (start, end) in slices.items()}
        origins.append([number - 1 for number in slices if overlaps[number]])
    return Rewriting(rewritten, changes, origins=origins)


def rewrite_prompt(
    rubric: Rubric, example: Example, faults: Sequence[TextFault], repetition: int = 0, *, any_sentence: bool
) -> Prompt[RewriteReply]:
    """Return the prompt to rewrite a text for its faults; it shows the materials that the judge was shown.

    Only sentences at fault may change, unless `any_sentence`. `repetition` is not 0 if the same prompt was sent before.
    """
    assignment = rubric.assignment
    texts = assignment.text_fields(example)
    shown_materials = {material for part in rubric.parts if part.units for material in part.units.beside}
    sentences = split_sentences(example.output)
    failing = sorted({number for fault in faults for number in fault.sentences})
    fields = {
        **assignment.fields(),
        "source": texts["source"],
        "context": texts["context"],
        "reference": example.reference if "reference" in shown_materials else None,
        "sentences": [{"id": number, "text": text} for number, text in enumerate(sentences, 1)],
        "faults": [{**asdict(fault), "sentences": list(fault.sentences)} for fault in faults],
        "failing": failing,
        "free": any_sentence,
    }
    max_changes = len(sentences) if any_sentence else len(failing)
    text_tokens = len(example.output.encode("utf-8", "replace")) // MIN_BYTES_PER_TOKEN
    return Prompt(
        "improve/rewrite",
        fields,
        RewriteReply,
        temperature=TEMPERATURE if repetition else 0.0,
        max_tokens=256 + TOKENS_PER_CHANGE * max_changes + text_tokens,
        sample=SAMPLE_STEP * repetition,  # else the cache would answer all repetitions with one reply
    )


def typical_rewrite_prompt(rubric: Rubric, example: Example) -> Prompt[RewriteReply]:
    """Return the prompt for a text with one fault by each criterion, to estimate costs."""
    faults = [
        TextFault(criterion.trait, criterion.statement, rubric.aspect.definition, (1,) if part.units else (), "")
        for part in rubric.parts
        for criterion in part.criteria
    ]
    return rewrite_prompt(rubric, example, faults, any_sentence=not any(part.units for part in rubric.parts))


def replace_sentences(text: str, sentences: Mapping[int, str]) -> tuple[str, Mapping[int, tuple[int, int]]]:
    """Return `text` with some of its sentences replaced, and where each sentence then is: start and end by its number.

    Sentences are numbered from 1. An empty replacement removes a sentence and space beside it, but no paragraph break.
    """
    spans = sentence_spans(text)
    if not spans:
        return text, {}
    next_starts = [start for start, _ in spans[1:]] + [len(text)]
    pieces: list[str] = []
    slices: dict[int, tuple[int, int]] = {}
    new_end = 0  # where the pieces so far end in the result
    gap = text[: spans[0][0]]  # what stands between the pieces so far and the next sentence
    for number, ((start, end), next_start) in enumerate(zip(spans, next_starts, strict=True), 1):
        sentence = sentences.get(number, text[start:end])
        next_gap = text[end:next_start]
        if sentence:
            pieces += [gap, sentence]
            new_start = new_end + len(gap)
            new_end = new_start + len(sentence)
            slices[number] = (new_start, new_end)
            gap = next_gap
        elif gap.strip() or next_gap.strip():
            # Characters around a removed sentence are kept, such as a quotation mark or a line of stars.
            gap += next_gap
        elif not pieces:
            continue
        elif number == len(spans):
            gap = next_gap
        else:
            gap = max(gap, next_gap, key=lambda space: space.count("\n"))
    return "".join(pieces) + gap, slices


def count_changed_sentences(before: str, after: str) -> int:
    """Return how many sentences of `before` are missing from `after`, or stand in another order there."""
    from rapidfuzz.distance import LCSseq

    sentences = split_sentences(before)
    return len(sentences) - int(LCSseq.similarity(sentences, split_sentences(after)))

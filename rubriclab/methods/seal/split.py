"""A text's sentences as the judge splits it (SEAL, equation 2: the model takes texts apart).

The judge returns the sentences in full. A reply that leaves out, adds or changes a word is not used: white space aside,
the sentences together must be the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel, Field, ValidationInfo, model_validator

from rubriclab.data.aspect import TaskWords, Words
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.judges.price import BYTES_PER_TOKEN
from rubriclab.prompts import Prompt
from rubriclab.sentences import sentence_spans


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as the judge sees it.

    Attributes:
        text: its words, as they stand in the text.
        places: the places, from 0, of the sentences by rule that it shares characters with.
    """

    text: str
    places: tuple[int, ...]


class SplitText(BaseModel):
    """A text's sentences, which together hold its words in their order."""

    sentences: list[Words] = Field(min_length=1)

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Self:
        if info.context and _bare("".join(self.sentences)) != _bare(info.context["text"]):
            raise ValueError("the sentences together must be the text, word for word and with nothing left out")
        return self


async def sentences_by_judge(text: str, words: TaskWords, judge: Judge) -> tuple[Sentence, ...] | str:
    """Return the text's sentences, or why they could not be had."""
    answer = await ask(judge, split_prompt(text, words))
    if answer.value is None:
        return f"the judge did not split the text into sentences: {answer.missing}"
    return _located(text, answer.value.sentences)


def split_prompt(text: str, words: TaskWords) -> Prompt[SplitText]:
    """Return the prompt that asks for the sentences of a text."""
    longest = 256 + 2 * len(text.encode()) // BYTES_PER_TOKEN
    return Prompt("seal/split", {"words": words.model_dump(), "text": text}, SplitText, max_tokens=longest)


def _located(text: str, sentences: list[str]) -> tuple[Sentence, ...]:
    """Return the sentences as they stand in the text, which they make up but for white space."""
    visible = [at for at, character in enumerate(text) if not character.isspace()]
    by_rule, found, first = sentence_spans(text), list[Sentence](), 0
    for sentence in sentences:
        last = first + len(_bare(sentence))
        start, end = visible[first], visible[last - 1] + 1
        places = tuple(n for n, (a, b) in enumerate(by_rule) if a < end and start < b)
        found.append(Sentence(text[start:end], places))
        first = last
    return tuple(found)


def _bare(text: str) -> str:
    return "".join(text.split())

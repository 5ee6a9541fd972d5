"""Findings about raters from a paper: a language model proposes them, and each must quote the paper.

HypoEval (section 2) has a model summarise publications and proposes hypotheses from the summaries. Here every statement
is a finding of its own with the passage that supports it, and one whose passage is not in the paper is dropped.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.data.aspect import Aspect, TaskWords
from rubriclab.judges.ask import JudgeAnswer, ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.gathering import gathered
from rubriclab.methods.method import Progress, silent
from rubriclab.option_names import close_match
from rubriclab.papers.paper import Paper, PaperPage, parts
from rubriclab.papers.quotation import FEWEST_WORDS, find_quotation, word_count
from rubriclab.papers.replies import QuotedFinding, QuotedFindings, UsableFindings, unusable_entries
from rubriclab.prompts import Prompt

TEMPLATE = "literature/findings"
MOST_FINDINGS = 6
# What the prompt asks for; longer quotations are accepted.
MOST_WORDS = 60
TOKENS_PER_FINDING = 400
# Few characters a token, so that a part fits the model's context in any language with an alphabet.
CHARACTERS_PER_TOKEN = 3
# The letter is sought ahead, so that the time is linear.
_CITATION = re.compile(r"\((?=[^()\d]*[^\W\d])[^()\d]*\d{4}[a-z]?\)|\[[\d,\s]+\]")
# What may be written beside the name of a data set.
_KINDS_OF_SETS = frozenset({"the", "benchmark", "corpus", "data", "dataset", "set"})


@dataclass(frozen=True)
class Subject:
    """What findings are wanted about: texts of a task, and some of their aspects.

    Attributes:
        words: the words of the task.
        aspects: those that findings may name; with none, every finding bears on all aspects.
        every_aspect: whether these are all aspects of the task, so that a finding on all of them bears on any.
        benchmarks: names of public data sets in their usual spelling.
    """

    words: TaskWords
    aspects: tuple[Aspect, ...] = ()
    every_aspect: bool = True
    benchmarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProposedFinding:
    """A finding whose quotation stands in the paper.

    Attributes:
        passage: the wording that was found there.
        page: where it was found.
    """

    claim: str
    aspects: tuple[str, ...]
    benchmarks: tuple[str, ...]
    passage: str
    page: int


@dataclass(frozen=True)
class DroppedFinding:
    """A finding that is not offered, and why; `page` is `None` if the reply names none."""

    claim: str
    quotation: str
    page: int | None
    reason: str


@dataclass(frozen=True)
class PaperReading:
    """What a model found in a paper.

    Attributes:
        found: in the order of the pages.
        dropped: without a quotation that stands in the paper, saying the same as another one, beyond the number that
            was asked for, or with an entry in the reply that cannot be used.
        unread: for each part without a usable reply, its pages and the reason.
        parts: how many parts the paper was read in.
    """

    found: tuple[ProposedFinding, ...] = ()
    dropped: tuple[DroppedFinding, ...] = ()
    unread: tuple[str, ...] = ()
    parts: int = 0


def findings_prompts(paper: Paper, subject: Subject, tokens: int) -> list[Prompt[QuotedFindings]]:
    """Return one prompt for each part of at most `tokens` tokens of a paper."""
    return [_prompt(part, subject) for part in parts(paper, tokens * CHARACTERS_PER_TOKEN)]


async def propose_findings(
    paper: Paper, subject: Subject, generator: Judge, *, tokens: int, on_progress: Progress = silent
) -> PaperReading:
    """Return the findings that a model proposes from a paper, each with a passage that stands in it.

    Args:
        tokens: the most tokens of the paper that one prompt shows.

    Raises:
        JudgeRefused, ProviderDown, BudgetReached, ReplayMiss: from the generator; they concern all parts.
    """
    prompts = findings_prompts(paper, subject, tokens)
    done = 0

    async def reply_to(prompt: Prompt[QuotedFindings]) -> JudgeAnswer[QuotedFindings]:
        nonlocal done
        answer = await ask(generator, prompt, salvage=UsableFindings)
        done += 1
        on_progress(f"{done} of {len(prompts)} parts read", done / len(prompts))
        return answer

    answers = await gathered([reply_to(prompt) for prompt in prompts])
    # In another thread, since finding quotations in a long paper takes long.
    return await asyncio.to_thread(_reading, paper, subject, prompts, answers)


def is_same_claim(claim: str, others: Collection[str]) -> bool:
    """Return whether one of the other claims has the same words: similar ones may say the opposite."""
    words = re.findall(r"\w+", claim.casefold())
    return any(re.findall(r"\w+", other.casefold()) == words for other in others)


def benchmark_name(name: str, known: Collection[str] = ()) -> str:
    """Return the name of a data set as findings carry it: a known spelling, or else `two_words` in lower case.

    A citation after the name, as in "SummEval (Fabbri et al., 2021)", is not part of it.
    """
    words = _words(_CITATION.sub(" ", name))
    same = {"".join(_words(each)): each for each in known}
    without_kind = [word for word in words if word not in _KINDS_OF_SETS]
    spellings = ("".join(words), "".join(without_kind))
    return next((same[each] for each in spellings if each in same), "_".join(words))


def similar_benchmark(name: str, known: Collection[str]) -> str | None:
    """Return a known name of a data set that is spelled much like another one, or is a part of it or holds it."""
    words = {*name.split("_")}
    parts = (each for each in sorted(known) if words <= {*each.split("_")} or words >= {*each.split("_")})
    return close_match(name, sorted(known)) or next(parts, None)


def _words(name: str) -> list[str]:
    return re.sub(r"[^\w]+|_", " ", name.casefold()).split()


def _prompt(part: Sequence[PaperPage], subject: Subject) -> Prompt[QuotedFindings]:
    fields: dict[str, Any] = {
        "words": subject.words.model_dump(),
        "aspects": [{"name": aspect.name, "definition": aspect.definition} for aspect in subject.aspects],
        "known_benchmarks": list(subject.benchmarks),
        "most": MOST_FINDINGS,
        "fewest_words": FEWEST_WORDS + 1,
        "most_words": MOST_WORDS,
        "pages": [{"number": page.number, "text": page.text} for page in part],
    }
    return Prompt(TEMPLATE, fields, QuotedFindings, max_tokens=1000 + TOKENS_PER_FINDING * MOST_FINDINGS)


def _reading(
    paper: Paper,
    subject: Subject,
    prompts: Sequence[Prompt[QuotedFindings]],
    answers: Sequence[JudgeAnswer[QuotedFindings]],
) -> PaperReading:
    checked: list[ProposedFinding | DroppedFinding] = []
    unread = []
    for prompt, answer in zip(prompts, answers, strict=True):
        if answer.value is None:
            unread.append(f"{_pages(prompt.fields['pages'])}: {answer.missing}")
            continue
        asked_for, more = answer.value.findings[:MOST_FINDINGS], answer.value.findings[MOST_FINDINGS:]
        checked += [_checked(each, paper, subject) for each in asked_for]
        checked += [_dropped(each, f"its part already has {MOST_FINDINGS} findings") for each in more]
        checked += _unusable(answer.value, prompt.fields)
    found, dropped = _distinct(checked)
    return PaperReading(found, dropped, tuple(unread), len(prompts))


def _checked(proposed: QuotedFinding, paper: Paper, subject: Subject) -> ProposedFinding | DroppedFinding:
    """Return the finding with the passage that it quotes, or why there is none."""
    claim = " ".join(proposed.claim.split())
    passage = find_quotation(proposed.quotation, paper.pages, proposed.page)
    if passage is None:
        few = word_count(proposed.quotation) < FEWEST_WORDS
        reason = f"its quotation has fewer than {FEWEST_WORDS} words" if few else "its quotation is not in the paper"
        return _dropped(proposed, reason)
    names = (benchmark_name(name, subject.benchmarks) for name in proposed.benchmarks)
    benchmarks = tuple(dict.fromkeys(filter(None, names)))
    return ProposedFinding(claim, _aspects(proposed, subject), benchmarks, passage.text, passage.page)


def _dropped(proposed: QuotedFinding, reason: str) -> DroppedFinding:
    return DroppedFinding(" ".join(proposed.claim.split()), " ".join(proposed.quotation.split()), proposed.page, reason)


def _unusable(reply: QuotedFindings, fields: Mapping[str, Any]) -> Iterator[DroppedFinding]:
    """Yield the entries that were left out of a reply that failed twice."""
    for entry, fault in unusable_entries(reply, fields):
        claim, quotation = (" ".join(str(entry.get(name) or "").split()) for name in ("claim", "quotation"))
        page = entry.get("page")
        number = page if isinstance(page, int) else None
        yield DroppedFinding(claim, quotation, number, f"its entry in the reply cannot be used, {fault}")


def _aspects(proposed: QuotedFinding, subject: Subject) -> tuple[str, ...]:
    """Return the aspects that a finding carries, none if it bears on all of the task's."""
    on_all = not proposed.aspects or len(proposed.aspects) == len(subject.aspects)
    if not on_all:
        return tuple(proposed.aspects)
    return () if subject.every_aspect else tuple(aspect.name for aspect in subject.aspects)


def _distinct(
    checked: Sequence[ProposedFinding | DroppedFinding],
) -> tuple[tuple[ProposedFinding, ...], tuple[DroppedFinding, ...]]:
    found: list[ProposedFinding] = []
    dropped: list[DroppedFinding] = []
    for each in checked:
        if isinstance(each, DroppedFinding):
            dropped.append(each)
            continue
        same = next((place for place, other in enumerate(found) if is_same_claim(each.claim, [other.claim])), None)
        if same is None:
            found.append(each)
            continue
        # Whoever tests on a data set that either of them names must be able to leave the finding out.
        benchmarks = tuple(dict.fromkeys((*found[same].benchmarks, *each.benchmarks)))
        found[same] = replace(found[same], benchmarks=benchmarks)
        dropped.append(DroppedFinding(each.claim, each.passage, each.page, "it says the same as another one"))
    return tuple(found), tuple(dropped)


def _pages(pages: Sequence[dict[str, Any]]) -> str:
    first, last = pages[0]["number"], pages[-1]["number"]
    return f"page {first}" if first == last else f"pages {first}-{last}"

"""Removal of redundant criteria: one call groups those that are the same or nested, and the better one is kept.

The papers ask about every pair (HypoEval: 380 calls in the published code); a model that sees all criteria needs one
call. Only equal wording is decided without a call. The order of words matters: "Does the cause come before the effect?"
with exchanged nouns asks the opposite.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ValidationInfo, model_validator

from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.replies import Reason, bare_id, keep_valid
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import Assignment
from rubriclab.prompts import Prompt

TEMPLATE = "deduplication/group"

# Most entries in one prompt. With more criteria, every pair is still shown together in some prompt.
MOST_SHOWN = 100

TOKENS_PER_GROUP = 100

# Largest share of the entries that may repeat others: a weak judge puts nearly all of them into one group. In a small
# list that many may.
MOST_REPEATED, FEW = 1 / 3, 2

Noun = Literal["question", "hypothesis"]
Relation = Literal["same", "nested"]

_QUOTES = str.maketrans({**dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’", "'")})
_QUOTED = re.compile(r"([\"'])(.*)\1")
# Only one mark: others may be the subject of the question.
_CLOSING = re.compile(r"\s*[.?!]$")


def shown_ids(fields: Mapping[str, Any]) -> list[str]:
    """Return the ids of the entries in a prompt's fields."""
    return [entry["id"] for entry in fields["entries"]]


def _as_shown(value: Any, info: ValidationInfo) -> Any:
    return bare_id(value, shown_ids(info.context)) if info.context else value


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


ShownId = Annotated[str, BeforeValidator(_as_shown)]


class Group(BaseModel):
    """Entries that repeat one another."""

    reason: Reason
    relation: Annotated[Relation, BeforeValidator(_lower)]
    members: list[ShownId]
    best: ShownId

    @model_validator(mode="after")
    def _of_shown_ones(self, info: ValidationInfo) -> Self:
        known = shown_ids(info.context) if info.context else self.members
        if unknown := [name for name in self.members if name not in known]:
            raise ValueError(f"members must be among {', '.join(known)}; got {unknown[0]!r:.60}")
        if len(set(self.members)) < 2:
            raise ValueError(f"a group needs two members at least; got {', '.join(self.members) or 'none'}")
        if self.best not in self.members:
            raise ValueError(f"best must be one of {', '.join(self.members)}; got {self.best!r:.60}")
        return self

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the redundant pairs: all pairs, or in a nested group the first member with each of the others.

        The nested members need not be similar to each other.
        """
        members = list(dict.fromkeys(self.members))
        yield from (
            itertools.combinations(members, 2)
            if self.relation == "same"
            else ((members[0], part) for part in members[1:])
        )


class Groups(BaseModel):
    """All groups of entries that repeat one another."""

    groups: Annotated[list[Group], keep_valid(("reason",))]


@dataclass(frozen=True, slots=True)
class Redundancy:
    """The relation of two redundant criteria, the better worded one, and the reason."""

    relation: Relation
    best: str
    reason: str


def group_prompt(criteria: Sequence[Criterion], noun: Noun, assignment: Assignment) -> Prompt[Groups]:
    """Return the prompt for the groups among `criteria`."""
    fields = {**assignment.fields(), "noun": noun, "entries": [_entry(criterion) for criterion in criteria]}
    return Prompt(TEMPLATE, fields, Groups, max_tokens=512 + TOKENS_PER_GROUP * len(criteria))


async def find_redundant(
    tiers: Sequence[Sequence[Criterion]],
    noun: Noun,
    assignment: Assignment,
    judge: Judge,
    *,
    most_shown: int = MOST_SHOWN,
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the ids of the criteria that repeat a better one, each with the reason; and notes for the user.

    Of two redundant criteria the later one is dropped: better tiers come first, and within a tier the better wording,
    then the earlier position. A seed question and the finer questions made from it are not redundant, since those are
    nested by design. Without a usable reply, only equal wording is dropped; a reply by which more than a third of the
    criteria would be dropped is not usable.

    Args:
        tiers: criteria in order of preference.
        most_shown: most entries in one prompt; with 2, every pair has a prompt of its own.
    """
    dropped = _equally_worded([criterion for tier in tiers for criterion in tier])
    remaining = [[criterion for criterion in tier if criterion.id not in dropped] for tier in tiers]
    redundancies, notes = await _redundancies(
        [criterion for tier in remaining for criterion in tier], noun, assignment, judge, most_shown
    )
    return dropped | _dropped(remaining, redundancies), notes


def blocks(criteria: Sequence[Criterion], most: int) -> list[list[Criterion]]:
    """Return lists of at most `most` criteria such that every two are together in at least one of them."""
    if len(criteria) <= most:
        return [list(criteria)] if len(criteria) > 1 else []
    half = most // 2
    parts = [list(criteria[start : start + half]) for start in range(0, len(criteria), half)]
    return [[*one, *other] for one, other in itertools.combinations(parts, 2)]


def wording(text: str) -> str:
    """Return `text` in lower case without extra spaces, enclosing quotes and a closing mark."""
    plain = " ".join(text.translate(_QUOTES).casefold().split())
    quoted = _QUOTED.fullmatch(plain)
    return _CLOSING.sub("", quoted[2] if quoted else plain)


def _equally_worded(criteria: Sequence[Criterion]) -> dict[str, str]:
    first: dict[tuple[str, ...], str] = {}
    dropped = {}
    for criterion in criteria:
        key = (wording(criterion.statement), *(wording(level.description) for level in criterion.levels))
        if first.setdefault(key, criterion.id) != criterion.id:
            dropped[criterion.id] = f"worded like {first[key]}"
    return dropped


async def _redundancies(
    criteria: Sequence[Criterion], noun: Noun, assignment: Assignment, judge: Judge, most_shown: int
) -> tuple[dict[frozenset[str], Redundancy], tuple[str, ...]]:
    found = await asyncio.gather(*(_within(block, noun, assignment, judge) for block in blocks(criteria, most_shown)))
    redundancies: dict[frozenset[str], Redundancy] = {}
    for each in found:
        redundancies = {**({} if isinstance(each, str) else each), **redundancies}
    plural = "hypotheses" if noun == "hypothesis" else f"{noun}s"
    unasked = next((each for each in found if isinstance(each, str)), None)
    notes = () if unasked is None else (f"{plural} that repeat others in other words are kept: {unasked}",)
    return redundancies, notes


async def _within(
    block: Sequence[Criterion], noun: Noun, assignment: Assignment, judge: Judge
) -> dict[frozenset[str], Redundancy] | str:
    """Return the redundant pairs among the criteria of one prompt, or why there is no usable reply.

    A reply by which too many would be dropped is asked for once more.
    """
    prompt = group_prompt(block, noun, assignment)
    answer = await ask(judge, prompt, salvage=Groups)
    if answer.value is None or answer.reply is None:
        return answer.missing
    pairs = _redundant_pairs(answer.value, block)
    if not (fault := _too_many(pairs, block)):
        return pairs
    answer = await ask(judge, prompt.repaired(answer.reply.text, fault), salvage=Groups)
    pairs = _redundant_pairs(answer.value, block) if answer.value else {}
    return (answer.missing or _too_many(pairs, block)) or pairs


def _redundant_pairs(groups: Groups, block: Sequence[Criterion]) -> dict[frozenset[str], Redundancy]:
    by_id = {criterion.id: criterion for criterion in block}
    redundancies: dict[frozenset[str], Redundancy] = {}
    for group in groups.groups:
        for one, other in group.pairs():
            if group.relation == "same" or not _derived(by_id[one], by_id[other]):
                redundancy = Redundancy(group.relation, group.best, group.reason.strip())
                redundancies.setdefault(frozenset((one, other)), redundancy)
    return redundancies


def _too_many(pairs: Mapping[frozenset[str], Redundancy], block: Sequence[Criterion]) -> str:
    """Return what is wrong with a grouping that would drop more than a third of the criteria; else an empty text."""
    repeated = len(_dropped([block], pairs))
    if repeated <= max(FEW, MOST_REPEATED * len(block)):
        return ""
    return f"at most a third of the {len(block)} entries may repeat others; by these groups {repeated} would."


def _derived(one: Criterion, other: Criterion) -> bool:
    return any(
        a.question is not None and a.question.origin == "elaborated" and a.question.seed == b.id
        for a, b in ((one, other), (other, one))
    )


def _dropped(tiers: Sequence[Sequence[Criterion]], redundancies: Mapping[frozenset[str], Redundancy]) -> dict[str, str]:
    best = {repetition.best for repetition in redundancies.values()}
    kept: list[str] = []
    dropped: dict[str, str] = {}
    for criterion in (each for tier in tiers for each in _better_wording_first(tier, best)):
        name = criterion.id
        repeated = ((other, redundancies[pair]) for other in kept if (pair := frozenset((name, other))) in redundancies)
        if (first := next(repeated, None)) is None:
            kept.append(name)
        else:
            other, repetition = first
            how = "says what {} says" if repetition.relation == "same" else "is nested with {}"
            dropped[name] = f"{how.format(other)}: {repetition.reason}".removesuffix(": ")
    return dropped


def _better_wording_first(tier: Sequence[Criterion], best: Collection[str]) -> list[Criterion]:
    return sorted(tier, key=lambda criterion: criterion.id not in best)


def _entry(criterion: Criterion) -> dict[str, Any]:
    hypothesis = criterion.kind == "hypothesis"
    levels = [{"score": level.score, "description": level.description} for level in criterion.levels]
    text = f"{criterion.trait}: {criterion.statement}" if hypothesis else criterion.statement
    return {"id": criterion.id, "text": text, "levels": levels}

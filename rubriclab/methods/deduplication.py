"""Which criteria of a bank repeat one another: one call groups what is the same or nested, and the better one stays.

The papers ask about every pair (HypoEval: 380 calls in the published code). A model that sees the whole bank needs one.
Equal wording is the only thing that is settled without a call, and the order of the words counts: "Does the cause come
before the effect?" asks the contrary the other way round.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ValidationInfo, model_validator

from rubriclab.data.assignment import Assignment
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.replies import Reason, bare_id, keep_valid
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion

TEMPLATE = "deduplication/group"

# Entries in one prompt, at most. Of a larger bank every pair of entries is still shown together in some prompt.
MOST_SHOWN = 100

TOKENS_PER_GROUP = 100

# Both of 100: how alike levels must be to be taken for the same in reverse, and how much more so than as they stand.
MIRRORED, CLEARLY = 70.0, 15.0

Noun = Literal["question", "hypothesis"]
Relation = Literal["same", "nested"]

_QUOTES = str.maketrans({**dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’", "'")})
_QUOTED = re.compile(r"([\"'])(.*)\1")
# One mark only: the others may be what is asked about.
_CLOSING = re.compile(r"\s*[.?!]$")


def shown_ids(fields: Mapping[str, Any]) -> list[str]:
    """Return the ids of the entries that a prompt's fields show."""
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
        """Yield the pairs that repeat each other: all of them, or of a nested group the first member with each other.

        Two parts of one thing need not have anything in common with each other.
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
    """Two criteria of which one repeats the other, how, and the one that is worded better."""

    relation: Relation
    best: str
    reason: str


def group_prompt(criteria: Sequence[Criterion], noun: Noun, assignment: Assignment) -> Prompt[Groups]:
    """Return the prompt for the groups among `criteria`."""
    fields = {**assignment.fields(), "noun": noun, "entries": [_entry(criterion) for criterion in criteria]}
    return Prompt(TEMPLATE, fields, Groups, max_tokens=512 + TOKENS_PER_GROUP * len(criteria))


async def redundant(
    tiers: Sequence[Sequence[Criterion]],
    noun: Noun,
    assignment: Assignment,
    judge: Judge,
    *,
    most_shown: int = MOST_SHOWN,
) -> dict[str, str]:
    """Return the ids of the criteria that repeat a better one, each with the reason.

    A better tier comes before a worse one; within a tier the better wording does, and else the earlier place. Of two
    that repeat each other the one that comes later goes. A seed question is not repeated by the finer points made from
    it, which are parts of it by design. Opposites stay, whatever the reply says. Where no usable reply comes, nothing
    but equal wording is dropped: dropping needs a reason.

    Args:
        most_shown: entries in one prompt; at 2, every pair is asked about by itself.
    """
    out = _worded_alike([criterion for tier in tiers for criterion in tier])
    left = [[criterion for criterion in tier if criterion.id not in out] for tier in tiers]
    found = await _repetitions([criterion for tier in left for criterion in tier], noun, assignment, judge, most_shown)
    return out | _resolved(left, found)


def blocks(criteria: Sequence[Criterion], most: int) -> list[list[Criterion]]:
    """Return lists of at most `most` criteria such that every two stand together in one of them at least."""
    if len(criteria) <= most:
        return [list(criteria)] if len(criteria) > 1 else []
    half = most // 2
    parts = [list(criteria[start : start + half]) for start in range(0, len(criteria), half)]
    return [[*one, *other] for one, other in itertools.combinations(parts, 2)]


def wording(text: str) -> str:
    """Return `text` without case, extra spaces, enclosing quotes and a closing mark, its words in their order."""
    plain = " ".join(text.translate(_QUOTES).casefold().split())
    quoted = _QUOTED.fullmatch(plain)
    return _CLOSING.sub("", quoted[2] if quoted else plain)


def _worded_alike(criteria: Sequence[Criterion]) -> dict[str, str]:
    first: dict[tuple[str, ...], str] = {}
    out = {}
    for criterion in criteria:
        key = (wording(criterion.statement), *(wording(level.description) for level in criterion.levels))
        if first.setdefault(key, criterion.id) != criterion.id:
            out[criterion.id] = f"worded like {first[key]}"
    return out


async def _repetitions(
    criteria: Sequence[Criterion], noun: Noun, assignment: Assignment, judge: Judge, most_shown: int
) -> dict[frozenset[str], Redundancy]:
    by_id = {criterion.id: criterion for criterion in criteria}
    prompts = [group_prompt(block, noun, assignment) for block in blocks(criteria, most_shown)]
    answers = await asyncio.gather(*(ask(judge, prompt, salvage=Groups) for prompt in prompts))
    found: dict[frozenset[str], Redundancy] = {}
    for group in (group for answer in answers if answer.value for group in answer.value.groups):
        for one, other in group.pairs():
            if not _apart(by_id[one], by_id[other], group.relation):
                told = Redundancy(group.relation, group.best, group.reason.strip())
                found.setdefault(frozenset((one, other)), told)
    return found


def _apart(one: Criterion, other: Criterion, relation: Relation) -> bool:
    """Return whether two criteria both stay although a reply says that they repeat each other."""
    return (relation == "nested" and _made_of(one, other)) or opposed(one, other)


def _made_of(one: Criterion, other: Criterion) -> bool:
    """Return whether one of two questions is a finer point of the other."""
    return any(
        a.question is not None and a.question.origin == "elaborated" and a.question.seed == b.id
        for a, b in ((one, other), (other, one))
    )


def opposed(one: Criterion, other: Criterion) -> bool:
    """Return whether two criteria run against each other, as far as their wording tells.

    Questions do if the same words stand on other sides of the verb, or if one denies what the other asks; hypotheses if
    the levels of one, taken from the highest to the lowest, are worded like those of the other from the lowest up.
    """
    from rapidfuzz import fuzz

    from rubriclab.methods.checkeval.lint.duplicate import contrary

    if not (one.levels and other.levels):
        return contrary(one.statement, other.statement)
    mine, theirs = ([level.description for level in each.levels] for each in (one, other))
    along, against = fuzz.ratio(" ".join(mine), " ".join(theirs)), fuzz.ratio(" ".join(mine[::-1]), " ".join(theirs))
    return against > MIRRORED and against > along + CLEARLY


def _resolved(tiers: Sequence[Sequence[Criterion]], found: Mapping[frozenset[str], Redundancy]) -> dict[str, str]:
    best = {repetition.best for repetition in found.values()}
    kept: list[str] = []
    out: dict[str, str] = {}
    for criterion in (each for tier in tiers for each in _better_wording_first(tier, best)):
        name = criterion.id
        told = ((other, found[pair]) for other in kept if (pair := frozenset((name, other))) in found)
        if (first := next(told, None)) is None:
            kept.append(name)
        else:
            other, repetition = first
            how = "says what {} says" if repetition.relation == "same" else "is nested with {}"
            out[name] = f"{how.format(other)}: {repetition.reason}".removesuffix(": ")
    return out


def _better_wording_first(tier: Sequence[Criterion], best: Collection[str]) -> list[Criterion]:
    return sorted(tier, key=lambda criterion: criterion.id not in best)


def _entry(criterion: Criterion) -> dict[str, Any]:
    hypothesis = criterion.kind == "hypothesis"
    levels = [{"score": level.score, "description": level.description} for level in criterion.levels]
    text = f"{criterion.trait}: {criterion.statement}" if hypothesis else criterion.statement
    return {"id": criterion.id, "text": text, "levels": levels}

"""Support of a text's units by the facts of the source, context or reference (SEAL, section 3.4).

A judge that is shown whole materials answers yes or no. One that is shown their facts names those that support a unit,
and the verdict follows from whether the named facts exist.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from rubriclab.judges.judge import Judge
from rubriclab.methods.questions import question_of
from rubriclab.methods.seal.facts import Facts, extract_facts
from rubriclab.methods.seal.prompts import TextVerification, facts_by_id
from rubriclab.methods.seal.replies import NamedSupport
from rubriclab.segmentation import Material


async def with_facts(verification: TextVerification, judge: Judge) -> TextVerification:
    """Return the verification with facts in place of whole texts."""
    plan, texts = verification.plan, verification.texts
    words = plan.assignment.words
    requests = (extract_facts(text, name, words, judge) for name, text in texts.items())
    facts: dict[Material, Facts] = dict(zip(texts, await asyncio.gather(*requests), strict=True))
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


def supporting_facts(entry: NamedSupport, shown: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """Return the texts of the named facts that exist, and the reason; it says so if none of those named exists.

    Args:
        shown: the facts in the prompt, by id.
    """
    named = list(dict.fromkeys(entry.facts))
    support = tuple(shown[name] for name in named if name in shown)
    unknown = f"the fact named does not exist: {', '.join(named)}" if named and not support else ""
    return support, "; ".join(filter(None, (unknown, entry.reason.strip())))


def _why_incomplete(material: Material, facts: Facts, verification: TextVerification) -> str:
    why = next(iter(facts.lost.values()))
    return f"the facts of the {verification.plan.assignment.words.called(material)} could not all be had: {why}"

"""Proposals and refinements: what a generator is shown, and how its reply is kept."""

from dataclasses import replace

import pytest
from hypoeval_scripts import ASPECT, assignment, criterion, examples, findings, proposal, scripted

from rubriclab.errors import JudgeUnavailable
from rubriclab.methods.hypoeval.learn import (
    ProposalContext,
    propose,
    propose_prompt,
    refine,
)
from rubriclab.prompts import render

TEXTS = examples(3)
BOTH = ProposalContext(TEXTS, findings())


@pytest.mark.parametrize(
    ("material", "origin"),
    [
        (BOTH, "labels and literature"),
        (ProposalContext(TEXTS), "labels"),
        (ProposalContext(findings=findings()), "literature"),
        (ProposalContext(), "prior knowledge"),
    ],
)
async def test_evidence_names_what_the_generator_was_shown(material: ProposalContext, origin: str):
    proposed, failure = await propose(2, material, assignment(), scripted())
    assert failure is None
    for found in proposed:
        assert found.evidence.origin == origin
        assert found.evidence.examples == tuple(text.id for text in material.examples)
        assert found.evidence.findings == tuple(finding.id for finding in material.findings)
        assert found.evidence.refined == 0


async def test_the_generator_sees_texts_with_their_scores_of_this_aspect_and_claims_without_their_ids():
    generator = scripted()
    await propose(2, BOTH, assignment(), generator)
    fields = generator.prompts[0].fields
    assert fields["count"] == 2
    assert fields["findings"] == ["Claim 0 of the literature.", "Claim 1 of the literature."]
    shown = [{name: item[name] for name in ("source", "context", "output", "score")} for item in fields["observations"]]
    assert shown == [
        {"source": t.source, "context": None, "output": t.output, "score": t.scores[ASPECT]} for t in TEXTS
    ]


async def test_texts_of_one_source_are_shown_together_with_the_source_once():
    texts = tuple(replace(text, source=source) for text, source in zip(examples(4), "abab", strict=True))
    prompt = propose_prompt(2, ProposalContext(texts), assignment())
    assert [item["output"] for item in prompt.fields["observations"]] == [texts[n].output for n in (0, 2, 1, 3)]
    content = render(prompt)[1]["content"]
    assert [content.count(f">>>\n{source}\n<<<") for source in "ab"] == [1, 1]
    assert "(Same source text as with text 1.)" in content
    assert "(Same source text as with text 3.)" in content


async def test_more_hypotheses_than_asked_for_are_cut_and_fewer_are_taken():
    generator = scripted(propose=lambda _: proposal("a", "b", "c"))
    assert [c.trait for c in (await propose(2, BOTH, assignment(), generator))[0]] == ["a", "b"]
    assert [c.trait for c in (await propose(9, BOTH, assignment(), generator))[0]] == ["a", "b", "c"]


async def test_a_failed_proposal_is_tried_as_a_new_sample_each_with_one_repair():
    generator = scripted(propose=lambda p: proposal("a") if p.sample == 2 else "no JSON at all")
    proposed, failure = await propose(1, BOTH, assignment(), generator)
    assert [c.trait for c in proposed] == ["a"]
    assert failure is None
    assert [(p.sample, p.repair is not None) for p in generator.prompts] == [
        (0, False),
        (0, True),
        (1, False),
        (1, True),
        (2, False),
    ]


async def test_a_generator_out_of_reach_is_asked_once_as_retrying_was_done_below():
    def busy(_):
        raise JudgeUnavailable("the server is busy")

    generator = scripted(propose=busy)
    assert await propose(1, BOTH, assignment(), generator) == ((), "the server is busy")
    assert len(generator.prompts) == 1


async def test_refinement_is_counted_and_its_findings_join_the_evidence():
    generator = scripted()
    before, _ = await propose(2, ProposalContext(TEXTS), assignment(), generator)
    once = await refine(before, ProposalContext(TEXTS), assignment(), generator)
    twice = await refine(once, ProposalContext(findings=findings()), assignment(), generator)
    thrice = await refine(twice, ProposalContext(findings=findings(3)), assignment(), generator)
    assert [c.evidence.refined for c in (before[0], once[0], twice[0], thrice[0])] == [0, 1, 2, 3]
    assert once[0].evidence.origin == "labels"
    assert (twice[0].evidence.origin, twice[0].evidence.findings) == ("labels and literature", ("f0", "f1"))
    assert thrice[0].evidence.findings == ("f0", "f1", "f2")
    assert {c.evidence.examples for c in thrice} == {tuple(text.id for text in TEXTS)}


@pytest.mark.parametrize("reply", ["", '{"hypotheses": []}', '{"reasoning": "x", "hypotheses": [{}]}'])
async def test_a_failed_refinement_leaves_the_hypotheses_as_they_were(reply: str):
    before = (criterion("a"), criterion("b"))
    generator = scripted(refine=lambda _: reply)
    assert await refine(before, ProposalContext(TEXTS), assignment(), generator) is before
    assert len(generator.prompts) == 2


async def test_refinement_never_adds_hypotheses_and_may_take_one_out():
    before = (criterion("a"), criterion("b"))
    for names in ("xyz", "x"):
        after = await refine(
            before,
            ProposalContext(TEXTS),
            assignment(),
            scripted(refine=lambda _, n=names: proposal(*n)),  # type: ignore[misc]
        )
        assert [c.trait for c in after] == [*names][:2]

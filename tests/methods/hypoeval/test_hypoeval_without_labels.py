"""Learning without a labelled text: from what the generator knows, or from literature alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypoeval_runs import SMALL, run
from hypoeval_scripts import assignment, findings, of_kind, proposal, scripted

from rubriclab.errors import DataError
from rubriclab.learning.train import train_method
from rubriclab.methods.hypoeval import HYPOEVAL
from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.methods.method import TrainingInput


@pytest.mark.parametrize("ask", ["separately", "together", "concatenated"])
async def test_prior_knowledge_needs_no_label_and_asks_the_generator_alone(ask: str):
    learned, judge, generator = await run((), sources="prior knowledge", ask=ask)
    assert len(learned.part.criteria) == SMALL["selected"]
    assert {criterion.evidence.origin for criterion in learned.part.criteria} == {"prior knowledge"}
    assert {criterion.evidence.judged for criterion in learned.part.criteria} == {0}
    assert len(generator.prompts) == 1
    assert judge.prompts == []
    assert (learned.examples, learned.scores.shape, learned.reselected.shape) == ((), (0,), (0,))


async def test_of_hypotheses_from_literature_the_first_are_kept_in_the_generator_s_order():
    names = "abcdefgh"
    generator = scripted(propose=lambda _: proposal(*names))
    learned, judge, _ = await run((), sources="literature", generator=generator, selected=3)
    assert [criterion.trait for criterion in learned.part.criteria] == list("abc")
    assert {dropped.reason for dropped in learned.part.dropped} == {"not among the first 3"}
    assert len(learned.part.dropped) == len(names) - 3
    assert of_kind(judge, "rate") == []


@pytest.mark.parametrize("sources", ["labels", "labels and literature"])
async def test_hypotheses_from_labels_need_some(sources: str):
    with pytest.raises(DataError, match="hypoeval learns from labelled texts, and there are none"):
        await run((), sources=sources)


@pytest.mark.parametrize("chosen", [{"sources": "prior knowledge"}, {"sources": "literature", "bank_size": 4}])
async def test_it_becomes_a_rubric_by_one_call_to_the_generator(chosen: dict[str, Any]):
    training_input, settings = TrainingInput((), assignment(), findings()), HypoEvalSettings(**{**SMALL, **chosen})
    judge, generator = scripted(), scripted()
    trained = await train_method(HYPOEVAL, training_input, settings, judge=judge, generator=generator, seed=1)
    assert len(trained.rubric.criteria) == SMALL["selected"]
    assert (trained.provenance.agreement, trained.provenance.baseline) == (None, None)
    assert len(generator.prompts) == HYPOEVAL.learning_calls(training_input, settings).generator == 1

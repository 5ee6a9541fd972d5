"""`direct`: a score by the aspect's definition; and what holds for every baseline."""

from __future__ import annotations

import numpy as np
import pytest
from holistic_scripts import (
    BASELINES,
    WITHOUT_LABELS,
    graded,
    labels_of,
    learn,
    overall,
    part,
    ratings_asked,
    said,
)
from hypoeval_scripts import ASPECT, assignment, example, rating

from rubriclab.errors import DataError
from rubriclab.judges.judge import FakeJudge
from rubriclab.learning.train import train_method
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import TrainingInput
from rubriclab.prompts.render import prompts_digest

TEXTS = graded(12)
LABEL = labels_of(TEXTS)


async def test_the_criterion_is_the_aspect_s_definition():
    (criterion,) = (await learn("direct", TEXTS)).part.criteria
    assert (criterion.kind, criterion.trait) == ("score", ASPECT)
    assert criterion.statement == assignment().aspect.definition
    assert criterion.evidence.origin == "definition"


async def test_the_definition_the_scale_and_the_text_are_shown_and_the_reasoning_asked_for_first():
    judge = FakeJudge(lambda _: rating(3))
    text = example(1, 2, source="A source.", context="Some facts.")
    await METHODS["direct"].score(text, part("direct"), assignment(), judge)
    told = said(judge.prompts[0])
    for words in (
        assignment().aspect.definition,
        assignment().scale.describe(),
        text.output,
        "A source.",
        "Some facts.",
    ):
        assert words in told
    assert list(judge.prompts[0].reply.model_fields) == ["reasoning", "score"]


# Every baseline


@pytest.mark.parametrize("name", BASELINES)
async def test_neither_order_nor_repetition_changes_what_is_learned(name):
    first, again = await learn(name, TEXTS), await learn(name, TEXTS[::-1])
    assert first.part == again.part
    assert first.examples == again.examples
    assert np.array_equal(first.scores, again.scores)
    assert not first.optimistic


@pytest.mark.parametrize("name", WITHOUT_LABELS)
async def test_it_can_be_learned_without_a_labelled_text(name):
    judge = overall()
    learned = await learn(name, (), judge=judge)
    assert ratings_asked(judge) == []
    assert learned.examples == ()
    trained = await train_method(
        METHODS[name], TrainingInput((), assignment()), METHODS[name].settings(), judge=judge, generator=judge, seed=1
    )
    assert trained.rubric.parts[0] == learned.part
    assert (trained.provenance.agreement, trained.provenance.baseline, trained.provenance.examples) == (None, None, ())


async def test_few_shot_cannot():
    judge, method = overall(), METHODS["few_shot"]
    with pytest.raises(DataError, match="few_shot learns from labelled texts, and there are none"):
        await train_method(
            method, TrainingInput((), assignment()), method.settings(), judge=judge, generator=judge, seed=1
        )
    assert judge.prompts == []


@pytest.mark.parametrize("name", BASELINES)
async def test_a_text_without_a_reply_is_missing_and_no_number(name):
    gone = {TEXTS[5].output, TEXTS[6].output}
    learned = await learn(
        name, TEXTS, judge=overall(lambda p: None if p.fields["output"] in gone else LABEL[p.fields["output"]])
    )
    missing = [ident for ident, score in zip(learned.examples, learned.scores, strict=True) if np.isnan(score)]
    assert missing == [ident for ident in ("t05", "t06") if ident in learned.examples]
    assert learned.part.criteria[0].evidence.missing == len(missing) > 0


@pytest.mark.parametrize("name", BASELINES)
async def test_a_version_holds_its_settings_and_the_wording_of_its_prompts(name):
    method, judge = METHODS[name], overall()
    settings = method.settings(samples=3)
    trained = await train_method(
        method, TrainingInput(TEXTS, assignment()), settings, judge=judge, generator=judge, seed=1
    )
    assert trained.rubric.parts[0].method == name
    assert trained.rubric.parts[0].settings == settings.model_dump(mode="json")
    assert trained.provenance.settings == {name: settings.model_dump(mode="json")}
    assert trained.provenance.prompts == prompts_digest(method.prompts)
    assert trained.provenance.agreement.optimistic is False
    assert trained.provenance.agreement.reselected == trained.provenance.agreement.spearman

"""One rubric from several methods: what is kept, what it costs, and that nobody is measured with labels he has seen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from candidate_plans import TEXTS, Everything, plans
from rival_scripts import about_each

from rubriclab.errors import SettingsError
from rubriclab.judges.judge import FakeJudge
from rubriclab.learning.fitting import JointSettings
from rubriclab.learning.scoring import score_text
from rubriclab.learning.train import Trained, train_joint
from rubriclab.models.aggregation import RivalLimits
from rubriclab.models.text import Example

CHEAP = ("checkeval", "direct")
SEED = 42


def learned(names: Sequence[str], examples: Sequence[Example] = TEXTS, **settings: Any) -> Trained:
    judge = FakeJudge(Everything())
    chosen = plans(*names, texts=examples)
    return asyncio.run(train_joint(chosen, JointSettings(**settings), judge=judge, generator=judge, seed=SEED))


@cache
def usual() -> Trained:
    return learned((*CHEAP, "text_features"))


def test_scoring_a_training_text_gives_what_learning_fitted_to_it() -> None:
    found = usual()
    record = found.record
    assert record is not None
    aggregation = found.rubric.aggregation
    assert aggregation is not None
    for row, text in enumerate(TEXTS):
        score = asyncio.run(score_text(found.rubric, text, FakeJudge(Everything()), "x@1"))
        place = next(i for i, each in enumerate(record.texts) if each.id == text.id)
        names = [candidate.criterion.id for candidate in record.candidates]
        z = {term.criterion: term for term in aggregation.terms}
        raw = sum(
            term.weight * (record.matrix[place, names.index(name)] - term.center) / term.spread
            for name, term in z.items()
            if not np.isnan(record.matrix[place, names.index(name)])
        )
        expected = min(max(aggregation.calibration(float(raw)), 1.0), 5.0)
        assert score.score == pytest.approx(expected, abs=1e-5), row
        assert score.interval is None  # Fewer than nineteen texts bound no error on both sides.


@pytest.mark.parametrize("names", [(*CHEAP, "text_features"), ("hypoeval", "checkeval", "seeval", "direct")])
def test_every_candidate_is_kept_or_dropped_with_its_evidence_and_the_reason(names: Sequence[str]) -> None:
    found = learned(names, criteria=2)
    assert found.record is not None
    considered = {candidate.criterion.id: candidate for candidate in found.record.candidates}
    kept = {name for name, candidate in considered.items() if candidate.kept}
    assert kept == {criterion.id for criterion in found.rubric.criteria}
    dropped = {each.criterion.id: each for each in found.rubric.all_dropped}
    # Criteria of methods without any that is kept are among them.
    assert set(considered) - kept <= set(dropped)
    assert {considered[name].method for name in set(considered) - kept} - {p.method for p in found.rubric.parts}
    assert not kept & set(dropped)
    for name in set(considered) - kept:
        assert dropped[name].reason.strip()
        assert dropped[name].criterion == considered[name].criterion
        if dropped[name].criterion.kind != "feature":
            evidence = dropped[name].criterion.evidence
            assert (evidence.judged or 0) + (evidence.missing or 0) > 0


def test_the_weights_are_shares_of_the_whole_and_each_lies_in_its_interval() -> None:
    aggregation = usual().rubric.aggregation
    assert aggregation is not None
    assert sum(abs(term.weight) for term in aggregation.terms) == pytest.approx(1, abs=1e-5)
    assert all(term.low <= term.weight <= term.high for term in aggregation.terms)


def _rivals() -> tuple[Example, ...]:
    """Return the texts with one source for each group."""
    return tuple(replace(text, source=f"Source {text.group}.") for text in TEXTS)


def _about_rivals(prompt: Any) -> Any:
    if prompt.name != "single_call/judge_rivals":
        return Everything()(prompt)
    return about_each(prompt)


def test_asking_with_rivals_gives_a_rubric_that_rates_rivals_together_as_its_validation_did() -> None:
    judge = FakeJudge(_about_rivals)
    chosen = plans("hypoeval", *CHEAP, texts=_rivals())
    settings = JointSettings(ask="with rivals")
    found = asyncio.run(train_joint(chosen, settings, judge=judge, generator=judge, seed=SEED))
    aggregation, record = found.rubric.aggregation, found.record
    assert aggregation is not None
    assert record is not None
    assert found.provenance.validation is not None
    assert (aggregation.ask, aggregation.rivals) == ("in one call", RivalLimits(texts=2))
    assert found.provenance.validation.evaluators[0].calls == 0.5
    assert "checkeval" not in {candidate.method for candidate in record.candidates}
    assert any("checkeval left out" in note for note in found.notes)
    # The labelled texts have the ratings that calls about rivals gave, which no call about one text did.
    names = {prompt.name for prompt in judge.prompts}
    assert "single_call/judge_rivals" in names
    assert "single_call/judge" not in names
    rated = [prompt for prompt in judge.prompts if prompt.name == "single_call/judge_rivals"]
    assert sum(len(prompt.fields["texts"]) for prompt in rated) == len(TEXTS)
    entries = about_each(rated[0])
    first = rated[0].fields["texts"][0]
    row = next(row for row, text in enumerate(record.texts) if text.example.output == first["output"])
    for each in rated[0].fields["criteria"]:
        place = [candidate.criterion.id for candidate in record.candidates].index(each["id"])
        assert record.matrix[row, place] == entries[f"text {first['number']}"][each["id"]]["score"]


def test_asking_with_rivals_needs_texts_with_rivals() -> None:
    alone = [replace(text, group=f"g{place}") for place, text in enumerate(TEXTS)]
    with pytest.raises(SettingsError, match="the only one of its group"):
        learned(("direct", "hypoeval"), alone, ask="with rivals")

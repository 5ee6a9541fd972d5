"""Training with one method and with several: the rubric, its provenance and its calls."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scripted_judge as scripts
from candidate_plans import TEXTS as PLANNED, plans
from scipy.stats import kendalltau, pearsonr, spearmanr
from scripted_judge import examples

import rubriclab
from rubriclab.errors import SettingsError
from rubriclab.judges.judge import FakeJudge
from rubriclab.judges.providers import estimated_tokens
from rubriclab.learning.baselines import best_feature
from rubriclab.learning.candidates import Plan
from rubriclab.learning.estimate import estimate_learning
from rubriclab.learning.fitting import JointSettings
from rubriclab.learning.scoring import score_text
from rubriclab.learning.train import Trained, joint_learning_calls, train_joint, train_method
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.hypoeval.learn import HYPOEVAL, cross_validated_means
from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.methods.method import TrainingInput, ignore_progress
from rubriclab.models.aggregation import RivalLimits
from rubriclab.models.text import Example, data_digest, words_digest
from rubriclab.prompts import render
from rubriclab.prompts.prompt import Prompt
from rubriclab.prompts.render import prompts_digest

TEXTS = examples(14)
FINDINGS = scripts.findings()
# The package's function `render` hides the module of the same name.
RENDER = sys.modules["rubriclab.prompts.render"]
SETTINGS = HypoEvalSettings.model_validate({**scripts.SMALL, "refine_rounds": 1})


async def run(texts=TEXTS, *, judge=None, generator=None, found=FINDINGS, settings=SETTINGS, **given) -> Trained:
    return await train_method(
        HYPOEVAL,
        TrainingInput(tuple(texts), scripts.assignment(), tuple(found)),
        settings,
        judge=judge or scripts.scripted(),
        generator=generator or scripts.scripted(),
        **{"seed": 1, **given},
    )


async def test_the_provenance_holds_what_the_version_was_made_of():
    judge, generator = scripts.scripted(), scripts.scripted()
    judge.name, generator.name = "a-judge", "a-generator"
    trained = await run(judge=judge, generator=generator, seed=114514, model_versions=lambda: ["model-2", "model-1"])
    given = trained.provenance
    assert (given.judge, given.generator) == ("a-judge", "a-generator")
    assert given.model_versions == ("model-1", "model-2")
    assert given.settings == {"hypoeval": SETTINGS.model_dump(mode="json")}
    assert given.prompts == prompts_digest(HYPOEVAL.prompts)
    assert given.data == data_digest(TEXTS, scripts.ASPECT)
    assert given.examples == tuple(sorted(text.id for text in TEXTS))
    assert given.groups == tuple(f"g{i}" for i in range(6))
    assert given.texts == tuple(sorted(words_digest(text) for text in TEXTS))
    assert (given.judge_address, given.generator_address) == (None, None)
    assert given.seed == 114514
    assert given.baseline == best_feature(TEXTS, scripts.ASPECT)
    assert given.version == rubriclab.__version__


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_template_of_a_method_counts(method):
    own = {f"{method.name}/{path.stem}" for path in (RENDER.FOLDER / method.name).glob("*.md")}
    shared = {"seeval": {"geval/steps"}, "hypoeval": {"deduplication/group"}, "checkeval": {"deduplication/group"}}
    assert set(method.prompts) == own | shared.get(method.name, set())


def rated_by(judge, criterion, texts):
    by_output = {
        p.fields["output"]: scripts.drawn_rating(p, criterion.trait)
        for p in scripts.of_kind(judge, "rate")
        if p.fields["criteria"][0]["statement"] == criterion.statement
    }
    return np.array([by_output[text.output] for text in texts])


async def test_the_training_agreement_is_scipy_s_between_the_rubric_s_scores_and_the_labels():
    judge = scripts.scripted()
    trained = await run(judge=judge)
    scores = np.mean([rated_by(judge, criterion, TEXTS) for criterion in trained.rubric.criteria], axis=0)
    labels = [text.scores[scripts.ASPECT] for text in TEXTS]
    told = trained.provenance.agreement
    assert told.n == 14
    assert told.spearman.value == pytest.approx(spearmanr(scores, labels).statistic, abs=1e-6)
    assert told.pearson.value == pytest.approx(pearsonr(scores, labels).statistic, abs=1e-6)
    assert told.kendall.value == pytest.approx(kendalltau(scores, labels).statistic, abs=1e-6)
    for interval in (told.spearman, told.pearson, told.kendall):
        assert interval.low <= interval.value <= interval.high


@pytest.mark.parametrize("group", ["g0", "g1", "g2", "g3"])
def test_no_label_of_the_left_out_group_is_used_for_it(group):
    rng, groups = np.random.default_rng(7), [f"g{i % 4}" for i in range(24)]
    labels, inside = rng.integers(1, 6, 24).astype(float), np.array(groups) == group
    matrix = labels[:, np.newaxis] + rng.normal(size=(24, 8)) * np.linspace(0.5, 6, 8)
    before, others = cross_validated_means(matrix, labels, groups, SETTINGS), []
    for _ in range(5):
        perturbed = np.where(inside, rng.integers(-50, 50, 24), labels)
        after = cross_validated_means(matrix, perturbed, groups, SETTINGS)
        np.testing.assert_array_equal(after[inside], before[inside])
        others.append(np.array_equal(after, before))
    assert not all(others)


CHEAP = ("checkeval", "direct")
SEED = 42


def learned(
    names: Sequence[str], examples: Sequence[Example] = PLANNED, on_progress: Any = ignore_progress, **settings: Any
) -> Trained:
    chosen, judge, chosen_settings = plans(*names, texts=examples), scripts.scripted(), JointSettings(**settings)
    given = {"judge": judge, "generator": judge, "seed": SEED, "on_progress": on_progress}
    return asyncio.run(train_joint(chosen, chosen_settings, **given))


@pytest.mark.parametrize("ask", ["in one call", "by method"])
def test_progress_rises_to_1_from_method_to_method_with_a_quarter_for_proposals_that_one_call_rates(ask: str) -> None:
    shares: list[float] = []
    learned(("checkeval", "direct", "hypoeval"), on_progress=lambda _, share: shares.append(share), ask=ask)
    assert shares == sorted(shares)
    assert shares[-2:] == [0.95, 1]
    assert (0.25 in shares) == (ask == "in one call")


def test_scoring_a_training_text_gives_what_learning_fitted_to_it() -> None:
    found = learned((*CHEAP, "text_features"))
    record, aggregation = found.record, found.rubric.aggregation
    assert found.provenance.validation.evaluators[0].calls == 1
    names = [candidate.criterion.id for candidate in record.candidates]
    for recorded, row in zip(record.texts, record.matrix, strict=True):
        text = next(each for each in PLANNED if each.id == recorded.id)
        score = asyncio.run(score_text(found.rubric, text, scripts.scripted(), "x@1"))
        rated = ((term, row[names.index(term.criterion)]) for term in aggregation.terms)
        raw = sum(term.weight * (x - term.center) / term.spread for term, x in rated if not np.isnan(x))
        expected = min(max(aggregation.calibration(float(raw)), 1.0), 5.0)
        assert score.score == pytest.approx(expected, abs=1e-5), text.id
        assert score.interval is None  # Fewer than nineteen texts bound no error on both sides.


def test_reselected_agreement_is_that_of_the_rubric_in_the_gate() -> None:
    made = learned(CHEAP).provenance
    rubric = made.validation.evaluators[0]
    assert (made.validation.level, made.agreement.reselected) == ("dataset", rubric.spearman)


@pytest.mark.parametrize("names", [(*CHEAP, "text_features"), ("hypoeval", "checkeval", "seeval", "direct")])
def test_every_candidate_is_kept_or_dropped_with_its_evidence_and_the_reason(names: Sequence[str]) -> None:
    found = learned(names, criteria=2)
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


def test_asking_with_rivals_gives_a_rubric_that_rates_rivals_together_as_its_validation_did() -> None:
    # Each proposal has the same hypotheses, so that one round of ratings is all.
    judge = FakeJudge(lambda prompt: scripts.Scripted()(prompt))  # noqa: PLW0108
    texts = tuple(replace(text, source=f"Source {text.group}.") for text in PLANNED)
    chosen, settings = plans("hypoeval", *CHEAP, texts=texts), JointSettings(ask="with rivals")
    found = asyncio.run(train_joint(chosen, settings, judge=judge, generator=judge, seed=SEED))
    aggregation = found.rubric.aggregation
    assert (aggregation.ask, aggregation.rivals) == ("in one call", RivalLimits(texts=2))
    assert found.provenance.validation.evaluators[0].calls == 0.5
    assert any("checkeval left out" in note for note in found.notes)
    assert "checkeval" not in {candidate.method for candidate in found.record.candidates}
    rated = [prompt for prompt in judge.prompts if prompt.name == "single_call/judge_rivals"]
    assert sum(len(prompt.fields["texts"]) for prompt in rated) == len(PLANNED)
    assert "single_call/judge" not in {prompt.name for prompt in judge.prompts}
    alone = learned(("checkeval",), texts, ask="with rivals")
    assert {candidate.method for candidate in alone.record.candidates} == {"checkeval"}


def test_only_asking_with_rivals_needs_texts_with_rivals() -> None:
    alone = [replace(text, group=f"g{place}") for place, text in enumerate(PLANNED)]
    with pytest.raises(SettingsError, match="the only one of its group"):
        learned(("direct", "hypoeval"), alone, ask="with rivals")
    assert learned(CHEAP, alone).rubric.aggregation.ask == "in one call"


# In words, as language models and the public sets have them: 500 in a source, 60 in a summary, 90 in the levels of a
# hypothesis, 17 in a question, 340 in an explanation.
LONG_TEXTS = tuple(
    replace(each, source=scripts.words(f"source {each.group}", 500), output=scripts.words(each.id, 60))
    for each in examples(30)
)
# Four sub-dimensions of two seeds, as the checklists that ship.
LESSON = TrainingInput(LONG_TEXTS, scripts.assignment(), scripts.findings(), scripts.checklist((2, 2, 2, 2)))
NAMES = ("hypoeval", "checkeval", "seeval", "direct")
# A token is about three quarters of a word; these made-up words have seven characters with the space, English ones six.
CHARACTERS_PER_TOKEN = 0.75 * 7


def answer() -> FakeJudge:
    """Return a judge whose criteria are of usual length, all hypotheses different."""
    explanation, numbers = {"explanation": scripts.words("explanation", 340)}, itertools.count()

    def propose(prompt: Prompt[Any]) -> Any:
        names = [f"trait {next(numbers)}" for _ in range(prompt.fields["count"])]
        hypotheses = []
        for name in names:
            levels = {str(anchor): scripts.words(f"{name} {anchor}", 18) for anchor in range(1, 6)}
            hypotheses.append({"trait": name, "statement": scripts.words(name, 37), "levels": levels})
        return {"reasoning": "Compared.", "hypotheses": hypotheses}

    return scripts.scripted(hypoeval__propose=propose, elaborate=finer, explain=lambda _: explanation)


def finer(prompt: Prompt[Any]) -> Any:
    name = prompt.fields["question"]["id"]
    new = [scripts.stated(f"{scripts.words(f'{name} point {number}', 17)}?") for number in range(prompt.fields["most"])]
    return {"reasoning": "Split.", "questions": new}


def usual_plans() -> list[Plan]:
    return [Plan(METHODS[name], LESSON, METHODS[name].settings(**METHODS[name].joint_settings)) for name in NAMES]


@cache
def asked(settings: JointSettings) -> list[Prompt[Any]]:
    judge, generator = answer(), answer()
    asyncio.run(train_joint(usual_plans(), settings, judge=judge, generator=generator, seed=1))
    return [*judge.prompts, *generator.prompts]


def test_learning_from_thirty_texts_takes_at_most_120_calls_and_300_000_tokens() -> None:
    prompts = asked(JointSettings())
    found = Counter(prompt.name for prompt in prompts)
    assert found.total() <= 120, found
    characters = sum(len(message["content"]) for prompt in prompts for message in render(prompt))
    assert characters / CHARACTERS_PER_TOKEN <= 300_000
    # All criteria in two calls a text, and the judge without a rubric in one, which the verdict compares with.
    assert (found["single_call/judge"], found["direct/rate"]) == (60, 30)
    # Of the first hypotheses, of the checklist, and of the hypotheses from texts that are rated wrongly.
    assert found["deduplication/group"] == 3


@pytest.mark.parametrize("ask", ["by method", "in one call"])
def test_every_way_of_asking_takes_about_the_calls_and_tokens_that_are_stated(ask: Any) -> None:
    settings = JointSettings(ask=ask)
    calls = joint_learning_calls(usual_plans(), settings)
    prompts = asked(settings)
    found = Counter(prompt.name for prompt in prompts)
    assert found.total() == pytest.approx(calls.judge + calls.generator, rel=0.3)
    assert (found["checkeval/answer"], found["single_call/judge"]) == ((30, 0) if ask == "by method" else (0, 60))
    estimates = estimate_learning(calls, LESSON.assignment, LONG_TEXTS)
    read = sum(estimated_tokens(render(prompt)) for prompt in prompts)
    assert sum(each.prompt_tokens for each in estimates) == pytest.approx(read, rel=0.3)


def test_only_a_method_that_proposes_criteria_from_ratings_takes_a_further_call_for_each_text() -> None:
    names, usual = ("checkeval", "hypoeval", "seeval"), JointSettings()
    calls = [joint_learning_calls(plans(name, "direct"), usual) for name in names]
    assert [each.judge // len(PLANNED) for each in calls] == [2, 3, 2]

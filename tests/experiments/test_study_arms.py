"""Arms: what they learn from, that they never ask more than was said before, and what they are counted to take."""

import asyncio

import numpy as np
import pytest

from experiments.runner.arms import Tally, course, learn, learning_at_most, score, scoring_at_most, trial
from experiments.runner.bench import no_figure
from experiments.runner.cases import Case, Material, material
from experiments.runner.figures import agreement_row
from experiments.runner.sets import Sets
from experiments.runner.study import SMALL_SETTINGS, Arm, load_study, parse_study
from rubriclab.data import Example
from rubriclab.errors import (
    BudgetReached,
    ChecklistError,
    JudgeError,
    JudgeRefused,
    ProviderDown,
    ReplayMiss,
    SettingsError,
)
from rubriclab.evaluation import Evaluator
from rubriclab.judges import FakeJudge
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import Reply, Usage
from rubriclab.literature import load_findings
from rubriclab.methods.names import METHOD_NAMES
from rubriclab.prompts import Prompt


def texts_of(sets: Sets, name: str = "summeval", aspect: str = "consistency") -> Material:
    raw = {"name": "some", "question": "What?", "sets": {name: [aspect]}, "labels": [12], "test_texts": 12}
    some = parse_study({**raw, "arms": [{"name": "direct", "method": "direct"}]}, "here")
    return material(Case(set=name, aspect=aspect, labels=12, seed=1), some, sets)


@pytest.mark.parametrize("method", [*METHOD_NAMES, "joint"])
def test_no_arm_asks_more_than_was_said_before(sets, method) -> None:
    texts = texts_of(sets)
    arm = Arm(name="a", method=method, methods=("checkeval", "direct")).under(SMALL_SETTINGS)
    given = course(arm, texts.learned_from, texts.home)
    done = asyncio.run(trial(arm, texts, EmbeddedJudge(), seed=1, under_way=4))
    judge, generator = learning_at_most(given)
    assert 0 < done.learning.calls <= (judge + generator).calls
    assert 0 < done.scored.spent.calls <= scoring_at_most(given, texts.test).calls
    assert len(done.scored.values) == len(texts.test)
    assert np.isfinite(done.scored.values).all()


def test_scoring_with_the_settings_of_scoring_is_not_overstated_by_learning(sets) -> None:
    texts = texts_of(sets)
    given = course(Arm(name="a", method="hypoeval"), texts.learned_from, texts.home)
    assert scoring_at_most(given, texts.test).calls == 5 * len(texts.test)


def test_an_arm_without_labels_or_literature_sees_none(sets) -> None:
    texts = texts_of(sets)
    (plain,) = course(Arm(name="a", method="checkeval"), texts.learned_from, texts.home).plans
    (bare,) = course(
        Arm(name="a", method="checkeval", labels=False, literature=False), texts.learned_from, texts.home
    ).plans
    assert plain.training_input.examples == texts.learned_from
    assert plain.training_input.findings
    assert (bare.training_input.examples, bare.training_input.findings) == ((), ())
    assert bare.training_input.checklist == plain.training_input.checklist


def test_a_method_without_its_questions_stops_an_arm_of_its_own_and_leaves_a_joint_one(sets) -> None:
    texts = texts_of(sets, "hanna", "empathy")
    with pytest.raises(ChecklistError):
        course(Arm(name="a", method="dcr"), texts.learned_from, texts.home)
    together = course(Arm(name="a", method="joint", methods=("dcr", "direct")), texts.learned_from, texts.home)
    assert [plan.method.name for plan in together.plans] == ["direct"]


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        (
            {"method": "hypoeval", "settings": {"hypoeval": {"k": 0}}},
            "Arm a: hypoeval.k: expected a number of at least 1, got 0",
        ),
        (
            {"method": "hypoeval", "settings": {"hypoeval": {"preset": "mine"}}},
            "hypoeval: unknown preset 'mine'",
        ),
        ({"method": "joint", "settings": {"joint": {"folds": 1}}}, "Arm a: joint.folds: "),
    ],
)
def test_settings_that_do_not_exist_are_refused(sets, arm, said) -> None:
    texts = texts_of(sets)
    with pytest.raises(SettingsError) as error:
        course(Arm(name="a", **arm), texts.learned_from, texts.home)
    assert said in str(error.value)


class Kept:
    """A judge whose every other answer was kept earlier."""

    name, identity = "kept", {"model": "kept"}

    def __init__(self) -> None:
        self.prompts = 0

    async def reply(self, _prompt: Prompt) -> Reply:
        self.prompts += 1
        usage = Usage(prompt_tokens=10, completion_tokens=2, cost_usd=0.25)
        return Reply("{}", "kept", usage, cached=self.prompts % 2 == 0)


async def test_answers_that_were_kept_count_like_new_ones() -> None:
    tally = Tally(Kept())
    for _ in range(4):
        await tally.reply(None)
    spent = tally.spent
    assert (spent.calls, spent.prompt_tokens, spent.completion_tokens, spent.cost_usd) == (4, 40, 8, 1.0)
    assert (tally.name, tally.identity) == ("kept", {"model": "kept"})


async def test_texts_without_a_score_are_nan_and_their_answers_counted_as_missing(sets) -> None:
    texts = texts_of(sets)
    trained = await learn(
        course(Arm(name="a", method="direct"), texts.learned_from, texts.home), EmbeddedJudge(), seed=1
    )
    silent = FakeJudge(lambda _prompt: "no numbers here")
    scored = await score(trained.rubric, texts.test, silent, under_way=2)
    assert np.isnan(scored.values).all()
    assert (scored.answers, scored.answers_missing) == (len(texts.test), len(texts.test))


async def test_an_arm_that_scores_no_text_has_no_figure_and_the_study_goes_on(sets) -> None:
    texts = texts_of(sets)
    silent = FakeJudge(lambda _prompt: "no numbers here")
    with pytest.raises(JudgeError, match=f"None of the {len(texts.test)} texts could be scored") as error:
        await trial(Arm(name="a", method="direct", labels=False), texts, silent, seed=1, under_way=2)
    assert no_figure(error.value) == str(error.value)


def test_a_provider_that_is_down_ends_the_study() -> None:
    for error in (ProviderDown("down"), JudgeRefused("key"), BudgetReached("cap"), ReplayMiss("gone")):
        with pytest.raises(type(error)):
            no_figure(error)


@pytest.mark.parametrize(
    ("name", "aspect", "source"),
    [
        ("summeval", "coherence", "Fabbri et al. (2021)"),
        ("hanna", "coherence", "Chhun et al. (2022)"),
        ("hanna_tuned", "coherence", "Chhun et al. (2022)"),
        ("topical_chat", "groundedness", "Mehri and Eskenazi (2020)"),
    ],
)
def test_findings_about_the_raters_of_the_tested_set_are_left_out(sets, name, aspect, source) -> None:
    texts = texts_of(sets, name, aspect)
    given = course(Arm(name="a", method="hypoeval"), texts.learned_from, texts.home, texts.benchmarks)
    kept = {finding.citation.partition(",")[0] for finding in given.plans[0].training_input.findings}
    every = {finding.citation.partition(",")[0] for finding in load_findings(texts.home.words.task, aspect)}
    assert source in every
    assert source not in kept
    assert kept == every - {source}


def test_both_meanings_of_sample_level_are_given_for_checkeval(sets) -> None:
    """Within either document the order is right: (1 + 1) / 2 = 1. Over all six texts ranks differ by 3 each:
    1 - 6 x (6 x 9) / (6 x 35) = 1 - 324 / 210 = -0.542857."""
    study = load_study("checkeval-main")
    human, judged = [1, 2, 3, 4, 5, 6], [4, 5, 6, 1, 2, 3]
    test = tuple(
        Example(id=f"t{n}", output="words", group="ab"[n > 2], scores={"coherence": score})
        for n, score in enumerate(human)
    )
    home = sets.assignment("summeval", "coherence")
    texts = Material("summeval", home, (), home, test, "drawn")
    row = agreement_row(study, texts, Evaluator("checkeval as published", np.array(judged, dtype=float)))
    assert row.figures["spearman"].value == pytest.approx(-0.542857, abs=1e-6)
    assert row.ours is not None
    assert row.ours["spearman"].value == pytest.approx(1.0)


def test_hypoeval_s_study_has_its_direct_baseline_with_steps_and_checkeval_without_seeds(sets) -> None:
    texts = texts_of(sets)
    arms = {arm.name: arm for arm in load_study("hypoeval-main").arms}
    (direct,) = course(arms["direct with steps"], (), texts.home).plans
    (checklist,) = course(arms["checkeval"], (), texts.home).plans
    assert "geval/steps" in direct.method.prompts
    assert (direct.settings.scoring, direct.settings.form) == ("once", "score only")  # type: ignore[attr-defined]
    assert checklist.settings.seeds == "prior knowledge"  # type: ignore[attr-defined]

"""HypoEval as its paper and its published code have it, against numbers worked out by hand."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypoeval_runs import everybody, run
from hypoeval_scripts import criterion, examples, of_kind, scripted, training_input

from rubriclab.methods.hypoeval.learn import (
    Arm,
    final_bank,
    learn,
    reward,
    utility,
)
from rubriclab.methods.hypoeval.score import PRESETS, HypoEvalSettings
from rubriclab.methods.method import chosen_settings
from rubriclab.models.text import Scale
from rubriclab.prompts import render

ONE_TO_FIVE = Scale(low=1, high=5, whole=False)


def preset(name: str) -> HypoEvalSettings:
    found = chosen_settings(HypoEvalSettings, PRESETS, {"preset": name})
    assert isinstance(found, HypoEvalSettings)
    return found


def named(prefix: str, count: int) -> list:
    return [criterion(f"{prefix}{number}") for number in range(count)]


def test_the_paper_s_numbers_are_those_of_appendix_b_1():
    paper = preset("paper")
    assert (paper.initial_examples, paper.initial_hypotheses, paper.k) == (5, 5, 10)
    assert (paper.theta, paper.alpha, paper.wrong_bank) == (0.5, 0.5, 10)
    assert (paper.refine_rounds, paper.bank_size, paper.selected) == (6, 20, 5)
    assert (paper.procedure, paper.ask) == ("paper", "separately")
    assert not paper.drop_hopeless
    code = preset("published")
    assert code == paper.model_copy(update={"procedure": "published", "wrong_bank": 5})


def test_a_reward_is_that_of_the_paper_s_equations():
    """Five texts rated with errors 0, 1, 2, 0, 1 points, a = 1, b = 1/16.

    L: 1, 1 - 1/16, 1 - 4/16, 1, 1 - 1/16; their mean is (1 + 0.9375 + 0.75 + 1 + 0.9375) / 5 = 0.925. With alpha = 0.5
    and |S_init| = 5 the bonus is 0.5 sqrt(ln 5 / 5) = 0.283676; at t + |S_init| = 30 it is 0.412383.
    """
    arm = Arm("h")
    for error in (0, 1, 2, 0, 1):
        arm = arm.seen(utility(5 - error, 5, ONE_TO_FIVE), 5)
    assert reward(arm, 5, 0.5, "improved") == pytest.approx(0.925 + 0.283676, abs=1e-6)
    assert reward(arm, 30, 0.5, "improved") == pytest.approx(0.925 + 0.412383, abs=1e-6)
    # Only hypotheses that are visited get a new reward: the others keep the bonus of their last visit.
    assert reward(arm, 30, 0.5, "paper") == pytest.approx(0.925 + 0.283676, abs=1e-6)


@pytest.mark.parametrize("name", ["paper", "published"])
async def test_twenty_hypotheses_are_asked_of_literature_and_five_are_kept(name: str):
    """H_max = 20 are asked of literature alone; at most 20 / 2 = 10 of each side stay where both have as many."""
    generator = scripted()
    learned = await learn(training_input(examples(30)), preset(name), judge=scripted(), generator=generator, seed=42)
    counts = Counter(p.fields["count"] for p in of_kind(generator, "propose") if not p.fields["observations"])
    assert counts == {20: 1}
    rated = set(learned.candidates)
    literature = sum(c.id in rated and c.evidence.origin == "literature" for c in everybody(learned))
    assert len(rated) <= 20
    assert literature == (10 if name == "paper" else 20 - (len(rated) - literature))
    assert len(learned.part.criteria) == 5


@pytest.mark.parametrize("procedure", ["improved", "paper", "published"])
async def test_only_the_default_shows_the_data_s_hypotheses_where_literature_s_are_made(procedure: str):
    """H_L = M_G(L): the literature alone is in the prompt."""
    _, _, generator = await run(procedure=procedure)
    (alone,) = [p for p in of_kind(generator, "propose") if not p.fields["observations"]]
    assert alone.fields["findings"]
    assert bool(alone.fields["known"]) == (procedure == "improved")


@pytest.mark.parametrize("procedure", ["improved", "paper", "published"])
async def test_only_the_default_shows_predictions_beside_wrong_examples(procedure: str):
    """M_G(W) and M_R(H, W): texts with the raters' scores, as the paper's prompts show them."""
    _, _, generator = await run(procedure=procedure, found=(), wrong_bank=2, theta=0.1)
    shown = [*of_kind(generator, "propose")[1:], *of_kind(generator, "refine")]
    assert {bool(p.fields["observations"]) for p in shown} == {True}
    assert {p.name for p in shown} == {"hypoeval/propose"} | ({"hypoeval/refine"} if procedure != "improved" else set())
    for prompt in shown:
        text = render(prompt)[1]["content"]
        assert all(item["predictions"] for item in prompt.fields["observations"]) == (procedure == "improved")
        assert ("predicted" in text, "Predictions:" in text) == (procedure == "improved",) * 2


async def test_every_further_text_is_rated_by_the_top_ten_at_most_and_the_final_bank_by_all():
    """30 texts by at most 20 hypotheses in the final bank: at most 600 ratings, as the published cost of selection."""
    judge = scripted()
    learned = await learn(training_input(examples(30)), preset("paper"), judge=judge, generator=scripted(), seed=42)
    final = set(learned.candidates)
    statements = {c.statement for c in everybody(learned) if c.id in final}
    asked = [p for p in of_kind(judge, "rate") if p.fields["criteria"][0]["statement"] in statements]
    assert len(asked) == 30 * len(final) <= 600


async def test_in_the_paper_only_the_top_and_the_new_ones_stay_when_new_ones_come():
    """k = 1, 3 first hypotheses, 2 new ones: of 3 + 2 the best one and the 2 new ones stay, so that 2 leave."""
    why = "neither among the best nor new"
    gone = {}
    for procedure in ("published", "paper"):
        learned, _, _ = await run(procedure=procedure, k=1, wrong_bank=2, theta=0.1)
        gone[procedure] = sum(each.reason.startswith(why) for each in learned.part.dropped)
    assert gone["published"] == 0
    assert gone["paper"] >= 2


def test_the_final_bank_of_the_paper_is_half_of_each_side_by_lot():
    """H_max = 20: 10 of 12 from labels and 10 of 20 from literature; of 4 from labels all, and again 10."""
    learned, literature = named("l", 12), named("p", 20)
    drawn = final_bank(learned, literature, 20, "paper", random.Random(1))
    assert Counter(each.id[0] for each in drawn) == {"l": 10, "p": 10}
    assert Counter(c.id[0] for c in final_bank(learned[:4], literature, 20, "paper", random.Random(1))) == {
        "l": 4,
        "p": 10,
    }
    other = final_bank(learned, literature, 20, "paper", random.Random(2))
    assert {each.id for each in drawn} != {each.id for each in other}


def test_the_final_bank_of_the_code_is_the_most_accurate_half_and_the_first_from_literature():
    """H_max = 20: the best 10 of 12 and the first 10 of 20; beside 4 from labels literature fills 20 - 4 = 16."""
    learned, literature = named("l", 12), named("p", 20)
    kept = [each.id for each in final_bank(learned, literature, 20, "published", random.Random(1))]
    assert kept == [f"l{n}" for n in range(10)] + [f"p{n}" for n in range(10)]
    kept = [each.id for each in final_bank(learned[:4], literature, 20, "published", random.Random(1))]
    assert kept == [f"l{n}" for n in range(4)] + [f"p{n}" for n in range(16)]


@pytest.mark.parametrize("procedure", ["improved", "paper", "published"])
def test_one_side_alone_may_fill_the_bank(procedure):
    assert len(final_bank(named("l", 25), [], 20, procedure, random.Random(1))) == 20
    assert len(final_bank([], named("p", 25), 20, procedure, random.Random(1))) == 20

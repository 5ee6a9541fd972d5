"""HypoEval: its settings, bandit, selection, proposals, ratings and scores, and learning as a whole by script."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
import scripted_judge as scripts
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError
from scipy.stats import pearsonr
from scripted_judge import rating

from rubriclab.errors import JudgeError, JudgeUnavailable, SettingsError
from rubriclab.judges.llm import strict_schema
from rubriclab.methods.hypoeval import learn
from rubriclab.methods.hypoeval.proposal_prompts import ProposalContext, proposal_reply, propose, tolerance
from rubriclab.methods.hypoeval.score import PRESETS, HypoEvalSettings, rate, score
from rubriclab.methods.method import choose_settings
from rubriclab.models.rubric import Evidence, Part
from rubriclab.models.text import Scale
from rubriclab.prompts import render
from rubriclab.stats.correlation import label_correlations

TEXTS = scripts.examples(14)


async def run(texts=TEXTS, *, judge=None, generator=None, found=None, **chosen):
    """Learn with small settings, except for those chosen, and return the result with the two judges."""
    judge, generator = judge or scripts.scripted(), generator or scripts.scripted()
    given_ = {"findings": scripts.findings() if found is None else found}
    learned = await scripts.learn(
        "hypoeval", texts, judge=judge, generator=generator, given=given_, **{**scripts.SMALL, **chosen}
    )
    return learned, judge, generator


def label_of(prompt) -> float:
    return next(text.scores[scripts.ASPECT] for text in TEXTS if text.output == prompt.fields["output"])


def everybody(learned):
    return [*learned.part.criteria, *(dropped.criterion for dropped in learned.part.dropped)]


def questions(judge) -> Counter:
    rated = [*scripts.of_kind(judge, "hypoeval/rate"), *scripts.of_kind(judge, "hypoeval/rate_together")]
    return Counter((c["statement"], p.fields["output"]) for p in rated for c in p.fields["criteria"])


def seen_texts(prompt) -> list[str]:
    return [item["output"] for item in prompt.fields["observations"]]


def order_of(learned):
    by_id = {text.id: text for text in TEXTS}
    return [by_id[name] for name in learned.examples]


ONE_TO_FIVE = Scale(low=1, high=5, whole=True)
BOUNDS = st.floats(-1000, 1000, allow_nan=False)
SCALES = st.builds(lambda low, width: Scale(low=low, high=low + width, whole=False), BOUNDS, st.floats(0.5, 500))
SHARES = st.floats(0, 1)


def on(scale: Scale, share: float) -> float:
    return min(scale.low + share * scale.width, scale.high)


def visited_arm(name: str, utilities, step: int) -> learn.Arm:
    return learn.Arm(name, len(utilities), sum(utilities), step)


def total(arm: learn.Arm, step: int, alpha: float = 0.5, procedure="improved") -> float:
    return learn.reward(arm, step, alpha, procedure)


ARMS = st.lists(
    st.builds(
        visited_arm,
        st.integers(1, 99).map("h{:02d}".format),
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), max_size=4).map(tuple),
        st.integers(0, 30),
    ),
    max_size=12,
    unique_by=lambda arm: arm.id,
)


@settings(deadline=None, max_examples=60)
@given(arms=ARMS, step=st.integers(1, 40), procedure=st.sampled_from(["improved", "paper"]), data=st.data())
def test_the_ranking_is_by_reward_and_never_by_the_order_of_arrival(arms, step, procedure, data):
    order = learn.rank_arms(arms, step, 0.5, procedure)
    assert order == learn.rank_arms(data.draw(st.permutations(arms)), step, 0.5, procedure)
    rewards = [total(arm, step, procedure=procedure) for arm in order]
    assert rewards == sorted(rewards, reverse=True)
    for first, second in itertools.pairwise(order):
        assert total(first, step, procedure=procedure) > total(second, step, procedure=procedure) or (
            first.id < second.id
        )


@settings(deadline=None, max_examples=60)
@given(scale=SCALES, rating=SHARES, label=SHARES, theta=st.floats(0.05, 4))
def test_utility_and_threshold_do_not_depend_on_the_scale_s_unit(scale, rating, label, theta):
    placed = on(scale, rating), on(scale, label)
    assert learn.utility(*placed, scale) == pytest.approx(
        learn.utility(rating, label, Scale(low=0, high=1, whole=False)), abs=1e-6
    )
    distance = abs(rating - label) * 4
    if abs(distance - theta) > 1e-6:
        assert (abs(placed[0] - placed[1]) > tolerance(theta, scale)) == (distance > theta)


def test_w_hyp_rises_from_nothing_as_in_the_published_code():
    # len(top) * i / N * 0.8 with the 0-based number of the text
    assert [learn.n_wrong_needed(10, step, 30) for step in (1, 16, 30)] == pytest.approx([0, 4, 10 * 29 / 30 * 0.8])


NAN = np.nan
RATINGS = st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, NAN])


def matrices(texts: int = 12, criteria: int = 6) -> st.SearchStrategy:
    return arrays(float, (texts, criteria), elements=RATINGS)


LABELS = arrays(float, 12, elements=st.sampled_from([1.0, 1.5, 2.0, 3.0, 3.333333, 5.0]))


def by_scipy(column: np.ndarray, labels: np.ndarray) -> float:
    rated = ~np.isnan(column)
    if rated.sum() < 5 or np.ptp(column[rated]) == 0 or np.ptp(labels[rated]) == 0:
        return NAN
    return float(pearsonr(column[rated], labels[rated]).statistic)


@settings(deadline=None, max_examples=60)
@given(matrix=matrices(), labels=LABELS, keep=st.integers(1, 6))
def test_the_kept_are_the_best_by_scipy_among_those_rated_often_enough(matrix, labels, keep):
    kept = learn.select_columns(matrix, labels, HypoEvalSettings(selected=keep, procedure="paper"))
    r = np.nan_to_num([by_scipy(column, labels) for column in matrix.T], nan=-2.0)
    eligible = [c for c in range(6) if (~np.isnan(matrix[:, c])).sum() >= 6]
    assert len(kept) == min(keep, len(eligible))
    assert set(kept) <= set(eligible)
    worst = min((r[c] for c in kept), default=-9)
    assert all(r[c] <= worst + 1e-9 for c in eligible if c not in kept)


@pytest.mark.parametrize(("selected", "columns"), [(5, 20), (2, 20), (1, 4), (5, 7)])
def test_successive_rejects_keep_one_selection_s_worth_for_every_round_to_come(selected, columns):
    rng = np.random.default_rng(0)
    labels = rng.normal(size=15)
    matrix = labels[:, np.newaxis] * np.linspace(1, -1, columns) + rng.normal(size=(15, columns))
    chosen = HypoEvalSettings(selected=selected, procedure="paper")
    for rounds_left in (2, 1):
        out = learn.hopeless_columns(matrix, labels, rounds_left, chosen)
        assert columns - len(out) == min(columns, math.ceil(selected * {2: 3, 1: 1.5}[rounds_left]))
        r = label_correlations(matrix, labels)
        assert out == sorted(out)
        assert all(r[c] <= min(r[k] for k in range(columns) if k not in out) for c in out)


SCALES_REPLIES = [Scale(low=0, high=1, whole=True), Scale(low=1, high=3, whole=True), Scale(low=1, high=5, whole=False)]


@pytest.mark.parametrize(
    "scale", [*SCALES_REPLIES, Scale(low=0.1, high=0.9, whole=False), Scale(low=0, high=100, whole=True)]
)
def test_a_hypothesis_has_a_level_for_exactly_the_scale_s_anchors(scale: Scale):
    form = proposal_reply(scale.anchors(), citing=False)
    told = scripts.hypothesis("a", scale.anchors())
    schema = strict_schema(form)
    assert schema is not None
    assert schema["$defs"]["Hypothesis"]["properties"]["levels"]["required"] == list(told["levels"])
    (read,) = form.model_validate({"reasoning": "", "hypotheses": [told]}).hypotheses
    assert tuple(level.score for level in read.criterion(Evidence(origin="labels")).levels) == scale.anchors()
    first, *others = told["levels"].items()
    for levels in (dict(others), {**told["levels"], "7.7": "Above."}, {first[0] + "x": first[1], **dict(others)}, {}):
        with pytest.raises(ValidationError, match="levels needed for"):
            form.model_validate({"reasoning": "", "hypotheses": [{**told, "levels": levels}]})


TEXTS_PROPOSE = scripts.examples(3)
BOTH = ProposalContext(TEXTS_PROPOSE, scripts.findings())


async def test_a_damaged_hypothesis_is_missing_alone_after_a_repair():
    damaged = {**scripts.hypothesis("b"), "levels": {"1": "One level only."}}
    reply = {"reasoning": "Compared.", "hypotheses": [scripts.hypothesis("a"), damaged, scripts.hypothesis("c")]}
    proposed, why = await propose(3, BOTH, scripts.assignment(), scripts.scripted(propose=lambda _: reply))
    assert [each.trait for each in proposed] == ["a", "c"]
    assert why is None


TEXT = scripts.example(1, 3, source="A source.")
THREE = [scripts.criterion(name) for name in "abc"]


@pytest.mark.parametrize("wrong", [0, 6, 4.5, -3, 1e9, "four", None, True, "", "[4]", [4], float("inf")])
async def test_a_score_that_the_scale_does_not_have_is_missing_and_no_number(wrong):
    judge = scripts.scripted(rate=lambda _: rating(wrong))
    (found,) = await rate(TEXT, THREE[:1], scripts.assignment(), judge, "separately")
    assert found.score is None
    assert "unusable reply, also after one repair" in found.reason
    assert len(judge.prompts) == 2


TEXT_SCORE = scripts.example(1, 3)


def part(*weights: float, **chosen) -> Part:
    criteria = tuple(scripts.criterion(f"h{i:02d}", weight=weight) for i, weight in enumerate(weights, start=1))
    return Part(method="hypoeval", settings=HypoEvalSettings(**chosen).model_dump(mode="json"), criteria=criteria)


@pytest.mark.parametrize(
    ("weights", "scores", "expected"),
    [
        ((1, 1, 1), (5, 2, 4), pytest.approx(11 / 3, abs=1e-6)),
        ((1, 1), (4, None), 4),
        ((1, 1, 1), (4, None, None), None),
        ((1, 1, 1, 1, 1), (4, 2, None, None, None), None),
        ((1, 3), (4, None), None),
    ],
)
async def test_less_than_half_of_the_weight_gives_no_score(weights, scores, expected):
    judge = scripts.rating_by(**{f"h{number:02d}": given_ for number, given_ in enumerate(scores, start=1)})
    value, ratings = await score(TEXT_SCORE, part(*weights), scripts.assignment(), judge)
    assert value == expected
    assert [(each.score, each.reason) for each in ratings] == [
        (given_, "the server is busy" if given_ is None else f"Worth {given_}.") for given_ in scores
    ]


async def test_the_published_behaviour_asks_about_every_pair_inside_each_of_the_two_banks():
    learned, judge, _ = await run(procedure="paper", bank_size=16)
    early = ("reward below", "neither among")
    trimmed = {d.criterion.id for d in learned.part.dropped if d.reason.startswith(early)}
    literature = {c.id for c in everybody(learned) if c.evidence.origin == "literature"}
    others = {c.id for c in everybody(learned)} - literature - trimmed
    expected = [frozenset(pair) for bank in (literature, others) for pair in itertools.combinations(bank, 2)]
    asked = [frozenset(entry["id"] for entry in p.fields["entries"]) for p in scripts.of_kind(judge, "group")]
    assert Counter(asked) == Counter(expected)
    assert len(others) > 3


async def test_the_usual_settings_take_at_most_700_requests_about_thirty_texts_and_ask_nothing_twice():
    judge = scripts.scripted()
    learned = await scripts.learn("hypoeval", scripts.examples(30), judge=judge, given={"findings": scripts.findings()})
    assert len(learned.part.criteria) == 5
    assert len(judge.prompts) <= 700
    assert max(Counter(str(render(prompt)) for prompt in judge.prompts).values()) == 1


async def test_hopeless_hypotheses_leave_in_two_rounds_and_are_not_asked_about_again():
    learned, judge, _ = await run(bank_size=8, selected=1)
    left = [d for d in learned.part.dropped if d.reason.startswith("tracked the labels too little")]
    # 8 in the union; three selections' worth stay after a quarter of the texts, two after half of them.
    assert Counter(d.reason for d in left) == {
        "tracked the labels too little when 4 texts were rated by the bank": 5,
        "tracked the labels too little when 7 texts were rated by the bank": 1,
    }
    assert len(learned.candidates) == 2
    texts = [text.output for text in order_of(learned)]
    literature = [d for d in left if d.criterion.evidence.origin == "literature"]
    assert literature
    for dropped in literature:
        rated = [output for statement, output in questions(judge) if statement == dropped.criterion.statement]
        assert rated == texts[: 4 if "when 4" in dropped.reason else 7]


async def test_literature_alone_without_any_is_the_user_s_to_mend():
    with pytest.raises(SettingsError, match="literature alone"):
        await run(sources="literature", found=())


def wrong_on(outputs):
    """Rate as the humans did, except for some texts."""
    return scripts.scripted(
        rate=lambda p: rating(label_of(p) + (-1.0 if label_of(p) > 1 else 1.0) * (p.fields["output"] in outputs))
    )


async def test_a_full_bank_of_wrong_examples_is_shown_to_the_generator_and_nothing_else():
    order = order_of((await run())[0])
    hard = [text.output for text in (order[4], order[5], order[9], order[11])]
    learned, _, generator = await run(judge=wrong_on(hard))
    shown = [seen_texts(p) for p in scripts.of_kind(generator, "propose")]
    assert shown == [[text.output for text in order[:3]], hard[:3], []]
    refill = scripts.of_kind(generator, "propose")[1]
    assert (refill.fields["count"], refill.fields["findings"]) == (2, [])
    from_wrong = [c for c in everybody(learned) if c.evidence.refined]
    assert {c.evidence.examples for c in from_wrong} == {tuple(order[place].id for place in (4, 5, 9))}


async def test_every_further_text_is_rated_by_the_k_of_the_highest_reward():
    # Of the three first hypotheses the second is always wrong; without exploration it is not asked any more.
    def script(prompt):
        label = label_of(prompt)
        return rating(6 - label if prompt.fields["criteria"][0]["trait"] == "trait 0.1" and label != 3 else label)

    learned, judge, _ = await run(judge=scripts.scripted(rate=script), sources="labels", k=2, alpha=0, wrong_bank=50)
    asked = [(p.fields["output"], p.fields["criteria"][0]["trait"]) for p in scripts.of_kind(judge, "rate")]
    outputs = [text.output for text in order_of(learned)]
    first, further = asked[:9], asked[9 : 9 + 2 * 11]
    assert Counter(first) == Counter(itertools.product(outputs[:3], ["trait 0.0", "trait 0.1", "trait 0.2"]))
    assert further == [(output, trait) for output in outputs[3:] for trait in ("trait 0.0", "trait 0.2")]


@pytest.mark.parametrize(
    ("procedure", "rounds", "found", "expected"),
    [
        ("paper", 6, scripts.findings(), ["texts", "literature"] * 3),
        # The proposals come from these texts.
        ("improved", 6, scripts.findings(), ["literature"] * 3),
        ("improved", 6, (), []),
        ("published", 3, scripts.findings(), ["literature", "texts", "literature"]),
    ],
)
async def test_refinement_takes_labels_and_literature_in_turn(procedure, rounds, found, expected):
    order = order_of((await run(procedure=procedure))[0])
    hard = [text.output for text in order[3:6]]
    _, _, generator = await run(judge=wrong_on(hard), refine_rounds=rounds, procedure=procedure, found=found)
    shown = {"texts": (hard, 0), "literature": ([], 2)}
    refined = [(seen_texts(p), len(p.fields["findings"])) for p in scripts.of_kind(generator, "refine")]
    assert refined == [shown[name] for name in expected]


async def test_failed_ratings_are_missing_and_counted_and_never_numbers():
    def script(prompt):
        if int(prompt.fields["output"].removesuffix(".").split()[-1]) % 4 == 0:
            raise JudgeUnavailable("busy")
        return rating(scripts.drawn_rating(prompt, prompt.fields["criteria"][0]["trait"]))

    learned, judge, _ = await run(judge=scripts.scripted(rate=script), drop_hopeless=False)
    failed = [place for place, name in enumerate(learned.examples) if int(name[1:]) % 4 == 0]
    assert np.isnan(learned.matrix[failed]).all()
    assert not np.isnan(np.delete(learned.matrix, failed, axis=0)).any()
    assert np.isnan(learned.scores[failed]).all()
    for each in learned.part.criteria:
        assert (each.evidence.judged, each.evidence.missing) == (10, 4)
    assert set(questions(judge).values()) == {1}


async def test_too_few_ratings_for_any_hypothesis_end_learning():
    def script(prompt):
        return rating(3) if prompt.fields["output"] in (TEXTS[0].output, TEXTS[1].output) else "no"

    with pytest.raises(JudgeError, match="at least half of the 14 texts"):
        await run(judge=scripts.scripted(rate=script))


async def test_a_generator_that_fails_at_one_refill_is_survived():
    script, refused = scripts.Scripted(), []

    def propose(prompt):
        if prompt.fields["count"] == 2 and seen_texts(prompt) in (refused or [seen_texts(prompt)]):
            refused.append(seen_texts(prompt))
            return "I cannot."
        return script(prompt)

    judge = scripts.scripted(rate=lambda p: rating(6 - label_of(p) if label_of(p) != 3 else 1))
    learned, _, _ = await run(judge=judge, generator=scripts.scripted(propose=propose))
    by_output = {text.output: text.id for text in TEXTS}
    first = tuple(by_output[output] for output in refused[0])
    assert refused == [refused[0]] * 6  # three samples, each with a repair
    refilled = {c.evidence.examples for c in everybody(learned) if c.evidence.refined}
    assert len(refilled) == 2
    assert first not in refilled


def preset(name: str) -> HypoEvalSettings:
    found = choose_settings(HypoEvalSettings, PRESETS, {"preset": name})
    assert isinstance(found, HypoEvalSettings)
    return found


def named(prefix: str, count: int) -> list:
    return [scripts.criterion(f"{prefix}{number}") for number in range(count)]


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
    arm = learn.Arm("h")
    for error in (0, 1, 2, 0, 1):
        arm = arm.after_visit(learn.utility(5 - error, 5, ONE_TO_FIVE), 5)
    # A failed rating teaches nothing.
    assert arm.after_visit(None, 7) is arm
    assert learn.reward(arm, 5, 0.5, "improved") == pytest.approx(0.925 + 0.283676, abs=1e-6)
    assert learn.reward(arm, 30, 0.5, "improved") == pytest.approx(0.925 + 0.412383, abs=1e-6)
    # Only hypotheses that are visited get a new reward: the others keep the bonus of their last visit.
    assert learn.reward(arm, 30, 0.5, "paper") == pytest.approx(0.925 + 0.283676, abs=1e-6)


@pytest.mark.parametrize(
    ("procedure", "ranked", "literature", "expected"),
    [
        # In the paper, up to 10 hypotheses of each kind are drawn for a bank of 20 (H_max).
        ("paper", 12, 20, {"l": 10, "p": 10}),
        ("paper", 4, 20, {"l": 4, "p": 10}),
        # In the paper's code, hypotheses from literature fill the places that ranked hypotheses leave.
        ("published", 12, 20, {"l": 10, "p": 10}),
        ("published", 4, 20, {"l": 4, "p": 16}),
        ("improved", 12, 20, {"l": 10, "p": 10}),
        # Hypotheses of a single kind fill the whole bank.
        *((procedure, 25, 0, {"l": 20}) for procedure in ("improved", "paper", "published")),
        *((procedure, 0, 25, {"p": 20}) for procedure in ("improved", "paper", "published")),
    ],
)
def test_the_final_bank_has_both_kinds(procedure, ranked, literature, expected):
    kept = learn.final_bank(named("l", ranked), named("p", literature), 20, procedure, random.Random(1))
    assert Counter(each.id[0] for each in kept) == expected
    if procedure != "paper":
        best = [each for each in kept if each.id[0] == "l"]
        assert [each.id for each in best] == [f"l{number}" for number in range(len(best))]

"""Learning as a whole, against judges that answer by script."""

import itertools
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypoeval_scripts import (
    ASPECT,
    Scripted,
    assignment,
    drawn_rating,
    example,
    examples,
    findings,
    lesson,
    of_kind,
    proposal,
    rating,
    scripted,
)

from rubriclab.data import Example, Scale
from rubriclab.digest import digest
from rubriclab.errors import JudgeError, JudgeUnavailable, SettingsError
from rubriclab.judges import FakeJudge
from rubriclab.methods.hypoeval import HypoEvalSettings
from rubriclab.methods.hypoeval.learn import _Study, learn
from rubriclab.methods.hypoeval.settings import PUBLISHED
from rubriclab.methods.method import Learned, Lesson, chosen_settings, silent

TEXTS = examples(14)
SMALL = {
    "initial_examples": 3,
    "initial_hypotheses": 3,
    "k": 4,
    "wrong_bank": 3,
    "new_hypotheses": 2,
    "refine_rounds": 3,
    "bank_size": 8,
    "selected": 2,
}


async def run(
    texts=TEXTS, *, judge=None, generator=None, found=None, scale=None, seed=1, say=silent, **chosen
) -> tuple[Learned, FakeJudge, FakeJudge]:
    """Learn with small settings, except for those chosen, and return the result with the two judges."""
    judge, generator = judge or scripted(), generator or scripted()
    found = findings() if found is None else found
    learned = await learn(
        Lesson(tuple(texts), assignment(scale) if scale else assignment(), tuple(found)),
        HypoEvalSettings(**{**SMALL, **chosen}),
        judge=judge,
        generator=generator,
        seed=seed,
        say=say,
    )
    return learned, judge, generator


def label_of(prompt, texts=TEXTS) -> float:
    return next(text.scores[ASPECT] for text in texts if text.output == prompt.fields["output"])


def everybody(learned: Learned):
    return [*learned.part.criteria, *(dropped.criterion for dropped in learned.part.dropped)]


def questions(judge: FakeJudge) -> Counter:
    """Count how often each rating was asked for, repairs aside."""
    return Counter(
        (c["statement"], p.fields["output"])
        for p in judge.asked
        if p.name.startswith("hypoeval/rate") and p.repair is None
        for c in p.fields["criteria"]
    )


def seen_texts(prompt) -> list[str]:
    return [item["output"] for item in prompt.fields["observations"]]


def order_of(learned: Learned) -> list[Example]:
    by_id = {text.id: text for text in TEXTS}
    return [by_id[name] for name in learned.examples]


# What is asked, and how much


@pytest.mark.parametrize(
    "chosen",
    [{}, {"ask": "together"}, {"redundancy": "every_pair", "drop_hopeless": False, "union": "random"}],
    ids=str,
)
async def test_no_rating_is_asked_for_twice(chosen):
    _, judge, _ = await run(**chosen)
    assert set(questions(judge).values()) == {1}


@pytest.mark.parametrize("seed", [0, 1, 2])
async def test_the_paper_s_settings_take_at_most_700_calls_with_unlike_hypotheses_and_random_ratings(seed):
    judge, generator = scripted(seed), scripted(seed)
    texts = examples(30, seed=seed)
    settings = HypoEvalSettings()
    learned = await learn(lesson(texts), settings, judge=judge, generator=generator, seed=42)
    assert len(judge.asked) + len(generator.asked) <= 700
    assert len(learned.part.criteria) == settings.selected
    assert set(questions(judge).values()) == {1}


async def test_the_published_behaviour_takes_more_calls_than_the_default():
    texts, calls = examples(30), {}
    for preset in ({}, {"preset": "published"}):
        judge, generator = scripted(), scripted()
        settings = chosen_settings(HypoEvalSettings, PUBLISHED, preset)
        await learn(lesson(texts), settings, judge=judge, generator=generator, seed=42)
        calls[preset.get("preset")] = len(judge.asked) + len(generator.asked)
    assert calls[None] < 0.75 * calls["published"]


async def test_the_published_behaviour_asks_about_every_pair_inside_each_of_the_two_banks():
    learned, judge, _ = await run(redundancy="every_pair", union="random")
    trimmed = {d.criterion.id for d in learned.part.dropped if d.reason.startswith("reward below")}
    literature = {c.id for c in everybody(learned) if c.evidence.origin == "literature"}
    others = {c.id for c in everybody(learned)} - literature - trimmed
    expected = [frozenset(pair) for bank in (literature, others) for pair in itertools.combinations(bank, 2)]
    asked = [frozenset((p.fields["candidate"]["id"], p.fields["others"][0]["id"])) for p in of_kind(judge, "redundant")]
    assert Counter(asked) == Counter(expected)
    assert len(others) > 3


async def test_unlike_hypotheses_raise_no_question_of_redundancy():
    _, judge, _ = await run()
    assert of_kind(judge, "redundant") == []


async def test_redundancy_is_looked_for_across_the_union():
    generator = scripted(propose=lambda p: proposal("a", "b") if p.fields["observations"] else proposal("b", "c"))
    learned, _, _ = await run(generator=generator, wrong_bank=50)
    reasons = {d.criterion.id: d.reason for d in learned.part.dropped}
    assert reasons["h03"] == "worded like h02 (100 of 100 in common)"


async def test_the_bank_never_holds_more_than_its_size(monkeypatch):
    study, sizes = _Study, []
    original = study._is_hard

    def watched(self, text, top, step):
        sizes.append(len(self.bank.alive))
        return original(self, text, top, step)

    monkeypatch.setattr(study, "_is_hard", watched)
    for chosen in ({"bank_size": 4}, {"bank_size": 4, "initial_hypotheses": 9}, {"bank_size": 1}):
        learned, _, _ = await run(**chosen)
        assert len(learned.candidates) <= chosen["bank_size"]
        assert max(sizes) == chosen["bank_size"]
        sizes.clear()


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


async def test_without_early_rejection_the_whole_bank_is_rated_on_all_texts():
    learned, _, _ = await run(drop_hopeless=False)
    assert len(learned.candidates) == 8
    assert not np.isnan(learned.matrix).any()


# Sources


async def test_labels_alone_show_no_finding_to_anybody():
    learned, _, generator = await run(sources="labels")
    assert all(p.fields["findings"] == [] and p.fields["observations"] for p in generator.asked)
    assert {c.evidence.origin for c in everybody(learned)} == {"labels"}


async def test_literature_alone_asks_for_one_bank_of_hypotheses_and_shows_no_label():
    learned, judge, generator = await run(sources="literature")
    (prompt,) = generator.asked
    assert (prompt.name, prompt.fields["count"]) == ("hypoeval/propose", 8)
    assert prompt.fields["observations"] == []
    assert prompt.fields["findings"] == [finding.claim for finding in findings()]
    assert {c.evidence.origin for c in everybody(learned)} == {"literature"}
    assert all(c.evidence.rewards == () for c in everybody(learned))
    assert len(judge.asked) <= 8 * len(TEXTS)


async def test_prior_knowledge_shows_neither_labels_nor_literature():
    learned, judge, generator = await run(sources="prior knowledge")
    (prompt,) = generator.asked
    assert prompt.fields["count"] == 2
    assert prompt.fields["observations"] == prompt.fields["findings"] == []
    assert {c.evidence.origin for c in everybody(learned)} == {"prior knowledge"}
    assert len(judge.asked) == 2 * len(TEXTS)


async def test_both_sources_add_half_a_bank_from_literature_alone():
    learned, _, generator = await run()
    alone = [p for p in of_kind(generator, "propose") if not p.fields["observations"]]
    assert [p.fields["count"] for p in alone] == [4]
    origins = Counter(c.evidence.origin for c in everybody(learned))
    assert origins["literature"] == 4
    assert origins["labels and literature"] >= 3


async def test_findings_are_optional():
    learned, _, generator = await run(found=())
    assert all(p.fields["findings"] == [] for p in generator.asked)
    assert learned.part.criteria


async def test_literature_alone_without_any_is_the_user_s_to_mend():
    with pytest.raises(SettingsError, match="literature alone"):
        await run(sources="literature", found=())


async def test_each_half_of_the_union_is_filled_from_its_own_bank():
    for union in ("reward", "random"):
        learned, _, _ = await run(union=union, drop_hopeless=False)
        origins = Counter(c.evidence.origin == "literature" for c in everybody(learned) if c.id in learned.candidates)
        assert origins == {True: 4, False: 4}


async def test_a_union_by_reward_leaves_out_the_least_rewarded():
    learned, _, _ = await run(union="reward", drop_hopeless=False)
    homeless = [d.criterion for d in learned.part.dropped if d.reason == "no place in the final bank of 8"]
    kept = [c for c in everybody(learned) if c.id in learned.candidates and c.evidence.origin != "literature"]

    def reward(criterion):
        last = criterion.evidence.rewards[-1]
        return last.utility + 0.5 * np.sqrt(np.log(len(TEXTS)) / last.visits)

    assert homeless
    assert max(map(reward, homeless)) <= min(map(reward, kept)) + 1e-6


# Ways of asking


async def test_asking_together_takes_fewer_calls_for_the_same_ratings():
    _, apart, _ = await run()
    learned, together, _ = await run(ask="together")
    assert len(together.asked) < len(apart.asked) / 2
    assert learned.part.settings["ask"] == "together"


async def test_the_concatenated_rubric_is_learned_criterion_by_criterion_and_measured_by_its_one_overall_score():
    judge = scripted(rate=lambda p: rating(label_of(p) if len(p.fields["criteria"]) > 1 else drawn_rating(p, "x")))
    learned, _, _ = await run(judge=judge, ask="concatenated", positive_only=False)
    sizes = Counter(len(p.fields["criteria"]) for p in of_kind(judge, "rate"))
    assert sizes[2] == len(TEXTS)
    assert set(sizes) == {1, 2}
    assert list(learned.scores) == [text.scores[ASPECT] for text in order_of(learned)]


async def test_scores_are_what_scoring_would_give():
    learned, _, _ = await run()
    columns = [learned.candidates.index(c.id) for c in learned.part.criteria]
    np.testing.assert_allclose(learned.scores, learned.matrix[:, columns].mean(axis=1), atol=1e-6)


# Wrong examples and refinement


def wrong_on(outputs):
    """Rate as the humans did, except for some texts."""
    return scripted(
        rate=lambda p: rating(label_of(p) + (-1.0 if label_of(p) > 1 else 1.0) * (p.fields["output"] in outputs))
    )


async def test_a_full_bank_of_wrong_examples_is_shown_to_the_generator_and_nothing_else():
    order = order_of((await run())[0])
    hard = [text.output for text in (order[4], order[5], order[9], order[11])]
    learned, _, generator = await run(judge=wrong_on(hard))
    shown = [seen_texts(p) for p in of_kind(generator, "propose")]
    assert shown == [[text.output for text in order[:3]], hard[:3], []]
    refill = of_kind(generator, "propose")[1]
    assert (refill.fields["count"], refill.fields["findings"]) == (2, [])
    from_wrong = [c for c in everybody(learned) if c.evidence.refined]
    assert {c.evidence.examples for c in from_wrong} == {tuple(order[place].id for place in (4, 5, 9))}


async def test_a_judge_that_is_right_needs_no_new_hypotheses():
    _, _, generator = await run(judge=wrong_on([]))
    assert [len(seen_texts(p)) for p in of_kind(generator, "propose")] == [3, 0]
    assert of_kind(generator, "refine") == []


async def test_every_further_text_is_rated_by_the_k_of_the_highest_reward():
    # Of the three first hypotheses the second is always wrong; without exploration it is not asked any more.
    def script(prompt):
        label = label_of(prompt)
        return rating(6 - label if prompt.fields["criteria"][0]["trait"] == "trait 0.1" and label != 3 else label)

    learned, judge, _ = await run(judge=scripted(rate=script), sources="labels", k=2, alpha=0, wrong_bank=50)
    asked = [(p.fields["output"], p.fields["criteria"][0]["trait"]) for p in of_kind(judge, "rate")]
    outputs = [text.output for text in order_of(learned)]
    first, further = asked[:9], asked[9 : 9 + 2 * 11]
    assert Counter(first) == Counter(itertools.product(outputs[:3], ["trait 0.0", "trait 0.1", "trait 0.2"]))
    assert further == [(output, trait) for output in outputs[3:] for trait in ("trait 0.0", "trait 0.2")]


async def test_exploration_brings_back_who_was_rated_little():
    def visits(learned):
        return sorted(len(c.evidence.rewards) for c in everybody(learned))

    bold, _, _ = await run(sources="labels", k=1, alpha=5, wrong_bank=50)
    greedy, _, _ = await run(sources="labels", k=1, alpha=0, wrong_bank=50, judge=wrong_on([]))
    assert visits(bold) == [6, 7, 7]
    assert visits(greedy) == [3, 3, 14]


async def test_what_one_of_the_best_misses_counts_early_and_not_late():
    # One of three hypotheses is always wrong, which makes a text hard while w_hyp is below 1; from the seventh text on,
    # when five hypotheses are there, at least 5 * 0.8 * 6 / 14 = 1.7 have to be wrong.
    def script(prompt):
        label = label_of(prompt)
        off = prompt.fields["criteria"][0]["trait"] == "trait 0.0"
        return rating(label if not off else label - 1 if label > 1 else label + 1)

    learned, _, generator = await run(judge=scripted(rate=script), found=(), wrong_bank=3, k=10)
    order = [text.output for text in order_of(learned)]
    assert [seen_texts(p) for p in of_kind(generator, "propose")][1:] == [order[3:6]]


@pytest.mark.parametrize(("wrong", "refills"), [(False, 0), (True, 3)])
async def test_with_a_share_of_0_one_wrong_hypothesis_makes_a_text_hard_and_none_does_not(wrong, refills):
    def script(prompt):
        off = wrong and prompt.fields["criteria"][0]["trait"] == "trait 0.0"
        return rating(label_of(prompt) % 5 + 1 if off else label_of(prompt))

    _, _, generator = await run(judge=scripted(rate=script), sources="labels", wrong_share=0, k=20)
    assert len(of_kind(generator, "propose")) == 1 + refills


async def test_a_text_whose_ratings_fail_is_not_taken_for_a_hard_one():
    order = order_of((await run())[0])
    unrated = {text.output for text in order[3:9]}
    judge = scripted(rate=lambda p: "no" if p.fields["output"] in unrated else rating(label_of(p)))
    _, _, generator = await run(judge=judge, sources="labels")
    assert len(of_kind(generator, "propose")) == 1


async def test_refinement_takes_labels_and_literature_in_turn_from_the_wrong_examples_on():
    order = order_of((await run())[0])
    hard = [text.output for text in order[3:6]]
    _, _, generator = await run(judge=wrong_on(hard), refine_rounds=6)
    rounds = [(seen_texts(p), len(p.fields["findings"])) for p in of_kind(generator, "refine")]
    assert rounds == [(hard, 0), ([], 2)] * 3


async def test_the_published_code_s_refinement_begins_with_literature():
    order = order_of((await run())[0])
    hard = [text.output for text in order[3:6]]
    _, _, generator = await run(judge=wrong_on(hard), refine_rounds=3, refine_first="literature")
    rounds = [(seen_texts(p), len(p.fields["findings"])) for p in of_kind(generator, "refine")]
    assert rounds == [([], 2), (hard, 0), ([], 2)]


async def test_every_refinement_starts_from_the_one_before():
    order = order_of((await run())[0])
    _, _, generator = await run(judge=wrong_on([text.output for text in order[3:6]]), refine_rounds=6)
    shown = [[h["trait"] for h in p.fields["hypotheses"]] for p in of_kind(generator, "refine")]
    assert len(shown) == 6
    assert all(before[0] != after[0] for before, after in itertools.pairwise(shown))


async def test_without_literature_refinement_has_the_rounds_of_the_labels_only():
    order = order_of((await run())[0])
    hard = [text.output for text in order[3:6]]
    learned, _, generator = await run(judge=wrong_on(hard), refine_rounds=6, found=())
    assert [seen_texts(p) for p in of_kind(generator, "refine")] == [hard] * 3
    assert max(c.evidence.refined for c in everybody(learned)) == 3


@pytest.mark.parametrize(("found", "rounds"), [((), 1), (findings(), 2)])
async def test_refinement_stops_when_neither_labels_nor_literature_change_anything(found, rounds):
    def same(prompt):
        return {"reasoning": "All fit.", "hypotheses": prompt.fields["hypotheses"]}

    order = order_of((await run())[0])
    generator = scripted(refine=same)
    await run(judge=wrong_on([t.output for t in order[3:6]]), generator=generator, refine_rounds=6, found=found)
    assert len(of_kind(generator, "refine")) == rounds


async def test_no_prompt_is_sent_twice():
    _, judge, generator = await run(refine_rounds=6)
    sent = Counter(
        digest([p.name, dict(p.fields), p.sample, p.repair is None]) for p in (*judge.asked, *generator.asked)
    )
    assert max(sent.values()) == 1


# Determinism


async def test_the_same_examples_in_another_order_give_the_same_part():
    first, *_ = await run()
    for seed in range(3):
        shuffled = list(TEXTS)
        random.Random(seed).shuffle(shuffled)
        again, *_ = await run(shuffled)
        assert again.part == first.part
        assert digest(again.part.model_dump(mode="json")) == digest(first.part.model_dump(mode="json"))
        assert again.examples == first.examples
        np.testing.assert_array_equal(again.matrix, first.matrix)


async def test_a_seed_decides_the_order_in_which_texts_are_seen():
    orders = {(await run(seed=seed))[0].examples for seed in (42, 2, 114514)}
    assert len(orders) == 3
    assert {tuple(sorted(order)) for order in orders} == {tuple(text.id for text in TEXTS)}


@pytest.mark.parametrize("union", ["reward", "random"])
async def test_ties_are_broken_alike_every_time(union):
    def tied():
        return scripted(rate=lambda _: rating(3))

    first, *_ = await run(judge=tied(), union=union)
    again, *_ = await run(TEXTS[::-1], judge=tied(), union=union)
    assert first.part == again.part
    assert all(c.evidence.pearson is None for c in first.part.criteria)
    assert len(first.part.criteria) == 2


async def test_only_the_labels_of_the_aspect_are_looked_at():
    first, *_ = await run()
    others = [replace(text, scores={**text.scores, "fluency": 1.0}, annotations={ASPECT: (1.0, 5.0)}) for text in TEXTS]
    assert (await run(others))[0].part == first.part


# Evidence


async def test_a_correlation_is_numpy_s_over_all_ratings_there_are():
    learned, judge, _ = await run()
    labels = {text.output: text.scores[ASPECT] for text in TEXTS}
    for criterion in everybody(learned):
        rated = [output for statement, output in questions(judge) if statement == criterion.statement]
        scores = [
            drawn_rating(p, criterion.trait)
            for p in of_kind(judge, "rate")
            if p.fields["criteria"][0]["statement"] == criterion.statement
        ]
        evidence = criterion.evidence
        assert (evidence.judged, evidence.missing) == (len(rated), 0)
        if len(rated) < 5 or len(set(scores)) == 1:
            assert evidence.pearson is None
        else:
            expected = np.corrcoef(scores, [labels[output] for output in rated])[0, 1]
            assert evidence.pearson == pytest.approx(expected, abs=1e-6)


async def test_the_kept_are_those_of_the_best_correlation_best_first():
    learned, *_ = await run(selected=3)
    kept = [c.evidence.pearson for c in learned.part.criteria]
    final = [
        d.criterion.evidence.pearson
        for d in learned.part.dropped
        if d.reason == "not among the 3 that track the labels best"
    ]
    assert kept == sorted(kept, reverse=True)
    assert final
    assert max(final) <= min(kept)


async def test_rewards_follow_the_way_through_the_bandit():
    learned, *_ = await run()
    from_labels = [c for c in everybody(learned) if c.evidence.origin != "literature"]
    for criterion in from_labels:
        points = criterion.evidence.rewards
        assert [p.visits for p in points] == list(range(1, len(points) + 1))
        assert [p.step for p in points] == sorted(p.step for p in points)
        assert all(0 <= p.utility <= 1 and p.bonus >= 0 for p in points)
    first = [c for c in from_labels if not c.evidence.refined]
    assert all([p.step for p in c.evidence.rewards][:3] == [3, 3, 3] for c in first)
    assert any(len(c.evidence.rewards) > 3 for c in first)
    assert all(not c.evidence.rewards for c in everybody(learned) if c.evidence.origin == "literature")


async def test_the_last_reward_is_the_mean_utility_of_the_ratings_seen():
    learned, *_ = await run(judge=scripted(rate=lambda _: rating(3)))
    order = order_of(learned)
    (first,) = [c for c in everybody(learned) if c.id == "h01"]
    visits = len(first.evidence.rewards)
    mean = np.mean([1 - (3 - text.scores[ASPECT]) ** 2 / 16 for text in order[:3]])
    assert visits >= 3
    assert first.evidence.rewards[2].utility == pytest.approx(mean, abs=1e-6)
    assert first.evidence.rewards[2].bonus == pytest.approx(0.5 * np.sqrt(np.log(3) / 3), abs=1e-6)


async def test_examples_and_findings_that_proposed_are_named():
    learned, *_ = await run()
    initial = tuple(text.id for text in order_of(learned)[:3])
    known = {c.id: c.evidence for c in everybody(learned)}
    assert all(known[name].examples == initial for name in ("h01", "h02", "h03"))
    assert all(known[name].findings == ("f0", "f1") for name in ("h01", "h02", "h03"))


async def test_nobody_is_lost_and_every_dropped_hypothesis_has_its_reason():
    learned, _, generator = await run()
    ids = [c.id for c in everybody(learned)]
    assert len(ids) == len(set(ids))
    count = sum(p.fields["count"] for p in of_kind(generator, "propose"))
    assert sorted(ids) == [f"h{i:02d}" for i in range(1, count + 1)]
    assert all(d.reason.strip() for d in learned.part.dropped)
    assert set(learned.candidates) == {c.id for c in learned.part.criteria} | {
        d.criterion.id for d in learned.part.dropped if d.reason.startswith("not among")
    }


async def test_the_part_holds_the_settings_it_was_learned_with():
    learned, *_ = await run(alpha=0.75)
    assert HypoEvalSettings.model_validate(learned.part.settings) == HypoEvalSettings(**{**SMALL, "alpha": 0.75})


async def test_no_positive_hypothesis_keeps_the_least_bad():
    judge = scripted(rate=lambda p: rating(6 - label_of(p)))
    learned, *_ = await run(judge=judge)
    assert len(learned.part.criteria) == 2
    assert all(c.evidence.pearson == pytest.approx(-1) for c in learned.part.criteria)


# Scales


@pytest.mark.parametrize(
    "scale",
    [
        Scale(low=0, high=1, whole=True),
        Scale(low=0, high=1, whole=False),
        Scale(low=1, high=3, whole=True),
        Scale(low=0, high=100, whole=False),
        Scale(low=0.1, high=0.9, whole=False),
    ],
    ids=Scale.describe,
)
async def test_every_level_stands_at_an_anchor_of_the_scale(scale: Scale):
    judge = scripted(rate=lambda p: rating(random.Random(p.fields["output"]).choice([scale.low, scale.high])))
    learned, *_ = await run(examples(14, scale), scale=scale, judge=judge)
    for criterion in everybody(learned):
        assert tuple(level.score for level in criterion.levels) == scale.anchors()
    assert np.nanmin(learned.matrix) >= scale.low
    assert np.nanmax(learned.matrix) <= scale.high


async def test_learning_is_the_same_on_a_stretched_scale():
    # Ten times the labels on ten times the scale: every utility, threshold and correlation stays.
    wide = Scale(low=10, high=50, whole=True)
    stretched = [replace(text, scores={ASPECT: 10 * text.scores[ASPECT]}) for text in TEXTS]

    def script(prompt):
        lot = random.Random(prompt.fields["criteria"][0]["trait"] + prompt.fields["output"]).randint(1, 5)
        return rating(lot * prompt.fields["scale"]["low"])

    first, *_ = await run(judge=scripted(rate=script))
    again, *_ = await run(stretched, scale=wide, judge=scripted(rate=script))
    assert [c.trait for c in again.part.criteria] == [c.trait for c in first.part.criteria]
    assert [c.evidence for c in again.part.criteria] == [c.evidence for c in first.part.criteria]
    assert [d.reason for d in again.part.dropped] == [d.reason for d in first.part.dropped]


# Failures


async def test_failed_ratings_are_missing_and_counted_and_never_numbers():
    def script(prompt):
        if int(prompt.fields["output"].removesuffix(".").split()[-1]) % 4 == 0:
            raise JudgeUnavailable("busy")
        return rating(drawn_rating(prompt, prompt.fields["criteria"][0]["trait"]))

    learned, judge, _ = await run(judge=scripted(rate=script), drop_hopeless=False)
    failed = [place for place, name in enumerate(learned.examples) if int(name[1:]) % 4 == 0]
    assert np.isnan(learned.matrix[failed]).all()
    assert not np.isnan(np.delete(learned.matrix, failed, axis=0)).any()
    assert np.isnan(learned.scores[failed]).all()
    for criterion in learned.part.criteria:
        assert (criterion.evidence.judged, criterion.evidence.missing) == (10, 4)
        assert len(criterion.evidence.rewards) <= 10
    assert set(questions(judge).values()) == {1}


async def test_a_hypothesis_whose_ratings_mostly_fail_is_not_kept():
    def script(prompt):
        trait = prompt.fields["criteria"][0]["trait"]
        if trait in ("a", "b") and int(prompt.fields["output"].removesuffix(".").split()[-1]) % 3:
            return "I would rather not say."
        return rating(label_of(prompt) if trait in ("a", "b") else drawn_rating(prompt, trait))

    generator = scripted(propose=lambda _: proposal("a", "b", "c", "d"))
    learned, *_ = await run(
        judge=scripted(rate=script), generator=generator, sources="prior knowledge", selected=4, positive_only=False
    )
    assert {c.trait for c in learned.part.criteria} == {"c", "d"}


async def test_a_judge_that_answers_nothing_ends_learning():
    with pytest.raises(JudgeError, match="no usable rating for any training text"):
        await run(judge=scripted(rate=lambda _: "no"))


async def test_too_few_ratings_for_any_hypothesis_end_learning():
    def script(prompt):
        return rating(3) if prompt.fields["output"] in (TEXTS[0].output, TEXTS[1].output) else "no"

    with pytest.raises(JudgeError, match="at least half of the 14 texts"):
        await run(judge=scripted(rate=script))


async def test_a_generator_that_never_answers_ends_learning_with_its_reason():
    with pytest.raises(JudgeError, match=r"No hypothesis could be obtained: .*no complete JSON object"):
        await run(generator=scripted(propose=lambda _: "I cannot."))


async def test_a_generator_that_fails_at_the_start_and_without_literature_ends_learning():
    generator = scripted(propose=lambda _: "I cannot.")
    with pytest.raises(JudgeError):
        await run(generator=generator, found=())
    assert {len(seen_texts(p)) for p in generator.asked} == {3}


async def test_a_generator_that_fails_at_one_refill_is_survived():
    script, refused = Scripted(), []

    def propose(prompt):
        if prompt.fields["count"] == 2 and seen_texts(prompt) in (refused or [seen_texts(prompt)]):
            refused.append(seen_texts(prompt))
            return "I cannot."
        return script(prompt)

    judge = scripted(rate=lambda p: rating(6 - label_of(p) if label_of(p) != 3 else 1))
    learned, _, _ = await run(judge=judge, generator=scripted(propose=propose))
    by_output = {text.output: text.id for text in TEXTS}
    first = tuple(by_output[output] for output in refused[0])
    assert refused == [refused[0]] * 6  # three samples, each with a repair
    refilled = {c.evidence.examples for c in everybody(learned) if c.evidence.refined}
    assert len(refilled) == 2
    assert first not in refilled


async def test_wrong_examples_of_a_failed_refill_are_not_shown_again():
    judge = scripted(rate=lambda p: rating(6 - label_of(p) if label_of(p) != 3 else 1))
    script = Scripted()
    generator = scripted(propose=lambda p: "no" if p.fields["count"] == 2 else script(p))
    learned, _, generator = await run(judge=judge, generator=generator)
    refills = list(dict.fromkeys(tuple(seen_texts(p)) for p in of_kind(generator, "propose") if p.fields["count"] == 2))
    assert len(refills) == 3
    assert len(set(itertools.chain(*refills))) == 9
    assert len(everybody(learned)) == 3 + 4


# Odds and ends


async def test_fewer_texts_than_first_examples_are_all_first_examples():
    texts = [example(i, 1 + i % 5) for i in range(10)]
    learned, _, generator = await run(texts, initial_examples=50)
    assert len(seen_texts(generator.asked[0])) == 10
    assert learned.part.criteria


async def test_progress_rises_from_nothing_to_all():
    told = []
    await run(say=lambda doing, share: told.append((doing, share)))
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert all(doing for doing, _ in told)

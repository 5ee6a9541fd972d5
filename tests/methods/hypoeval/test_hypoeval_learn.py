"""Learning as a whole, against judges that answer by script: what is asked, of whom, and from what."""

import itertools
from collections import Counter

import pytest
from hypoeval_runs import TEXTS, everybody, label_of, order_of, questions, run, seen_texts
from hypoeval_scripts import (
    ASPECT,
    drawn_rating,
    examples,
    findings,
    of_kind,
    rating,
    scripted,
    training_input,
)

from rubriclab.errors import SettingsError
from rubriclab.methods.hypoeval.learn import _HypoEvalRun, learn
from rubriclab.methods.hypoeval.score import HypoEvalSettings

# What is asked, and how much


@pytest.mark.parametrize(
    "chosen",
    [{}, {"ask": "together"}, {"procedure": "paper", "drop_hopeless": False}],
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
    learned = await learn(training_input(texts), settings, judge=judge, generator=generator, seed=42)
    assert len(judge.prompts) + len(generator.prompts) <= 700
    assert len(learned.part.criteria) == settings.selected
    assert set(questions(judge).values()) == {1}


async def test_the_published_behaviour_asks_about_every_pair_inside_each_of_the_two_banks():
    learned, judge, _ = await run(procedure="paper", bank_size=16)
    early = ("reward below", "neither among")
    trimmed = {d.criterion.id for d in learned.part.dropped if d.reason.startswith(early)}
    literature = {c.id for c in everybody(learned) if c.evidence.origin == "literature"}
    others = {c.id for c in everybody(learned)} - literature - trimmed
    expected = [frozenset(pair) for bank in (literature, others) for pair in itertools.combinations(bank, 2)]
    asked = [frozenset(entry["id"] for entry in p.fields["entries"]) for p in of_kind(judge, "group")]
    assert Counter(asked) == Counter(expected)
    assert len(others) > 3


async def test_new_hypotheses_are_grouped_with_those_in_the_bank_before_anything_is_rated_by_them():
    learned, judge, generator = await run()
    refills = [p for p in of_kind(generator, "propose") if p.fields["tolerance"] is not None]
    *arrivals, union = of_kind(judge, "group")
    assert len(arrivals) == len(refills) > 1
    for refill, arrival in zip(refills, arrivals, strict=True):
        known = {each["id"] for each in refill.fields["known"]}
        shown = [entry["id"] for entry in arrival.fields["entries"]]
        new = [name for name in shown if name not in known]
        assert (set(shown) >= known, len(new)) == (True, refill.fields["count"])
        traits = {c.trait for c in everybody(learned) if c.id in new}
        before = judge.prompts[: judge.prompts.index(arrival)]
        assert not any(p.fields["criteria"][0]["trait"] in traits for p in before if p.name == "hypoeval/rate")
    assert len(union.fields["entries"]) > len(learned.candidates) - 1


async def test_a_new_hypothesis_that_repeats_one_in_the_bank_is_dropped_and_never_rated():
    def pair(prompt):
        shown = [entry["id"] for entry in prompt.fields["entries"]]
        twins = [name for name in ("h01", "h04") if name in shown]
        told = {"reason": "Compared.", "relation": "same", "members": twins, "best": twins[-1]}
        return {"groups": [told] if len(twins) == 2 else []}

    learned, judge, _ = await run(judge=scripted(group=pair))
    (twin,) = (d for d in learned.part.dropped if d.criterion.id == "h04")
    assert twin.reason == "says what h01 says: Compared."
    assert not any(p.fields["criteria"][0]["trait"] == twin.criterion.trait for p in of_kind(judge, "rate"))


async def test_a_wrong_text_shows_what_each_hypothesis_predicted_and_in_which_direction_it_missed():
    _, _, generator = await run()
    labels = {text.output: text.scores[ASPECT] for text in TEXTS}
    told = [item for p in of_kind(generator, "propose") for item in p.fields["observations"] if item["predictions"]]
    assert told
    assert {each["verdict"] for item in told for each in item["predictions"]} == {"too high", "too low", "close"}
    for item in told:
        for each in item["predictions"]:
            off = each["score"] - labels[item["output"]]
            assert each["verdict"] == ("close" if abs(off) <= 0.5 else "too high" if off > 0 else "too low")
        assert [each["id"] for each in item["predictions"]] == sorted(each["id"] for each in item["predictions"])


async def test_the_bank_never_holds_more_than_its_size(monkeypatch):
    study, sizes = _HypoEvalRun, []
    original = study._predicted

    def watched(self, text, top):
        sizes.append(len(self.bank.alive))
        return original(self, text, top)

    monkeypatch.setattr(study, "_predicted", watched)
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


# Sources


async def test_labels_alone_show_no_finding_to_anybody():
    learned, _, generator = await run(sources="labels")
    assert all(p.fields["findings"] == [] and p.fields["observations"] for p in generator.prompts)
    assert {c.evidence.origin for c in everybody(learned)} == {"labels"}


async def test_literature_alone_asks_for_one_bank_of_hypotheses_and_shows_no_label():
    learned, judge, generator = await run(sources="literature")
    (prompt,) = generator.prompts
    assert (prompt.name, prompt.fields["count"]) == ("hypoeval/propose", 8)
    assert prompt.fields["observations"] == []
    assert prompt.fields["findings"] == [finding.claim for finding in findings()]
    assert {c.evidence.origin for c in everybody(learned)} == {"literature"}
    assert len(judge.prompts) <= 8 * len(TEXTS)


async def test_prior_knowledge_shows_neither_labels_nor_literature():
    learned, judge, generator = await run(sources="prior knowledge")
    (prompt,) = generator.prompts
    assert prompt.fields["count"] == 2
    assert prompt.fields["observations"] == prompt.fields["findings"] == []
    assert {c.evidence.origin for c in everybody(learned)} == {"prior knowledge"}
    assert len(judge.prompts) == 2 * len(TEXTS)


async def test_literature_alone_without_any_is_the_user_s_to_mend():
    with pytest.raises(SettingsError, match="literature alone"):
        await run(sources="literature", found=())


async def test_each_half_of_the_union_is_filled_from_its_own_bank():
    for procedure in ("improved", "paper"):
        learned, _, _ = await run(procedure=procedure, drop_hopeless=False)
        origins = Counter(c.evidence.origin == "literature" for c in everybody(learned) if c.id in learned.candidates)
        assert origins == {True: 4, False: 4}


# Ways of asking


async def test_the_concatenated_rubric_is_learned_criterion_by_criterion_and_measured_by_its_one_overall_score():
    judge = scripted(rate=lambda p: rating(label_of(p) if len(p.fields["criteria"]) > 1 else drawn_rating(p, "x")))
    learned, _, _ = await run(judge=judge, ask="concatenated")
    sizes = Counter(len(p.fields["criteria"]) for p in of_kind(judge, "rate"))
    assert sizes[2] == len(TEXTS)
    assert set(sizes) == {1, 2}
    assert list(learned.scores) == [text.scores[ASPECT] for text in order_of(learned)]


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


async def test_a_text_whose_ratings_fail_is_not_taken_for_a_hard_one():
    order = order_of((await run())[0])
    unrated = {text.output for text in order[3:9]}
    judge = scripted(rate=lambda p: "no" if p.fields["output"] in unrated else rating(label_of(p)))
    _, _, generator = await run(judge=judge, sources="labels")
    assert len(of_kind(generator, "propose")) == 1


async def test_refinement_in_the_paper_takes_labels_and_literature_in_turn_from_the_wrong_examples_on():
    order = order_of((await run())[0])
    hard = [text.output for text in order[3:6]]
    _, _, generator = await run(judge=wrong_on(hard), refine_rounds=6, procedure="paper")
    rounds = [(seen_texts(p), len(p.fields["findings"])) for p in of_kind(generator, "refine")]
    assert rounds == [(hard, 0), ([], 2)] * 3


async def test_refinement_does_not_repeat_the_texts_that_the_hypotheses_were_proposed_from():
    order = order_of((await run())[0])
    hard = [text.output for text in order[3:6]]
    _, _, generator = await run(judge=wrong_on(hard), refine_rounds=6)
    assert [seen_texts(p) for p in of_kind(generator, "propose")][1] == hard
    rounds = [(seen_texts(p), len(p.fields["findings"])) for p in of_kind(generator, "refine")]
    assert rounds == [([], 2)] * 3


async def test_without_literature_proposals_are_not_refined():
    order = order_of((await run())[0])
    _, _, generator = await run(judge=wrong_on([text.output for text in order[3:6]]), refine_rounds=6, found=())
    assert len(of_kind(generator, "propose")) == 2
    assert of_kind(generator, "refine") == []


async def test_the_published_code_s_refinement_begins_with_literature():
    order = order_of((await run())[0])
    hard = [text.output for text in order[3:6]]
    _, _, generator = await run(judge=wrong_on(hard), refine_rounds=3, procedure="published")
    rounds = [(seen_texts(p), len(p.fields["findings"])) for p in of_kind(generator, "refine")]
    assert rounds == [([], 2), (hard, 0), ([], 2)]


@pytest.mark.parametrize(
    ("procedure", "found", "rounds"), [("paper", (), 1), ("paper", findings(), 2), ("improved", findings(), 1)]
)
async def test_refinement_stops_when_neither_labels_nor_literature_change_anything(procedure, found, rounds):
    def same(prompt):
        return {"reasoning": "All fit.", "hypotheses": prompt.fields["hypotheses"]}

    order = order_of((await run())[0])
    generator = scripted(refine=same)
    judge = wrong_on([t.output for t in order[3:6]])
    await run(judge=judge, generator=generator, refine_rounds=6, found=found, procedure=procedure)
    assert len(of_kind(generator, "refine")) == rounds

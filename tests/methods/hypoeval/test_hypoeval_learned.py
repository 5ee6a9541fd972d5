"""Learning as a whole, against judges that answer by script: what comes out, also where replies fail."""

import random

import numpy as np
import pytest
from hypoeval_runs import TEXTS, everybody, label_of, questions, run, seen_texts
from hypoeval_scripts import (
    ASPECT,
    Scripted,
    drawn_rating,
    examples,
    of_kind,
    rating,
    scripted,
)

from rubriclab.errors import JudgeError, JudgeUnavailable
from rubriclab.models.base import digest
from rubriclab.models.text import Scale

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


@pytest.mark.parametrize("procedure", ["improved", "paper"])
async def test_ties_are_broken_alike_every_time(procedure):
    def tied():
        return scripted(rate=lambda _: rating(3))

    first, *_ = await run(judge=tied(), procedure=procedure)
    again, *_ = await run(TEXTS[::-1], judge=tied(), procedure=procedure)
    assert first.part == again.part
    assert all(c.evidence.pearson is None for c in first.part.criteria)
    assert len(first.part.criteria) == 2


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
    assert set(questions(judge).values()) == {1}


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

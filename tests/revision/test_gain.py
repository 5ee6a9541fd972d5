"""What was gained over many texts."""

from dataclasses import replace
from hashlib import sha256

import pytest
from revision_scripts import TEXT, mended, scripted, sentence_rubric, verdicts

from rubriclab.data import RowError
from rubriclab.revision import ImproveSettings, improve_stream, revision_metrics, summarize_revisions

REF = "r@1"
OUTPUTS = (
    "All right.",
    "One wrong. Two wrong. Three right. Four right.",
    "One wrong. Two right.",
    "One hopeless wrong.",
    "One doubtful wrong. Two right.",
)
TEXTS = [replace(TEXT, id=f"t{place}", output=output, group=f"g{place % 2}") for place, output in enumerate(OUTPUTS)]


def writing(prompt):
    """Mend all but the hopeless."""
    return mended(prompt, good="wrong still" if "hopeless" in prompt.fields["sentences"][0]["text"] else "right")


async def found_in(rows, second=None, rounds=1):
    """Return the summary of improving these rows."""
    stream = improve_stream(
        sentence_rubric(),
        rows,
        scripted("first", rewrite=writing),
        REF,
        second_judge=second,
        settings=ImproveSettings(rounds=rounds),
    )
    return summarize_revisions(
        sentence_rubric(), REF, [revision_metrics(each) async for each in stream], "first", second and second.name
    )


def doubting():
    """Return a second judge that finds the doubtful good as it was."""
    return scripted("second", evaluate=lambda prompt: verdicts(prompt, bad="doubtful right"))


async def test_every_text_is_counted_once_and_sentences_where_they_changed():
    fault = RowError("f", 2, "output", "nothing", "a text", "t9")
    found = await found_in([*TEXTS, fault], doubting())
    assert found.texts == 6
    assert found.outcomes == {
        "improved": 2,
        "without fault": 1,
        "rejected by the judge": 1,
        "rejected by the second judge": 1,
        "no sentence at fault": 0,
        "no usable rewriting": 0,
        "unscored": 1,
        "unscored by the second judge": 0,
    }
    assert (found.changed, found.sentences) == (3, 10)


async def test_means_are_over_the_texts_with_both_scores():
    found = await found_in(TEXTS)
    assert (found.judge.name, found.judge.texts) == ("first", 5)
    assert found.second_judge_before_veto is found.second_judge_after_veto is None
    assert not any(found.first_rewritings.values())
    assert found.judge.before == pytest.approx((5 + 3 + 3 + 1 + 3) / 5)
    assert found.judge.after == pytest.approx((5 + 5 + 5 + 1 + 5) / 5)
    gain = found.judge.gain
    assert gain.value == pytest.approx(6 / 5)
    assert gain.low < gain.value < gain.high
    (criterion,) = found.criteria
    assert (criterion.name, criterion.gain.value) == ("score coherence", pytest.approx(6 / 5))


async def test_the_second_judge_s_gain_is_told_before_and_after_it_had_a_say():
    found = await found_in(TEXTS, doubting())
    before, after = found.second_judge_before_veto, found.second_judge_after_veto
    assert (before.name, before.texts, before.before, before.gain.value) == ("second", 3, 5, pytest.approx(-2 / 3))
    assert (after.name, after.texts, after.before, after.gain.value) == ("second", 5, 5, 0)
    assert found.first_rewritings == {"higher": 0, "equal": 2, "lower": 1, "unclear": 0}
    alike = await found_in(TEXTS, scripted("second"))
    assert alike.second_judge_before_veto.gain.value == pytest.approx(6 / 3)
    assert alike.second_judge_after_veto.gain.value == pytest.approx(6 / 5)
    assert alike.first_rewritings == {"higher": 3, "equal": 0, "lower": 0, "unclear": 0}


async def test_a_second_judge_that_draws_lots_gains_nothing_until_it_has_a_veto():
    def lot(prompt):
        drawn = verdicts(prompt)["sentences"]
        for each, shown in zip(drawn, prompt.fields["sentences"], strict=True):
            each["consistent"] = "yes" if sha256(shown["text"].encode()).digest()[0] % 2 else "no"
        return {"sentences": drawn}

    texts = [replace(TEXT, id=f"t{n}", output=f"One wrong {n}. Two right {n}.", group=f"g{n}") for n in range(300)]
    found = await found_in(texts, scripted("second", evaluate=lot), rounds=2)
    before, after = found.second_judge_before_veto.gain, found.second_judge_after_veto.gain
    assert before.low < 0 < before.high
    assert abs(before.value) < 0.25
    assert after.low > 0.25
    assert found.first_rewritings["higher"] > 50
    assert found.first_rewritings["lower"] > 50


async def test_a_harsh_second_judge_shows_a_loss_though_nothing_is_taken():
    second = scripted("second", evaluate=lambda prompt: verdicts(prompt, bad="One right"))
    texts = [replace(TEXT, id=f"t{n}", output="One wrong. Two right.", group=f"g{n}") for n in range(5)]
    found = await found_in(texts, second, rounds=3)
    assert found.outcomes["rejected by the second judge"] == 5
    # Of each text the first of its three rewritings.
    assert found.first_rewritings == {"higher": 0, "equal": 0, "lower": 5, "unclear": 0}
    assert (found.second_judge_before_veto.texts, found.second_judge_before_veto.gain.value) == (5, -2)
    assert found.second_judge_after_veto.gain.value == 0


async def test_later_rewritings_are_no_part_of_the_unselected_gain():
    second = scripted("second", evaluate=lambda prompt: verdicts(prompt, bad="right"))

    def better_later(prompt):
        return mended(prompt, good="fine" if prompt.sample else "right")

    (text,) = TEXTS[2:3]
    stream = improve_stream(
        sentence_rubric(), [text], scripted("first", rewrite=better_later), REF, second_judge=second
    )
    (done,) = [revision_metrics(each) async for each in stream]
    assert (done.outcome, done.second_scores, done.unselected) == ("improved", (3, 3), (3, 1))


async def test_of_a_rewriting_that_the_second_judge_cannot_score_nothing_is_told():
    def unable(prompt):
        return verdicts(prompt) if "wrong" in prompt.fields["output"] else "I would rather not."

    found = await found_in([TEXTS[2]], scripted("second", evaluate=unable))
    assert found.first_rewritings == {"higher": 0, "equal": 0, "lower": 0, "unclear": 1}
    assert (found.second_judge_before_veto.texts, found.second_judge_before_veto.gain.value) == (0, None)


async def test_nothing_to_compare_is_no_gain():
    found = await found_in([RowError("f", 1, None, "7", "an object")])
    assert (found.judge.texts, found.judge.before, found.judge.gain.value) == (0, None, None)
    assert (found.outcomes["unscored"], found.sentences, found.criteria) == (1, 0, ())


async def test_one_group_alone_is_drawn_text_by_text():
    texts = [replace(text, group="g") for text in TEXTS]
    found = await found_in(texts)
    assert found.judge.gain.low < found.judge.gain.value

"""What was gained over many texts."""

from dataclasses import replace

import pytest
from revision_scripts import TEXT, mended, scripted, sentence_rubric

from rubriclab.data.rows import RowError
from rubriclab.ops.improve import (
    ImproveSettings,
    improve_stream,
    revision_metrics,
    summarize_revisions,
)

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


async def found_in(rows):
    """Return the summary of improving these rows."""
    stream = improve_stream(
        sentence_rubric(),
        rows,
        scripted("first", rewrite=writing),
        REF,
        settings=ImproveSettings(rounds=1),
    )
    return summarize_revisions(sentence_rubric(), REF, [revision_metrics(each) async for each in stream], "first")


async def test_every_text_is_counted_once_and_sentences_where_they_changed():
    fault = RowError("f", 2, "output", "nothing", "a text", "t9")
    found = await found_in([*TEXTS, fault])
    assert found.texts == 6
    assert found.outcomes == {
        "improved": 3,
        "without fault": 1,
        "rejected by the judge": 1,
        "no sentence at fault": 0,
        "no usable rewriting": 0,
        "unscored": 1,
    }
    assert (found.changed, found.sentences) == (4, 10)


async def test_means_are_over_the_texts_with_both_scores():
    found = await found_in(TEXTS)
    assert (found.judge.name, found.judge.texts) == ("first", 5)
    assert found.judge.before == pytest.approx((5 + 3 + 3 + 1 + 3) / 5)
    assert found.judge.after == pytest.approx((5 + 5 + 5 + 1 + 5) / 5)
    gain = found.judge.gain
    assert gain.value == pytest.approx(6 / 5)
    assert gain.low < gain.value < gain.high
    (criterion,) = found.criteria
    assert (criterion.name, criterion.gain.value) == ("score coherence", pytest.approx(6 / 5))


async def test_nothing_to_compare_is_no_gain():
    found = await found_in([RowError("f", 1, None, "7", "an object")])
    assert (found.judge.texts, found.judge.before, found.judge.gain.value) == (0, None, None)
    assert (found.outcomes["unscored"], found.sentences, found.criteria) == (1, 0, ())


async def test_one_group_alone_is_drawn_text_by_text():
    texts = [replace(text, group="g") for text in TEXTS]
    found = await found_in(texts)
    assert found.judge.gain.low < found.judge.gain.value

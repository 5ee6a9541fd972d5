"""Learning as a whole, against judges that answer by script."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypoeval_scripts import examples
from seal_scripts import ASPECT, Says, assignment, by_lot, of_kind, pack, pairs_asked, scripted, sentences

from rubriclab.errors import ChecklistError, JudgeError
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.method import Learned, TrainingInput, silent
from rubriclab.methods.questions import question_of
from rubriclab.methods.seal import SEAL
from rubriclab.methods.seal.learn import learn
from rubriclab.methods.seal.score import SealSettings
from rubriclab.methods.sources import Checklist
from rubriclab.models.base import digest
from rubriclab.models.rubric import Criterion
from rubriclab.stats.correlation import pearson

TEXTS = tuple(
    replace(text, output=f"{sentences(3)} {text.output}", reference="Ref is so.") for text in examples(24, groups=8)
)
LABELS = {text.output: text.scores[ASPECT] for text in TEXTS}
PACK = pack()


async def run(
    texts: Any = TEXTS,
    says: Says = by_lot,
    *,
    given: Checklist | None = PACK,
    judge: FakeJudge | None = None,
    generator: FakeJudge | None = None,
    on_progress: Any = silent,
    **chosen: Any,
) -> tuple[Learned, FakeJudge, FakeJudge]:
    """Learn with two proposals, unless chosen otherwise, and return the result with the two judges."""
    judge, generator = judge or scripted(says), generator or scripted()
    training_input = TrainingInput(tuple(texts), assignment(), checklist=given)
    settings = SealSettings(**{"proposed": 2, **chosen})
    return (
        await learn(training_input, settings, judge=judge, generator=generator, seed=1, on_progress=on_progress),
        judge,
        generator,
    )


def tracking(*names: str, by: Says = by_lot) -> Says:
    """Return answers that follow the label for the questions named, by unit, and are given by lot for the others."""

    def says(question: str, unit: str, output: str) -> bool:
        level = (LABELS[output] - 0.5) / 5
        follows = random.Random(digest([question, unit, output, "follow"])).random() < level
        return follows if question in names else by(question, unit, output)

    return says


def everybody(learned: Learned) -> dict[str, Criterion]:
    kept = {each.id: each for each in learned.part.criteria}
    return kept | {dropped.criterion.id: dropped.criterion for dropped in learned.part.dropped}


def reasons(learned: Learned) -> dict[str, str]:
    return {dropped.criterion.id: dropped.reason for dropped in learned.part.dropped}


# What is asked, and what comes of it


async def test_the_generator_proposes_and_the_judge_verifies_every_text_once():
    learned, judge, generator = await run()
    assert [prompt.name for prompt in generator.prompts] == ["seal/propose"]
    assert len(judge.prompts) == len(of_kind(judge, "verify")) == len(TEXTS)
    assert len(pairs_asked(judge)) == len(TEXTS) * 4 * 5
    assert learned.candidates == ("a1", "b1", "b2", "p1", "p2")


async def test_the_part_holds_every_question_with_its_sub_dimension_and_the_pack_s_units():
    learned, _, _ = await run()
    assert set(everybody(learned)) == set(learned.candidates)
    assert set(learned.part.dimensions) == {"Side 1", "Side 2", "New side 1", "New side 2"}
    assert {each.trait for each in everybody(learned).values()} <= set(learned.part.dimensions)
    assert learned.part.units == PACK.units
    assert learned.part.settings == SealSettings(proposed=2).model_dump(mode="json")
    assert {question_of(each).origin for name, each in everybody(learned).items() if name < "p"} == {"seed"}


async def test_polarity_and_support_come_from_the_pack():
    given = pack("fact", beside=("source",), better={"b1": "no"}, support={"a1": "source"})
    learned, judge, _ = await run(given=given, filter="off")
    made = everybody(learned)
    assert (question_of(made["a1"]).support, question_of(made["b1"]).better, question_of(made["p1"]).support) == (
        "source",
        "no",
        None,
    )
    assert of_kind(judge, "support")


async def test_the_matrix_holds_the_mean_over_units_and_the_evidence_counts_them():
    learned, _, _ = await run(says=tracking("a1"), given=pack(better={"b1": "no"}))
    labels = np.array([LABELS[text.output] for text in sorted(TEXTS, key=lambda text: text.id)])
    assert set(np.unique(learned.matrix)) <= {0, 0.25, 0.5, 0.75, 1}
    for column, name in zip(learned.matrix.T, learned.candidates, strict=True):
        evidence, good = everybody(learned)[name].evidence, int(column.sum() * 4)
        counts = {"yes": good, "no": 96 - good}
        assert evidence.answers == (counts if name != "b1" else {"yes": 96 - good, "no": good})
        assert (evidence.judged, evidence.missing) == (24, 0)
        assert evidence.pearson == pytest.approx(pearson(column, labels), abs=1e-6)


# What the labels do


def misleading(question: str, unit: str, output: str) -> bool:
    """Answer a1 with the labels, b1 against them, b2 always alike, p1 with them, and p2 by lot."""
    high = LABELS[output] >= 3
    told = {"a1": high, "b1": not high, "b2": True, "p1": LABELS[output] >= 4}
    return told.get(question, by_lot(question, unit, output, seed=4))


async def test_what_the_labels_speak_against_leaves_and_proposals_stay_only_where_they_track_them():
    learned, _, _ = await run(says=misleading)
    left = reasons(learned)
    assert [each.id for each in learned.part.criteria] == ["a1", "p1"]
    assert left["b1"].startswith("runs against the labels: correlation -0.")
    assert left["b2"].startswith("the same answer for all 24 training texts")
    assert left["p2"].startswith("does not track the labels: correlation ")


async def test_with_the_filter_off_or_without_labels_all_stay():
    assert reasons((await run(says=misleading, filter="off"))[0]) == {}
    learned, judge, _ = await run(())
    assert (len(learned.part.criteria), judge.prompts, learned.optimistic) == (5, [], False)
    assert learned.matrix.shape == (0, 5)
    assert learned.scores.shape == learned.reselected.shape == (0,)
    assert all(each.evidence.answers is None for each in learned.part.criteria)


# Scores


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"weights": "judge"},
        {"given": pack("fact"), "proposed": 0},
        {"given": pack("sentence pair"), "verify": False},
        {"given": pack("response"), "filter": "off"},
        {"decompose": False},
    ],
    ids=str,
)
async def test_scores_are_those_that_scoring_gives(chosen: dict[str, Any]):
    judge = scripted(tracking("a1", "p1"), weights={"a1": 2, "p1": 0.5})
    learned, _, _ = await run(judge=judge, **chosen)
    by_id = {text.id: text for text in TEXTS}
    for at, name in enumerate(learned.examples):
        value, ratings = await SEAL.score(by_id[name], learned.part, assignment(), judge)
        assert value == pytest.approx(learned.scores[at], abs=1e-6)
        weighed = "weights" in chosen
        for rating in ratings:
            assert rating.score == learned.matrix[at, learned.candidates.index(rating.criterion)]
            assert (rating.weight is not None) == weighed
        if weighed:
            verdicts = np.array([[unit.value for unit in rating.units] for rating in ratings])
            share = ([rating.weight for rating in ratings] @ verdicts).mean()
            assert value == pytest.approx(1 + 4 * share, abs=1e-4)


async def test_the_left_out_scores_owe_nothing_to_the_group_s_own_labels():
    def says(name: str, unit: str, output: str) -> bool:
        return by_lot(name, unit, output, seed=1)

    learned, _, _ = await run(says=says, proposed=0)
    group = TEXTS[0].group
    inside = np.array([name in {text.id for text in TEXTS if text.group == group} for name in learned.examples])
    relabelled = [replace(t, scores={ASPECT: 6 - t.scores[ASPECT]}) if t.group == group else t for t in TEXTS]
    again, _, _ = await run(relabelled, says=says, proposed=0)
    np.testing.assert_array_equal(learned.reselected[inside], again.reselected[inside])
    assert not np.array_equal(learned.reselected[~inside], again.reselected[~inside])


@pytest.mark.parametrize(
    ("chosen", "optimistic"),
    [
        ({}, True),
        ({"filter": "off", "proposed": 0}, False),
        ({"filter": "off", "proposed": 0, "weights": "judge"}, False),
        ({"filter": "off", "proposed": 2}, True),
    ],
)
async def test_it_is_optimistic_where_labels_had_a_part_in_choice_or_proposals(chosen: Any, optimistic: bool):
    learned, _, _ = await run(says=tracking("a1"), **chosen)
    assert learned.optimistic is optimistic
    if not optimistic:
        np.testing.assert_array_equal(learned.reselected, learned.scores)


# Without a pack, and failures


async def test_without_a_pack_the_proposals_are_asked_of_the_whole_text():
    learned, judge, _ = await run(says=tracking("p1", "p2"), given=None)
    assert learned.candidates == ("p1", "p2")
    assert (learned.part.units.kind, learned.part.units.beside) == ("response", ("source", "context"))
    assert {prompt.fields["kind"] for prompt in judge.prompts} == {"response"}


async def test_without_a_pack_and_without_proposals_there_is_nothing_to_ask():
    with pytest.raises(ChecklistError, match="checklist='FILE'"):
        await run(given=None, proposed=0)
    with pytest.raises(JudgeError, match="no questions to ask: no sub-dimensions could be proposed: unusable reply"):
        await run(given=None, generator=FakeJudge(lambda _: "no"))


async def test_proposals_that_fail_are_told_and_the_pack_s_questions_go_on():
    learned, _, _ = await run(generator=FakeJudge(lambda _: "no"))
    assert learned.candidates == ("a1", "b1", "b2")
    assert learned.notes[0].startswith("no sub-dimensions could be proposed: unusable reply")


async def test_a_judge_without_any_usable_verdict_is_an_error():
    with pytest.raises(JudgeError, match="no usable verdict on any training text: unusable reply"):
        await run(judge=FakeJudge(lambda _: "none"))


async def test_a_text_without_verdicts_and_an_empty_one_are_left_out():
    lost = TEXTS[5]
    texts = [replace(text, output="") if text.id == TEXTS[2].id else text for text in TEXTS]
    usual = scripted()._script
    judge = FakeJudge(lambda p: "no" if p.fields["output"] == lost.output else usual(p))
    learned, _, _ = await run(texts, judge=judge, filter="off")
    gone = [learned.examples.index(name) for name in (TEXTS[2].id, lost.id)]
    assert np.isnan(learned.scores[gone]).all()
    assert np.isfinite(np.delete(learned.scores, gone)).all()
    assert {each.evidence.missing for each in learned.part.criteria} == {2}

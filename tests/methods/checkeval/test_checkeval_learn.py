"""Learning as a whole, against judges that answer by script."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from checkeval_scripts import (
    ASPECT,
    Scripted,
    answers,
    assignment,
    by_lot,
    checklist,
    of_kind,
    scripted,
    verdicts,
)
from hypoeval_scripts import examples

from rubriclab.errors import ChecklistError, JudgeError, JudgeUnavailable
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.checkeval import CHECKEVAL
from rubriclab.methods.checkeval.learn import learn
from rubriclab.methods.checkeval.score import CheckEvalSettings
from rubriclab.methods.method import Learned, TrainingInput, silent
from rubriclab.methods.questions import question_of
from rubriclab.methods.sources import Checklist
from rubriclab.models.base import digest
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import Scale

TEXTS = examples(24, groups=8)
TWO = checklist((1, 2))
SMALL = {"diversified": 2, "elaborated_most": 2}
LABELS = {text.output: text.scores[ASPECT] for text in TEXTS}


class Told(list[str]):
    """What was said of progress."""

    def __call__(self, doing: str, share: float) -> None:
        assert 0 <= share <= 1
        self.append(doing)


async def run(
    texts=TEXTS,
    *,
    judge: FakeJudge | None = None,
    generator: FakeJudge | None = None,
    given: Checklist | None = TWO,
    scale: Scale | None = None,
    on_progress: Any = silent,
    **chosen: Any,
) -> tuple[Learned, FakeJudge, FakeJudge]:
    """Learn with small settings, except for those chosen, and return the result with the two judges."""
    judge, generator = judge or scripted(), generator or scripted()
    learned = await learn(
        TrainingInput(tuple(texts), assignment(scale) if scale else assignment(), checklist=given),
        CheckEvalSettings(**{**SMALL, **chosen}),
        judge=judge,
        generator=generator,
        seed=1,
        on_progress=on_progress,
    )
    return learned, judge, generator


def tracking(share: float = 1.0) -> FakeJudge:
    """Return a judge of whose answers about each text a `share` follows the label; the rest are by lot."""

    def of(name: str, words: str, output: str) -> str:
        follows = random.Random(digest([name, output])).random() < share
        return ("yes" if LABELS[output] >= 3 else "no") if follows else by_lot(name, words, output)

    return scripted(answer=lambda prompt: answers(prompt, of))


def everybody(learned: Learned) -> list[Criterion]:
    return [*learned.part.criteria, *(dropped.criterion for dropped in learned.part.dropped)]


def reasons(learned: Learned) -> dict[str, str]:
    return {dropped.criterion.id: dropped.reason for dropped in learned.part.dropped}


# What is asked, of whom, and how often


async def test_the_generator_writes_and_filters_and_the_judge_answers():
    _, judge, generator = await run()
    assert {p.name for p in judge.prompts} == {"checkeval/answer"}
    own = {p.name for p in generator.prompts}
    assert own == {"checkeval/diversify", "checkeval/elaborate", "checkeval/filter", "deduplication/group"}


async def test_one_call_per_sub_dimension_and_text_and_none_twice():
    _, judge, generator = await run()
    assert len(judge.prompts) == 2 * len(TEXTS)
    sent = Counter(digest([p.name, dict(p.fields), p.sample]) for p in (*judge.prompts, *generator.prompts))
    assert max(sent.values()) == 1


async def test_the_judge_never_sees_a_label():
    first, judge, generator = await run()
    others = [replace(text, scores={ASPECT: 6 - text.scores[ASPECT]}) for text in TEXTS]
    _, other_judge, other_generator = await run(others)
    assert [p.fields for p in judge.prompts] == [p.fields for p in other_judge.prompts]
    assert [p.fields for p in generator.prompts] == [p.fields for p in other_generator.prompts]
    assert first.examples == tuple(sorted(text.id for text in TEXTS))


# What comes of it


async def test_every_question_put_to_texts_carries_its_evidence():
    learned, judge, _ = await run()
    labels = np.array([text.scores[ASPECT] for text in sorted(TEXTS, key=lambda text: text.id)])
    by_id = {each.id: each for each in everybody(learned)}
    assert set(learned.candidates) == set(by_id)
    for at, name in enumerate(learned.candidates):
        evidence, good = by_id[name].evidence, learned.matrix[:, at]
        assert evidence.answers == {"yes": int(good.sum()), "no": int((1 - good).sum()), "n/a": 0}
        assert (evidence.judged, evidence.missing) == (len(TEXTS), 0)
        assert evidence.pearson == pytest.approx(np.corrcoef(good, labels)[0, 1], abs=1e-6)
    assert len(of_kind(judge, "answer")) == 2 * len(TEXTS)


async def test_answers_that_fail_or_do_not_apply_are_counted_as_such():
    def of(name: str, words: str, output: str) -> str:
        number = int(output.rsplit(maxsplit=1)[-1].strip("."))
        return (
            "perhaps"
            if name == "a1" and number < 3
            else "n/a"
            if name == "a1" and number < 8
            else by_lot(name, words, output)
        )

    learned, _, _ = await run(judge=scripted(answer=lambda p: answers(p, of)), filter="model")
    evidence = next(each.evidence for each in everybody(learned) if each.id == "a1")
    assert (evidence.judged, evidence.missing, evidence.answers["n/a"]) == (16, 3, 5)
    column = learned.candidates.index("a1")
    assert np.isnan(learned.matrix[:, column]).sum() == 8


async def test_a_question_about_a_fault_counts_in_the_matrix_by_what_is_good():
    generator = scripted(filter=lambda p: verdicts(p, a1_e1={"yes_means": "worse", "broken": "yes"}))
    judge = scripted(answer=lambda p: answers(p, lambda name, *_: "yes" if name == "a1-e1" else "no"))
    learned, _, _ = await run(judge=judge, generator=generator, filter="model")
    column = learned.matrix[:, learned.candidates.index("a1-e1")]
    turned = next(each for each in everybody(learned) if each.id == "a1-e1")
    assert (set(column), question_of(turned).better, turned.evidence.answers["yes"]) == ({0.0}, "no", len(TEXTS))


async def test_what_the_labels_speak_against_leaves_with_its_evidence():
    def of(name: str, words: str, output: str) -> str:
        high = LABELS[output] >= 3
        told = {"a1": True, "b1": not high, "b2": high, "a1-e1": high}
        return "yes" if told.get(name, by_lot(name, words, output) == "yes") else "no"

    learned, _, _ = await run(judge=scripted(answer=lambda p: answers(p, of)))
    left = reasons(learned)
    assert left["a1"] == "the same answer for all 24 training texts that it was asked of"
    assert left["b1"].startswith("runs against the labels: correlation -0.")
    assert left["a1-e1"] == "answers as b2 does (correlation 1.00 over 24 texts)"
    assert "b2" not in left
    dropped = {each.criterion.id: each.criterion for each in learned.part.dropped}
    assert dropped["b1"].evidence.pearson < -0.5
    assert dropped["a1"].evidence.answers == {"yes": 24, "no": 0, "n/a": 0}


async def test_where_the_labels_speak_against_all_the_best_stay_and_it_is_said():
    learned, _, _ = await run(judge=scripted(answer=lambda p: answers(p, lambda *_: "yes")))
    assert [each.trait for each in learned.part.criteria] == ["Side 1", "Side 2"]
    assert any("the labels speak against every question" in note for note in learned.notes)


async def test_what_went_wrong_is_told():
    told = Told()
    failing = scripted(elaborate=lambda p: "no" if p.fields["question"]["id"] == "b1" else Scripted()(p))
    learned, _, _ = await run(generator=failing, on_progress=told)
    assert learned.notes[0].startswith("finer points of b1: unusable reply")
    assert (told[0], told[-1].split(" ", 1)[1]) == ("11 questions", "questions kept")


# Scores


@pytest.mark.parametrize("chosen", [{}, {"filter": "model"}, {"ask": "together"}], ids=str)
async def test_scores_are_those_that_scoring_gives(chosen: dict[str, Any]):
    judge = tracking(0.6)
    learned, _, _ = await run(judge=judge, **chosen)
    by_id = {text.id: text for text in TEXTS}
    for at, name in enumerate(learned.examples):
        value, ratings = await CHECKEVAL.score(by_id[name], learned.part, assignment(), judge)
        assert value == learned.scores[at] or (value is None and np.isnan(learned.scores[at]))
        for each in ratings:
            kept = learned.matrix[at, learned.candidates.index(each.criterion)]
            assert each.score == kept or (each.score is None and np.isnan(kept))


async def test_the_left_out_scores_owe_nothing_to_the_group_s_own_labels():
    learned, _, _ = await run(judge=tracking(0.3))
    group = TEXTS[0].group
    inside = [name in {text.id for text in TEXTS if text.group == group} for name in learned.examples]
    relabelled = [replace(t, scores={ASPECT: 6 - t.scores[ASPECT]}) if t.group == group else t for t in TEXTS]
    again, _, _ = await run(relabelled, judge=tracking(0.3))
    np.testing.assert_array_equal(learned.reselected[inside], again.reselected[inside])
    assert not np.array_equal(learned.reselected[~np.array(inside)], again.reselected[~np.array(inside)])
    assert learned.optimistic


@pytest.mark.parametrize("chosen", ["model", "off"])
async def test_what_labels_had_no_part_in_is_not_optimistic(chosen: str):
    learned, _, _ = await run(filter=chosen)
    assert not learned.optimistic
    np.testing.assert_array_equal(learned.reselected, learned.scores)
    assert all(each.evidence.pearson is not None for each in learned.part.criteria)


async def test_learning_from_labels_beats_not_learning_where_questions_mislead():
    def of(name: str, words: str, output: str) -> str:
        wrong = name in {"a1-e1", "b1", "b2-e1", "side-1-d1"}
        follows = random.Random(digest([name, output])).random() < 0.7
        return ("yes" if (LABELS[output] >= 3) != wrong else "no") if follows else by_lot(name, words, output)

    agreement = {}
    for chosen in ("model", "model and labels"):
        learned, _, _ = await run(judge=scripted(answer=lambda p: answers(p, of)), filter=chosen)
        labels = [LABELS[text.output] for text in sorted(TEXTS, key=lambda text: text.id)]
        agreement[chosen] = np.corrcoef(learned.reselected, labels)[0, 1]
    assert agreement["model and labels"] > agreement["model"] + 0.05


# Without labels


@pytest.mark.parametrize("chosen", [{}, {"filter": "model"}, {"filter": "off"}])
async def test_without_labels_the_paper_s_way_works(chosen: dict[str, Any]):
    learned, judge, _ = await run((), **chosen)
    assert judge.prompts == []
    assert len(learned.part.criteria) == 13
    assert (learned.examples, len(learned.candidates)) == ((), 13)
    assert learned.matrix.shape == (0, 13)
    assert learned.scores.shape == learned.reselected.shape == (0,)
    assert not learned.optimistic
    assert all(each.evidence.answers is None for each in learned.part.criteria)


async def test_without_seed_questions_there_is_nothing_to_start_from():
    with pytest.raises(ChecklistError, match="checklist='FILE'"):
        await run(given=None)


# Failures


async def test_a_judge_without_any_usable_answer_is_an_error():
    with pytest.raises(JudgeError, match="no usable answer for any training text: unusable reply"):
        await run(judge=scripted(answer=lambda _: "none"))


async def test_a_text_without_answers_is_left_out_and_the_rest_is_learned_from():
    lost = TEXTS[5]

    def script(prompt):
        if prompt.fields["output"] == lost.output:
            raise JudgeUnavailable("down.")
        return answers(prompt)

    learned, _, _ = await run(judge=scripted(answer=script))
    at = learned.examples.index(lost.id)
    assert np.isnan(learned.scores[at])
    assert np.isnan(learned.matrix[at]).all()
    assert np.isfinite(np.delete(learned.scores, at)).all()
    assert {each.evidence.missing for each in learned.part.criteria} == {1}

"""CheckEval: settings, replies, augmentation, filter, answers and scores, and learning as a whole by script."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scripted_judge as scripts
from hypothesis import assume, given, strategies as st
from pydantic import ValidationError
from scripted_judge import text

from rubriclab.errors import ChecklistError, JudgeUnavailable
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.checkeval.learn import augment, filter_questions, learn
from rubriclab.methods.checkeval.score import (
    PRESETS,
    AnswerEntry,
    CheckEvalSettings,
    answers_reply,
    ask_questions,
    score,
    text_score,
)
from rubriclab.methods.method import CriterionRating, Learned, TrainingInput, choose_settings
from rubriclab.methods.questions import question_of
from rubriclab.methods.sources import Checklist
from rubriclab.models.base import digest
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.text import Scale
from rubriclab.prompts.prompt import SALVAGE


def test_the_paper_s_preset_filters_by_the_model_alone_and_a_setting_given_beside_it_wins():
    settings = choose_settings(CheckEvalSettings, PRESETS, {"preset": "paper", "diversified": "4"})
    assert settings == CheckEvalSettings(
        seeds_per_sub_dimension=1, diversified=4, filter="model", procedure="paper", most=100, answers="yes or no"
    )


def asked(name: str) -> dict[str, str]:
    return {"id": name, "text": f"Is it {name}?"}


ASKED = {"sub_dimensions": [{"questions": [asked("a1"), asked("a2")]}, {"questions": [asked("b1")]}]}
SALVAGED = {**ASKED, SALVAGE: True}
ANSWERS = answers_reply(ASKED, AnswerEntry)


def answer(given: Any) -> dict[str, Any]:
    return {"reason": "r", "answer": given}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a1", "a2", "b1", "c1", "[a1]", "x", ""]), st.sampled_from(["yes", "no", "n/a", "?", ""])
        )
    )
)
def test_a_sound_answer_is_one_that_nothing_in_the_reply_contradicts(given):
    said = {name: {a for n, a in given if n.strip("[]") == name} for name in ("a1", "a2", "b1")}
    # An entry is read by its place if none has an id.
    assume(any(said.values()) or len(given) != len(said))
    listed = {"answers": [{"question": name, **answer(told)} for name, told in given]}
    try:
        found = ANSWERS.model_validate(listed, context=SALVAGED).entries
    except ValidationError:
        found = {}
    expected = {
        name: next(iter(all_)) for name, all_ in said.items() if len(all_) == 1 and all_ <= {"yes", "no", "n/a"}
    }
    assert {name: each.answer for name, each in found.items()} == expected


TWO = scripts.checklist((1, 2))


async def run(
    given=TWO, generator: FakeJudge | None = None, **chosen: Any
) -> tuple[tuple[Criterion, ...], tuple[str, ...], FakeJudge]:
    generator = generator or scripts.scripted()
    return (*await augment(given, scripts.assignment(), generator, CheckEvalSettings(**chosen)), generator)


async def test_every_question_keeps_its_id_parent_origin_and_polarity():
    given = scripts.checklist((1, 1))
    fault = {**given.model_dump(), "sub_dimensions": [s.model_dump() for s in given.sub_dimensions]}
    fault["sub_dimensions"][1]["questions"][0]["better"] = "no"
    pool, *_ = await run(type(given).model_validate(fault), diversified=1)
    told = [(q.id, q.trait, question_of(q).origin, question_of(q).seed, question_of(q).better) for q in pool]
    assert told == [
        ("a1", "Side 1", "seed", None, "yes"),
        ("side-1-d1", "Side 1", "diversified", "a1", "yes"),
        ("a1-e1", "Side 1", "elaborated", "a1", "yes"),
        ("a1-e2", "Side 1", "elaborated", "a1", "yes"),
        ("a1-e3", "Side 1", "elaborated", "a1", "yes"),
        ("b1", "Side 2", "seed", None, "no"),
        ("side-2-d1", "Side 2", "diversified", "b1", "yes"),
        ("b1-e1", "Side 2", "elaborated", "b1", "yes"),
        ("b1-e2", "Side 2", "elaborated", "b1", "yes"),
        ("b1-e3", "Side 2", "elaborated", "b1", "yes"),
    ]
    origins = {question_of(q).origin: q.evidence.origin for q in pool}
    assert origins == {"seed": "written by hand", "diversified": "seed questions", "elaborated": "seed questions"}


POOL = (
    *scripts.seeds(scripts.checklist((1,))),
    scripts.question("d1", seed="a1", origin="diversified"),
    scripts.question("a1-e1", seed="a1"),
    scripts.question("a1-e2", seed="a1"),
    *scripts.seeds(TWO)[1:],
    scripts.question("b1-e1", trait="Side 2", seed="b1"),
    scripts.question("b2-e1", trait="Side 2", seed="b2"),
)


async def run_filtering(
    pool: tuple[Criterion, ...] = POOL, given_: Checklist = TWO, generator: FakeJudge | None = None, **chosen: Any
) -> tuple[SimpleNamespace, FakeJudge]:
    generator = generator or scripts.scripted()
    kept, dropped, notes = await filter_questions(
        pool, given_, scripts.assignment(), generator, CheckEvalSettings(**chosen)
    )
    return SimpleNamespace(kept=kept, dropped=dropped, notes=notes), generator


def faulting(**faults: dict[str, str]) -> FakeJudge:
    return scripts.scripted(filter=lambda prompt: scripts.verdicts(prompt, **faults))


def ids(found: SimpleNamespace) -> list[str]:
    return [each.id for each in found.kept]


def reasons(found: SimpleNamespace) -> dict[str, str]:
    return {each.criterion.id: each.reason for each in found.dropped}


async def test_a_generated_question_that_nonsense_earns_is_dropped_with_the_reason():
    earned = scripts.question("n1", seed="a1", broken="yes")
    found, generator = await run_filtering(
        (*POOL, earned), generator=faulting(d1={"broken": "yes"}, a1={"broken": "yes"})
    )
    told = reasons(found)
    assert set(told) == {"n1", "d1"}
    assert all("would earn its good answer, yes" in told[name] for name in ("n1", "d1"))
    shown = [each["id"] for p in scripts.of_kind(generator, "filter") for each in p.fields["questions"]]
    assert "n1" not in shown


async def test_a_question_about_what_no_text_has_is_dropped_without_a_call():
    asked = POOL[0].model_copy(update={"statement": "Does it use the Context?"})
    generator = scripts.scripted()
    found = await filter_questions(
        (asked, *POOL[1:]), TWO, scripts.assignment(), generator, CheckEvalSettings(), missing_materials=["context"]
    )
    assert {each.criterion.id: each.reason for each in found[1]} == {
        asked.id: "it asks about the context, which no labelled text has"
    }
    assert asked.id not in [each["id"] for p in scripts.of_kind(generator, "filter") for each in p.fields["questions"]]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"yes_means": "neither"}, 'neither "yes" nor "no" is in favor of a text: Fits.'),
        ({"about": "fluency"}, "it is about fluency: Fits."),
        ({"about": "something else"}, "it is about something else: Fits."),
        ({"style": "exaggerated"}, "its wording is exaggerated: Fits."),
        ({"style": "trifling"}, "it asks for something trifling: Fits."),
        ({"style": "several things"}, "it asks several things at once: Fits."),
    ],
)
@pytest.mark.parametrize("name", ["a1-e1", "b2"])
async def test_a_fault_takes_a_question_out_with_its_reason(fault: dict[str, str], reason: str, name: str):
    found, _ = await run_filtering(generator=faulting(**{name.replace("-", "_"): fault}))
    assert reasons(found) == {name: reason}
    assert ids(found) == [each.id for each in POOL if each.id != name]


async def test_a_question_about_a_fault_is_kept_and_counts_the_other_way_round():
    found, _ = await run_filtering(generator=faulting(d1={"yes_means": "worse", "broken": "yes"}))
    assert found.dropped == ()
    assert {each.id: question_of(each).better for each in found.kept if question_of(each).better == "no"} == {
        "d1": "no"
    }


async def test_without_a_usable_reply_the_paper_s_filter_keeps_what_it_was_shown():
    found, _ = await run_filtering(generator=scripts.scripted(filter_dimension=lambda _: "?"), procedure="paper")
    assert found.kept == POOL
    assert "the filter gave no usable reply" in found.notes[0]


@pytest.mark.parametrize("said", ["no", '{"verdicts": []}', JudgeUnavailable("down.")])
async def test_without_any_usable_reply_everything_stays(said: Any):
    def script(_):
        if isinstance(said, Exception):
            raise said
        return said

    found, _ = await run_filtering(generator=scripts.scripted(filter=script, group=script))
    unjudged, unasked = found.notes
    assert unjudged == f"the filter gave no usable verdict on {len(POOL)} of {len(POOL)} questions; they stay"
    assert unasked.startswith("questions that repeat others in other words are kept: ")
    assert (found.kept, found.dropped) == (POOL, ())


async def test_where_the_model_would_take_out_everything_the_seeds_stay_and_it_is_said():
    every = scripts.scripted(
        filter=lambda p: {q["id"]: scripts.verdict(about="fluency") for q in p.fields["questions"]}
    )
    found, _ = await run_filtering(generator=every)
    assert ids(found) == ["a1", "b1", "b2"]
    assert found.notes == ("the filter would take out every question: the seeds stay",)
    assert len(found.dropped) == len(POOL) - 3


@pytest.mark.parametrize("chosen", ["model", "off"])
@pytest.mark.parametrize("most", [1, 3, 4, 5, 6, 100])
async def test_no_more_questions_stay_than_allowed(chosen: str, most: int):
    found, _ = await run_filtering(filter=chosen, most=most)
    assert len(found.kept) == min(most, len(POOL))
    assert ids(found) == [each.id for each in POOL if each.id in ids(found)]
    if most < len(POOL):
        assert set(reasons(found).values()) == {f"no place among the {most} questions allowed"}
    assert (most < 3) or {"a1", "b1", "b2"} <= set(ids(found))


QUESTIONS = tuple(scripts.question(*each) for each in (("a1",), ("b1", "Side 2"), ("a2",), ("b2", "Side 2")))
DIMENSIONS = {"Side 1": "What the first is.", "Side 2": "What the second is."}


@pytest.mark.parametrize(
    ("how", "groups"),
    [
        ("by sub-dimension", [["a1", "a2"], ["b1", "b2"]]),
        ("one by one", [["a1"], ["b1"], ["a2"], ["b2"]]),
        ("together", [["a1", "a2", "b1", "b2"]]),
    ],
)
async def test_questions_are_grouped_as_the_setting_says_with_one_call_each(how: Any, groups: list[list[str]]):
    judge = scripts.scripted()
    part = scripts.part_of("checkeval", *QUESTIONS, dimensions=DIMENSIONS, ask=how)
    found = await ask_questions(text(), part, scripts.assignment(), judge)
    shown = [[each for sub in prompt.fields["sub_dimensions"] for each in sub["questions"]] for prompt in judge.prompts]
    assert [[each["id"] for each in some] for some in shown] == groups
    assert {name: rated.score for name, rated in found.items()} == {
        each.id: float(scripts.drawn_answer(each.id, "", "Some words.") == "yes") for each in QUESTIONS
    }


IDS = ("s01", "s02", "s03", "s04")
HOSTILE = tuple(scripts.question(name) for name in IDS)
SOUND = ("yes", "no", "yes", "n/a")


def reply(*given: Any, ids: tuple[Any, ...] = IDS) -> str:
    """Return a reply with these answers to the questions in turn."""
    return json.dumps({n: {"reason": "It shows.", "answer": a} for n, a in zip(ids, given, strict=True)})


REPLIES = {
    # What is as it should be, or says the same in other clothes
    "as asked": (reply(*SOUND), "yny-"),
    "true and false": (reply(True, False, "yes", "no"), "??yn"),
    # Not one answer to each question
    "renumbered from 1": (reply(*SOUND, ids=("1", "2", "3", "4")), "yny-"),
    "the paper's format": ("Q1: Yes\nQ2: No\nQ3: Yes\nQ4: Yes", "????"),
}


@pytest.mark.parametrize(("given", "expected"), REPLIES.values(), ids=REPLIES)
async def test_a_hostile_reply_is_read_rightly_or_left_missing_with_the_reason(given: str, expected: str):
    part = Part(method="checkeval", settings=CheckEvalSettings().model_dump(mode="json"), criteria=HOSTILE)
    judge = FakeJudge(lambda _: given)
    value, ratings = await score(text(), part, scripts.assignment(), judge)
    assert len(judge.prompts) <= 2
    for rated, code in zip(ratings, expected, strict=True):
        assert rated.score == {"y": 1.0, "n": 0.0}.get(code)
        assert rated.applies == (code != "-")
        assert "after one repair" in rated.reason or code != "?"
    asked = expected.replace("-", "")
    if not asked or asked.count("?") >= len(asked) / 2:
        assert value is None
    else:
        assert value == pytest.approx(1 + 4 * asked.count("y") / (len(asked) - asked.count("?")), abs=1e-5)


UNIT = Scale(low=0, high=1, whole=False)
WEIGHTS = st.floats(0.01, 100)
SCORES = st.sampled_from([0.0, 1.0]) | st.floats(0, 1)
CELLS = st.lists(
    st.tuples(WEIGHTS, st.none() | SCORES, st.booleans(), st.sampled_from(["A", "B", "C"])), min_size=1, max_size=12
)


def build(cells) -> tuple[list[Criterion], dict[str, CriterionRating]]:
    """Return questions and ratings; a question that does not apply has no score."""
    questions = [
        scripts.question(f"q{at}", trait).model_copy(update={"weight": weight})
        for at, (weight, _, _, trait) in enumerate(cells)
    ]
    ratings = {
        f"q{at}": CriterionRating(f"q{at}", value if applies else None, "", applies)
        for at, (_, value, applies, _) in enumerate(cells)
    }
    return questions, ratings


@given(CELLS)
def test_a_share_is_the_weighted_mean_of_the_answers_there_are(cells):
    found = text_score(*build(cells), UNIT)
    if found is not None:
        given_ = [(weight, value) for weight, value, applies, _ in cells if applies and value is not None]
        assert found == pytest.approx(sum(w * v for w, v in given_) / sum(w for w, _ in given_), abs=1e-5)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((1.0, None), None),
        ((1.0, 1.0, None), 1.0),
        ((1.0, None, None), None),
        ((1.0, None, "-", "-"), None),
        ((1.0, 0.0, None, "-"), 0.5),
        ((None,), None),
        (("-",), None),
        (("-", "-"), None),
    ],
)
def test_a_text_is_unscored_where_half_of_what_applies_is_missing(scores, expected: float | None):
    cells = [(1.0, None if value == "-" else value, value != "-", "A") for value in scores]
    assert text_score(*build(cells), UNIT) == expected


TEXTS = scripts.examples(24, groups=8)
SMALL = {"diversified": 2, "elaborated_most": 2}
LABELS = {text.output: text.scores[scripts.ASPECT] for text in TEXTS}


async def run_learn(
    texts=TEXTS,
    *,
    judge: FakeJudge | None = None,
    generator: FakeJudge | None = None,
    given: Checklist | None = TWO,
    **chosen: Any,
) -> tuple[Learned, FakeJudge, FakeJudge]:
    """Learn with small settings, except for those chosen, and return the result with the two judges."""
    judge, generator = judge or scripts.scripted(), generator or scripts.scripted()
    learned = await learn(
        TrainingInput(tuple(texts), scripts.assignment(), checklist=given),
        CheckEvalSettings(**{**SMALL, **chosen}),
        judge=judge,
        generator=generator,
    )
    return learned, judge, generator


def tracking(share: float = 1.0) -> FakeJudge:
    """Return a judge of whose answers about each text a `share` follows the label; the rest are by lot."""

    def of(name: str, words: str, output: str) -> str:
        follows = random.Random(digest([name, output])).random() < share
        return ("yes" if LABELS[output] >= 3 else "no") if follows else scripts.drawn_answer(name, words, output)

    return scripts.scripted(answer=lambda prompt: scripts.answers(prompt, of))


async def test_answers_that_fail_or_do_not_apply_are_counted_as_such():
    def of(name: str, words: str, output: str) -> str:
        number = int(output.rsplit(maxsplit=1)[-1].strip("."))
        return (
            "perhaps"
            if name == "a1" and number < 3
            else "n/a"
            if name == "a1" and number < 8
            else scripts.drawn_answer(name, words, output)
        )

    learned, _, _ = await run_learn(judge=scripts.scripted(answer=lambda p: scripts.answers(p, of)), filter="model")
    (evidence,) = (each.evidence for each in learned.part.criteria if each.id == "a1")
    assert (evidence.judged, evidence.missing, evidence.answers["n/a"]) == (16, 3, 5)
    column = learned.candidates.index("a1")
    assert np.isnan(learned.matrix[:, column]).sum() == 8


async def test_what_the_labels_speak_against_leaves_with_its_evidence():
    def of(name: str, words: str, output: str) -> str:
        high = LABELS[output] >= 3
        told = {"a1": True, "b1": not high, "b2": high, "a1-e1": high}
        return "yes" if told.get(name, scripts.drawn_answer(name, words, output) == "yes") else "no"

    learned, _, _ = await run_learn(judge=scripts.scripted(answer=lambda p: scripts.answers(p, of)))
    left = {dropped.criterion.id: dropped.reason for dropped in learned.part.dropped}
    assert left["a1"] == "the same answer for all 24 training texts that it was asked of"
    assert left["b1"].startswith("runs against the labels: correlation -0.")
    assert left["a1-e1"] == "answers as b2 does (correlation 1.00 over 24 texts)"
    assert "b2" not in left
    dropped = {each.criterion.id: each.criterion for each in learned.part.dropped}
    assert dropped["b1"].evidence.pearson < -0.5
    assert dropped["a1"].evidence.answers == {"yes": 24, "no": 0, "n/a": 0}


async def test_the_left_out_scores_owe_nothing_to_the_group_s_own_labels():
    learned, _, _ = await run_learn(judge=tracking(0.3))
    group = TEXTS[0].group
    inside = [name in {text.id for text in TEXTS if text.group == group} for name in learned.examples]
    relabelled = [
        replace(t, scores={scripts.ASPECT: 6 - t.scores[scripts.ASPECT]}) if t.group == group else t for t in TEXTS
    ]
    again, _, _ = await run_learn(relabelled, judge=tracking(0.3))
    np.testing.assert_array_equal(learned.reselected[inside], again.reselected[inside])
    assert not np.array_equal(learned.reselected[~np.array(inside)], again.reselected[~np.array(inside)])
    assert learned.optimistic


async def test_without_seed_questions_there_is_nothing_to_start_from():
    with pytest.raises(ChecklistError, match='`checklist="FILE"`'):
        await run_learn(given=None)

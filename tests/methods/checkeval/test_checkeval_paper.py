"""CheckEval as its paper has it, against numbers worked out by hand."""

from __future__ import annotations

import pytest
from checkeval_scripts import answers, assignment, of_kind, scripted, stated, text, verdict, wording, written_seeds
from hypoeval_scripts import examples

from rubriclab.methods.checkeval import CHECKEVAL
from rubriclab.methods.checkeval.learn import learn
from rubriclab.methods.checkeval.score import PRESETS, CheckEvalSettings
from rubriclab.methods.method import TrainingInput, chosen_settings
from rubriclab.methods.questions import is_seed, question_of
from rubriclab.methods.sources import load_checklist, shipped_checklists
from rubriclab.models.text import (
    Assignment,
    Scale,
    find_aspect,
    task_words,
)
from rubriclab.prompts import render

SHARES = Assignment(
    task_words("summarization"), find_aspect("summarization", "coherence"), Scale(low=0, high=1, whole=False)
)


def paper(**more) -> CheckEvalSettings:
    found = chosen_settings(CheckEvalSettings, PRESETS, {"preset": "paper", **more})
    assert isinstance(found, CheckEvalSettings)
    return found


def finer(prompt) -> dict:
    """Return as many finer questions as may be."""
    name, count = prompt.fields["question"]["id"], prompt.fields["most"]
    return {
        "reasoning": "Parts.",
        "questions": [{"text": wording(f"{name} point {number}")} for number in range(count)],
    }


def fair(prompt) -> dict:
    """Return verdicts that find every question about the aspect, and yes a good sign unless a fault is asked for."""
    told = load_checklist(prompt.fields["words"]["task"], prompt.fields["aspect"]["name"])
    worse = {seed.id for seed in told.questions if seed.better == "no"}
    about, ids = prompt.fields["aspect"]["name"], [each["id"] for each in prompt.fields["questions"]]
    return {name: verdict(about=about, yes_means="worse" if name in worse else "better") for name in ids}


def faults_alone(task: str, aspect: str) -> int:
    """Return how many sub-dimensions have no seed but about faults: that seed does not pass the filter."""
    subs = load_checklist(task, aspect).sub_dimensions
    return sum(all(seed.better == "no" for seed in sub.questions) for sub in subs)


async def learned_without_labels(task: str, aspect: str, **replaced):
    given = Assignment(task_words(task), find_aspect(task, aspect), Scale(low=1, high=5, whole=False))
    training_input = TrainingInput((), given, checklist=load_checklist(task, aspect))
    return await learn(training_input, paper(), judge=scripted(), generator=scripted(**replaced))


@pytest.mark.parametrize(("task", "aspect"), shipped_checklists())
@pytest.mark.parametrize("most", [False, True])
async def test_a_checklist_has_twenty_to_thirty_five_questions_and_no_number_is_cut(task: str, aspect: str, most: bool):
    """Tables 12 and 13: 20 to 35. With 4 sub-dimensions 4 seeds, 2 x 4 other sides and 3 x 4 finer ones make 24, with 5
    of them 30; a seed about a fault leaves. With 10 finer ones for each seed 4 + 8 + 40 = 52, of which none is cut.
    """
    learned = await learned_without_labels(task, aspect, **({"elaborate": finer} if most else {}))
    subs = len(load_checklist(task, aspect).sub_dimensions)
    assert len(learned.part.criteria) == (13 if most else 6) * subs - faults_alone(task, aspect)
    assert most or 20 <= len(learned.part.criteria) <= 35


@pytest.mark.parametrize(("task", "aspect"), shipped_checklists())
async def test_three_to_five_seeds_of_which_yes_is_the_good_answer_are_started_from(task: str, aspect: str):
    learned = await learned_without_labels(task, aspect)
    seeds = [each for each in learned.part.criteria if is_seed(each)]
    assert 3 <= len(seeds) <= 5
    assert {question_of(each).better for each in learned.part.criteria} == {"yes"}


async def test_answers_are_yes_or_no_without_a_reason():
    judge = scripted()
    training_input = TrainingInput(examples(2), assignment(), checklist=load_checklist("summarization", "coherence"))
    await learn(training_input, paper(), judge=judge, generator=scripted())
    for prompt in of_kind(judge, "answer"):
        shown = render(prompt)[1]["content"]
        assert "n/a" not in shown
        assert '"reason"' not in shown
        assert "yes or no" in shown


async def test_n_a_is_no_answer_there_and_is_missing():
    judge = scripted(answer=lambda prompt: answers(prompt, lambda *_: "n/a"))
    learned = await learned_without_labels("summarization", "coherence")
    value, ratings = await CHECKEVAL.score(text(), learned.part, assignment(), judge)
    assert value is None
    assert all(rating.applies and rating.score is None for rating in ratings)


async def test_fifteen_times_yes_of_twenty_gives_three_quarters():
    """Section 3.3: 15 of 20 answers are yes, so the score is 15 / 20 = 0.75."""
    learned = await learned_without_labels("summarization", "coherence")
    asked = learned.part.criteria[:20]
    part = learned.part.model_copy(update={"criteria": asked})
    good = {each.id for each in asked[:15]}
    judge = scripted(answer=lambda prompt: answers(prompt, lambda name, *_: "yes" if name in good else "no"))
    assert (await CHECKEVAL.score(text(), part, SHARES, judge))[0] == 0.75


async def test_without_seeds_the_generator_writes_them():
    """Three sub-dimensions with one question each: 3 seeds, 3 x 2 other sides, 3 x 3 finer ones make 18."""
    generator = scripted(seeds=lambda _: written_seeds(3))
    settings = paper(seeds="prior knowledge")
    learned = await learn(TrainingInput((), assignment()), settings, judge=scripted(), generator=generator)
    assert len(of_kind(generator, "seeds")) == 1
    assert len(learned.part.criteria) == 18
    assert {c.evidence.origin for c in learned.part.criteria if is_seed(c)} == {"prior knowledge"}
    assert set(learned.part.dimensions or {}) == {"Written 1", "Written 2", "Written 3"}
    assert not CHECKEVAL.needs_checklist(settings)


EARNED_BY_NONSENSE = {"text": wording("earned by nonsense"), "absent": "no", "broken": "yes"}


def unsound(prompt) -> dict:
    """Return questions of which the default rejects one, to whoever asks for finer ones."""
    sound = [wording(f"{prompt.fields['question']['id']} {number}") for number in range(2)]
    full = [EARNED_BY_NONSENSE, *map(stated, sound)]
    plain = [{"text": each["text"]} for each in full]
    return {"reasoning": "Parts.", "questions": full if prompt.fields["self_contained"] else plain}


@pytest.mark.parametrize("preset", ["paper", None])
async def test_only_the_default_rejects_a_question_that_nonsense_would_earn(preset: str | None):
    generator = scripted(filter=fair, elaborate=unsound)
    settings = chosen_settings(CheckEvalSettings, PRESETS, {"preset": preset} if preset else {})
    training_input = TrainingInput((), assignment(), checklist=load_checklist("summarization", "coherence"))
    learned = await learn(training_input, settings, judge=scripted(), generator=generator)  # type: ignore[arg-type]
    asked = [each.statement for each in learned.part.criteria]
    assert (EARNED_BY_NONSENSE["text"] in asked) == (preset == "paper")
    assert any(prompt.repair for prompt in generator.prompts) == (preset is None)


async def test_one_call_diversifies_the_whole_aspect_and_one_filters_it():
    generator = scripted()
    training_input = TrainingInput(examples(2), assignment(), checklist=load_checklist("summarization", "coherence"))
    await learn(training_input, paper(), judge=scripted(), generator=generator)
    (diversify,), (filtering,) = of_kind(generator, "diversify_dimension"), of_kind(generator, "filter_dimension")
    subs = load_checklist("summarization", "coherence").sub_dimensions
    for prompt in (diversify, filtering):
        assert [sub["name"] for sub in prompt.fields["sub_dimensions"]] == [sub.name for sub in subs]
    assert {p.name for p in generator.prompts} == {diversify.name, filtering.name, "checkeval/elaborate"}


async def test_nothing_is_asked_or_stated_of_what_a_question_presupposes():
    generator, judge = scripted(), scripted()
    training_input = TrainingInput(examples(2), assignment(), checklist=load_checklist("summarization", "coherence"))
    learned = await learn(training_input, paper(), judge=judge, generator=generator)
    for prompt in (*generator.prompts, *judge.prompts):
        shown = "\n".join(turn["content"] for turn in render(prompt))
        for words in ('"absent"', '"broken"', "`absent`", "stands alone", "(absent:", "makes no sense"):
            assert words not in shown
    assert {(question_of(each).absent, question_of(each).broken) for each in learned.part.criteria} == {(None, None)}


async def test_bare_answers_are_asked_without_notes_also_of_questions_that_have_some():
    learned = await learned_without_labels("summarization", "coherence")
    noted = tuple(
        each.model_copy(update={"question": question_of(each).model_copy(update={"absent": "n/a", "broken": "no"})})
        for each in learned.part.criteria
    )
    judge = scripted()
    await CHECKEVAL.score(text(), learned.part.model_copy(update={"criteria": noted}), assignment(), judge)
    assert judge.prompts
    assert not [prompt for prompt in judge.prompts if "absent" in render(prompt)[1]["content"]]


async def test_no_text_is_held_out_at_the_ends_by_its_label():
    """The published checklist is made without labels: of 30 labelled texts none takes a question out."""
    training_input = TrainingInput(examples(30), assignment(), checklist=load_checklist("summarization", "coherence"))
    with_labels = await learn(training_input, paper(), judge=scripted(), generator=scripted())
    without = await learned_without_labels("summarization", "coherence")
    assert [c.id for c in with_labels.part.criteria] == [c.id for c in without.part.criteria]

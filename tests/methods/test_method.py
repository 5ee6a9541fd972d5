"""What every method has in common: its settings, its prompts, and how texts are left out by groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings as tries, strategies as st
from scripted_judge import ASPECT, RecordingJudge, assignment, examples, findings

from rubriclab.errors import JudgeError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import TrainingInput, choose_settings, cross_validated, ignore_progress
from rubriclab.methods.sources import load_checklist
from rubriclab.models.base import digest_text
from rubriclab.models.text import find_aspect

# Measures are part of rubrics and nothing to learn by alone: they have no settings and ask nothing.
NAMES = tuple(name for name in METHODS if name != "text_features")


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_documented_under_its_field(name):
    fields = METHODS[name].settings.model_fields
    assert [each for each, field in fields.items() if not field.description] == []


@tries(deadline=None, max_examples=60)
@given(groups=st.lists(st.sampled_from("abcd"), max_size=12))
def test_each_text_is_predicted_once_from_exactly_the_texts_of_other_groups(groups):
    names, calls = np.array(groups, dtype=str), []

    def predict(others, inside):
        calls.append(inside)
        assert not (others & inside).any()
        assert (others | inside).all()
        assert len(set(names[inside])) == 1
        assert not set(names[inside]) & set(names[others])
        return np.flatnonzero(inside).astype(float)

    found = cross_validated(groups, predict)
    if len(set(groups)) == 1:
        assert np.isnan(found).all()
        assert not calls
    else:
        assert found.tolist() == list(range(len(groups)))
        assert len(calls) == len(set(groups))


TEXTS = [
    replace(
        text,
        output=f"The dam broke on Monday. Nobody in town {n} was hurt. {'Ice melts. ' * (n % 4)}",
        reference="A dam broke.",
    )
    for n, text in enumerate(examples(16))
]

EVERY_PRESET = [(name, preset) for name in NAMES for preset in ("default", *METHODS[name].presets)]


def given_to(name: str, texts=TEXTS) -> TrainingInput:
    """Return what a method learns from: these texts, findings, and its shipped seed questions."""
    method, aspect = METHODS[name], "consistency" if name == "dcr" else ASPECT
    about = replace(assignment(), aspect=find_aspect("summarization", aspect))
    pack = load_checklist("summarization", aspect, folder=method.checklists) if method.checklists else None
    labelled = (replace(text, scores={aspect: text.scores[ASPECT]}) for text in texts)
    return TrainingInput(tuple(labelled), about, findings(), pack)


async def learn(name, given_, judge, generator=None, seed=1, **chosen):
    found = METHODS[name].settings(**chosen)
    judges = {"judge": judge, "generator": generator or judge}
    return await METHODS[name].learn(given_, found, **judges, seed=seed, on_progress=ignore_progress)


@pytest.mark.parametrize(("name", "preset"), EVERY_PRESET)
async def test_the_offline_judge_answers_every_prompt_of_every_preset_in_its_form(name, preset):
    method, judge, given_ = METHODS[name], RecordingJudge(), given_to(name)
    settings = choose_settings(method.settings, method.presets, {} if preset == "default" else {"preset": preset})
    learned = await method.learn(given_, settings, judge=judge, generator=judge, seed=1, on_progress=ignore_progress)
    assert not [prompt.name for prompt in judge.prompts if prompt.repair]
    for place, ident in enumerate(learned.examples):
        text = next(text for text in TEXTS if text.id == ident)
        score, ratings = await method.score(text, learned.part, given_.assignment, judge)
        assert score == pytest.approx(learned.scores[place], abs=1e-6)
        of_text = {each.id: each for each in learned.ratings[place]}
        assert all(of_text[each.id].score == each.score for each in ratings if each.id in of_text)


# Other ids, groups and order, so that each sorts differently.
RENAMED = [replace(text, id=f"t{99 - n:02}", group=f"other {digest_text(text.group)}") for n, text in enumerate(TEXTS)][
    ::-1
]


@pytest.mark.parametrize(("name", "other_seed"), [(name, 1 if name == "few_shot" else 2) for name in NAMES])
async def test_neither_ids_nor_the_order_of_the_texts_nor_the_seed_change_what_is_learned(name, other_seed):
    first = await learn(name, given_to(name, TEXTS), EmbeddedJudge())
    again = await learn(name, given_to(name, RENAMED), EmbeddedJudge(), seed=other_seed)
    ids = {new.id: old.id for new, old in zip(RENAMED, TEXTS[::-1], strict=True)}
    assert [each.statement for each in again.part.criteria] == [each.statement for each in first.part.criteria]
    assert tuple(ids[name] for name in again.examples) == first.examples
    assert again.candidates == first.candidates
    np.testing.assert_array_equal(again.matrix, first.matrix)
    np.testing.assert_array_equal(again.reselected, first.reselected)


WITHOUT_LABELS = [(name, {}) for name in NAMES if not METHODS[name].needs_labels]
PRIOR = [("hypoeval", {"sources": "prior knowledge", "ask": ask}) for ask in ("separately", "concatenated")]


@pytest.mark.parametrize(("name", "chosen"), [*WITHOUT_LABELS, *PRIOR], ids=str)
async def test_without_labels_criteria_are_made_and_no_text_is_judged(name, chosen):
    judge = RecordingJudge()
    learned = await learn(name, given_to(name, ()), judge, EmbeddedJudge(), **chosen)
    assert learned.part.criteria
    assert (learned.examples, learned.scores.shape, learned.reselected.shape) == ((), (0,), (0,))
    assert learned.matrix.shape == (0, len(learned.candidates))
    assert {each.evidence.judged or 0 for each in learned.part.criteria} == {0}
    assert not [prompt for prompt in judge.prompts if "output" in prompt.fields]


@pytest.mark.parametrize(
    ("name", "generator", "message"),
    [
        ("hypoeval", EmbeddedJudge(), "The judge gave no usable rating for any training text."),
        ("hypoeval", None, "No hypothesis could be obtained: unusable reply"),
        ("checkeval", EmbeddedJudge(), "The judge gave no usable answer for any training text: unusable reply"),
        ("checkeval", None, "No question could be made from the seeds: finer points of .*: unusable reply"),
        ("seeval", EmbeddedJudge(), "No explanation could be obtained: unusable reply"),
        ("seal", EmbeddedJudge(), "The judge gave no usable verdict for any training text: "),
        ("dcr", EmbeddedJudge(), "The judge gave no usable score for any training text: "),
        ("direct", EmbeddedJudge(), "The judge gave no usable score for any training text: unusable reply"),
        ("few_shot", EmbeddedJudge(), "The judge gave no usable score for any training text: unusable reply"),
        ("geval", None, "No evaluation steps could be obtained: unusable reply"),
        ("analyze_rate", EmbeddedJudge(), "The judge gave no usable score for any training text: unusable reply"),
    ],
)
async def test_learning_without_a_usable_reply_is_an_error_that_says_what_failed(name, generator, message):
    with pytest.raises(JudgeError, match=message):
        await learn(name, given_to(name), FakeJudge(lambda _: "I would rather not."), generator)

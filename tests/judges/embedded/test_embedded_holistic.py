"""Scores of the whole aspect by the offline judge: on the scale, deterministic, and exact where they are weighted."""

from __future__ import annotations

import asyncio
import json
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from holistic_scripts import OVERALL, learn, part, whole
from hypoeval_scripts import ASPECT
from hypothesis import given, settings, strategies as st

from rubriclab.data import Aspect, Assignment, Example, Scale, find_aspect, task_words
from rubriclab.judges import Reply, score_distribution
from rubriclab.judges.ask import read
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.embedded.judge import ANSWERS
from rubriclab.judges.embedded.wording import BY_NAME
from rubriclab.judges.request import read_back, written
from rubriclab.methods.baselines import FEW_SHOT_FORM as FEW_SHOT, GEVAL_FORM as GEVAL, GEvalSettings, steps_prompt
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.holistic import HolisticSettings, ScoreFormat, holistic_prompt
from rubriclab.methods.seeval import SEEvalSettings
from rubriclab.methods.seeval.explain import FORM as SEEVAL, Mistake, explain_prompt, refine_prompt
from rubriclab.prompts import Prompt
from rubriclab.rubric import Demonstration
from rubriclab.stats.correlation import pearson

DIRECT = ScoreFormat("direct/rate", lambda _: {})
ONCE = HolisticSettings()
WEIGHTED = HolisticSettings(scoring="weighted", samples=2)
SCALES = [
    Scale(low=1, high=5, whole=True),
    Scale(low=1, high=10, whole=True),
    Scale(low=0, high=100, whole=True),
    Scale(low=-10, high=5, whole=True),
    Scale(low=0, high=1, whole=True),
    Scale(low=1, high=5, whole=False),
    Scale(low=0, high=1, whole=False),
]
SOURCE = (
    "The harbour of Eastmere will be closed for repairs from May. The council has set 400 crowns aside for the work. "
    "Fishermen fear for their income, since the season begins in June. Mayor Holt promised help on Monday."
)
WORDS = SOURCE.split()


def text(number: int, score: float = 3) -> Example:
    """Return a text that is the longer and the more varied, the higher its score."""
    draw = random.Random(number)
    count = int(6 + 7 * score + draw.randint(0, 4))
    said = " ".join(draw.choice(WORDS) for _ in range(count))
    return Example(f"t{number:02d}", said + ".", f"g{number % 8}", source=SOURCE, scores={ASPECT: score})


TEXTS = tuple(text(i, 1 + i % 5) for i in range(24))


def assignment(scale: Scale = SCALES[0], aspect: str = ASPECT) -> Assignment:
    return Assignment(task_words("summarization"), find_aspect("summarization", aspect), scale)


def replied(prompt: Prompt[Any]) -> Reply:
    return asyncio.run(EmbeddedJudge().reply(prompt))


def answered(prompt: Prompt[Any]) -> Any:
    value, complaint = read(replied(prompt), prompt)
    assert value is not None, complaint
    return value


def exact(example: Example, form: ScoreFormat, criterion=None, scale: Scale = SCALES[0]) -> float:
    """Return the judge's score before it is put into the form of a reply."""
    prompt = holistic_prompt(example, criterion or whole(), assignment(scale), form, WEIGHTED)
    return ANSWERS[prompt.name]({**prompt.fields, "sample": 0, "exact": True})["score"]


# Weighted


@settings(deadline=None, max_examples=80)
@given(scale=st.sampled_from(SCALES[:5]), share=st.floats(0, 1))
def test_the_probabilities_of_a_weighted_reply_are_those_of_the_exact_score(scale, share):
    score = scale.low + share * scale.width
    reply = EmbeddedJudge()._weighted(score, {"low": scale.low, "high": scale.high, "whole": True})
    assert "".join(token.text for token in reply.tokens) == reply.text
    legal = [float(value) for value in range(int(scale.low), int(scale.high) + 1)]
    found = score_distribution(reply, legal)
    assert found is not None
    assert sum(found.values()) == pytest.approx(1)
    assert sum(value * part_ for value, part_ in found.items()) == pytest.approx(score, abs=1e-9)
    assert all(abs(value - score) < 1 or part_ < 1e-9 for value, part_ in found.items())
    assert abs(json.loads(reply.text)["score"] - score) <= 0.5 + 1e-9


@pytest.mark.parametrize("scale", SCALES[:6], ids=Scale.describe)
@pytest.mark.parametrize("form", [DIRECT, GEVAL, SEEVAL], ids=lambda form: form.template)
def test_a_weighted_score_is_the_exact_one_in_a_single_call(form, scale):
    asked = []

    class Watched(EmbeddedJudge):
        async def reply(self, prompt):
            asked.append(prompt)
            return await super().reply(prompt)

    method = form.template.split("/")[0]
    criterion = whole(statement(method, scale))
    chosen = part(method, criterion, scoring="weighted")
    for example in TEXTS[:6]:
        value, _ = asyncio.run(METHODS[method].score(example, chosen, assignment(scale), Watched()))
        assert value == pytest.approx(exact(example, form, criterion, scale), abs=1e-6)
    assert len(asked) == 6


def statement(method: str, scale: Scale = SCALES[0]) -> str:
    """Return what the judge scores by, as it words it itself."""
    if method == "geval":
        steps = answered(steps_prompt(assignment(scale), GEvalSettings())).steps
        return "\n".join(f"{place}. {step}" for place, step in enumerate(steps, 1))
    if method == "seeval":
        return str(answered(explain_prompt(0, assignment(scale), SEEvalSettings(scoring="weighted"))).explanation)
    return "Its definition."


def test_a_weighted_reply_is_kept_with_its_tokens():
    reply = replied(holistic_prompt(TEXTS[0], whole(), assignment(), DIRECT, WEIGHTED))
    again = read_back(json.loads(json.dumps(written(reply))))
    assert replace(again, cached=False) == reply
    assert all(math.isfinite(share) for token in reply.tokens for _, share in token.alternatives)
    assert all(len(token.alternatives) <= 20 for token in reply.tokens)


@pytest.mark.parametrize("scale", SCALES, ids=Scale.describe)
@pytest.mark.parametrize("name", OVERALL)
async def test_samples_asked_for_without_probabilities_are_legal_too(name, scale):
    """A server that does not report log-probabilities passes no wish for alternatives on."""
    judge = EmbeddedJudge()

    class Mute:
        name, identity = "mute", judge.identity

        async def reply(self, prompt):
            return await judge.reply(replace(prompt, alternatives=0))

    texts = [replace(each, scores={ASPECT: scale.anchors()[i % 2]}) for i, each in enumerate(TEXTS[:8])]
    learned = await learn(name, texts, judge=Mute(), scale=scale, scoring="weighted", samples=2)
    assert not np.isnan(learned.scores).any()
    assert all(scale.contains(score) for score in learned.scores)


# Once


@pytest.mark.parametrize("scale", SCALES, ids=Scale.describe)
@pytest.mark.parametrize("scoring", ["once", "weighted"])
@pytest.mark.parametrize("name", OVERALL)
async def test_every_method_learns_offline_on_every_scale(name, scoring, scale):
    anchors = scale.anchors()
    texts = [replace(each, scores={ASPECT: anchors[i % len(anchors)]}) for i, each in enumerate(TEXTS[:12])]
    learned = await learn(name, texts, judge=EmbeddedJudge(), scale=scale, scoring=scoring, samples=2)
    assert not np.isnan(learned.scores).any()
    assert all(scale.contains(score) for score in learned.scores)
    if scoring == "once":
        assert all(scale.holds(score) for score in learned.scores)


@pytest.mark.parametrize("name", OVERALL)
async def test_the_same_question_has_the_same_answer(name):
    first, again = [await learn(name, TEXTS, judge=EmbeddedJudge()) for _ in range(2)]
    assert first.part == again.part
    assert np.array_equal(first.scores, again.scores)


def test_it_says_that_it_measures_and_does_not_read():
    _, (found,) = asyncio.run(METHODS["direct"].score(TEXTS[0], part("direct"), assignment(), EmbeddedJudge()))
    assert found.reason.startswith("Measured, not read: ")
    assert answered(explain_prompt(0, assignment(), SEEvalSettings())).explanation.startswith("I measure texts and do")
    mistakes = [Mistake(each, each.scores[ASPECT], 3) for each in TEXTS[:6]]
    refined = answered(refine_prompt("Mine.", mistakes, assignment()))
    assert refined.explanation.startswith("I measure texts and do not read them.")
    assert "6 texts" in refined.reasoning


# Explanations and steps


def test_later_explanations_differ_from_the_first():
    found = [answered(explain_prompt(k, assignment(), SEEvalSettings())).explanation for k in range(8)]
    assert len(set(found)) == 8
    assert found == [answered(explain_prompt(k, assignment(), SEEvalSettings())).explanation for k in range(8)]


@pytest.mark.parametrize("scale", SCALES, ids=Scale.describe)
def test_an_explanation_names_what_each_score_looks_like_and_is_read_back(scale):
    explanation = answered(explain_prompt(0, assignment(scale), SEEvalSettings())).explanation
    lines = explanation.split("\n")
    assert len(lines) == 1 + len(scale.anchors())
    named = [entry for entry in BY_NAME.values() if f"{entry.title}: " in lines[1]]
    assert 1 <= len(named) <= 4
    scores = {exact(each, SEEVAL, whole(explanation), scale) for each in TEXTS}
    assert len(scores) > 3


def test_numbered_steps_are_read_as_the_explanation_is():
    explanation, numbered = statement("seeval"), statement("geval")
    assert numbered.startswith("1. Scores for coherence ")
    for each in TEXTS[:8]:
        assert exact(each, GEVAL, whole(numbered)) == pytest.approx(exact(each, SEEVAL, whole(explanation)))


def test_somebody_else_s_explanation_is_read_by_its_words():
    def reason(explanation: str) -> str:
        return answered(holistic_prompt(TEXTS[0], whole(explanation), assignment(), SEEVAL, ONCE)).reasoning

    assert "word pairs that occur more than once" in reason("I would mark repeated phrases down.")
    assert "word pairs that occur more than once" not in reason("I would look at the source for overlap.")


def test_a_rewriting_follows_the_labels_that_it_is_shown():
    def tracked(sign: int) -> float:
        shown = [Mistake(each, each.scores[ASPECT] if sign > 0 else 6 - each.scores[ASPECT], 3) for each in TEXTS[:20]]
        explanation = whole(answered(refine_prompt("Mine.", shown, assignment())).explanation)
        scores = np.array([exact(each, SEEVAL, explanation) for each in TEXTS])
        return pearson(scores, np.array([each.scores[ASPECT] for each in TEXTS], dtype=float))

    assert tracked(1) > 0.8
    assert tracked(-1) < 0


def test_a_rewriting_does_not_hang_on_the_scores_that_the_judge_gave():
    mistakes = [[Mistake(each, each.scores[ASPECT], score) for each in TEXTS[:9]] for score in (1, 5)]
    low, high = (answered(refine_prompt("Mine.", each, assignment())) for each in mistakes)
    assert low == high


# Demonstrations


def shown(*scores: float) -> tuple[Demonstration, ...]:
    texts = [text(50 + i, score) for i, score in enumerate(scores)]
    return tuple(Demonstration(example=e.id, output=e.output, source=e.source, score=e.scores[ASPECT]) for e in texts)


def test_demonstrations_set_the_levels():
    def mean(demonstrations: tuple[Demonstration, ...]) -> float:
        return float(np.mean([exact(each, FEW_SHOT, whole(demonstrations=demonstrations)) for each in TEXTS]))

    texts = shown(1, 2, 3)
    raised = tuple(each.model_copy(update={"score": each.score + 2}) for each in texts)
    assert mean(texts) + 1 < mean(raised)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
def test_texts_that_no_measure_tells_apart_teach_nothing_and_break_nothing(count):
    rich = f'Mr Holt said, "I will go home to Eastmere." {SOURCE} He ran 3 miles, and Mary Smith laughed.'
    alike = [Example(str(i), rich, "g", source=rich, context=rich, scores={ASPECT: 1.0 + i % 5}) for i in range(count)]
    demonstrations = tuple(
        Demonstration(example=e.id, output=e.output, source=e.source, context=e.context, score=e.scores[ASPECT])
        for e in alike
    )
    assert 1 <= exact(TEXTS[0], FEW_SHOT, whole(demonstrations=demonstrations)) <= 5
    mistakes = [Mistake(each, each.scores[ASPECT], 3) for each in alike]
    assert answered(refine_prompt("Mine.", mistakes, assignment())).explanation


# Edges


@pytest.mark.parametrize("name", OVERALL)
async def test_any_text_gets_a_score(name):
    learned = await learn(name, TEXTS[:12], judge=EmbeddedJudge())
    for output in ("x", ".", "\ud800", "长长长", "A. " * 300):
        odd = Example("odd", output, "g", source="")
        value, _ = await METHODS[name].score(odd, learned.part, assignment(), EmbeddedJudge())
        assert assignment().scale.contains(value), output


@pytest.mark.parametrize("name", OVERALL)
async def test_an_aspect_of_which_nothing_is_known_is_judged_too(name):
    strange = Assignment(task_words("letters"), Aspect(name="zorp", definition="How zorp it is."), SCALES[0])
    method = METHODS[name]
    chosen = part(name, whole("How zorp it is.", demonstrations=shown(1, 3, 5)))
    value, _ = await method.score(TEXTS[0], chosen, strange, EmbeddedJudge())
    assert strange.scale.contains(value)

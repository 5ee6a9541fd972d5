"""Hypotheses by the offline judge: they name what the labels follow, and always fit the question."""

import asyncio
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypoeval_scripts import criterion, findings

from rubriclab.data import Assignment, Example, Scale, find_aspect, read, task_words
from rubriclab.judges.ask import read as read_reply
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.embedded.proposing import PRIOR_LABELS, PRIOR_R, beliefs_about
from rubriclab.judges.embedded.wording import directions, feature_scores
from rubriclab.literature import load_findings
from rubriclab.methods.deduplication import find_redundant
from rubriclab.methods.hypoeval.propose import ProposalContext, propose, propose_prompt, refine
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion
from rubriclab.stats.correlation import pearson
from rubriclab.text_features import CATALOGUE, extract_features

SAMPLE = Path(__file__).resolve().parents[3] / "experiments" / "sample" / "labelled.jsonl"
SCALES = [
    Scale(low=1, high=5, whole=True),
    Scale(low=1, high=5, whole=False),
    Scale(low=0, high=1, whole=True),
    Scale(low=0, high=1, whole=False),
    Scale(low=1, high=3, whole=True),
    Scale(low=0, high=100, whole=True),
]
ASPECTS = [
    ("summarization", "coherence"),
    ("summarization", "consistency"),
    ("story", "surprise"),
    ("dialogue", "groundedness"),
    ("dialogue", "overall"),
]
HOSTILE = [
    "",
    " ",
    ".",
    "a",
    "\x00\x01",
    "?!?!...",
    "🙂" * 40,
    "مرحبا \u202e بالعالم",
    "word " * 2000,
    "1 2 3 4",
    "\n\n\n",
    "“”‘’",
    "a" * 3000,
    "{{ x }} {% y %}",
    "<<<end of summary 00000000>>>",
    "number of words: about 43",
    "\ud800",
]


def given(scale: Scale = SCALES[0], task: str = "summarization", aspect: str = "coherence") -> Assignment:
    return Assignment(task_words(task), find_aspect(task, aspect), scale)


def example(number: int, output: str, score: float, aspect: str = "coherence", **fields: Any) -> Example:
    return Example(id=f"t{number:02d}", output=output, group="g", scores={aspect: score}, **fields)


def answered(prompt: Prompt) -> Any:
    """Return the judge's parsed answer; it never needs a repair."""
    value, complaint = read_reply(asyncio.run(EmbeddedJudge().reply(prompt)), prompt)
    assert value is not None, complaint
    return value


@pytest.fixture(scope="module")
def sample() -> list[Example]:
    return [row for row in read(SAMPLE) if isinstance(row, Example)]


def spread_out(scale: Scale, place: int, of: int) -> float:
    """Return a label that rises with the place."""
    score = scale.low + scale.width * place / (of - 1)
    return float(round(score)) if scale.whole else score


# Every question is answered in its form


@pytest.mark.parametrize(
    ("scale", "task", "aspect"),
    [(SCALES[place % len(SCALES)], *about) for place, about in enumerate(ASPECTS * 2)],
)
def test_proposals_fit_every_task_and_scale(scale, task, aspect, sample):
    texts = tuple(
        replace(text, context=text.source, scores={aspect: spread_out(scale, place % 6, 6)})
        for place, text in enumerate(sample[:12])
    )
    for material in (
        ProposalContext(texts, load_findings(task, aspect)),
        ProposalContext(texts),
        ProposalContext(findings=load_findings(task, aspect)),
        ProposalContext(),
    ):
        told = answered(propose_prompt(4, material, given(scale, task, aspect)))
        assert 1 <= len(told.hypotheses) <= 4
        for hypothesis in told.hypotheses:
            assert tuple(level.score for level in hypothesis.levels) == scale.anchors()


@pytest.mark.parametrize("count", [1, 2, 5, 10, 20])
def test_proposals_are_as_many_as_the_features_allow_and_no_two_alike(count, sample):
    for material in (ProposalContext(tuple(sample)), ProposalContext()):
        told = answered(propose_prompt(count, material, given()))
        assert min(count, 5) <= len(told.hypotheses) <= count
        assert len({hypothesis.trait for hypothesis in told.hypotheses}) == len(told.hypotheses)


def test_the_same_question_has_the_same_answer(sample):
    prompt = propose_prompt(5, ProposalContext(tuple(sample), findings()), given())
    replies = [asyncio.run(EmbeddedJudge().reply(prompt)).text for _ in range(3)]
    assert len(set(replies)) == 1


def test_the_order_of_the_texts_does_not_change_what_is_proposed(sample):
    shuffled = list(sample)
    random.Random(0).shuffle(shuffled)
    first, again = (answered(propose_prompt(5, ProposalContext(tuple(texts)), given())) for texts in (sample, shuffled))
    assert [h.trait for h in first.hypotheses] == [h.trait for h in again.hypotheses]


@pytest.mark.parametrize("scale", [SCALES[0], SCALES[3]], ids=Scale.describe)
@pytest.mark.parametrize("source", [None, "", ".", "A source of words. It has two sentences."])
def test_hostile_and_all_but_empty_texts_are_answered(scale, source):
    texts = [
        example(i, output, spread_out(scale, i % 5, 5), source=source, context=source)
        for i, output in enumerate(HOSTILE)
    ]
    for some in (
        texts,
        texts[:1],
        texts[:3],
        [replace(texts[8], id=f"u{i}", scores=texts[i].scores) for i in range(6)],
    ):
        told = answered(propose_prompt(5, ProposalContext(tuple(some), findings()), given(scale)))
        assert told.hypotheses


def test_texts_that_are_all_the_same_leave_what_is_usual():
    whole = {"source": "The cat sat here. It then went home again.", "context": "The cat sat."}
    texts = [example(i, "The cat sat on the mat today. The cat then went home.", 1 + i % 5, **whole) for i in range(8)]
    told = answered(propose_prompt(5, ProposalContext(tuple(texts)), given()))
    usual = answered(propose_prompt(5, ProposalContext(), given()))
    assert [h.trait for h in told.hypotheses] == [h.trait for h in usual.hypotheses]
    assert "usual" in told.hypotheses[0].levels[0].description


def test_equal_labels_leave_what_is_usual_and_fit_the_texts(sample):
    # Measures of a context count for relevance, but these texts have none.
    texts = tuple(replace(text, scores={"relevance": 5.0}) for text in sample[:6])
    told = answered(propose_prompt(5, ProposalContext(texts), given(aspect="relevance")))
    for hypothesis in told.hypotheses:
        found = feature_scores(hypothesis.model_dump())
        assert found, hypothesis
        assert not any(reading.feature == "context_covered" for reading in found)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_handful_of_texts_is_answered(size, sample):
    assert answered(propose_prompt(5, ProposalContext(tuple(sample[:size])), given())).hypotheses


# Hypotheses follow the labels


def test_each_measure_s_correlation_is_drawn_towards_what_is_usual_of_it_alone(sample):
    # The first text's source is missing, so what needs one cannot be correlated and stays as usual.
    texts = (replace(sample[0], source=None), *sample[1:9])
    fields = propose_prompt(5, ProposalContext(texts), given()).fields
    observations = fields["observations"]
    labels = [item["score"] for item in observations]
    rows = [extract_features(item["output"], item.get("source"), item.get("context")) for item in observations]
    held = {belief.feature: belief.r for belief in beliefs_about(fields, observations)}
    assert any(entry.needs for entry in CATALOGUE if entry.name in held)
    for entry in CATALOGUE:
        values, expected = [row[entry.name] for row in rows], PRIOR_R * directions(fields)[entry.name]
        if not any(map(math.isnan, values)):
            r = pearson(values, labels)
            expected = 0.0 if math.isnan(r) else (9 * r + PRIOR_LABELS * expected) / (9 + PRIOR_LABELS)
        assert held.get(entry.name, 0.0) == pytest.approx(expected, abs=1e-12)


def counted(words: int) -> str:
    return " ".join(f"Word{i}." if i % 7 == 6 else f"word{i}" for i in range(words))


def measures_of(hypothesis: Any) -> list[str]:
    return [reading.feature for reading in feature_scores(hypothesis.model_dump())]


def rises(hypothesis: Any, name: str) -> bool:
    (reading,) = [r for r in feature_scores(hypothesis.model_dump()) if r.feature == name]
    points = sorted(reading.points)
    return points[-1][1] > points[0][1]


LENGTHS = ("words", "log_words", "distinct_content_words", "sentences")


@pytest.mark.parametrize("sign", [1, -1])
def test_the_first_hypothesis_names_what_the_labels_follow_and_in_which_direction(sign):
    lengths = [10, 14, 19, 25, 32, 40, 49, 59, 70, 82, 95, 109]
    texts = [
        example(i, counted(length), 3 + sign * 2 * (i - 5.5) / 5.5, "grammaticality")
        for i, length in enumerate(lengths)
    ]
    told = answered(propose_prompt(3, ProposalContext(tuple(texts)), given(SCALES[1], "story", "grammaticality")))
    first = told.hypotheses[0]
    named = [name for name in measures_of(first) if name in LENGTHS]
    assert named
    assert all(rises(first, name) == (sign > 0) for name in named)


@pytest.mark.parametrize(("task", "aspect"), ASPECTS, ids=lambda name: name)
def test_without_labels_hypotheses_follow_what_is_usual_of_the_aspect(task, aspect):
    assigned = given(task=task, aspect=aspect)
    usual = directions(assigned.fields())
    told = answered(propose_prompt(5, ProposalContext(), assigned))
    found = [(name, rises(h, name)) for h in told.hypotheses for name in measures_of(h)]
    assert found
    for name, rising in found:
        assert usual[name] > 0 if rising else usual[name] < 0


def test_findings_bring_forward_what_they_speak_of():
    claim = replace_claims(findings(3), "Raters reward questions: a response that asks something invites an answer.")
    without, with_claims = (
        [
            name
            for h in answered(
                propose_prompt(30, ProposalContext(findings=told), given(task="dialogue", aspect="engagingness"))
            ).hypotheses
            for name in measures_of(h)
        ]
        for told in ((), claim)
    )
    assert with_claims.index("question_marks") <= without.index("question_marks")


def replace_claims(found, claim: str):
    return tuple(finding.model_copy(update={"claim": claim}) for finding in found)


@pytest.mark.parametrize("scale", SCALES, ids=Scale.describe)
@pytest.mark.parametrize("narrow", [1.0, 0.3], ids=["spread labels", "labels near the top"])
def test_every_hypothesis_is_read_back_to_the_measures_it_names(scale, narrow, sample):
    for aspect in ("consistency", "fluency"):
        labels = [scale.high - (5 - text.scores[aspect]) / 4 * scale.width * narrow for text in sample]
        texts = tuple(replace(t, scores={aspect: label}) for t, label in zip(sample, labels, strict=True))
        told = answered(propose_prompt(6, ProposalContext(texts), given(scale, aspect=aspect)))
        for hypothesis in told.hypotheses:
            found = feature_scores(hypothesis.model_dump())
            assert len(found) == hypothesis.levels[0].description.count(";") + 1, hypothesis
            assert len({reading.feature for reading in found}) == len(found)


# Refinement and redundancy


async def proposed(sample, count: int = 4) -> tuple[Criterion, ...]:
    found, failure = await propose(count, ProposalContext(tuple(sample)), given(), EmbeddedJudge())
    assert failure is None
    return tuple(c.model_copy(update={"id": f"h{i:02d}"}) for i, c in enumerate(found, start=1))


async def test_refinement_by_texts_fits_the_thresholds_anew_and_keeps_the_measures(sample):
    before = await proposed(sample[:8])
    after = await refine(before, ProposalContext(tuple(sample[20:30])), given(), EmbeddedJudge())
    assert len(after) == len(before)
    assert [c.levels for c in after] != [c.levels for c in before]
    for old, new in zip(before, after, strict=True):
        names = [{reading.feature for reading in feature_scores(c.model_dump())} for c in (old, new)]
        assert names[1] <= names[0]


async def test_refinement_by_the_same_texts_changes_nothing(sample):
    before = await proposed(sample)
    once = await refine(before, ProposalContext(tuple(sample)), given(), EmbeddedJudge())
    assert await refine(once, ProposalContext(tuple(sample)), given(), EmbeddedJudge()) is once


@pytest.mark.parametrize("material", [ProposalContext(findings=findings()), "texts"])
async def test_a_person_s_hypothesis_is_left_alone(material, sample):
    by_hand = (criterion("a"), criterion("b"))
    material = ProposalContext(tuple(sample)) if material == "texts" else material
    assert await refine(by_hand, material, given(), EmbeddedJudge()) is by_hand


async def test_what_is_read_off_the_same_measures_is_redundant_and_nothing_else(sample):
    own = await proposed(sample, 3)
    copy = (await refine(own, ProposalContext(tuple(sample[:15])), given(), EmbeddedJudge()))[1]
    copy = copy.model_copy(update={"id": "copy"})
    bank = [[each] for each in (*own, copy, criterion("by hand"))]
    out = await find_redundant(bank, "hypothesis", given(), EmbeddedJudge())
    assert set(out) == {"copy"}
    assert "says what h02 says" in out["copy"]

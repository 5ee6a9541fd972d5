"""The designs `repeats` and `rephrased`: how far figures spread over runs and over wordings."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace

import numpy as np
import pytest
from one_case import NEEDS_LABELS, RAW, outcome_of, study
from scipy.stats import spearmanr
from scripted_judge import criterion, drawn_score, scripted

from experiments.runner.arms import course, learn, score
from experiments.runner.designs.spread import STRIDE, Altered, Wording, _deviation_of_runs
from experiments.runner.figures import human_scores
from experiments.runner.run import schedule
from experiments.runner.study import BASELINES, load_study
from rubriclab.errors import SettingsError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import Reply
from rubriclab.methods.hypoeval.score import rate_prompt
from rubriclab.models.text import Assignment, Example, Scale, find_aspect, task_words
from rubriclab.prompts import render
from rubriclab.stats.agreement import agreement
from rubriclab.stats.intervals import Interval

DIRECT = RAW["arms"][0]
WORDINGS = [
    {"output": "digest"},
    {"definition": "Is its grammar sound?"},
    {"definition": "How long is it?", "scale": "{low} to {high}"},
]
OTHER = Wording(
    source="article", output="digest", aspect="flow", definition="Does it flow?", scale="{low} up to {high}"
)


def repeats(*arms, **fields):
    raw = {"design": "repeats", "sets": {"qags_cnndm": ["consistency"]}, "test_texts": None}
    return study(**{**raw, "arms": list(arms or (DIRECT,)), **fields})


def rephrased(**fields):
    options = {"wordings": {"summeval": {"coherence": WORDINGS}}}
    return study(**{"design": "rephrased", "options": options, "compare": [["direct", BASELINES[0]]], **fields})


async def test_figures_are_means_over_independent_runs_with_their_standard_deviation(sets) -> None:
    judge = scripted()
    outcome, texts = await outcome_of(repeats(), sets, judge)
    scored = []
    for run in range(3):
        given_ = {p.fields["output"]: drawn_score(p) for p in judge.prompts if p.sample // STRIDE == run}
        scored.append([given_[text.output] for text in texts.test])
    single = [spearmanr(scores, human_scores(texts))[0] for scores in scored]
    row = outcome.rows[0]
    assert [row.figures[f"spearman, run {run}"].value for run in (1, 2, 3)] == pytest.approx(single, abs=1e-6)
    assert row.figures["spearman"].value == pytest.approx(np.mean(single), abs=1e-6)
    assert row.figures["spearman spread"].value == pytest.approx(np.std(single, ddof=1), abs=1e-6) != 0
    assert row.figures["score spread"].value == pytest.approx(np.std(scored, axis=0, ddof=1).mean(), abs=1e-6)
    assert row.scoring.calls == len(judge.prompts) == 3 * len(texts.test)


async def test_a_judge_of_one_answer_and_the_baselines_have_no_spread(sets) -> None:
    judge = scripted(score=lambda prompt: 1 + len(prompt.fields["output"]) % 5)
    outcome, _ = await outcome_of(repeats(NEEDS_LABELS, DIRECT, sets={"summeval": ["coherence"]}), sets, judge)
    rows = {row.arm: row for row in outcome.rows}
    assert "labelled texts" in rows.pop("needs labels").missing
    assert list(rows) == ["direct", *BASELINES]
    for row in rows.values():
        assert row.figures["spearman"].value is not None
        assert {row.figures[name].value for name in ("spearman spread", "kendall spread", "score spread")} == {0}


async def test_a_temperature_is_raised_and_never_lowered(sets) -> None:
    weighted = {"scoring": "weighted", "samples": 2}
    arms = (DIRECT, {"name": "geval", "method": "geval", "labels": False, "settings": {"geval": weighted}})
    some = repeats(*arms, options={"temperatures": [0.5, 1.5], "runs": 2}, test_texts=5)
    for place, expected in enumerate((0.5, 1.5)):
        judge = scripted()
        outcome, _ = await outcome_of(some, sets, judge, place=place)
        assert outcome.case.variant == f"temperature {expected:g}"
        asked = {(prompt.name, prompt.temperature) for prompt in judge.prompts}
        assert asked == {("direct/rate", expected), ("geval/steps", expected), ("geval/rate", max(expected, 1.0))}


def test_the_spread_of_runs_has_the_interval_of_a_normal_standard_deviation() -> None:
    # Of 3 values the chi-squared quantiles with 2 degrees of freedom are -2 ln(0.975) and -2 ln(0.025).
    found = _deviation_of_runs([0.1, 0.2, 0.3])
    assert found.value == pytest.approx(0.1, abs=1e-6)
    assert found.low == pytest.approx(0.1 * np.sqrt(2 / (-2 * np.log(0.025))), abs=1e-6)
    assert found.high == pytest.approx(0.1 * np.sqrt(2 / (-2 * np.log(0.975))), abs=1e-6)
    assert _deviation_of_runs([0.1, None, 0.3]).value is None


class Touchy:
    """The offline judge, which gives the opposite scores when it is asked about a digest."""

    def __init__(self) -> None:
        self._judge = EmbeddedJudge()
        self.name, self.identity = "touchy", {"model": "touchy"}
        self.prompts: list = []

    async def reply(self, prompt):
        self.prompts.append(prompt)
        reply = await self._judge.reply(replace(prompt, alternatives=0))
        answer = json.loads(reply.text)
        if prompt.fields["words"]["output"] != "digest" or "score" not in answer:
            return reply
        scale = prompt.fields["scale"]
        return Reply(json.dumps({**answer, "score": scale["low"] + scale["high"] - answer["score"]}), self.name)


async def test_a_row_holds_each_wording_s_figure_their_mean_and_their_spread(sets) -> None:
    some, judge = rephrased(), Touchy()
    outcome, texts = await outcome_of(some, sets, judge)
    learned = await learn(course(some.arms[0], (), texts.home), judge, seed=42)
    human, groups, single = human_scores(texts), [text.group for text in texts.test], []
    for wording in WORDINGS:
        asked = Altered(judge, Wording.model_validate(wording))
        scored, _ = await score("any", learned.trained.rubric, texts.test, asked, 4)
        single.append(agreement(scored.scores, human, groups, level="group").spearman.value)
    rows = {row.arm: row for row in outcome.rows}
    row = rows["direct"]
    assert [row.figures[f"spearman, wording {n}"].value for n in (1, 2, 3)] == pytest.approx(single, abs=1e-6)
    assert row.figures["spearman spread"].value == pytest.approx(statistics.stdev(single), abs=2e-6)
    assert row.figures["spearman"].value == pytest.approx(statistics.fmean(single), abs=2e-6)
    assert row.figures["spearman spread"].value > 0.05
    assert row.scoring.calls == row.counts["answers"] == 3 * len(texts.test)
    for baseline in BASELINES:
        assert rows[baseline].figures["spearman spread"] == Interval(0)
    (gap,) = outcome.gaps
    assert (gap.measure, gap.difference.value) == ("spearman spread", row.figures["spearman spread"].value)


async def test_only_scoring_is_asked_in_other_words(sets) -> None:
    arms = [{"name": "seeval", "method": "seeval", "settings": {"seeval": {"explanations": 1}}}]
    _, texts = await outcome_of(rephrased(arms=arms, compare=[]), sets, judge := Touchy())
    tested = {text.output for text in texts.test}
    usual = sets.assignment("summeval", "coherence").aspect.definition
    told = {True: [], False: []}
    for p in judge.prompts:
        words = (p.fields["words"]["output"], p.fields["aspect"]["definition"])
        told[p.fields.get("output") in tested].append(words)
    assert set(told[False]) == {("summary", usual)}
    assert told[True].count(("digest", usual)) == told[True].count(("summary", "Is its grammar sound?")) == len(tested)


@pytest.mark.parametrize(
    ("some", "told"),
    [
        (repeats(options={"runs": 1}), "options.runs"),
        (repeats(options={"temperatures": [3.0]}), "options.temperatures"),
        (rephrased(options={"wordings": {}}), "has 0 for summeval coherence"),
    ],
)
def test_options_that_make_no_sense_are_refused(sets, some, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        schedule(some, sets)


def shown(task: str, aspect: str, wording: Wording | None) -> str:
    """Return what a language model reads when a text is rated by a hypothesis in a wording."""
    assignment = Assignment(task_words(task), find_aspect(task, aspect), Scale(low=1, high=5, whole=False))
    text = Example(id="a", group="a", source="Some source.", output="Some output.", scores={aspect: 2.0})
    prompt = rate_prompt(text, [criterion("h1")], assignment)
    altered = replace(prompt, fields=wording.of(prompt.fields)) if wording else prompt
    return "\n".join(message["content"] for message in render(altered))


def test_a_model_reads_the_other_words_and_none_of_the_usual_ones() -> None:
    usual, other = (shown("summarization", "coherence", wording) for wording in (None, OTHER))
    for words in ("<<<article", "<<<digest", "Judge the digest", "1 up to 5"):
        assert words in other
        assert words not in usual
    assert "summary" in usual
    assert "summary" not in other


@pytest.mark.parametrize(
    ("name", "task", "aspect"), [("summeval", "summarization", "coherence"), ("hanna", "story", "engagement")]
)
def test_the_stored_wordings_are_ten_different_instructions(name: str, task: str, aspect: str) -> None:
    given_ = load_study("hypoeval-prompt-robustness").options["wordings"][name][aspect]
    assert len({shown(task, aspect, Wording.model_validate(each)) for each in given_}) == 10

"""The design `rephrased`: one rubric asked in several wordings, and how far its figures spread."""

from __future__ import annotations

import asyncio
import json
import statistics
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from experiments.runner.arms import course, learn
from experiments.runner.bench import Bench
from experiments.runner.designs.rephrased import REPHRASED, spread
from experiments.runner.figures import human_scores
from experiments.runner.run import schedule
from experiments.runner.study import BASELINES, Study, parse_study
from experiments.runner.wording import Reworded, Wording
from rubriclab.errors import SettingsError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import Reply
from rubriclab.scoring import score_stream
from rubriclab.stats.agreement import agreement
from rubriclab.stats.interval import Interval

WORDINGS = [
    {"output": "digest"},
    {"definition": "Is its grammar sound?"},
    {"definition": "How long is it?", "scale": "{low} to {high}"},
]
# Asked in a wording that speaks of it, this judge mirrors its scores.
CONTRARY = "digest"
ARMS = [{"name": "direct", "method": "direct", "labels": False}, {"name": "geval", "method": "geval", "labels": False}]


class Touchy:
    """The offline judge, which takes offence at a word and then gives the opposite scores."""

    def __init__(self) -> None:
        self._judge = EmbeddedJudge()
        self.name, self.identity = "touchy", {"model": "touchy"}
        self.prompts: list = []

    async def reply(self, prompt):
        self.prompts.append(prompt)
        reply = await self._judge.reply(replace(prompt, alternatives=0))
        answer = json.loads(reply.text)
        if prompt.fields["words"]["output"] != CONTRARY or "score" not in answer:
            return reply
        scale = prompt.fields["scale"]
        return Reply(json.dumps({**answer, "score": scale["low"] + scale["high"] - answer["score"]}), self.name)


def study(**fields: object) -> Study:
    raw = {
        "name": "some",
        "question": "What?",
        "design": "rephrased",
        "sets": {"summeval": ["coherence"]},
        "labels": [12],
        "test_texts": 24,
        "arms": ARMS[:1],
        "compare": [["direct", BASELINES[0]]],
        "options": {"wordings": {"summeval": {"coherence": WORDINGS}}},
    }
    return parse_study({**raw, **fields}, "here")


def outcome_of(some: Study, sets, judge=None):
    (case,) = schedule(some, sets).cases
    bench = Bench(some, sets, (judge or EmbeddedJudge(),))
    return asyncio.run(REPHRASED.run(bench, case)), bench, case


def test_a_row_holds_each_wording_s_figure_their_mean_and_their_spread(sets) -> None:
    some, judge = study(), Touchy()
    outcome, bench, case = outcome_of(some, sets, judge)
    texts = bench.material(case)

    async def scores(wording) -> list[float]:
        trained = await learn(course(some.arms[0], (), texts.home), judge, seed=case.seed)
        asked = Reworded(judge, Wording.model_validate(wording))
        return [each.score async for each in score_stream(trained.rubric, texts.test, asked, "any")]

    human, groups = human_scores(texts), [text.group for text in texts.test]
    row = outcome.rows[0]
    for measure in ("spearman", "pearson"):
        single = [
            getattr(agreement(np.array(asyncio.run(scores(wording))), human, groups, level="group"), measure).value
            for wording in WORDINGS
        ]
        found = [row.figures[f"{measure}, wording {number}"].value for number in (1, 2, 3)]
        assert found == pytest.approx(single, abs=1e-6)
        assert row.figures[f"{measure} spread"].value == pytest.approx(statistics.stdev(single), abs=2e-6)
        assert row.figures[measure].value == pytest.approx(statistics.fmean(single), abs=2e-6)
    assert row.figures["spearman spread"].value > 0.05


def test_only_scoring_is_asked_in_other_words(sets) -> None:
    some = study(arms=[{"name": "seeval", "method": "seeval", "settings": {"seeval": {"explanations": 1}}}], compare=[])
    judge = Touchy()
    _, bench, case = outcome_of(some, sets, judge)
    tested = {text.output for text in bench.material(case).test}
    told = [
        (p.fields["words"]["output"], p.fields["aspect"]["definition"], p.fields.get("output")) for p in judge.prompts
    ]
    usual = sets.assignment("summeval", "coherence")
    learning = [each[:2] for each in told if each[2] not in tested]
    assert set(learning) == {("summary", usual.aspect.definition)}
    scoring = [each[:2] for each in told if each[2] in tested]
    assert scoring.count(("digest", usual.aspect.definition)) == len(tested)
    assert scoring.count(("summary", "Is its grammar sound?")) == len(tested)


def test_baselines_do_not_spread_and_differences_are_of_the_spread(sets) -> None:
    outcome, _, _ = outcome_of(study(), sets, Touchy())
    rows = {row.arm: row for row in outcome.rows}
    assert list(rows) == ["direct", *BASELINES]
    for baseline in BASELINES:
        assert rows[baseline].figures["spearman spread"] == Interval(0, 0, 0)
        assert rows[baseline].figures["spearman"].value == rows[baseline].figures["spearman, wording 2"].value
    (gap,) = outcome.gaps
    assert gap.measure == "spearman spread"
    assert gap.difference.value == rows["direct"].figures["spearman spread"].value
    assert gap.difference.high == rows["direct"].figures["spearman spread"].high


def test_all_wordings_count_in_what_it_took_and_never_take_more_than_was_told(sets) -> None:
    some = study(arms=ARMS, compare=[["geval", "direct"]])
    outcome, bench, case = outcome_of(some, sets)
    tested = len(bench.material(case).test)
    direct, geval = outcome.rows[:2]
    assert direct.scoring.calls == 3 * tested == direct.counts["answers"]
    assert (direct.counts["texts"], direct.counts["unscored"]) == (tested, 0)
    assert geval.learning.calls == 1
    (most,) = REPHRASED.at_most(bench, case)
    assert direct.scoring.calls + geval.scoring.calls + 1 <= most.calls


def test_longer_words_are_told_to_cost_more(sets) -> None:
    def tokens(definition: str) -> int:
        given_ = [{"definition": definition}, {"output": "digest"}]
        some = study(options={"wordings": {"summeval": {"coherence": given_}}})
        (case,) = schedule(some, sets).cases
        return REPHRASED.at_most(Bench(some, sets, (EmbeddedJudge(),)), case)[0].prompt_tokens

    assert tokens("Is it good? " * 50) > tokens("Is it good?")


def test_an_arm_without_questions_to_start_from_costs_nothing(sets) -> None:
    some = study(arms=[{"name": "dcr", "method": "dcr"}], compare=[])
    (case,) = schedule(some, sets).cases
    assert REPHRASED.at_most(Bench(some, sets, (EmbeddedJudge(),)), case)[0].calls == 0


def test_texts_that_are_unscored_in_any_wording_are_counted(sets) -> None:
    class Silent(Touchy):
        async def reply(self, prompt):
            if prompt.fields["words"]["output"] == CONTRARY:
                return Reply("I would rather not.", self.name)
            return await super().reply(prompt)

    outcome, bench, case = outcome_of(study(), sets, Silent())
    row = outcome.rows[0]
    assert row.counts["unscored"] == len(bench.material(case).test)
    assert outcome.failed
    assert row.figures["spearman, wording 1"].value is None
    assert row.figures["spearman"].value is None
    assert row.figures["spearman spread"].value is None
    assert row.figures["spearman, wording 2"].value is not None


def test_our_own_rule_has_its_spread_where_it_differs_from_the_paper_s(sets) -> None:
    outcome, _, _ = outcome_of(study(level="dataset"), sets, Touchy())
    row = outcome.rows[0]
    assert row.ours is not None
    assert row.ours["spearman spread"].value != row.figures["spearman spread"].value
    same, _, _ = outcome_of(study(), sets, Touchy())
    assert same.rows[0].ours is None


def test_an_arm_that_cannot_learn_says_why(sets) -> None:
    arms = [{"name": "few", "method": "few_shot", "labels": False}, *ARMS[:1]]
    outcome, _, _ = outcome_of(study(arms=arms, compare=[["few", "direct"]]), sets)
    assert outcome.rows[0].missing == "few_shot learns from labelled texts, and there are none."
    assert outcome.gaps == ()


@settings(deadline=None, max_examples=30)
@given(values=st.lists(st.floats(-1, 1), min_size=2, max_size=12), shift=st.floats(-0.5, 0.5))
def test_the_spread_is_the_standard_deviation_wherever_the_figures_lie(values: list[float], shift: float) -> None:
    found = spread(np.array(values))
    assert found.value == pytest.approx(statistics.stdev(values), abs=1e-6)
    assert found.low <= found.high
    assert spread(np.array(values) + shift).value == pytest.approx(found.value, abs=2e-6)


def test_the_spread_of_figures_of_which_one_is_missing_is_unknown() -> None:
    assert spread(np.array([0.1, np.nan, 0.3])).value is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"wordings": {}}, "has 0 for summeval coherence; two are the least"),
        ({"wordings": {"summeval": {"coherence": WORDINGS[:1]}}}, "has 1 for summeval coherence"),
        ({"wordings": {"summeval": {"coherence": [{"tone": "harsh"}] * 2}}}, "tone"),
        ({"wordings": {"summeval": {"coherence": [{"scale": "high to low"}] * 2}}}, "{low} and {high}"),
        ({"most": 1, "wordings": {"summeval": {"coherence": WORDINGS}}}, "options.most"),
    ],
)
def test_options_without_wordings_to_compare_are_refused(sets, options: dict, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        schedule(study(options=options), sets)


def test_at_most_so_many_wordings_are_tried(sets) -> None:
    some = study(options={"most": 2, "wordings": {"summeval": {"coherence": WORDINGS}}})
    row = outcome_of(some, sets)[0].rows[0]
    assert "spearman, wording 2" in row.figures
    assert "spearman, wording 3" not in row.figures

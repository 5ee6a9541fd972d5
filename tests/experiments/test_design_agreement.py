"""The designs `bands`, `transfer` and `crossed`: agreement in parts of the scale, on other sets, by other judges."""

from __future__ import annotations

import numpy as np
import pytest
from one_case import RAW, bench_of, outcome_of, study
from second_judge import SecondJudge

from experiments.runner.arms import course, learn, score
from experiments.runner.figures import human_scores
from experiments.runner.run import schedule
from experiments.runner.sets import sets_in
from experiments.runner.study import BASELINES
from rubriclab.errors import SettingsError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.learning.baselines import feature_values
from rubriclab.models.text_features import WORD_COUNT
from rubriclab.stats.agreement import agreement, difference

DIRECT = RAW["arms"][0]
WORDS = BASELINES[0]
PAIR = ["hanna:coherence", "writingprompts_a:cohesiveness"]
FEW = {"hypoeval": {"sources": "labels", "initial_hypotheses": 3, "k": 3, "refine_rounds": 0, "selected": 2}}
JUDGES = {"1 by 1": [1, 1], "1 by 2": [1, 2], "2 by 2": [2, 2], "2 by 1": [2, 1]}


def words_of(texts) -> np.ndarray:
    return feature_values(texts.test, [WORD_COUNT])[:, 0]


@pytest.mark.parametrize(("border", "at"), [(0.5, 3.0), (0.25, 2.0)])
async def test_figures_of_a_band_are_those_of_its_texts_alone(sets, border: float, at: float) -> None:
    some = study(design="bands", options={"border": border}, compare=[[BASELINES[1], WORDS]])
    outcome, texts = await outcome_of(some, sets, EmbeddedJudge())
    human, groups = human_scores(texts), np.array([each.group for each in texts.test])
    rows = {(row.arm, row.variant): row for row in outcome.rows}
    note = rows[BASELINES[1], "all texts"].note
    best = (-1 if note.startswith("-") else 1) * feature_values(texts.test, [note.lstrip("-")])[:, 0]
    for gap, (name, inside) in zip(
        outcome.gaps, {"all texts": human > 0, "low": human < at, "high": human >= at}.items(), strict=True
    ):
        own = (words_of(texts)[inside], human[inside], groups[inside].tolist())
        expected, found = agreement(*own, level="group"), rows[WORDS, name]
        assert found.figures["spearman"].value == pytest.approx(expected.spearman.value, abs=1e-6)
        assert (found.counts["texts"], found.counts["n"]) == (inside.sum(), expected.n)
        assert gap.variant == name
        same = difference(best[inside], *own, level="group").spearman
        assert gap.difference.value == pytest.approx(same.value, abs=1e-6)
    assert [row.variant for row in outcome.rows if row.scoring] == ["all texts"]


def transfer(**fields):
    raw = {
        "design": "transfer",
        "sets": {"hanna": ["coherence"], "writingprompts_a": ["cohesiveness"]},
        "arms": [{"name": name, "method": "hypoeval", "settings": FEW} for name in ("here", "elsewhere")],
        "compare": [["elsewhere", "here"]],
        "options": {"elsewhere": ["elsewhere"], "pairs": [PAIR]},
    }
    return study(**{**raw, **fields})


def test_of_each_pair_either_set_is_tested_with_the_other_as_home_if_that_is_there(sets, tmp_path) -> None:
    cases = schedule(transfer(), sets).cases
    assert [(case.set, case.home) for case in cases] == [
        ("hanna", ("writingprompts_a", "cohesiveness")),
        ("writingprompts_a", ("hanna", "coherence")),
    ]
    (tmp_path / "hanna.jsonl").write_bytes((sets.folder / "hanna.jsonl").read_bytes())
    with pytest.raises(Exception, match="Nothing of some can be run"):
        schedule(transfer(), sets_in(tmp_path))


async def test_a_carried_rubric_is_asked_about_the_tested_aspect_and_the_difference_is_paired(sets) -> None:
    some, judge = transfer(), EmbeddedJudge()
    bench, case, away = bench_of(some, sets, judge)
    outcome, _ = await outcome_of(some, sets, judge)
    here = bench.material(case.model_copy(update={"home": None}))
    found = {}
    for name, texts in (("here", here), ("elsewhere", away)):
        assert {text.id.split("-")[0] for text in texts.learned_from} == {"hanna" if name == "here" else case.home[0]}
        learned = await learn(course(some.arms[0], texts.learned_from, texts.home), judge, seed=case.seed)
        rubric = learned.trained.rubric.model_copy(update={"aspect": here.assignment.aspect})
        found[name] = (await score(name, rubric, here.test, judge, 4))[0].scores
    groups = [text.group for text in here.test]
    expected = difference(found["elsewhere"], found["here"], human_scores(here), groups, level="group").spearman
    (gap,) = outcome.gaps
    assert (gap.first, gap.second) == ("elsewhere", "here")
    assert gap.difference.value == pytest.approx(expected.value, abs=1e-6)
    assert gap.difference.low == pytest.approx(expected.low, abs=1e-6)
    rows = {row.arm: row.figures["spearman"].value for row in outcome.rows}
    assert rows["elsewhere"] != rows["here"]


class Counting(SecondJudge):
    """A judge that keeps the templates of its prompts."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.prompts: list[str] = []

    async def reply(self, prompt):
        self.prompts.append(prompt.name)
        return await super().reply(prompt)


def crossed(**fields):
    settings = {"hypoeval": {"sources": "prior knowledge", "selected": 3}}
    arms = [{"name": name, "method": "hypoeval", "settings": settings} for name in JUDGES]
    return study(**{"design": "crossed", "arms": arms, "options": {"judges": JUDGES}, **fields})


async def test_each_arm_has_the_figures_of_its_own_two_judges(sets) -> None:
    some, judges = crossed(), (EmbeddedJudge(), SecondJudge(share=0.8))
    outcome, texts = await outcome_of(some, sets, *judges)
    rows = {row.arm: row.figures["spearman"].value for row in outcome.rows}
    groups = [text.group for text in texts.test]
    for name, (learner, scorer) in JUDGES.items():
        given = course(some.arms[0], texts.learned_from, texts.home)
        learned = await learn(given, judges[learner - 1], seed=outcome.case.seed)
        scored, _ = await score(name, learned.trained.rubric, texts.test, judges[scorer - 1], 4)
        expected = agreement(scored.scores, human_scores(texts), groups, level="group").spearman
        assert rows[name] == pytest.approx(expected.value, abs=1e-6)
    assert len({rows[name] for name in JUDGES}) == 4


async def test_each_judge_learns_the_same_once(sets) -> None:
    judges = Counting("one"), Counting("other")
    outcome, _ = await outcome_of(crossed(), sets, *judges)
    assert [judge.prompts.count("hypoeval/propose") for judge in judges] == [1, 1]
    rows = {row.arm: row for row in outcome.rows}
    assert rows["1 by 1"].learning == rows["1 by 2"].learning
    calls = rows["1 by 1"].learning.calls + rows["1 by 1"].scoring.calls + rows["2 by 1"].scoring.calls
    assert len(judges[0].prompts) == calls


@pytest.mark.parametrize(
    ("some", "judges", "told"),
    [
        ({"design": "bands", "options": {"border": 0}}, 1, "options.border"),
        ({"design": "crossed", "options": {"judges": {"direct": [1, 3]}}}, 2, "options.judges"),
        ({"design": "transfer", "options": {"elsewhere": ["direct"], "pairs": [PAIR]}}, 1, "name each tested"),
        ({"design": "unknown"}, 1, "There is no design 'unknown'"),
    ],
)
def test_options_that_make_no_sense_are_refused(sets, some, judges, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        schedule(study(**some), sets, judges)

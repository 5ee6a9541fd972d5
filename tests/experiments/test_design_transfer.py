"""The design `transfer`: arms that learn on another set, beside those that learn on the set that is tested."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from experiments.runner.arms import course, learn
from experiments.runner.bench import Bench
from experiments.runner.designs.transfer import TRANSFER, materials
from experiments.runner.figures import human_scores
from experiments.runner.run import schedule
from experiments.runner.study import BASELINES, Study, parse_study
from rubriclab.errors import SettingsError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.scoring import score_stream
from rubriclab.stats.agreement import difference

HERE, AWAY = "here", "elsewhere"
FEW = {"hypoeval": {"sources": "labels", "initial_hypotheses": 3, "k": 3, "refine_rounds": 0, "selected": 2}}
PAIR = ["hanna:coherence", "writingprompts_a:cohesiveness"]
OPTIONS = {"elsewhere": [AWAY], "pairs": [PAIR]}


def study(**fields: object) -> Study:
    raw = {
        "name": "some",
        "question": "What?",
        "design": "transfer",
        "sets": {"hanna": ["coherence"], "writingprompts_a": ["cohesiveness"]},
        "labels": [12],
        "test_texts": 24,
        "arms": [{"name": name, "method": "hypoeval", "settings": FEW} for name in (HERE, AWAY)],
        "compare": [[AWAY, HERE]],
        "options": OPTIONS,
    }
    return parse_study({**raw, **fields}, "here")


def bench_of(some: Study, sets, judge=None) -> Bench:
    return Bench(some, sets, (judge or EmbeddedJudge(),))


class Listening:
    """The offline judge, which remembers what it was asked."""

    def __init__(self) -> None:
        self._judge = EmbeddedJudge()
        self.name, self.identity = self._judge.name, self._judge.identity
        self.prompts: list = []

    async def reply(self, prompt):
        self.prompts.append(prompt)
        return await self._judge.reply(prompt)


def test_of_each_pair_either_set_is_tested_with_the_other_as_home(sets) -> None:
    cases = schedule(study(), sets).cases
    assert [(case.set, case.aspect, case.home) for case in cases] == [
        ("hanna", "coherence", ("writingprompts_a", "cohesiveness")),
        ("writingprompts_a", "cohesiveness", ("hanna", "coherence")),
    ]
    assert str(cases[0]).endswith("learned on writingprompts_a cohesiveness")


def test_a_case_whose_home_lies_in_no_folder_is_left_out(sets, tmp_path) -> None:
    from experiments.runner.sets import sets_in

    for name in ("hanna", "newsroom", "summeval"):
        (tmp_path / f"{name}.jsonl").write_bytes((sets.folder / f"{name}.jsonl").read_bytes())
    some = study(
        sets={"hanna": ["coherence"], "newsroom": ["fluency"]},
        options={**OPTIONS, "pairs": [PAIR, ["newsroom:fluency", "summeval:fluency"]]},
    )
    assert [case.set for case in schedule(some, sets_in(tmp_path)).cases] == ["newsroom"]


def test_both_kinds_of_arms_are_tested_on_the_same_texts_whatever_the_splits(sets) -> None:
    # Texts of summeval have official ids here, those of hanna have none.
    some = study(
        sets={"summeval": ["coherence"], "hanna": ["coherence"]},
        options={**OPTIONS, "pairs": [["summeval:coherence", "hanna:coherence"]]},
        test_texts=12,
    )
    bench = bench_of(some, sets)
    for case in schedule(some, sets).cases:
        here, away = materials(bench, case)
        assert here.test == away.test
        assert {text.id.split("-")[0] for text in here.learned_from} == {case.set}
        assert {text.id.split("-")[0] for text in away.learned_from} == {case.home[0]}
        assert not {text.group for text in here.test} & {text.group for text in here.learned_from}
        assert here.assignment == away.assignment == sets.assignment(case.set, case.aspect)


def test_what_was_learned_elsewhere_is_asked_with_the_aspect_that_is_tested(sets) -> None:
    some, judge = study(), Listening()
    bench = bench_of(some, sets, judge)
    case = schedule(some, sets).cases[1]
    outcome = asyncio.run(TRANSFER.run(bench, case))
    here, away = materials(bench, case)
    tested = {text.output for text in here.test}
    asked = [prompt for prompt in judge.prompts if prompt.name == "hypoeval/rate" and prompt.fields["output"] in tested]
    assert {prompt.fields["aspect"]["name"] for prompt in asked} == {"cohesiveness"}
    assert len({repr(prompt.fields["criteria"]) for prompt in asked}) > 2
    learned = [prompt for prompt in judge.prompts if prompt.name == "hypoeval/propose"]
    assert [prompt.fields["aspect"]["name"] for prompt in learned] == ["cohesiveness", "coherence"]
    assert [row.arm for row in outcome.rows] == [HERE, AWAY, *BASELINES]
    seen = {item["output"] for item in learned[1].fields["observations"]}
    assert seen
    assert seen <= {text.output for text in away.learned_from}


def test_figures_are_those_of_the_carried_rubric_and_the_difference_is_paired(sets) -> None:
    some = study()
    bench, case = bench_of(some, sets), schedule(some, sets).cases[0]
    outcome = asyncio.run(TRANSFER.run(bench, case))
    here, away = materials(bench, case)

    async def scores(texts) -> list[float]:
        trained = await learn(course(some.arms[0], texts.learned_from, texts.home), bench.judge, seed=case.seed)
        rubric = trained.rubric.model_copy(update={"aspect": here.assignment.aspect})
        return [each.score async for each in score_stream(rubric, here.test, bench.judge, "any")]

    own, others = (np.array(asyncio.run(scores(texts))) for texts in (here, away))
    expected = difference(others, own, human_scores(here), [text.group for text in here.test], level="group")
    (gap,) = outcome.gaps
    assert (gap.first, gap.second) == (AWAY, HERE)
    assert gap.difference.value == pytest.approx(expected.spearman.value, abs=1e-6)
    assert gap.difference.low == pytest.approx(expected.spearman.low, abs=1e-6)
    rows = {row.arm: row for row in outcome.rows}
    assert rows[AWAY].figures["spearman"].value != rows[HERE].figures["spearman"].value
    (most,) = TRANSFER.at_most(bench, case)
    spent = [row.learning.calls + row.scoring.calls for row in (rows[HERE], rows[AWAY])]
    assert 0 < sum(spent) <= most.calls


def test_an_arm_without_questions_to_start_from_costs_nothing(sets) -> None:
    some = study(arms=[{"name": AWAY, "method": "dcr"}], compare=[])
    assert TRANSFER.at_most(bench_of(some, sets), schedule(some, sets).cases[0])[0].calls == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"elsewhere": ["nobody"]}, "options.elsewhere names 'nobody'; arms are here, elsewhere"),
        ({"pairs": [["hanna:coherence", "newsroom:fluency"]]}, "writingprompts_a cohesiveness is tested, and has no"),
        ({"pairs": [PAIR, ["hanna:coherence", "newsroom:fluency"]]}, "hanna:coherence stands in two pairs"),
        ({"pairs": [["hanna", "newsroom:fluency"]]}, "expected SET:ASPECT"),
        ({"pairs": []}, "options.pairs"),
        ({"far": 1}, "options.far"),
    ],
)
def test_options_that_say_nothing_sensible_are_refused(sets, options: dict, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        schedule(study(options={**OPTIONS, **options}), sets)

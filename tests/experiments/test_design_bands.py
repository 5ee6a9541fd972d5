"""The design `bands`: agreement on all texts tested, on those with a low human score and on those with a high one."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from experiments.runner.bench import Bench
from experiments.runner.designs.bands import BANDS, bands
from experiments.runner.figures import human_scores
from experiments.runner.run import schedule
from experiments.runner.study import BASELINES, Study, parse_study
from rubriclab.errors import SettingsError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.learning.baselines import feature_values
from rubriclab.stats.agreement import agreement, difference
from rubriclab.text_features import WORD_COUNT

ARMS = [{"name": "direct", "method": "direct", "labels": False}, {"name": "geval", "method": "geval", "labels": False}]
WORDS = BASELINES[0]


def study(**fields: object) -> Study:
    raw = {
        "name": "some",
        "question": "What?",
        "design": "bands",
        "sets": {"summeval": ["coherence"]},
        "labels": [12],
        "arms": ARMS,
        "compare": [["direct", WORDS]],
    }
    return parse_study({**raw, **fields}, "here")


def outcome_of(some: Study, sets):
    """Return what the offline judge comes to on the study's only case, and the case's texts."""
    (case,) = schedule(some, sets).cases
    bench = Bench(some, sets, (EmbeddedJudge(),))
    return asyncio.run(BANDS.run(bench, case)), bench.material(case)


@pytest.mark.parametrize(("border", "score"), [(0.5, 3.0), (0.25, 2.0)])
def test_the_border_parts_the_texts_and_itself_counts_as_high(sets, border: float, score: float) -> None:
    some = study()
    (case,) = schedule(some, sets).cases
    texts = Bench(some, sets, (EmbeddedJudge(),)).material(case)
    low, high = bands(texts, border)
    assert {each.id for each in low.texts.test} == {e.id for e in texts.test if e.scores["coherence"] < score}
    assert {each.id for each in high.texts.test} == {e.id for e in texts.test if e.scores["coherence"] >= score}
    assert low.texts.learned_from == texts.learned_from


def test_figures_of_a_band_are_those_of_its_texts_alone(sets) -> None:
    outcome, texts = outcome_of(study(), sets)
    human, words = human_scores(texts), feature_values(texts.test, [WORD_COUNT])[:, 0]
    groups = np.array([each.group for each in texts.test])
    rows = {(row.arm, row.variant): row for row in outcome.rows}
    for name, inside in (("all texts", human > 0), ("low", human < 3), ("high", human >= 3)):
        expected = agreement(words[inside], human[inside], groups[inside].tolist(), level="group")
        found = rows[WORDS, name]
        assert found.figures["spearman"].value == pytest.approx(expected.spearman.value, abs=1e-6)
        assert found.figures["kendall"].low == pytest.approx(expected.kendall.low, abs=1e-6)
        assert (found.counts["texts"], found.counts["n"]) == (inside.sum(), expected.n)


def test_every_arm_and_baseline_stands_in_every_band(sets) -> None:
    outcome, _ = outcome_of(study(), sets)
    names = [arm["name"] for arm in ARMS] + list(BASELINES)
    assert [(row.variant, row.arm) for row in outcome.rows] == [
        (band, name) for band in ("all texts", "low", "high") for name in names
    ]
    asked = [row.variant for row in outcome.rows if row.scoring]
    assert asked == ["all texts"] * len(ARMS)
    assert all(("answers" in row.counts) == (row.variant == "all texts") for row in outcome.rows)


def test_differences_are_taken_inside_the_band(sets) -> None:
    outcome, texts = outcome_of(study(compare=[["baseline: best text feature", WORDS]]), sets)
    assert [gap.variant for gap in outcome.gaps] == ["all texts", "low", "high"]
    human, words = human_scores(texts), feature_values(texts.test, [WORD_COUNT])[:, 0]
    note = next(row.note for row in outcome.rows if row.arm == "baseline: best text feature" and row.note)
    best = (-1 if note.startswith("-") else 1) * feature_values(texts.test, [note.lstrip("-")])[:, 0]
    high = human >= 3
    groups = [each.group for each, inside in zip(texts.test, high, strict=True) if inside]
    expected = difference(best[high], words[high], human[high], groups, level="group").spearman
    assert outcome.gaps[2].difference.value == pytest.approx(expected.value, abs=1e-6)
    assert outcome.gaps[2].difference.low == pytest.approx(expected.low, abs=1e-6)


def test_a_band_without_rivals_has_no_figures_and_says_that_they_would_rest_on_nothing(sets) -> None:
    outcome, _ = outcome_of(study(options={"border": 0.0001}), sets)
    low = [row for row in outcome.rows if row.variant == "low"]
    assert {row.figures["spearman"].value for row in low} == {None}
    assert {row.counts["n"] for row in low} == {0}
    assert {row.counts["texts"] for row in low} == {1}


def test_a_set_without_rivals_is_taken_over_all_texts_of_the_band(sets) -> None:
    outcome, texts = outcome_of(study(sets={"qags_cnndm": ["consistency"]}, arms=ARMS[:1]), sets)
    human, words = human_scores(texts), feature_values(texts.test, [WORD_COUNT])[:, 0]
    high = human >= 0.5
    from scipy.stats import spearmanr

    row = next(row for row in outcome.rows if (row.arm, row.variant) == (WORDS, "high"))
    assert row.figures["spearman"].value == pytest.approx(spearmanr(words[high], human[high])[0], abs=1e-6)
    assert row.counts["n"] == high.sum()


def test_a_level_that_the_paper_takes_for_the_set_holds_in_every_band(sets) -> None:
    outcome, texts = outcome_of(study(levels={"summeval": "dataset"}, arms=ARMS[:1]), sets)
    human, words = human_scores(texts), feature_values(texts.test, [WORD_COUNT])[:, 0]
    high = human >= 3
    groups = [each.group for each, inside in zip(texts.test, high, strict=True) if inside]
    row = next(row for row in outcome.rows if (row.arm, row.variant) == (WORDS, "high"))
    for figures, level in ((row.figures, "dataset"), (row.ours, "group")):
        expected = agreement(words[high], human[high], groups, level=level)  # type: ignore[arg-type]
        assert figures["spearman"].value == pytest.approx(expected.spearman.value, abs=1e-6)


def test_an_arm_that_cannot_learn_says_why_once_and_the_others_go_on(sets) -> None:
    arms = [{"name": "needs labels", "method": "few_shot", "labels": False}, ARMS[0]]
    outcome, _ = outcome_of(study(arms=arms), sets)
    missing = [row for row in outcome.rows if row.missing]
    assert [(row.arm, row.variant) for row in missing] == [("needs labels", "all texts")]
    assert "labelled texts" in missing[0].missing
    assert sum(row.arm == "direct" for row in outcome.rows) == 3


@pytest.mark.parametrize("options", [{"border": 0}, {"border": 1}, {"edge": 0.5}])
def test_a_border_outside_the_scale_or_another_option_is_refused(sets, options) -> None:
    with pytest.raises(SettingsError, match=f"some: options.{next(iter(options))}"):
        schedule(study(options=options), sets)

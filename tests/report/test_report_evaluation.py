"""Evaluations in words and figures, and the texts that they rest on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from report_samples import examples, joint_trust, results_of, scores_of, shown, unlabelled, version, words_of

from rubriclab.learning.evaluation import EvaluationSummary, ScoredVersion, baseline_evaluators, summarize
from rubriclab.learning.scoring import Score
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import CriterionRating
from rubriclab.models.aggregation import Calibration
from rubriclab.models.evaluation import GateVerdict
from rubriclab.models.text import Example, Scale
from rubriclab.models.version import Version
from rubriclab.report import rubrics, wording
from rubriclab.report.evaluation import criterion_agreements
from rubriclab.report.render import View, macro
from rubriclab.stats import agreement
from rubriclab.stats.intervals import Interval

Rate = Callable[[int, Example], float | None]


def like_people(_: int, text: Example) -> float:
    return text.scores["coherence"]


def against_people(_: int, text: Example) -> float:
    return 9 - text.scores["coherence"]


def like_the_baseline(_: int, text: Example) -> float:
    """Return the number of words, as the best free baseline of the sample does."""
    return float(len(text.output.split()))


def summary_of(
    *rates: Rate | tuple[Version, Rate], texts: Sequence[Example] | None = None, beside: bool = True
) -> EvaluationSummary:
    """Return the summary of versions that score by `rates`, `news` by default, with free baselines if `beside`."""
    texts = texts or examples()
    pairs = [each if isinstance(each, tuple) else (version(place), each) for place, each in enumerate(rates, start=1)]
    versions = [one for one, _ in pairs]
    scored = {one.ref: scores_of(one, texts, rate) for one, rate in pairs}
    results = results_of(versions, scored, texts, levels=("group", "dataset"))
    judged = [ScoredVersion(one, texts, scored[one.ref]) for one in versions]
    known = {one.ref: one.provenance.baseline for one in versions if one.provenance.baseline}
    shown_results = [each for each in results if beside or each.evaluator in scored]
    return summarize(judged, shown_results, baseline_evaluators(texts, known))


def words(found: EvaluationSummary) -> str:
    return words_of(View(macro("evaluation_summary", found)), 200)


@pytest.mark.parametrize(
    ("rate", "verdict", "said"),
    [
        (like_people, "better", "BETTER news@1 orders texts closer to people's order than"),
        (against_people, "worse", "WORSE news@1 orders texts farther from people's order than"),
        (
            like_the_baseline,
            "inconclusive",
            "INCONCLUSIVE It is not known whether news@1 orders texts closer to people's order or farther from it than",
        ),
    ],
)
def test_a_rubric_is_held_against_the_best_free_baseline(rate: Rate, verdict: str, said: str) -> None:
    found = summary_of(rate)
    assert found.evaluators[0].best_free_baseline.verdict.overall == verdict
    assert words(found).startswith(f"{said} the number of words, which needs no judge On 24 texts of 6 groups ")
    figure = r"[-+\d.]+ \[[^]]+\] "
    figures = rf"Pearson within groups {figure}{figure}{figure}correlation with people's scores \w+"
    assert re.search(figures, words(found))
    assert words(summary_of(rate, beside=False)).startswith("NO COMPARISON MADE as no baseline was evaluated")


def test_a_rubric_that_is_better_than_the_judge_asked_directly_but_not_than_what_is_free_is_not_better() -> None:
    found = summary_of((unlabelled(), against_people), (version(), lambda _, text: len(text.output.split()) / 4))
    assert found.evaluators[0].baselines[0].verdict.overall == "better"
    assert re.search("^INCONCLUSIVE It is not .* news@1 .* than the number of words, which", words(found))


def test_two_groups_give_no_interval_and_no_verdict() -> None:
    groups = sorted({text.group for text in examples()})[:2]
    found = summary_of(like_people, like_the_baseline, texts=[text for text in examples() if text.group in groups])
    assert {comparison.verdict.overall for _, comparison in found.comparisons} == {"inconclusive"}
    assert {(row["groups"], row["difference"]["low"]) for row in found.to_rows()} == {(2, None)}
    assert words(found).count("too few groups to tell") == 5
    assert "at least 3 more groups (sources)." in words(found)
    between = GateVerdict(against="word count", outcome="inconclusive", difference=Interval(0.1), few_groups=9)
    assert rubrics.gain_outcomes(between, "system")[1] == "too few systems to tell"
    assert macro("more_labels", between, "system").startswith("A decision takes more systems, not more texts")


def test_rubrics_stand_best_first_and_are_held_against_the_best() -> None:
    found = summary_of(against_people, like_people)
    assert [evaluator_agreement.ref for evaluator_agreement in found.evaluators] == ["news@2", "news@1"]
    assert found.evaluators[0].best is None
    assert found.evaluators[1].best.verdict.overall == "worse"
    assert "error 0.00 [0.00, 1.57]" in words(found)
    assert re.search(r"news@1 news@2 .* worse", words(found))
    assert "The best of several" in words(found)


def test_baselines_are_no_rubrics_and_the_best_rubric_is_held_against_each() -> None:
    found = summary_of((unlabelled(), against_people), (shown(), like_people), (version(), like_people))
    assert [one.ref for one in found.evaluators] == ["news@1", "shown@1", "plain@1"]
    assert [contest.verdict.overall for contest in found.evaluators[0].baselines] == ["inconclusive", "better"]
    said = words(found)
    assert re.search(r"^INCONCLUSIVE It is not .* news@1 .* than shown@1 On 24 .* news@1 shown@1 gain ", said)
    assert " - A decision would take more than 300 more labels: treat the rubric and what it is " in said
    assert re.search(r"error 0.00 \[0.00, 1.57\] 0.00 \[0.00, 1.57\] .* inconclusive Pearson within groups 1.00 ", said)
    assert re.search(r"news@1 plain@1, the same judge asked directly .* better", said)
    assert "The best of several" not in said
    assert found.evaluators[0].compared_with_direct
    beside_method = summary_of((shown(), like_people), (version(), like_people))
    assert not beside_method.evaluators[0].compared_with_direct
    alone = summary_of((unlabelled(), against_people), (shown(), like_people))
    assert words(alone).startswith("BETTER shown@1 orders texts closer to people's order than the number of words")
    assert "error 0.00 [0.00, 1.57]" in words(alone)


def test_of_several_direct_scorings_by_the_judge_the_nearest_decides_and_one_on_another_scale_does_not_count() -> None:
    rates = {"raw": 1.5, "calibrated": 0.5}
    direct = [
        (replace(unlabelled(), name=name), lambda _, text, bias=bias: text.scores["coherence"] + bias)
        for name, bias in rates.items()
    ]
    for sides in (direct, direct[::-1]):
        found = summary_of((version(), like_people), *sides)
        assert found.evaluators[0].deciding_comparison.other.evaluator == "calibrated@1"
    wider = unlabelled()
    wider = replace(wider, rubric=wider.rubric.model_copy(update={"scale": Scale(low=0, high=5, whole=False)}))
    assert not summary_of((version(), like_people), (wider, like_people)).evaluators[0].compared_with_direct


@pytest.mark.parametrize(
    ("error", "at_zero", "verdict"), [(0.3, -1.5, "worse"), (0.3, 0.5, "better"), (0.0, -1.0, "better")]
)
def test_a_judge_asked_directly_that_would_be_nearer_once_calibrated_with_the_rubrics_labels_is_not_beaten(
    error: float, at_zero: float, verdict: str
) -> None:
    """The judge gives 1.5 points too many; the map that the rubric's labels gave adds `at_zero`."""
    line = Calibration(kind="linear", x=(0.0, 1.0), y=(at_zero, at_zero + 1))
    trust = joint_trust(direct_calibration=line)
    rubric = replace(version(), provenance=version().provenance.model_copy(update={"validation": trust}))
    rates: tuple[tuple[Version, Rate], ...] = (
        (rubric, lambda number, text: text.scores["coherence"] + error + 0.01 * (number % 5)),
        (unlabelled(), lambda _, text: text.scores["coherence"] + 1.5),
    )
    found = summary_of(*rates)
    assert (found.errors["plain@1"].absolute.value, found.errors["plain@1"].bias) == (1.5, 1.5)
    labels = np.array([text.scores["coherence"] for text in examples()])
    nearer = np.abs(np.clip(labels + 1.5 + at_zero, 1, 5) - labels).mean()
    assert found.errors["plain@1, calibrated"].absolute.value == pytest.approx(nearer, abs=1e-4)
    assert found.evaluators[0].deciding_comparison.verdict.error_outcome == verdict
    said = words(found)
    calibrating = "`rubriclab transfer plain@1 --to LABELLED --no-relearn --action recalibrate --save`"
    assert (calibrating in said) == (verdict == "worse")
    of_other = rubric.provenance.model_copy(update={"judge": "other"})
    by_other = summary_of((replace(rubric, provenance=of_other), rates[0][1]), *rates[1:])
    assert not any(name.endswith(", calibrated") for name in by_other.errors)


def test_texts_of_groups_that_a_version_has_learned_from_are_counted_and_only_what_saw_labels_learns() -> None:
    groups = ("g0", "g5", "elsewhere")
    versions = version(groups=groups), shown(groups=groups), unlabelled(groups=groups)
    said = words(summary_of(*((one, like_people) for one in versions)))
    assert "8 texts are of groups that news@1 has learned from, so its figures are optimistic." in said
    assert "that shown@1 has learned from" in said
    assert "that plain@1 has learned from" not in said
    assert "learned from" not in words(summary_of(like_people))


def test_figures_that_count_groups_with_constant_labels_say_on_how_many_texts_they_rest() -> None:
    texts = [replace(text, scores={"coherence": 3.0}) if text.group == "g0" else text for text in examples()]
    found = summary_of((shown(), against_people), (version(), like_people), texts=texts)
    view = View(macro("evaluation_summary", found))
    rests_on = {cells[7]: cells[5:7] for cells in view.to_frame().itertuples(index=False)}
    assert rests_on["difference in error"] == (24, 6)
    assert rests_on["difference in Pearson"] == (20, 5)
    said = words_of(view, 200)
    assert "points from people's score, over all texts" in said
    assert "in points, on 24 texts of 6 groups, also those with constant labels, and " in said
    assert "within groups, on 20 texts of 5 groups" in said
    assert "On 20 texts of 5 groups (texts of one source are a group, groups whose labels do not differ" in said


def rated(texts: Sequence[Example], values: Mapping[str, Sequence[float | None]]) -> ScoredVersion:
    """Return texts with ratings by each criterion, by its id."""
    ref = version().ref
    rows = [
        tuple(CriterionRating(name, value, "") for name, value in zip(values, row, strict=True))
        for row in zip(*values.values(), strict=True)
    ]
    scores = [Score(text.id, "coherence", 3.0, row, None, ref, "fake") for text, row in zip(texts, rows, strict=True)]
    return ScoredVersion(version(), texts, scores)


@pytest.mark.parametrize("level", ["group", "dataset", "system"])
def test_a_criterions_agreement_is_that_of_the_statistics(level: Any) -> None:
    texts = examples()
    rng = np.random.default_rng(0)
    values = {"h01": rng.normal(size=24).tolist(), "h03": rng.normal(size=24).tolist()}
    found = criterion_agreements(rated(texts, values), level)
    traits = [(one.id, one.criterion and one.criterion.trait, one.unscored) for one in found]
    assert traits == [("h01", "linked sentences", 0), ("h03", "a clear end", 0)]
    labels, groups = [text.scores["coherence"] for text in texts], [text.group for text in texts]
    systems = [text.system or "" for text in texts]
    for one in found:
        assert one.agreement == agreement(values[one.id], labels, groups, systems, level=level).pearson


def test_pages_say_what_each_method_asks() -> None:
    assert [name for name in METHODS if not METHODS[name].note] == []
    assert wording.evaluator_name("geval") == METHODS["geval"].note
    assert wording.evaluator_name("of a package that is gone") == "of a package that is gone"


def test_a_basis_counts_what_is_left_out() -> None:
    news, texts = version(), examples()
    scored = {news.ref: scores_of(news, texts, lambda number, text: None if number < 3 else text.scores["coherence"])}
    results = results_of([news], scored, texts, levels=["group", "dataset"])
    # 24 texts of 6 groups, of which the rubric scored a single one in the first.
    unscored = "3 texts unscored; 6 of 48 answers missing; scores rest on the others"
    no_spread = "figures that stay the same, or become undefined, if one of the groups is left out"
    assert wording.bases(results) == [
        f"news@1: 20 texts in 5 groups; no group with constant labels; 1 group of one text left out; {unscored}.",
        f"news@1: 21 texts in 6 groups; no interval for {no_spread}; {unscored}.",
        "word count and fewer words: 24 texts in 6 groups; no group with constant labels; none unscored.",
        "word count and fewer words: 24 texts in 6 groups; none unscored.",
        "fewer words: text feature chosen by the training labels of news@1.",
    ]

"""Evaluations in words and figures, and the texts that they rest on."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from joint_samples import joint_version
from kinds_samples import answers_of, checklist, shown, unlabelled
from report_samples import examples, interval, results_of, scores_of, version, words_of

from rubriclab.learning.scoring import Score
from rubriclab.methods.method import CriterionRating
from rubriclab.models.text import Example, Scale
from rubriclab.models.version import Baseline, Effort, RecordedText, Version
from rubriclab.ops.evaluate import Evaluator, baseline_evaluators
from rubriclab.report import charts, wording
from rubriclab.report.evaluation import (
    EvaluationSummary,
    JudgedText,
    criterion_agreements,
    error_sentence,
    evaluation_view,
    human_scores,
    judged_texts,
    rubric_scores,
    summarize,
)
from rubriclab.report.render import View, macro, words_of as words_in
from rubriclab.stats import agreement


def test_missing_scores_are_refused_by_name() -> None:
    news, texts = version(), examples()
    with pytest.raises(ValueError, match="expected the scores of 'news@1' too, got those of none"):
        evaluation_view([news], [], {}, texts).page()


Rate = Callable[[int, Example], float | None]


def like_people(_: int, text: Example) -> float:
    """Return what people said."""
    return text.scores["coherence"]


def against_people(_: int, text: Example) -> float:
    """Return the reverse of what people said."""
    return 9 - text.scores["coherence"]


def at_random(number: int, _: Example) -> float:
    """Return what has nothing to do with what people said."""
    return float((number * 37 + 11) % 17)


def like_the_baseline(_: int, text: Example) -> float:
    """Return the number of words, as the best free baseline of the sample does."""
    return float(len(text.output.split()))


def summary_of(
    rates: Sequence[Rate], texts: Sequence[Example] | None = None, beside: bool = True, **fields: Any
) -> EvaluationSummary | None:
    """Return the summary of rubrics that score by `rates`, with their free baselines if `beside`."""
    texts = texts or examples()
    versions = [version(number, **fields) for number in range(1, len(rates) + 1)]
    scored = {one.ref: scores_of(one, texts, rate) for one, rate in zip(versions, rates, strict=True)}
    results = results_of(versions, scored, texts, levels=("group", "dataset"))
    if not beside:
        results = [result for result in results if result.evaluator in scored]
    judged = {one.ref: judged_texts(texts, scored[one.ref], one.ref, "coherence") for one in versions}
    return summarize("coherence", versions, results, judged, _baselines(versions, texts))


def _baselines(versions: Sequence[Version], texts: Sequence[Example]) -> list[Evaluator]:
    return baseline_evaluators(texts, {one.ref: one.provenance.baseline for one in versions if one.provenance.baseline})


def words(found: EvaluationSummary | None) -> str:
    """Return the sentences of a summary as one text."""
    assert found
    paragraphs = View(macro("evaluation_summary", found)).tree.iterfind("p")
    return " ".join(words_in(each) for each in paragraphs if each.get("class") != "badge")


@pytest.mark.parametrize(
    ("rate", "verdict", "said"),
    [
        (like_people, "above", "news@1 is above the best free baseline, "),
        (against_people, "below", "news@1 is below the best free baseline, "),
        (
            like_the_baseline,
            "overlaps",
            "do not distinguish news@1 from the best free baseline, word count",
        ),
    ],
)
def test_a_rubric_is_held_against_the_best_free_baseline(rate: Rate, verdict: str, said: str) -> None:
    found = summary_of([rate])
    assert found
    assert found.evaluators[0].best_baseline
    assert found.evaluators[0].best_baseline.verdict == verdict
    assert words(found).startswith("news@1 has a Spearman correlation with the labels of coherence: ")
    assert said in words(found)
    assert "No free baseline was evaluated" in words(summary_of([rate], beside=False))


def test_two_groups_give_no_interval_and_no_verdict() -> None:
    groups = sorted({text.group for text in examples()})[:2]
    found = summary_of([like_people, like_the_baseline], [text for text in examples() if text.group in groups])
    assert found
    assert {comparison.verdict for _, comparison in found.comparisons} == {"too few groups"}
    assert {(row["groups"], row["difference"]["low"]) for row in found.to_rows()} == {(2, None)}
    assert words(found).count("too few groups for an interval (2; 5 are needed)") == 2
    assert not re.search(r"\[|above|below", words(found))


def test_more_than_three_paired_differences_are_said_not_to_be_adjusted() -> None:
    rates = [like_people, against_people, at_random]
    assert "The 5 paired differences are not adjusted for their number" in words(summary_of(rates))
    assert "adjusted" not in words(summary_of(rates[:2]))


def test_rubrics_stand_best_first_and_are_held_against_the_best() -> None:
    found = summary_of([against_people, like_people])
    assert found
    assert [evaluator_agreement.ref for evaluator_agreement in found.evaluators] == ["news@2", "news@1"]
    assert found.evaluators[0].best is None
    assert found.evaluators[1].best
    assert found.evaluators[1].best.verdict == "below"
    assert words(found).startswith("Of 2 rubrics, news@2 has the highest Spearman correlation")
    assert "news@1 is below news@2, which reaches 1.00" in words(found)
    assert "the best of several" in words(found)


def test_a_baseline_whose_scores_are_unknown_is_named_but_not_compared() -> None:
    texts, news = examples(), version()
    scored = {news.ref: scores_of(news, texts, at_random)}
    found = summarize(
        "coherence",
        [news],
        results_of([news], scored, texts),
        {news.ref: judged_texts(texts, scored[news.ref], news.ref, "coherence")},
        [],
    )
    assert "news@1 cannot be compared with the best free baseline" in words(found)


def test_nothing_defined_is_no_summary() -> None:
    assert summary_of([lambda *_: None]) is None


def test_texts_that_were_learned_from_are_counted() -> None:
    assert "8 texts are of groups that news@1 has learned from, so its figures are optimistic." in words(
        summary_of([like_people], groups=("g0", "g5", "elsewhere"))
    )
    assert "learned from" not in words(summary_of([like_people]))


TRAINING = ("g0", "g5", "elsewhere")


def beside(*rates: tuple[Version, Rate]) -> EvaluationSummary | None:
    """Return the summary of versions of any kind, each scoring by its rate."""
    texts, versions = examples(), [one for one, _ in rates]
    scored = {one.ref: scores_of(one, texts, rate) for one, rate in rates}
    judged = {one.ref: judged_texts(texts, scored[one.ref], one.ref, "coherence") for one in versions}
    return summarize("coherence", versions, results_of(versions, scored, texts), judged, _baselines(versions, texts))


def test_baselines_are_no_rubrics_and_the_best_rubric_is_held_against_each() -> None:
    found = beside((unlabelled(), against_people), (shown(), like_people), (version(), like_people))
    assert found
    assert [(one.ref, one.baseline) for one in found.evaluators] == [
        ("news@1", False),
        ("shown@1", True),
        ("plain@1", True),
    ]
    assert [contest.verdict for contest in found.baselines] == ["overlaps", "above"]
    said = words(found)
    assert said.startswith("news@1 has a Spearman correlation")
    assert "do not distinguish news@1 from the baseline shown@1, which reaches 1.00 [1.00, 1.00]: the diff" in said
    assert "news@1 is above the baseline plain@1, which reaches" in said
    assert "the best of several" not in said
    alone = beside((unlabelled(), at_random), (shown(), like_people))
    assert words(alone).startswith("Of 2 baselines, shown@1 has the highest Spearman correlation")


def test_only_what_saw_labels_has_learned_from_them() -> None:
    said = words(
        beside(
            (version(groups=TRAINING), like_people),
            (shown(groups=TRAINING), like_people),
            (unlabelled(groups=TRAINING), like_people),
        )
    )
    assert "that news@1 has learned from" in said
    assert "that shown@1 has learned from" in said
    assert "that plain@1 has learned from" not in said


def rated(texts: Sequence[Example], values: Mapping[str, Sequence[float | None]]) -> list[JudgedText]:
    """Return texts with ratings by each criterion, by its id."""
    ref = version().ref
    rows = [
        tuple(CriterionRating(name, value, "") for name, value in zip(values, row, strict=True))
        for row in zip(*values.values(), strict=True)
    ]
    scores = [Score(text.id, "coherence", 3.0, row, None, ref, "fake") for text, row in zip(texts, rows, strict=True)]
    return judged_texts(texts, scores, ref, "coherence")


@pytest.mark.parametrize("level", ["group", "dataset", "system"])
def test_a_criterions_agreement_is_that_of_the_statistics(level: Any) -> None:
    texts, news = examples(), version()
    rng = np.random.default_rng(0)
    values = {"h01": rng.normal(size=24).tolist(), "h03": rng.normal(size=24).tolist()}
    found = criterion_agreements(news.rubric, rated(texts, values), level, "skip")
    assert [(one.id, one.criterion and one.criterion.trait, one.unscored) for one in found] == [
        ("h01", "linked sentences", 0),
        ("h03", "a clear end", 0),
    ]
    for one in found:
        expected = agreement(
            values[one.id],
            [text.scores["coherence"] for text in texts],
            [text.group for text in texts],
            [text.system or "" for text in texts],
            level=level,
        )
        assert one.agreement == expected.spearman


def test_missing_ratings_are_counted_and_scores_by_all_criteria_at_once_keep_their_id() -> None:
    values = {"h01": [None, None, *[1.0] * 22], "overall": [*map(float, range(24))]}
    found = criterion_agreements(version().rubric, rated(examples(), values), "dataset", "skip")
    assert [(one.id, one.unscored) for one in found] == [("h01", 2), ("overall", 0)]
    assert found[0].agreement.value is None


def test_what_cannot_be_asked_of_a_text_is_no_missing_rating() -> None:
    texts, checks = examples(), checklist()
    judged = judged_texts(texts, answers_of(checks, texts), checks.ref, "coherence")
    found = criterion_agreements(checks.rubric, judged, "dataset", "skip")
    assert [(one.id, one.inapplicable, one.unscored) for one in found] == [
        ("s01", 4, 0),
        ("s01-d1", 0, 1),
        ("s02", 0, 0),
        ("s02-e1", 0, 0),
    ]


def judged(values: list[float | None]) -> list[JudgedText]:
    """Return the sample's first texts, scored by the rubric with `values`; people gave them 1, 2, 3, 4, 1, 2 …"""
    texts = examples()[: len(values)]
    news = version()
    return judged_texts(texts, scores_of(news, texts, lambda number, _: values[number]), news.ref, "coherence")


def test_scores_come_as_numbers_with_gaps() -> None:
    texts = judged([None, 2.5])
    assert human_scores(texts).tolist() == [1, 2]
    np.testing.assert_array_equal(rubric_scores(texts), [np.nan, 2.5])


def test_scores_of_all_texts_or_of_the_labelled_ones_are_taken() -> None:
    news, texts = version(), examples()
    del texts[2].scores["coherence"]  # type: ignore[attr-defined]
    rated = [text for text in texts if text.scores]
    whole = judged_texts(texts, scores_of(news, texts, lambda *_: 3.0), "news@1", "coherence")
    part = judged_texts(texts, scores_of(news, rated, lambda *_: 3.0), "news@1", "coherence")
    assert whole == part
    assert [text.example for text in part] == rated


@pytest.mark.parametrize("wrong", [slice(0, 5), slice(None, None, -1)])
def test_scores_of_other_texts_are_refused_by_name(wrong: slice) -> None:
    news, texts = version(), examples()
    scores = scores_of(news, texts, lambda *_: 3.0)[wrong]
    with pytest.raises(ValueError, match=r"scored\['news@1'\]: expected one score for each of the 24 examples"):
        judged_texts(texts, scores, "news@1", "coherence")


def said(one: Any, *texts: tuple[float, float | None, tuple[float, float] | None]) -> str:
    judged: Any = [
        JudgedText(
            Example(str(place), "A text.", f"g{place}", annotations={"coherence": (label, label + 2)}),
            label,
            SimpleNamespace(score=score, interval=ends),  # type: ignore[arg-type]
        )
        for place, (label, score, ends) in enumerate(texts)
    ]
    return words_in(fromstring(f"<p>{error_sentence(one, judged)}</p>"))


def test_error_bias_and_coverage_are_stated_with_the_number_of_texts() -> None:
    words = said(joint_version(), (3, 4, (3, 5)), (2, 2.5, (2.2, 3)), (5, None, None))
    assert "mean absolute error 0.75 points, bias +0.75, 100 % within one point, on 2 texts" in words
    assert "; 1 of 2 labels (50 %) lie in the 90 % intervals of the scores." in words
    assert words.endswith(
        "Single raters, each against the mean of the others: mean absolute error 2.00 points, bias +0.00, 0 % within "
        "one point."
    )


def test_without_intervals_coverage_is_not_stated_and_without_scores_nothing_is() -> None:
    assert "on 1 text. Single" in said(version(), (3, 4, None))
    assert said(version(), (3, None, None)) == ""


@pytest.mark.parametrize(("names", "shown"), [(("bad", "good"), "'good'"), (("0", "1"), "'1'"), (None, "1")])
def test_a_card_names_the_levels_of_labels_and_raters_not_their_numbers(
    names: tuple[str, str] | None, shown: str
) -> None:
    scale = Scale(low=0, high=1, whole=False, names=names)
    text = RecordedText(id="t", group="g", output="A text.", label=1, predicted=0.32, raters={"anna": 1, "ben": 0.5})
    card = words_of(View(macro("text_card", charts.axis_of([], 0, 1), scale, text, [])))
    assert f"people {shown}, rubric 0.32" in card
    assert f"anna {shown}, ben 0.5" in card


def test_an_estimate_stands_before_its_interval() -> None:
    assert wording.estimate(interval(0.47, 0.41, 0.53)) == "0.47 [0.41, 0.53]"
    assert wording.estimate(interval(0.47)) == "0.47"
    assert wording.estimate(interval(None)) == "undefined"
    assert wording.estimate(interval(-0.001, -0.004, 0.5)) == "0.00 [-0.004, 0.50]"


def test_a_basis_counts_what_is_left_out() -> None:
    news, texts = version(), examples()
    scored = {news.ref: scores_of(news, texts, lambda number, text: None if number < 3 else text.scores["coherence"])}
    results = results_of([news], scored, texts, levels=["group"])
    assert wording.basis(results[0]) == (
        "20 texts in 5 groups; no group with constant labels; 1 group of one text left out; 3 texts unscored; "
        "6 of 48 answers missing; scores rest on the others"
    )
    # 24 texts of 6 groups, of which the rubric scored a single one in the first.
    assert wording.bases(results) == [
        f"news@1: {wording.basis(results[0])}.",
        "word count and -words: 24 texts in 6 groups; no group with constant labels; none unscored.",
    ]


def test_a_basis_counts_missing_answers_even_if_every_text_has_a_score() -> None:
    checks, texts = checklist(), examples()
    scored = {checks.ref: answers_of(checks, texts)}
    assert all(score.score is not None for score in scored[checks.ref])
    ours, *baselines = results_of([checks], scored, texts, levels=["dataset"])
    # Four questions on 24 texts; four answers say that a question cannot be asked, one is missing.
    assert wording.basis(ours).endswith("none unscored; 1 of 92 answers missing; scores rest on the others")
    assert all(wording.basis(baseline).endswith("none unscored") for baseline in baselines)
    many = dataclasses.replace(ours, answers_missing=864, answers=1872)
    assert "; 864 of 1,872 answers missing; " in wording.basis(many)


@pytest.mark.parametrize(("rule", "said"), [("skip", "left out"), ("papers", "counted as 1")])
def test_a_basis_says_what_constant_groups_count_for(rule: str, said: str) -> None:
    news, texts = version(), examples()
    for text in texts[:4]:
        text.scores["coherence"] = 3.0  # type: ignore[index]
    scored = {news.ref: scores_of(news, texts, lambda _, text: len(text.output))}
    results = results_of([news], scored, texts, levels=["group"], constant=rule)
    assert f"1 group with constant labels {said}" in wording.basis(results[0])


def test_unknown_prices_are_not_free() -> None:
    assert wording.cost(None) == "cost unknown"
    assert wording.cost(0.0) == "no cost"
    assert wording.cost(0.001) == "less than $0.01"
    assert wording.cost(1234.5) == "$1,234.50"


def test_effort_says_what_failed() -> None:
    spent = Effort(calls=1, cached=2, failed=3, prompt_tokens=1000, completion_tokens=5, cost_usd=None, seconds=4)
    assert wording.effort(spent) == "1 call (2 more answered from cache, 3 failed), 1,000 + 5 tokens, cost unknown, 4 s"


def test_a_free_baseline_is_shown_in_words_if_known_and_by_name_if_not() -> None:
    known = wording.baseline_feature(Baseline(feature="words", sign=-1, pearson=-0.3))
    assert known == "the less number of words (words), the better"
    assert wording.baseline_feature(Baseline(feature="of-the-future", sign=1, pearson=0.3)) == "of-the-future"

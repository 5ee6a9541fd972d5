from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from kinds_samples import answers_of, checklist, shown, unlabelled
from report_samples import examples, results_of, scores_of, version

from rubriclab.learning.scoring import CriterionScore, Score
from rubriclab.models.text import Example
from rubriclab.models.version import Version
from rubriclab.ops.evaluate import Evaluator, baseline_evaluators
from rubriclab.report.evaluation import (
    EvaluationSummary,
    criterion_agreements,
    judged_texts,
    summarize,
    summary_sentences,
)
from rubriclab.stats import agreement

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
    return " ".join(summary_sentences(found))


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


@pytest.mark.parametrize("level", ["group", "dataset", "system"])
def test_a_criterions_agreement_is_that_of_the_statistics(level: Any) -> None:
    texts, news = examples(), version()
    rng = np.random.default_rng(0)
    values = {"h01": rng.normal(size=24), "h03": rng.normal(size=24)}
    scores = [
        Score(
            text.id,
            "coherence",
            3.0,
            tuple(CriterionScore(name, float(value[number]), "") for name, value in values.items()),
            None,
            news.ref,
            "fake",
        )
        for number, text in enumerate(texts)
    ]
    judged = judged_texts(texts, scores, news.ref, "coherence")
    found = criterion_agreements(news.rubric, judged, level, "skip")
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
    texts, news = examples(), version()
    scores = [
        Score(
            text.id,
            "coherence",
            3.0,
            (CriterionScore("h01", None if number < 2 else 1.0, ""), CriterionScore("overall", float(number), "")),
            None,
            news.ref,
            "fake",
        )
        for number, text in enumerate(texts)
    ]
    found = criterion_agreements(news.rubric, judged_texts(texts, scores, news.ref, "coherence"), "dataset", "skip")
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

from __future__ import annotations

import dataclasses

import pytest
from kinds_samples import answers_of, checklist
from report_samples import examples, interval, results_of, scores_of, version

from rubriclab.models.version import Baseline, Effort
from rubriclab.report import wording


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

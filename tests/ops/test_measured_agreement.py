"""Evaluators against human scores, baselines beside them, and what was left out."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression

from rubriclab.learning.baselines import FEATURE_NAMES, best_feature, feature_values
from rubriclab.learning.evaluation import LEVELS, Evaluator, baseline_evaluators, measure_agreement, unseen_examples
from rubriclab.models.text import Example, words_digest
from rubriclab.models.text_features import WORD_COUNT
from rubriclab.models.version import Baseline, Provenance
from rubriclab.stats.rater_agreement import ceiling

RNG = np.random.default_rng(3)
GROUPS, SYSTEMS = 6, 5
TEXTS = tuple(
    Example(
        id=f"t{g}{s}",
        output="word " * int(RNG.integers(3, 40)) + f"and {g} or {s}.",
        group=f"g{g}",
        source=f"A source of words and more {g}.",
        system=f"s{s}",
        scores={"coherence": float(RNG.integers(1, 6)), "fluency": 3.0},
    )
    for g in range(GROUPS)
    for s in range(SYSTEMS)
)
HUMAN = np.array([text.scores["coherence"] for text in TEXTS])
OURS = Evaluator("ours", HUMAN + RNG.normal(size=len(TEXTS)))


def learned_from(method="hypoeval", **fields) -> Any:
    """Return what `unseen` reads of a version."""
    made = {"judge": "j", "generator": "j", "prompts": "p", "data": "d", "examples": (), "seed": 1, "version": "0"}
    rubric = SimpleNamespace(parts=[SimpleNamespace(method=method)], aggregation=None)
    return SimpleNamespace(rubric=rubric, provenance=Provenance(**made, **fields))


def by_level(evaluator: Evaluator, texts=TEXTS, **given) -> dict:
    return {result.agreement.level: result for result in measure_agreement(texts, [evaluator], "coherence", **given)}


def test_every_evaluator_has_a_result_at_every_level_and_that_of_systems_only_if_every_text_names_its_own():
    mute = Evaluator("mute", np.full(len(TEXTS), np.nan))
    results = measure_agreement(TEXTS, [OURS, mute], "coherence")
    assert [(r.evaluator, r.agreement.level) for r in results] == [
        (name, level) for name in ("ours", "mute") for level in LEVELS
    ]
    assert [(each.unscored, each.agreement.n) for each in results[3:]] == [(len(TEXTS), 0)] * 3
    assert results[4].to_row()["spearman"] == {"value": None, "low": None, "high": None}
    nameless = [replace(TEXTS[0], system=None), *TEXTS[1:]]
    assert list(by_level(OURS, nameless)) == ["group", "dataset"]
    assert list(by_level(OURS, nameless, levels=["system"])) == []


def test_baselines_are_the_word_count_and_the_features_chosen_in_the_direction_they_had_in_training():
    same, other = (Baseline(feature="markup", sign=sign, pearson=sign * 0.4) for sign in (1, -1))
    unknown = Baseline(feature="a measure of old", sign=1, pearson=0.4)
    found = baseline_evaluators(TEXTS, {"a@1": same, "b@2": same, "c@1": other, "old@1": unknown})
    assert [baseline.name for baseline in found] == [
        "baseline: word count",
        "baseline: markup (text feature chosen by the labels recorded with a@1, b@2)",
        "baseline: -markup (text feature chosen by the labels recorded with c@1)",
    ]
    words, markup = feature_values(TEXTS, [WORD_COUNT, "markup"]).T
    for baseline, expected in zip(found, (words, markup, -markup), strict=True):
        np.testing.assert_array_equal(baseline.scores, expected)
    assert words[0] == pytest.approx(len(TEXTS[0].output.split()))


def test_the_model_of_all_text_features_that_learning_stored_scores_other_texts():
    labelled = [replace(text, output=f"{text.output} {'More words. ' * number}") for number, text in enumerate(TEXTS)]
    chosen = best_feature(labelled, "coherence")
    assert chosen
    found = baseline_evaluators(TEXTS, {"a@1": chosen, "b@2": chosen})[-1]
    assert found.name == "baseline: all text features (fitted to the labels recorded with a@1, b@2)"
    values = feature_values(labelled, FEATURE_NAMES)
    is_usable = ~np.isnan(values).any(axis=0) & (np.ptp(values, axis=0) > 0)
    labels = [text.scores["coherence"] for text in labelled]
    oracle = PLSRegression(n_components=1).fit(values[:, is_usable], labels)
    expected = oracle.predict(feature_values(TEXTS, FEATURE_NAMES)[:, is_usable]).ravel()
    assert np.corrcoef(found.scores, expected)[0, 1] == pytest.approx(1, abs=1e-6)


def test_groups_that_learning_has_seen_are_left_out_whole():
    left = unseen_examples(TEXTS, [learned_from(groups=("g1",)), learned_from(groups=("g4", "elsewhere"))])
    assert [text.group for text in left] == [f"g{g}" for g in (0, 2, 3, 5) for _ in range(SYSTEMS)]
    assert unseen_examples(iter(TEXTS), []) == TEXTS
    everywhere = tuple({text.group for text in TEXTS})
    for method in ("few_shot", "a package that is gone"):
        assert unseen_examples(TEXTS, [learned_from(method, groups=everywhere)]) == ()
    # Labels only measured a baseline that shows the judge none of them.
    assert unseen_examples(TEXTS, [learned_from("direct", groups=everywhere)]) == TEXTS


def test_a_text_that_learning_has_seen_is_left_out_under_any_id_and_group():
    renamed = [replace(text, id=f"new {text.id}", group=f"new {text.group}", scores={}) for text in TEXTS]
    seen = learned_from(groups=("g0",), texts=tuple(words_digest(text) for text in TEXTS[:3]))
    assert [text.id for text in unseen_examples(renamed, [seen])] == [text.id for text in renamed[3:]]
    # Copies that an export has changed are recognized too, and texts that differ in more are not.
    copied = replace(renamed[0], output=f"“{renamed[0].output.upper()}” ", source=f"{renamed[0].source}\n")
    other = replace(renamed[0], output=f"{renamed[0].output} Not.")
    assert unseen_examples([copied, other], [seen]) == (other,)


def test_the_ceiling_is_that_of_the_raters_within_groups_and_over_all_texts():
    rng = np.random.default_rng(8)
    rated = [replace(text, annotations={"coherence": tuple(rng.integers(1, 6, size=3))}) for text in TEXTS]
    table = np.array([text.annotations["coherence"] for text in rated], dtype=float).T
    groups = np.array([int(text.group[1:]) for text in rated])
    found = by_level(OURS, rated)
    assert found["dataset"].to_row()["ceiling"]["value"] == ceiling(table, raters_known=False)
    assert found["group"].to_row()["ceiling"]["value"] == ceiling(table, groups, raters_known=False)
    assert found["system"].ceiling is None
    assert by_level(OURS)["group"].ceiling is None

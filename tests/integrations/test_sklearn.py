"""scikit-learn, with its own cross-validation, pipelines and estimator checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import LABELLED_ROWS as ROWS, Commands
from parity_table import same_scores
from pytest_projects import RUNS_ALL, in_full
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import Tags, check_array
from sklearn.utils.estimator_checks import parametrize_with_checks

from rubriclab.errors import DataError
from rubriclab.integrations.sklearn import RubricClassifier, RubricEstimator, RubricRegressor

FRAME = pd.DataFrame([{name: row[name] for name in ("id", "group", "source", "output")} for row in ROWS])
TEXTS = [row["output"] for row in ROWS]
SCORES = np.array([row["scores"]["coherence"] for row in ROWS])


def regressor(**options: Any) -> RubricRegressor:
    """Return an estimator that learns offline by one method."""
    given = {"task": "summarization", "aspect": "coherence", "scale": (1, 5), "judge": "embedded"}
    return RubricRegressor(**{**given, "methods": ("direct",), **options})


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have estimators without a store of their own keep versions in a temporary folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sklearn") / "store.db"


@pytest.fixture(scope="module")
def fitted(store: Path) -> RubricRegressor:
    """An estimator with several criteria, fitted on texts with sources and groups."""
    return regressor(methods=("hypoeval",), store=store, name="fitted").fit(FRAME, SCORES)


def test_predictions_and_ratings_are_those_of_the_command(fitted: RubricRegressor, store: Path, tmp_path: Path) -> None:
    FRAME.to_json(tmp_path / "texts.jsonl", orient="records", lines=True)
    done = Commands(tmp_path, RUBRICLAB_STORE=str(store))("score", "texts.jsonl", "--rubric", fitted.version_.ref)
    predicted = dict(zip(FRAME["id"], fitted.predict(FRAME).tolist(), strict=True))
    same_scores("scikit-learn", "scikit-learn", predicted, {row["id"]: row["score"] for row in done.rows})
    ratings = [[criterion["score"] for criterion in row["criteria"]] for row in done.rows]
    assert fitted.transform(FRAME).tolist() == ratings
    names = fitted.get_feature_names_out().tolist()
    assert names == [each["id"] for each in done.rows[0]["criteria"]]
    assert clone(fitted).set_output(transform="pandas").fit(FRAME, SCORES).transform(FRAME).columns.tolist() == names


def test_it_is_cross_validated_over_groups_which_reach_the_learning_in_each_fold() -> None:
    pipeline = make_pipeline(FunctionTransformer(), regressor())
    found = cross_val_score(pipeline, FRAME, SCORES, groups=FRAME["group"], cv=GroupKFold(2), error_score="raise")
    assert np.isfinite(found).tolist() == [True, True]
    with config_context(enable_metadata_routing=True):
        estimator = regressor().set_fit_request(groups=True).set_score_request(sample_weight=False)
        routed = cross_val_score(estimator, TEXTS, SCORES, params={"groups": FRAME["group"]}, cv=GroupKFold(2))
    assert np.isfinite(routed).all()


def test_a_text_without_a_score_is_nan_with_a_warning_and_has_no_r2(fitted: RubricRegressor) -> None:
    faulty = pd.concat([FRAME.head(2), FRAME.iloc[[2]].assign(output=None)])
    with pytest.warns(UserWarning, match="1 text of 3 without a score; the first: .*output"):
        found = fitted.predict(faulty)
    assert np.isnan(found).tolist() == [False, False, True]
    with pytest.raises(DataError, match="1 text of 3 without a score"):
        fitted.score(faulty, SCORES[:3])
    assert np.isfinite(fitted.score(FRAME, SCORES))


def test_labels_among_the_fields_of_texts_are_not_read() -> None:
    labelled = FRAME.assign(scores=1)
    labelled["annotations.coherence.anna"] = 5
    without = regressor().fit(FRAME, SCORES)
    assert regressor().fit(labelled, SCORES).predict(FRAME).tolist() == without.predict(labelled).tolist()


@pytest.mark.parametrize(
    ("texts", "scores", "groups", "fault"),
    [
        ("One text.", [1], None, "expected several texts, got one"),
        (np.zeros((3, 2)), [1, 2, 3], None, r"shape \(n,\), got shape \(3, 2\)"),
        (["One.", 3], [1, 2], None, "expected texts or rows, got 3"),
        (["One.", "Two."], [1], None, "inconsistent numbers of samples"),
        (TEXTS, SCORES, ["one"], "inconsistent numbers of samples"),
        (TEXTS, np.where(SCORES[0] == SCORES, np.nan, SCORES), None, "y contains NaN"),
    ],
)
def test_what_is_no_texts_or_has_too_few_scores_is_refused(texts: Any, scores: Any, groups: Any, fault: str) -> None:
    with pytest.raises((DataError, ValueError), match=fault):
        regressor().fit(texts, scores, groups=groups)


@pytest.mark.parametrize(
    ("worse", "better"), [("fail", "pass"), ("incorrect", "correct"), ("bad", "good"), (0, 1), (False, True)]
)
def test_a_classifier_predicts_levels_by_the_threshold_and_their_probabilities(worse: Any, better: Any) -> None:
    levels = np.where(SCORES >= 4, better, worse)
    classifier = RubricClassifier(**{**regressor().get_params(), "scale": None}).fit(FRAME, levels)
    rubric, better_at = classifier.version_.rubric, classifier.classes_.tolist().index(better)
    assert rubric.score_scale.has_two_levels
    shares = classifier.predict_proba(FRAME)
    assert shares.sum(axis=1) == pytest.approx(1)
    passes = shares[:, better_at] >= rubric.threshold
    assert classifier.predict(FRAME).tolist() == np.where(passes, better, worse).tolist()
    assert shares[:, better_at][levels == better].mean() > shares[:, better_at][levels == worse].mean()
    assert classifier.score(FRAME, levels) == pytest.approx(accuracy_score(levels, classifier.predict(FRAME)))


def test_a_classifier_has_two_levels_and_no_level_for_a_text_without_a_score() -> None:
    classifier = RubricClassifier(**{**regressor().get_params(), "scale": None})
    for levels in (SCORES >= 0, [*"abc" * 12]):
        with pytest.raises(ValueError, match="two classes"):
            classifier.fit(FRAME, levels)
    classifier.fit(FRAME, SCORES >= 4)
    faulty = FRAME.head(3).assign(output=[*TEXTS[:2], None])
    with pytest.warns(UserWarning, match="1 text of 3 without a score"):
        assert np.isnan(classifier.predict_proba(faulty)).any(axis=1).tolist() == [False, False, True]
    with pytest.raises(DataError, match="use predict_proba"):
        classifier.predict(faulty)


class NumbersAsTexts(RubricEstimator):
    """Writes rows of numbers, which are all that scikit-learn's checks give, as texts."""

    def _rows(self, X: Any) -> list[dict[str, Any]]:  # noqa: N803
        return super()._rows([{"id": n, "output": " ".join(map(str, row))} for n, row in enumerate(check_array(X))])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        given = tags.input_tags
        given.two_d_array, given.one_d_array, given.string, given.dict = True, False, False, False
        # Nothing is to be learned from how numbers read.
        for kind in filter(None, (tags.regressor_tags, tags.classifier_tags)):
            kind.poor_score = True
        return tags

    @classmethod
    def _get_param_names(cls) -> list[str]:
        names: list[str] = RubricRegressor._get_param_names()
        return names


class Regressor(NumbersAsTexts, RubricRegressor):
    """The regressor of numbers as texts."""


class Classifier(NumbersAsTexts, RubricClassifier):
    """The classifier of numbers as texts."""


NO_COLUMNS = "texts have no columns, so their number is neither kept nor compared"
EXPECTED_TO_FAIL = {
    "check_n_features_in": NO_COLUMNS,
    "check_n_features_in_after_fitting": NO_COLUMNS,
    "check_transformer_general": NO_COLUMNS,
    "check_classifiers_train": NO_COLUMNS,
}


@in_full
@parametrize_with_checks(
    [
        estimator(
            task="text",
            aspect="size",
            definition="The size of the numbers.",
            scale=scale,
            judge="embedded",
            methods=("direct",),
        )
        for estimator, scale in ((Regressor, "-1000:1000:any"), (Classifier, None))
    ],
    expected_failed_checks=lambda _estimator: EXPECTED_TO_FAIL,
)
def test_scikit_learns_own_checks_pass(estimator: Any, check: Any) -> None:
    if isinstance(estimator, Regressor) and "regressor" not in check.func.__name__ and not RUNS_ALL:
        pytest.skip("the classifier, which inherits the same, is checked: make test-integrations checks both")
    check(estimator)

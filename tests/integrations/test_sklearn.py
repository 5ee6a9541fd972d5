"""scikit-learn, with its own cross-validation, pipelines and estimator checks."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import CHECKOUT, Commands
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from rubriclab.errors import DataError
from rubriclab.integrations.sklearn import RubricRegressor

LABELLED = CHECKOUT / "experiments" / "sample" / "labelled.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
FRAME = pd.DataFrame([{name: row[name] for name in ("id", "group", "source", "output")} for row in ROWS])
TEXTS = [row["output"] for row in ROWS]
SCORES = np.array([row["scores"]["coherence"] for row in ROWS])


def regressor(**options: Any) -> RubricRegressor:
    """Return an estimator that learns offline by one method."""
    given = {"task": "summarization", "aspect": "coherence", "scale": (1, 5), "judge": "embedded"}
    return RubricRegressor(**{**given, "methods": ("hypoeval",), **options})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the fitted estimator."""
    return tmp_path_factory.mktemp("sklearn") / "store.db"


@pytest.fixture(scope="module")
def fitted(store: Path) -> RubricRegressor:
    """An estimator fitted on texts with sources and groups."""
    return regressor(store=store, name="fitted").fit(FRAME, SCORES)


def test_predictions_are_the_scores_of_the_command(fitted: RubricRegressor, store: Path, tmp_path: Path) -> None:
    FRAME.to_json(tmp_path / "texts.jsonl", orient="records", lines=True)
    done = Commands(tmp_path, RUBRICLAB_STORE=str(store))("score", "texts.jsonl", "--rubric", fitted.version_.ref)
    assert fitted.predict(FRAME).tolist() == [row["score"] for row in done.rows]
    ratings = [[criterion["score"] for criterion in row["criteria"]] for row in done.rows]
    assert fitted.transform(FRAME).tolist() == ratings
    assert fitted.get_feature_names_out().tolist() == [each["id"] for each in done.rows[0]["criteria"]]


def test_a_copy_of_an_estimator_with_a_temporary_store_predicts_the_same() -> None:
    one = regressor().fit(TEXTS, SCORES, groups=FRAME["group"])
    expected = one.predict(np.array(TEXTS)).tolist()
    copy = pickle.loads(pickle.dumps(one))
    place = Path(one._place)
    assert place.exists()
    del one
    assert not place.exists()
    assert copy.predict(pd.Series(TEXTS)).tolist() == expected


def test_it_is_cross_validated_over_groups_in_a_pipeline() -> None:
    pipeline = make_pipeline(FunctionTransformer(), regressor())
    found = cross_val_score(
        pipeline, FRAME, SCORES, groups=FRAME["group"], cv=GroupKFold(2), scoring="r2", error_score="raise"
    )
    assert found.shape == (2,)
    assert np.isfinite(found).all()


def test_a_text_without_a_score_is_nan_with_a_warning_and_has_no_r2(fitted: RubricRegressor) -> None:
    faulty = pd.concat([FRAME.head(2), FRAME.iloc[[2]].assign(output=None)])
    with pytest.warns(UserWarning, match="1 text of 3 without a score; the first: .*output"):
        found = fitted.predict(faulty)
    assert np.isnan(found).tolist() == [False, False, True]
    with pytest.raises(DataError, match="1 text of 3 without a score"):
        fitted.score(faulty, SCORES[:3])
    assert np.isfinite(fitted.score(FRAME, SCORES))


def test_parameters_are_kept_and_a_clone_is_not_fitted(fitted: RubricRegressor) -> None:
    other = clone(fitted).set_params(seed=7)
    assert other.get_params() == {**fitted.get_params(), "seed": 7}
    with pytest.raises(NotFittedError):
        other.predict(TEXTS)


def test_what_is_no_texts_or_has_too_few_scores_is_refused() -> None:
    with pytest.raises(DataError, match="expected several texts, got one"):
        regressor().fit("One text.", [1])
    with pytest.raises(DataError, match=r"shape \(n,\), got shape \(3, 2\)"):
        regressor().fit(np.zeros((3, 2)), [1, 2, 3])
    with pytest.raises(DataError, match="y: expected 2 values"):
        regressor().fit(["One.", "Two."], [1])
    with pytest.raises(DataError, match="expected texts or rows, got 3"):
        regressor().fit(["One.", 3], [1, 2])


def test_the_checks_of_scikit_learn_that_apply_to_texts_pass() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Can't test estimator")
        results = check_estimator(regressor(), on_fail=None, on_skip=None)
    assert [each["check_name"] for each in results if each["status"] == "failed"] == []
    assert sum(each["status"] == "passed" for each in results) >= 5

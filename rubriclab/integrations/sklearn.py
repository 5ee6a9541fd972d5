"""scikit-learn: a regressor of scores and a classifier of two levels, which learn a rubric from labelled texts."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags, check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted

from rubriclab.data.cells import VERDICT_WORDS
from rubriclab.data.mapping import ABSENT, look_up
from rubriclab.data.readers import raw_data_rows
from rubriclab.data.reading_options import ReadingOptions
from rubriclab.data.rows import check_columns
from rubriclab.errors import DataError
from rubriclab.lab import Lab
from rubriclab.models.characters import count, describe
from rubriclab.models.version import Version
from rubriclab.ops.scores import Scores
from rubriclab.store.tables import resolve_store

# Fields with labels, such as `scores.coherence`. They are not read from `X`: an estimator takes labels from `y`.
LABEL_FIELDS = ("scores", "annotations")


class RubricEstimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer of texts to ratings by each criterion of a rubric, which is learned from the texts' labels.

    `X` is a one-dimensional array, series or list of n texts, or n rows with the fields of a text (`output`, `source`,
    `context`, `reference`, `group` and others) as mappings or as a data frame. Labels among the fields are not read.

    Args:
        task, aspect, definition, generator, name, methods, seed: as for `Lab.learn`.
        scale: the raters' scale, `(1, 5)`; by default taken from `y`, in cross-validation separately for each fold.
        judge: as for `Lab`; by default the offline judge.
        store: path or URL of the store in which `fit` saves a version; by default the user's own.
        mapping: the columns of fields: `{"output": "summary"}`.
        learn_options: other options of `Lab.learn`: `{"text_features": "include"}`.
        lab_options: other options of `Lab`: `{"max_cost": 2}`. A cap holds for each `fit` or `predict` separately.

    Attributes:
        version_: the version that was learned.
        store_: absolute path or URL of the store with this version; `None` for the user's own.
    """

    def __init__(
        self,
        *,
        task: str,
        aspect: str,
        definition: str | None = None,
        scale: tuple[float, float] | str | None = None,
        judge: str | None = None,
        generator: str | None = None,
        store: str | Path | None = None,
        name: str | None = None,
        methods: str | Sequence[str] = (),
        seed: int = 42,
        mapping: Mapping[str, str] | None = None,
        learn_options: Mapping[str, Any] | None = None,
        lab_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.task = task
        self.aspect = aspect
        self.definition = definition
        self.scale = scale
        self.judge = judge
        self.generator = generator
        self.store = store
        self.name = name
        self.methods = methods
        self.seed = seed
        self.mapping = mapping
        self.learn_options = learn_options
        self.lab_options = lab_options

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Learn a rubric from n texts and n labels, and save it as a version; raises what `Lab.learn` does.

        Args:
            groups: n names of the texts' groups, which replace the field `group`.

        Raises:
            ValueError: if `y` or `groups` is not a one-dimensional array of n values, or a label cannot be used.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        rows = self._rows(X)
        labels, reading_options = self._labels(y)
        check_consistent_length(rows, labels)
        for row, label in zip(rows, labels, strict=True):
            row["scores"] = {self.aspect: label}
        if groups is not None:
            names = column_or_1d(groups, input_name="groups")
            check_consistent_length(rows, names)
            column = (self.mapping or {}).get("group", "group")
            for row, name in zip(rows, names.tolist(), strict=True):
                row[column] = name
        parameters = ("task", "aspect", "definition", "scale", "generator", "name", "seed")
        options: dict[str, Any] = {name: getattr(self, name) for name in parameters}
        options["methods"] = (self.methods,) if isinstance(self.methods, str) else tuple(self.methods)
        options |= {**reading_options, **(self.learn_options or {})}
        # Absolute, so that a copy in a process with another working folder finds the store.
        self.store_ = None if self.store is None else resolve_store(os.fspath(self.store), Path.cwd())
        with self._lab() as lab:
            self.version_: Version = lab.learn(rows, **options)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the ratings of n texts by each criterion, an array of shape (n, criteria); a missing rating is NaN."""
        names = self.get_feature_names_out()
        rating_rows = []
        for score in self._scores(X):
            rating_of = {rating.id: rating.score for rating in score.criteria}
            rating_rows.append([rating_of.get(name) for name in names])
        return np.array(rating_rows, dtype=np.float64).reshape(len(rating_rows), len(names))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the ids of the criteria, which are the columns of `transform`."""
        check_is_fitted(self, "version_")
        return np.array([criterion.id for criterion in self.version_.rubric.criteria], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.dict = True
        tags.target_tags.required = True
        return tags

    def _labels(self, y: Any) -> tuple[list[Any], dict[str, Any]]:
        """Return the labels for the field `scores` of the rows, and the options of `Lab.learn` for reading them."""
        raise NotImplementedError

    def _score_values(self, X: Any, *, raise_and_advise: str = "") -> NDArray[np.float64]:
        """Return the scores of n texts; a missing score is NaN, with a warning.

        With `raise_and_advise`, a missing score raises a `DataError` that advises to call the method of this name.
        """
        scores = self._scores(X)
        if missing := scores.unscored:
            fault = f"{count(len(missing), 'text')} of {len(scores)} without a score; the first: {missing[0].unscored}"
            if raise_and_advise:
                raise DataError(fault, f"Leave out these texts, or use {raise_and_advise}, which returns NaN for them.")
            warnings.warn(fault, UserWarning, stacklevel=3)
        return np.array(scores.values, dtype=np.float64)

    def _scores(self, X: Any) -> Scores:
        check_is_fitted(self, "version_")
        with self._lab() as lab:
            return lab.score(self._rows(X), self.version_)

    def _lab(self) -> Lab:
        options = {"progress": None, **(self.lab_options or {})}
        return Lab(self.store_, self.judge, mapping=_without_labels(self.mapping or {}), **options)

    def _rows(self, X: Any) -> list[dict[str, Any]]:
        texts = X
        if isinstance(X, str):
            raise DataError(f"X: expected several texts, got one, {describe(X)}.", "Write [text].")
        if not hasattr(X, "columns") and hasattr(X, "ndim"):
            texts = np.asarray(X, dtype=object)
            if texts.ndim == 2 and texts.shape[1] == 1:
                texts = texts[:, 0]
            if texts.ndim != 1:
                hint = "Give a data frame with the column 'output' for texts with other fields."
                raise DataError(f"X: expected an array of texts of shape (n,), got shape {texts.shape}.", hint)
            texts = texts.tolist()
        options = ReadingOptions(mapping=_without_labels(self.mapping or {}))
        raw = raw_data_rows(texts, "X", options)
        rows = []
        for number, row in raw.rows:
            if not isinstance(row, Mapping):
                raise DataError(f"X: expected texts or rows, got {describe(row)} as item {number}.", "Give texts.")
            rows.append(_without_labels(row))
        if not rows:
            raise DataError("X: expected at least one text, got none.", "Give texts.")
        # Refuse a table without the column of texts, or rows that all lack it. Single rows without it are found later.
        output_column = options.mapping.columns.get("output", "output")
        if raw.is_table or all(look_up(row, output_column) is ABSENT for row in rows):
            check_columns(rows[0], "X", options.mapping)
        return rows


def _without_labels(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if str(name).partition(".")[0] not in LABEL_FIELDS}


class RubricRegressor(RegressorMixin, RubricEstimator):  # type: ignore[misc]
    """A regressor of texts: `y` are scores. Arguments and attributes are those of `RubricEstimator`."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of n texts, an array of shape (n,); NaN, with a warning, for a text without a score."""
        return self._score_values(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R²; raises `DataError` if a text has no score."""
        return float(r2_score(y, self._score_values(X, raise_and_advise="predict"), sample_weight=sample_weight))

    def _labels(self, y: Any) -> tuple[list[Any], dict[str, Any]]:
        return column_or_1d(check_array(y, ensure_2d=False, dtype="numeric", input_name="y"), warn=True).tolist(), {}


class RubricClassifier(ClassifierMixin, RubricEstimator):  # type: ignore[misc]
    """A classifier of texts by labels of two levels: words such as pass and fail, booleans, or any two values.

    Words such as pass and fail tell which level is better; of other values, the larger one is better. Arguments and
    other attributes are those of `RubricEstimator`.

    Attributes:
        classes_: the two levels, sorted.
    """

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the levels of n texts by the rubric's threshold; raises `DataError` if a text has no score."""
        passes = self._score_values(X, raise_and_advise="predict_proba") >= (self.version_.rubric.threshold or 0.0)
        return np.asarray(self.classes_)[np.where(passes, self._better_index, 1 - self._better_index)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of both levels, of shape (n, 2); NaN, with a warning, for a text without a score."""
        p_better = self._score_values(X)  # the probabilities of the better level
        return np.stack([1 - p_better, p_better] if self._better_index else [p_better, 1 - p_better], axis=1)

    @property
    def _better_index(self) -> int:
        """The index of the better level in `classes_`."""
        scores = [VERDICT_WORDS.get(str(level).casefold()) for level in self.classes_]
        return 0 if scores == [1.0, 0.0] else 1

    def _labels(self, y: Any) -> tuple[list[Any], dict[str, Any]]:
        values = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        check_classification_targets(values)
        self.classes_ = unique_labels(values)
        if len(self.classes_) != 2:
            advice = "a classifier cannot be trained on one class, and scores of several levels are for RubricRegressor"
            problem = f"y: expected two classes, got {len(self.classes_)}. Only binary classification is supported"
            raise ValueError(f"{problem}; {advice}.")
        better_level = self.classes_[self._better_index]
        if not isinstance(better_level, str):
            return (values == better_level).astype(int).tolist(), {}
        worse_level = self.classes_[1 - self._better_index]
        return values.tolist(), {"level_scores": {worse_level: 0, better_level: 1}}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

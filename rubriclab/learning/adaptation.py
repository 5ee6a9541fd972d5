"""Three ways to use a rubric on target texts: labelled texts that it was not learned from.

Each way gives a rubric for the target, and a held-out score of each text: a score that does not use the labels of the
text's fold (the texts are divided into folds, of whole groups).

- `reuse`: the rubric stays as it is. No label is used.
- `recalibrate`: criteria and weights stay; the map from the weighted sum of the ratings to the scale is fitted again.
- `relearn`: a rubric is learned again, with the old criteria among the candidates.

All scores and labels are mapped to the scale on which criteria are rated, `Rubric.scale`, except `RatedTexts.scores`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rubriclab.judges.judge import Judge
from rubriclab.learning.calibration import fit_calibration, held_out_errors, mean_rating_map
from rubriclab.learning.candidates import rating_cell
from rubriclab.learning.fitting import INTERVAL_CONFIDENCE, JointSettings, round_significant
from rubriclab.learning.matrix import RatingMatrix, centers_and_spreads, rating_matrix
from rubriclab.learning.pass_fail import choose_threshold
from rubriclab.learning.scoring import process_rows, ratings_of_texts, rival_group, score_stream
from rubriclab.learning.train import Trained
from rubriclab.methods.method import Progress, ignore_progress
from rubriclab.models.aggregation import Aggregation, Term, combine, hand_set_threshold, raw_value, weight_bounds
from rubriclab.models.rubric import Part, Rubric
from rubriclab.models.text import Example, Scale
from rubriclab.models.version import Action, Candidate, Cell
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, float_table, floats
from rubriclab.stats.intervals import DIGITS, grouped_folds, predict_folds


@dataclass(frozen=True, eq=False)
class RatedTexts:
    """Texts with their ratings (`cells`) by `candidates`: criteria that were not generated from these texts.

    `scores` are on the scale of the rubric's scores, NaN if missing; `unscored_reason` is the latest reason for a NaN.
    """

    examples: tuple[Example, ...]
    candidates: tuple[Candidate, ...]
    cells: tuple[tuple[Cell, ...], ...]
    scores: FloatArray
    unscored_reason: str | None = None

    def select(self, examples: Sequence[Example]) -> RatedTexts:
        """Return the ratings of `examples`: some of the same texts, whose labels may have changed."""
        row_by_id = {example.id: row for row, example in enumerate(self.examples)}
        rows = [row_by_id[example.id] for example in examples]
        cells = tuple(self.cells[row] for row in rows)
        return replace(self, examples=tuple(examples), cells=cells, scores=self.scores[rows])

    def ratings(self, row: int) -> dict[str, float | None]:
        """Return a text's ratings by the ids of the criteria that apply to it."""
        cells = zip(self.candidates, self.cells[row], strict=True)
        return {candidate.criterion.id: cell.score for candidate, cell in cells if cell.applies}


async def rate_by_version(
    rubric: Rubric, ref: str, examples: Sequence[Example], judge: Judge, under_way: int = 16
) -> RatedTexts:
    """Return the texts rated and scored by the version `ref`, `under_way` at a time; raises as `score_text` does."""
    rows, scores, reason = list[tuple[Cell, ...]](), list[float | None](), None
    async for score in score_stream(rubric, examples, judge, ref, under_way):
        cells = {rating.id: rating_cell(rating) for rating in score.criteria}
        rows.append(tuple(cells[criterion.id] for criterion in rubric.criteria))
        scores.append(score.score)
        reason = score.unscored or reason
    return RatedTexts(tuple(examples), _candidates(rubric.parts, kept=True), tuple(rows), floats(scores), reason)


async def rate_parts(
    parts: Sequence[Part],
    rubric: Rubric,
    examples: Sequence[Example],
    judge: Judge,
    under_way: int = 16,
    *,
    on_progress: Progress = ignore_progress,
) -> RatedTexts:
    """Return texts rated by the criteria of `parts`, `under_way` at a time; raises as `score_text` does."""
    assignment, aggregation = rubric.assignment, rubric.aggregation
    if aggregation:  # criteria and texts share calls as they do when `rubric` scores
        grouping, group_limits, form = aggregation.ask, aggregation.rivals, aggregation.form
    else:
        grouping, group_limits, form = "by method", None, None
    candidates, rows = _candidates(parts, kept=False), list[tuple[Cell, ...]]()

    async def rate_group(texts: Sequence[Example]) -> list[tuple[Cell, ...]]:
        group_rows = []
        for rated in await ratings_of_texts(texts, parts, grouping, assignment, judge, limits=group_limits, form=form):
            cells = {rating.id: rating_cell(rating) for rating in rated}
            group_rows.append(tuple(cells[candidate.criterion.id] for candidate in candidates))
        return group_rows

    async for row in process_rows(examples, rate_group, under_way, group_of=rival_group if group_limits else None):
        rows.append(row)
        on_progress(f"{len(rows)} of {len(examples)} texts rated", len(rows) / len(examples))
    return RatedTexts(tuple(examples), candidates, tuple(rows), np.full(len(examples), np.nan))


def _candidates(parts: Sequence[Part], *, kept: bool) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(method=part.method, criterion=criterion, kept=kept) for part in parts for criterion in part.criteria
    )


@dataclass(frozen=True, eq=False)
class LabelledTarget:
    """A rubric with its ratings of the target texts, which have labels for `aspect` on `label_scale`."""

    rubric: Rubric
    rated: RatedTexts
    aspect: str
    label_scale: Scale
    settings: JointSettings
    seed: int

    @cached_property
    def table(self) -> RatingMatrix:
        """The ratings of the texts by the rubric's criteria, with labels mapped to the scale of the ratings."""
        rubric, texts = self.rubric, self.rated
        labels = [self.label_scale.moved_to(rubric.scale, text.scores[self.aspect]) for text in texts.examples]
        values = float_table(([cell.score for cell in row] for row in texts.cells), len(texts.candidates))
        assignment, bounds = rubric.assignment, weight_bounds(rubric.aggregation)
        return rating_matrix(texts.candidates, values, texts.examples, floats(labels), assignment, bounds=bounds)

    @property
    def fold_numbers(self) -> IntArray:
        return grouped_folds(self.table.groups, self.settings.folds, self.seed)

    @property
    def onto(self) -> Scale | None:
        """The labels' scale, if it differs from the scale of the ratings."""
        return None if self.label_scale.same_ends(self.rubric.scale) else self.label_scale


@dataclass(frozen=True, eq=False)
class AdaptedRubric:
    """A rubric for the target, and held-out scores of the texts, NaN if unscored.

    Where labels are used, the `scores` of a fold contain the mean label of the other folds, which is not the same for
    all folds. The `ranking_scores` do not contain it, so they can rank texts of different folds.
    """

    action: Action
    rubric: Rubric
    scores: FloatArray
    ranking_scores: FloatArray


def reuse_rubric(target: LabelledTarget) -> AdaptedRubric:
    """Return the rubric as it is, with scores mapped linearly if the labels have another scale."""
    rubric = target.rubric
    scores = rescale(target.rated.scores, rubric.score_scale, rubric.scale)
    if not rubric.score_scale.same_ends(target.label_scale):
        aggregation = (rubric.aggregation or mean_aggregation(target)).model_copy(update={"onto": target.onto})
        rubric = Rubric.model_validate({**dict(rubric), "aggregation": aggregation})
    return AdaptedRubric("reuse", rubric, scores, scores)


def recalibrate_rubric(target: LabelledTarget) -> AdaptedRubric:
    """Return the rubric with a new map onto the scale, new intervals, and a new threshold unless a person set it."""
    aggregation = target.rubric.aggregation or mean_aggregation(target)
    raw, scale, labels = raw_values(aggregation, target.rated), target.table.scale, target.table.labels
    has_score = ~np.isnan(raw)

    def predict(training: BoolArray, held_out: BoolArray) -> FloatArray:
        """Return the scores of the held-out texts by a map that is fitted to the training texts."""
        is_used = training & has_score
        if not is_used.any():
            return np.full(held_out.sum(), np.nan)
        return fit_calibration(raw[is_used], labels[is_used], scale).apply(raw[held_out])

    scores = np.clip(predict_folds(target.fold_numbers, predict), scale.low, scale.high)
    # The map, intervals and threshold of the rubric are fitted to all labels.
    new_map = fit_calibration(raw[has_score], labels[has_score], scale)
    level_names = (target.onto or target.rubric.scale).names
    errors = None if level_names else held_out_errors(scores, labels, INTERVAL_CONFIDENCE)
    threshold = hand_set_threshold(target.rubric.aggregation) if level_names else None
    if level_names and threshold is None:
        shares = (scores - scale.low) / scale.width, (labels - scale.low) / scale.width
        threshold = round(choose_threshold(*shares, target.settings.recall_goal(level_names)), DIGITS)
    update = {"calibration": new_map, "conformal": errors, "onto": target.onto, "threshold": threshold}
    aggregation = aggregation.model_copy(update=update)
    rubric = Rubric.model_validate({**dict(target.rubric), "aggregation": aggregation})
    if not has_score.any() or np.ptp(new_map.apply(raw[has_score])) == 0:
        # A constant map gives all texts the same score, although their weighted sums differ.
        raw = np.where(has_score, 0.0, np.nan)
    return AdaptedRubric("recalibrate", rubric, scores, raw)


def relearned_rubric(target: LabelledTarget, trained: Trained) -> AdaptedRubric:
    """Return the rubric that was learned again from the same labels, with the held-out scores that its record has."""
    record = trained.record
    assert record  # training with several methods keeps a record
    predicted = {text.id: text.predicted for text in record.texts}
    recorded_scores = floats(predicted[text.id] for text in target.rated.examples)
    scores = rescale(recorded_scores, target.label_scale, target.rubric.scale)
    labels = target.table.labels
    means = predict_folds(target.fold_numbers, lambda rest, in_fold: np.full(in_fold.sum(), labels[rest].mean()))
    return AdaptedRubric("relearn", trained.rubric, scores, scores - means)


def mean_aggregation(target: LabelledTarget) -> Aggregation:
    """Return the aggregation of a rubric without learned weights: the mean rating, weighted by `Criterion.weight`."""
    table = target.table
    criteria = [candidate.criterion for candidate in target.rated.candidates]
    centers, spreads = centers_and_spreads(table.values)
    # A question's rating is a share of the scale, other ratings are in points. A spread of 0 is set to one point.
    points_per_rating = np.where(table.is_question, table.scale.width, 1.0)
    spreads = round_significant(np.where(spreads > 0, spreads, 1 / points_per_rating))
    centers = round_significant(centers)
    points_per_spread = np.array([each.weight for each in criteria], dtype=float) * spreads * points_per_rating
    weights = (points_per_spread / points_per_spread.sum()).round(DIGITS)
    rows = zip(criteria, weights.tolist(), centers.tolist(), spreads.tolist(), strict=True)
    terms = tuple(
        Term(criterion=criterion.id, weight=weight, center=center, spread=spread, low=weight, high=weight, selected=1.0)
        for criterion, weight, center, spread in rows
    )
    calibration = mean_rating_map(weights, centers, spreads, table.is_question, table.scale)
    return Aggregation(ask="by method", terms=terms, calibration=calibration)


def raw_values(aggregation: Aggregation, texts: RatedTexts) -> FloatArray:
    """Return the weighted sum of each text's standardized ratings, NaN if too many ratings are missing."""
    return floats(raw_value(aggregation, texts.ratings(row)) for row in range(len(texts.examples)))


def aggregate_scores(rubric: Rubric, texts: RatedTexts) -> FloatArray:
    """Return the texts' scores by the rubric's aggregation, on the scale of the ratings, NaN if unscored."""
    assert rubric.aggregation
    aggregation = rubric.aggregation.model_copy(update={"onto": None})
    return floats(combine(aggregation, texts.ratings(row), rubric.scale).score for row in range(len(texts.examples)))


def rescale(scores: FloatArray, old_scale: Scale, new_scale: Scale) -> FloatArray:
    return np.array([old_scale.moved_to(new_scale, score) for score in scores.tolist()], dtype=float)

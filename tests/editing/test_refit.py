"""An edited rubric refitted to kept ratings: its weights and held-out scores against computations of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from constrained_weights import nearest_weights
from edit_samples import ASPECT

from rubriclab.errors import SettingsError
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.learning.weighting import NOISE, Moments, _prior, design, posterior
from rubriclab.models.version import Cell
from rubriclab.ops.edits import (
    Edit,
    FoldSelection,
    RatedRubric,
    check_kept,
    edited_rubric,
    effect_of,
    plan_edits,
    refitted,
    repeating,
    select_in_folds,
    study_of,
    unmeasured,
)
from rubriclab.stats.agreement import agreement


def edited(rated: RatedRubric, edits: Edit, values: np.ndarray | None = None) -> RatedRubric:
    """Return the edited rubric; `values` are the ratings by its new criteria, shape (texts, criteria)."""
    plan = plan_edits(rated.rubric, "planted@1", edits)
    rows = np.zeros((len(rated.examples), 0)) if values is None else values
    cells = [[Cell(float(value), "planted") for value in row] for row in rows]
    return edited_rubric(rated, plan, cells, "by anna: a reason")


def labels_of(rated: RatedRubric) -> np.ndarray:
    return np.array([text.scores[ASPECT] for text in rated.examples])


def weights(rated: RatedRubric, selection: FoldSelection) -> dict[str, float]:
    rubric = study_of(rated, refitted(rated, selection)).rubric()
    assert rubric.aggregation
    return {term.criterion: term.weight for term in rubric.aggregation.terms}


def test_a_rubric_without_changes_keeps_the_weights_and_held_out_scores_that_it_was_learned_with(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    path = refitted(rated, selection)
    rubric = study_of(rated, path).rubric()
    assert rubric.aggregation
    assert rubric.aggregation.terms == rated.rubric.aggregation.terms
    assert rubric.aggregation.calibration == rated.rubric.aggregation.calibration
    assert rubric.aggregation.conformal == rated.rubric.aggregation.conformal
    effect = effect_of(rated, rated, (path, path), rubric)
    assert (effect.difference.value, effect.difference.low, effect.difference.high) == (0.0, 0.0, 0.0)


def test_weights_within_limits_are_those_of_an_independent_optimisation(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    limited = edited(rated, Edit(drop=("dates",), bound={"links": (0.3, 0.3), "names": (0, 0.1), "length": (0.1, 1)}))
    found = weights(limited, selection)
    assert found["links"] == pytest.approx(0.3, abs=1e-6)
    assert found["names"] <= 0.1 + 1e-6
    assert found["length"] >= 0.1 - 1e-6
    assert sum(found.values()) == pytest.approx(1, abs=1e-5)

    # The same posterior without limits, minimised over shares and size by a general solver.
    free = replace(limited.table, limits=None)
    columns = limited.kept
    matrix = design(free, 2.0)
    moments = matrix.moments(np.ones(len(free.labels), dtype=bool))
    names = [limited.candidates[place].criterion.id for place in columns]
    low, high = np.zeros(len(names)), np.ones(len(names))
    for name, (least, most) in limited.bounds.items():
        low[names.index(name)], high[names.index(name)] = least, most
    mean, precision = _posterior_of(free, moments, columns)
    result = nearest_weights(mean, precision, np.column_stack([low, high]))
    expected = dict(zip(names, result / result.sum(), strict=True))
    assert found == pytest.approx(expected, abs=2e-4)


def _posterior_of(table: RatingMatrix, moments: Moments, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and precision of the weights, by the textbook formula for a linear model with a normal prior."""
    n, places = float(moments.n), list(columns)
    gram = moments.zz[np.ix_(places, places)] - np.outer(moments.z[places], moments.z[places]) / n
    along = moments.zy[places] - moments.z[places] * float(moments.y) / n
    spread = np.sqrt(float(moments.yy) / n - (float(moments.y) / n) ** 2)
    prior, precision = _prior(table, places, gram / n)
    total = precision + gram / NOISE**2
    return np.linalg.solve(total, precision @ prior + along / spread / NOISE**2), total


def test_held_out_scores_do_not_depend_on_the_labels_of_their_fold(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    dropped = edited(rated, Edit(drop=("order",), bound={"names": (0, 0.1)}))
    before = refitted(dropped, selection).held_out.raw
    fold = selection.folds[0] == 0
    other = tuple(
        replace(text, scores={ASPECT: 6 - text.scores[ASPECT]}, annotations={}, raters={}) if inside else text
        for text, inside in zip(rated.examples, fold, strict=True)
    )
    relabelled = replace(rated, examples=other)
    changed = edited(relabelled, Edit(drop=("order",), bound={"names": (0, 0.1)}))
    after = refitted(changed, select_in_folds(relabelled)).held_out.raw
    np.testing.assert_allclose(after[fold], before[fold], atol=1e-12)
    assert not np.allclose(after[~fold], before[~fold])


def test_a_criterion_made_from_a_folds_labels_is_in_no_rubric_of_that_fold_even_if_its_weight_is_limited(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    pinned = edited(rated, Edit(bound={"theory": (0.3, 0.3), "detail": (0.2, 0.2)}))
    ids = [each.criterion.id for each in pinned.candidates]
    source = next(each for each in pinned.candidates if each.criterion.id == "detail").made_from
    groups = {text.group for text in pinned.examples if text.id in source}
    path = refitted(pinned, selection)
    for number, fit in enumerate(path.held_out.fits[0]):
        inside = {text.group for text, n in zip(pinned.examples, path.held_out.folds[0], strict=True) if n == number}
        names = {ids[place] for place in fit.columns}
        assert "theory" not in names
        assert ("detail" in names) == (not inside & groups)
        if "detail" in names:
            assert fit.weights[list(fit.columns).index(ids.index("detail"))] == pytest.approx(0.2, abs=1e-6)
    assert unmeasured(pinned, path, ["theory", "detail"]) == ("theory",)


def test_a_reworded_criterion_inherits_the_labels_that_it_was_made_from(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    labels = labels_of(rated)[:, np.newaxis]
    plan = Edit(reword={"theory": "Another theory."}, merge=((("detail", "links"), "Linked details."),))
    changed = edited(rated, plan, np.hstack([labels, 6 - labels]))
    of = {each.criterion.id: each for each in changed.candidates}
    assert of["theory.2"].made_from == of["theory"].made_from
    assert of["detail+links"].made_from == of["detail"].made_from
    path = refitted(changed, selection)
    assert "theory.2" in unmeasured(changed, path, ["theory.2", "detail+links"])


def test_an_added_criterion_is_in_every_fold_and_a_removed_one_in_none(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    labels = labels_of(rated)[:, np.newaxis]
    changed = edited(rated, Edit(add=("It is good.",), drop=("length",)), labels)
    path = refitted(changed, selection)
    names = [
        {changed.candidates[place].criterion.id for place in fit.columns} for fits in path.held_out.fits for fit in fits
    ]
    assert all("a01" in each and "length" not in each for each in names)
    # It equals the labels, so it improves held-out agreement.
    parent = refitted(rated, selection)
    effect = effect_of(rated, changed, (parent, path), study_of(changed, path).rubric())
    assert effect.difference.low > 0


def test_the_difference_is_paired_on_the_same_texts_and_folds(rated: RatedRubric, selection: FoldSelection) -> None:
    changed = edited(rated, Edit(drop=("names",)))
    paths = refitted(rated, selection), refitted(changed, selection)
    assert all((path.held_out.folds == selection.folds).all() for path in paths)
    effect = effect_of(rated, changed, paths, study_of(changed, paths[1]).rubric())
    sides = [
        agreement(path.held_out.raw, labels_of(rated), rated.table.groups, level=effect.level).pearson for path in paths
    ]
    assert effect.before.value == pytest.approx(sides[0].value, abs=1e-6)
    assert effect.after.value == pytest.approx(sides[1].value, abs=1e-6)
    assert effect.difference.value == pytest.approx(sides[1].value - sides[0].value, abs=1e-5)
    # The same texts are hard for both rubrics, so a paired interval is narrower than that of two separate samples.
    separate = np.hypot(effect.before.high - effect.before.low, effect.after.high - effect.after.low)
    assert effect.difference.high - effect.difference.low < separate


def test_limits_that_the_criteria_with_varying_ratings_cannot_meet_are_refused(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    constant = np.full((len(rated.examples), 1), 3.0)
    others = tuple(criterion.id for criterion in rated.rubric.criteria if criterion.id not in ("links", "order"))
    limits = {"links": (0.3, 0.3), "order": (0.0, 0.4)}
    changed = edited(rated, Edit(drop=others, add=("It is a text.",), bound=limits), constant)
    path = refitted(changed, selection)
    with pytest.raises(SettingsError, match=r"they sum to at most 0\.7"):
        check_kept(changed, path)
    pinned = edited(rated, Edit(add=("It is a text.",), bound={"a01": (0.3, 0.3)}), constant)
    with pytest.raises(SettingsError, match=r"The weight of a01 cannot be limited: it .* Drop a01\."):
        check_kept(pinned, refitted(pinned, selection))


def test_a_criterion_that_repeats_another_is_kept_and_named(rated: RatedRubric, selection: FoldSelection) -> None:
    order = next(place for place, each in enumerate(rated.candidates) if each.criterion.id == "order")
    values = np.array([[row[order].score] for row in rated.cells])
    changed = edited(rated, Edit(add=("It is in order.",)), values)
    path = refitted(changed, selection)
    assert "a01" in weights(changed, selection)
    ((one, other, r),) = repeating(changed, path)
    assert {one, other} == {"a01", "order"}
    assert r == pytest.approx(1.0)


def test_limits_shares_and_intervals_of_all_weights_agree(rated: RatedRubric, selection: FoldSelection) -> None:
    limited = edited(rated, Edit(bound={"links": (0.05, 0.1)}))
    table = limited.table
    moments = design(table).moments(np.ones(len(table.labels), dtype=bool))
    mean = posterior(table, moments, limited.kept).mean
    rubric = study_of(limited, refitted(limited, selection)).rubric()
    terms = {term.criterion: term for term in rubric.aggregation.terms}
    ids = [limited.candidates[place].criterion.id for place in limited.kept]
    for name, share in zip(ids, mean / np.abs(mean).sum(), strict=True):
        assert terms[name].weight == pytest.approx(share, abs=2e-6)
        assert terms[name].low - 1e-6 <= terms[name].weight <= terms[name].high + 1e-6
    assert terms["links"].bounds == (0.05, 0.1)
    assert 0.05 <= terms["links"].low <= terms["links"].high <= 0.1

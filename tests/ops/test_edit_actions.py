"""Edits of a rubric: what they mean, criteria in a person's own words, and the rubric refitted to the same folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from constrained_weights import nearest_weights
from edit_samples import ASPECT, hypothesis, question
from hypothesis import given, strategies as st

from rubriclab.errors import SettingsError
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.learning.weighting import NOISE, Moments, _prior, design_matrix
from rubriclab.models.rubric import Evidence
from rubriclab.models.text import Scale
from rubriclab.models.version import Cell
from rubriclab.ops.edit import (
    FoldSelection,
    RatedRubric,
    edit_notes,
    edited_rubric,
    measure_effect,
    refit_results,
    refit_rubric,
    select_in_folds,
)
from rubriclab.ops.edit_actions import check_bounds, levels_of_truth, merge, plan_edits, reword
from rubriclab.ops.options import Edit
from rubriclab.stats.score_agreement import agreement

REF = "planted@1"
SCALE = Scale(low=1, high=5, whole=True)


def test_every_change_is_recorded_with_its_criteria_and_the_wording_before_and_after(rated: RatedRubric) -> None:
    edits = Edit(
        drop=("length",),
        reword={"links": "Sentences are linked."},
        merge=((("theory", "detail"), "It is about one theory."),),
        add=("Sum: it says what follows.", "Is it dull? (better: no)"),
        bound={"links": (0.2, 0.2), "names": (0, 0.3)},
        definition="How well it holds together.",
    )
    plan = plan_edits(rated.rubric, REF, edits)
    assert tuple(plan.new) == ("links.2", "theory+detail", "a01", "a02")
    reasons = {name: reason.partition(":")[0] for name, reason in plan.removed.items()}
    assert reasons == {"length": "dropped", "links": "reworded", "theory": "merged", "detail": "merged"}
    assert plan.bounds == {"links.2": (0.2, 0.2), "names": (0, 0.3)}
    assert plan.redefines_aspect
    assert [(change.action, change.criteria, change.result, change.after) for change in plan.changes] == [
        ("drop", ("length",), None, None),
        ("reword", ("links",), "links.2", "Sentences are linked."),
        ("merge", ("theory", "detail"), "theory+detail", "It is about one theory."),
        ("add", (), "a01", "Sum: it says what follows."),
        ("add", (), "a02", "Is it dull?"),
        ("definition", (), None, "How well it holds together."),
        ("pin", ("links.2",), None, "0.2"),
        ("bound", ("names",), None, "0:0.3"),
    ]
    assert plan.changes[1].before == "Scores for coherence rise with links."
    new = plan.new
    one = new["a01"]
    assert (one.method, one.criterion.kind, one.criterion.trait) == ("hypoeval", "hypothesis", "Sum")
    assert new["a02"].criterion.question
    assert (new["a02"].method, new["a02"].criterion.question.better) == ("checkeval", "no")
    assert new["links.2"].criterion.levels == rated.rubric.criteria[0].levels
    assert [level.score for level in new["a01"].criterion.levels] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("edits", "error"),
    [
        (Edit(drop=("link",)), r"planted@1 has no criterion 'link'\. Did you mean 'links'\? It has: links \(.+; ord"),
        (Edit(drop=("links",), reword={"links": "x"}), "links is changed twice"),
        (Edit(drop=("Does it …",)), r"planted@1 has several criteria 'Does it …'\. Give an id: names, dates"),
        (Edit(pin={"names": 0.1, "Does it name …": 0.1}), "`pin` names one of names by id and by title"),
        (Edit(merge=((("links", "names"), "x"),)), "links and names are criteria of different methods, checkeval and"),
        (Edit(add=(" \n",)), "Expected the wording of a criterion or a definition, got an empty text"),
        (Edit(bound={"links": (0.4, 0.2)}), r"weight of links cannot be 0\.4:0\.2: the lowest is above"),
        (Edit(bound={"links": (0.6, 0.6), "order": (0.5, 0.5)}), r"sum to 1, but .* sum to at least 1\.1: links 0\.6"),
        (Edit(drop=("links",), bound={"links": (0, 0.2)}), "links is dropped by this edit, so its weight cannot be"),
        (
            Edit(drop=("links", "order", "theory", "detail", "length", "names", "dates", "direct")),
            "No criterion of planted@1 would be left",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(rated: RatedRubric, edits: Edit, error: str) -> None:
    with pytest.raises(SettingsError, match=error):
        plan_edits(rated.rubric, REF, edits)


def test_a_criterion_may_be_named_by_its_title_whole_or_shortened(rated: RatedRubric) -> None:
    edits = Edit(drop="does it say when things happened?", pin={"Does it name the …": 0.1})
    assert [change.criteria for change in plan_edits(rated.rubric, REF, edits).changes] == [("dates",), ("names",)]


SHARES = st.floats(0, 1)


@given(st.lists(st.tuples(SHARES, SHARES).map(sorted), max_size=5), st.integers(0, 3))
def test_limits_are_accepted_exactly_if_some_weights_meet_them(limits: list[list[float]], free: int) -> None:
    bounds = {f"c{place}": (low, high) for place, (low, high) in enumerate(limits)}
    least, most = sum(low for low, _ in limits), sum(high for _, high in limits) + free
    if least > 1 + 1e-6 or most < 1 - 1e-6:
        with pytest.raises(SettingsError, match="Widen the limits"):
            check_bounds(bounds, len(limits) + free)
    elif least < 1 - 1e-6 and most > 1 + 1e-6:
        check_bounds(bounds, len(limits) + free)


def test_a_question_keeps_its_better_answer_unless_another_is_given() -> None:
    asked = question("q", "Is it long?")
    same, other = (reword(asked, "checkeval", text, "q.2") for text in ("Is it dull?", "Is it dull? (better: no)"))
    assert (same.statement, same.question.better) == ("Is it dull?", "yes")
    assert (other.statement, other.question.better) == ("Is it dull?", "no")


def test_a_merged_criterion_has_the_evidence_of_all_and_levels_of_its_own() -> None:
    one, two = (
        hypothesis(name, name).model_copy(update={"evidence": Evidence(origin="labels", examples=examples)})
        for name, examples in (("a", ("t1", "t2")), ("b", ("t2", "t3")))
    )
    found = merge([one, two], "Order: it is in order.", SCALE, "a+b")
    assert found.evidence.examples == ("t1", "t2", "t3")
    assert found.levels == levels_of_truth(SCALE)
    assert (found.id, found.trait, found.weight) == ("a+b", "Order", 2.0)


def edited(rated: RatedRubric, edits: Edit, values: np.ndarray | None = None) -> RatedRubric:
    """Return the edited rubric; `values` are the ratings by its new criteria, shape (texts, criteria)."""
    plan = plan_edits(rated.rubric, "planted@1", edits)
    rows = np.zeros((len(rated.examples), 0)) if values is None else values
    cells = [[Cell(float(value), "planted") for value in row] for row in rows]
    return edited_rubric(rated, plan, cells, "by anna: a reason")


def notes(rated: RatedRubric, selection: FoldSelection, edits: Edit, values: np.ndarray | None = None) -> list[str]:
    changed = edited(rated, edits, values)
    refits = refit_rubric(rated, selection), refit_rubric(changed, selection)
    return edit_notes(plan_edits(rated.rubric, REF, edits), rated, changed, *refits)


def labels_of(rated: RatedRubric) -> np.ndarray:
    return np.array([text.scores[ASPECT] for text in rated.examples])


def weights(rated: RatedRubric, selection: FoldSelection) -> dict[str, float]:
    rubric = refit_results(rated, refit_rubric(rated, selection)).rubric()
    assert rubric.aggregation
    return {term.criterion: term.weight for term in rubric.aggregation.terms}


def test_a_rubric_without_changes_keeps_the_weights_and_held_out_scores_that_it_was_learned_with(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    path = refit_rubric(rated, selection)
    rubric = refit_results(rated, path).rubric()
    assert rubric.aggregation
    assert rubric.aggregation.terms == rated.rubric.aggregation.terms
    assert rubric.aggregation.calibration == rated.rubric.aggregation.calibration
    assert rubric.aggregation.conformal == rated.rubric.aggregation.conformal
    effect = measure_effect(rated, rated, path, path, rubric)
    most = round(2 * (1 - 0.05 ** (1 / effect.groups)), 6)  # by the rule of three, for gains from -2 to 2
    assert (effect.difference.value, effect.difference.low, effect.difference.high) == (0.0, -most, most)


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
    free = replace(limited.table, weight_bounds=None)
    columns = limited.kept_columns
    matrix = design_matrix(free, 2.0)
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


def test_held_out_scores_do_not_depend_on_labels_of_their_fold(rated: RatedRubric, selection: FoldSelection) -> None:
    dropped = edited(rated, Edit(drop=("order",), bound={"names": (0, 0.1)}))
    before = refit_rubric(dropped, selection).held_out.ranking_scores
    fold = selection.folds_by_repetition[0] == 0
    other = tuple(
        replace(text, scores={ASPECT: 6 - text.scores[ASPECT]}, annotations={}, raters={}) if inside else text
        for text, inside in zip(rated.examples, fold, strict=True)
    )
    relabelled = replace(rated, examples=other)
    changed = edited(relabelled, Edit(drop=("order",), bound={"names": (0, 0.1)}))
    after = refit_rubric(changed, select_in_folds(relabelled)).held_out.ranking_scores
    np.testing.assert_allclose(after[fold], before[fold], atol=1e-12)
    assert not np.allclose(after[~fold], before[~fold])


def test_a_criterion_made_from_a_folds_labels_is_in_no_rubric_of_that_fold_even_if_its_weight_is_limited(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    limits = Edit(bound={"theory": (0.3, 0.3), "detail": (0.2, 0.2)})
    pinned = edited(rated, limits)
    ids = [each.criterion.id for each in pinned.candidates]
    groups = {text.group for text in pinned.examples if text.id in pinned.candidates[ids.index("detail")].made_from}
    held_out = refit_rubric(pinned, selection).held_out
    folds = held_out.folds_by_repetition[0]
    for number, fit in enumerate(held_out.fits[0]):
        inside = {text.group for text, fold in zip(pinned.examples, folds, strict=True) if fold == number}
        names = {ids[place] for place in fit.columns}
        assert "theory" not in names
        assert ("detail" in names) == (not inside & groups)
        if "detail" in names:
            assert fit.weights[list(fit.columns).index(ids.index("detail"))] == pytest.approx(0.2, abs=1e-6)
    (unknown,) = [note for note in notes(rated, selection, limits) if note.startswith("the effect of ")]
    assert unknown.startswith("the effect of theory on cross-validated agreement is unknown")


def test_a_reworded_criterion_inherits_the_labels_that_it_was_made_from(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    labels = labels_of(rated)[:, np.newaxis]
    plan = Edit(reword={"theory": "Another theory."}, merge=((("detail", "links"), "Linked details."),))
    changed = edited(rated, plan, np.hstack([labels, 6 - labels]))
    of = {each.criterion.id: each for each in changed.candidates}
    assert of["theory.2"].made_from == of["theory"].made_from
    assert of["detail+links"].made_from == of["detail"].made_from
    found = notes(rated, selection, plan, np.hstack([labels, 6 - labels]))
    assert any(note.startswith("the effect of theory.2 ") for note in found)


def test_an_added_criterion_is_in_every_fold_and_a_removed_one_in_none(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    labels = labels_of(rated)[:, np.newaxis]
    changed = edited(rated, Edit(add=("It is good.",), drop=("length",)), labels)
    path = refit_rubric(changed, selection)
    fits = [fit for fits in path.held_out.fits for fit in fits]
    names = [{changed.candidates[place].criterion.id for place in fit.columns} for fit in fits]
    assert all("a01" in each and "length" not in each for each in names)
    # It equals the labels, so it improves held-out agreement.
    parent = refit_rubric(rated, selection)
    effect = measure_effect(rated, changed, parent, path, refit_results(changed, path).rubric())
    assert effect.difference.low > 0


def test_a_fold_whose_only_criterion_is_dropped_selects_nothing_by_its_own_labels(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    changed = edited(rated, Edit(drop=("order",)))
    only_order = tuple((frozenset({"order"}),) * len(folds) for folds in selection.criteria)
    for fit in refit_rubric(changed, replace(selection, criteria=only_order)).held_out.fits[0]:
        assert set(fit.columns) - set(changed.kept_columns)  # not only those that all labels selected


def test_the_difference_is_paired_on_the_same_texts_and_folds(rated: RatedRubric, selection: FoldSelection) -> None:
    changed = edited(rated, Edit(drop=("names",)))
    paths = refit_rubric(rated, selection), refit_rubric(changed, selection)
    assert all((path.held_out.folds_by_repetition == selection.folds_by_repetition).all() for path in paths)
    effect = measure_effect(rated, changed, *paths, refit_results(changed, paths[1]).rubric())
    texts = labels_of(rated), rated.table.groups
    sides = [agreement(path.held_out.ranking_scores, *texts, level=effect.level).pearson for path in paths]
    assert effect.before.value == pytest.approx(sides[0].value, abs=1e-6)
    assert effect.after.value == pytest.approx(sides[1].value, abs=1e-6)
    assert effect.difference.value == pytest.approx(sides[1].value - sides[0].value, abs=1e-5)
    # The same texts are hard for both rubrics, so a paired interval is narrower than that of two separate samples.
    separate = np.hypot(effect.before.high - effect.before.low, effect.after.high - effect.after.low)
    assert effect.difference.high - effect.difference.low < separate
    # Texts that the edit leaves unscored are left out of both figures.
    scored = np.arange(len(rated.examples)) >= 5
    lost = replace(paths[1].held_out, ranking_scores=np.where(scored, paths[1].held_out.ranking_scores, np.nan))
    effect = measure_effect(rated, changed, paths[0], replace(paths[1], held_out=lost), rated.rubric)
    left = agreement(lost.ranking_scores * 0 + paths[0].held_out.ranking_scores, *texts, level=effect.level)
    assert (effect.n, effect.groups) == (int(scored.sum()), len(set(np.array(rated.table.groups)[scored])))
    assert effect.before.value == pytest.approx(left.pearson.value, abs=1e-6)
    assert effect.difference.value == pytest.approx(effect.after.value - effect.before.value, abs=1e-5)


def test_limits_that_the_criteria_with_varying_ratings_cannot_meet_are_refused(
    rated: RatedRubric, selection: FoldSelection
) -> None:
    constant = np.full((len(rated.examples), 1), 3.0)
    others = tuple(criterion.id for criterion in rated.rubric.criteria if criterion.id not in ("links", "order"))
    limits = {"links": (0.3, 0.3), "order": (0.0, 0.4)}
    with pytest.raises(SettingsError, match=r"they sum to at most 0\.7"):
        notes(rated, selection, Edit(drop=others, add=("It is a text.",), bound=limits), constant)
    with pytest.raises(SettingsError, match=r"The weight of a01 cannot be limited: it .* Drop a01\."):
        notes(rated, selection, Edit(add=("It is a text.",), bound={"a01": (0.3, 0.3)}), constant)


def test_a_criterion_that_repeats_another_is_kept_and_named(rated: RatedRubric, selection: FoldSelection) -> None:
    order = next(place for place, each in enumerate(rated.candidates) if each.criterion.id == "order")
    values = np.array([[row[order].score] for row in rated.cells])
    added = Edit(add=("It is in order.",))
    assert "a01" in weights(edited(rated, added, values), selection)
    (repeated,) = [note for note in notes(rated, selection, added, values) if "counts twice" in note]
    assert repeated == "a01 says what order says (r = 1.00): the same thing counts twice"
    weightless = Edit(add=("It is in order.",), pin={"a01": 0})
    assert not any("counts twice" in note for note in notes(rated, selection, weightless, values))

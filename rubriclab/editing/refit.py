"""An edited rubric, refitted to the ratings that were kept, and its held-out agreement beside the parent's.

In each fold the criteria are those that the labels of the other folds select, as in learning, without the ones that a
person has removed and with the ones that a person has added or limited. Parent and edited rubric are compared on the
same folds by the same procedure. What a person changed is the same in every fold: if the person knew the labels, the
difference is optimistic.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from pydantic import JsonValue

from rubriclab.aggregation import Ask, Bounds, bounds_of, threshold_by_hand
from rubriclab.data.example import Example
from rubriclab.editing.edits import EditPlan, check_bounds
from rubriclab.errors import SettingsError
from rubriclab.learning.candidates import Candidates, all_criteria
from rubriclab.learning.fitting import (
    CandidatePool,
    HeldOut,
    divisions,
    fit_part,
    fold_masks,
    in_label_units,
    leaking_columns,
    mean_over_repetitions,
)
from rubriclab.learning.rating_matrix import RatingMatrix, in_order
from rubriclab.learning.selection import SelectedRubric, select_rubric
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.study import Study
from rubriclab.learning.weighting import REPEATED, design
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.names import JOINT
from rubriclab.provenance import Provenance
from rubriclab.rubric import DroppedCriterion, Part, Rubric
from rubriclab.scoring.score import assignment_of
from rubriclab.stats.correlation import IntArray
from rubriclab.training_record import Candidate, Cell

# No correlation is this high: a person decides which criteria to keep, redundant ones too.
KEEP_ALL = 2.0


@dataclass(frozen=True, eq=False)
class RatedRubric:
    """A rubric with the labelled texts rated by its criteria and by the others that were candidates.

    Attributes:
        rubric: with the parts and the aggregation before it is refitted, and the aspect to judge.
        examples: sorted by id, with labels on the scale that criteria are rated on.
        candidates: the columns of `cells`; those of the rubric are marked as kept.
        settings: of learning, by method.
        bounds: by id, the lowest and highest weight that a person allows.
        threshold: of verdicts, if a person has set it.
        reasons: why a person removed criteria, by id.
    """

    rubric: Rubric
    examples: tuple[Example, ...]
    candidates: tuple[Candidate, ...]
    cells: tuple[tuple[Cell, ...], ...]
    settings: Mapping[str, Mapping[str, JsonValue]]
    seed: int
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    threshold: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def ask(self) -> Ask:
        """How the rubric calls the judge."""
        return self.rubric.aggregation.ask if self.rubric.aggregation else "by method"

    @cached_property
    def fit_settings(self) -> JointSettings:
        """The settings of learning, for a rubric whose criteria and calls are given."""
        return JointSettings.model_validate({**self.settings.get(JOINT, {}), "ask": self.ask})

    @cached_property
    def rated(self) -> Candidates:
        """The candidates in the form that learning uses."""
        return Candidates(
            examples=self.examples,
            candidates=self.candidates,
            cells=self.cells,
            parts=tuple(self._part(method) for method in dict.fromkeys(each.method for each in self.candidates)),
            together=self.cells if self.ask == "in one call" else (),
            bounds=self.bounds,
            rivals=self.rubric.aggregation.rivals if self.rubric.aggregation else None,
            form=self.rubric.aggregation.form if self.rubric.aggregation else None,
        )

    @cached_property
    def table(self) -> RatingMatrix:
        """The rating matrix of all candidates, with the limits of their weights."""
        return self.rated.table(assignment_of(self.rubric), self.ask)

    @property
    def kept(self) -> tuple[int, ...]:
        """The columns of the rubric's criteria."""
        return tuple(place for place, each in enumerate(self.candidates) if each.kept)

    def _part(self, method: str) -> Part:
        criteria = [each.criterion for each in self.candidates if each.method == method]
        for part in self.rubric.parts:
            if part.method == method:
                known = {criterion.id for criterion in all_criteria(part)}
                new = (criterion for criterion in criteria if criterion.id not in known)
                return part.model_copy(update={"criteria": (*part.criteria, *new)})
        return Part(method=method, settings=part_settings(method, self.settings), criteria=tuple(criteria))


def rated_rubric(
    rubric: Rubric,
    provenance: Provenance,
    examples: Sequence[Example],
    candidates: Sequence[Candidate],
    cells: Sequence[Sequence[Cell]],
) -> RatedRubric:
    """Return a version's rubric with its ratings of labelled texts, which come in any order."""
    order = sorted(range(len(examples)), key=lambda row: examples[row].id)
    return RatedRubric(
        rubric=rubric,
        examples=tuple(examples[row] for row in order),
        candidates=tuple(candidates),
        cells=tuple(tuple(cells[row]) for row in order),
        settings=provenance.settings,
        seed=provenance.seed,
        bounds=bounds_of(rubric.aggregation),
        threshold=threshold_by_hand(rubric.aggregation),
    )


def edited_rubric(parent: RatedRubric, plan: EditPlan, new_cells: Sequence[Sequence[Cell]], who: str) -> RatedRubric:
    """Return the edited rubric with its ratings, before it is refitted.

    Args:
        new_cells: the rating of each text by each new criterion of the plan.
        who: added to the reason why criteria were removed, as in `by anna: it counts length twice`.
    """
    of = {each.criterion.id: each for each in parent.candidates}
    old = (
        each.model_copy(update={"kept": False, "by_hand": "removed"}) if each.criterion.id in plan.removed else each
        for each in parent.candidates
    )
    new = (
        Candidate(
            method=new.method,
            criterion=new.criterion,
            kept=True,
            made_from=tuple(sorted({text for name in new.replaces for text in of[name].made_from})),
            by_hand="added",
        )
        for new in plan.new
    )
    return replace(
        parent,
        rubric=parent.rubric.model_copy(update={"aspect": plan.aspect}),
        candidates=(*old, *new),
        cells=tuple((*row, *cells) for row, cells in zip(parent.cells, new_cells, strict=True)),
        bounds=plan.bounds,
        threshold=plan.threshold,
        reasons={name: f"{reason} {who}" for name, reason in plan.removed.items()},
    )


@dataclass(frozen=True, eq=False)
class FoldSelection:
    """The criteria that labels select in each fold.

    Attributes:
        folds: each text's fold, from 0, in each repetition, shape (repetitions, texts).
        criteria: by repetition and fold, ids of the criteria selected by the labels of the other folds.
    """

    folds: IntArray
    criteria: tuple[tuple[frozenset[str], ...], ...]


def select_in_folds(rated: RatedRubric) -> FoldSelection:
    """Return what labels select in each fold among the candidates that no person has added.

    Criteria that a person has removed may be among them. This takes about a second for 50 candidates of 36 texts.
    """
    free = replace(rated.table, limits=None)
    learned = [place for place, each in enumerate(rated.candidates) if each.by_hand != "added"]
    if not learned:
        return FoldSelection(divisions(free.groups, rated.fit_settings, rated.seed), ())
    held_out = select_rubric(free.columns(learned), rated.fit_settings, rated.ask, seed=rated.seed).held_out
    ids = [rated.candidates[place].criterion.id for place in learned]
    criteria = (tuple(frozenset(ids[column] for column in fit.columns) for fit in fits) for fits in held_out.fits)
    return FoldSelection(held_out.folds, tuple(criteria))


def refitted(rated: RatedRubric, selected: FoldSelection) -> SelectedRubric:
    """Return the rubric fitted to all labels, and the rubrics of all folds with their held-out scores.

    Args:
        selected: of this rubric, or of the one that it was edited from, on the same texts.
    """
    table, settings = rated.table, rated.fit_settings
    order = in_order(table)
    matrix = design(table.rows(order), KEEP_ALL)
    every = np.ones(len(order), dtype=bool)
    total = matrix.moments(every)
    scores, raws, fits = [], [], []
    none = [(frozenset[str](),) * len(fold_masks(fold)) for fold in selected.folds]
    for fold, criteria in zip(selected.folds, selected.criteria or none, strict=True):
        fold_in_order = fold[order]
        score, raw, fold_fits = np.full(len(order), np.nan), np.full(len(order), np.nan), []
        for number, chosen in enumerate(criteria):
            inside = fold_in_order == number
            pool = CandidatePool(_fold_columns(rated, chosen), reasons=True)
            moments, leaking = total - matrix.moments(inside), leaking_columns(matrix.table, inside)
            fit = fit_part(matrix, ~inside, moments, pool, settings, excluded=leaking)
            values = matrix.table.values[inside]
            score[inside], raw[inside] = fit.scores(values, table.scale), in_label_units(fit.raw(values), fit)
            fold_fits.append(fit)
        scores.append(score)
        raws.append(raw)
        fits.append(tuple(fold_fits))
    raw, back = mean_over_repetitions(raws), np.argsort(order)
    pool = CandidatePool(rated.kept, reasons=True)
    fit = fit_part(matrix, every, total, pool, settings)
    held_out = HeldOut(mean_over_repetitions(scores)[back], raw[back], selected.folds, tuple(fits))
    return SelectedRubric(fit, held_out)


def _fold_columns(rated: RatedRubric, selected: frozenset[str]) -> tuple[int, ...]:
    """Return the columns of a fold's rubric: those selected there, less those removed, and those added or limited."""

    def belongs(each: Candidate) -> bool:
        by_hand = each.kept and (each.by_hand == "added" or each.criterion.id in rated.bounds)
        return by_hand or (each.criterion.id in selected and each.by_hand != "removed")

    return tuple(place for place, each in enumerate(rated.candidates) if belongs(each)) or rated.kept


def study_of(rated: RatedRubric, refit: SelectedRubric) -> Study:
    """Return everything that learning computes from the ratings, for a rubric that was refitted."""
    reasons = {**{each.criterion.id: each.reason for each in rated.rubric.dropped}, **rated.reasons}
    assignment, given = assignment_of(rated.rubric), (refit, reasons, rated.threshold)
    return Study(rated.rated, assignment, rated.fit_settings, rated.seed, *given)


def check_kept(rated: RatedRubric, refit: SelectedRubric) -> dict[str, str]:
    """Return the criteria that cannot be weighed, by id, with the reason.

    Raises:
        SettingsError: if one of them has a limited weight, none can be weighed, or the others' limits cannot be met.
    """
    ids = [each.criterion.id for each in rated.candidates]
    dropped = {ids[place]: why.words(ids) for place, why in refit.fit.dropped.items() if place in rated.kept}
    for name in rated.bounds:
        if name in dropped:
            raise SettingsError(f"The weight of {name} cannot be limited: it {dropped[name]}.", f"Drop {name}.")
    if not refit.fit.columns:
        raise SettingsError("No criterion that is left distinguishes any two of the labelled texts.", "Keep others.")
    check_bounds(rated.bounds, len(refit.fit.columns))
    return dropped


def unmeasured(rated: RatedRubric, refit: SelectedRubric, ids: Collection[str]) -> tuple[str, ...]:
    """Return those of some criteria that no fold's rubric has, so that held-out scores do not depend on them."""
    places = {place for fits in refit.held_out.fits for fit in fits for place in fit.columns}
    used = {rated.candidates[place].criterion.id for place in places}
    return tuple(name for name in ids if name not in used)


def repeating(rated: RatedRubric, refit: SelectedRubric) -> tuple[tuple[str, str, float], ...]:
    """Return the pairs of the rubric's criteria that learning would call redundant, with their correlations."""
    alike, ids = design(rated.table).alike, [each.criterion.id for each in rated.candidates]
    pairs = ((one, two, float(alike[one, two])) for two in refit.fit.columns for one in refit.fit.columns if one < two)
    return tuple((ids[two], ids[one], r) for one, two, r in pairs if r >= REPEATED)


def part_settings(method: str, recorded: Mapping[str, Mapping[str, JsonValue]]) -> Mapping[str, JsonValue]:
    """Return the settings of a method as a version records them, or else those of joint learning."""
    values = recorded.get(method) or METHODS[method].joint_settings
    settings: Mapping[str, JsonValue] = METHODS[method].settings.model_validate(dict(values)).model_dump(mode="json")
    return settings


def edited_parts(
    rubric: Rubric, plan: EditPlan, recorded: Mapping[str, Mapping[str, JsonValue]], who: str
) -> tuple[Part, ...]:
    """Return the rubric's parts without the removed criteria and with the new ones.

    Args:
        recorded: settings of the methods, for parts that the rubric does not have.
        who: added to the reason why criteria were removed.
    """
    new = {
        method: [each.criterion for each in plan.new if each.method == method]
        for method in dict.fromkeys(each.method for each in plan.new)
    }
    parts = []
    for part in rubric.parts:
        kept = [criterion for criterion in part.criteria if criterion.id not in plan.removed]
        dropped = (
            DroppedCriterion(criterion=criterion, reason=f"{plan.removed[criterion.id]} {who}")
            for criterion in part.criteria
            if criterion.id in plan.removed
        )
        criteria = (*kept, *new.pop(part.method, ()))
        if criteria:
            parts.append(part.model_copy(update={"criteria": criteria, "dropped": (*part.dropped, *dropped)}))
    parts += [
        Part(method=method, settings=part_settings(method, recorded), criteria=tuple(criteria))
        for method, criteria in new.items()
    ]
    return tuple(parts)


def only(parts: Collection[Part], ids: Collection[str]) -> tuple[Part, ...]:
    """Return the parts with the criteria of these ids only, without parts that have none."""
    reduced = (
        part.model_copy(update={"criteria": tuple(each for each in part.criteria if each.id in ids)}) for part in parts
    )
    return tuple(part for part in reduced if part.criteria)

"""The criteria that several methods found on the same labelled texts, with every text rated by each of them.

Every method learns as it does alone, one after the other. What it would drop in the end takes part here too: choosing
is left to whoever sees all criteria at once, and can do it anew without the labels of a text.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import BaseModel

from rubriclab.aggregation import Ask
from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.errors import DataError, SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.learning.ids import every_criterion, renamed, unique_names
from rubriclab.learning.rating_matrix import RatingMatrix, candidate_table
from rubriclab.learning.selection_path import ONE_CALL
from rubriclab.learning.settings import Asking
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.method import CriterionRating, Learned, Method, Progress, TrainingInput, silent
from rubriclab.methods.single_call import at_most as jointly_at_most
from rubriclab.methods.single_call import can_join, joins
from rubriclab.rubric import Criterion, DroppedCriterion, Part
from rubriclab.text_features.prior import prior_directions
from rubriclab.training_record import Candidate, Cell

NOT_JUDGED = "the method did not have this text judged, as it is shown to the judge beside others"


@dataclass(frozen=True, slots=True)
class Plan:
    """A method to run, on what and how."""

    method: Method
    training_input: TrainingInput
    settings: BaseModel


@dataclass(frozen=True, eq=False)
class Candidates:
    """Labelled texts by criteria, and the parts that the criteria are from.

    Attributes:
        examples: the labelled texts, by id: the rows of `cells`.
        candidates: the criteria that all texts were rated by, part by part: the columns of `cells`. None counts as
            kept yet; their ids are unique over all parts.
        cells: what was found of each text by each candidate, asked by method; of questions that were not asked so, what
            was found in one call.
        together: the same, with those candidates that can be asked about in one call rated so; empty where none were.
        parts: as each method would keep them, with these ids.
        notes: what the user should be told, with the method's name before it.
    """

    examples: tuple[Example, ...]
    candidates: tuple[Candidate, ...]
    cells: tuple[tuple[Cell, ...], ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    together: tuple[tuple[Cell, ...], ...] = ()

    @functools.cached_property
    def ids(self) -> tuple[str, ...]:
        """The candidates' ids, in the order of the columns."""
        return tuple(candidate.criterion.id for candidate in self.candidates)

    def marked(self, kept: Collection[str]) -> tuple[Candidate, ...]:
        """Return the candidates with those named marked as kept."""
        return tuple(each.model_copy(update={"kept": each.criterion.id in kept}) for each in self.candidates)

    @property
    def joined(self) -> tuple[int, ...]:
        """The candidates that can be asked about in one call."""
        names = {part.method for part in self.parts if can_join(part)}
        return tuple(place for place, each in enumerate(self.candidates) if each.method in names)

    def every_way(self, assignment: Assignment) -> RatingMatrix:
        """Return the table of all ratings: asked by method, and beside them those given in one call."""
        own = self.table(assignment, "by method")
        return own.beside(self.table(assignment, "in one call").columns(self.joined)) if self.together else own

    def rated(self, ask: Ask) -> tuple[tuple[Cell, ...], ...]:
        """Return what was found of each text by each candidate when asked so."""
        return self.together if ask == "in one call" and self.together else self.cells

    def table(self, assignment: Assignment, ask: Ask) -> RatingMatrix:
        """Return the candidates' scores as numbers, with what choosing and weighing need to know of them."""
        aspect = assignment.aspect
        usual = prior_directions(aspect.name, aspect.definition, assignment.words.task)
        rows = [[np.nan if cell.score is None else cell.score for cell in row] for row in self.rated(ask)]
        return candidate_table(
            self.candidates,
            np.array(rows, dtype=float).reshape(len(self.examples), len(self.candidates)),
            np.array([example.scores[aspect.name] for example in self.examples], dtype=float),
            texts=[(example.id, example.group) for example in self.examples],
            bundles=self.bundles(ask),
            scale=assignment.scale,
            usual=usual,
        )

    def bundles(self, ask: Ask) -> tuple[str, ...]:
        """Return what each candidate shares its call with, by the settings its method learned with."""
        parts = {part.method: part for part in self.parts}
        joined = {name for name, part in parts.items() if ask == "in one call" and can_join(part)}
        return tuple(
            ONE_CALL if each.method in joined else _bundle(each.criterion, parts[each.method])
            for each in self.candidates
        )

    def calls(self, assignment: Assignment, ask: Ask) -> dict[str, float]:
        """Return by bundle the most calls that a text takes, on average over the labelled texts, if all its candidates
        are asked about; what costs nothing is not among them."""
        bundles = self.bundles(ask)
        by_bundle = {}
        for bundle in dict.fromkeys(filter(None, bundles)):
            names = {name for name, other in zip(self.ids, bundles, strict=True) if other == bundle}
            parts = self.parts_with(names)
            most = (_most(example, parts, assignment, bundle) for example in self.examples)
            by_bundle[bundle] = sum(each.calls for each in most) / len(self.examples)
        return by_bundle

    def calls_every_way(self, assignment: Assignment) -> dict[str, float]:
        """Return `calls` of the candidates asked by method, and of those that can be asked about in one call."""
        own = self.calls(assignment, "by method")
        return {**self.calls(assignment, "in one call"), **own} if self.together else own

    def parts_with(self, kept: Collection[str], reasons: Mapping[str, str] | None = None) -> tuple[Part, ...]:
        """Return the parts that have any of the candidates named, with these as their criteria and all others dropped.

        Args:
            reasons: why those that are not kept are not, by id; for others the method's own reason stands.
        """
        parts = []
        for part in self.parts:
            criteria = (each.criterion for each in self.candidates if each.method == part.method)
            chosen = tuple(criterion for criterion in criteria if criterion.id in kept)
            if chosen:
                dropped = _dropped(part, kept, reasons or {})
                parts.append(part.model_copy(update={"criteria": chosen, "dropped": dropped}))
        return tuple(parts)


async def find_candidates(
    plans: Sequence[Plan],
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    ask: Asking = "by method",
    on_progress: Progress = silent,
) -> Candidates:
    """Return what the methods find, run one after the other in the order of the plans.

    Unless asked `by method`, the questions of a checklist are put to texts by `asked_in_one_call` alone, if the
    criteria of another method can join them: texts have no part in writing them, and of all methods' rubrics the
    checklist alone agreed least with people.

    The same plans with the same replies give the same result, in whatever order the examples come. A criterion whose
    id another one has already is called METHOD.ID; scores of the whole aspect go by their method's name.

    Raises:
        DataError: if there are no labelled texts.
        SettingsError: if a method would have its criteria judged by one score together.
        JudgeError: if a method could learn nothing.
        ValueError: if plans share a method, or are about different texts.
    """
    _check(plans)
    examples, plans = plans[0].training_input.examples, _asked(plans, ask)
    results = []
    for plan, (start, size) in zip(plans, _shares(plans), strict=True):

        def tell(doing: str, share: float, plan: Plan = plan, start: float = start, size: float = size) -> None:
            on_progress(f"{plan.method.name}: {doing}", start + size * share)

        learned = await plan.method.learn(
            plan.training_input, plan.settings, judge=judge, generator=generator, seed=seed, on_progress=tell
        )
        results.append(learned)
    return _side_by_side(examples, results)


def joining(plans: Sequence[Plan]) -> list[str]:
    """Return the methods whose criteria can be asked beside those of others."""
    return [plan.method.name for plan in plans if joins(plan.method.name, plan.settings.model_dump())]


def _asked(plans: Sequence[Plan], ask: Asking) -> list[Plan]:
    """Return the plans, without texts where these are for `asked_in_one_call` alone."""
    together = joining(plans) if ask != "by method" else []
    later = {name for name in together if name == "checkeval" and len(together) > 1}
    return [
        replace(plan, training_input=replace(plan.training_input, examples=()))
        if plan.method.name in later and not getattr(plan.settings, "needs_labels", None)
        else plan
        for plan in plans
    ]


def learning_at_most(plans: Sequence[Plan], ask: Asking = "by method") -> tuple[CallEstimate, CallEstimate]:
    """Return the most that `find_candidates` asks of the judge, and of the generator."""
    judge, generator = CallEstimate(), CallEstimate()
    for plan in _asked(plans, ask):
        judged, generated = plan.method.learning_at_most(plan.training_input, plan.settings)
        judge, generator = judge + judged, generator + generated
    return judge, generator


def _check(plans: Sequence[Plan]) -> None:
    names = [plan.method.name for plan in plans]
    texts = [{example.id for example in plan.training_input.examples} for plan in plans]
    if not plans or len(set(names)) < len(names) or any(each != texts[0] for each in texts):
        raise ValueError(f"expected plans of different methods about the same texts, got {names}")
    if not texts[0]:
        raise DataError("Criteria of several methods are chosen and weighed by labelled texts, and there are none.")
    for plan in plans:
        if getattr(plan.settings, "ask", None) == "concatenated":
            raise SettingsError(
                f"{plan.method.name}.ask is 'concatenated': one score by all criteria leaves nothing to weigh.",
                f"Set {plan.method.name}.ask to 'together' or 'separately'.",
            )


def _shares(plans: Sequence[Plan]) -> list[tuple[float, float]]:
    """Return for each plan the share of the whole that is done before it, and its own, by the calls they may take."""
    most = [
        sum(each.calls for each in plan.method.learning_at_most(plan.training_input, plan.settings)) for plan in plans
    ]
    sizes = [(calls + 1) / (sum(most) + len(plans)) for calls in most]
    return [(sum(sizes[:place]), size) for place, size in enumerate(sizes)]


def _side_by_side(examples: Sequence[Example], results: Sequence[Learned]) -> Candidates:
    texts = tuple(sorted(examples, key=lambda example: example.id))
    names = unique_names([learned.part for learned in results])
    parts = [renamed(learned.part, given) for learned, given in zip(results, names, strict=True)]
    candidates: list[Candidate] = []
    columns: list[list[Cell]] = []
    for learned, part, given in zip(results, parts, names, strict=True):
        for place, criterion in _offered(learned, part, given):
            made_from = tuple(sorted(criterion.evidence.examples))
            candidates.append(Candidate(method=part.method, criterion=criterion, kept=False, made_from=made_from))
            columns.append(_cells(learned, place, texts))
    return Candidates(
        examples=texts,
        candidates=tuple(candidates),
        cells=tuple(zip(*columns, strict=True)),
        parts=tuple(parts),
        notes=tuple(f"{each.part.method}: {note}" for each in results for note in each.notes),
    )


def _offered(learned: Learned, part: Part, names: Mapping[str, str]) -> Iterator[tuple[int, Criterion]]:
    """Yield the columns of a method's ratings, each with its criterion under its new name.

    All explanations are offered, not only the one that all labels chose: offered alone, that one would know labels of
    every fold.
    """
    known = {criterion.id: criterion for criterion in every_criterion(part)}
    for place, name in enumerate(learned.candidates):
        yield place, known[names[name]]


def _cells(learned: Learned, place: int, texts: Sequence[Example]) -> list[Cell]:
    rows = dict(zip(learned.examples, learned.ratings, strict=True))
    missing = Cell(score=None, reason=NOT_JUDGED, applies=False)
    return [cell_of(rows[text.id][place]) if text.id in rows else missing for text in texts]


def cell_of(rated: CriterionRating) -> Cell:
    """Return what a record says of a rating; equal reasons are kept in memory once."""
    return Cell(score=rated.score, reason=sys.intern(rated.reason), applies=rated.applies)


def _bundle(criterion: Criterion, part: Part) -> str:
    """Return what a criterion shares its call with, where each method asks for itself; empty if it costs none."""
    if criterion.kind == "measure":
        return ""
    match part.settings.get("ask"):
        case "together":
            return part.method
        case "by sub-dimension":
            return f"{part.method}: {criterion.trait}"
        case _:
            return f"{part.method}: {criterion.id}"


def _most(example: Example, parts: Sequence[Part], assignment: Assignment, bundle: str) -> CallEstimate:
    if bundle == ONE_CALL:
        return jointly_at_most(example, parts, assignment)
    return METHODS[parts[0].method].scoring_at_most(example, parts[0], assignment)


def _dropped(part: Part, kept: Collection[str], reasons: Mapping[str, str]) -> tuple[DroppedCriterion, ...]:
    """Return what a part is without: what the method kept first, then what it did not."""
    why = {each.criterion.id: each.reason for each in part.dropped}
    left = (criterion for criterion in every_criterion(part) if criterion.id not in kept)
    return tuple(
        DroppedCriterion(criterion=each, reason=reasons.get(each.id) or why.get(each.id, "not chosen")) for each in left
    )

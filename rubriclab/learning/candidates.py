"""Candidate criteria of several methods on the same labelled texts, with the rating of every text by each of them.

Methods learn one after the other, as each would alone. Criteria that a method would drop are candidates too: they are
selected from all methods together, which can be repeated without the labels of a fold.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from pydantic import BaseModel

from rubriclab.errors import DataError, SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.learning.estimate import calls_per_text
from rubriclab.learning.rating_matrix import RatingMatrix, candidate_table
from rubriclab.methods.method import CriterionRating, Learned, LearningCalls, Method, Progress, TrainingInput, silent
from rubriclab.methods.single_call import can_join, joins, rival_calls
from rubriclab.models.aggregation import (
    Ask,
    Bounds,
    CallForm,
    RivalLimits,
)
from rubriclab.models.rubric import Criterion, DroppedCriterion, Part
from rubriclab.models.text import Assignment, Example
from rubriclab.models.text_features import prior_directions
from rubriclab.models.version import Candidate, Cell
from rubriclab.stats.correlation import float_table

NOT_JUDGED = "the method did not have this text judged, as it is shown to the judge beside others"

UNJUDGED = Cell(score=None, reason=NOT_JUDGED, applies=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """A method to run, with its training input and settings."""

    method: Method
    training_input: TrainingInput
    settings: BaseModel


@dataclass(frozen=True, eq=False)
class Candidates:
    """Labelled texts by criteria, and the parts that the criteria are from.

    Attributes:
        examples: the labelled texts, sorted by id: the rows of `cells`.
        candidates: the criteria, part by part: the columns of `cells`. None is marked as kept; ids are unique over all
            parts.
        cells: the rating of each text by each candidate, in calls by method; for questions without such ratings, the
            ratings from the single call.
        together: the same, with ratings from the single call for candidates that can join it; empty without such a
            call.
        rivals: the size of the calls if each was about several texts of a group.
        form: that of calls about one text, if the judge could not answer about many criteria at once.
        parts: as learned by each method, with these ids.
        notes: to the user, each preceded by the method's name.
        bounds: by id, the lowest and highest weight that a person allows.
    """

    examples: tuple[Example, ...]
    candidates: tuple[Candidate, ...]
    cells: tuple[tuple[Cell, ...], ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    together: tuple[tuple[Cell, ...], ...] = ()
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    rivals: RivalLimits | None = None
    form: CallForm | None = None

    @functools.cached_property
    def ids(self) -> tuple[str, ...]:
        """The candidates' ids, in the order of the columns."""
        return tuple(candidate.criterion.id for candidate in self.candidates)

    def marked(self, kept: Collection[str]) -> tuple[Candidate, ...]:
        """Return the candidates, with those of these ids marked as kept."""
        return tuple(
            candidate.model_copy(update={"kept": candidate.criterion.id in kept}) for candidate in self.candidates
        )

    @property
    def joined(self) -> tuple[int, ...]:
        """The numbers of the candidates that can join the single call."""
        names = {part.method for part in self.parts if can_join(part)}
        return tuple(place for place, candidate in enumerate(self.candidates) if candidate.method in names)

    def rated(self, ask: Ask) -> tuple[tuple[Cell, ...], ...]:
        """Return the ratings of each text by each candidate for this way of asking."""
        return self.together if ask == "in one call" and self.together else self.cells

    def table(self, assignment: Assignment, ask: Ask) -> RatingMatrix:
        """Return the rating matrix of the candidates for this way of asking."""
        aspect = assignment.aspect
        directions = prior_directions(aspect.name, aspect.definition, assignment.words.task)
        return candidate_table(
            self.candidates,
            float_table(([cell.score for cell in row] for row in self.rated(ask)), len(self.candidates)),
            np.array([example.scores[aspect.name] for example in self.examples], dtype=float),
            texts=[(example.id, example.group) for example in self.examples],
            scale=assignment.scale,
            prior_direction=directions,
            bounds=self.bounds,
        )

    def calls(self, kept: Collection[str], assignment: Assignment, ask: Ask) -> float:
        """Return the number of calls per text that rating by the candidates with these ids takes."""
        parts = self.parts_with(kept)
        if self.rivals and ask == "in one call":
            return len(rival_calls(self.examples, parts, assignment, self.rivals)) / len(self.examples)
        return calls_per_text(parts, ask, assignment, self.examples, self.form)

    def parts_with(self, kept: Collection[str], reasons: Mapping[str, str] | None = None) -> tuple[Part, ...]:
        """Return the parts with any criterion in `kept`, with these as their criteria and all others dropped.

        Args:
            reasons: why criteria are dropped, by id; the method's own reason for those not named.
        """
        parts = []
        for part in self.parts:
            criteria = (candidate.criterion for candidate in self.candidates if candidate.method == part.method)
            chosen = tuple(criterion for criterion in criteria if criterion.id in kept)
            if chosen:
                dropped = self._dropped(part, kept, reasons or {})
                parts.append(part.model_copy(update={"criteria": chosen, "dropped": dropped}))
        return tuple(parts)

    def dropped_parts(self, kept: Collection[str], reasons: Mapping[str, str]) -> tuple[DroppedCriterion, ...]:
        """Return the criteria of the parts with none in `kept`, with the reasons; arguments as for `parts_with`."""
        whole = {part.method for part in self.parts_with(kept)}
        left = (part for part in self.parts if part.method not in whole)
        return tuple(each for part in left for each in self._dropped(part, kept, reasons))

    def _dropped(self, part: Part, kept: Collection[str], reasons: Mapping[str, str]) -> tuple[DroppedCriterion, ...]:
        """Return the dropped criteria of a part with their evidence: first those that the method kept, then others."""
        why = {item.criterion.id: item.reason for item in part.dropped}
        rated = {candidate.criterion.id: candidate.criterion for candidate in self.candidates}
        left = (item for item in all_criteria(part) if item.id not in kept)
        return tuple(
            DroppedCriterion(
                criterion=rated.get(item.id, item),
                reason=reasons.get(item.id) or why.get(item.id, "not chosen"),
            )
            for item in left
        )


@dataclass(frozen=True, eq=False)
class EarlierRubric:
    """The criteria of an earlier rubric, already rated on the labelled texts; none was proposed from their labels.

    Attributes:
        parts: the rubric's parts.
        cells: by text, the rating of each criterion by its id.
    """

    parts: tuple[Part, ...]
    cells: Mapping[str, Mapping[str, Cell]]


def with_more(candidates: Candidates, more: Part) -> Candidates:
    """Return the candidates with the criteria of a part after them, which no text was judged by."""
    (part,) = (each for each in candidates.parts if each.method == more.method)
    more = renamed(more, unique_names([*candidates.parts, more])[-1])
    columns = tuple(
        Candidate(method=more.method, criterion=each, kept=False, made_from=tuple(sorted(each.evidence.examples)))
        for each in more.criteria
    )
    extended = part.model_copy(
        update={"criteria": (*part.criteria, *more.criteria), "dropped": (*part.dropped, *more.dropped)}
    )
    return replace(
        candidates,
        candidates=(*candidates.candidates, *columns),
        cells=tuple((*row, *[UNJUDGED] * len(columns)) for row in candidates.cells),
        parts=tuple(extended if each is part else each for each in candidates.parts),
    )


def with_earlier(candidates: Candidates, earlier: EarlierRubric) -> Candidates:
    """Return the candidates with the criteria of an earlier rubric after them, except those that were proposed again.

    A criterion joins the part of its method, under the id `earlier.ID` if its own is taken. Its ratings stand for those
    in calls by method, however the earlier rubric had asked.
    """
    parts = {part.method: part for part in candidates.parts}
    columns, cells, taken = list(candidates.candidates), [list(row) for row in candidates.cells], set(candidates.ids)
    for old in earlier.parts:
        part = parts.get(old.method, old.model_copy(update={"criteria": (), "dropped": ()}))
        known = {(each.kind, each.trait, each.statement) for each in all_criteria(part)}
        for criterion in old.criteria:
            # One score of the whole aspect by a method is enough.
            if (criterion.kind, criterion.trait, criterion.statement) in known or (
                criterion.kind == "score" and part.criteria
            ):
                continue
            name = f"earlier.{criterion.id}" if criterion.id in taken else criterion.id
            taken.add(name)
            added = criterion.model_copy(update={"id": name})
            columns.append(Candidate(method=old.method, criterion=added, kept=False))
            for row, example in zip(cells, candidates.examples, strict=True):
                row.append(earlier.cells[example.id][criterion.id])
            part = part.model_copy(update={"criteria": (*part.criteria, added)})
        if part.criteria:
            dimensions = {**(old.dimensions or {}), **(part.dimensions or {})}
            parts[old.method] = part.model_copy(update={"dimensions": dimensions or None})
    return replace(candidates, candidates=tuple(columns), cells=tuple(map(tuple, cells)), parts=tuple(parts.values()))


async def find_candidates(
    plans: Sequence[Plan],
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    rated_later: bool = False,
    on_progress: Progress = silent,
) -> Candidates:
    """Return the candidates of the methods, run one after the other in the order of the plans.

    With `rated_later`, methods that can do without ratings only propose criteria, which `rated_in_one_call` has rated.

    The same plans and replies give the same result, in any order of the examples. Duplicate ids become METHOD.ID; the
    id of a holistic score is its method's name.

    Raises:
        DataError: if there are no labelled texts.
        SettingsError: if a method would have its criteria judged by one score together.
        JudgeError: if a method could learn nothing.
        ValueError: if plans share a method, or are about different texts.
    """
    _check(plans)
    examples, plans = plans[0].training_input.examples, as_asked(plans, rated_later=rated_later)
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
    """Return the methods with criteria that can join a single call."""
    return [plan.method.name for plan in plans if joins(plan.method.name, plan.settings.model_dump())]


def as_asked(plans: Sequence[Plan], *, rated_later: bool) -> list[Plan]:
    """Return the plans, where texts are rated later without texts to rate for the methods that can do without."""
    return [
        replace(plan, training_input=replace(plan.training_input, examples=(), unrated=plan.training_input.examples))
        if rated_later and plan.method.rated_later(plan.settings)
        else plan
        for plan in plans
    ]


def learning_calls(plans: Sequence[Plan], *, rated_later: bool = False) -> LearningCalls:
    """Return about how many calls `find_candidates` takes."""
    asked = as_asked(plans, rated_later=rated_later)
    calls = [plan.method.learning_calls(plan.training_input, plan.settings) for plan in asked]
    return LearningCalls(
        sum(each.judge for each in calls),
        sum(each.generator for each in calls),
        max((each.shown for each in calls), default=0),
        sum(each.unrated for each in calls),
    )


def _check(plans: Sequence[Plan]) -> None:
    names = [plan.method.name for plan in plans]
    texts = [{example.id for example in plan.training_input.examples} for plan in plans]
    if not plans or len(set(names)) < len(names) or any(ids != texts[0] for ids in texts):
        raise ValueError(f"expected plans of different methods about the same texts, got {names}")
    if not texts[0]:
        raise DataError("Criteria of several methods are selected and weighted by labelled texts; got none.")
    for plan in plans:
        if getattr(plan.settings, "ask", None) == "concatenated":
            raise SettingsError(
                f"{plan.method.name}.ask is 'concatenated': one score by all criteria leaves nothing to weigh.",
                f"Set {plan.method.name}.ask to 'together' or 'separately'.",
            )


def _shares(plans: Sequence[Plan]) -> list[tuple[float, float]]:
    """Return for each plan the shares of all work before it and in it, by its number of calls."""
    stated = [plan.method.learning_calls(plan.training_input, plan.settings) for plan in plans]
    calls = [each.judge + each.generator for each in stated]
    sizes = [(each + 1) / (sum(calls) + len(plans)) for each in calls]
    return [(sum(sizes[:place]), size) for place, size in enumerate(sizes)]


def _side_by_side(examples: Sequence[Example], results: Sequence[Learned]) -> Candidates:
    texts = tuple(sorted(examples, key=lambda example: example.id))
    names = unique_names([learned.part for learned in results])
    parts = [renamed(learned.part, new_ids) for learned, new_ids in zip(results, names, strict=True)]
    candidates: list[Candidate] = []
    columns: list[list[Cell]] = []
    for learned, part, new_ids in zip(results, parts, names, strict=True):
        for place, criterion in _offered(learned, part, new_ids):
            made_from = tuple(sorted(criterion.evidence.examples))
            candidates.append(Candidate(method=part.method, criterion=criterion, kept=False, made_from=made_from))
            columns.append(_cells(learned, place, texts))
    return Candidates(
        examples=texts,
        candidates=tuple(candidates),
        cells=tuple(zip(*columns, strict=True)),
        parts=tuple(parts),
        notes=tuple(f"{learned.part.method}: {note}" for learned in results for note in learned.notes),
    )


def _offered(learned: Learned, part: Part, names: Mapping[str, str]) -> Iterator[tuple[int, Criterion]]:
    """Yield the columns of a method's ratings, each with its criterion under its new id.

    All explanations are candidates, not only the one selected by all labels, which would leak the labels of every fold.
    """
    by_id = {criterion.id: criterion for criterion in all_criteria(part)}
    for place, name in enumerate(learned.candidates):
        yield place, by_id[names[name]]


def _cells(learned: Learned, place: int, texts: Sequence[Example]) -> list[Cell]:
    rows = dict(zip(learned.examples, learned.ratings, strict=True))
    return [cell_of(rows[text.id][place]) if text.id in rows else UNJUDGED for text in texts]


def cell_of(rated: CriterionRating) -> Cell:
    """Return a rating as a cell of a record; equal reasons share memory."""
    return Cell(score=rated.score, reason=sys.intern(rated.reason), applies=rated.applies)


def all_criteria(part: Part) -> tuple[Criterion, ...]:
    """Return all criteria of a part: those kept, then those dropped."""
    return (*part.criteria, *(dropped.criterion for dropped in part.dropped))


def unique_names(parts: Sequence[Part]) -> list[dict[str, str]]:
    """Return for each part the unique name of each criterion, by its id.

    A text feature always keeps its id, its key in the catalogue.
    """
    used = {item.id for part in parts for item in all_criteria(part) if item.kind == "feature"}
    names_of_parts = []
    for part in parts:
        names = {}
        for criterion in all_criteria(part):
            names[criterion.id] = name = _free_name(part, criterion, used)
            used.add(name)
        names_of_parts.append(names)
    return names_of_parts


def _free_name(part: Part, criterion: Criterion, used: Collection[str]) -> str:
    if criterion.kind == "feature":
        return criterion.id
    name = part.method if criterion.kind == "score" and criterion is part.criteria[0] else criterion.id
    if name in used:
        name = f"{part.method}.{criterion.id}"
    while name in used:
        name += "'"
    return name


def renamed(part: Part, names: Mapping[str, str]) -> Part:
    """Return the part with its criteria renamed, in the reasons for dropped criteria too."""
    changed = {old: new for old, new in names.items() if old != new}
    if not changed:
        return part

    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, changed))})(?![\w-])")
    reasons = (
        pattern.sub(lambda match: changed[match.group()], dropped_criterion.reason)
        for dropped_criterion in part.dropped
    )
    dropped = (
        DroppedCriterion(criterion=_called(dropped_criterion.criterion, changed), reason=reason)
        for dropped_criterion, reason in zip(part.dropped, reasons, strict=True)
    )
    criteria = (_called(criterion, changed) for criterion in part.criteria)
    return part.model_copy(update={"criteria": tuple(criteria), "dropped": tuple(dropped)})


def _called(criterion: Criterion, names: Mapping[str, str]) -> Criterion:
    question = criterion.question
    if question and question.seed:
        question = question.model_copy(update={"seed": names.get(question.seed, question.seed)})
    return criterion.model_copy(update={"id": names.get(criterion.id, criterion.id), "question": question})

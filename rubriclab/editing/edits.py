"""What a person changes in a rubric: criteria to drop, reword, merge or add, limits of weights, the definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from rubriclab.aggregation import Bounds, bounds_of
from rubriclab.characters import is_blank
from rubriclab.data.aspect import Aspect
from rubriclab.editing.criteria import added, edited_id, merged, reworded
from rubriclab.errors import SettingsError
from rubriclab.option_names import did_you_mean, option
from rubriclab.provenance import EditAction, EditChange
from rubriclab.rubric import Criterion, Rubric


@dataclass(frozen=True)
class Edits:
    """The changes that a person asks for; criteria are named by id.

    Attributes:
        drop: criteria to remove.
        reword: the new wording of criteria.
        merge: sets of criteria with the wording of the one that replaces them.
        add: wordings of new criteria, which get the ids `a01`, `a02`, ... Each is a statement, or a yes/no question
            that ends with a question mark; `(better: no)` after it says that no is the better answer.
        bounds: lowest and highest share of the weights; equal ends pin a weight. `None` fits it freely again.
        definition: the aspect's definition.
    """

    drop: tuple[str, ...] = ()
    reword: Mapping[str, str] = field(default_factory=dict)
    merge: tuple[tuple[tuple[str, ...], str], ...] = ()
    add: tuple[str, ...] = ()
    bounds: Mapping[str, Bounds | None] = field(default_factory=dict)
    definition: str | None = None

    def __bool__(self) -> bool:
        return bool(self.drop or self.reword or self.merge or self.add or self.bounds or self.definition)


@dataclass(frozen=True)
class NewCriterion:
    """A criterion that a person wrote, the method that rates it, and the criteria that it replaces."""

    method: str
    criterion: Criterion
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True)
class EditPlan:
    """What the edits of a rubric mean.

    Attributes:
        removed: criteria that leave the rubric, by id, with the reason.
        new: criteria that join it.
        bounds: limits of the weights of all criteria of the edited rubric that have any.
        aspect: with the new definition.
        redefined: whether the definition changes, so that every criterion is rated anew.
    """

    removed: Mapping[str, str] = field(default_factory=dict)
    new: tuple[NewCriterion, ...] = ()
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    changes: tuple[EditChange, ...] = ()
    aspect: Aspect | None = None
    redefined: bool = False

    @property
    def dropped(self) -> tuple[str, ...]:
        """The ids of the criteria that are removed without a replacement."""
        replaced = {name for new in self.new for name in new.replaces}
        return tuple(name for name in self.removed if name not in replaced)

    @property
    def limited(self) -> tuple[str, ...]:
        """The ids of the criteria, except new ones, whose weight this edit limits."""
        new = {each.criterion.id for each in self.new}
        limits = (change for change in self.changes if change.action in ("pin", "bound"))
        return tuple(name for change in limits for name in change.criteria if name in self.bounds and name not in new)

    def kept(self, rubric: Rubric) -> tuple[str, ...]:
        """Return the ids of the edited rubric's criteria."""
        ids = (criterion.id for criterion in rubric.criteria if criterion.id not in self.removed)
        return (*ids, *(new.criterion.id for new in self.new))


def plan_edits(rubric: Rubric, ref: str, edits: Edits) -> EditPlan:
    """Return what edits of a rubric, whose version is `ref`, mean.

    Raises:
        SettingsError: if there are none, one names a criterion that the rubric does not have or names it twice, a
            criterion cannot be changed in this way, or the limits of the weights contradict each other.
    """
    if not edits:
        raise SettingsError(
            "No change was asked for.",
            f"Give at least one of {', '.join(map(option, ('drop', 'reword', 'merge', 'add', 'pin', 'bound')))} and "
            f"{option('definition')}.",
        )
    _check_named(rubric, ref, edits)
    plan = EditPlan(bounds=bounds_of(rubric.aggregation), aspect=rubric.aspect)
    for step in (_drop, _reword, _merge, _add, _define, _limit):
        plan = step(rubric, ref, edits, plan)
    kept = plan.kept(rubric)
    if not kept:
        raise SettingsError(f"No criterion of {ref} would be left.", "Keep or add at least one.")
    bounds = {name: plan.bounds[name] for name in kept if name in plan.bounds}
    check_bounds(bounds, len(kept))
    return replace(plan, bounds=bounds)


def unknown_criterion(name: str, ref: str, known: Iterable[str]) -> SettingsError:
    """Return the error about a criterion that a version does not have."""
    ids = list(known)
    return SettingsError(f"{ref} has no criterion {name!r}.", f"{did_you_mean(name, ids)}It has: {', '.join(ids)}.")


def _check_named(rubric: Rubric, ref: str, edits: Edits) -> None:
    ids, removed = [criterion.id for criterion in rubric.criteria], set[str]()
    for name in (*edits.drop, *edits.reword, *(name for names, _ in edits.merge for name in names)):
        if name not in ids:
            raise unknown_criterion(name, ref, ids)
        if name in removed:
            raise SettingsError(f"{name} is changed twice.", "Drop it, reword it or merge it.")
        removed.add(name)
    texts = (*edits.reword.values(), *(text for _, text in edits.merge), *edits.add, edits.definition)
    if any(text is not None and is_blank(text) for text in texts):
        raise SettingsError("Expected the wording of a criterion or a definition, got an empty text.")
    if any(len(names) < 2 for names, _ in edits.merge):
        raise SettingsError(f"{option('merge')} joins two criteria or more, got one.", f"See {option('reword')}.")


def _drop(_rubric: Rubric, _ref: str, edits: Edits, plan: EditPlan) -> EditPlan:
    changes = (EditChange(action="drop", criteria=(name,)) for name in edits.drop)
    removed = {**plan.removed, **dict.fromkeys(edits.drop, "dropped")}
    return replace(plan, removed=removed, changes=(*plan.changes, *changes))


def _reword(rubric: Rubric, _ref: str, edits: Edits, plan: EditPlan) -> EditPlan:
    by_id = _by_id(rubric)
    for name, text in edits.reword.items():
        method, criterion = by_id[name]
        new = reworded(criterion, method, text, edited_id(name, _taken(rubric, plan)))
        if (new.statement, new.question) == (criterion.statement, criterion.question):
            raise SettingsError(f"{name} has this wording already.", "Give another one, or leave it out.")
        plan = _replacing(plan, "reword", (name,), NewCriterion(method, new, (name,)), before=criterion.statement)
    return plan


def _merge(rubric: Rubric, _ref: str, edits: Edits, plan: EditPlan) -> EditPlan:
    by_id = _by_id(rubric)
    for names, text in edits.merge:
        methods = {by_id[name][0] for name in names}
        if len(methods) > 1:
            raise SettingsError(
                f"{' and '.join(names)} are criteria of different methods, {' and '.join(sorted(methods))}.",
                "Drop one and reword the other.",
            )
        new = merged([by_id[name][1] for name in names], text, rubric.scale, "+".join(names))
        before = "\n".join(by_id[name][1].statement for name in names)
        plan = _replacing(plan, "merge", names, NewCriterion(methods.pop(), new, names), before=before)
    return plan


def _replacing(
    plan: EditPlan, action: EditAction, names: tuple[str, ...], new: NewCriterion, *, before: str
) -> EditPlan:
    """Return the plan with criteria replaced by a new one; limits of a single one's weight are its limits too."""
    name, after = new.criterion.id, new.criterion.statement
    change = EditChange(action=action, criteria=names, result=name, before=before, after=after)
    past = "reworded" if action == "reword" else "merged"
    limits = {name: plan.bounds[names[0]]} if len(names) == 1 and names[0] in plan.bounds else {}
    return replace(
        plan,
        removed={**plan.removed, **dict.fromkeys(names, f"{past}: {name} replaces it")},
        new=(*plan.new, new),
        bounds={**plan.bounds, **limits},
        changes=(*plan.changes, change),
    )


def _add(rubric: Rubric, _ref: str, edits: Edits, plan: EditPlan) -> EditPlan:
    for text in edits.add:
        method, criterion = added(text, rubric, _taken(rubric, plan))
        change = EditChange(action="add", result=criterion.id, after=criterion.statement)
        plan = replace(plan, new=(*plan.new, NewCriterion(method, criterion)), changes=(*plan.changes, change))
    return plan


def _define(rubric: Rubric, _ref: str, edits: Edits, plan: EditPlan) -> EditPlan:
    if edits.definition is None:
        return plan
    if edits.definition == rubric.aspect.definition:
        raise SettingsError(f"{rubric.aspect.name} has this definition already.", f"Leave out {option('definition')}.")
    aspect = Aspect(name=rubric.aspect.name, definition=edits.definition)
    change = EditChange(action="definition", before=rubric.aspect.definition, after=aspect.definition)
    return replace(plan, aspect=aspect, redefined=True, changes=(*plan.changes, change))


def _limit(rubric: Rubric, ref: str, edits: Edits, plan: EditPlan) -> EditPlan:
    if not edits.bounds:
        return plan
    if rubric.aggregation is None:
        raise SettingsError(
            f"{ref} has no learned weights: its score is the mean of its criteria.",
            f"Learn it with several methods to set weights, or use {option('drop')}.",
        )
    kept = plan.kept(rubric)
    signed = {criterion.id for criterion in rubric.criteria if criterion.kind == "feature"}
    # A limit may be set by the id that a reworded criterion had.
    now = {new.replaces[0]: new.criterion.id for new in plan.new if len(new.replaces) == 1}
    for given, limits in edits.bounds.items():
        name = given if given in kept else now.get(given, given)
        if name in plan.removed:
            raise SettingsError(
                f"{name} is {plan.removed[name].partition(':')[0]} by this edit, so its weight cannot be limited.",
                "Limit the weight of a criterion that stays.",
            )
        if name not in kept:
            raise unknown_criterion(given, ref, kept)
        bounds = None if limits is None else _checked(name, limits, signed=name in signed)
        others = {other: value for other, value in plan.bounds.items() if other != name}
        action: EditAction = "pin" if bounds and bounds[0] == bounds[1] else "bound"
        written = "free" if bounds is None else f"{bounds[0]:g}" if action == "pin" else f"{bounds[0]:g}:{bounds[1]:g}"
        change = EditChange(action=action, criteria=(name,), after=written)
        plan = replace(plan, bounds={**others, name: bounds} if bounds else others, changes=(*plan.changes, change))
    return plan


def _checked(name: str, bounds: Bounds, *, signed: bool) -> Bounds:
    low, high = bounds
    lowest = -1.0 if signed else 0.0
    if not lowest <= low <= high <= 1:
        given = f"{low:g}:{high:g}" if low < high or low > high else f"{low:g}"
        kind = "a text feature's weight lies between -1 and 1" if signed else "a weight lies between 0 and 1"
        wrong = "the lowest is above the highest" if low > high else kind
        raise SettingsError(f"The weight of {name} cannot be {given}: {wrong}.", "Give shares of the whole, as in 0.3.")
    return bounds


def check_bounds(bounds: Mapping[str, Bounds], criteria: int) -> None:
    """Return if the sizes of so many weights can sum to 1 within their limits.

    Raises:
        SettingsError: if they cannot.
    """
    least = sum(min(abs(low), abs(high)) if low * high > 0 else 0.0 for low, high in bounds.values())
    most = sum(max(abs(low), abs(high)) for low, high in bounds.values()) + criteria - len(bounds)
    if least > 1 + 1e-9 or most < 1 - 1e-9:
        found = f"at least {least:g}" if least > 1 else f"at most {most:g}"
        raise SettingsError(
            f"The sizes of all weights sum to 1, but within these limits they sum to {found}: "
            f"{', '.join(f'{name} {low:g}:{high:g}' for name, (low, high) in bounds.items())}.",
            "Widen the limits of some.",
        )


def _by_id(rubric: Rubric) -> dict[str, tuple[str, Criterion]]:
    return {criterion.id: (part.method, criterion) for part in rubric.parts for criterion in part.criteria}


def _taken(rubric: Rubric, plan: EditPlan) -> set[str]:
    """Return all ids that a new criterion cannot have, those of dropped criteria included."""
    dropped = (entry.criterion.id for part in rubric.parts for entry in part.dropped)
    return {*_by_id(rubric), *dropped, *(new.criterion.id for new in plan.new)}

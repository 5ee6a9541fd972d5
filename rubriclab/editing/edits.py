"""What a person changes in a rubric: criteria, limits of weights, the threshold of verdicts, the definition."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from rubriclab.aggregation import Bounds, bounds_of, threshold_by_hand
from rubriclab.characters import is_blank
from rubriclab.data.aspect import Aspect
from rubriclab.data.scale import Scale
from rubriclab.errors import SettingsError
from rubriclab.methods.catalogue import METHODS
from rubriclab.option_names import did_you_mean, option
from rubriclab.provenance import EditAction, EditChange
from rubriclab.rubric import Criterion, CriterionKind, Evidence, Level, Question, Rubric

Settings = Mapping[str, Mapping[str, JsonValue]]
CHANGES = ("drop", "reword", "merge", "add", "pin", "bound", "threshold", "definition")
Threshold = float | Literal["learned"]


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
        threshold: the lowest score that passes; `learned` fits it to the labels again.
        definition: the aspect's definition.
    """

    drop: tuple[str, ...] = ()
    reword: Mapping[str, str] = field(default_factory=dict)
    merge: tuple[tuple[tuple[str, ...], str], ...] = ()
    add: tuple[str, ...] = ()
    bounds: Mapping[str, Bounds | None] = field(default_factory=dict)
    threshold: Threshold | None = None
    definition: str | None = None


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
        threshold: of verdicts, if a person has set it.
        aspect: with the new definition.
        redefined: whether the definition changes, so that every criterion is rated anew.
    """

    removed: Mapping[str, str] = field(default_factory=dict)
    new: tuple[NewCriterion, ...] = ()
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    changes: tuple[EditChange, ...] = ()
    threshold: float | None = None
    aspect: Aspect | None = None
    redefined: bool = False

    @property
    def added(self) -> tuple[str, ...]:
        """The ids of the new criteria."""
        return tuple(each.criterion.id for each in self.new)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The ids of the criteria that are removed without a replacement."""
        return tuple(name for name, reason in self.removed.items() if reason == "dropped")

    @property
    def limited(self) -> tuple[str, ...]:
        """The ids of the criteria, except new ones, whose weight this edit limits."""
        limits = (change for change in self.changes if change.action in ("pin", "bound"))
        return tuple(name for change in limits for name in change.criteria if name in {*self.bounds} - {*self.added})


def plan_edits(rubric: Rubric, ref: str, edits: Edits) -> EditPlan:
    """Return what edits of a rubric, whose version is `ref`, mean.

    Raises:
        SettingsError: if there are none, one names a criterion that the rubric does not have or names it twice, a
            criterion cannot be changed in this way, or the limits of the weights contradict each other.
    """
    if edits == Edits():
        raise SettingsError(
            "No change was asked for.",
            f"Give at least one of {', '.join(map(option, CHANGES[:-1]))} and {option(CHANGES[-1])}.",
        )
    _check_named(rubric, ref, edits)
    planner = _Planner(rubric, ref, edits.drop)
    for name, text in edits.reword.items():
        planner.reword(name, text)
    for names, text in edits.merge:
        planner.merge(names, text)
    for text in edits.add:
        method, criterion = added(text, rubric, planner.taken)
        planner.insert("add", NewCriterion(method, criterion))
    if edits.threshold is not None:
        planner.set_threshold(edits.threshold)
    if edits.definition is not None:
        planner.define(edits.definition)
    kept = (*(name for name in planner.criteria if name not in planner.removed), *planner.new)
    for given, limits in edits.bounds.items():
        planner.limit(given, limits, kept)
    if not kept:
        raise SettingsError(f"No criterion of {ref} would be left.", "Keep or add at least one.")
    bounds = {name: planner.bounds[name] for name in kept if name in planner.bounds}
    check_bounds(bounds, len(kept))
    new, changes = tuple(planner.new.values()), tuple(planner.changes)
    redefined = edits.definition is not None
    return EditPlan(planner.removed, new, bounds, changes, planner.threshold, planner.aspect, redefined)


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


class _Planner:
    """What the edits of a rubric mean, one after the other."""

    def __init__(self, rubric: Rubric, ref: str, drop: tuple[str, ...]) -> None:
        self.rubric, self.ref, self.aspect = rubric, ref, rubric.aspect
        self.criteria = {criterion.id: (part.method, criterion) for part in rubric.parts for criterion in part.criteria}
        self.removed = dict.fromkeys(drop, "dropped")
        self.new: dict[str, NewCriterion] = {}
        self.bounds = dict(bounds_of(rubric.aggregation))
        self.threshold = threshold_by_hand(rubric.aggregation)
        self.changes = [EditChange(action="drop", criteria=(name,)) for name in drop]

    @property
    def taken(self) -> set[str]:
        """The ids that a new criterion cannot have, those of dropped criteria included."""
        dropped = (entry.criterion.id for entry in self.rubric.all_dropped)
        return {*self.criteria, *dropped, *self.new}

    def reword(self, name: str, text: str) -> None:
        method, criterion = self.criteria[name]
        new = reworded(criterion, method, text, edited_id(name, self.taken))
        if (new.statement, new.question) == (criterion.statement, criterion.question):
            raise SettingsError(f"{name} has this wording already.", "Give another one, or leave it out.")
        if name in self.bounds:
            self.bounds[new.id] = self.bounds[name]
        self.removed[name] = f"reworded: {new.id} replaces it"
        self.insert("reword", NewCriterion(method, new, (name,)))

    def merge(self, names: tuple[str, ...], text: str) -> None:
        methods = {self.criteria[name][0] for name in names}
        if len(methods) > 1:
            raise SettingsError(
                f"{' and '.join(names)} are criteria of different methods, {' and '.join(sorted(methods))}.",
                "Drop one and reword the other.",
            )
        new = merged([self.criteria[name][1] for name in names], text, self.rubric.scale, "+".join(names))
        self.removed |= dict.fromkeys(names, f"merged: {new.id} replaces it")
        self.insert("merge", NewCriterion(methods.pop(), new, names))

    def insert(self, action: EditAction, new: NewCriterion) -> None:
        before = "\n".join(self.criteria[name][1].statement for name in new.replaces) if new.replaces else None
        name, after = new.criterion.id, new.criterion.statement
        self.new[name] = new
        self.changes.append(EditChange(action=action, criteria=new.replaces, result=name, before=before, after=after))

    def define(self, definition: str) -> None:
        before = self.rubric.aspect
        if definition == before.definition:
            raise SettingsError(f"{before.name} has this definition already.", f"Leave out {option('definition')}.")
        self.aspect = Aspect(name=before.name, definition=definition)
        self.changes.append(EditChange(action="definition", before=before.definition, after=definition))

    def set_threshold(self, threshold: Threshold) -> None:
        if self.rubric.threshold is None:
            raise SettingsError(
                f"The scores of {self.ref} are on {self.rubric.scores_on.describe()}, without verdicts.",
                f"Only a rubric learned from labels of two levels has a threshold; leave out {option('threshold')}.",
            )
        given = None if threshold == "learned" else threshold
        if given is not None and not 0 <= given <= 1:
            raise SettingsError(
                f"The threshold cannot be {given:g}: scores are probabilities.", "Give a number from 0 to 1."
            )
        before, self.threshold = f"{self.rubric.threshold:g}", given
        after = "learned" if given is None else f"{given:g}"
        self.changes.append(EditChange(action="threshold", before=before, after=after))

    def limit(self, given: str, limits: Bounds | None, kept: tuple[str, ...]) -> None:
        # A limit may be set by the id that a reworded criterion had.
        now = {new.replaces[0]: name for name, new in self.new.items() if len(new.replaces) == 1}
        name = given if given in kept else now.get(given, given)
        if name in self.removed:
            raise SettingsError(
                f"{name} is {self.removed[name].partition(':')[0]} by this edit, so its weight cannot be limited.",
                "Limit the weight of a criterion that stays.",
            )
        if name not in kept:
            raise unknown_criterion(given, self.ref, kept)
        self.bounds.pop(name, None)
        if limits is None:
            self.changes.append(EditChange(action="bound", criteria=(name,), after="free"))
            return
        signed = name in self.criteria and self.criteria[name][1].kind == "feature"
        low, high = self.bounds[name] = _checked(name, limits, signed=signed)
        action: EditAction = "pin" if low == high else "bound"
        written = f"{low:g}" if action == "pin" else f"{low:g}:{high:g}"
        self.changes.append(EditChange(action=action, criteria=(name,), after=written))


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


# The methods that rate an added statement and an added question.
STATEMENTS, QUESTIONS = "hypoeval", "checkeval"

# A question whose better answer is given after it.
_BETTER = re.compile(r"\s*\(better:\s*(yes|no)\)\s*$")

# A statement that begins with its name, as in `Order: each sentence follows from the one before`.
_NAMED = re.compile(r"\s*([^:.]{1,60}):\s+\S")
TRAIT_WORDS = 6

# What a text is like at each level of a statement, from the lowest to the highest.
TRUTH = (
    "Not true of it at all.",
    "Almost entirely untrue of it.",
    "Mostly untrue of it.",
    "As true as untrue of it.",
    "Mostly true of it.",
    "Almost entirely true of it.",
    "Entirely true of it.",
)


def reworded(criterion: Criterion, method: str, text: str, name: str) -> Criterion:
    """Return a criterion with another wording, under another id; a hypothesis keeps the description of its levels.

    Raises:
        SettingsError: if it has no wording that is rated.
    """
    if criterion.kind == "feature":
        raise SettingsError(
            f"{criterion.id} is a text feature, which is computed.", f"Drop it and use {option('add')} for a criterion."
        )
    if criterion.kind == "score" and METHODS[method].states == "definition":
        raise SettingsError(
            f"{criterion.id} asks by the aspect's definition.", f"Change that: {option('definition', '…')}."
        )
    statement, better = _question(text)
    question = criterion.question
    if question and better:
        question = question.model_copy(update={"better": better})
    own = {"id": name, "statement": statement if question else text, "question": question}
    return Criterion(**{**dict(criterion), **own, "evidence": _evidence([criterion])})


def merged(criteria: Sequence[Criterion], text: str, scale: Scale, name: str) -> Criterion:
    """Return one criterion of the same kind instead of several.

    Raises:
        SettingsError: if they are neither hypotheses nor questions nor traits.
    """
    first = criteria[0]
    if first.kind not in ("hypothesis", "question", "trait"):
        raise SettingsError(
            f"{first.id} cannot be merged: it is a {first.kind}, not a statement or a question.", "Drop it instead."
        )
    statement, better = _question(text)
    update: dict[str, object] = {
        "id": name,
        "statement": statement if first.question else text,
        "weight": sum(criterion.weight for criterion in criteria),
        "evidence": _evidence(criteria),
        "levels": levels(scale) if first.kind == "hypothesis" else (),
        "trait": trait_of(text) if first.kind == "hypothesis" else first.trait,
    }
    if first.question:
        update["question"] = Question(origin="seed", better=better or first.question.better)
    return Criterion(**{**dict(first), **update})


def added(text: str, rubric: Rubric, taken: Collection[str]) -> tuple[str, Criterion]:
    """Return a criterion in a person's own words, and the method that rates it."""
    statement, better = _question(text)
    asks = better is not None or statement.rstrip().endswith("?")
    kind: CriterionKind = "question" if asks else "hypothesis"
    weights = [criterion.weight for criterion in rubric.criteria]
    criterion = Criterion(
        id=next(name for number in range(1, 10_000) if (name := f"a{number:02}") not in taken),
        kind=kind,
        trait=rubric.aspect.name if asks else trait_of(text),
        statement=statement if asks else text,
        levels=() if asks else levels(rubric.scale),
        weight=sum(weights) / len(weights),
        evidence=Evidence(origin="written by hand"),
        question=Question(origin="seed", better=better or "yes") if asks else None,
    )
    return (QUESTIONS if asks else STATEMENTS), criterion


def edited_id(name: str, taken: Collection[str]) -> str:
    """Return the id of a reworded criterion: `h03.2` for `h03`, then `h03.3`."""
    stem, _, number = name.rpartition(".")
    stem = stem if stem and number.isdigit() else name
    return next(new for count in range(2, 10_000) if (new := f"{stem}.{count}") not in taken)


def trait_of(statement: str) -> str:
    """Return the name of a statement: what stands before its colon, or its first words."""
    if match := _NAMED.match(statement):
        return match[1].strip()
    words = statement.split()
    return " ".join(words[:TRAIT_WORDS]) + (" …" if len(words) > TRAIT_WORDS else "")


def levels(scale: Scale) -> tuple[Level, ...]:
    """Return the levels of a statement that describes none of its own: how true it is of the text."""
    anchors, last = scale.anchors(), len(TRUTH) - 1
    steps = max(len(anchors) - 1, 1)
    return tuple(
        Level(score=anchor, description=TRUTH[round(place * last / steps)]) for place, anchor in enumerate(anchors)
    )


def _question(text: str) -> tuple[str, Literal["yes", "no"] | None]:
    match = _BETTER.search(text)
    if match is None:
        return text, None
    return text[: match.start()], "no" if match[1] == "no" else "yes"


def _evidence(criteria: Sequence[Criterion]) -> Evidence:
    """Return the evidence of a criterion made from others: labels that were used for them were used for it."""
    examples = dict.fromkeys(name for criterion in criteria for name in criterion.evidence.examples)
    reasons = dict.fromkeys(reason for criterion in criteria for reason in criterion.evidence.reasons)
    return Evidence(origin="written by hand", examples=tuple(examples), reasons=tuple(reasons))

"""Edits of a rubric: what they mean, the criteria they make, and the rubric refitted to the labels."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import JsonValue

from rubriclab.errors import SettingsError
from rubriclab.learning.candidates import Candidates, all_criteria
from rubriclab.learning.fitting import (
    CandidatePool,
    JointSettings,
    SelectedRubric,
    divisions,
    fit,
    fit_folds,
    refitted_agreement,
    select_rubric,
)
from rubriclab.learning.gate import EvaluatorComparison, GateLevel, gate_level
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.learning.scoring import assignment_of
from rubriclab.learning.train import Study
from rubriclab.learning.verdicts import verdict_agreement, verdict_statistic
from rubriclab.learning.weighting import REDUNDANT, design
from rubriclab.methods.catalogue import JOINT, METHODS
from rubriclab.models.aggregation import Ask, Bounds, bounds_of, threshold_by_hand
from rubriclab.models.characters import did_you_mean, is_blank
from rubriclab.models.rubric import Criterion, CriterionKind, Evidence, Level, Part, Question, Rubric
from rubriclab.models.text import Aspect, Example, Scale
from rubriclab.models.version import (
    Candidate,
    Cell,
    EditAction,
    EditChange,
    EditStatistic,
    HeldOutBy,
    VerdictAgreement,
)
from rubriclab.ops.options import Edit, Threshold
from rubriclab.stats.correlation import IntArray
from rubriclab.stats.intervals import Interval

Settings = Mapping[str, Mapping[str, JsonValue]]
CHANGES = ("drop", "reword", "merge", "add", "pin", "bound", "threshold", "definition")


@dataclass(frozen=True)
class NewCriterion:
    """A criterion that a person wrote, the method that rates it, and the criteria that it replaces."""

    method: str
    criterion: Criterion
    replaces: tuple[str, ...] = ()


@dataclass
class EditPlan:
    """What the edits of a rubric mean, one after the other.

    Attributes:
        removed: criteria that leave the rubric, by id, with the reason.
        new: criteria that join it, by id.
        bounds: limits of the weights of all criteria of the edited rubric that have any.
        aspect: with the new definition; if that changes, every criterion is rated anew.
    """

    rubric: Rubric
    ref: str
    removed: dict[str, str] = field(default_factory=dict)
    new: dict[str, NewCriterion] = field(default_factory=dict)
    changes: list[EditChange] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.aspect, self.bounds = self.rubric.aspect, dict(bounds_of(self.rubric.aggregation))
        self.threshold = threshold_by_hand(self.rubric.aggregation)
        self.criteria = {each.id: (part.method, each) for part in self.rubric.parts for each in part.criteria}

    @property
    def redefined(self) -> bool:
        """Whether the definition changes."""
        return self.aspect != self.rubric.aspect

    @property
    def taken(self) -> set[str]:
        """The ids that a new criterion cannot have, those of dropped criteria included."""
        return {*self.criteria, *self.new, *(entry.criterion.id for entry in self.rubric.all_dropped)}

    @property
    def unmeasurable(self) -> tuple[list[str], list[str]]:
        """The ids of criteria dropped without a replacement, and of those that are new or whose weight is limited."""
        limits = [name for change in self.changes if change.action in ("pin", "bound") for name in change.criteria]
        limited = [name for name in limits if name in self.bounds and name not in self.new]
        return [name for name, reason in self.removed.items() if reason == "dropped"], [*self.new, *limited]

    def drop(self, name: str) -> None:
        self.removed[name] = "dropped"
        self.changes.append(EditChange(action="drop", criteria=(name,)))

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
        if len(names) < 2:
            raise SettingsError("`merge` joins two criteria or more, got one.", "See `reword`.")
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

    def define(self, definition: str | None) -> None:
        before = self.rubric.aspect
        if definition is None:
            return
        if definition == before.definition:
            raise SettingsError(f"{before.name} has this definition already.", "Leave out `definition`.")
        self.aspect = Aspect(name=before.name, definition=definition)
        self.changes.append(EditChange(action="definition", before=before.definition, after=definition))

    def set_threshold(self, threshold: Threshold | None) -> None:
        if threshold is None:
            return
        if self.rubric.threshold is None:
            raise SettingsError(
                f"The scores of {self.ref} are on {self.rubric.scores_on.describe()}, without verdicts.",
                "Only a rubric learned from labels of two levels has a threshold; leave out `threshold`.",
            )
        self.threshold = None if threshold == "learned" else threshold
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise SettingsError(
                f"The threshold cannot be {self.threshold:g}: scores are probabilities.", "Give a number from 0 to 1."
            )
        before, after = f"{self.rubric.threshold:g}", "learned" if self.threshold is None else f"{self.threshold:g}"
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
        low, high = self.bounds[name] = limits
        action: EditAction = "pin" if low == high else "bound"
        written = f"{low:g}" if action == "pin" else f"{low:g}:{high:g}"
        if not (-1.0 if signed else 0.0) <= low <= high <= 1:
            kind = "a text feature's weight lies between -1 and 1" if signed else "a weight lies between 0 and 1"
            wrong = "the lowest is above the highest" if low > high else kind
            raise SettingsError(
                f"The weight of {name} cannot be {written}: {wrong}.", "Give shares of the whole, as in 0.3."
            )
        self.changes.append(EditChange(action=action, criteria=(name,), after=written))


def plan_edits(rubric: Rubric, ref: str, edit: Edit) -> EditPlan:
    """Return what edits of a rubric, whose version is `ref`, mean."""
    if not any(getattr(edit, name) not in (None, (), {}) for name in CHANGES):
        raise SettingsError(
            "No change was asked for.",
            f"Give at least one of {', '.join(f'`{name}`' for name in CHANGES[:-1])} and `{CHANGES[-1]}`.",
        )
    plan = EditPlan(rubric, ref)
    names = [*edit.drop, *edit.reword, *(name for names, _ in edit.merge for name in names)]
    for place, name in enumerate(names):
        if name not in plan.criteria:
            raise unknown_criterion(name, ref, plan.criteria)
        if name in names[:place]:
            raise SettingsError(f"{name} is changed twice.", "Drop it, reword it or merge it.")
    texts = (*edit.reword.values(), *(text for _, text in edit.merge), *edit.add, edit.definition)
    if any(text is not None and is_blank(text) for text in texts):
        raise SettingsError("Expected the wording of a criterion or a definition, got an empty text.")
    for name in edit.drop:
        plan.drop(name)
    for name, text in edit.reword.items():
        plan.reword(name, text)
    for merged_names, text in edit.merge:
        plan.merge(merged_names, text)
    for text in edit.add:
        plan.insert("add", NewCriterion(*added(text, rubric, plan.taken)))
    plan.set_threshold(edit.threshold)
    plan.define(edit.definition)
    kept = (*(name for name in plan.criteria if name not in plan.removed), *plan.new)
    for given, limits in edit.bounds.items():
        plan.limit(given, limits, kept)
    if not kept:
        raise SettingsError(f"No criterion of {ref} would be left.", "Keep or add at least one.")
    plan.bounds = {name: plan.bounds[name] for name in kept if name in plan.bounds}
    check_bounds(plan.bounds, len(kept))
    return plan


def unknown_criterion(name: str, ref: str, known: Iterable[str]) -> SettingsError:
    """Return the error about a criterion that a version does not have."""
    ids = list(known)
    return SettingsError(f"{ref} has no criterion {name!r}.", f"{did_you_mean(name, ids)}It has: {', '.join(ids)}.")


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
    """Return a criterion with another wording, under another id; a hypothesis keeps the description of its levels."""
    if criterion.kind == "feature":
        raise SettingsError(
            f"{criterion.id} is a text feature, which is computed.", "Drop it and use `add` for a criterion."
        )
    if criterion.kind == "score" and METHODS[method].states == "definition":
        raise SettingsError(f"{criterion.id} asks by the aspect's definition.", "Change that: `definition=TEXT`.")
    return _replacing([criterion], text, name)


def merged(criteria: Sequence[Criterion], text: str, scale: Scale, name: str) -> Criterion:
    """Return one criterion of the same kind instead of several."""
    first = criteria[0]
    if first.kind not in ("hypothesis", "question", "trait"):
        raise SettingsError(
            f"{first.id} cannot be merged: it is a {first.kind}, not a statement or a question.", "Drop it instead."
        )
    new = _replacing(criteria, text, name)
    own: dict[str, object] = {"weight": sum(criterion.weight for criterion in criteria), "levels": ()}
    if new.kind == "hypothesis":
        own |= {"levels": levels(scale), "trait": trait_of(text)}
    if new.question:
        own["question"] = Question(origin="seed", better=new.question.better)
    return new.model_copy(update=own)


def _replacing(criteria: Sequence[Criterion], text: str, name: str) -> Criterion:
    """Return a criterion in a person's words like the first of some; labels used for one of them were used for it."""
    (statement, better), question = _question(text), criteria[0].question
    evidence = Evidence(
        origin="written by hand",
        examples=tuple(dict.fromkeys(example for each in criteria for example in each.evidence.examples)),
        reasons=tuple(dict.fromkeys(reason for each in criteria for reason in each.evidence.reasons)),
    )
    # Another wording may compare the text with its source.
    own = {"id": name, "statement": statement if question else text, "evidence": evidence, "needs_source": True}
    if question and better:
        own["question"] = question.model_copy(update={"better": better})
    return Criterion(**{**dict(criteria[0]), **own})


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
    anchors = scale.anchors()
    places = np.linspace(0, len(TRUTH) - 1, len(anchors)).round().astype(int).tolist()
    return tuple(Level(score=score, description=TRUTH[place]) for score, place in zip(anchors, places, strict=True))


def _question(text: str) -> tuple[str, Literal["yes", "no"] | None]:
    """Return the words of a question, and its better answer if it names one."""
    match = _BETTER.search(text)
    return (text[: match.start()], "no" if match[1] == "no" else "yes") if match else (text, None)


@dataclass(frozen=True, slots=True)
class WeightChange:
    """One criterion's weight before and after; `None` where the rubric does not have it.

    Attributes:
        criterion, trait, statement: of the new wording if there is one.
        bounds: the lowest and highest weight that a person allows.
    """

    criterion: str
    trait: str
    statement: str
    before: float | None
    after: float | None
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class EditEffect:
    """The held-out agreement of an edited rubric beside that of its parent, with the same labels and folds.

    Attributes:
        folds: number of folds; 0 if nothing is fitted to labels, as for a rubric without learned weights.
        statistic: what `before`, `after`, `difference` and `recorded` are of: Pearson correlation, whose intervals
            include the variance of learning, or balanced accuracy of verdicts.
        difference: after less before, paired, with its interval; without ends if groups are too few.
        recorded: the parent's agreement as its version records it.
        recorded_by: how the parent was made, which its recorded agreement is cross-validated over.
        verdicts: the held-out verdicts of both; empty for a rubric without verdicts.
        optimistic: whether the rubric was learned from these labels, or a person may have known them.
    """

    level: GateLevel
    n: int
    groups: int
    folds: int
    before: Interval
    after: Interval
    difference: Interval
    recorded: Interval
    calls_before: float
    calls_after: float
    weights: tuple[WeightChange, ...]
    optimistic: bool = True
    recorded_by: HeldOutBy = "learning"
    statistic: EditStatistic = "Pearson"
    verdicts: tuple[VerdictAgreement, ...] = ()

    def to_row(self) -> dict[str, Any]:
        """Return the effect as one JSON object."""
        verdicts = [each.model_dump(mode="json") for each in self.verdicts]
        return {**asdict(self), "verdicts": verdicts}


def effect_of(
    parent: RatedRubric, edited: RatedRubric, refits: tuple[SelectedRubric, SelectedRubric], rubric: Rubric
) -> EditEffect:
    """Return the effect of an edit; of a rubric with verdicts, in balanced accuracy.

    Args:
        refits: of the parent and of the edited rubric, with the same folds.
        rubric: the edited one, refitted.
    """
    table, (before, after) = edited.table, [refit.held_out for refit in refits]
    level = gate_level(table.labels, table.groups)
    figures, calls, passed = [], [], []
    for each, refit in zip((parent, edited), refits, strict=True):
        figures.append(refitted_agreement(each.table, refit.held_out, level=level)["pearson"].rounded())
        ids = [each.candidates[place].criterion.id for place in each.kept]
        calls.append(round(each.rated.calls(ids, assignment_of(each.rubric), each.ask), 6))
        passed.append(study_of(each, refit).verdicts)
    effect = EditEffect(
        level=level,
        n=int((~np.isnan(after.raw + before.raw)).sum()),
        groups=len(set(table.groups)),
        folds=len(before.fits[0]),
        before=figures[0],
        after=figures[1],
        difference=EvaluatorComparison(table).difference(after.raw, before.raw),
        recorded=Interval(None),
        calls_before=calls[0],
        calls_after=calls[1],
        weights=weight_changes(parent.rubric, rubric),
    )
    old, new = passed
    if old is None or new is None:
        return effect
    verdicts = [
        verdict_agreement(name, held_out.scores, found, table.labels, table.groups, order=held_out.raw)
        for name, held_out, found in (("before", before, old), ("after", after, new))
    ]
    return replace(
        effect,
        level="dataset",
        statistic="balanced accuracy",
        before=verdicts[0].balanced_accuracy,
        after=verdicts[1].balanced_accuracy,
        difference=verdict_statistic("balanced accuracy", [new, old], table.labels, table.groups),
        verdicts=tuple(each.model_copy(update={"reliability": ()}) for each in verdicts),
    )


def weight_changes(before: Rubric, after: Rubric) -> tuple[WeightChange, ...]:
    """Return the weights of all criteria that either rubric has, those of the second one first."""
    old, new = (
        {term.criterion: term.weight for term in rubric.aggregation.terms} if rubric.aggregation else {}
        for rubric in (before, after)
    )
    limits, ids = bounds_of(after.aggregation), {criterion.id for criterion in after.criteria}
    removed = (each for each in before.criteria if each.id not in ids)
    return tuple(
        WeightChange(each.id, each.trait, each.statement, old.get(each.id), new.get(each.id), limits.get(each.id))
        for each in (*after.criteria, *removed)
    )


# No correlation is this high: a person decides which criteria to keep, redundant ones too.
KEEP_ALL = 2.0


@dataclass(frozen=True, eq=False)
class RatedRubric:
    """A rubric with the labelled texts rated by its criteria and by the others that were candidates.

    Attributes:
        rubric: with the parts and the aggregation before it is refitted, and the aspect to judge.
        examples: sorted by id, with labels on the scale that criteria are rated on.
        candidates: the columns of `cells`; those of the rubric are marked as kept.
    """

    rubric: Rubric
    examples: tuple[Example, ...]
    candidates: tuple[Candidate, ...]
    cells: tuple[tuple[Cell, ...], ...]
    settings: Settings
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
        own = next((part for part in self.rubric.parts if part.method == method), None)
        known = {criterion.id for criterion in all_criteria(own)} if own else set()
        new = [criterion for criterion in criteria if criterion.id not in known]
        return part_with(self.rubric, method, self.settings, [*(own.criteria if own else ()), *new])


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
        for new in plan.new.values()
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
        return FoldSelection(divisions(free.groups, rated.fit_settings), ())
    held_out = select_rubric(free.columns(learned), rated.fit_settings, rated.ask).held_out
    ids = [rated.candidates[place].criterion.id for place in learned]
    criteria = (tuple(frozenset(ids[column] for column in fit.columns) for fit in fits) for fits in held_out.fits)
    return FoldSelection(held_out.folds, tuple(criteria))


def refitted(rated: RatedRubric, selected: FoldSelection) -> SelectedRubric:
    """Return the rubric fitted to all labels, and the rubrics of all folds with their held-out scores.

    Args:
        selected: of this rubric, or of the one that it was edited from, on the same texts.
    """

    def pool_of(repetition: int, fold: int) -> CandidatePool:
        """Return the criteria of a fold's rubric: selected there and not removed by hand, or added or limited."""
        learned = selected.criteria[repetition][fold] if selected.criteria else frozenset[str]()
        columns = [
            place
            for place, each in enumerate(rated.candidates)
            if (each.kept and (each.by_hand == "added" or each.criterion.id in rated.bounds))
            or (each.criterion.id in learned and each.by_hand != "removed")
        ]
        return CandidatePool(tuple(columns) or rated.kept, reasons=True)

    table, settings, pool = rated.table, rated.fit_settings, CandidatePool(rated.kept, reasons=True)
    return SelectedRubric(
        fit(table, settings, pool, redundant=KEEP_ALL),
        fit_folds(table, settings, selected.folds, pool_of, redundant=KEEP_ALL),
    )


def study_of(rated: RatedRubric, refit: SelectedRubric) -> Study:
    """Return everything that learning computes from the ratings, for a rubric that was refitted."""
    reasons = {**{each.criterion.id: each.reason for each in rated.rubric.dropped}, **rated.reasons}
    assignment, given = assignment_of(rated.rubric), (refit, reasons, rated.threshold)
    return Study(rated.rated, assignment, rated.fit_settings, *given)


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
    return tuple((ids[two], ids[one], r) for one, two, r in pairs if r >= REDUNDANT)


def part_with(rubric: Rubric, method: str, recorded: Settings, criteria: Sequence[Criterion]) -> Part:
    """Return the rubric's part of a method with these criteria; or a new one, with the settings of its learning."""
    for part in rubric.parts:
        if part.method == method:
            return part.model_copy(update={"criteria": tuple(criteria)})
    values = recorded.get(method) or METHODS[method].joint_settings
    settings = METHODS[method].settings.model_validate(dict(values)).model_dump(mode="json")
    return Part(method=method, settings=settings, criteria=tuple(criteria))


def parts_to_rate(rubric: Rubric, plan: EditPlan, recorded: Settings) -> tuple[Part, ...]:
    """Return the new criteria as parts, and by a new definition also those that stay."""
    criteria = {
        part.method: [each for each in part.criteria if plan.redefined and each.id not in plan.removed]
        for part in rubric.parts
    }
    for new in plan.new.values():
        criteria.setdefault(new.method, []).append(new.criterion)
    return tuple(part_with(rubric, method, recorded, each) for method, each in criteria.items() if each)

"""Plan an edit of a rubric: check what the person asks for, and make the criteria that it adds, rewords or merges.

A reworded or merged criterion is a new one, with another id, that replaces the old, since recorded ratings belong to
the old wording. If the text of an added criterion ends with a question mark, or with the better answer as in
"(better: no)", the criterion is a question of CheckEval, else a statement of HypoEval.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from textwrap import shorten
from typing import Any, Literal

import numpy as np

from rubriclab.errors import SettingsError
from rubriclab.methods.catalogue import METHODS
from rubriclab.models.aggregation import Bounds, hand_set_threshold, weight_bounds
from rubriclab.models.characters import did_you_mean, is_blank
from rubriclab.models.rubric import Criterion, Evidence, Level, Question, Rubric
from rubriclab.models.text import Aspect, Scale
from rubriclab.models.version import Candidate, EditAction, EditChange
from rubriclab.ops.options import Edit, PassThreshold

_BETTER_ANSWER_AT_END = re.compile(r"\s*\(better:\s*(yes|no)\)\s*$")
# The name at the beginning of a statement, as in `Order: each sentence follows from the one before`.
_NAME_AT_START = re.compile(r"\s*([^:.]{1,60}):\s+\S")
# A statement without a name is named by this many of its first words.
TRAIT_WORDS = 6
ROUNDING_ERROR = 1e-9  # of a sum of weights
# The levels of a statement, from the lowest to the highest.
LEVELS_OF_TRUTH = (
    "Not true of it at all.",
    "Almost entirely untrue of it.",
    "Mostly untrue of it.",
    "As true as untrue of it.",
    "Mostly true of it.",
    "Almost entirely true of it.",
    "Entirely true of it.",
)


@dataclass
class EditPlan:
    """The changes that an edit makes to the rubric of version `ref`."""

    rubric: Rubric  # before the edit
    ref: str
    aspect: Aspect
    threshold: float | None  # set by a person; `None` if it is learned
    bounds: dict[str, Bounds]  # limits of weights in the edited rubric, by the criterion's id
    removed: dict[str, str] = field(default_factory=dict)  # why each criterion is removed, by its id
    new: dict[str, Candidate] = field(default_factory=dict)  # added, reworded and merged criteria, by id
    changes: list[EditChange] = field(default_factory=list)

    @property
    def redefines_aspect(self) -> bool:
        return self.aspect != self.rubric.aspect

    @property
    def criteria_after(self) -> dict[str, Criterion]:
        """The criteria of the edited rubric, by id."""
        criteria = [*self.rubric.criteria, *(candidate.criterion for candidate in self.new.values())]
        return {criterion.id: criterion for criterion in criteria if criterion.id not in self.removed}

    @property
    def used_ids(self) -> set[str]:
        """The ids that no new criterion may get, including those of criteria that learning dropped."""
        old_criteria = (*self.rubric.criteria, *(dropped.criterion for dropped in self.rubric.all_dropped))
        return {*(criterion.id for criterion in old_criteria), *self.new}

    def add(self, action: EditAction, method: str, new: Criterion, replaced: Sequence[Criterion] = ()) -> None:
        """Add a criterion, and remove those that it replaces; a reworded criterion keeps the limits of its weight."""
        ids = tuple(criterion.id for criterion in replaced)
        before = "\n".join(criterion.statement for criterion in replaced) if replaced else None
        if action == "reword" and ids[0] in self.bounds:
            self.bounds[new.id] = self.bounds[ids[0]]
        action_done = "merged" if action == "merge" else "reworded"
        self.removed |= dict.fromkeys(ids, f"{action_done}: {new.id} replaces it")
        self.new[new.id] = Candidate(method=method, criterion=new, kept=True, by_hand="added")
        self.changes.append(EditChange(action=action, criteria=ids, result=new.id, before=before, after=new.statement))

    def set_threshold(self, threshold: PassThreshold) -> None:
        if self.rubric.threshold is None:
            scale = self.rubric.score_scale.describe()
            raise SettingsError(f"{self.ref} scores on {scale}, without pass and fail.", "Omit `threshold`.")
        self.threshold = None if threshold == "learned" else threshold
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            problem = f"The threshold cannot be {self.threshold:g}: scores are probabilities."
            raise SettingsError(problem, "Give a number from 0 to 1.")
        after = "learned" if self.threshold is None else f"{self.threshold:g}"
        self.changes.append(EditChange(action="threshold", before=f"{self.rubric.threshold:g}", after=after))

    def limit(self, given_id: str, limits: Bounds | None) -> None:
        """Limit the weight of a criterion, or lift its limits; `given_id` may be its id before it was reworded."""
        new_ids = {change.criteria[0]: change.result for change in self.changes if change.action == "reword"}
        current_id = given_id if given_id in self.criteria_after else new_ids.get(given_id) or given_id
        if current_id in self.removed:
            action_done = self.removed[current_id].partition(":")[0]
            raise SettingsError(f"{current_id} is {action_done} by this edit, so its weight cannot be limited.")
        if current_id not in self.criteria_after:
            raise _unknown_criterion_error(given_id, self.ref, self.criteria_after)
        self.bounds.pop(current_id, None)
        if limits is None:
            self.changes.append(EditChange(action="bound", criteria=(current_id,), after="free"))
            return
        self.bounds[current_id] = limits
        low, high = limits
        action: EditAction = "pin" if low == high else "bound"
        limits_text = f"{low:g}" if action == "pin" else f"{low:g}:{high:g}"
        is_feature = self.criteria_after[current_id].kind == "feature"
        lowest = -1 if is_feature else 0
        if not lowest <= low <= high <= 1:
            weight = "a text feature's weight" if is_feature else "a weight"
            reason = "the lowest is above the highest" if low > high else f"{weight} lies between {lowest} and 1"
            problem = f"The weight of {current_id} cannot be {limits_text}: {reason}."
            raise SettingsError(problem, "Give shares, as in 0.3.")
        self.changes.append(EditChange(action=action, criteria=(current_id,), after=limits_text))


def plan_edits(rubric: Rubric, ref: str, edit: Edit) -> EditPlan:
    """Return the plan of an edit; SettingsError if it names an unknown criterion or contradicts itself."""
    edit = _with_ids_for_titles(rubric, ref, edit)
    _check_edit(rubric, ref, edit)
    threshold = hand_set_threshold(rubric.aggregation)
    plan = EditPlan(rubric, ref, rubric.aspect, threshold, dict(weight_bounds(rubric.aggregation)))
    method_of = {criterion.id: part.method for part in rubric.parts for criterion in part.criteria}
    criteria = {criterion.id: criterion for criterion in rubric.criteria}
    for criterion_id in edit.drop:
        plan.removed[criterion_id] = "dropped"
        plan.changes.append(EditChange(action="drop", criteria=(criterion_id,)))
    for criterion_id, text in edit.reword.items():
        old = criteria[criterion_id]
        # The next unused id: `h03.2` for `h03`, then `h03.3`.
        original_id = re.sub(r"(?<=.)\.\d+$", "", criterion_id)
        numbered_ids = (f"{original_id}.{number}" for number in count(2))
        new_id = next(each for each in numbered_ids if each not in plan.used_ids)
        new = reword(old, method_of[criterion_id], text, new_id)
        if (new.statement, new.question) == (old.statement, old.question):
            raise SettingsError(f"{criterion_id} has this wording already.", "Give another one, or leave it out.")
        plan.add("reword", method_of[criterion_id], new, [old])
    for ids, text in edit.merge:
        methods = sorted({method_of[criterion_id] for criterion_id in ids})
        if len(ids) < 2:
            raise SettingsError("`merge` joins two criteria or more, got one.", "See `reword`.")
        if len(methods) > 1:
            problem = f"{' and '.join(ids)} are criteria of different methods, {' and '.join(methods)}."
            raise SettingsError(problem, "Drop one and reword the other.")
        replaced = [criteria[criterion_id] for criterion_id in ids]
        plan.add("merge", methods[0], merge(replaced, text, rubric.scale, "+".join(ids)), replaced)
    for text in edit.add:
        method, new = new_criterion(text, rubric, plan.used_ids)
        plan.add("add", method, new)
    if edit.threshold is not None:
        plan.set_threshold(edit.threshold)
    if edit.definition is not None:
        before = rubric.aspect
        if edit.definition == before.definition:
            raise SettingsError(f"{before.name} has this definition already.", "Leave out `definition`.")
        plan.aspect = Aspect(name=before.name, definition=edit.definition)
        plan.changes.append(EditChange(action="definition", before=before.definition, after=edit.definition))
    for criterion_id, limits in edit.bounds.items():
        plan.limit(criterion_id, limits)
    if not plan.criteria_after:
        raise SettingsError(f"No criterion of {ref} would be left.", "Keep or add at least one.")
    plan.bounds = {each: plan.bounds[each] for each in plan.criteria_after if each in plan.bounds}
    check_bounds(plan.bounds, n_criteria=len(plan.criteria_after))
    return plan


def _with_ids_for_titles(rubric: Rubric, ref: str, edit: Edit) -> Edit:
    """Replace titles of criteria in an edit by ids; a title may be cut off, with "…" at its end, if it stays unique."""
    titles = {criterion.id: criterion.title.casefold() for criterion in rubric.criteria}  # by id

    def id_of(name: str) -> str:
        if name in titles:
            return name
        given_title = name.strip().removesuffix("…").rstrip().casefold()
        if name.endswith("…"):
            ids = [criterion_id for criterion_id, title in titles.items() if title.startswith(given_title)]
        else:
            ids = [criterion_id for criterion_id, title in titles.items() if title == given_title]
        if len(ids) > 1:
            raise SettingsError(f"{ref} has several criteria {name!r}.", f"Give an id: {', '.join(ids)}.")
        return ids[0] if ids else name

    drop = tuple(map(id_of, edit.drop))
    merge = tuple((tuple(map(id_of, names)), text) for names, text in edit.merge)
    update: dict[str, object] = {"drop": drop, "merge": merge}
    for option in ("reword", "pin", "bound"):
        by_name = getattr(edit, option)
        by_id = {id_of(name): value for name, value in by_name.items()}
        if len(by_id) < len(by_name):
            raise SettingsError(f"`{option}` names one of {', '.join(by_id)} by id and by title.", "Name it once.")
        update[option] = by_id
    return edit.model_copy(update=update)


def _check_edit(rubric: Rubric, ref: str, edit: Edit) -> None:
    if all(getattr(edit, name) in (None, (), {}) for name in Edit.model_fields):
        *options, last = [f"`{name}`" for name in Edit.model_fields]
        raise SettingsError("No change was asked for.", f"Give at least one of {', '.join(options)} and {last}.")
    names = [*edit.drop, *edit.reword, *(name for merged, _ in edit.merge for name in merged)]
    criteria = {criterion.id: criterion for criterion in rubric.criteria}
    for index, name in enumerate(names):
        if name not in criteria:
            raise _unknown_criterion_error(name, ref, criteria)
        if name in names[:index]:
            raise SettingsError(f"{name} is changed twice.", "Either drop it, reword it or merge it.")
    texts = (*edit.reword.values(), *(text for _, text in edit.merge), *edit.add, edit.definition)
    if any(text is not None and is_blank(text) for text in texts):
        raise SettingsError("Expected the wording of a criterion or a definition, got an empty text.")


def _unknown_criterion_error(name: str, ref: str, criteria: Mapping[str, Criterion]) -> SettingsError:
    titles = {each.id: shorten(each.title, 60, placeholder=" …") for each in criteria.values()}
    listed = "; ".join(f"{criterion_id} ({title})" for criterion_id, title in titles.items())
    return SettingsError(f"{ref} has no criterion {name!r}.", f"{did_you_mean(name, titles)}It has: {listed}.")


def check_bounds(bounds: Mapping[str, Bounds], n_criteria: int) -> None:
    """Raise SettingsError if the absolute weights of the criteria cannot sum to 1 within the limits."""
    # Limits of opposite signs allow a weight of 0. A criterion without limits may have a weight of 1.
    min_total = sum(min(abs(low), abs(high)) if low * high > 0 else 0.0 for low, high in bounds.values())
    max_total = sum(max(abs(low), abs(high)) for low, high in bounds.values()) + n_criteria - len(bounds)
    if min_total > 1 + ROUNDING_ERROR or max_total < 1 - ROUNDING_ERROR:
        allowed_range = f"at least {min_total:g}" if min_total > 1 else f"at most {max_total:g}"
        limits = ", ".join(f"{name} {low:g}:{high:g}" for name, (low, high) in bounds.items())
        problem = f"The absolute weights sum to 1, but within these limits they sum to {allowed_range}: {limits}."
        raise SettingsError(problem, "Widen the limits of some criteria.")


def reword(criterion: Criterion, method: str, text: str, new_id: str) -> Criterion:
    """Return a criterion with another wording, under another id; a hypothesis keeps its levels."""
    if criterion.kind == "feature":
        raise SettingsError(f"{criterion.id} is a text feature, which is computed.", "Drop it and `add` a criterion.")
    if criterion.kind == "score" and METHODS[method].statement_kind == "definition":
        raise SettingsError(f"{criterion.id} states the aspect's definition.", "Use `definition=TEXT`.")
    return _replace_criteria([criterion], text, new_id)


def merge(criteria: Sequence[Criterion], text: str, scale: Scale, new_id: str) -> Criterion:
    """Return one criterion in place of several of the same method, with the sum of their weights."""
    first = criteria[0]
    if first.kind not in ("hypothesis", "question", "trait"):
        reason = f"it is a {first.kind}, not a statement or a question"
        raise SettingsError(f"{first.id} cannot be merged: {reason}.", "Drop it instead.")
    new = _replace_criteria(criteria, text, new_id)
    update: dict[str, object] = {"weight": sum(criterion.weight for criterion in criteria), "levels": ()}
    if new.kind == "hypothesis":
        update |= {"levels": levels_of_truth(scale), "trait": default_trait(text)}
    if new.question:
        update["question"] = Question(origin="seed", better=new.question.better)  # `seed`: written by hand
    return new.model_copy(update=update)


def _replace_criteria(criteria: Sequence[Criterion], text: str, new_id: str) -> Criterion:
    """Return a copy of the first criterion with another wording and the evidence of all criteria."""
    statement, better = _split_better_answer(text)
    question = criteria[0].question
    examples = dict.fromkeys(example for criterion in criteria for example in criterion.evidence.examples)
    reasons = dict.fromkeys(reason for criterion in criteria for reason in criterion.evidence.reasons)
    evidence = Evidence(origin="written by hand", examples=tuple(examples), reasons=tuple(reasons))
    # The new wording may compare the text with its source.
    update = {"id": new_id, "statement": statement if question else text, "evidence": evidence, "needs_source": True}
    if question and better:
        update["question"] = question.model_copy(update={"better": better})
    return Criterion(**{**dict(criteria[0]), **update})


def new_criterion(text: str, rubric: Rubric, used_ids: Collection[str]) -> tuple[str, Criterion]:
    """Return the method that rates texts by a criterion that a person wrote, and the criterion."""
    statement, better = _split_better_answer(text)
    ids = (f"a{number:02}" for number in count(1))
    mean_weight = sum(criterion.weight for criterion in rubric.criteria) / len(rubric.criteria)
    common: dict[str, Any] = {"id": next(each for each in ids if each not in used_ids), "weight": mean_weight}
    common["evidence"] = Evidence(origin="written by hand")
    if better is not None or statement.rstrip().endswith("?"):
        question = Question(origin="seed", better=better or "yes")
        trait = rubric.aspect.name
        return "checkeval", Criterion(kind="question", trait=trait, statement=statement, question=question, **common)
    trait, levels = default_trait(text), levels_of_truth(rubric.scale)
    return "hypoeval", Criterion(kind="hypothesis", trait=trait, statement=text, levels=levels, **common)


def default_trait(statement: str) -> str:
    if match := _NAME_AT_START.match(statement):
        return match[1].strip()
    words = statement.split()
    return " ".join(words[:TRAIT_WORDS]) + (" …" if len(words) > TRAIT_WORDS else "")


def levels_of_truth(scale: Scale) -> tuple[Level, ...]:
    """Return levels for a statement that has none: how true it is of the text."""
    anchors = scale.anchors()
    indices = np.linspace(0, len(LEVELS_OF_TRUTH) - 1, len(anchors)).round().astype(int).tolist()
    descriptions = [LEVELS_OF_TRUTH[index] for index in indices]
    return tuple(Level(score=score, description=each) for score, each in zip(anchors, descriptions, strict=True))


def _split_better_answer(text: str) -> tuple[str, Literal["yes", "no"] | None]:
    """Return a wording without the better answer at its end, and this answer, `None` if there is none."""
    match = _BETTER_ANSWER_AT_END.search(text)
    if match is None:
        return text, None
    return text[: match.start()], "no" if match[1] == "no" else "yes"

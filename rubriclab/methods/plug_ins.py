"""The method of another package with its results checked, and its errors reported as those of its package.

Built-in methods are trusted to keep to the interface; what is checked here is what `rubriclab.methods.method` promises.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale, show
from rubriclab.judges.judge import Judge
from rubriclab.judges.plug_ins import PlugIn
from rubriclab.methods.holistic import require_scores, with_evidence
from rubriclab.methods.method import CriterionRating, Learned, LearningCalls, Method, TrainingInput, chosen_settings
from rubriclab.prompts.render import template_fault
from rubriclab.pydantic_errors import first_fault
from rubriclab.rubric import Criterion, CriterionKind, Part
from rubriclab.stats.correlation import FloatArray

P = ParamSpec("P")
R = TypeVar("R")

Scored = tuple[float | None, tuple[CriterionRating, ...]]

# What a score may exceed the scale by: rounding errors of a mean.
ROUNDING = 1e-9

_VALIDATED = ConfigDict(revalidate_instances="always", allow_inf_nan=False)
_SCORED: TypeAdapter[Scored] = TypeAdapter(tuple[float | None, tuple[CriterionRating, ...]], config=_VALIDATED)
_RATINGS: TypeAdapter[tuple[tuple[CriterionRating, ...], ...]] = TypeAdapter(
    tuple[tuple[CriterionRating, ...], ...], config=_VALIDATED
)
_NAMES: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])


def checked(method: object, plug_in: PlugIn) -> Method:
    """Return the method with its functions guarded.

    Raises:
        PlugInError: if `method` is no `Method` of that name, or anything in it cannot be used.
    """
    if not isinstance(method, Method) or method.name != plug_in.name:
        raise plug_in.error(f"is {method!r:.80}, expected a Method of that name")
    with plug_in.errors_named("cannot be loaded: "):
        fault = next(_method_faults(method), None)
    if fault:
        raise plug_in.error(f"cannot be used: {fault}")

    def joining(settings: Mapping[str, Any]) -> bool:
        joins = bool(method.shares_call(settings))
        if joins and method.criterion_kind not in ("hypothesis", "question", "score"):
            raise plug_in.error(f"shares calls, which criteria of the kind {method.criterion_kind!r} cannot")
        return joins

    return replace(
        method,
        learn=_learning(method, plug_in),
        score=_scoring(method, plug_in),
        learning_calls=_guarded(method.learning_calls, plug_in, _calls),
        needs_checklist=_guarded(method.needs_checklist, plug_in, bool),
        shares_call=_guarded(joining, plug_in, bool),
        part_faults=_guarded(method.part_faults, plug_in, tuple),
    )


def _guarded(function: Callable[P, Any], plug_in: PlugIn, convert: Callable[[Any], R]) -> Callable[P, R]:
    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        with plug_in.errors_named():
            return convert(function(*arguments, **options))

    return call


def _calls(value: Any) -> LearningCalls:
    if not isinstance(value, LearningCalls):
        raise TypeError(f"expected LearningCalls, got {value!r:.80}")
    return value


def _scoring(method: Method, plug_in: PlugIn) -> Any:
    async def score(example: Example, part: Part, assignment: Assignment, judge: Judge, /) -> Scored:
        """Return the method's score and ratings of a text.

        Raises:
            PlugInError: if the method raises an exception, or a score is missing or off its scale.
        """
        with plug_in.errors_named():
            found = await method.score(example, part, assignment, judge)
        try:
            value, ratings = _SCORED.validate_python(found)
        except ValidationError as error:
            raise plug_in.error(
                f"gave the text {example.id!r} no valid score: {first_fault(error, 'result')}"
            ) from None
        fault = next(_score_faults(value, ratings, part.criteria, assignment.scale), None)
        if fault:
            raise plug_in.error(f"gave the text {example.id!r} {fault}")
        return value, ratings

    return score


def _learning(method: Method, plug_in: PlugIn) -> Any:
    async def learn(training_input: TrainingInput, settings: Any, **options: Any) -> Learned:
        """Return what the method learns, with the criteria's agreement with the labels.

        Raises:
            PlugInError: if the method raises an exception, or its result is not as `Learned` says.
            JudgeError: if no text has a score.
        """
        with plug_in.errors_named():
            learned = await method.learn(training_input, settings, **options)
        if not isinstance(learned, Learned):
            raise plug_in.error(f"learned {learned!r:.80}, expected a Learned")
        try:
            learned = _converted(learned)
            fault = next(_learned_faults(learned, method, training_input), None)
        except ValidationError as error:
            fault = first_fault(error)
        except (TypeError, ValueError) as error:
            fault = str(error).rstrip(".")
        if fault:
            raise plug_in.error(f"learned what cannot be used: Learned.{fault}")
        require_scores([rated for row in learned.ratings for rated in row])
        return replace(learned, part=_with_agreement(learned, training_input))

    return learn


def _method_faults(method: Method) -> Iterator[str]:
    """Yield what is wrong with a method before anything is asked."""
    if not (isinstance(method.settings, type) and issubclass(method.settings, BaseModel)):
        yield f"settings: expected a pydantic model, got {method.settings!r:.80}"
    try:
        for values in ({}, dict(method.joint_settings), *({"preset": name} for name in method.presets)):
            chosen_settings(method.settings, method.presets, values)
    except ValidationError as error:
        yield f"settings: every field needs a default, and presets valid values: {first_fault(error)}"
    if method.criterion_kind not in get_args(CriterionKind):
        kinds = ", ".join(map(repr, get_args(CriterionKind)))
        yield f"criterion_kind: expected one of {kinds}, got {method.criterion_kind!r}"
    if isinstance(method.prompts, str) or not all(isinstance(name, str) for name in method.prompts):
        yield f"prompts: expected a tuple of names such as ('{method.name}/rate',), got {method.prompts!r:.80}"
    if method.templates is not None and not (isinstance(method.templates, Path) and method.templates.is_dir()):
        yield f"templates: expected the Path of a folder, got {str(method.templates)!r:.200}"
    for name in method.prompts:
        if fault := template_fault(name, method.templates):
            yield f"the template {name!r}: {fault}"


def _score_faults(
    value: float | None, ratings: Sequence[CriterionRating], criteria: Sequence[Criterion], scale: Scale
) -> Iterator[str]:
    """Yield what is wrong with a text's score; each continues the sentence "gave the text X"."""
    if value is not None and not _on(scale, value):
        yield f"the score {show(value)}, expected {_range(scale)}"
    given, expected = [rated.criterion for rated in ratings], [criterion.id for criterion in criteria]
    if sorted(given) != sorted(expected):
        yield f"ratings by {_listed(given)}, expected one rating by each criterion of the part: {_listed(expected)}"
    by_id = {criterion.id: criterion for criterion in criteria}
    for rated in ratings:
        if rated.criterion in by_id and (fault := _rating_fault(rated, by_id[rated.criterion], scale)):
            yield fault


def _learned_faults(learned: Learned, method: Method, training_input: TrainingInput) -> Iterator[str]:
    """Yield what is wrong with a result of learning, each with the field's name before it."""
    part, scale = learned.part, training_input.assignment.scale
    known = {each.id: each for each in (*part.criteria, *(entry.criterion for entry in part.dropped))}
    if part.method != method.name:
        yield f"part.method: expected {method.name!r}, got {part.method!r}"
    if len(known) < len(part.criteria) + len(part.dropped):
        yield "part.criteria: every criterion, kept or dropped, needs an id of its own"
    for criterion in known.values():
        if criterion.kind != method.criterion_kind:
            expected = f"{method.criterion_kind!r} (Method.criterion_kind)"
            yield f"part.criteria: {criterion.id!r} has the kind {criterion.kind!r}, expected {expected}"
    if method.single_criterion and len(part.criteria) > 1:
        yield f"part.criteria: expected one criterion (Method.single_criterion), got {len(part.criteria)}"
    for name, given, allowed in (
        ("examples", learned.examples, {example.id for example in training_input.examples}),
        ("candidates", learned.candidates, set(known)),
    ):
        if len(set(given)) < len(given) or not set(given) <= allowed:
            wrong = [each for place, each in enumerate(given) if each not in allowed or each in given[:place]]
            source = "a training text" if name == "examples" else "a criterion of the part, kept or dropped"
            yield f"{name}: expected the id of {source}, each once, got {wrong[0]!r}"
    yield from _matrix_faults(learned, known, scale)


def _matrix_faults(learned: Learned, known: Mapping[str, Criterion], scale: Scale) -> Iterator[str]:
    texts = len(learned.examples)
    if len(learned.ratings) != texts:
        yield f"ratings: expected {texts} rows, one for each of `examples`, got {len(learned.ratings)}"
    for text, row in zip(learned.examples, learned.ratings, strict=False):
        if tuple(rated.criterion for rated in row) != learned.candidates:
            given = _listed([rated.criterion for rated in row])
            yield f"ratings: expected the candidates {_listed(learned.candidates)} for {text!r}, got {given}"
            return
        for rated in row:
            if fault := _rating_fault(rated, known[rated.criterion], scale):
                yield f"ratings: {text!r} has {fault}"
    for name in ("scores", "reselected"):
        values: FloatArray = getattr(learned, name)
        if values.shape != (texts,):
            yield f"{name}: expected the shape ({texts},), one score for each of `examples`, got {values.shape}"
        elif off := [value for value in values.tolist() if not (np.isnan(value) or _on(scale, value))]:
            yield f"{name}: expected {_range(scale)} or NaN, got {off[0]:g}"


def _rating_fault(rated: CriterionRating, criterion: Criterion, scale: Scale) -> str | None:
    if rated.score is None or criterion.kind == "feature":
        return None
    allowed = Scale(low=0, high=1, whole=False) if criterion.kind == "question" else scale
    if _on(allowed, rated.score):
        return None
    return f"the rating {show(rated.score)} by the {criterion.kind} {criterion.id!r}, expected {_range(allowed)}"


def _converted(learned: Learned) -> Learned:
    """Return the result with plain tuples, strings and arrays of floats.

    Raises:
        pydantic.ValidationError: a ValueError, for a field of another type.
    """
    if not isinstance(learned.part, Part):
        raise TypeError(f"part: expected a Part, got {learned.part!r:.80}")
    arrays: dict[str, Any] = {}
    for name in ("scores", "reselected"):
        try:
            arrays[name] = np.asarray(getattr(learned, name), dtype=float)
        except (TypeError, ValueError):
            raise TypeError(f"{name}: expected numbers, got {getattr(learned, name)!r:.80}") from None
    return replace(
        learned,
        ratings=_field("ratings", _RATINGS, learned.ratings),
        **{name: _field(name, _NAMES, getattr(learned, name)) for name in ("examples", "candidates", "notes")},
        **arrays,
    )


def _field(name: str, adapter: TypeAdapter[Any], value: Any) -> Any:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise TypeError(first_fault(error, name)) from None


def _with_agreement(learned: Learned, training_input: TrainingInput) -> Part:
    """Return the part with each rated criterion's correlation with the labels, unless the method gave it."""
    labels = np.array([training_input.labels[name] for name in learned.examples], dtype=float)
    columns = dict(zip(learned.candidates, learned.matrix.T, strict=True)) if learned.examples else {}

    def completed(criterion: Criterion) -> Criterion:
        stated = criterion.evidence.pearson is not None or criterion.evidence.judged or criterion.evidence.missing
        if stated or criterion.id not in columns:
            return criterion
        return with_evidence(criterion, columns[criterion.id], labels)

    part = learned.part
    return part.model_copy(
        update={
            "criteria": tuple(map(completed, part.criteria)),
            "dropped": tuple(each.model_copy(update={"criterion": completed(each.criterion)}) for each in part.dropped),
        }
    )


def _on(scale: Scale, score: float) -> bool:
    margin = ROUNDING * scale.width
    return scale.low - margin <= score <= scale.high + margin


def _range(scale: Scale) -> str:
    return f"a score from {show(scale.low)} to {show(scale.high)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"

"""All methods by name: built in, or offered by installed packages as entry points of the group `rubriclab.methods`.

Methods are imported inside the functions: the command line needs only the names.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import TYPE_CHECKING, Any, cast

from rubriclab.errors import PlugInError, UnknownMethod

if TYPE_CHECKING:
    from rubriclab.judges.judge import Judge
    from rubriclab.judges.plug_ins import PlugIn
    from rubriclab.methods.method import Learned, Method, Scored, TrainingInput
    from rubriclab.models.rubric import Part, Rubric
    from rubriclab.models.text import Assignment, Example

# Where each built-in method is, as `module:attribute`.
BUILT_IN: Mapping[str, str] = {
    "hypoeval": "rubriclab.methods.hypoeval.learn:HYPOEVAL",
    "checkeval": "rubriclab.methods.checkeval.learn:CHECKEVAL",
    "seeval": "rubriclab.methods.seeval:SEEVAL",
    "seal": "rubriclab.methods.seal.learn:SEAL",
    "dcr": "rubriclab.methods.dcr:DCR",
    "direct": "rubriclab.methods.holistic:DIRECT",
    "geval": "rubriclab.methods.holistic:GEVAL",
    "few_shot": "rubriclab.methods.holistic:FEW_SHOT",
    "analyze_rate": "rubriclab.methods.holistic:ANALYZE_RATE",
    "text_features": "rubriclab.methods.holistic:TEXT_FEATURES",
}
# `text_features` costs nothing and can be part of a rubric, but is not an evaluator by itself.
METHOD_NAMES: tuple[str, ...] = tuple(name for name in BUILT_IN if name != "text_features")
# The methods of a rubric unless the user chooses others.
DEFAULT_METHODS: tuple[str, ...] = ("hypoeval", "checkeval", "seeval", "direct")
# Stands for joint training where a method is named, as in the setting `joint.ask`.
JOINT = "joint"


class MethodCatalogue(Mapping[str, "Method"]):
    """Methods by name, each imported when it is first used."""

    def __getitem__(self, name: str) -> Method:
        """Return the method called `name`; raises `UnknownMethod`, which is a `KeyError`, or `PlugInError`."""
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        yield from BUILT_IN
        yield from plug_in_names()

    def __len__(self) -> int:
        return sum(1 for _ in self)


METHODS = MethodCatalogue()


def installed_method(name: str) -> Method | None:
    """Return the method called `name`, or `None` if it is not installed or its package cannot be used."""
    with suppress(UnknownMethod, PlugInError):
        return METHODS[name]
    return None


def baseline_method(rubric: Rubric) -> Method | None:
    """Return the method of a rubric that consists of one baseline; `None` for any other rubric."""
    method = installed_method(rubric.parts[0].method) if len(rubric.parts) == 1 else None
    return method if method and method.is_baseline else None


def has_seen_labels(rubric: Rubric) -> bool:
    """Return whether labels may have influenced a rubric: through its aggregation or the method of one of its parts."""
    methods = [installed_method(part.method) for part in rubric.parts]
    uses_no_labels = all(method and method.is_baseline and not method.needs_labels for method in methods)
    return rubric.aggregation is not None or not uses_no_labels


def plug_in_names() -> tuple[str, ...]:
    return tuple(sorted({point.name for point in _installed_entry_points()} - set(BUILT_IN)))


@cache  # reading what is installed takes 10 ms
def _installed_entry_points() -> EntryPoints:
    from rubriclab.prompts.render import METHOD_ENTRY_POINTS

    return entry_points(group=METHOD_ENTRY_POINTS)


def settings_names() -> tuple[str, ...]:
    """Return the names before the dot in `METHOD.SETTING`, as users write settings."""
    return (*METHOD_NAMES, *plug_in_names(), JOINT)


@cache
def _load(name: str) -> Method:
    from rubriclab.judges.plug_ins import load_plug_in

    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return cast("Method", getattr(importlib.import_module(module), attribute))
    points = tuple(_installed_entry_points().select(name=name))
    if not points:
        raise UnknownMethod(
            f"The method {name!r} is not installed.",
            f"Install the package that offers the method. The built-in ones are: {', '.join(BUILT_IN)}.",
        )
    plug_in, method = load_plug_in("method", points)
    return guard_plug_in(method, plug_in)


def guard_plug_in(method: object, plug_in: PlugIn) -> Method:
    """Return a package's method, changed so that its scores are validated and its errors name the package."""
    from pydantic import ConfigDict, TypeAdapter

    from rubriclab.methods.method import Method, Scored
    from rubriclab.methods.prompting import fail_if_all_missing

    if not isinstance(method, Method) or method.name != plug_in.name:
        raise plug_in.error(f"is {method!r:.80}, expected a Method of that name")

    # Validation also turns numpy's numbers into Python's.
    adapter: TypeAdapter[Scored] = TypeAdapter(
        Scored, config=ConfigDict(revalidate_instances="always", allow_inf_nan=False)
    )

    async def score(example: Example, part: Part, assignment: Assignment, judge: Judge) -> Scored:
        with plug_in.translated_errors():
            return adapter.validate_python(await method.score(example, part, assignment, judge))

    async def learn(training_input: TrainingInput, settings: Any, **options: Any) -> Learned:
        with plug_in.translated_errors():
            learned = await method.learn(training_input, settings, **options)
        fail_if_all_missing("score", [(rating.score, rating.reason) for row in learned.ratings for rating in row])
        return learned

    return replace(method, learn=learn, score=score)

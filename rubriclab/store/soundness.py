"""Checks of imported rubrics beyond their models, so that their methods can score with them.

Learned rubrics always pass; a pack may have been written by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ValidationError

from rubriclab.characters import is_blank
from rubriclab.data.scale import Scale
from rubriclab.descriptions import describe
from rubriclab.errors import SettingsError
from rubriclab.judges.address import check_address
from rubriclab.methods.names import JOINT
from rubriclab.provenance import Provenance
from rubriclab.pydantic_errors import first_fault
from rubriclab.rubric import Criterion, Part, Rubric
from rubriclab.store.version import names_a_version


def first_soundness_fault(rubric: Rubric, provenance: Provenance) -> str | None:
    """Return the path and description of the first fault; `None` for a usable rubric."""
    return next(_faults(rubric, provenance), None)


def _faults(rubric: Rubric, provenance: Provenance) -> Iterator[str]:
    ids = Counter(criterion.id for criterion in rubric.criteria)
    if repeated := [name for name, count in ids.items() if count > 1]:
        yield f"rubric: two criteria have the id {describe(repeated[0])}; expected each id once"
    if rubric.aggregation is None and any(part.method == "text_features" for part in rubric.parts):
        yield "rubric: text features have no score of their own; expected a combination that weighs them"
    for number, part in enumerate(rubric.parts):
        path = f"rubric.parts[{number}]"
        yield from _settings_faults(part.method, part.settings, f"{path}.settings")
        yield from _part_faults(part, rubric.scale, path)
    yield from _provenance_faults(provenance)


def _provenance_faults(provenance: Provenance) -> Iterator[str]:
    for name, values in provenance.settings.items():
        yield from _settings_faults(name, values, f"provenance.settings.{name}")
    transfer = provenance.transfer
    judges = {
        "judge": provenance.judge,
        "generator": provenance.generator,
        "transfer.judge": transfer.judge if transfer else None,
    }
    for field, judge in judges.items():
        if judge is not None and is_blank(judge):
            yield f"provenance.{field}: expected the name of a judge, got {describe(judge)}"
    for field in ("judge_address", "generator_address"):
        yield from _address_faults(getattr(provenance, field), f"provenance.{field}")
    for field in ("judge_from", "generator_from"):
        yield from _reference_faults(getattr(provenance, field), f"provenance.{field}")


def _address_faults(address: str | None, path: str) -> Iterator[str]:
    if address is None:
        return
    if not address.isprintable() or " " in address:
        yield f"{path}: expected an address without spaces and control characters, got {describe(address)}"
    try:
        check_address(address, path)
    except SettingsError as error:
        yield error.message.removesuffix(".")


def _reference_faults(reference: str | None, path: str) -> Iterator[str]:
    if reference is not None and not names_a_version(reference):
        yield f"{path}: expected NAME@NUMBER, got {describe(reference)}"


def _settings_faults(method: str, values: Mapping[str, Any], path: str) -> Iterator[str]:
    model = _settings_model(method)
    if model is None:
        yield f"provenance.settings: unknown name {describe(method)}, expected a method or 'joint'"
        return
    try:
        model.model_validate(dict(values))
    except ValidationError as error:
        yield first_fault(error, path)


def _settings_model(method: str) -> type[BaseModel] | None:
    from rubriclab.learning.settings import JointSettings
    from rubriclab.methods.catalogue import METHODS

    if method == JOINT:
        return JointSettings
    return METHODS[method].settings if method in METHODS else None


def _part_faults(part: Part, scale: Scale, path: str) -> Iterator[str]:
    from rubriclab.methods.catalogue import METHODS

    method = METHODS[part.method]
    if method.single_criterion and len(part.criteria) > 1:
        yield f"{path}.criteria: {part.method} scores by one criterion, got {len(part.criteria)}"
    yield from (f"{path}.{fault}" for fault in method.part_faults(part))
    kind = method.criterion_kind
    for number, criterion in enumerate(part.criteria):
        place = f"{path}.criteria[{number}]"
        if criterion.kind != kind:
            yield f"{place}.kind: {part.method} scores by the kind {kind!r}, got {criterion.kind!r}"
        yield from _criterion_faults(criterion, scale, place)


def _criterion_faults(criterion: Criterion, scale: Scale, path: str) -> Iterator[str]:
    for name in ("id", "trait", "statement"):
        if is_blank(getattr(criterion, name)):
            yield f"{path}.{name}: expected a text, got {describe(getattr(criterion, name))}"
    scores = [level.score for level in criterion.levels]
    for number, score in enumerate(scores):
        if not scale.contains(score):
            yield f"{path}.levels[{number}].score: expected a score on the scale, {scale.describe()}; got {score:g}"
    if any(later <= score for score, later in pairwise(scores)):
        yield f"{path}.levels: expected scores in ascending order, each once"

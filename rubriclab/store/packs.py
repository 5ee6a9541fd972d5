"""Packs: versions of rubrics as JSON files, for review and for sharing.

`without_named_people` makes an anonymous version for a pack, and `format_pack` returns the text of a pack. `read_pack`
verifies a pack, which somebody may have edited, and `Store.import_pack` saves it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, Literal

from pydantic import BaseModel, Field, JsonValue, ValidationError

from rubriclab.base_options import faults, first_fault
from rubriclab.errors import PackError, SettingsError, StoreError
from rubriclab.judges.providers import check_address
from rubriclab.methods.catalogue import JOINT
from rubriclab.models.base import FrozenModel, Moment, Unreadable, digest, first_limit_violation, parse_json
from rubriclab.models.characters import describe, is_blank
from rubriclab.models.evaluation import EvaluationRecord
from rubriclab.models.rubric import CitedReason, DroppedCriterion, Rubric
from rubriclab.models.version import NUMBERED_REF, Effort, Provenance, Version, check_name

FORMAT: Final = "rubriclab-pack/1"
# Replaces the names of people in an anonymous pack.
SOMEBODY = "somebody"
_ANY_ACCENTS = "[\u0300-\u036f]*"
_EXPORT_HINT = "Write the pack again, and do not edit it: `rubriclab export`"


class Pack(FrozenModel):
    """The content of a pack file, whose digests are verified when it is read.

    `evaluation` is without the label and score of each text (`points`); `None` if not evaluated, and in older packs.
    """

    format: Literal["rubriclab-pack/1"] = FORMAT
    name: str
    number: int = Field(ge=1)
    digest: str
    rubric: Rubric
    provenance: Provenance
    provenance_digest: str
    effort: Effort
    parent: str | None
    created: Moment
    evaluation: EvaluationRecord | None = Field(None, exclude_if=lambda value: value is None)
    evaluation_digest: str | None = Field(None, exclude_if=lambda value: value is None)


def format_pack(version: Version) -> str:
    fields = {name: getattr(version, name) for name in Pack.model_fields.keys() - {"format", "evaluation_digest"}}
    if version.evaluation:
        evaluation = version.evaluation.model_copy(update={"points": ()})
        fields |= {"evaluation": evaluation, "evaluation_digest": digest(evaluation.model_dump(mode="json"))}
    pack = Pack(**fields)
    return json.dumps(pack.model_dump(mode="json"), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


# The beginning of the reason why a person dropped or replaced a criterion; group 2 is the person's name.
_DROPPED_BY = re.compile(r"((?:dropped|(?:reworded|merged): \S+ replaces it) by )([^:]+)")


def named_people(version: Version, raters: Iterable[str] = ()) -> list[str]:
    """Return the people whom a pack would name: cited raters, editors, and `raters` named in a text of the pack."""
    rubric, edit = version.rubric, version.provenance.edit
    people = {edit.author} if edit else set()
    for dropping in rubric.all_dropped:
        if match := _DROPPED_BY.match(dropping.reason):
            people.add(match[2])
    for criterion in (*rubric.criteria, *(dropping.criterion for dropping in rubric.all_dropped)):
        people.update(reason.rater for reason in criterion.evidence.reasons)
    notes = (edit.because if edit else "", version.evaluation.file if version.evaluation else "")
    text = unicodedata.normalize("NFD", "\n".join((*_strings_in(rubric.model_dump(mode="json")), *notes)))
    # Names of one or two letters are mostly codes, such as `A`, and may be words of the text.
    people |= {name for name in raters if len(name) > 2 and _pattern_of_names([name]).search(text)}
    return sorted(people - {"", SOMEBODY})


def _strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings_in(list(value.values()))
    elif isinstance(value, list):
        for entry in value:
            yield from _strings_in(entry)


def _pattern_of_names(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches each of the names, and the last word of a name alone, which is a surname.

    Accents, umlauts and the marks between words may differ. A surname alone has to begin with a capital letter, since
    many surnames are also words.
    """
    patterns: list[str] = []
    for name in names:
        letters = unicodedata.normalize("NFKD", name.casefold())
        words = re.findall(r"[^\W_]+", "".join(letter for letter in letters if not unicodedata.combining(letter)))
        word_patterns: list[str] = []
        for word in words:
            # The `e` of `ae`, `oe` and `ue` may mark an umlaut, except in short words, such as Joe.
            without_e = re.sub("([aou])e", r"\1", word) if len(word) > 3 else word
            pattern = "".join(letter + _ANY_ACCENTS + ("e?" if letter in "aou" else "") for letter in without_e)
            word_patterns.append(pattern.replace(f"s{_ANY_ACCENTS}s{_ANY_ACCENTS}", "(?:ss|ß)"))
        patterns.append("[^a-z0-9]{0,2}".join(word_patterns) or re.escape(name))
        if len(words) > 1 and len(words[-1]) > 2 and words[-1].isalpha():
            patterns.append(rf"(?-i:(?![a-z])){word_patterns[-1]}")
    return re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE)


def without_named_people(version: Version, raters: Iterable[str] = ()) -> Version:
    """Return `version` without the names of `raters` and of the people whom `named_people` finds.

    The names are replaced in the aspect's definition, in the reasons of dropped criteria, and in the reason of an edit.
    Criteria keep their wording, unless one repeats the definition. A rubric that contained names gets a new digest.
    """
    names = sorted({*named_people(version), *raters} - {""}, key=len, reverse=True)
    pattern = _pattern_of_names(names) if names else None

    def replace_names(text: str) -> str:
        if pattern is None:
            return text
        return unicodedata.normalize("NFC", pattern.sub(SOMEBODY, unicodedata.normalize("NFD", text)))

    def anonymize(value: Any) -> Any:
        if isinstance(value, list):
            return [anonymize(entry) for entry in value]
        if not isinstance(value, dict):
            return replace_names(value) if value == version.rubric.aspect.definition else value
        content = {key: anonymize(member) for key, member in value.items()}
        if content.keys() == CitedReason.model_fields.keys():
            content["rater"] = ""
        if content.keys() == DroppedCriterion.model_fields.keys():
            content["reason"] = replace_names(_DROPPED_BY.sub(rf"\1{SOMEBODY}", content["reason"]))
        return content

    rubric = Rubric.model_validate(anonymize(version.rubric.model_dump(mode="json")))
    # `reading` contains names of columns, and a column may be named after a rater.
    fields = {**version.provenance.model_dump(), "reading": {}}
    if edit := version.provenance.edit:
        fields["edit"] = edit.model_copy(update={"author": SOMEBODY, "because": replace_names(edit.because)})
    provenance = Provenance.model_validate(fields)
    evaluation = version.evaluation.model_copy(update={"file": ""}) if version.evaluation else None
    version = replace(version, rubric=rubric, digest=rubric.digest, evaluation=evaluation)
    return replace(version, provenance=provenance, provenance_digest=provenance.digest)


def read_pack(text: str, where: str) -> Pack:
    """Return the pack in `text`; `where` names the file in errors.

    Raises `PackError` if the pack exceeds limits, does not match its digests, or differs from what rubriclab writes, or
    if the rubric's methods could not score by the rubric.
    """
    # 1. The text is JSON of a known format, within limits, and has the fields of a pack.
    try:
        raw = parse_json(text)
    except Unreadable as error:
        raise PackError(f"{where} is no pack: {error}.", _EXPORT_HINT) from None
    if not isinstance(raw, dict):
        raise PackError(f"{where} is no pack: expected a JSON object, found {type(raw).__name__}.", _EXPORT_HINT)
    if raw.get("format") != FORMAT:
        hint = "It may come from a newer rubriclab."
        raise PackError(f"{where}: format: expected {FORMAT!r}, got {describe(raw.get('format'))}.", hint)
    if excess := first_limit_violation(raw):
        raise PackError(f"{where}: {excess}.", _EXPORT_HINT)
    try:
        pack = Pack.model_validate(raw)
        check_name(pack.name)
    except ValidationError as error:
        raise PackError(f"{where}: {faults(error)}.", _EXPORT_HINT) from None
    except StoreError as error:
        raise PackError(f"{where}: name: {error.message}", error.hint) from None
    # 2. The content matches its digests, and the file has nothing besides.
    written = pack.model_dump(mode="json")
    for content in ("rubric", "provenance", "evaluation"):
        field = "digest" if content == "rubric" else f"{content}_digest"
        expected = digest(written[content]) if content in written else None
        digest_in_pack = getattr(pack, field)
        if expected != digest_in_pack:
            fault = f"the {content} was changed after it was exported: its digest is {expected}, not {digest_in_pack}"
            raise PackError(f"{where}: {field}: {fault}.", _EXPORT_HINT)
    # The time is not compared, since it can be written in several forms.
    if path := _difference(written | {"created": None}, raw | {"created": None}):
        raise PackError(f"{where}: {path}: not as rubriclab writes it.", _EXPORT_HINT)
    # 3. Methods can score by the rubric.
    if unusable := next(_soundness_faults(pack.rubric, pack.provenance), None):
        raise PackError(f"{where}: {unusable}.", _EXPORT_HINT)
    return pack


def _difference(expected: JsonValue, actual: JsonValue, path: str = "") -> str | None:
    """Return the path of the first difference between two JSON values; `None` if they are equal (1 is not `true`)."""
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        expected, actual = ({str(index): entry for index, entry in enumerate(each)} for each in (expected, actual))
    if isinstance(expected, dict) and isinstance(actual, dict):
        # Shorter keys come first, so that index 9 of a list comes before 10.
        for key in sorted(expected.keys() | actual.keys(), key=lambda key: (len(key), key)):
            if key not in expected or key not in actual:
                return f"{path}{key}"
            if difference := _difference(expected[key], actual[key], f"{path}{key}."):
                return difference
        return None
    is_equal = expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
    return None if is_equal else path.removesuffix(".")


def _soundness_faults(rubric: Rubric, provenance: Provenance) -> Iterator[str]:
    """Yield the reasons why methods could not score by an imported rubric, which may have been written by hand."""
    from rubriclab.methods.catalogue import METHODS

    id_counts = Counter(criterion.id for criterion in rubric.criteria)
    if repeated_ids := [id_ for id_, count in id_counts.items() if count > 1]:
        yield f"rubric: two criteria have the id {describe(repeated_ids[0])}; expected each id once"
    if rubric.aggregation is None and any(part.method == "text_features" for part in rubric.parts):
        yield "rubric: text features have no score of their own; expected an aggregation that weighs them"
    for number, part in enumerate(rubric.parts):
        path = f"rubric.parts[{number}]"
        if part.method not in METHODS:
            yield f"{path}.method: expected a method that is installed, got {describe(part.method)}"
            continue
        yield from _settings_faults(part.method, part.settings, f"{path}.settings")
        method = METHODS[part.method]
        if method.single_criterion and len(part.criteria) > 1:
            yield f"{path}.criteria: {part.method} scores by one criterion, got {len(part.criteria)}"
        yield from (f"{path}.{fault}" for fault in method.part_faults(part))
        for index, criterion in enumerate(part.criteria):
            criterion_path = f"{path}.criteria[{index}]"
            if criterion.kind != method.criterion_kind:
                expected = f"{part.method} scores by the kind {method.criterion_kind!r}"
                yield f"{criterion_path}.kind: {expected}, got {criterion.kind!r}"
            for name in ("id", "trait", "statement"):
                if is_blank(getattr(criterion, name)):
                    yield f"{criterion_path}.{name}: expected a text, got {describe(getattr(criterion, name))}"
            scores = [level.score for level in criterion.levels]
            for level_number, score in enumerate(scores):
                if not rubric.scale.contains(score):
                    expected = f"expected a score on the scale, {rubric.scale.describe()}"
                    yield f"{criterion_path}.levels[{level_number}].score: {expected}; got {score:g}"
            if any(later <= score for score, later in pairwise(scores)):
                yield f"{criterion_path}.levels: expected scores in ascending order, each once"
    yield from _provenance_faults(provenance)


def _provenance_faults(provenance: Provenance) -> Iterator[str]:
    for name, values in provenance.settings.items():
        yield from _settings_faults(name, values, f"provenance.settings.{name}")
    judges: dict[str, str | None] = {"judge": provenance.judge, "generator": provenance.generator}
    judges["transfer.judge"] = provenance.transfer.judge if provenance.transfer else None
    for field, judge in judges.items():
        if judge is not None and is_blank(judge):
            yield f"provenance.{field}: expected the name of a judge, got {describe(judge)}"
    for field in ("judge_address", "generator_address"):
        address, path = getattr(provenance, field), f"provenance.{field}"
        if address is None:
            continue
        if not address.isprintable() or " " in address:
            yield f"{path}: expected an address without spaces and control characters, got {describe(address)}"
        try:
            check_address(address, path)
        except SettingsError as error:
            yield error.message.removesuffix(".")
    for field in ("judge_from", "generator_from"):  # the imported version that named the model
        if (reference := getattr(provenance, field)) is not None and not NUMBERED_REF.fullmatch(reference):
            yield f"provenance.{field}: expected NAME@NUMBER, got {describe(reference)}"


def _settings_faults(method: str, values: Mapping[str, Any], path: str) -> Iterator[str]:
    from rubriclab.learning.fitting import JointSettings
    from rubriclab.methods.catalogue import METHODS

    if method != JOINT and method not in METHODS:
        yield f"provenance.settings: unknown name {describe(method)}, expected a method or 'joint'"
        return
    model: type[BaseModel] = JointSettings if method == JOINT else METHODS[method].settings
    try:
        model.model_validate(dict(values))
    except ValidationError as error:
        yield first_fault(error, path)

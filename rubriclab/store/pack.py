"""A version as a JSON file, for review and for import into another store. It contains no code."""

from __future__ import annotations

import json
from typing import Any, Final, Literal

from pydantic import Field, JsonValue, ValidationError

from rubriclab.base_models import FrozenModel, Moment
from rubriclab.bounds import first_bounds_fault
from rubriclab.descriptions import describe
from rubriclab.documents import Unreadable, parse_json
from rubriclab.errors import PackError, StoreError
from rubriclab.option_names import command
from rubriclab.provenance import Effort, Provenance
from rubriclab.pydantic_errors import faults
from rubriclab.rubric import Rubric
from rubriclab.store.rows import PackOrigin
from rubriclab.store.soundness import first_soundness_fault
from rubriclab.store.store import Store
from rubriclab.store.version import Version, check_name

FORMAT: Final = "rubriclab-pack/1"
_EXPORT = f"Use a pack as it was written, unchanged: {command('export')}"


class Pack(FrozenModel):
    """The content of a pack file. Both digests are verified when it is read."""

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


def write_pack(version: Version) -> str:
    """Return `version` as the text of a pack: indented JSON with sorted keys."""
    pack = Pack(
        name=version.name,
        number=version.number,
        digest=version.digest,
        rubric=version.rubric,
        provenance=version.provenance,
        provenance_digest=version.provenance_digest,
        effort=version.effort,
        parent=version.parent,
        created=version.created,
    )
    return json.dumps(pack.model_dump(mode="json"), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def read_pack(text: str, where: str) -> Pack:
    """Return the pack in `text`; `where` names the file in errors.

    Raises:
        PackError: if it is no pack, has another format, has a missing, unknown or invalid field or one beyond the
            limits of `rubriclab.bounds`, does not match its digests, or is unusable for scoring.
    """
    raw = _parse(text, where)
    if raw.get("format") != FORMAT:
        raise PackError(
            f"{where}: format: expected {FORMAT!r}, got {describe(raw.get('format'))}.",
            "It may come from a newer rubriclab.",
        )
    for field in ("digest", "provenance_digest"):
        if not raw.get(field):
            raise PackError(
                f"{where}: {field}: missing.", f"A pack needs its digests; write it with: {command('export')}"
            )
    if beyond := first_bounds_fault(raw):
        raise PackError(f"{where}: {beyond}.", _EXPORT)
    try:
        pack = Pack.model_validate(raw)
        check_name(pack.name)
    except ValidationError as error:
        raise PackError(f"{where}: {faults(error)}.", _EXPORT) from None
    except StoreError as error:
        raise PackError(f"{where}: name: {error.message}", error.hint) from None
    _check_digest(where, pack, "digest", "rubric")
    _check_digest(where, pack, "provenance_digest", "provenance")
    # A moment has several forms.
    if path := _difference(pack.model_dump(mode="json") | {"created": None}, raw | {"created": None}):
        raise PackError(f"{where}: {path}: not as rubriclab writes it.", "Fields may be neither added nor left out.")
    if unsound := first_soundness_fault(pack.rubric, pack.provenance):
        raise PackError(f"{where}: {unsound}.", _EXPORT)
    return pack


def import_pack(store: Store, pack: Pack, name: str | None = None) -> Version:
    """Return the version of `store` that holds the pack's rubric under `name` (by default the pack's own).

    It gets the next number of that name, the newest version as its parent, and the pack's provenance and date. If the
    newest version has the same rubric and provenance, that one is returned. A new version counts as imported: the judge
    and addresses that it names are used only after `Store.confirm`.
    """
    origin = PackOrigin(f"{pack.name}@{pack.number}", pack.created)
    return store.save(name or pack.name, pack.rubric, pack.provenance, pack.effort, origin=origin)


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        raw = parse_json(text)
    except Unreadable as error:
        raise PackError(f"{where} is no pack: {error}.", _EXPORT) from None
    if not isinstance(raw, dict):
        raise PackError(f"{where} is no pack: expected a JSON object, found {type(raw).__name__}.", _EXPORT)
    return raw


def _check_digest(where: str, pack: Pack, field: str, content: Literal["rubric", "provenance"]) -> None:
    """Refuse content with another digest."""
    model = getattr(pack, content)
    if model.digest != getattr(pack, field):
        raise PackError(
            f"{where}: {field}: the {content} was changed after it was exported: its digest is {model.digest}, "
            f"not {getattr(pack, field)}.",
            _EXPORT,
        )


def _difference(read: JsonValue, written: JsonValue, path: str = "") -> str | None:
    """Return the path of the first difference between two JSON values, if any; `true` is not 1."""
    if isinstance(read, dict) and isinstance(written, dict):
        for key in sorted(read.keys() | written.keys()):
            if key not in read or key not in written:
                return f"{path}{key}"
            if difference := _difference(read[key], written[key], f"{path}{key}."):
                return difference
        return None
    if isinstance(read, list) and isinstance(written, list) and len(read) == len(written):
        pairs = enumerate(zip(read, written, strict=True))
        return next(filter(None, (_difference(a, b, f"{path}{i}.") for i, (a, b) in pairs)), None)
    same = read == written and isinstance(read, bool) == isinstance(written, bool)
    return None if same else path.removesuffix(".")

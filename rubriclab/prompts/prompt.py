"""A prompt is a value: a template's name, its fields and the model of the reply.

Most replies have one entry for each thing that a prompt asks about. The reply's model is made for the ids of these
things, so a server that follows the JSON schema can neither leave an entry out nor add one. In replies of other
servers, an entry is recognised by its id, or by the name of what it is about. If no entry of a kind is recognised by
either, but their number is right, the entries of this kind are recognised by their order.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, get_args

import pydantic

R = TypeVar("R", bound=pydantic.BaseModel)

# A field of the validation context: set if the reply failed twice, so that only its usable entries count.
SALVAGE = "salvage"
# Characters of an unusable reply that its repair quotes, so that an endless reply is not paid for again in full.
MAX_QUOTED = 4000


def is_salvage(info: pydantic.ValidationInfo) -> bool:
    return bool(info.context and info.context.get(SALVAGE))


class HiddenFormReply(pydantic.BaseModel):
    """A reply whose form the prompt does not show."""


@dataclass(frozen=True, slots=True)
class Repair:
    """An unusable reply, abridged if it is long, and what is wrong with it."""

    reply: str
    complaint: str


@dataclass(frozen=True, slots=True, eq=False)
class Prompt(Generic[R]):
    """One request to a judge. Prompts are compared by identity, as their fields have no hash.

    Attributes:
        name: the template, as `method/template`.
        fields: the values of the template's variables; JSON types only.
        reply: the model of the reply. Its fields are requested in order, so reasoning comes before the verdict. Checks
            that depend on the request (the scale, the requested ids) find `fields` in the validation context.
        max_tokens: the longest useful reply in tokens; longer ones are cut off and fail.
        sample: the number of this request among several that ask for independent answers.
        alternatives: how many of the most likely tokens are reported, with their probabilities, at each position of the
            reply, if the judge supports it; 0 requests none. Providers report at most 20.
        repair: the earlier reply to the same prompt, if it was unusable.
        offline: returns the offline judge's answer from the fields; `None` if the offline judge has an answer of its
            own for the template, or cannot answer.
    """

    name: str
    fields: Mapping[str, Any]
    reply: type[R]
    temperature: float = 0.0
    max_tokens: int = 1024
    sample: int = 0
    alternatives: int = 0
    repair: Repair | None = None
    offline: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None

    def repaired(self, reply: str, complaint: str) -> Prompt[R]:
        """Return the prompt that asks again after `reply`, which cannot be used; `complaint` says why."""
        if len(reply) > MAX_QUOTED:
            half, n_left_out = MAX_QUOTED // 2, len(reply) - MAX_QUOTED
            reply = f"{reply[:half]}\n[… {n_left_out:,} characters are left out here …]\n{reply[-half:]}"
        return replace(self, repair=Repair(reply, complaint))


# The ways in which an entry is recognised, the most certain one first.
ReadBy = Literal["id", "name", "order"]
# Fields with explanations: in salvage mode they may be missing, and two entries may differ in them.
REASON_FIELDS = frozenset({"reason", "reasoning", "thought"})
# The fields by which an entry of a list says what it is about.
_ID_FIELDS = ("id", "name", "criterion", "question", "sentence", "text")
# A model may copy an id with its brackets or markers, or format it like the beginning of a line.
AROUND_ID = " \t\n[](){}<>*_`~\"'“”‘’.:#"
_AFTER_ID = re.compile(r"[\]:,]")  # what can follow an id in a key, as in "h1: Clarity"
_NUMBERED_KEY = re.compile(r"(\D*)(\d{1,6})")  # a prefix and a number, such as h1


@dataclass(frozen=True, slots=True)
class ExpectedEntry:
    """Something that a prompt asks about.

    Attributes:
        form: the type of the entry: a model, or a single value.
        kind: where entries are recognised by their order, it is their order among those of the same kind.
        names: what a judge may call the entry instead of its id.
    """

    id: str
    form: Any
    kind: str = ""
    names: tuple[str, ...] = ()


class KeyedReply(pydantic.BaseModel):
    """One entry for each id, in the order given."""

    expected: ClassVar[tuple[ExpectedEntry, ...]] = ()
    after_text: ClassVar[bool] = False
    _read_by: ReadBy = pydantic.PrivateAttr(default="id")

    @property
    def entries(self) -> dict[str, Any]:
        """The entries by id, in the order expected; only the usable ones in salvage mode."""
        names = _field_names(self.expected)
        values = {each.id: getattr(self, name) for each, name in zip(self.expected, names, strict=True)}
        return {id_: value for id_, value in values.items() if value is not None}

    @property
    def read_by(self) -> ReadBy:
        """The least certain way in which any entry was recognised, also within entries."""
        ways = {self._read_by} | {entry.read_by for entry in self.entries.values() if isinstance(entry, KeyedReply)}
        return max(ways, key=get_args(ReadBy).index)

    @pydantic.model_validator(mode="wrap")
    @classmethod
    def _recognise(
        cls, raw: Any, handler: pydantic.ModelWrapValidatorHandler[Self], info: pydantic.ValidationInfo
    ) -> Self:
        if isinstance(raw, list):
            raw = {"": raw}  # read like an object that holds only this list
        if not isinstance(raw, dict):
            return handler(raw)
        read_by: ReadBy = "id"
        if raw.keys() == {each.id for each in cls.expected}:
            entries = {id_: _ValuesOfId((value,)) for id_, value in raw.items()}
        else:
            entries, read_by = _Recognition(cls.expected, raw).recognise()
        salvage = is_salvage(info)
        placeholders = dict.fromkeys(each.id for each in cls.expected) if salvage else {}
        reply = handler(placeholders | entries)
        if salvage and not reply.entries:
            raise ValueError("no entry is usable")
        reply._read_by = read_by
        return reply


@functools.lru_cache(maxsize=512)
def keyed_reply(
    expected: tuple[ExpectedEntry, ...], *, after_text: bool = False, base: type[KeyedReply] = KeyedReply
) -> type[KeyedReply]:
    """Return the reply model with an entry for each of `expected`; prompts show it after the text if `after_text`."""
    fields: dict[str, Any] = {
        name: (
            Annotated[each.form, pydantic.WrapValidator(functools.partial(_usable_entry, form=each.form))],
            pydantic.Field(alias=each.id),
        )
        for name, each in zip(_field_names(expected), expected, strict=True)
    }
    model = pydantic.create_model("Reply", __base__=base, __doc__=None, **fields)
    model.expected, model.after_text = expected, after_text
    return model


def known_keys(reply: type[pydantic.BaseModel]) -> Iterator[str]:
    """Yield the keys that a reply and its entries may have, and the other names by which entries are recognised."""
    for name, field in reply.model_fields.items():
        yield field.alias or name
    if issubclass(reply, KeyedReply):
        for entry in reply.expected:
            yield from entry.names
            if _is_model(entry.form):
                yield from known_keys(entry.form)


def shown_form(reply: type[KeyedReply]) -> str:
    schema = reply.model_json_schema()
    return _form_text(schema, schema.get("$defs", {}))


def _field_names(expected: Sequence[ExpectedEntry]) -> list[str]:
    return [f"entry_{number}" for number in range(len(expected))]


def _is_model(form: Any) -> bool:
    return isinstance(form, type) and issubclass(form, pydantic.BaseModel)


def _form_text(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[1]]
    if "properties" in schema:
        members, forms = list[str](), list[str]()
        for key, value in schema["properties"].items():
            form = _form_text(value, definitions)
            # If nested objects have the same form, as for several texts, only the first is written out.
            shown = "{...}" if form in forms and form.count("{") > 1 else form
            members.append(f"{json.dumps(key, ensure_ascii=False)}: {shown}")
            forms.append(form)
        return "{" + ", ".join(members) + "}"
    if "anyOf" in schema:
        alternatives = [_form_text(each, definitions).strip("<>") for each in schema["anyOf"]]
        return "<" + ", or ".join(alternatives) + ">"
    match schema:
        case {"enum": words}:
            return f'"{" | ".join(map(str, words))}"'
        case {"type": "array", "items": items}:
            return f"[{_form_text(items, definitions)}, ...]"
        case {"minimum": low, "maximum": high}:
            return f"<{low:g} to {high:g}>"
    values_by_type = {"integer": "<number>", "number": "<number>", "boolean": "<true or false>"}
    return values_by_type.get(str(schema.get("type")), '"..."')


@dataclass(frozen=True, slots=True)
class _ValuesOfId:
    values: tuple[Any, ...]


def _usable_entry(
    value: Any, handler: pydantic.ValidatorFunctionWrapHandler, info: pydantic.ValidationInfo, *, form: Any
) -> Any:
    """Return the entry; in salvage mode `None` if it is invalid, or differs from another one with the same id."""
    values = value.values if isinstance(value, _ValuesOfId) else ()
    if not is_salvage(info):
        if len(values) > 1:
            raise ValueError(f"one entry was expected; got {len(values)}")
        return handler(_unwrap(values[0], form))
    try:
        entries = [handler(_add_empty_reasons(_unwrap(each, form), form)) for each in values]
    except pydantic.ValidationError:
        return None
    contents: list[Any] = []
    for entry in entries:
        if isinstance(entry, pydantic.BaseModel):
            # Reasons may differ, unless the entry has nothing else.
            contents.append(entry.model_dump(exclude=set(REASON_FIELDS)) or entry.model_dump())
        else:
            contents.append(entry)
    return entries[0] if entries and all(content == contents[0] for content in contents) else None


def _unwrap(item: Any, form: Any) -> Any:
    """Return the item. Of an object that should be a single value, return the only value besides id and reasons."""
    if not isinstance(item, dict) or _is_model(form):
        return item
    values = [value for key, value in item.items() if key not in REASON_FIELDS and key not in _ID_FIELDS]
    return values[0] if len(values) == 1 else item


def _add_empty_reasons(item: Any, form: Any) -> Any:
    """Return the item as an object with the fields of its model, `form`, and with empty reasons if it has none."""
    if not _is_model(form) or issubclass(form, KeyedReply):
        return item
    content_names = [name for name in form.model_fields if name not in REASON_FIELDS]
    if not isinstance(item, dict | list) and len(content_names) == 1:
        item = {content_names[0]: item}
    if not isinstance(item, dict):
        return item
    empty_reasons = {name: "" for name in form.model_fields if name in REASON_FIELDS}
    return empty_reasons | {name: value for name, value in item.items() if value is not None}


# Stands for each recognised entry among the values of its group.
_RECOGNISED = object()


@dataclass(frozen=True, slots=True)
class _Entry:
    key: str | None
    value: Any
    group: int


class _Recognition:
    def __init__(self, expected: Sequence[ExpectedEntry], raw: Mapping[Any, Any]) -> None:
        self._expected = expected
        self._id_by_key = _unambiguous((_normalize_key(each.id), each.id) for each in expected)
        self._id_by_name = _unambiguous((_normalize_key(name), each.id) for each in expected for name in each.names)
        self._raw_entries = list(self._entries_in(raw))

    def recognise(self) -> tuple[dict[str, _ValuesOfId], ReadBy]:
        """Return the values of the recognised entries by id, and the least certain way in which one was recognised."""
        entries_by_id: dict[str, list[Any]] = {}
        read_by: ReadBy = "id"
        groups: dict[int, list[Any]] = {}
        ids_at_top: set[str] = set()
        shifted = self._shifted_prefixes()
        for entry in self._raw_entries:
            id_, entry_read_by = self._find(entry.key)
            numbered = _NUMBERED_KEY.fullmatch(_normalize_key(entry.key or ""))
            if numbered and numbered[1] in shifted:
                continue  # its number names another entry than the judge meant
            groups.setdefault(entry.group, []).append(_RECOGNISED if id_ else entry.value)
            if id_ is None:
                continue
            entries_by_id.setdefault(id_, []).append(entry.value)
            if entry.group == 0:
                ids_at_top.add(id_)
            if entry_read_by == "name":
                read_by = "name"
        if ids_at_top:
            # Entries elsewhere, as in a verdict that the reply quotes, may contradict one at the top, but add no other.
            return {id_: _ValuesOfId(tuple(entries_by_id[id_])) for id_ in entries_by_id if id_ in ids_at_top}, read_by
        unrecognised_groups = [values for values in groups.values() if _RECOGNISED not in values]
        if not shifted and (in_order := self._assign_by_order(entries_by_id, unrecognised_groups)):
            entries_by_id |= {id_: [value] for id_, value in in_order.items()}
            read_by = "order"
        return {id_: _ValuesOfId(tuple(values)) for id_, values in entries_by_id.items()}, read_by

    def _entries_in(self, raw: Mapping[Any, Any]) -> Iterator[_Entry]:
        """Yield the entries at the top of a reply (group 0), and of each list or object in it (groups from 1)."""
        is_flat = not any(_is_model(each.form) and issubclass(each.form, KeyedReply) for each in self._expected)
        for group, (key, value) in enumerate(raw.items(), 1):
            objects = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
            has_entries = False
            if isinstance(value, dict):
                holds_objects = bool(value) and all(isinstance(inner, dict) for inner in value.values())
                has_entries = (is_flat and holds_objects) or any(self._id_of(inner_key) for inner_key in value)
            if self._id_of(key) or not (objects or has_entries):
                yield _Entry(key, value, 0)
            elif has_entries:
                yield from (_Entry(inner_key, inner, group) for inner_key, inner in value.items())
            else:
                for item in objects:
                    ids = [str(item[name]) for name in _ID_FIELDS if type(item.get(name)) in (str, int)]
                    yield _Entry(ids[0] if ids else None, item, group)

    def _id_of(self, key: Any) -> str | None:
        return self._find(key)[0]

    def _find(self, key: Any) -> tuple[str | None, ReadBy]:
        """Return the id that a key means, or `None`, and whether the key was read as an id or as a name."""
        if not isinstance(key, str):
            return None, "id"
        if any(key == each.id for each in self._expected):
            return key, "id"
        normalized = _normalize_key(key)
        before_mark = _AFTER_ID.split(key.strip(AROUND_ID))[0]
        id_ = self._id_by_key.get(normalized) or self._id_by_key.get(_normalize_key(before_mark))
        return (id_, "id") if id_ else (self._id_by_name.get(normalized), "name")

    def _shifted_prefixes(self) -> set[str]:
        """Return the prefixes of keys whose numbers are all shifted, such as h for h0 and h1 instead of h1 and h2."""
        numbers_by_prefix = _numbers_by_prefix(entry.key for entry in self._raw_entries if entry.key is not None)
        expected_by_prefix = _numbers_by_prefix(key for each in self._expected for key in (each.id, *each.names))
        shifted: set[str] = set()
        for prefix, numbers in numbers_by_prefix.items():
            expected = expected_by_prefix.get(prefix, set())
            if len(numbers) == len(expected):
                shifts = {got - wanted for got, wanted in zip(sorted(numbers), sorted(expected), strict=True)}
                if len(shifts) == 1 and 0 not in shifts:
                    shifted.add(prefix)
        return shifted

    def _assign_by_order(self, entries_by_id: Mapping[str, Any], groups: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Return the values of the groups by the ids of unrecognised kinds, in order; `{}` if the numbers differ."""
        kinds: dict[str, list[ExpectedEntry]] = {}
        for each in self._expected:
            kinds.setdefault(each.kind, []).append(each)
        unrecognised = [kind for kind in kinds.values() if not any(each.id in entries_by_id for each in kind)]
        if any(_is_model(each.form) for each in self._expected):
            groups = [[value for value in values if isinstance(value, dict)] for values in groups]
        groups = [values for values in groups if values]
        if list(map(len, groups)) != list(map(len, unrecognised)):
            return {}
        return {each.id: value for each, value in zip(chain(*unrecognised), chain(*groups), strict=True)}


def _normalize_key(key: str) -> str:
    return " ".join(key.strip(AROUND_ID).casefold().split())


def _unambiguous(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the id of each normalized key; a key that is empty or stands for several ids is left out."""
    ids: dict[str, set[str]] = {}
    for key, id_ in pairs:
        ids.setdefault(key, set()).add(id_)
    return {key: next(iter(ids_of_key)) for key, ids_of_key in ids.items() if len(ids_of_key) == 1 and key}


def _numbers_by_prefix(keys: Iterable[str]) -> dict[str, set[int]]:
    """Return the numbers that end the keys, by what precedes them: `{"h": {1, 2}}` for h1 and h2."""
    numbers: dict[str, set[int]] = {}
    for key in keys:
        if numbered := _NUMBERED_KEY.fullmatch(_normalize_key(key)):
            numbers.setdefault(numbered[1], set()).add(int(numbered[2]))
    return numbers

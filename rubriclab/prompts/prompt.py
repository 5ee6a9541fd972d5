"""A prompt is a value: a template's name, its fields and the pydantic class of the reply.

Most replies have one entry for each thing that a prompt asks about, such as a criterion. `keyed_reply` makes the
reply's class for the ids of these things, so a server that follows the JSON schema can neither leave an entry out nor
add one. In replies of other servers, an entry is recognized by its id, or by the name of what it is about. If no entry
of a kind has a known id or name, but their number is right, the entries of this kind are recognized by their order.

In salvage mode, after a reply and its repair have failed, the usable entries of a reply are enough.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, get_args

import pydantic

R = TypeVar("R", bound=pydantic.BaseModel)

# The key that the validation context has in salvage mode.
SALVAGE = "salvage"
# Maximum number of characters that a repair quotes from an unusable reply, so that an endless reply is not paid twice.
MAX_QUOTED = 4000


def tolerates_faults(info: pydantic.ValidationInfo) -> bool:
    """Return whether a reply is validated in salvage mode, in which its faulty entries are left out."""
    return bool(info.context and info.context.get(SALVAGE))


class HiddenFormReply(pydantic.BaseModel):
    """A reply whose form the prompt does not show."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repeated prompt quotes: an unusable reply, abridged if it is long, and what is wrong with it."""

    reply: str
    complaint: str


@dataclass(frozen=True, slots=True, eq=False)
class Prompt(Generic[R]):
    """One request to a judge. Prompts are compared by identity, since their fields have no hash.

    Attributes:
        name: the template, as `method/template`.
        fields: the values of the template's variables; JSON types only.
        reply: the class of the reply. Its fields are requested in order, so reasoning comes before the score. Checks
            that depend on the request (the scale, the requested ids) find `fields` in the validation context.
        max_tokens: the longest useful reply in tokens; longer ones are cut off and fail.
        sample: a number by which otherwise equal requests differ, so that each gets an answer of its own.
        alternatives: how many of the most likely tokens at each position of the reply are reported with their
            probabilities, if the judge can; providers report at most 20. 0 requests none.
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


# The ways in which an entry is recognized, the most certain one first.
ReadBy = Literal["id", "name", "order"]
# Fields with explanations. In salvage mode they may be missing, and two values for one id may differ in them.
REASON_FIELDS = frozenset({"reason", "reasoning", "thought"})
# The fields by which an entry of a list says what it is about.
_ID_FIELDS = ("id", "name", "criterion", "question", "sentence", "text")
# A language model may copy an id with its brackets, or write it in Markdown, such as `**h1**` or `# h1.`
AROUND_ID = " \t\n[](){}<>*_`~\"'“”‘’.:#"
_AFTER_ID = re.compile(r"[\]:,]")  # what can follow an id in a key, as in "h1: Clarity"
_NUMBERED_KEY = re.compile(r"(\D*)(\d{1,6})")  # a prefix and a number, such as h1


@dataclass(frozen=True, slots=True)
class ExpectedEntry:
    """Something that a prompt asks about.

    Attributes:
        entry_type: a pydantic model, or the type of a single value, such as `float`.
        kind: such as `question`; entries are recognized by order only if no id or name of their kind is recognized.
        names: what a judge may call the entry instead of its id.
    """

    id: str
    entry_type: Any
    kind: str = ""
    names: tuple[str, ...] = ()


class KeyedReply(pydantic.BaseModel):
    """A reply with an entry for each id in `expected`, in this order."""

    expected: ClassVar[tuple[ExpectedEntry, ...]] = ()
    form_after_text: ClassVar[bool] = False  # for a form that differs between texts: prompts then still begin alike
    _read_by: ReadBy = pydantic.PrivateAttr(default="id")

    @property
    def entries(self) -> dict[str, Any]:
        """The entries by id, in the order expected; only the usable ones in salvage mode."""
        values = {each.id: getattr(self, f"entry_{number}") for number, each in enumerate(self.expected)}
        return {id_: value for id_, value in values.items() if value is not None}

    @property
    def read_by(self) -> ReadBy:
        """The least certain of the ways in which the entries, and the entries within entries, were recognized."""
        ways = {self._read_by} | {entry.read_by for entry in self.entries.values() if isinstance(entry, KeyedReply)}
        return max(ways, key=get_args(ReadBy).index)

    @pydantic.model_validator(mode="wrap")
    @classmethod
    def _recognize(
        cls, raw: Any, handler: pydantic.ModelWrapValidatorHandler[Self], info: pydantic.ValidationInfo
    ) -> Self:
        if isinstance(raw, list):
            raw = {"": raw}  # read like an object that holds only this list
        if not isinstance(raw, dict):
            return handler(raw)
        read_by: ReadBy = "id"
        if raw.keys() == {each.id for each in cls.expected}:
            values_by_id = {id_: [value] for id_, value in raw.items()}
        else:
            values_by_id, read_by = _Recognition(cls.expected, raw).recognize()
        if tolerates_faults(info):
            values_by_id = {each.id: [] for each in cls.expected} | values_by_id
        reply = handler(values_by_id)
        if tolerates_faults(info) and not reply.entries:
            raise ValueError("no entry is usable")
        reply._read_by = read_by
        return reply


@functools.lru_cache(maxsize=512)
def keyed_reply(
    expected: tuple[ExpectedEntry, ...], *, form_after_text: bool = False, base: type[KeyedReply] = KeyedReply
) -> type[KeyedReply]:
    """Return the class of replies with an entry for each of `expected`."""
    fields: dict[str, Any] = {}
    for number, each in enumerate(expected):
        validator = pydantic.WrapValidator(functools.partial(_usable_entry, entry_type=each.entry_type))
        fields[f"entry_{number}"] = (Annotated[each.entry_type, validator], pydantic.Field(alias=each.id))
    model = pydantic.create_model("Reply", __base__=base, __doc__=None, **fields)
    model.expected, model.form_after_text = expected, form_after_text
    return model


def known_keys(reply: type[pydantic.BaseModel]) -> Iterator[str]:
    """Yield the keys that a reply and its entries may have, and the other names by which entries are recognized."""
    for name, field in reply.model_fields.items():
        yield field.alias or name
    if issubclass(reply, KeyedReply):
        for entry in reply.expected:
            yield from entry.names
            if _is_model(entry.entry_type):
                yield from known_keys(entry.entry_type)


def _is_model(entry_type: Any, base: type[pydantic.BaseModel] = pydantic.BaseModel) -> bool:
    return isinstance(entry_type, type) and issubclass(entry_type, base)


def _usable_entry(
    values: list[Any], handler: pydantic.ValidatorFunctionWrapHandler, info: pydantic.ValidationInfo, *, entry_type: Any
) -> Any:
    """Return the entry for an id. `values` has what the reply gave for this id; one value is expected.

    In salvage mode, return `None` if a value is invalid, or if two values differ in more than their reasons.
    """
    values = [_unwrap(each, entry_type) for each in values]
    if not tolerates_faults(info):
        if len(values) > 1:
            raise ValueError(f"one entry was expected; got {len(values)}")
        return handler(values[0])
    try:
        entries = [handler(_with_empty_reasons(each, entry_type)) for each in values]
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


def _unwrap(value: Any, entry_type: Any) -> Any:
    """Return the value. From an object in place of a single value, take its only field besides ids and reasons."""
    if not isinstance(value, dict) or _is_model(entry_type):
        return value
    fields = [field for name, field in value.items() if name not in REASON_FIELDS and name not in _ID_FIELDS]
    return fields[0] if len(fields) == 1 else value


def _with_empty_reasons(value: Any, entry_type: Any) -> Any:
    """Return the value as an object with the fields of `entry_type` if it is a model; missing reasons become empty."""
    if not _is_model(entry_type) or issubclass(entry_type, KeyedReply):
        return value
    content_names = [name for name in entry_type.model_fields if name not in REASON_FIELDS]
    if not isinstance(value, dict | list) and len(content_names) == 1:
        value = {content_names[0]: value}
    if not isinstance(value, dict):
        return value
    empty_reasons = {name: "" for name in entry_type.model_fields if name in REASON_FIELDS}
    return empty_reasons | {name: field for name, field in value.items() if field is not None}


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of a reply as it came. `group` is the number of the list or object around it, 0 for the reply itself."""

    key: str | None
    value: Any
    group: int


class _Recognition:
    """Reads a reply whose keys are not the expected ids: finds its entries, and the id that each belongs to."""

    def __init__(self, expected: Sequence[ExpectedEntry], raw: Mapping[Any, Any]) -> None:
        self._expected = expected
        self._id_by_key = _unambiguous_ids((_normalize_key(each.id), each.id) for each in expected)
        self._id_by_name = _unambiguous_ids((_normalize_key(name), each.id) for each in expected for name in each.names)
        self._raw_entries = list(self._entries_in(raw))

    def recognize(self) -> tuple[dict[str, list[Any]], ReadBy]:
        """Return each id's values in the reply, and the least certain of the ways in which entries were recognized."""
        values_by_id: dict[str, list[Any]] = {}
        read_by: ReadBy = "id"
        ids_at_top: set[str] = set()
        groups_with_ids: set[int] = set()
        unrecognized_by_group: dict[int, list[Any]] = {}
        misnumbered_prefixes = self._misnumbered_prefixes()
        for entry in self._raw_entries:
            numbered = _NUMBERED_KEY.fullmatch(_normalize_key(entry.key or ""))
            if numbered and numbered[1] in misnumbered_prefixes:
                continue  # the key may be the id of another entry: h0 and h1 may stand for h1 and h2
            id_, entry_read_by = self._read_key(entry.key)
            if id_ is None:
                unrecognized_by_group.setdefault(entry.group, []).append(entry.value)
                continue
            values_by_id.setdefault(id_, []).append(entry.value)
            groups_with_ids.add(entry.group)
            if entry.group == 0:
                ids_at_top.add(id_)
            if entry_read_by == "name":
                read_by = "name"
        if ids_at_top:
            # If an inner object repeats one of these ids, both values are kept, so that a contradiction is noticed.
            return {id_: values for id_, values in values_by_id.items() if id_ in ids_at_top}, read_by
        groups = [values for group, values in unrecognized_by_group.items() if group not in groups_with_ids]
        in_order = {} if misnumbered_prefixes else self._assign_by_order(values_by_id, groups)
        if in_order:
            return values_by_id | {id_: [value] for id_, value in in_order.items()}, "order"
        return values_by_id, read_by

    def _entries_in(self, raw: Mapping[Any, Any]) -> Iterator[_Entry]:
        # An object of objects is read as several entries, unless an expected entry is itself an object of objects.
        is_flat = not any(_is_model(each.entry_type, KeyedReply) for each in self._expected)
        for group, (key, value) in enumerate(raw.items(), 1):
            inner_object = value if isinstance(value, dict) else {}
            has_only_objects = bool(inner_object) and all(isinstance(each, dict) for each in inner_object.values())
            objects_in_list = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
            if self._id_of(key):
                yield _Entry(key, value, 0)
            elif (is_flat and has_only_objects) or any(self._id_of(inner_key) for inner_key in inner_object):
                yield from (_Entry(inner_key, each, group) for inner_key, each in inner_object.items())
            elif objects_in_list:
                for each in objects_in_list:
                    ids = [str(each[name]) for name in _ID_FIELDS if type(each.get(name)) in (str, int)]
                    yield _Entry(ids[0] if ids else None, each, group)
            else:
                yield _Entry(key, value, 0)

    def _id_of(self, key: Any) -> str | None:
        return self._read_key(key)[0]

    def _read_key(self, key: Any) -> tuple[str | None, ReadBy]:
        """Return the id that a key means, or `None`, and whether the key was recognized as an id or a name."""
        if not isinstance(key, str):
            return None, "id"
        if any(key == each.id for each in self._expected):
            return key, "id"
        normalized = _normalize_key(key)
        before_mark = _AFTER_ID.split(key.strip(AROUND_ID))[0]
        id_ = self._id_by_key.get(normalized) or self._id_by_key.get(_normalize_key(before_mark))
        return (id_, "id") if id_ else (self._id_by_name.get(normalized), "name")

    def _misnumbered_prefixes(self) -> set[str]:
        """Return the prefixes of keys whose numbers are all shifted, such as h for h0 and h1 instead of h1 and h2."""
        numbers_by_prefix: dict[str, set[int]] = {}
        expected_by_prefix: dict[str, set[int]] = {}
        reply_keys = [entry.key for entry in self._raw_entries if entry.key is not None]
        expected_keys = [key for each in self._expected for key in (each.id, *each.names)]
        for by_prefix, keys in ((numbers_by_prefix, reply_keys), (expected_by_prefix, expected_keys)):
            for key in keys:
                if numbered := _NUMBERED_KEY.fullmatch(_normalize_key(key)):
                    by_prefix.setdefault(numbered[1], set()).add(int(numbered[2]))
        shifted: set[str] = set()
        for prefix, numbers in numbers_by_prefix.items():
            expected_numbers = expected_by_prefix.get(prefix, set())
            if len(numbers) == len(expected_numbers):
                pairs = zip(sorted(numbers), sorted(expected_numbers), strict=True)
                shifts = {number - expected_number for number, expected_number in pairs}
                if len(shifts) == 1 and 0 not in shifts:
                    shifted.add(prefix)
        return shifted

    def _assign_by_order(self, values_by_id: Mapping[str, Any], groups: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Match groups, in order, to kinds without recognized entries; return values by id, `{}` if sizes differ."""
        entries_by_kind: dict[str, list[ExpectedEntry]] = {}
        for each in self._expected:
            entries_by_kind.setdefault(each.kind, []).append(each)
        kinds = entries_by_kind.values()
        missing_kinds = [entries for entries in kinds if not any(each.id in values_by_id for each in entries)]
        if any(_is_model(each.entry_type) for each in self._expected):
            groups = [[value for value in values if isinstance(value, dict)] for values in groups]
        groups = [values for values in groups if values]
        if list(map(len, groups)) != list(map(len, missing_kinds)):
            return {}
        return {each.id: value for each, value in zip(chain(*missing_kinds), chain(*groups), strict=True)}


def _normalize_key(key: str) -> str:
    return " ".join(key.strip(AROUND_ID).casefold().split())


def _unambiguous_ids(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the id of each normalized key; a key that is empty or stands for several ids is left out."""
    ids: dict[str, set[str]] = {}
    for key, id_ in pairs:
        ids.setdefault(key, set()).add(id_)
    return {key: next(iter(ids_of_key)) for key, ids_of_key in ids.items() if len(ids_of_key) == 1 and key}

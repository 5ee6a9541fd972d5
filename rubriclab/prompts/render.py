"""Messages rendered from templates.

A template is a prose file `prompts/METHOD/NAME.md` in jinja2. Each turn is opened by a line `=== system`, `=== user` or
`=== assistant`; the last turn is the user's. Lines `=== input` and `=== text` can divide that turn into parts, since
providers cache the beginning of a prompt. The first part is the same for all texts, the part `input` for all texts with
the same input; the part `text` has the text itself. The filter `fenced` inserts texts that users or judges wrote.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from pydantic import BaseModel

from rubriclab.models.base import digest, digest_text, load_patterns
from rubriclab.models.text import format_score
from rubriclab.prompts.prompt import HiddenFormReply, KeyedReply, Prompt

if TYPE_CHECKING:
    from jinja2 import Environment


FOLDER = Path(__file__).parent
_INCLUDE = re.compile(r'\{% include "(shared/[\w.]+)" %\}')
_OPENING_LINE = re.compile(r"^=== (system|user|assistant|input|text)\n", re.MULTILINE)
_ROLES = ("system", "user", "assistant")
_BLANK_LINE = "\n\n"
# Stands for the tag in the markers around a text until the tag is known; random, so that no text contains it.
_PLACEHOLDER = secrets.token_hex(16)
_TAG_LENGTH = 16  # hexadecimal digits: 64 bits
# A part of a turn: its text, or the function that renders the text from a prompt's fields.
_Part = str | Callable[[Mapping[str, Any]], str]
METHOD_ENTRY_POINTS = "rubriclab.methods"


class Message(TypedDict):
    """One turn of a conversation, as chat interfaces take it."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation. Other prompts may begin with the same parts, which providers then cache."""

    role: str
    parts: tuple[str, ...]

    @property
    def message(self) -> Message:
        return Message(role=self.role, content="".join(self.parts))


def render(prompt: Prompt[Any]) -> list[Message]:
    """Return the messages that ask `prompt`."""
    return [turn.message for turn in render_turns(prompt)]


def render_turns(prompt: Prompt[Any]) -> list[Turn]:
    """Return the turns that ask `prompt`, each with its parts."""
    texts_of_turns = []
    for role, parts in _template_turns(prompt.name):
        texts = [part if isinstance(part, str) else part(prompt.fields) for part in parts]
        texts_of_turns.append((role, [text.strip() for text in texts]))
    # The form of the reply stands before what differs between texts, unless the reply's class has `form_after_text`.
    _, user_texts = texts_of_turns[-1]
    reply: type[BaseModel] = prompt.reply
    form_after_text = issubclass(reply, KeyedReply) and reply.form_after_text
    if form := _form_request(reply):
        user_texts[-1 if form_after_text else 0] += _BLANK_LINE + form
    if len(user_texts) > 1 and not form_after_text:
        user_texts[-1] += f"{_BLANK_LINE}Answer with the JSON object described above and nothing else."
    rendered: list[Turn] = []
    running_hash = hashlib.sha256()
    for role, texts in texts_of_turns:
        nonempty = [text for text in texts if text] or [""]
        tagged_parts: list[str] = []
        for text in [*(text + _BLANK_LINE for text in nonempty[:-1]), nonempty[-1]]:
            # Each part gets a tag: a digest of everything up to its end. A text cannot contain the markers of its own
            # prompt, since it cannot contain its own digest. Prompts with equal first parts begin with the same bytes.
            pieces = text.split(_PLACEHOLDER)
            running_hash.update("\0".join(pieces).encode("utf-8", "surrogatepass"))
            tagged_parts.append(running_hash.hexdigest()[:_TAG_LENGTH].join(pieces))
        rendered.append(Turn(role, tuple(tagged_parts)))
    if prompt.repair:
        # Some providers refuse a turn without words, so that an empty reply would end the command.
        rendered.append(Turn("assistant", (inert(prompt.repair.reply).strip() or "(nothing)",)))
        complaint = (
            f"That reply cannot be used: {inert(prompt.repair.complaint)} Answer the same question again, with one "
            "JSON object in the form asked for and nothing around it."
        )
        rendered.append(Turn("user", (complaint,)))
    return rendered


def prompts_digest(names: Iterable[str]) -> str:
    """Return the digest of the wording of the named templates and of the passages that they include."""
    wording = {name: _template_path(name).read_text("utf-8") for name in sorted(names)}
    shared = {name for text in wording.values() for name in _included_names(text)}
    wording |= {name: (FOLDER / name).read_text("utf-8") for name in sorted(shared)}
    return digest({name: digest_text(text) for name, text in wording.items()})


def fenced(text: str, label: str) -> str:
    """Return `text`, made `inert`, between two markers with a placeholder for the tag that `render_turns` inserts."""
    return f"<<<{label} {_PLACEHOLDER}>>>\n{inert(text)}\n<<<end of {label} {_PLACEHOLDER}>>>"


@functools.lru_cache(maxsize=128)
def _form_request(reply: Any) -> str:
    if issubclass(reply, KeyedReply):
        schema = reply.model_json_schema()
        return (
            "Answer with one JSON object and nothing else: no introduction and no code fence. It has this form, with "
            f"each of these keys once and in this order:\n{_form_text(schema, schema.get('$defs', {}))}"
        )
    if issubclass(reply, HiddenFormReply):
        return ""
    schema = _untitled(reply.model_json_schema())
    return (
        "Answer with one JSON object and nothing else: no introduction, no code fence, and not the schema itself. Its "
        f"fields come in the given order and satisfy this JSON schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


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


def _untitled(schema: Any) -> Any:  # keeps a property that is called "title", whose value is a dictionary
    if isinstance(schema, dict):
        return {key: _untitled(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}
    return [_untitled(item) for item in schema] if isinstance(schema, list) else schema


def _template_path(name: str) -> Path:
    path = FOLDER / f"{name}.md"
    if path.exists():
        return path
    method, _, template = name.partition("/")
    for point in entry_points(group=METHOD_ENTRY_POINTS, name=method):
        if folder := getattr(point.load(), "templates", None):
            return Path(folder / f"{template}.md")
    return path


@functools.cache
def _template_turns(name: str) -> tuple[tuple[str, tuple[_Part, ...]], ...]:
    from jinja2 import meta

    preamble, *pieces = _OPENING_LINE.split(_template_path(name).read_text("utf-8"))
    openings, passages = pieces[::2], pieces[1::2]
    roles = [opening for opening in openings if opening in _ROLES]
    divisions = [opening for opening in openings if opening not in _ROLES]
    if preamble.strip() or roles[-1:] != ["user"]:
        raise ValueError(f"{name}: expected '=== system' or '=== user' first, and '=== user' as the last turn")
    if openings != [*roles, *divisions] or divisions not in ([], ["input"], ["text"], ["input", "text"]):
        raise ValueError(f"{name}: expected '=== input' and '=== text' at most once, in this order, in the last turn")
    parts: list[_Part] = []
    for text in passages:
        template = _environment().from_string(text)
        # A part without variables is rendered once, any other with each prompt. An included passage may have variables.
        is_constant = not meta.find_undeclared_variables(_environment().parse(text)) and not _INCLUDE.search(text)
        parts.append(template.render() if is_constant else template.render)
    first_turns = [(role, (part,)) for role, part in zip(roles[:-1], parts, strict=False)]
    return (*first_turns, (roles[-1], tuple(parts[len(first_turns) :])))


def _included_names(template: str) -> set[str]:
    names = set(_INCLUDE.findall(template))
    return names.union(*(_included_names((FOLDER / name).read_text("utf-8")) for name in names))


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    loader = FunctionLoader(lambda name: (FOLDER / name).read_text("utf-8"))
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["fenced"] = fenced
    environment.filters["show"] = format_score
    return environment


_CONTROL_TOKEN_START = load_patterns(FOLDER / "control_tokens.toml")["control"]
# Unicode's tag characters repeat ASCII invisibly. Their only use is in the flags of England, Scotland and Wales.
_ALLOWED_FLAGS = "|".join(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
# One variation selector chooses the form of the character before it; a run of them can only hide bytes.
_HIDDEN = re.compile(
    f"{_ALLOWED_FLAGS}|(?P<ascii>[\U000e0000-\U000e007f]+)|(?P<bytes>[\ufe00-\ufe0f\U000e0100-\U000e01ef]{{2,}})"
)
# Searching for these characters takes a tenth of the time that `_HIDDEN` takes, and most texts have none.
_MAY_HIDE = re.compile("[\ufe00-\ufe0f\U000e0000-\U000e01ef]")


def inert(text: str) -> str:
    """Return `text` with control tokens and the markers of `fenced` broken up, and with hidden text written out.

    A tokenizer can turn `<|im_end|>` inside a text into the token that ends the turn. `_CONTROL_TOKEN_START` matches
    the first character of a token; a space is inserted after it. Joiners of emoji stay.
    """

    def reveal(match: re.Match[str]) -> str:
        if match["ascii"]:
            hidden = "".join(chr(ord(character) - 0xE0000) for character in match["ascii"])
        elif match["bytes"]:
            # Bytes 0 to 15 are written as U+FE00 to U+FE0F, and bytes from 16 as U+E0100 and on.
            codes = map(ord, match["bytes"])
            values = bytes(code - 0xFE00 if code < 0xE0100 else code - 0xE0100 + 16 for code in codes)
            hidden = values.decode("utf-8", "replace")
        else:
            return match[0]
        return f"[hidden text: {''.join(filter(str.isprintable, hidden))}]"

    if not text.isascii() and _MAY_HIDE.search(text):
        text = _HIDDEN.sub(reveal, text)
    may_have_tokens = "<" in text or "[" in text  # every control token begins with one of these
    return _CONTROL_TOKEN_START.sub(lambda match: f"{match[0]} ", text) if may_have_tokens else text

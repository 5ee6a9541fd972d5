"""Options and commands in messages, for those who type and for those who call Python."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas
import pytest

import rubriclab
from rubriclab import Example, Lab
from rubriclab.data.mapping import ReadingOptions
from rubriclab.errors import DataError, SettingsError
from rubriclab.lab import OPERATIONS
from rubriclab.ops.inputs import rows_of
from rubriclab.option_names import command, in_python, on_command_line, option, with_flags

MESSAGE = f"{option('max_calls')} is too small; give {option('scale', '1:5')}, or see {command('trust', 'a@1')}"
PACKAGE = Path(str(rubriclab.__file__)).parent


def test_a_message_names_options_as_its_reader_writes_them() -> None:
    assert in_python(MESSAGE) == "max_calls is too small; give scale='1:5', or see lab.trust('a@1')"
    assert on_command_line(MESSAGE) == "--max-calls is too small; give --scale 1:5, or see rubriclab trust a@1"


def test_options_with_a_flag_of_another_name_are_written_as_that_flag() -> None:
    assert on_command_line(f"leave {option('methods')} out", {"methods": "--method"}) == "leave --method out"


def test_options_of_another_program_are_its_flags_beside_arguments_of_python() -> None:
    flags = {"scale": "--rubric-scale", "store": "--rubric-store"}
    text = f"{MESSAGE} or {command('learn', '…', store='a.db')}"
    assert with_flags(text, flags) == (
        "max_calls is too small; give --rubric-scale 1:5, or see rubriclab trust a@1 or rubriclab learn … --store a.db"
    )


def test_commands_carry_options() -> None:
    text = command("learn", "texts.jsonl", task="story", no_literature="")
    assert in_python(text) == "lab.learn('texts.jsonl', task='story', no_literature=True)"
    assert on_command_line(text) == "rubriclab learn texts.jsonl --task story --no-literature"


def test_quoted_text_is_never_taken_for_an_option() -> None:
    quoted = "a row says {scale} and --scale and %(scale)s"
    assert in_python(quoted) == on_command_line(quoted) == quoted


def test_errors_speak_python_unless_the_command_line_prints_them() -> None:
    error = SettingsError(f"{option('max_cost')}: got -1.", f"Leave {option('max_cost')} out.")
    assert str(error) == "max_cost: got -1. Leave max_cost out."
    assert on_command_line(error.text) == "--max-cost: got -1. Leave --max-cost out."


# Hints in Python


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("labels", "200", 200),
        ("scale", "1:5", "1:5"),
        ("record", "replies.jsonl", "replies.jsonl"),
        ("mapping", "scores.coherence=COLUMN", {"scores.coherence": "COLUMN"}),
        ("settings", "checkeval.seeds=prior knowledge", {"checkeval": {"seeds": "prior knowledge"}}),
        ("settings", "hypoeval.k=3", {"hypoeval": {"k": 3}}),
    ],
)
def test_an_option_with_a_value_is_a_keyword_argument(name: str, value: str, expected: object) -> None:
    call = ast.parse(f"f({in_python(option(name, value))})", mode="eval").body
    assert isinstance(call, ast.Call)
    (keyword,) = call.keywords
    assert (keyword.arg, ast.literal_eval(keyword.value)) == (name, expected)


Placeholder = tuple[str, str, list[str], list[str | None]]


@cache
def placeholders() -> tuple[Placeholder, ...]:
    """Return every call of `option` and `command` in the package: which, its name, texts for its values, keywords."""
    return tuple(_placeholders())


def _placeholders() -> Iterator[Placeholder]:
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        taken = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "rubriclab.option_names"
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in taken & KINDS:
                name = node.args[0]
                if isinstance(name, ast.Constant):
                    keywords = [keyword.arg for keyword in node.keywords]
                    yield node.func.id, str(name.value), [_text(value) for value in node.args[1:]], keywords


KINDS = {"option", "command"}


def _text(value: ast.expr) -> str:
    """Return a literal, or an f-string with a letter in place of each value."""
    if isinstance(value, ast.JoinedStr):
        return "".join(_text(part) for part in value.values)
    return str(value.value) if isinstance(value, ast.Constant) else "x"


def known_arguments() -> set[str]:
    methods = [method for _, method in inspect.getmembers(Lab, inspect.isfunction)]
    given = {name for method in methods for name in inspect.signature(method).parameters}
    fields = {name for model, _ in OPERATIONS.values() for name in model.model_fields}
    return given | fields | {*rubriclab.JudgeOptions.model_fields}


def test_every_option_in_a_message_is_an_argument_in_python() -> None:
    found = {name for kind, name, _, _ in placeholders() if kind == "option"}
    assert len(found) > 20
    assert found - known_arguments() == set()


def test_every_hint_is_valid_python() -> None:
    for kind, name, values, keywords in placeholders():
        if kind == "option":
            ast.parse(f"f({in_python(option(name, *values))})")
            continue
        options: dict[str, Any] = {str(keyword): "x" for keyword in keywords if keyword}
        call = ast.parse(in_python(command(name, *values, **options)), mode="eval").body
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Attribute)
        method = inspect.signature(getattr(Lab, call.func.attr))
        bound = method.bind_partial(None, *call.args, **{str(keyword.arg): 0 for keyword in call.keywords})
        assert bound


def test_the_mapping_that_an_error_proposes_works_when_it_is_passed() -> None:
    frame = pandas.DataFrame({"id": ["a"], "summary": ["A summary."]})
    with pytest.raises(DataError, match="got nothing, expected a non-empty text; the columns are 'id'") as caught:
        list(rows_of(frame, ReadingOptions()))
    hint = str(caught.value).partition("mapping=")[2].removesuffix(".")
    (example,) = rows_of(frame, ReadingOptions(mapping=ast.literal_eval(hint)))
    assert isinstance(example, Example)
    assert example.output == "A summary."

"""Errors that Python's own classes catch too; options and commands in messages, for Python and the command line."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rubriclab as rl
from rubriclab.cli.options import all_long_names
from rubriclab.data.reading_options import ReadingOptions
from rubriclab.display import as_python, with_long_options
from rubriclab.errors import DataError, SettingsError
from rubriclab.ops.options import LearnOptions


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (DataError, lambda: rl.read(Path("missing.csv"))),
        (SettingsError, lambda: rl.parse_scale("1-5")),
        (SettingsError, lambda: ReadingOptions(sheet=[])),
    ],
)
def test_faulty_data_and_settings_are_value_errors(error: type[Exception], call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        call()
    assert type(caught.value) is error
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy)) == (error, str(caught.value))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mapping": {"colour": "c"}}, "There is no field 'colour' to map; the fields are output, id"),
        ({"settings": {"hypoeval.k": 3}}, "`settings`: expected the settings of each method by name"),
    ],
)
def test_an_error_of_an_option_keeps_its_message_and_its_hint(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=f"^{said}"):
        LearnOptions(task="story", aspect="structure", **options)


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("`max_calls` is too small.", "--max-calls is too small."),
        ("Give `scale=1:5`.", "Give --scale 1:5."),
        ("Leave `methods` out.", "Leave --method out."),
        ("Give `mapping=output=a text`.", "Give --map 'output=a text'."),
        ("`nothing` is no option.", "`nothing` is no option."),
        ("a row says 'the `scale` is `scale=1:5`'", "a row says 'the `scale` is `scale=1:5`'"),
        ('its reviewers\' text "`scale`" and `scale`', 'its reviewers\' text "`scale`" and --scale'),
        ("Run `rubriclab trust news@1`.", "Run `rubriclab trust news@1`."),
    ],
)
def test_the_command_line_shows_options_as_flags_but_not_in_quoted_text(message: str, typed: str) -> None:
    assert with_long_options(message, all_long_names()) == typed


def test_python_shows_options_as_arguments_but_not_in_quoted_text() -> None:
    hint = 'Give `mapping="output=Text, final",id=Nr`, `missing=99`, `settings=direct.ask=once`, `scale=1:5` or `k=3`.'
    shown = 'mapping={"output": "Text, final", "id": "Nr"}`, `missing="99"`, `settings={"direct": {"ask": "once"}}`'
    error = SettingsError("It says '`scale=1:5`'.", hint)
    assert str(error) == f"It says '`scale=1:5`'. Give `{shown}, `scale=\"1:5\"` or `k=3`."


@pytest.mark.parametrize(
    ("command", "call"),
    [
        ("learn", "lab.learn"),
        ("verify --repair", "lab.verify(repair=True)"),
        ("score TEXTS --rubric NEWS@1 --judge MODEL", 'lab.score(TEXTS, "NEWS@1", judge=MODEL)'),
        ("evaluate OTHER_LABELLED --rubric a@1 --rubric b", 'lab.evaluate(OTHER_LABELLED, ["a@1", "b"])'),
        (
            "learn LABELLED --definition 'Is it \"in\"?' --method a --literature-without a --literature-without b",
            'lab.learn(LABELLED, definition="Is it \\"in\\"?", methods=["a"], literature_without=["a", "b"])',
        ),
        ("show news@1", 'print(lab.load("news@1"))'),
        ("show 'news@1", "rubriclab show 'news@1"),
        ("transfer news@1 --to LABELLED --save", 'lab.transfer("news@1", to=LABELLED, save=True)'),
        ("batches --cancel b1", "rubriclab batches --cancel b1"),
    ],
)
def test_a_command_in_a_message_is_a_call_in_python_if_there_is_one(command: str, call: str) -> None:
    assert as_python(f"Run: `rubriclab {command}`") == f"Run: `{call}`"

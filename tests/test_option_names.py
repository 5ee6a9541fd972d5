"""Options and commands in messages, for those who type and for those who call Python."""

from __future__ import annotations

from rubriclab.errors import SettingsError
from rubriclab.option_names import command, in_python, on_command_line, option

MESSAGE = f"{option('calls_per_text')} is too small; give {option('scale', '1:5')}, or see {command('show', 'a@1')}"


def test_a_message_names_options_as_its_reader_writes_them() -> None:
    assert in_python(MESSAGE) == "calls_per_text is too small; give scale=1:5, or see lab.show('a@1')"
    assert on_command_line(MESSAGE) == "--calls-per-text is too small; give --scale 1:5, or see rubriclab show a@1"


def test_options_with_a_flag_of_another_name_are_written_as_that_flag() -> None:
    assert on_command_line(f"leave {option('methods')} out", {"methods": "--method"}) == "leave --method out"


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

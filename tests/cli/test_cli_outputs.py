"""No output of any command overwrites its store, an input, another output or a database."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from commands import Commands

from rubriclab.cli.main import cli, every_command
from rubriclab.cli.options import path_kind_of
from rubriclab.cli.output import DATABASE_ENDINGS, check_outputs
from rubriclab.errors import SettingsError

COMMANDS = every_command()
# Of a command's own files: the prefix of `split`'s two files, and the folder or file of findings.
NO_OUTPUT = {("split", "output")}
OUTPUTS = [
    (name, param)
    for name, command in COMMANDS.items()
    for param in (*command.params, *cli.params)
    if path_kind_of(param) == "output" and (name, param.name) not in NO_OUTPUT
]


def context_of(command: str, **values: object) -> click.Context:
    root = click.Context(cli)
    own = {str(param.name) for param in cli.params}
    root.params = {name: value for name, value in values.items() if name in own}
    context = click.Context(COMMANDS[command], parent=root)
    context.params = {name: value for name, value in values.items() if name not in own}
    return context


def refused(command: str, **values: object) -> bool:
    try:
        check_outputs(context_of(command, **{"store": "store.db", **values}))
    except SettingsError as error:
        return "would" in str(error)
    return False


def pairs() -> Iterator[tuple[str, str, str, object]]:
    """Yield a command with an output and something else that takes the same path."""
    for command, output in OUTPUTS:
        for param in COMMANDS[command].params:
            several = param.multiple if isinstance(param, click.Option) else param.nargs != 1
            if param.name == output.name:
                continue
            if path_kind_of(param) in ("input", "output"):
                yield command, str(output.name), str(param.name), ["x"] if several else "x"
            elif path_kind_of(param) == "judge":
                for value in ("recorded:x", "recorded:x#judge"):
                    yield command, str(output.name), str(param.name), [value] if several else value


def test_an_output_is_no_input_and_no_other_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x").write_text("{}\n")
    Path("link").symlink_to("x")
    Path("hard").hardlink_to("x")
    cases = list(pairs())
    assert len(cases) > 100
    for number, (command, output, other, value) in enumerate(cases):
        path = ("link", "hard")[number % 2]
        assert refused(command, **{output: path, other: value}), (command, output, other, path)
        assert not refused(command, **{output: "y", other: value}), (command, output, other)


def test_an_output_is_neither_the_store_nor_what_sqlite_keeps_beside_it_nor_any_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.db").write_bytes(b"SQLite format 3\0" + bytes(84))
    for command, output in OUTPUTS:
        paths = ["other.db"]
        if any(path_kind_of(param) == "store" for param in COMMANDS[command].params):
            paths += [f"store.db{end}" for end in DATABASE_ENDINGS]
        for path, store in itertools.product(paths, ("store.db", "sqlite:///store.db")):
            assert refused(command, **{str(output.name): path, "store": store}), (command, output.name, path)


def test_every_option_that_names_a_file_says_whether_it_is_written() -> None:
    for name, command in COMMANDS.items():
        for param in command.params:
            metavar = str(param.metavar or param.name).upper()
            if any(word in metavar for word in ("PATH", "FILE", "PREFIX")) and "URL" not in metavar:
                assert path_kind_of(param) in ("input", "output"), (name, param.name)


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "news", "-o", "store.db"),
        ("evaluate", "texts.jsonl", "--rubric", "news", "--html", "store.db"),
        ("compare", "texts.jsonl", "x.jsonl", "--rubric", "news", "--html", "store.db"),
        ("--log-file", "texts.jsonl", "score", "texts.jsonl", "--rubric", "news"),
        ("score", "texts.jsonl", "--rubric", "news", "--record", "x.jsonl", "-o", "x.jsonl"),
        ("split", "texts-train.jsonl", "-o", "texts.jsonl"),
        ("score", "texts.partial.csv", "--rubric", "news", "-o", "texts.csv"),
    ],
)
def test_a_refused_command_changes_no_file(rubriclab: Commands, arguments: tuple[str, ...]) -> None:
    for name in ("store.db", "texts.jsonl", "x.jsonl", "texts-train.jsonl", "texts.partial.csv"):
        (rubriclab.folder / name).write_text(f'{{"output": "{name}"}}\n')
    before = {path.name: path.read_bytes() for path in rubriclab.folder.glob("[!.]*.*")}
    done = rubriclab(*arguments, RUBRICLAB_STORE="store.db")
    assert done.code == 2
    assert "would" in done.error
    assert {path.name: path.read_bytes() for path in rubriclab.folder.glob("[!.]*.*")} == before

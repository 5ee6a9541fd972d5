"""`rubriclab trust`: neither a pack nor a file found in a folder chooses who gets texts and keys."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
from commands import CHECKOUT, HELDOUT, LABELLED, Commands
from server import RunningServer
from sqlalchemy import make_url

from rubriclab.cli.config import Config, content_digest, defaults_from, options_by_key, set_confirmed_digest
from rubriclab.cli.main import every_command
from rubriclab.cli.options import PathType
from rubriclab.errors import NotConfirmed, SettingsError
from rubriclab.methods import catalogue
from rubriclab.models.version import Provenance

KEY = "sk-the-users-own-key-0123456789"
THEIRS = "openai/theirs"
TEXT = b'{"id": "x", "output": "The council met. It decided nothing.", "source": "The council met on Monday."}\n'
FILE = "rubriclab.toml"


def signed(pack: str, **provenance: object) -> str:
    """Return a pack whose provenance says something else, with a digest that fits, as an attacker would write it."""
    whole = json.loads(pack)
    made = Provenance.model_validate({**whole["provenance"], **provenance})
    whole["provenance"], whole["provenance_digest"] = made.model_dump(mode="json"), made.digest
    return json.dumps(whole)


@pytest.fixture
def theirs(rubriclab: Commands, pack: str, server: RunningServer) -> Commands:
    """The command line of a user with a key, and a store with theirs@1, imported and naming a judge at a server."""
    commands = Commands(rubriclab.folder, **{**rubriclab.environment, "OPENAI_API_KEY": KEY})
    hostile = signed(pack, judge=THEIRS, generator=THEIRS, judge_address=server.url, generator_address=server.url)
    done = commands("import", "-", "--as", "theirs", stdin=hostile.encode())
    assert done.code == 0, done.err
    (commands.folder / "few.jsonl").write_text("".join(HELDOUT.read_text("utf-8").splitlines(keepends=True)[:24]))
    return commands


def test_import_and_trust_name_judge_and_generator(theirs: Commands, pack: str, server: RunningServer) -> None:
    hostile = signed(pack, generator=THEIRS, generator_address=server.url).encode()
    named = f'the generator "{THEIRS}" at "{server.url}"'
    done = theirs("import", "-", "--as", "other", stdin=hostile)
    assert done.err == (
        f"other@1 names {named}; asked only if you name it (--judge), or after `rubriclab trust other@1`\n"
    )
    assert f"send texts and your key to {named} unless" in theirs("trust", "other@1").out
    hostile = signed(pack, judge=THEIRS, judge_address=server.url).encode()
    row = theirs("import", "-", "--as", "third", "--json", stdin=hostile).json
    told = (row["judge"], row["judge_address"], row["imported_from"], row["confirmed"])
    assert told == (THEIRS, server.url, "news@1", False)


ASKING = [
    ("score", "few.jsonl", "--rubric", "theirs"),
    ("evaluate", "few.jsonl", "--rubric", "theirs", "--dry-run"),
    ("drift", "theirs@1", "theirs@1", "few.jsonl"),
    ("improve", "few.jsonl", "--rubric", "theirs"),
    ("transfer", "theirs", "--to", "few.jsonl"),
]


@pytest.mark.parametrize("command", ASKING, ids=" ".join)
def test_no_command_asks_the_judge_of_a_pack_that_is_not_confirmed(
    theirs: Commands, server: RunningServer, command: tuple[str, ...]
) -> None:
    done = theirs(*command)
    assert (done.code, done.out) == (2, "")
    assert done.error == (
        f"theirs@1 was imported, and the judge that it names is not confirmed: "
        f'"{THEIRS}" at "{server.url}". Name a judge '
        "with --judge, or, if that judge may have your texts and your key, run: `rubriclab trust theirs@1`"
    )
    assert server.requests.total() == 0
    assert KEY not in done.err


def test_a_judge_that_is_named_is_asked_at_its_own_address(theirs: Commands, server: RunningServer) -> None:
    nowhere = {"OPENAI_API_BASE": "http://127.0.0.1:9/v1", "RUBRICLAB_ATTEMPTS": "1"}
    done = theirs.start("score", "-", "--rubric", "theirs", "--judge", THEIRS, stdin=TEXT, **nowhere).wait()
    assert "Connect call failed ('127.0.0.1', 9)" in done.err
    assert server.requests.total() == 0
    assert theirs("score", "-", "--rubric", "theirs", "--judge", "embedded", stdin=TEXT).code == 0


def test_a_confirmed_pack_is_asked_where_it_says_until_that_is_revoked(theirs: Commands, server: RunningServer) -> None:
    score = ("score", "-", "--rubric", "theirs")
    assert theirs("trust", "theirs@1").out == (
        f'theirs@1 is confirmed; commands send texts and your key to the judge "{THEIRS}" at "{server.url}" '
        "unless --judge names another\n"
    )
    done = theirs(*score, stdin=TEXT)
    assert done.code == 0, done.err
    assert server.requests.total() > 0
    assert theirs("list", "--json").json["versions"][0]["confirmed"] is True
    assert theirs("verify").code == 0
    assert theirs("trust", "theirs", "--revoke").out.startswith("theirs@1 is not confirmed: ")
    assert theirs(*score, stdin=TEXT).code == 2


def test_what_was_learned_here_needs_no_confirmation(own: Commands) -> None:
    assert own("trust", "news@1").out == "news@1 was learned in this store: there is nothing to confirm\n"
    assert own("trust").out == "Nothing in the store was imported, and no configuration file is confirmed.\n"
    assert own("trust", "nobody").code == 2


def test_revoking_reaches_what_was_made_while_the_pack_was_confirmed(theirs: Commands, server: RunningServer) -> None:
    made = "ours@1"
    theirs("trust", "theirs@1")
    done = theirs("transfer", "theirs", "--to", "few.jsonl", "--no-relearn", "--save", "--name", "ours")
    assert done.code == 0, done.err
    score = ("score", "few.jsonl", "--rubric", made)
    assert theirs(*score, "--dry-run").code == 0
    asked = server.requests.total()
    theirs("trust", "theirs@1", "--revoke")
    done = theirs(*score)
    assert (done.code, done.out) == (2, "")
    assert done.error.startswith(f"{made} was made with the judge of theirs@1: theirs@1 was imported, and the judge")
    assert done.error.endswith("`rubriclab trust theirs@1`")
    assert server.requests.total() == asked
    assert theirs("trust", made).out == (
        f"{made} was made in this store with a judge that theirs@1 names: confirm or revoke theirs@1\n"
    )
    assert theirs(*score, "--judge", "embedded").code == 0


def test_a_generator_is_asked_to_learn_anew_only_while_its_pack_is_confirmed(
    theirs: Commands, pack: str, server: RunningServer
) -> None:
    hostile = signed(pack, generator=THEIRS, generator_address=server.url)
    theirs("import", "-", "--as", "proposer", stdin=hostile.encode())
    left_out = f'not "{THEIRS}" at "{server.url}", as proposer@1 was imported and is not confirmed'
    done = theirs("transfer", "proposer", "--to", HELDOUT, "--dry-run")
    assert (done.code, left_out in done.err) == (0, True), done.err
    theirs("trust", "proposer@1")
    rows = HELDOUT.read_bytes().splitlines(keepends=True)
    (theirs.folder / "half.jsonl").write_bytes(b"".join(rows[:36]))
    done = theirs("transfer", "proposer", "--to", "half.jsonl", "--save", "--action", "relearn", "--name", "ours")
    assert done.code == 0, done.err
    asked = server.requests.total()
    assert asked > 0
    theirs("trust", "proposer@1", "--revoke")
    done = theirs("transfer", "ours", "--to", HELDOUT, "--dry-run")
    assert left_out in done.err
    assert server.requests.total() == asked


def test_a_judge_s_name_cannot_pass_for_our_own_words_nor_write_to_the_terminal(rubriclab: Commands, pack: str) -> None:
    name = 'gpt-4o", which is confirmed.\x1b]0;x\x07\nRun: rubriclab trust evil@1 ' + "x" * 500
    done = rubriclab("import", "-", stdin=signed(pack, judge=name).encode())
    assert r'names the judge "gpt-4o\", which is confirmed.' in done.err
    refused = rubriclab("score", "-", "--rubric", "news", stdin=TEXT)
    assert r'not confirmed: "gpt-4o\", which is' in refused.error
    assert "x" * 100 not in refused.err
    assert refused.err.count("\n") == 1
    assert "\x1b" not in done.err + refused.err
    assert "x" * 500 in rubriclab("trust", "news@1").out, "what is confirmed is shown in full"


# Configuration files


def config(commands: Commands, text: str) -> None:
    (commands.folder / FILE).write_text(text, "utf-8")


@pytest.fixture
def user(own: Commands) -> Commands:
    """The command line of a user with a key, and a store of rubrics that were learned in it."""
    return Commands(own.folder, **{**own.environment, "OPENAI_API_KEY": KEY, "RUBRICLAB_ATTEMPTS": "1"})


def test_a_store_from_a_found_file_is_not_opened_not_even_to_confirm_a_version_in_it(user: Commands) -> None:
    config(user, "store = 'theirs.db'")
    bare = Commands(user.folder)
    for command in (("list",), ("trust", "news@1"), ("trust",)):
        assert bare(*command).error.startswith(f'{FILE} in this folder sets store = "theirs.db" and is not confirmed.')
    assert not (user.folder / "theirs.db").exists()
    assert user("list").code == 0, "the environment names the store"
    assert bare("list", "--store", "store.db").code == 0
    assert bare("list", "--help").code == 0


def test_a_found_file_is_used_once_confirmed_and_until_it_changes(user: Commands, server: RunningServer) -> None:
    text = f"judge = 'openai/mine'\napi_base = '{server.url}'\n"
    config(user, text)
    score = ("score", "-", "--rubric", "news")
    done = user(*score, stdin=TEXT)
    assert (done.code, done.out) == (2, "")
    assert done.error.startswith(
        f'{FILE} in this folder sets judge = "openai/mine" and is not confirmed. Read it, then'
    )
    once = f"once: `rubriclab trust {FILE}`; or name it: --config {FILE}; or set --judge yourself."
    assert f"{once} If only you change it, `rubriclab trust .` confirms it with later changes too." in done.error
    assert user("--config", FILE, *score, stdin=TEXT).code == 0, "it was named"
    assert user(*score, "--judge", "embedded", "--api-base", server.url, stdin=TEXT).code == 0, "it is not needed"
    said = f'{FILE} is confirmed as it is now; it sets judge = "openai/mine", api-base = "{server.url}"\n'
    assert user("trust", f"./{FILE}").out == said
    done = user(*score, stdin=TEXT)
    assert done.code == 0, done.err
    assert done.err.splitlines()[0] == f'{FILE} in this folder sets judge = "openai/mine", api-base = "{server.url}"'
    config(user, f"{text}# changed")
    assert user(*score, stdin=TEXT).code == 2
    assert "changed or missing: not confirmed" in " ".join(user("trust").out.split())
    config(user, text)
    assert user("trust", "--json").json["files"] == [{"file": str(user.folder / FILE), "confirmed": True}]
    assert user("trust", FILE, "--revoke").out == f"{FILE} is no longer confirmed\n"
    assert user(*score, stdin=TEXT).code == 2
    other = user.folder / "other"
    other.mkdir()
    (other / FILE).write_text(text)
    user("trust", FILE)
    assert Commands(other, **user.environment)(*score, stdin=TEXT).code == 2, "it was confirmed at another place"
    held = next(path for path in user.folder.rglob("trusted.json"))
    assert held.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_was_confirmed_once_needs_no_confirmation_after_changes(user: Commands) -> None:
    score = ("score", "-", "--rubric", "news")
    config(user, "judge = 'embedded'\n")
    assert user(*score, stdin=TEXT).code == 2
    assert user("trust", ".").out == f'{FILE} is confirmed, also with later changes; it sets judge = "embedded"\n'
    for text in ("judge = 'embedded'\n", "judge = 'embedded'\nconcurrency = 2\n"):
        config(user, text)
        assert user(*score, stdin=TEXT).code == 0
    other = user.folder / "other"
    other.mkdir()
    (other / FILE).write_text("judge = 'embedded'\n")
    elsewhere = Commands(other, **user.environment)
    assert elsewhere(*score, stdin=TEXT).code == 2, "folders in it are confirmed by themselves"
    assert user("trust", "--json").json["files"] == [{"file": str(user.folder), "confirmed": True}]
    assert user("trust", ".", "--revoke").out == ". is no longer confirmed\n"
    assert user(*score, stdin=TEXT).code == 2


def hostile_folder(user: Commands) -> Commands:
    """A folder from elsewhere with a store of its own in it, as the working folder, and no store in the environment."""
    folder = user.folder / "hostile"
    folder.mkdir()
    (user.folder / "store.db").rename(folder / "rubrics.db")
    environment = {name: value for name, value in user.environment.items() if name != "RUBRICLAB_STORE"}
    return Commands(folder, **environment)


def test_a_store_named_in_a_file_is_never_the_one_in_a_hostile_working_folder(user: Commands) -> None:
    (user.folder / "mine.toml").write_text("store = 'rubrics.db'")
    there = hostile_folder(user)
    for done in (
        there("show", "news", RUBRICLAB_CONFIG=str(user.folder / "mine.toml")),
        there("--config", "../mine.toml", "show", "news"),
    ):
        assert done.error.startswith(f"The store {user.folder / 'rubrics.db'} does not exist.")


@pytest.mark.parametrize("confirmed", [True, False])
def test_a_found_file_that_is_a_link_to_another_folder_is_refused(user: Commands, confirmed: bool) -> None:
    config(user, "store = 'rubrics.db'")
    there = hostile_folder(user)
    if confirmed:
        assert user("trust", FILE).code == 0
    (there.folder / FILE).symlink_to(user.folder / FILE)
    assert there("show", "news").error == (
        f"{FILE} in this folder is a link to a file in another folder. Name it to use it: --config {FILE}; or remove "
        "the link."
    )
    named = there("--config", FILE, "show", "news")
    assert named.error.startswith(f"The store {user.folder / 'rubrics.db'} does not exist.")


@pytest.mark.parametrize(
    ("place", "value", "there"),
    [
        ("input", "gone", "/a/gone"),
        ("output", "-", "-"),
        ("judge", "recorded:gone#x", "recorded:/a/gone#x"),
        ("store", "s.db", "/a/s.db"),
        ("store", "sqlite:///s.db", "sqlite:////a/s.db"),
        ("store", "postgresql://me:hunter2@host/s", "postgresql://me:hunter2@host/s"),
    ],
)
def test_a_path_in_a_file_is_relative_to_the_file(place: str, value: str, there: str) -> None:
    resolved = PathType(place).resolve(value, Path("/a"))
    assert resolved == there if "://" not in there else make_url(resolved) == make_url(there)


def test_every_option_that_takes_a_path_says_so_by_its_type() -> None:
    """A new option with a path has to be resolved against the configuration file too."""
    for name, command in every_command().items():
        for key, taken in options_by_key(command.params).items():
            places = {"PATH", "FILE", "FOLDER", "PREFIX", "PATH|URL", "JUDGE"}
            assert isinstance(taken.type, PathType) == (taken.metavar in places), (name, key)


def test_trust_takes_nothing_from_a_found_file_but_a_confirmed_store(user: Commands) -> None:
    config(user, "revoke = true\njson = true\nstore = 'store.db'\n")
    assert user("trust", FILE).out.startswith(f"{FILE} is confirmed as it is now; it sets ")
    assert user("trust").out.split()[:3] == ["imported", "or", "confirmed"]
    bare = Commands(user.folder)
    assert bare("trust", "news@1").out == "news@1 was learned in this store: there is nothing to confirm\n"
    assert user("trust", FILE).code == 0
    assert user("trust", "--json").json["files"][0]["confirmed"] is True


def test_confirming_a_file_shows_every_value_in_full_and_an_at_sign_in_its_path_makes_it_no_version(
    user: Commands,
) -> None:
    address = f"http://api.openai.com.v1.{'x' * 60}.evil.example:8000/v1"
    config(user, f"api-base = '{address}'")
    assert f'api-base = "{address}"' in user("trust", FILE).out
    (user.folder / "x@y").mkdir()
    (user.folder / "x@y" / FILE).write_text("max-calls = 3")
    assert user("trust", f"x@y/{FILE}").out == f"x@y/{FILE} is confirmed as it is now; it sets max-calls = 3\n"


def test_passwords_and_control_characters_of_a_found_file_are_not_printed(user: Commands) -> None:
    config(user, 'store = "postgresql://me:hunter2@host/x"\nname = "a\\u001b[31m\\u202e"\n')
    done = Commands(user.folder)("list")
    assert "hunter2" not in done.err
    learn = user("learn", LABELLED, "--task", "summarization", "--aspect", "coherence", "--dry-run")
    assert "\x1b" not in learn.err
    assert "\u202e" not in learn.err


def words(listed: str) -> set[str]:
    return set(" ".join(listed.split()).split(", "))


ALWAYS = words("""
map, missing, levels, sheet, skip-hidden, header-rows, skip-rows, delimiter, encoding, decimal, skip-faulty,
json, no-browser, disagreements count, disagreements side, explain nearest, show evidence, show
matrix
""")
NEVER = words("""
batches cancel, edit add, edit author, edit because, edit bound, edit definition, edit drop, edit merge,
edit name, edit pin, edit preview, edit reword, edit threshold, import as, label rater, learn name,
store prune dry-run, store prune older-than, tag delete, tag force, transfer action, transfer name,
transfer save, trust revoke, verify repair
""")
# Of `trust`, a found file is asked for the store only, and not even for that until it is confirmed.
COMMANDS = {name: options_by_key(command.params) for name, command in every_command().items() if name != "trust"}


def valid_value(option: click.Option) -> Any:
    value: Any
    if option.is_flag:
        return True
    if isinstance(option.type, click.Choice):
        value = option.type.choices[0]
    elif isinstance(option.type, click.types.IntParamType | click.types.FloatParamType):
        low, high = getattr(option.type, "min", None), getattr(option.type, "max", None)
        value = 10 + (low or 0) if high is None else high
        value = int(value) if isinstance(option.type, click.types.IntParamType) else value - 0.5
    else:
        value = "http://127.0.0.1:9/v1" if str(option.name).endswith("api_base") else "a=b"
    return [value, value] if option.multiple else value


def taken(file: Path, name: str, option: click.Option, *, named: bool = False) -> Any:
    """Return what a command gets for an option from a configuration file, its type's conversion included."""
    command = every_command()[name]
    defaults = defaults_from(Config(file, named, file.read_bytes()), {name: command.params})
    context = click.Context(command, default_map=defaults[name])
    option.handle_parse_result(context, {}, [])
    return context.params[str(option.name)]


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a configuration file is found, in a working folder of a user without confirmed files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(catalogue, "plug_in_names", cache(catalogue.plug_in_names))  # it reads what all packages offer
    return Path(FILE)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_found_file_sets_only_how_input_is_read_and_results_are_shown_until_it_is_confirmed(
    found: Path, name: str
) -> None:
    for key, option in COMMANDS[name].items():
        found.write_text(f"{key} = {json.dumps(valid_value(option))}\n", "utf-8")
        by_name = taken(found, name, option, named=True)
        assert by_name not in (None, (), False)
        if {key, f"{name} {key}"} & ALWAYS:
            assert taken(found, name, option) == by_name
            continue
        never = f"{name} {key}" in NEVER
        with pytest.raises(SettingsError if never else NotConfirmed) as refused:
            taken(found, name, option)
        assert f"{FILE} in this folder sets {key} = " in refused.value.message
        assert f"or set --{key} yourself" in refused.value.hint
        set_confirmed_digest(found, content_digest(found.read_bytes()))
        if never:
            with pytest.raises(SettingsError, match="only a configuration file that you name may set this option"):
                taken(found, name, option)
        else:
            assert taken(found, name, option) == by_name


@pytest.mark.parametrize(
    "line",
    [
        *("judge = 3", "judge = ['gpt-4o']", "judge = 1979-05-27", "api-base = {a = 'b'}", "max-calls = '3'"),
        *("max-cost = true", "json = 1", "map = [['output=x']]"),
    ],
)
def test_a_value_of_another_type_is_refused_before_anything_is_made_of_it(found: Path, line: str) -> None:
    found.write_text(line, "utf-8")
    key = line.partition(" ")[0]
    with pytest.raises(SettingsError, match=rf"^{FILE}: {key}: expected .*, got ") as refused:
        taken(found, "score", COMMANDS["score"][key])
    assert not isinstance(refused.value, NotConfirmed)


def test_the_page_on_security_lists_what_a_found_file_may_set() -> None:
    page = " ".join((CHECKOUT / "SECURITY.md").read_text("utf-8").split())
    _, always, rest = re.split("By itself it sets only|Everything else in it", page)
    _, never, _ = re.split("even if it is confirmed:|A link to a file", rest)
    for listed, options in ((always, ALWAYS), (never, NEVER)):
        assert sorted(re.findall("`([^`]*)`", listed)) == sorted(options)


def test_hyperparameters_of_a_found_file_wait_for_its_confirmation(user: Commands) -> None:
    config(user, "[hypoeval]\nk = 3\n")
    assert user("list").code == 0, "it takes none"
    learn = ("learn", LABELLED, "--task", "summarization", "--aspect", "coherence", "--dry-run")
    assert user(*learn).error == (
        f'{FILE} in this folder sets hypoeval = {{"k": 3}} and is not confirmed. Read it, then confirm it once: '
        f"`rubriclab trust {FILE}`; or name it: --config {FILE}. If only you change it, `rubriclab trust .` confirms "
        "it with later changes too."
    )
    user("trust", FILE)
    assert user(*learn).code == 0


# Addresses with credentials


@pytest.mark.parametrize("way", ["flag", "environment", "file", "provider's variable"])
def test_an_address_with_credentials_is_refused_at_once(user: Commands, way: str) -> None:
    address = "http://user:hunter2@127.0.0.1:9/v1"
    score: tuple[str, ...] = ("score", "-", "--rubric", "news", "--judge", "openai/mine", "--record", "recorded.jsonl")
    environment = {}
    if way == "flag":
        score += ("--api-base", address, "--dry-run")
    elif way == "file":
        (user.folder / "mine.toml").write_text(f"api-base = '{address}'")
        environment = {"RUBRICLAB_CONFIG": "mine.toml"}
    else:
        environment = {"RUBRICLAB_API_BASE" if way == "environment" else "OPENAI_API_BASE": address}
    done = user(*score, stdin=TEXT, **environment)
    assert (done.code, done.out) == (2, "")
    assert "the address has a user name, password or key, which would appear in logs and messages." in done.error
    assert "hunter2" not in done.err
    assert "127.0.0.1" not in done.err
    written = [path.name for path in user.folder.iterdir() if path.is_file() and b"hunter2" in path.read_bytes()]
    assert written == ["mine.toml"] * (way == "file")

"""HypoEval with the paper's settings on thirty texts, against a server: what it asks, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import scripted_model
from commands import HELDOUT, Commands, Done
from flow_server import HYPOEVAL, KEY, MODEL, commands_at, texts
from server import RunningServer

AT_MOST = 700


@dataclass(frozen=True)
class Learned:
    """An uninterrupted run: the command line with its store and recording, the result, and what the server counted."""

    commands: Commands
    server: RunningServer
    done: Done
    asked: int
    repeated: int

    @property
    def questions(self) -> int:
        """Requests and whatever else an earlier reply answered."""
        return int(self.asked + self.done.json["calls"]["answered_from_cache"])

    @property
    def digest(self) -> str:
        """The rubric's."""
        return str(self.done.json["digest"])


def learn(commands: Commands, *more: object) -> tuple[object, ...]:
    return ("learn", texts(commands.folder, 30), *HYPOEVAL, "--json", *more)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Learned]:
    """Learn once, recording every reply."""
    with RunningServer() as server:
        server.brain = scripted_model.reply
        commands = commands_at(server, tmp_path_factory.mktemp("paper"))
        done = commands(*learn(commands, "--record", "recording.jsonl"))
        assert done.code == 0, done.err
        yield Learned(commands, server, done, server.requests.total(), server.repeated)


def test_a_full_learn_asks_at_most_700_requests_and_none_twice(learned: Learned) -> None:
    row = learned.done.json
    assert learned.asked <= AT_MOST
    assert learned.repeated == 0
    assert (row["calls"]["made"], row["calls"]["failed"]) == (learned.asked, 0)
    assert (row["rubric"], row["criteria"], row["new"]) == ("news@1", 5, True)
    assert row["tokens"]["prompt"] > row["tokens"]["completion"] > learned.asked


def test_a_rubric_is_scored_where_it_was_learned_unless_told_otherwise(learned: Learned) -> None:
    elsewhere = Commands(learned.commands.folder, RUBRICLAB_STORE="store.db", OPENAI_API_KEY=KEY)
    text = b'{"output": "The council met on Monday.", "source": "The council met on Monday and decided nothing."}'
    done = elsewhere("score", "-", "--rubric", "news", stdin=text)
    assert done.rows[0]["unscored"] is None
    assert f'judge: "{MODEL}" at "{learned.server.url}", as news@1 was learned with it' in done.err


def test_the_key_is_in_no_store_recording_or_output(learned: Learned) -> None:
    commands = learned.commands
    assert KEY in commands.environment.values()
    report = commands("evaluate", HELDOUT, "--rubric", "news", "--html", "report.html", "--judge", "embedded")
    assert report.code == 0
    shown = commands("show", "news", "--evidence").out + commands("export", "news").out
    assert KEY not in shown
    files = [path for path in Path(commands.folder).rglob("*") if path.is_file()]
    assert {"store.db", "recording.jsonl", "report.html"} <= {path.name for path in files}
    assert not [path.name for path in files if KEY.encode() in path.read_bytes()]

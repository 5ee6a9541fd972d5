"""What the files of learning hold, and where its rubric is scored."""

from __future__ import annotations

from commands import Commands
from flow_server import KEY, MODEL, learning, some_texts
from server import RunningServer


def test_the_key_is_written_nowhere_and_a_rubric_is_scored_where_it_was_learned(
    asking: Commands, provider: RunningServer
) -> None:
    done = asking(*learning(asking, "geval"), "--record", "recording.jsonl")
    assert done.code == 0, done.err
    assert done.json["tokens"]["prompt"] > done.json["tokens"]["completion"] > provider.requests.total()

    elsewhere = Commands(asking.folder, RUBRICLAB_STORE="store.db", OPENAI_API_KEY=KEY)
    text = b'{"output": "The council met on Monday.", "source": "The council met on Monday and decided nothing."}'
    scored = elsewhere("score", "-", "--rubric", "news", stdin=text)
    assert scored.rows[0]["unscored"] is None
    assert f'judge: "{MODEL}" at "{provider.url}", as news@1 was learned with it' in scored.err

    command = ("evaluate", "-", "--rubric", "news", "--html", "report.html", "--judge", "embedded")
    report = asking(*command, stdin=some_texts())
    assert report.code == 0
    assert KEY not in asking("show", "news", "--evidence").out + asking("export", "news").out
    files = [path for path in asking.folder.rglob("*") if path.is_file()]
    assert {"store.db", "recording.jsonl", "report.html"} <= {path.name for path in files}
    assert not [path.name for path in files if KEY.encode() in path.read_bytes()]

"""HypoEval with the paper's settings on thirty texts, against a server: what it asks, and what follows from it."""

from __future__ import annotations

from commands import HELDOUT, Commands
from flow_server import HYPOEVAL, KEY, MODEL, texts
from server import RunningServer

AT_MOST = 700


def test_a_full_learn_asks_at_most_700_requests_and_none_twice_and_writes_the_key_nowhere(
    asking: Commands, provider: RunningServer
) -> None:
    done = asking("learn", texts(asking.folder, 30), *HYPOEVAL, "--json", "--record", "recording.jsonl")
    assert done.code == 0, done.err
    row, asked = done.json, provider.requests.total()
    assert (asked <= AT_MOST, provider.repeated) == (True, 0)
    assert (row["calls"]["made"], row["calls"]["failed"]) == (asked, 0)
    assert (row["rubric"], row["criteria"], row["new"]) == ("news@1", 5, True)
    assert row["tokens"]["prompt"] > row["tokens"]["completion"] > asked

    # A rubric is scored where it was learned unless told otherwise.
    elsewhere = Commands(asking.folder, RUBRICLAB_STORE="store.db", OPENAI_API_KEY=KEY)
    text = b'{"output": "The council met on Monday.", "source": "The council met on Monday and decided nothing."}'
    scored = elsewhere("score", "-", "--rubric", "news", stdin=text)
    assert scored.rows[0]["unscored"] is None
    assert f'judge: "{MODEL}" at "{provider.url}", as news@1 was learned with it' in scored.err

    report = asking("evaluate", HELDOUT, "--rubric", "news", "--html", "report.html", "--judge", "embedded")
    assert report.code == 0
    assert KEY not in asking("show", "news", "--evidence").out + asking("export", "news").out
    files = [path for path in asking.folder.rglob("*") if path.is_file()]
    assert {"store.db", "recording.jsonl", "report.html"} <= {path.name for path in files}
    assert not [path.name for path in files if KEY.encode() in path.read_bytes()]

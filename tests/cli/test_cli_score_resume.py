"""`rubriclab score --resume`: the output of an interrupted run is continued if it is of the same run."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT, Commands
from privileges import limit_files
from waiting import until

from rubriclab import write_rows
from rubriclab.errors import DataError
from rubriclab.ops.options import ScoreOptions
from rubriclab.ops.score import Scoring, prepare_scoring, resume_scores
from rubriclab.ops.workspace import Workspace
from rubriclab.running import run_to_end

LINES = HELDOUT.read_bytes().splitlines(keepends=True)[:10]
ROWS = [json.loads(line) for line in LINES]
# With a faulty row, one that is no JSON, and one that compares texts, which has no score.
FAULTY = [b'{"id": "empty", "output": ""}\n', b"this is no row\n", b'{"preferred": "a", "over": "b"}\n']
TEXTS = b"".join([*LINES[:3], *FAULTY, *LINES[3:]])
RESUME = ("--rubric", "news@1", "-o", "scores.jsonl", "--resume")


@pytest.fixture(scope="module")
def folder(learned: Commands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts and, in scores.jsonl, the scores of an undisturbed run."""
    folder = tmp_path_factory.mktemp("resume")
    (folder / "texts.jsonl").write_bytes(TEXTS)
    commands = Commands(folder, RUBRICLAB_STORE=str(learned.folder / "store.db"))
    done = commands("score", "texts.jsonl", *RESUME)
    assert done.code == 0, done.err
    assert "kept" not in done.err
    return folder


@pytest.fixture
def commands(learned: Commands, folder: Path, tmp_path: Path) -> Commands:
    """The command line in a folder with a copy of these texts."""
    (tmp_path / "texts.jsonl").write_bytes(TEXTS)
    return Commands(tmp_path, RUBRICLAB_STORE=str(learned.folder / "store.db"))


@pytest.fixture
def scoring(learned: Commands, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Callable[..., Scoring]]:
    """A function that prepares the scoring of a file in that folder."""
    monkeypatch.chdir(folder)
    with Workspace(learned.folder / "store.db") as workspace:
        yield lambda texts, rubric="news@1", **more: prepare_scoring(workspace, texts, rubric, ScoreOptions(**more))


def continued(scoring: Scoring, kept: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return the rows of scores that are kept and those that follow."""
    output = folder / "kept.jsonl"
    output.write_bytes(b"")
    resume_scores(scoring, str(output))
    write_rows(kept, output)

    async def rest() -> list[dict[str, Any]]:
        return [scored.to_row() async for scored in scoring.stream()]

    resume_scores(scoring, str(output))
    assert scoring.counts.rows == len(kept)
    return kept + run_to_end(rest)


@pytest.mark.parametrize("rows", [0, 5, 12])
def test_the_rows_of_an_interrupted_run_are_kept_and_half_a_row_is_replaced(
    commands: Commands, folder: Path, rows: int
) -> None:
    complete = (folder / "scores.jsonl").read_bytes()
    lines = complete.splitlines(keepends=True)
    assert len(lines) == 12
    output = commands.folder / "scores.jsonl"
    output.write_bytes(b"".join(lines[:rows]) + b'{"id": "half')
    shutil.copy(folder / "scores.jsonl.resume.json", commands.folder)
    done = commands("score", "texts.jsonl", *RESUME, "--json")
    assert done.code == 0, done.err
    assert output.read_bytes() == complete
    assert (f"{rows} rows of scores.jsonl are kept" in done.err) == bool(rows)
    assert (done.json["rows"], done.json["unscored"], sum(done.json["histogram"])) == (12, 2, 10)


def test_a_killed_run_is_continued_after_its_last_whole_row(commands: Commands) -> None:
    (commands.folder / "many.jsonl").write_text(
        "".join(json.dumps({**ROWS[n % 10], "id": f"t{n}"}) + "\n" for n in range(400))
    )
    output = commands.folder / "scores.jsonl"
    started = commands.start("score", "many.jsonl", *RESUME[:-1])
    until(lambda: output.exists() and b"\n" in output.read_bytes())
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    # The kernel may end a write in the middle of a row when the process is killed.
    kept = output.read_bytes().rpartition(b"\n")[0]
    assert kept
    assert kept.count(b"\n") < 399
    done = commands("score", "many.jsonl", *RESUME)
    assert done.code == 0, done.err
    assert output.read_bytes().startswith(kept)
    assert [json.loads(line)["id"] for line in output.read_bytes().splitlines()] == [f"t{n}" for n in range(400)]


def test_a_finished_run_is_said_to_be_complete(commands: Commands) -> None:
    whole = commands("score", "texts.jsonl", *RESUME[:-1])
    assert whole.code == 0
    scores = commands.folder / "scores.jsonl"
    finished = scores.read_bytes()
    again = commands("score", "texts.jsonl", *RESUME)
    assert again.code == 0, again.err
    assert scores.read_bytes() == finished
    assert f"{len(finished.splitlines())} rows of scores.jsonl are kept" in again.err
    assert again.err.splitlines()[-1] == whole.err.splitlines()[-1]
    assert [path.name for path in commands.folder.glob("scores*")] == ["scores.jsonl"]
    assert commands("score", "texts.jsonl", *RESUME, "--judge", "openai/other", OPENAI_API_KEY="none").code == 2


def test_a_file_of_another_run_is_refused_and_left_as_it_is(commands: Commands, folder: Path) -> None:
    output = commands.folder / "scores.jsonl"
    output.write_bytes((folder / "scores.jsonl").read_bytes()[:-10])
    shutil.copy(folder / "scores.jsonl.resume.json", commands.folder)
    before = output.read_bytes()
    for options, message in (
        (("--rubric", "news@2"), "got the rubric 'news@1', expected 'news@2': another run wrote scores.jsonl"),
        (("-o", "scores.csv"), "--resume: got scores.csv, a table, which is written at the end; expected a file of"),
        (("-o", "-"), "--resume: got standard output; expected a file of JSON Lines"),
        (("-o", "/dev/null"), "--resume: got /dev/null, a pipe or device; expected a file of JSON Lines"),
    ):
        done = commands("score", "texts.jsonl", *RESUME, *options)
        assert (done.code, output.read_bytes()) == (2, before)
        assert message in done.error


def test_a_full_disk_leaves_whole_rows(commands: Commands, folder: Path) -> None:
    # A store that can only be read needs no space.
    shutil.copy(str(commands.environment["RUBRICLAB_STORE"]), commands.folder / "store.db")
    (commands.folder / "store.db").chmod(0o400)
    little = Commands(commands.folder, before=partial(limit_files, 9_000), RUBRICLAB_STORE="store.db")
    done = little("score", "texts.jsonl", *RESUME)
    assert (done.code, done.error) == (2, "scores.jsonl cannot be written: File too large.")
    kept = (commands.folder / "scores.jsonl").read_bytes()
    assert 1 < kept.count(b"\n") < 12
    assert kept == b"".join((folder / "scores.jsonl").read_bytes().splitlines(keepends=True)[: kept.count(b"\n")])


@pytest.mark.parametrize("kept", [1, 4, 12])
def test_kept_rows_are_not_scored_again(scoring: Callable[..., Scoring], folder: Path, kept: int) -> None:
    complete = [json.loads(line) for line in (folder / "scores.jsonl").read_bytes().splitlines()]
    marked = [{**row, "score": None, "unscored": "marked"} for row in complete[:kept]]
    assert continued(scoring("texts.jsonl"), marked, folder) == marked + complete[kept:]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "other"}, "kept.jsonl:2: the score of the text 'other' does not belong to the row texts"),
        ({"output": "Changed."}, "texts.jsonl:2: the texts have changed"),
        ({"criteria": 3}, "kept.jsonl:2: got .*, expected a row of scores"),
    ],
)
def test_every_kept_row_is_checked(
    scoring: Callable[..., Scoring], folder: Path, change: dict[str, Any], message: str
) -> None:
    kept = [json.loads(line) for line in (folder / "scores.jsonl").read_bytes().splitlines()[:3]]
    kept[1] |= change
    with pytest.raises(DataError, match=message):
        continued(scoring("texts.jsonl"), kept, folder)


@pytest.mark.parametrize(
    ("options", "changed", "message"),
    [
        ({"judge": "openai/fake"}, {}, "got the judge 'embedded', expected 'openai/fake'"),
        ({"skip_faulty": True}, {}, "got the skip_faulty 'False', expected 'True'"),
        ({"mapping": "output=output"}, {}, "got the mapping "),
        ({}, {"digest": "sha256:other"}, "got the digest 'sha256:other', expected 'sha256:"),
    ],
)
def test_rows_of_another_version_judge_or_options_are_refused(
    scoring: Callable[..., Scoring],
    commands: Commands,
    folder: Path,
    *,
    options: dict[str, Any],
    changed: dict[str, str],
    message: str,
) -> None:
    shutil.copy(folder / "scores.jsonl", commands.folder)
    record = json.loads((folder / "scores.jsonl.resume.json").read_bytes())
    (commands.folder / "scores.jsonl.resume.json").write_text(json.dumps(record | changed))
    with pytest.raises(DataError, match=message):
        resume_scores(scoring("texts.jsonl", **options), str(commands.folder / "scores.jsonl"))


@pytest.mark.parametrize("content", [None, b"[]", b"{"])
def test_rows_without_a_record_are_refused_and_left_as_they_are(
    commands: Commands, folder: Path, content: bytes | None
) -> None:
    output = commands.folder / "scores.jsonl"
    # A whole file would be that of a finished run.
    output.write_bytes(b"".join((folder / "scores.jsonl").read_bytes().splitlines(keepends=True)[:-1]))
    before = output.read_bytes()
    if content is not None:
        (commands.folder / "scores.jsonl.resume.json").write_bytes(content)
    done = commands("score", "texts.jsonl", *RESUME)
    assert done.code == 2
    assert "scores.jsonl.resume.json does not name the rubric and judge of the scores in scores.jsonl" in done.error
    assert output.read_bytes() == before


def test_more_scores_than_texts_are_refused(scoring: Callable[..., Scoring], folder: Path) -> None:
    (folder / "few.jsonl").write_bytes(b"".join(LINES[:2]))
    kept = [json.loads(line) for line in (folder / "scores.jsonl").read_bytes().splitlines()[:3]]
    with pytest.raises(DataError, match=r"kept.jsonl:3: there are more scores than rows in few.jsonl"):
        continued(scoring("few.jsonl"), kept, folder)

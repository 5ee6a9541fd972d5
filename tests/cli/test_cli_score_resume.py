"""`rubriclab score --resume`: the output of an interrupted run is continued if it is of the same run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from commands import HELDOUT, Commands
from privileges import give_up, limit_files
from pyarrow import parquet

from rubriclab import Lab, ScoreOptions, write_rows
from rubriclab.data.tables import json_line
from rubriclab.errors import DataError, SettingsError
from rubriclab.services import score_progress
from rubriclab.services.running import finish
from rubriclab.services.score import Scoring, prepare_scoring
from rubriclab.services.score_progress import ProgressRecord
from rubriclab.services.score_resume import check_resumable, end_of_rows, keep_scores
from rubriclab.services.workspace import Workspace

LINES = HELDOUT.read_bytes().splitlines(keepends=True)[:10]
ROWS = [json.loads(line) for line in LINES]
# With a faulty row, one that is no JSON, and one that compares texts, which has no score.
TEXTS = b"".join(
    [
        *LINES[:3],
        b'{"id": "empty", "output": ""}\n',
        b"this is no row\n",
        b'{"preferred": "a", "over": "b"}\n',
        *LINES[3:],
    ]
)
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
        yield lambda texts, rubric="news@1", **options: prepare_scoring(
            workspace, texts, rubric, ScoreOptions(**options)
        )


def continued(scoring: Scoring, texts: str, kept: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return the rows of scores that are kept and those that follow."""
    write_rows(kept, folder / "kept.jsonl")

    async def rest() -> list[dict[str, Any]]:
        return [scored.to_row() async for scored in scoring.stream()]

    return [scored.to_row() for scored in keep_scores(scoring, folder / "kept.jsonl", texts)] + finish(rest)


@pytest.mark.parametrize("rows", [0, 5, 12])
def test_the_rows_of_an_interrupted_run_are_kept_and_half_a_row_is_replaced(
    commands: Commands, folder: Path, rows: int
) -> None:
    complete = (folder / "scores.jsonl").read_bytes()
    lines = complete.splitlines(keepends=True)
    assert len(lines) == 12
    output = commands.folder / "scores.jsonl"
    output.write_bytes(b"".join(lines[:rows]) + b'{"id": "half')
    done = commands("score", "texts.jsonl", *RESUME, "--json")
    assert done.code == 0, done.err
    assert output.read_bytes() == complete
    assert f"{rows} rows of scores.jsonl are kept" in done.err
    assert (done.json["rows"], done.json["unscored"], sum(done.json["histogram"])) == (12, 2, 10)


def test_a_killed_run_leaves_whole_rows_and_is_continued(commands: Commands) -> None:
    (commands.folder / "many.jsonl").write_text(
        "".join(json.dumps({**ROWS[n % 10], "id": f"t{n}"}) + "\n" for n in range(400))
    )
    output = commands.folder / "scores.jsonl"
    started = commands.start("score", "many.jsonl", *RESUME)
    until = time.monotonic() + 30
    while not (output.exists() and output.stat().st_size) and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    kept = output.read_bytes()
    assert kept.endswith(b"\n")
    assert 0 < kept.count(b"\n") < 400
    done = commands("score", "many.jsonl", *RESUME)
    assert done.code == 0, done.err
    assert output.read_bytes().startswith(kept)
    assert [json.loads(line)["id"] for line in output.read_bytes().splitlines()] == [f"t{n}" for n in range(400)]


def test_a_file_of_another_run_is_refused_and_left_as_it_is(commands: Commands, folder: Path) -> None:
    output = commands.folder / "scores.jsonl"
    output.write_bytes((folder / "scores.jsonl").read_bytes()[:-10])
    before = output.read_bytes()
    for options, message in (
        (("--rubric", "news@2"), "scores.jsonl:1: got the rubric 'news@1', expected 'news@2': another run wrote"),
        (("-o", "scores.csv"), "--resume: got scores.csv, a table, which is written at the end; expected a file of"),
        (("-o", "-"), "--resume: got standard output; expected a file of JSON Lines"),
    ):
        done = commands("score", "texts.jsonl", *RESUME, *options)
        assert (done.code, output.read_bytes()) == (2, before)
        assert message in done.error


def limit_space() -> None:
    """Let this process write small files only, and not to what is protected."""
    give_up()
    limit_files(9_000)


def test_a_full_disk_leaves_whole_rows(commands: Commands, folder: Path) -> None:
    # A store that can only be read needs no space.
    shutil.copy(str(commands.environment["RUBRICLAB_STORE"]), commands.folder / "store.db")
    (commands.folder / "store.db").chmod(0o400)
    little = Commands(commands.folder, before=limit_space, RUBRICLAB_STORE="store.db")
    done = little("score", "texts.jsonl", *RESUME)
    assert (done.code, done.error) == (2, "scores.jsonl cannot be written: File too large.")
    kept = (commands.folder / "scores.jsonl").read_bytes()
    assert 1 < kept.count(b"\n") < 12
    assert kept == b"".join((folder / "scores.jsonl").read_bytes().splitlines(keepends=True)[: kept.count(b"\n")])


@pytest.mark.parametrize("kept", [1, 4, 12])
def test_kept_rows_are_not_scored_again(scoring: Callable[..., Scoring], folder: Path, kept: int) -> None:
    complete = [json.loads(line) for line in (folder / "scores.jsonl").read_bytes().splitlines()]
    marked = [{**row, "score": None, "unscored": "marked"} for row in complete[:kept]]
    assert continued(scoring("texts.jsonl"), "texts.jsonl", marked, folder) == marked + complete[kept:]


def test_faulty_rows_may_be_left_out(scoring: Callable[..., Scoring], folder: Path) -> None:
    complete = continued(scoring("texts.jsonl", skip_faulty=True), "texts.jsonl", [], folder)
    assert len(complete) == 10
    assert continued(scoring("texts.jsonl", skip_faulty=True), "texts.jsonl", complete[:6], folder) == complete


def test_rows_of_tables_are_recognized(scoring: Callable[..., Scoring], learned: Commands, folder: Path) -> None:
    columns = {name: [row[name] for row in ROWS] for name in ("source", "output")}
    own = {"score": [0.5, None] * 5, "input.x": ["a"] * 10, "day": pa.array(range(10), pa.date32())}
    parquet.write_table(pa.table({"id": range(10), **columns, **own}), folder / "t.parquet")
    (folder / "t.csv").write_text(
        "id,output,source,judge\n" + "".join(f"{n},Text {n}.,About {n // 2}.,\n" for n in range(10))
    )
    for name in ("t.parquet", "t.csv"):
        write_rows(Lab(learned.folder / "store.db").score(name, "news@1").to_rows(), folder / "complete.jsonl")
        complete = [json.loads(line) for line in (folder / "complete.jsonl").read_bytes().splitlines()]
        found = continued(scoring(name), name, complete[:5], folder)
        write_rows(found, folder / "found.jsonl")
        assert (folder / "found.jsonl").read_bytes() == (folder / "complete.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rubric": "news@2"}, "kept.jsonl:2: got the rubric 'news@2', expected 'news@1': another run wrote this row"),
        ({"judge": "gpt"}, "kept.jsonl:2: got the judge 'gpt', expected 'embedded'"),
        ({"id": "other"}, "kept.jsonl:2: this score, of the text 'other', is not of the row in the same place, texts"),
        ({"output": "Changed."}, "texts.jsonl:2: the texts have changed"),
        ({"criteria": 3}, "kept.jsonl:2: expected a row of scores, as this version of rubriclab writes it"),
        ({"abstained": True}, "kept.jsonl:2: got abstained true, expected null with abstain_above as it is now"),
    ],
)
def test_every_kept_row_is_checked(
    scoring: Callable[..., Scoring], folder: Path, change: dict[str, Any], message: str
) -> None:
    kept = [json.loads(line) for line in (folder / "scores.jsonl").read_bytes().splitlines()[:3]]
    kept[1] |= change
    with pytest.raises(DataError, match=message.replace(".", r"\.")):
        continued(scoring("texts.jsonl"), "texts.jsonl", kept, folder)


def test_more_scores_than_texts_are_refused(scoring: Callable[..., Scoring], folder: Path) -> None:
    (folder / "few.jsonl").write_bytes(b"".join(LINES[:2]))
    kept = [json.loads(line) for line in (folder / "scores.jsonl").read_bytes().splitlines()[:3]]
    with pytest.raises(DataError, match=r"kept.jsonl:3: there are more scores than rows in few.jsonl"):
        continued(scoring("few.jsonl"), "few.jsonl", kept, folder)


def test_what_is_no_row_of_scores_is_refused(scoring: Callable[..., Scoring], folder: Path) -> None:
    for content in (b"[]\n", b"\x00\x00\n", b"no\n"):
        (folder / "kept.jsonl").write_bytes(content)
        with pytest.raises(DataError, match=r"kept.jsonl:1: got .*, expected a row of scores"):
            list(keep_scores(scoring("texts.jsonl"), folder / "kept.jsonl", "texts.jsonl"))


def test_a_rubric_that_is_no_version_cannot_be_continued(scoring: Callable[..., Scoring], learned: Commands) -> None:
    rubric = Lab(learned.folder / "store.db").load("news@1").rubric
    with pytest.raises(SettingsError, match="expected a rubric that is stored as a version"):
        check_resumable(scoring("texts.jsonl", rubric), "scores.jsonl")


@pytest.mark.parametrize(("content", "end"), [(b"", 0), (b"half", 0), (b"a\n", 2), (b"a\nhalf", 2), (b"\n" * 3, 3)])
def test_the_end_of_the_last_complete_row_is_found(tmp_path: Path, content: bytes, end: int) -> None:
    for length in (0, 70_000, 200_000):
        (tmp_path / "file").write_bytes(content + b"x" * length)
        assert end_of_rows(tmp_path / "file") == end


class Interrupted(Exception):
    """Ends a run in the middle."""


@pytest.fixture
def recorded(scoring: Callable[..., Scoring], monkeypatch: pytest.MonkeyPatch) -> Callable[..., ProgressRecord]:
    """A function that scores a file with a checkpoint for every third row, up to a row, and returns the record."""
    monkeypatch.setattr(score_progress, "ROWS", 3)

    def scored(texts: str, output: str, rows: int, **options: Any) -> ProgressRecord:
        prepared = scoring(texts, **options)
        record = ProgressRecord(prepared, texts, output)

        async def run() -> None:
            async for row in prepared.stream():
                file.write(json_line(row.to_row()))
                wait_for_digest(record, row.line)
                if prepared.counts.rows == rows:
                    raise Interrupted

        with Path(output).open("wb", buffering=0) as file, pytest.raises(Interrupted):
            finish(run)
        return record

    return scored


def wait_for_digest(record: ProgressRecord, line: int) -> None:
    """Add a line; the first checkpoint follows the digest of the texts, which is computed in a thread."""
    record.add(line)
    if record._digesting:
        record._digesting.join()
        record.add(line)


def rest_of_run(prepared: Scoring, record: ProgressRecord, texts: str, output: str) -> tuple[int, list[dict[str, Any]]]:
    """Return how many rows were known to be right, and the rows that follow those in the file."""
    known = record.read()
    if known:
        known.restore(prepared)
    for row in keep_scores(prepared, Path(output), texts, known.last if known else None):
        prepared.count(row)

    async def rest() -> list[dict[str, Any]]:
        return [row.to_row() async for row in prepared.stream()]

    return known.last.rows if known else 0, finish(rest)


def tables(folder: Path) -> None:
    rows = [{**row, "id": str(number)} for number, row in enumerate(ROWS)]
    write_rows(rows, folder / "rows.csv")
    parquet.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet", row_group_size=4)


@pytest.mark.parametrize("texts", ["texts.jsonl", "rows.csv", "rows.parquet"])
def test_rows_up_to_the_last_checkpoint_are_not_compared_again(
    scoring: Callable[..., Scoring], recorded: Callable[..., ProgressRecord], folder: Path, texts: str
) -> None:
    tables(folder)
    recorded(texts, "all.jsonl", 8)
    # The end of a kill: a row and a checkpoint of which only a part was written.
    with (folder / "all.jsonl").open("ab") as file, (folder / "all.jsonl.progress").open("ab") as record:
        file.write(b'{"id": "half')
        record.write(b'{"line": 9, "end"')
    whole = scoring(texts)
    complete = [row.to_row() for row in finish(lambda: every_row(whole))]
    prepared = scoring(texts)
    known, rest = rest_of_run(prepared, ProgressRecord(prepared, texts, "all.jsonl"), texts, "all.jsonl")
    assert known == 6
    assert json_lines_of(rest) == json_lines_of(complete[8:])
    assert prepared.summary == whole.summary
    assert (prepared.counts.rows, prepared.counts.unscored, prepared.counts.answers) == (
        whole.counts.rows,
        whole.counts.unscored,
        whole.counts.answers,
    )


async def every_row(prepared: Scoring) -> list[Any]:
    return [row async for row in prepared.stream()]


def json_lines_of(rows: list[dict[str, Any]]) -> list[bytes]:
    return [json_line(row) for row in rows]


@pytest.mark.parametrize("change", ["texts", "scores", "option", "judge", "record", "torn"])
def test_a_checkpoint_counts_only_for_the_texts_scores_and_options_that_it_is_of(
    scoring: Callable[..., Scoring], recorded: Callable[..., ProgressRecord], folder: Path, change: str
) -> None:
    (folder / "own.jsonl").write_bytes(TEXTS)
    recorded("own.jsonl", "own-scores.jsonl", 8)
    output, record = folder / "own-scores.jsonl", folder / "own-scores.jsonl.progress"
    known = {"texts": 0, "scores": 3, "option": 0, "judge": 0, "record": 0, "torn": 3}[change]
    prepared = scoring("own.jsonl", **({"skip_faulty": True} if change == "option" else {}))
    if change == "texts":
        (folder / "own.jsonl").write_bytes(TEXTS + LINES[0])
    elif change == "scores":
        lines = output.read_bytes().splitlines(keepends=True)
        output.write_bytes(
            b"".join([*lines[:5], lines[5].replace(b'"applies":true', b'"applies":null', 1), *lines[6:]])
        )
    elif change == "judge":
        prepared.choice = replace(prepared.choice, spec="other")
    elif change == "record":
        record.write_bytes(b"{}\n" + record.read_bytes())
    elif change == "torn":
        output.write_bytes(b"".join(output.read_bytes().splitlines(keepends=True)[:5]))
    found = ProgressRecord(prepared, "own.jsonl", "own-scores.jsonl").read()
    assert (found.last.rows if found else 0) == known


def test_texts_that_change_while_they_are_scored_are_not_recorded(
    scoring: Callable[..., Scoring], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_progress, "ROWS", 1)
    (folder / "changed.jsonl").write_bytes(TEXTS)
    record = ProgressRecord(prepared := scoring("changed.jsonl"), "changed.jsonl", "changed-scores.jsonl")
    (folder / "changed.jsonl").write_bytes(TEXTS + LINES[0])
    prepared.counts.rows = 1
    wait_for_digest(record, 1)
    assert not (folder / "changed-scores.jsonl.progress").exists()


def test_a_complete_run_leaves_no_record(commands: Commands) -> None:
    (commands.folder / "scores.jsonl.progress").write_bytes(b"of an earlier run")
    done = commands("score", "texts.jsonl", *RESUME)
    assert done.code == 0, done.err
    assert sorted(path.name for path in commands.folder.glob("scores*")) == ["scores.jsonl"]

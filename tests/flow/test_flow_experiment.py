"""Stopping a study and going on: what was answered is not asked again, and what is finished not run again."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_server import commands_at, kill
from server import RunningServer
from study_rows import write_sets, write_study

from experiments.runner.results import Outcome, Results, read_stored


@pytest.fixture
def study(tmp_path: Path) -> tuple[object, ...]:
    """The command that runs two cases of a little study, with one request at a time."""
    folder, data = write_study(tmp_path / "mini"), tmp_path / "data"
    data.mkdir()
    write_sets(data)
    return ("experiment", "run", folder, "--data", data, "--only", "hanna:empathy", "--concurrency", 1, "-o", "r.json")


def figures(path: Path) -> list[Outcome]:
    """Return all that results say, but for how long it took."""
    cases = []
    for outcome in read_stored(Results, path).cases:
        rows = [
            row.model_copy(
                update={
                    name: spent.model_copy(update={"seconds": 0.0})
                    for name in ("learning", "scoring")
                    if (spent := getattr(row, name))
                }
            )
            for row in outcome.rows
        ]
        cases.append(outcome.model_copy(update={"rows": tuple(rows)}))
    return cases


def test_killed_in_the_middle_of_a_case_it_repeats_no_answered_request_and_ends_the_same(
    provider: RunningServer, tmp_path: Path, study: tuple[object, ...]
) -> None:
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
    undisturbed, killed = (commands_at(provider, tmp_path / name) for name in ("undisturbed", "killed"))
    whole = undisturbed(*study)
    assert whole.code == 0, whole.err
    asked = provider.requests.total()
    assert provider.repeated == 0
    provider.reset()
    # In the second of two cases.
    kill(killed, provider, study, round(0.75 * asked))
    assert len(read_stored(Results, killed.folder / "r.json").cases) == 1
    done = killed(*study)
    assert done.code == 0, done.err
    assert "1 case to run, 1 finished before" in done.err
    assert (provider.repeated, provider.answered.total(), provider.requests.total()) == (0, asked, asked + 1)
    assert figures(killed.folder / "r.json") == figures(undisturbed.folder / "r.json")
    assert done.out == whole.out

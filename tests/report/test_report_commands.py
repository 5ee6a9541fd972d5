"""`rubriclab report` and `rubriclab show --matrix` on a store with a combined rubric, an imported one and another."""

from __future__ import annotations

import csv
import io
import json

import pytest
from commands import Commands
from joint_samples import joint_record, joint_version
from pages import Page
from report_samples import version

from rubriclab.report.rubrics import matrix_rows
from rubriclab.store.store import open_store


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """A store with joint@1 and its record, bare@1 without one, and news@1 of a single method, to be read only."""
    commands = Commands(tmp_path_factory.mktemp("kept"), RUBRICLAB_STORE="store.db")
    joint, news = joint_version(), version()
    with open_store(commands.folder / "store.db") as store:
        store.save("joint", joint.rubric, joint.provenance, joint.effort, training=joint_record())
        store.save("bare", joint.rubric, joint.provenance, joint.effort)
        store.save("news", news.rubric, news.provenance, news.effort)
    return commands


def test_a_report_is_one_page_with_texts_and_verdict(kept: Commands) -> None:
    done = kept("report", "joint", "-o", "report.html")
    assert (done.code, done.out, done.err) == (0, "", "report written to report.html\n")
    page = Page((kept.folder / "report.html").read_text("utf-8"))
    assert "joint@1 , a rubric of coherence" in page.reading
    assert "better than the same judge asked directly" in page.reading
    assert "Largest disagreements with people" in page.reading
    assert kept("report", "joint").out == page.text


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ("nowhere/report.html", "nowhere/report.html cannot be written: No such file or directory."),
        ("store.db", "--output would overwrite store.db, which this command uses. Give another PATH."),
        (".", ". cannot be written: Is a directory."),
    ],
)
def test_a_report_goes_where_it_can_be_written(kept: Commands, place: str, complaint: str) -> None:
    before = (kept.folder / "store.db").read_bytes()
    done = kept("report", "joint", "-o", place)
    assert (done.code, done.error) == (2, complaint)
    assert (kept.folder / "store.db").read_bytes() == before


def test_the_matrix_is_printed_and_exported_whole(kept: Commands) -> None:
    printed = kept("show", "joint", "--matrix")
    assert (printed.code, printed.err) == (0, "")
    assert "30 labelled texts by 12 candidate criteria" in printed.out
    whole = kept("show", "joint", "--matrix", "--json").json
    assert whole.pop("rubric") == "joint@1"
    assert whole == joint_record().model_dump(mode="json")
    for name in ("matrix.csv", "matrix.jsonl"):
        done = kept("show", "joint", "--matrix", "-o", name)
        assert (done.code, done.out) == (0, "")
    rows = list(matrix_rows(joint_record()))
    lines = (kept.folder / "matrix.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows
    table = csv.DictReader(io.StringIO((kept.folder / "matrix.csv").read_text("utf-8")))
    assert [row["reason"] for row in table] == [row["reason"] for row in rows]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("bare", "--matrix"),
            "The ratings of the labelled texts by bare@1 are not stored. The store has no training record of bare@1",
        ),
        (
            ("news", "--matrix"),
            "The ratings of the labelled texts by news@1 are not stored. news@1 was learned by one method",
        ),
        (("joint", "-o", "matrix.csv"), "--output goes with --matrix."),
        (("joint", "--matrix", "-o", "no/matrix.csv"), "no/matrix.csv cannot be written: No such file or directory."),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_reason(
    kept: Commands, arguments: tuple[str, ...], complaint: str
) -> None:
    done = kept("show", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.error.startswith(complaint)

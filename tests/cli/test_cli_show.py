"""`rubriclab show`: a version as a person reads it, or as a pack."""

from __future__ import annotations

import json

import pytest
from commands import Commands


def test_a_rubric_is_shown_with_criteria_levels_weights_and_agreement(learned: Commands) -> None:
    done = learned("show", "news@1")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("news@1\ncoherence: How well the summary works as one piece")
    rubric = json.loads(learned("show", "news@1", "--json").out)["rubric"]
    criteria = rubric["parts"][0]["criteria"]
    assert len(criteria) == 5
    shown = " ".join(done.out.split())
    for criterion in criteria:
        assert criterion["trait"] in shown
        assert all(" ".join(level["description"].split()) in shown for level in criterion["levels"])
    assert shown.count("weight 1;") == 5
    assert "optimistic" in shown
    assert "learned from 36 texts of 6 groups, with seed 42" in shown


def test_evidence_tells_where_criteria_came_from_and_what_was_dropped(learned: Commands) -> None:
    short, long = learned("show", "news@1"), learned("show", "news@1", "--evidence")
    assert "more criteria considered and dropped; --evidence shows them" in " ".join(short.out.split())
    assert "dropped: not among the 5 that track the labels best" in " ".join(long.out.split())
    assert "origin" in long.out
    assert "origin" not in short.out


def test_the_newest_version_is_shown_unless_another_is_asked_for(learned: Commands) -> None:
    assert learned("show", "news").out == learned("show", "news@2").out
    assert learned("show", "news").out.startswith("news@2\n")


def test_json_is_the_pack(learned: Commands) -> None:
    assert learned("show", "news@1", "--json").out == learned("export", "news@1").out


@pytest.mark.parametrize(
    ("ref", "complaint"),
    [
        ("newz", "The store holds no rubric 'newz'; it has news, relevance. Did you mean 'news'?"),
        ("zebra", "The store holds no rubric 'zebra'; it has news, relevance."),
        ("news@7", "news has no version 7; it has versions 1 to 2."),
        ("relevance@2", "relevance has no version 2; it has version 1 only."),
        ("news@production", "news has no tag 'production'; it has no tag at all."),
        ("News Now", "'News Now' does not refer to a rubric. Write NAME, NAME@NUMBER or NAME@TAG."),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(learned: Commands, ref: str, complaint: str) -> None:
    done = learned("show", ref)
    assert (done.code, done.out, done.err) == (2, "", f"error: {complaint}\n")


@pytest.mark.parametrize(
    ("store", "complaint"),
    [
        ("text.db", "The store text.db cannot be used: file is not a database."),
        (".", "The store . cannot be used: unable to open database file."),
        ("file.txt/store.db", "The store file.txt/store.db does not exist. "),
        ("mystery://place", "No driver for mystery://place is installed"),
        (
            "postgresql://me:secret@127.0.0.1:1/rubrics",
            "The store postgresql+psycopg://me:***@127.0.0.1:1/rubrics cannot",
        ),
        ("postgresql://host:port/rubrics", "The store's address is not understood. Write a path, or a URL"),
    ],
)
def test_a_store_that_is_none_is_refused_in_one_line(rubriclab: Commands, store: str, complaint: str) -> None:
    for name in ("text.db", "file.txt"):
        (rubriclab.folder / name).write_text("No database.\n" * 100)
    done = rubriclab("show", "news", "--store", store)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.error.startswith(complaint)
    assert "secret" not in done.err

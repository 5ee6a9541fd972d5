"""`rubriclab explain`."""

from __future__ import annotations

import math

import pytest
from commands import HELDOUT, Commands
from edit_samples import examples

FIRST = examples()[0].id


def test_a_labelled_text_is_explained_by_its_kept_ratings_without_a_call(planted: Commands) -> None:
    row = planted("explain", "planted", "--id", FIRST, "--json").json
    shares = math.fsum(each["contribution"] for each in row["criteria"])
    assert row["average"] + shares == pytest.approx(row["score"], abs=1e-5)
    assert row["labelled"]["label"] == examples()[0].scores["coherence"]
    assert len(row["nearest"]) == 5
    assert planted("explain", "planted", "--id", FIRST, "--dry-run", "--json").json["estimate"] == {}
    shown = " ".join(planted("explain", "planted", "--id", FIRST, "--nearest", 0).out.split())
    assert "The rubric was learned from this text" in shown


def test_a_plain_text_comes_from_standard_input(planted: Commands) -> None:
    row = planted("explain", "planted", "-", "--json", stdin=b"The ferry stops. It was old.").json
    assert 1 <= row["score"] <= 5
    assert row["labelled"] is None


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), "There is no text to explain"),
        (("--id", f"{FIRST}x"), f"Did you mean '{FIRST}'"),
        ((HELDOUT,), "and one is explained; name it with --id ID"),
        ((HELDOUT, "--id", "nobody", "--source", "source.txt"), "--source belongs to a plain text"),
        (("missing.txt",), "missing.txt cannot be read"),
    ],
)
def test_bad_input_gives_one_line(planted: Commands, arguments: tuple[object, ...], error: str) -> None:
    done = planted("explain", "planted", *arguments)
    assert done.code == 2
    assert error in done.error

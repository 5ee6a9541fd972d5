"""`rubriclab edit`."""

from __future__ import annotations

import json

import pytest
from commands import Commands
from edit_samples import examples

WHO = ("--by", "anna", "--because", "it repeats")


def test_an_edit_is_shown_saved_and_recorded_in_show_and_diff(planted: Commands) -> None:
    done = planted("edit", "planted", "--drop", "links", "--pin", "order=0.25", *WHO, "--html", "edit.html")
    assert done.code == 0, done.err
    assert "saved as planted@2, whose parent is planted@1" in done.out
    assert "Held-out Pearson changes by" in done.out
    assert "The edit itself is the same in every fold" in " ".join(done.out.split())
    (row,) = (line for line in done.out.splitlines() if line.startswith("order "))
    assert row.split()[3:5] == ["25", "%"]
    assert "Held-out agreement" in (planted.folder / "edit.html").read_text("utf-8")
    shown = " ".join(planted("show", "planted@2").out.split())
    assert "edited by anna" in shown
    assert "because it repeats" in shown
    assert "dropped links" in shown
    assert "weight pinned order: 0.25" in shown
    diff = planted("diff", "planted@1", "planted@2")
    assert "links" in diff.out


def test_a_dry_run_shows_the_price_and_a_preview_the_effect_and_neither_saves(planted: Commands) -> None:
    bound = planted("edit", "planted", "--add", "It is calm.", "--dry-run", "--json").json
    assert bound["estimate"]["judge"]["calls"] == len(examples())
    free = planted("edit", "planted", "--drop", "links", "--dry-run", "--json").json
    assert free["estimate"]["judge"]["calls"] == 0
    row = planted("edit", "planted", "--drop", "links", "--preview", "--json").json
    assert (row["saved"], row["parent"], row["calls"]["made"]) == (None, "planted@1", 0)
    assert len(planted("log", "planted", "--json").json["versions"]) == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--drop", "link"), "planted@1 has no criterion 'link'. Did you mean 'links'?"),
        (("--drop", "links", "--by", "anna"), "Give --by NAME and --because REASON, or --preview to save nothing."),
        ((), "No change was asked for. Give at least one of --drop"),
        (("--bound", "links=0.4"), "links=0.4: expected LOW:HIGH, such as 0:0.2, or free"),
        (("--pin", "links"), "--pin: expected ID=WEIGHT, got 'links'"),
        (("--merge", "links=All linked."), "--merge joins two criteria or more, got one. See --reword."),
        (("--drop", "links", "--preview", "--labels", "nowhere.jsonl"), "nowhere.jsonl"),
    ],
)
def test_bad_input_gives_one_line_that_says_what_to_do(planted: Commands, options: tuple[str, ...], error: str) -> None:
    done = planted("edit", "planted", *options)
    assert done.code == 2
    assert error in done.error


def test_a_version_without_kept_texts_is_edited_with_a_file_of_labels(planted: Commands) -> None:
    refused = planted("edit", "alone", "--drop", "links", "--preview")
    assert (refused.code, "Give them: --labels FILE" in refused.error) == (2, True)
    rows = (
        {"id": text.id, "output": text.output, "source": text.source, "scores": dict(text.scores)}
        for text in examples()
    )
    (planted.folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = planted("edit", "alone", "--drop", "links", "--labels", "own.jsonl", "--preview", "--json")
    assert done.code == 0, done.err
    assert (done.json["n"], done.json["folds"]) == (len(examples()), 0)

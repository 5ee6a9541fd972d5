"""`rubriclab edit`."""

from __future__ import annotations

import pytest
from commands import Commands

WHO = ("--author", "anna", "--because", "it repeats")


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


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--drop", "link"), "planted@1 has no criterion 'link'. Did you mean 'links'?"),
        (
            ("--drop", "links", "--author", "anna"),
            "Give --author NAME and --because REASON, or --preview to save nothing.",
        ),
        ((), "No change was asked for. Give at least one of --drop"),
        (("--bound", "links=0.4"), "links=0.4: expected LOW:HIGH, such as 0:0.2, or free"),
        (("--pin", "links"), "--pin: expected ID=VALUE, got 'links'"),
        (("--merge", "links=All linked."), "--merge joins two criteria or more, got one. See --reword."),
    ],
)
def test_bad_input_gives_one_line_that_says_what_to_do(planted: Commands, options: tuple[str, ...], error: str) -> None:
    done = planted("edit", "planted", *options)
    assert done.code == 2
    assert error in done.error


def test_a_pack_names_its_editor_unless_it_is_anonymous_and_another_number_is_explained(planted: Commands) -> None:
    assert planted("export", "planted@1", "-o", "first.json").err == "first.json written\n"
    assert planted("edit", "planted", "--drop", "links", *WHO).code == 0
    export = ("export", "planted@2", "-o", "pack.json")
    assert "names raters or editors (anna); --anonymous leaves their names out" in planted(*export).err
    assert planted(*export, "--anonymous").err == "pack.json written\n"
    assert "anna" not in (planted.folder / "pack.json").read_text("utf-8")
    assert planted("import", "pack.json", "--store", "other.db").out == "planted@2\n"
    moved = planted("import", "first.json", "--store", "other.db")
    assert moved.out == "planted@3\n"
    assert "planted@1 is stored as planted@3, since planted had version 2 already" in moved.err

"""`rubriclab edit`."""

from __future__ import annotations

import pytest
from commands import Commands

WHO = ("--author", "anna", "--because", "it repeats")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--drop", "link"), "planted@1 has no criterion 'link'. Did you mean 'links'?"),
        (("--drop", "links", *WHO[:2]), "Give --author NAME and --because REASON, or --preview to save nothing."),
        (("--bound", "links=0.4"), "links=0.4: expected LOW:HIGH, such as 0:0.2, or free"),
        (("--merge", "links=All linked."), "--merge joins two criteria or more, got one. See --reword."),
    ],
)
def test_bad_input_gives_one_line_that_says_what_to_do(planted: Commands, options: tuple[str, ...], error: str) -> None:
    done = planted("edit", "planted", *options)
    assert done.code == 2
    assert error in done.error


def test_a_pack_names_its_editor_unless_it_is_anonymous_and_another_number_is_explained(planted: Commands) -> None:
    assert (
        planted("export", "planted@1", "-o", "first.json").err
        == "the pack names none of the known raters and editors\nfirst.json written\n"
    )
    assert planted("edit", "planted", "--drop", "links", *WHO).code == 0
    export = ("export", "planted@2", "-o", "pack.json")
    assert "names raters or editors (anna); --anonymous leaves their names out" in planted(*export).err
    assert planted(*export, "--anonymous").err == (
        "the reason of the edit is kept, without raters' names; check that it names nobody else\npack.json written\n"
    )
    assert "anna" not in (planted.folder / "pack.json").read_text("utf-8")
    assert planted("import", "pack.json", "--store", "other.db").out == "planted@2\n"
    moved = planted("import", "first.json", "--store", "other.db")
    assert moved.out == "planted@3\n"
    assert "planted@1 is stored as planted@3, since planted had version 2 already" in moved.err

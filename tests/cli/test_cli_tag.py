"""`rubriclab tag`: names that move between versions which never change."""

from __future__ import annotations

import pytest
from commands import Commands


def test_a_tag_moves_and_can_be_removed(own: Commands) -> None:
    assert own("tag", "news@1", "production").out == "news@1 is production\n"
    assert own("show", "news@production").out.startswith("news@1  production\n")
    moved = own("tag", "news", "production")
    assert moved.out == "news@2 is production\n"
    assert "production was news@1 before" in moved.err
    assert own("show", "news@production").out.startswith("news@2  production\n")
    assert own("tag", "news", "production", "--delete").out == "news has no tag production any more\n"
    assert own("show", "news@production").error == "news has no tag 'production'; it has no tag at all."
    assert own("verify").code == 0


def test_a_mistyped_tag_is_answered_with_those_there_are(own: Commands) -> None:
    own("tag", "news@1", "production")
    assert own("show", "news@prodution").error == (
        "news has no tag 'prodution'; it has production. Did you mean 'production'?"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("news", "3"), "'3' cannot be a tag: it could be taken for the number of a version. Choose a word"),
        (("news", "latest"), "'latest' cannot be a tag: it says which version is meant"),
        (("news", "In Use"), "'In Use' cannot be a tag."),
        (("old", "production"), "The store holds no rubric 'old'"),
        (("news@9", "production"), "news has no version 9;"),
        (("news", "production", "--delete"), "news has no tag 'production';"),
    ],
)
def test_what_cannot_be_tagged_is_refused(own: Commands, arguments: tuple[str, ...], complaint: str) -> None:
    done = own("tag", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.error.startswith(complaint)

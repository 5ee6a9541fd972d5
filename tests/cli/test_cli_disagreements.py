"""`rubriclab disagreements`."""

from __future__ import annotations

from commands import Commands


def test_the_json_has_the_chosen_side_the_largest_difference_first(planted: Commands) -> None:
    row = planted("disagreements", "planted", "--count", 3, "--side", "lower", "--json").json
    differences = [text["difference"] for text in row["texts"]]
    assert row["rubric"] == "planted@1"
    assert len(differences) == 3
    assert differences == sorted(differences)
    assert max(differences) < 0
    assert {each["reason"] for text in row["texts"] for each in text["criteria"]} == {"planted"}


def test_bad_input_gives_one_line(planted: Commands) -> None:
    for arguments, error in (
        (("planted", "--side", "left"), "--side"),
        (("alone",), "learned by one method"),
        (("plantd",), "Did you mean 'planted'?"),
    ):
        done = planted("disagreements", *arguments)
        assert done.code == 2
        assert error in done.err

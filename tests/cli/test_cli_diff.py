"""`rubriclab diff`: what changed from one version to another."""

from __future__ import annotations

from commands import Commands


def test_what_changed_is_shown(learned: Commands) -> None:
    done = learned("diff", "news@1", "news@2")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("news@1 to news@2\nThe rubrics are different.\n")
    (seed,) = (line for line in done.out.splitlines() if line.startswith("seed"))
    assert seed.split() == ["seed", "42", "2"]


def test_json_accounts_for_every_criterion_on_both_sides(learned: Commands) -> None:
    found = learned("diff", "news@1", "news@2", "--json").json
    assert (found["before"], found["after"], found["same"]) == ("news@1", "news@2", False)
    assert {"field": "seed", "before": 42, "after": 2} in found["fields"]
    kept = len(found["changed"]) + found["unchanged"]
    assert len(found["removed"]) + kept == len(found["added"]) + kept == 5


def test_a_version_does_not_differ_from_itself(learned: Commands) -> None:
    found = learned("diff", "news", "news@2", "--json").json
    assert found["same"] is True
    assert (found["fields"], found["added"], found["removed"], found["changed"]) == ([], [], [], [])
    assert found["unchanged"] == 5


def test_an_unknown_version_is_refused(learned: Commands) -> None:
    done = learned("diff", "news@1", "news@9")
    assert (done.code, done.out, done.error) == (2, "", "news has no version 9; it has versions 1 to 2.")

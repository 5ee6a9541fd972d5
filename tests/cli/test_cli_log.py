"""`rubriclab log`: the versions of one name."""

from __future__ import annotations

from commands import Commands


def test_versions_are_listed_the_newest_first(learned: Commands) -> None:
    done = learned("log", "news")
    assert (done.code, done.err) == (0, "")
    assert done.out.index("news@2") < done.out.index("news@1")
    assert "seed 2" in done.out
    assert [row["rubric"] for row in learned("log", "news", "--json").json["versions"]] == ["news@2", "news@1"]


def test_an_unknown_name_is_refused_with_a_suggestion(learned: Commands) -> None:
    done = learned("log", "relevanse")
    assert (done.code, done.out) == (2, "")
    assert done.error.endswith("it has news, relevance. Did you mean 'relevance'?")


def test_a_version_is_no_name(learned: Commands) -> None:
    assert learned("log", "news@1").error.startswith("'news@1' cannot be the name of a rubric.")

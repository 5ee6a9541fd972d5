"""`rubriclab list`: the rubrics in a store."""

from __future__ import annotations

from datetime import datetime

from commands import LABELLED, Commands


def test_the_newest_version_of_each_name_is_listed(learned: Commands) -> None:
    done = learned("list")
    assert (done.code, done.err) == (0, "")
    assert "news@2" in done.out
    assert "relevance@1" in done.out
    assert "news@1" not in done.out


def test_json_says_what_each_is(learned: Commands) -> None:
    news, relevance = learned("list", "--json").json["versions"]
    assert (news["rubric"], news["parent"], news["tags"]) == ("news@2", "news@1", [])
    assert (news["task"], news["aspect"], news["criteria"], news["judge"]) == (
        "summarization",
        "coherence",
        5,
        "embedded",
    )
    assert news["digest"].startswith("sha256:")
    assert news["agreement"]["n"] == 36
    assert datetime.fromisoformat(news["created"]).tzinfo is not None
    assert (relevance["rubric"], relevance["parent"]) == ("relevance@1", None)


def test_tags_are_listed(own: Commands) -> None:
    own("tag", "news@2", "production")
    assert "production" in own("list").out
    assert own("list", "--json").json["versions"][0]["tags"] == ["production"]


def test_an_empty_store_says_where_it_is_and_how_to_fill_it(rubriclab: Commands) -> None:
    done = rubriclab("list")
    assert (done.code, done.out) == (0, "")
    assert done.err == "The store store.db does not exist. Learn a rubric first: rubriclab learn\n"
    assert rubriclab("list", "--json").json == {"versions": []}


def test_without_a_store_the_users_data_folder_holds_one(rubriclab: Commands) -> None:
    bare = Commands(rubriclab.folder)
    store = rubriclab.folder / ".local/share/rubriclab/store.db"
    bare("list")
    assert not store.exists(), "looking makes no store"
    bare("learn", LABELLED, "--task", "summarization", "--aspect", "coherence", "--method", "direct")
    assert store.is_file()

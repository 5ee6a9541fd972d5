"""`rubriclab agree`: two models on a local server, one judge offline beside a recording, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import hypoeval_brain
import numpy as np
import pytest
from commands import HELDOUT, Commands
from server import RunningServer

from rubriclab.stats.reliability import fleiss_kappa, krippendorff_alpha

TEXTS = HELDOUT.read_bytes().splitlines(keepends=True)[:12]
STRICT, MILD = "openai/strict", "openai/mild"
TWO = ("--judge", STRICT, "--judge", MILD)
AGREE = ("agree", "texts.jsonl", "--rubric", "news@1")


def two_minds(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
    """Rate as the brain does; the model called `mild` a point higher, as far as the scale goes."""
    reply = json.loads(hypoeval_brain.reply(messages, body))
    if body["model"] == "mild":
        reply["score"] = min(5, reply["score"] + 1)
    return json.dumps(reply)


@pytest.fixture
def models(_running_server: RunningServer) -> RunningServer:
    """A server with two models that rank alike, one of them severe."""
    _running_server.reset()
    _running_server.brain = two_minds
    return _running_server


@pytest.fixture
def asking(own: Commands, models: RunningServer) -> Commands:
    """The command line with a store of rubrics, twelve texts, and that server."""
    (own.folder / "texts.jsonl").write_bytes(b"".join(TEXTS))
    return Commands(own.folder, **own.environment, OPENAI_API_BASE=models.url, OPENAI_API_KEY="none")


@pytest.fixture(scope="session")
def recording(
    _running_server: RunningServer, learned: Commands, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What two models on the server came to, and the folder that holds the texts and a recording of both."""
    _running_server.reset()
    _running_server.brain = two_minds
    folder = tmp_path_factory.mktemp("recording")
    (folder / "texts.jsonl").write_bytes(b"".join(TEXTS))
    (folder / "store.db").write_bytes((learned.folder / "store.db").read_bytes())
    asking = Commands(folder, RUBRICLAB_STORE="store.db", OPENAI_API_BASE=_running_server.url, OPENAI_API_KEY="none")
    done = asking(*AGREE, *TWO, "--record", "recorded.jsonl", "--json")
    assert done.code == 0, done.err
    return {"folder": folder, "found": done.json}


@pytest.fixture
def offline(own: Commands, recording: dict[str, Any]) -> Commands:
    """The command line with a store of rubrics, twelve texts and the recording, and no server."""
    for name in ("texts.jsonl", "recorded.jsonl"):
        (own.folder / name).write_bytes((recording["folder"] / name).read_bytes())
    return own


def scored(commands: Commands, judge: str) -> list[dict[str, Any]]:
    done = commands("score", "texts.jsonl", "--rubric", "news@1", "--judge", judge)
    assert done.code == 0, done.err
    return done.rows


def test_figures_are_those_of_the_scores_that_the_score_command_gives(
    offline: Commands, recording: dict[str, Any]
) -> None:
    found = recording["found"]
    rows = [scored(offline, f"recorded:recorded.jsonl#{judge}") for judge in (STRICT, MILD)]
    table = np.array([[row["score"] for row in mine] for mine in rows])
    groups = np.unique([json.loads(line)["group"] for line in TEXTS], return_inverse=True)[1]
    assert (found["rubric"], found["aspect"], found["texts"], found["groups"]) == ("news@1", "coherence", 12, 2)
    assert [judge["judge"] for judge in found["judges"]] == [STRICT, MILD]
    assert [judge["mean"] for judge in found["judges"]] == pytest.approx(table.mean(axis=1))
    alpha = krippendorff_alpha(table, "interval", groups)
    assert found["scores"]["unbinned"]["alpha_interval"] == {
        "value": pytest.approx(alpha.value),
        "low": pytest.approx(alpha.low),
        "high": pytest.approx(alpha.high),
    }
    bins = np.clip(np.floor((table - 1) / 4 * 5 + 1e-9), 0, 4)
    assert found["scores"]["binned"]["fleiss_kappa"]["value"] == pytest.approx(fleiss_kappa(bins).value)
    for number, criterion in enumerate(found["criteria"]):
        ratings = np.array([[row["criteria"][number]["score"] for row in mine] for mine in rows])
        assert criterion["id"] == rows[0][0]["criteria"][number]["id"]
        assert (criterion["kind"], criterion["answers"], criterion["missing"]) == ("graded", 12, 0)
        assert criterion["figures"]["alpha_ordinal"]["value"] == pytest.approx(
            krippendorff_alpha(ratings, "ordinal").value
        )
    assert [(row["id"], row["criteria"], row["answers"]) for row in found["pooled"]] == [("graded", 5, 60)]


def test_judges_who_rank_alike_and_differ_in_severity_correlate_but_do_not_agree(recording: dict[str, Any]) -> None:
    found = recording["found"]
    (pair,) = found["pairs"]
    assert (pair["first"], pair["second"], pair["n"]) == (STRICT, MILD, 12)
    assert pair["spearman"]["value"] > 0.8
    assert pair["difference"]["high"] < -0.5
    assert pair["verdict"] == "lower"
    assert found["scores"]["unbinned"]["alpha_interval"]["value"] < 0.5
    assert found["scores"]["reliability"][0] == "unreliable"
    assert found["scores"]["binned"]["quadratic_kappa"]["value"] < 0.6


def test_each_model_is_asked_once_and_answers_are_kept(asking: Commands, models: RunningServer) -> None:
    first = asking(*AGREE, *TWO, "--json").json
    assert first["calls"] == {"made": 120, "answered_from_cache": 0, "failed": 0}
    assert models.requests.total() == 120
    assert {body["model"] for body in models.bodies} == {"strict", "mild"}
    again = asking(*AGREE, *TWO, "--json")
    assert again.json["calls"] == {"made": 0, "answered_from_cache": 120, "failed": 0}
    assert models.requests.total() == 120
    assert again.json["scores"] == first["scores"]


def test_the_embedded_judge_stands_beside_a_recording_offline(offline: Commands) -> None:
    recorded = f"recorded:recorded.jsonl#{MILD}"
    done = offline.script(*AGREE, "--judge", "embedded", "--judge", recorded)
    assert done.code == 0, done.err
    assert done.err == (
        "judge: embedded; it measures texts offline and is not a language model (name another with --judge)\n"
    )
    found = offline(*AGREE, "--judge", "embedded", "--judge", recorded, "--json").json
    assert [judge["judge"] for judge in found["judges"]] == ["embedded", recorded]
    words = " ".join(done.out.split())
    assert words.startswith("news@1: coherence 12 texts on 1 (lowest) to 5 (highest)")
    assert "{value:.2f} [{low:.2f}, {high:.2f}]".format(**found["scores"]["unbinned"]["alpha_interval"]) in words
    assert f"A embedded 12 0 {found['judges'][0]['mean']:.2f}" in words
    for criterion in found["criteria"]:
        assert f"\n{criterion['id']} " in done.out
    assert "Krippendorff (2004) considers data reliable from 0.800" in words
    assert "answers are missing" not in words


def test_three_judges_are_compared_pair_by_pair(offline: Commands) -> None:
    judges = ("embedded", f"recorded:recorded.jsonl#{STRICT}", f"recorded:recorded.jsonl#{MILD}")
    done = offline(*AGREE, *(part for judge in judges for part in ("--judge", judge)), "--json")
    pairs = [(pair["first"], pair["second"]) for pair in done.json["pairs"]]
    assert pairs == [(judges[0], judges[1]), (judges[0], judges[2]), (judges[1], judges[2])]


def test_the_number_of_bins_is_an_option(offline: Commands, recording: dict[str, Any]) -> None:
    judges = [part for judge in (STRICT, MILD) for part in ("--judge", f"recorded:recorded.jsonl#{judge}")]
    found = offline(*AGREE, *judges, "--bins", 2, "--json").json
    assert (recording["found"]["bins"], found["bins"]) == (5, 2)
    assert found["scores"]["unbinned"] == recording["found"]["scores"]["unbinned"]
    assert found["scores"]["binned"] != recording["found"]["scores"]["binned"]


def test_a_reply_that_cannot_be_used_is_missing_and_counted(asking: Commands, models: RunningServer) -> None:
    hard = json.loads(TEXTS[1])["output"]

    def unwilling(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        if body["model"] == "mild" and hard in messages[1]["content"]:
            return "I would rather not."
        return two_minds(messages, body)

    models.brain = unwilling
    done = asking(*AGREE, *TWO)
    assert done.code == 0, done.err
    words = " ".join(done.out.split())
    assert "Scores 11 texts with two or more, 1 missing" in words
    assert "1 score and 5 answers are missing; the figures rest on the others." in words
    found = asking(*AGREE, *TWO, "--json").json
    assert [judge["unscored"] for judge in found["judges"]] == [0, 1]
    assert found["pairs"][0]["n"] == 11
    assert [(row["answers"], row["missing"]) for row in found["criteria"]] == [(11, 1)] * 5


def test_texts_need_no_labels_and_faulty_rows_are_named(offline: Commands) -> None:
    rows = [json.loads(line) for line in TEXTS[:6]]
    for row in rows:
        del row["scores"]
    lines = [*map(json.dumps, rows), '{"id": "x", "output": ""}']
    done = offline(
        *("agree", "-", "--rubric", "news@1", "--json", "--judge", "embedded"),
        *("--judge", f"recorded:recorded.jsonl#{STRICT}"),
        stdin="\n".join(lines).encode(),
    )
    assert done.code == 0, done.err
    assert "left out: stdin:7: field 'output': got an empty text, expected a non-empty text" in done.err
    assert (done.json["texts"], done.json["groups"], done.json["resampled"]) == (6, 1, "texts")


def test_ids_that_stand_twice_are_said(offline: Commands) -> None:
    judges = ("--judge", "embedded", "--judge", f"recorded:recorded.jsonl#{STRICT}")
    done = offline("agree", "-", "--rubric", "news@1", *judges, stdin=TEXTS[0] * 2)
    assert "some ids are repeated" in done.err


def test_dry_run_asks_nothing_and_names_every_judge(asking: Commands, models: RunningServer) -> None:
    done = asking(*AGREE, *TWO, "--price", "1:1", "--dry-run")
    assert done.code == 0
    first, second, *_ = done.out.splitlines()
    assert first.startswith("judge 1 openai/strict: about 60 calls, ")
    assert second.startswith("judge 2 openai/mild: about 60 calls, ")
    assert models.requests.total() == 0
    most = asking(*AGREE, *TWO, "--dry-run", "--json").json["estimate"]
    assert [row["judge"] for row in most.values()] == [STRICT, MILD]


def test_judges_can_stand_in_the_configuration(offline: Commands) -> None:
    (offline.folder / "rubriclab.toml").write_text(
        f"judge = ['embedded', 'recorded:recorded.jsonl#{STRICT}']\nbins = 4\n", "utf-8"
    )
    found = offline("--config", "rubriclab.toml", *AGREE, "--json").json
    assert (len(found["judges"]), found["bins"]) == (2, 4)


@pytest.mark.parametrize(
    ("judges", "complaint"),
    [
        ((), "Agreement takes two judges or more, and none was named; name each with --judge."),
        (("embedded",), "Agreement takes two judges or more, and only embedded was named;"),
        (("embedded", "openai/mine", "embedded"), "The judge embedded is named twice;"),
        (("embedded", "recorded:missing"), "The recording missing cannot be read"),
        (("embedded", "recorded:recorded.jsonl"), "The recording recorded.jsonl has more than one judge;"),
        (("embedded", "recorded:recorded.jsonl#me"), "The recording recorded.jsonl has no judge me;"),
    ],
    ids=["none", "one", "twice", "no recording", "which", "who"],
)
def test_judges_that_cannot_be_compared_are_refused(offline: Commands, judges: tuple[str, ...], complaint: str) -> None:
    done = offline(*AGREE, *(part for judge in judges for part in ("--judge", judge)))
    assert (done.code, done.out) == (2, "")
    assert done.error.startswith(complaint)


def test_one_judge_under_two_names_is_refused(offline: Commands) -> None:
    (offline.folder / "copy.jsonl").write_bytes((offline.folder / "recorded.jsonl").read_bytes())
    names = [f"recorded:{file}.jsonl#{STRICT}" for file in ("recorded", "copy")]
    done = offline(*AGREE, "--judge", names[0], "--judge", "embedded", "--judge", names[1])
    assert (done.code, done.out) == (2, "")
    assert done.error.startswith(f"{names[0]} and {names[1]} are the same judge;")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("none.jsonl", "--rubric", "news"), "none.jsonl cannot be read: there is no such file."),
        (("texts.jsonl", "--rubric", "old"), "The store holds no rubric 'old'; it has news, relevance."),
        (("texts.jsonl", "--rubric", "news", "--bins", 1), "Invalid value for '--bins': 1 is not in the range x>=2."),
        (("texts.jsonl", "--rubric", "news", "--map", "output"), "The mapping 'output' is not understood;"),
        (("texts.jsonl",), "Missing option '--rubric'"),
    ],
    ids=["file", "rubric", "bins", "map", "no rubric"],
)
def test_what_cannot_be_scored_is_refused(offline: Commands, arguments: tuple[object, ...], complaint: str) -> None:
    done = offline("agree", *arguments, "--judge", "embedded", "--judge", f"recorded:recorded.jsonl#{STRICT}")
    assert (done.code, done.out) == (2, "")
    assert complaint in done.err


def test_nothing_but_faulty_rows_is_refused(offline: Commands) -> None:
    judges = ("--judge", "embedded", "--judge", f"recorded:recorded.jsonl#{STRICT}")
    done = offline("agree", "-", "--rubric", "news", *judges, stdin=b'{"output": ""}\n{"output": " "}\n')
    assert (done.code, done.out) == (2, "")
    assert done.error == "None of the 2 rows of stdin can be used. Fix the rows named above."


def test_a_recording_that_lacks_a_reply_is_refused(offline: Commands) -> None:
    judges = ("--judge", "embedded", "--judge", f"recorded:recorded.jsonl#{STRICT}")
    done = offline("agree", HELDOUT, "--rubric", "news@1", *judges)
    assert (done.code, done.out) == (2, "")
    assert f"holds no reply of {STRICT} to this hypoeval/rate prompt" in done.error


def test_a_judge_of_whom_no_reply_comes_fails_the_command(asking: Commands) -> None:
    dead = ("--judge", "openai/dead", "--api-base", "http://127.0.0.1:9/v1", "--attempts", 1)
    done = asking("agree", "-", "--rubric", "news@1", "--judge", "embedded", *dead, stdin=b"".join(TEXTS[:3]))
    assert done.code == 4
    assert done.error.startswith(
        "openai/dead gave no reply that news@1 can use; the latest reason: 5 of 5 criteria without"
    )
    assert "is undefined" in done.out
    refused = asking(*AGREE, "--judge", "embedded", *dead)
    assert (refused.code, refused.out) == (4, "")

"""Every command and the Python call of the same operation give the same result on copies of the same store."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT, LABELLED, TASK, Commands, Done
from paper_samples import write_paper
from scripted_judge import checklist
from server import RunningServer

from rubriclab import Example, Lab, Version, read
from rubriclab.cli.main import every_command
from rubriclab.judges.batch import OpenBatch
from rubriclab.models.base import digest
from rubriclab.models.judgment import HumanJudgment, TextToJudge
from rubriclab.ops.label import label_question
from rubriclab.ops.options import LabelOptions
from rubriclab.store.store import open_store

LEARNED: dict[str, Any] = {"task": "summarization", "aspect": "coherence", "scale": (1, 5)}
READING = ("--task", "news", "--folder", "found", "--judge", "openai/fake")
READ: dict[str, Any] = {"task": "news", "folder": "found", "judge": "openai/fake"}
THIRD = json.loads(HELDOUT.read_text("utf-8").splitlines()[2])["id"]
DUPLICATES = {
    "a1": {"text": "Does a story have a fast and good ending?"},
    "a2": {"text": "Does the story have a fast and a good ending?"},
}


@dataclass(frozen=True)
class Side:
    """A command line and a `Lab`, each with a copy of the same store in a folder of its own."""

    command: Commands
    lab: Lab

    def run(self, *arguments: object, code: int = 0, stdin: bytes = b"") -> Done:
        """Return how the command ended, with the expected exit code."""
        done = self.command(*arguments, stdin=stdin)
        assert done.code == code, done.err
        return done

    def json(self, *arguments: object, code: int = 0) -> Any:
        return self.run(*arguments, "--json", code=code).json


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts, and a store of news@1 and news@2 by two methods, alone@1 by one, and an imported version.

    It also has a batch, a cached answer and a person's judgment.
    """
    folder = tmp_path_factory.mktemp("parity")
    (folder / "texts.jsonl").write_bytes(b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:20]))
    shutil.copy(folder / "texts.jsonl", folder / "same.jsonl")
    (folder / "questions.json").write_text(checklist((2,), changes=DUPLICATES).model_dump_json())
    write_paper(folder)
    commands = Commands(folder, RUBRICLAB_STORE="store.db")
    two = ("--method", "hypoeval", "--method", "direct")
    for more in (
        (*two, "--name", "news"),
        (*two, "--name", "news", "--set", "hypoeval.initial_examples=8"),
        ("--method", "hypoeval", "--name", "alone"),
    ):
        done = commands("learn", LABELLED, *TASK, *more)
        assert done.code == 0, done.err
    assert commands("export", "alone@1", "-o", "pack.json").code == 0
    assert commands("import", "pack.json", "--as", "imported").code == 0
    batch = OpenBatch("a1", "judge", "openai/fake", None, "file-1", "batch_1", "2026-11-21T12:00:00", (digest("x"),))
    question = label_question(LabelOptions(task="summarization", aspect="coherence")).digest
    rated = next(TextToJudge(each) for each in read(folder / "texts.jsonl") if isinstance(each, Example)).key
    about: dict[str, Any] = {"aspect": "coherence", "rater": "anna", "kind": "rating", "value": 4, "reason": "clear"}
    created = datetime(2026, 1, 1, tzinfo=UTC)
    with open_store(folder / "store.db") as store:
        store.batches.save(batch)
        store.answers.put(digest("asked"), {"text": "4"})
        store.add_judgment(HumanJudgment(id="judgment", question=question, text=rated, created=created, **about))
    return folder


@pytest.fixture
def sides(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _running_server: RunningServer) -> Side:
    """Both sides; the Python side works in its own folder, and both find the same server."""
    _running_server.reset()
    for name in ("command", "python"):
        shutil.copytree(original, tmp_path / name)
    monkeypatch.chdir(tmp_path / "python")
    server: dict[str, Any] = {"OPENAI_API_BASE": _running_server.url, "OPENAI_API_KEY": "none"}
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    return Side(Commands(tmp_path / "command", RUBRICLAB_STORE="store.db", **server), Lab("store.db", progress=None))


# What the command says, and what Python says.
Pair = tuple[Any, Any]


def shared(row: Any, found: Any) -> Any:
    """Return what a command says, under the names that Python knows."""
    if isinstance(found, dict):
        return {name: shared(row[name], each) for name, each in found.items()}
    if isinstance(found, list) and len(found) == len(row):
        return [shared(each, other) for each, other in zip(row, found, strict=True)]
    return row


def pair_of(row: Any, found: Any) -> Pair:
    """Return what a command and Python say as JSON, under the names that Python knows."""
    found = json.loads(json.dumps(found))
    return shared(row, found), found


def refs(versions: Iterable[Version]) -> dict[str, Any]:
    return {"versions": [{"rubric": version.ref, "digest": version.digest} for version in versions]}


def origin(version: Version) -> dict[str, Any]:
    return {"rubric": version.ref, "imported_from": version.imported_from, "confirmed": version.confirmed}


def verified(lab: Lab) -> dict[str, Any]:
    """Return what is not as it was written as the command says it."""
    result = lab.verify()
    return {"store": result.store, "problems": [str(problem) for problem in result.problems]}


def gated(lab: Lab) -> dict[str, Any]:
    """Return the outcome of the gate as the command says it."""
    result = lab.gate("news")
    names = {"level", "n", "groups", "folds", "evaluators", "verdicts"}
    figures = result.validation.model_dump(mode="json", include=names)
    return {"rubric": result.version.ref, "outcome": result.outcome, **figures}


def checked(lab: Lab) -> dict[str, Any]:
    """Return what a file is taken for, without options and commands, which are written otherwise in Python."""
    row = lab.check("texts.jsonl", aspect="coherence", scale=(1, 5)).to_row()
    return {name: each for name, each in row.items() if name not in ("notes", "next")}


def agreed(lab: Lab) -> dict[str, Any]:
    """Return the agreement of two judges as the command says it."""
    result = lab.agree("texts.jsonl", "news@1", judges=("embedded", "openai/fake"))
    return {"rubric": result.version.ref, **result.agreement.to_row()}


# By command: its arguments, and the same in Python. All others have a function of their name below.
SAME: dict[str, tuple[tuple[object, ...], Callable[[Lab], Any]]] = {
    "evaluate": (
        (HELDOUT, "--rubric", "news@1", "--rubric", "alone"),
        lambda lab: {
            "results": [each.to_row() for each in lab.evaluate(HELDOUT, [lab.load("news@1"), "alone"]).results]
        },
    ),
    "disagreements": (
        ("news@1", "--count", 3, "--side", "lower"),
        lambda lab: {"texts": lab.disagreements("news@1", count=3, side="lower").to_rows()},
    ),
    "explain": (
        ("texts.jsonl", "--rubric", "news@1", "--id", THIRD, "--nearest", 2),
        lambda lab: lab.explain("texts.jsonl", "news@1", id=THIRD, nearest=2).to_row(),
    ),
    "agree": (("texts.jsonl", "--rubric", "news@1", "--judge", "embedded", "--judge", "openai/fake"), agreed),
    "drift": (
        ("news@1", "alone", "texts.jsonl", "--max-shift", 0, "--flip-at", 2.5),
        lambda lab: lab.drift("texts.jsonl", "news@1", lab.load("alone"), max_shift=0, flip_at=2.5).result.model_dump(
            mode="json"
        ),
    ),
    "compare": (
        ("texts.jsonl", "same.jsonl", "--rubric", "news@1", "--max-drop", 0.5),
        lambda lab: lab.compare("texts.jsonl", "same.jsonl", "news@1", max_drop=0.5).result.model_dump(mode="json"),
    ),
    "gate": (("news",), gated),
    "list": ((), lambda lab: refs(lab.versions())),
    "log": (("news",), lambda lab: refs(lab.versions("news"))),
    "diff": (("news@1", "news@2"), lambda lab: lab.diff("news@1", "news@2").as_json()),
    "import": (("pack.json", "--as", "again"), lambda lab: origin(lab.import_("pack.json", "again"))),
    "trust": (("imported",), lambda lab: origin(lab.trust("imported"))),
    "verify": ((), verified),
    "batches": ((), lambda lab: {"batches": lab.batches().to_rows()}),
    "store size": ((), lambda lab: lab.store_size().to_row()),
    "store prune": (("--older-than", "0h"), lambda lab: asdict(lab.prune(older_than=timedelta()))),
    "check": (("texts.jsonl", "--aspect", "coherence", "--scale", "1:5"), checked),
    "lint": (
        ("questions.json",),
        lambda lab: {"duplicates": [asdict(each) for each in lab.lint("questions.json").duplicates]},
    ),
    "literature list": (
        ("--included", "--task", "story", "--aspect", "empathy"),
        lambda lab: lab.literature_list(included=True, task="story", aspect="empathy").to_row(),
    ),
    "show": (
        ("news@1", "--matrix"),
        lambda lab: {"rubric": "news@1", **lab.training_record("news@1").model_dump(mode="json")},
    ),
}
# A limit that is exceeded, a gate that is not passed, and duplicates are results, too.
FAILING = {"drift", "gate", "lint"}


# They serve until they are stopped; what they serve is tested where pages, service and tools are.
SERVING = {"mcp", "serve", "studio"}
COMMANDS = [name for name in every_command() if name not in SERVING]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_the_python_call_give_the_same(name: str, sides: Side) -> None:
    if name in SAME:
        arguments, call = SAME[name]
        done = sides.command(*name.split(), *arguments, "--json")
        assert done.code in ((0, 1, 3) if name in FAILING else (0,)), done.err
        from_command, from_python = pair_of(done.json, call(sides.lab))
    else:
        compare: Callable[[Side], Pair] = globals()[f"_{name.replace(' ', '_')}"]
        from_command, from_python = compare(sides)
    assert from_command == from_python


def _demo(sides: Side) -> Pair:
    sides.run("demo", "tried", "--sample-only")
    files = asdict(sides.lab.sample("tried")).values()
    folder = sides.command.folder / "tried"
    return {path.name: path.read_bytes() for path in folder.iterdir()}, {path.name: path.read_bytes() for path in files}


def _learn(sides: Side) -> Pair:
    methods = ("--method", "hypoeval", "--method", "direct")
    row = sides.json("learn", LABELLED, *TASK, *methods, "--set", "hypoeval.k=5", "--criteria", 3, "--name", "new")
    version = sides.lab.learn(
        LABELLED, **LEARNED, methods=["hypoeval", "direct"], settings={"hypoeval": {"k": 5}}, criteria=3, name="new"
    )
    provenance = version.provenance
    assert provenance.agreement is not None
    assert provenance.validation is not None
    found = {
        "rubric": version.ref,
        "digest": version.digest,
        "agreement": provenance.agreement.model_dump(mode="json"),
        "validation": provenance.validation.model_dump(mode="json"),
    }
    return pair_of(row, found)


def _score(sides: Side) -> Pair:
    rows = sides.run("score", "texts.jsonl", "--rubric", "news@1").rows
    scores = sides.lab.score("texts.jsonl", "news@1")
    streamed = [score.to_row() for score in sides.lab.score("texts.jsonl", sides.lab.load("news@1"), stream=True)]
    return pair_of([rows, rows], [scores.to_rows(), streamed])


def of_saved(sides: Side, row: Any, found: Any, saved: Version | None, name: str) -> Pair:
    """Return what both say of a result, with the pack of the version that each has saved of it."""
    assert saved is not None
    packs = [json.loads(pack) for pack in (sides.run("export", name).out, sides.lab.export(saved))]
    rubrics = [(each["digest"], each["provenance"]["transfer"], each["provenance"]["edit"]) for each in packs]
    pair = pair_of(row, found)
    return (rubrics[0], pair[0]), (rubrics[1], pair[1])


def _transfer(sides: Side) -> Pair:
    save = {"save": True, "action": "recalibrate", "name": "moved"}
    options = ("--save", "--action", "recalibrate", "--name", "moved", "--no-relearn")
    row = sides.json("transfer", "news@1", "--to", "texts.jsonl", *options)
    result = sides.lab.transfer("news@1", to="texts.jsonl", no_relearn=True, **save)
    found = {**result.transfer.model_dump(mode="json"), "saved": "moved@1"}
    return of_saved(sides, row, found, result.saved, "moved")


def _plan(sides: Side) -> Pair:
    rows = [json.loads(line) for line in HELDOUT.read_text("utf-8").splitlines()[:12]]
    bare = [{name: value for name, value in row.items() if name not in ("scores", "annotations")} for row in rows]
    sides.command.write("bare.jsonl", bare)
    row = sides.json("plan", "bare.jsonl", "--rubric", "news@1", "--count", 3, "-o", "next.jsonl")
    result = sides.lab.plan(bare, "news@1", count=3)
    written = sides.command.read("next.jsonl")
    pair = pair_of(row, {"rubric": "news@1", "pool": result.pool})
    return (written, pair[0]), (result.to_rows(), pair[1])


def _improve(sides: Side) -> Pair:
    few = HELDOUT.read_bytes().splitlines(keepends=True)[:4]
    (sides.command.folder / "few.jsonl").write_bytes(b"".join(few))
    row = sides.json("improve", "few.jsonl", "--rubric", "news@1", "--rounds", 1, "-o", "improved.jsonl")
    result = sides.lab.improve([json.loads(line) for line in few], "news@1", rounds=1)
    written = sides.command.read("improved.jsonl")
    pair = pair_of(row, result.summary.to_row())
    return (written, pair[0]), (json.loads(json.dumps(result.to_rows())), pair[1])


def _edit(sides: Side) -> Pair:
    changes = ("--drop", "h03", "--pin", "direct=0.25", "--bound", "h05=0:0.1", "--add", "Is it long? (better: no)")
    row = sides.json("edit", "news@1", *changes, "--author", "anna", "--because", "it repeats", "--name", "edited")
    result = sides.lab.edit(
        "news@1",
        drop="h03",
        pin={"direct": 0.25},
        bound={"h05": (0, 0.1)},
        add="Is it long? (better: no)",
        author="anna",
        because="it repeats",
        name="edited",
    )
    return of_saved(sides, row, result.to_row(), result.saved, "edited")


def _label(sides: Side) -> Pair:
    asked = ("--task", "summarization", "--aspect", "coherence", "--no-page", "-o", "labelled.jsonl")
    row = sides.json("label", "texts.jsonl", *asked)
    result = sides.lab.label("texts.jsonl", "labelled.jsonl", task="summarization", aspect="coherence", no_page=True)
    files = [(folder / "labelled.jsonl").read_text("utf-8") for folder in (sides.command.folder, Path())]
    assert '"anna"' in files[0].splitlines()[0]
    return (row, files[0]), (json.loads(json.dumps(result.to_row())), files[1])


def _tag(sides: Side) -> Pair:
    for arguments in (("news@1", "trial"), ("news@2", "other"), ("news", "other", "--delete")):
        sides.run("tag", *arguments)
    sides.lab.tag("news@1", "trial")
    sides.lab.tag(sides.lab.load("news@2"), "other")
    sides.lab.untag("news", "other")
    tags = [row["tags"] for row in sides.json("log", "news")["versions"]]
    return tags, [list(version.tags) for version in sides.lab.versions("news")]


def _export(sides: Side) -> Pair:
    sides.lab.export("news@2", "mine.json")
    shown = sides.run("show", "news@2", "--json")
    packs = [sides.run("export", "news@2").out, shown.out + shown.err]
    return packs, [Path("mine.json").read_text()] * 2


def _report(sides: Side) -> Pair:
    page = sides.lab.report("news")
    python = re.compile(r" or, in Python, <code[^>]*>.*?</code>")
    assert len(python.findall(page)) == page.count(" or, in Python, ") > 1
    return sides.run("report", "news", "--store", "store.db").out, python.sub("", page)


def _split(sides: Side) -> Pair:
    row = sides.json("split", "texts.jsonl", "--train", 6, "--seed", 2, "-o", "parts")
    result = sides.lab.split("texts.jsonl", train=6, seed=2)
    sizes = {"train": len(result.train), "heldout": len(result.heldout)}
    written = [sides.command.read(f"parts-{side}.jsonl") for side in sizes]
    counted = {side: row[side]["rows"] for side in sizes}
    return [counted, *written], [sizes, list(result.train), list(result.heldout)]


def _literature_add(sides: Side) -> Pair:
    row = sides.json("literature", "add", "paper.txt", *READING)
    found = sides.lab.literature_add("paper.txt", **READ).to_row()
    assert len(found["kept"]) == 2
    files = [(folder / "found" / "news.json").read_text("utf-8") for folder in (sides.command.folder, Path())]
    return pair_of([row, files[0]], [found, files[1]])


@pytest.mark.parametrize(
    ("command", "arguments", "options"),
    [
        (("learn", LABELLED, *TASK), (LABELLED,), LEARNED),
        (("score", "texts.jsonl", "--rubric", "news@1"), ("texts.jsonl", "news@1"), {}),
        (("evaluate", HELDOUT, "--rubric", "news@1"), (HELDOUT, "news@1"), {}),
        (("improve", "texts.jsonl", "--rubric", "news@1"), ("texts.jsonl", "news@1"), {}),
        (("transfer", "news@1", "--to", "texts.jsonl"), ("news@1", "texts.jsonl"), {}),
        (("drift", "news@1", "news@2", "texts.jsonl"), ("texts.jsonl", "news@1", "news@2"), {}),
        (("literature add", "paper.txt", *READING), ("paper.txt",), READ),
        (("edit", "news@1", "--add", "Is it long?"), ("news@1",), {"add": "Is it long?"}),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, tuple) else "",
)
def test_dry_runs_give_the_same_bounds(
    command: tuple[str, ...], arguments: tuple[object, ...], options: dict[str, Any], sides: Side
) -> None:
    name, *rest = command
    bounds = sides.lab.dry_run(name.replace(" ", "_"), *arguments, **options)
    assert sides.json(*name.split(), *rest, "--dry-run") == bounds.to_row()

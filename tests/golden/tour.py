"""A tour of the commands in one folder: what each prints and writes, in a form that is the same on every machine.

`make golden` writes the tour to `tour.json`, whose diff shows what a change does to users.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from commands import CHECKOUT, Commands, Done

GOLDEN = Path(__file__).with_name("tour.json")
SAMPLE, RATINGS = CHECKOUT / "experiments" / "sample", CHECKOUT / "experiments" / "ratings"
# Longer lists and strings stand in the tour by their beginning, length and digest.
LONGEST_LIST, LONGEST_STRING = 4, 160
LINES = 8
# Nested deeper, objects stand by their keys and digest.
DEEPEST = 2

TASK = "--task summarization --aspect coherence --scale 1:5"
FACTS = "--task summarization --aspect consistency --scale 1:5 --map scores.consistency=scores.coherence"
RECORDED = "--judge recorded:recording.jsonl"
LITTLE = "--set hypoeval.k=3 --set hypoeval.bank_size=6 --set joint.repeats=1"
OFFLINE = "--name offline --method hypoeval --method direct"
BY = "--author anna --because 'it counts length'"

# One command a line.
TOUR = f"""
check labelled.jsonl --json
check german.csv --json
split labelled.jsonl --train 24 -o part --json
learn rated.jsonl {TASK} --literature-without summeval --name news {RECORDED} --json
learn labelled.jsonl {TASK} {OFFLINE} {LITTLE} --json
learn labelled.jsonl {TASK} {OFFLINE} {LITTLE} --criteria 4 --json
learn labelled.jsonl {TASK} --name hypoeval --method hypoeval {LITTLE.replace("--set joint.repeats=1", "")} --json
learn labelled.jsonl {TASK} --name checkeval --method checkeval --json
learn labelled.jsonl {TASK} --name seeval --method seeval --json
learn labelled.jsonl {TASK} --name seal --method seal --json
learn labelled.jsonl {FACTS} --name dcr --method dcr --json
learn labelled.jsonl {TASK} --name geval --method geval --json
learn labelled.jsonl {TASK} --name few --method few_shot --json
learn labelled.jsonl {TASK} --name analyze --method analyze_rate --json
learn labelled.jsonl {TASK} --name paper --method hypoeval --set hypoeval.preset=paper --json
learn labelled.jsonl {TASK} --dry-run --json --judge openai/some-model --price 1:2
list --json
show news --json
show offline@1
show checkeval --json
log offline --json
diff offline@1 offline@2 --json
score rated-heldout.jsonl --rubric news {RECORDED} -o scores.jsonl
score rated-heldout.jsonl --rubric news {RECORDED} -o scores.csv --json
score heldout.jsonl --rubric offline@1 -o scores.xlsx
score heldout.jsonl --rubric offline@1 -o scores.parquet --fail-under 4.9
score heldout.jsonl --rubric offline@1 -o scores-offline.jsonl --resume --json
score heldout.jsonl --rubric offline@1 -o scores-offline.jsonl --resume
check german.csv --map output=Antwort --map scores.coherence=Bewertung --json
score german.csv --map output=Antwort --task summarization --aspect coherence -o scores-german.csv
score heldout.jsonl --rubric seal -o scores-seal.jsonl
score heldout.jsonl --rubric dcr -o scores-dcr.jsonl
evaluate rated-heldout.jsonl --rubric news {RECORDED} --json --html evaluation.html --csv evaluation.csv
evaluate heldout.jsonl --rubric offline@1 --rubric offline@2 --rubric checkeval --json
gate news --json
gate offline
report news -o news.html
tag news best
tag offline best --force
explain heldout.jsonl --rubric offline@1 --id chess::none --json
disagreements offline --count 3 --json
edit offline@2 --drop h09 {BY} --preview --json
edit offline@2 --pin h09=0.2 {BY} --name edited --json
plan unlabelled.jsonl --rubric offline@1 --count 3 --json
improve unlabelled.jsonl --rubric offline@1 --rounds 1 -o improved.jsonl --json
compare scores-offline.jsonl heldout.jsonl --rubric offline@1 --json
drift offline@1 offline@2 heldout.jsonl --max-shift 0.001 --json
agree heldout.jsonl --rubric offline@1 --judge embedded --judge openai/fake --price 1:1 --dry-run --json
transfer offline@1 --to heldout.jsonl --no-relearn --save --name moved --json
lint checklist.json --json
literature list --json
literature list nothing --json
export news -o news.json
import news.json --as copy --json
trust --json
verify --json
store size --json
store prune --older-than 1d --dry-run --json
batches --json
label --help
label absent.jsonl --task summarization --aspect coherence -o labels.jsonl
label absent.jsonl --task summarization --aspect coherence
mcp --help
--config absent.toml list
score heldout.jsonl --rubric nothing
score absent.jsonl --rubric news
learn unlabelled.jsonl {TASK} --json
learn labelled.jsonl --task summarization --aspect sparkle
edit offline --drop nothing {BY}
serve nothing
studio nothing
"""

GERMAN = (
    "﻿Frage;Antwort;Bewertung\r\nWie geht das?;Es geht so: A, dann B.;3,5\r\nUnd dann?;Danach geht es weiter.;4,0\r\n"
)

CHECKLIST = {
    "format": "rubriclab-checklist/1",
    "task": "summarization",
    "aspect": "coherence",
    "definition": "Whether the sentences form a whole.",
    "sub_dimensions": [
        {
            "name": "order",
            "definition": "Whether the sentences stand in a sensible order.",
            "questions": [
                {"id": "order", "text": "Does each sentence follow from the one before it?"},
                {"id": "again", "text": "Does each sentence follow from the one before?"},
            ],
        }
    ],
}


def steps() -> list[str]:
    return [line for line in TOUR.strip().splitlines() if line]


def tour(folder: Path) -> dict[str, Any]:
    """Return the exit code, output and files of each command, run in a new folder."""
    for name in ("labelled", "heldout", "unlabelled"):
        shutil.copy(SAMPLE / f"{name}.jsonl", folder)
    for name, copy in (("labelled", "rated"), ("heldout", "rated-heldout"), ("recording", "recording")):
        shutil.copy(RATINGS / f"{name}.jsonl", folder / f"{copy}.jsonl")
    (folder / "german.csv").write_text(GERMAN, "utf-8")
    (folder / "checklist.json").write_text(json.dumps(CHECKLIST), "utf-8")
    commands = Commands(folder, RUBRICLAB_STORE="store.db", COLUMNS="80", RUBRICLAB_JUDGE="embedded")
    found: dict[str, Any] = {}
    known = written(folder)
    for step in steps():
        done = commands(*shlex.split(step))
        now = written(folder)
        files = {name: content(folder / name) for name in now if now[name] != known.get(name)}
        found[step] = {"exit": done.code, **output(done, folder), **({"files": files} if files else {})}
        known = now
    return found


def written(folder: Path) -> dict[str, tuple[int, str]]:
    """Return the files in a folder that commands write for users, with their digests."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, digest(path.read_bytes()))
        for path in paths
        if not path.name.startswith((".", "store.db"))
    }


def content(path: Path) -> Any:
    """Return what a file holds: rows and documents as JSON, the beginning of texts, the digest of binary tables."""
    if path.suffix == ".jsonl":
        return short([json.loads(line) for line in path.read_text("utf-8").splitlines()])
    if path.suffix == ".json":
        return short(json.loads(path.read_text("utf-8")))
    if path.suffix in (".xlsx", ".parquet"):
        return short(list(table(path)))
    if path.suffix == ".html":
        return f"{len(re.findall('<section', path.read_text('utf-8')))} sections"
    return lines(path.read_text("utf-8"))


def table(path: Path) -> Iterator[Any]:
    if path.suffix == ".parquet":
        import pyarrow.parquet

        yield from pyarrow.parquet.read_table(path).to_pylist()
    else:
        from python_calamine import CalamineWorkbook

        yield from CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0).to_python()


def output(done: Done, folder: Path) -> dict[str, Any]:
    """Return what a command printed: JSON where it is, else lines; of errors the one that ended it."""
    said: dict[str, Any] = {}
    if done.out.startswith(("{", "[")) and done.out.rstrip().endswith(("}", "]")):
        rows = [json.loads(done.out)] if done.out.count("\n}") <= 1 else list(map(json.loads, done.out.splitlines()))
        said["json"] = short(rows[0] if len(rows) == 1 else rows)
    elif done.out:
        said["out"] = lines(done.out)
    if errors := [line for line in done.err.splitlines() if line.lower().startswith("error: ")]:
        said["error"] = errors[0]
    stable = re.sub(r"\b[0-9a-f]{32}\b", "RANDOM", json.dumps(said).replace(str(folder), "FOLDER"))
    return dict(json.loads(stable))


def lines(text: str) -> list[str]:
    """Return the first lines of a text, and the number of the others."""
    stripped = [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME", line.rstrip()) for line in text.splitlines()]
    stripped = [re.sub(r"-?\d+\.\d{6,}(?:e-?\d+)?", lambda found: f"{float(found[0]):.5g}", line) for line in stripped]
    stripped = [re.sub(r"\b\d+ s\b", "SECONDS", line)[:LONGEST_STRING] for line in stripped]
    more = len(stripped) - LINES
    return [*stripped[:LINES], *([f"... {more} more lines"] if more > 0 else [])]


def short(value: Any, name: str = "", depth: int = 0) -> Any:
    """Return a JSON value without what depends on the moment or machine; what is long or deep stands by its digest."""
    measured = ("created", "seconds", "time", "bytes", "size", "file_bytes", "reclaimable", "total", "free")
    if name in (*measured, "evaluation_digest"):
        return name.upper()
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, str) and len(value) > LONGEST_STRING:
        return f"{value[:60]}... {len(value)} characters, {digest(value.encode())}"
    if isinstance(value, dict):
        named = {key: short(each, key, depth + 1) for key, each in value.items()}
        return f"{{{', '.join(named)}}} {digest(json.dumps(named).encode())}" if depth > DEEPEST and named else named
    return shortened([short(each, depth=depth + 1) for each in value], depth) if isinstance(value, list) else value


def shortened(every: list[Any], depth: int) -> list[Any] | str:
    """Return a list as it is, or its length and digest, with its first entry if it is not nested deeply."""
    content = digest(json.dumps(every).encode())
    if depth > DEEPEST:
        return f"[{len(every)}] {content}"
    return every if len(every) <= LONGEST_LIST else [every[0], f"... {len(every)} in all, {content}"]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_text(json.dumps(tour(Path(folder).resolve()), indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()

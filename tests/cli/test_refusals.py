"""What the commands refuse: the exit code and the words that a user acts on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT, LABELLED, Commands

from rubriclab.judges.connect import LOCAL_JUDGES

LEARN = f"learn {LABELLED} --task summarization --aspect coherence"
ALONE = f"{LEARN} --method hypoeval"
SCORE = f"score {HELDOUT} --rubric news"
RATED = "--task summarization --aspect coherence"
LOCAL = ", ".join(LOCAL_JUDGES)
BOTH = "would both be written to standard output."
DEAD = "--judge openai/dead --api-base http://127.0.0.1:9/v1 --attempts 1"
FILES = {
    "texts.jsonl": b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:12]),
    "three.jsonl": b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:3]),
    "few.jsonl": b'{"output": "One."}\n{"output": "Two."}\n',
    "same.jsonl": b'{"id": "a", "output": "One."}\n{"id": "a", "output": "Two."}\n',
    "bare.jsonl": b'{"output": "A text."}\n',
    "broken.jsonl": b"{broken\n",
    "number.jsonl": LABELLED.read_bytes() + b'{"id": "x", "output": 5}\n',
    "constant.jsonl": b"".join(b'{"output": "Text %d.", "scores": {"coherence": 3}}\n' % n for n in range(36)),
    "empty.jsonl": b"",
    "two.jsonl": b'{"format": "rubriclab-recording", "version": 1}\n'
    + b"".join(b'{"judge": "openai/%s", "identity": {"model": "%s"}}\n' % (name, name) for name in (b"one", b"two")),
    "checklist.json": b'{"format": "rubriclab-checklist/1"}',
}

REFUSALS: list[tuple[str, int, str]] = [
    # Keys, stores and names
    (f"{SCORE} --judge openai/fake", 2, "the API key is missing. Set OPENAI_API_KEY"),
    (f"{SCORE} --judge gpt-4o-mini --attempts 1", 2, "Set OPENAI_API_KEY"),
    (f"{SCORE} --judge anthropic/claude-3-haiku-20240307 --attempts 1", 2, "Set ANTHROPIC_API_KEY"),
    (f"{SCORE} --judge gemini/gemini-2.5-flash --attempts 1", 2, "Set GEMINI_API_KEY"),
    ("list --store none.db", 2, "none.db does not exist. Learn a rubric first: `rubriclab learn --store none.db`; or"),
    ("import none.json", 2, "none.json cannot be read: No such file or directory. Give the path of a pack"),
    ("import checklist.json", 2, "checklist.json: format: expected 'rubriclab-pack/1'"),
    ("learn --config x.toml", 2, "--config belongs before the command."),
    ("--log-file nowhere/x.log list", 2, "nowhere/x.log cannot be written: No such file or directory."),
    ("demo few.jsonl", 2, "few.jsonl is a file, and a folder is needed for the ratings."),
    ("store prune", 2, "Nothing says which cached answers to remove; give --older-than 90d"),
    ("store prune --older-than soon", 2, "expected hours, days or weeks, such as 12h, 90d or 8w; got 'soon'"),
    ("gate news@1", 2, "news@1 has no verdict: learning by one method compares nothing. Learn it without --method"),
    # learn
    (f"learn {LABELLED} --task summarization", 2, "Name the aspect to learn: --aspect ASPECT."),
    (f"{LEARN} --judge embeded", 4, f"Did you mean 'embedded'? Write a judge ({LOCAL}), PROVIDER/MODEL"),
    (f"{LEARN} --judge recordd:x", 4, "Did you mean 'recorded:x'?"),
    (f"{LEARN} --judge recorded", 2, "The judge 'recorded' needs its colon; write --judge recorded:"),
    (f"{LEARN} --judge embedded:x", 2, "The judge 'embedded' takes no argument; write --judge embedded."),
    (f"{LEARN} --judge recorded:", 2, "A recording needs its path; write --judge recorded:PATH."),
    (f"{LEARN} --judge recorded:none.jsonl", 2, "The recording none.jsonl cannot be read"),
    (f"{LEARN} --scale 1-5", 2, "The scale '1-5' is not understood; write the lowest and the highest score, as in 1:5"),
    (f"{LEARN} --scale no:yes", 2, "expected a score from 0 to 1"),
    (f"{LEARN} --map text=summary", 2, "There is no field 'text' to map; the fields are output, id, group"),
    (f"{LEARN} --name 'My News'", 2, "'My News' cannot be the name of a rubric. Use at most 100 small letters"),
    (f"{LEARN} --method odd", 2, "--method: there is no method 'odd'. The known ones are: hypoeval, checkeval, seeval"),
    (f"{LEARN} --set seal.proposed=3", 2, "--set: seal.proposed is for another method; seal takes no part"),
    (f"{LEARN} --set joint.ask=best", 2, "joint.ask: expected 'in one call', 'with rivals' or 'by method'"),
    (f"{LEARN} --set joint.prefer_recall_of=fail", 2, "joint.prefer_recall_of: expected LEVEL=SHARE with a share"),
    ("edit news@1 --pin h01=nan", 2, "--pin: h01: expected a finite number, got the text 'nan'"),
    (f"{ALONE} --set hypoeval.kk=3", 2, "hypoeval.kk: unknown name, got 3. Did you mean 'k'?"),
    (f"{ALONE} --set seeval.samples=3", 2, "is for another method; only hypoeval is learned."),
    (f"{ALONE} --criteria 3", 2, "--criteria is for rubrics of several methods: --method hypoeval alone"),
    (f"learn number.jsonl {RATED}", 2, ":37: field 'output': got 5, expected a non-empty"),
    ("learn constant.jsonl --task summarization --aspect coherence", 2, "All 36 scores for 'coherence' are 3;"),
    (f"learn {LABELLED} --task summarization --aspect coherense", 2, "Did you mean 'coherence'? Write your own:"),
    ("learn bare.jsonl --task summarization --aspect coherence", 2, "coherence"),
    ("learn empty.jsonl --task summarization --aspect coherence", 2, "empty.jsonl has no rows."),
    ("learn - - --task summarization --aspect coherence", 2, "Standard input is named twice."),
    # score, explain, improve and edit
    ("score few.jsonl --task email", 2, "give --rubric REF, or --task and --aspect for texts without labels."),
    ("score - --rubric news", 2, "stdin has no rows. Each row needs at least the field 'output'"),
    (f"{SCORE} --json", 2, f"--output and --json {BOTH} Give --output PATH."),
    (f"{SCORE} -o none.jsonl --fail-under 5.1", 2, "--fail-under: got 5.1, expected a score on the scale from 1"),
    (f"{SCORE} --keep-replies x.csv", 2, "--keep-replies: got x.csv; expected a file of JSON Lines."),
    (f"{SCORE} --keep-replies -", 2, f"--keep-replies and --output {BOTH}"),
    (f"{SCORE} --max-cost 1 {DEAD}", 2, "is unknown, so its cost cannot be capped. Give it with --price IN:OUT"),
    (f"{SCORE} --workers 2 --batch", 2, "--workers 2: --batch works in one process only;"),
    ("improve texts.jsonl --rubric news --json", 2, f"--output and --json {BOTH}"),
    ("improve texts.jsonl --rubric news -o x --diff - --json", 2, f"--diff and --json {BOTH}"),
    (f"improve three.jsonl --rubric news -o x {DEAD}", 4, "The judge gave no reply at all; the latest reason:"),
    # evaluate, agree, compare, drift and transfer
    (f"evaluate {LABELLED} --rubric news", 2, "--include-training for an optimistic figure"),
    ("evaluate bare.jsonl --rubric news", 2, "Map the column with these scores: --map scores.coherence=COLUMN"),
    ("agree texts.jsonl --rubric news", 2, "Expected two judges or more to compare, got none; name each with --judge."),
    ("agree texts.jsonl --rubric news --judge embedded --judge embedded", 2, "The judge embedded is named twice;"),
    ("agree texts.jsonl --rubric news --judge embedded --judge recorded:two.jsonl", 2, "has more than one judge;"),
    (f"agree three.jsonl --rubric news@1 --judge embedded {DEAD}", 4, "openai/dead gave no reply that news@1 can use;"),
    ("compare few.jsonl few.jsonl --rubric news --max-drop 4", 2, "--max-drop 4 cannot be exceeded on the scale of"),
    ("drift news@1 texts.jsonl", 2, "news@1 is one version"),
    ("drift news@1 texts.jsonl --judge embedded", 2, "name a second version"),
    ("drift news@1 news@2 texts.jsonl --flip-at 7", 2, "--flip-at 7 is not on the scale"),
    ("drift news@1 news@2 texts.jsonl --max-shift 4", 2, "--max-shift 4 cannot be exceeded on the scale of news@1"),
    ("drift news@1 texts.jsonl --anchor --html x.html", 2, "expected a value, got the option --html"),
    ("drift news@1 news@2 texts.jsonl --all", 2, "Give --output PATH"),
    ("drift news@1 news@2 broken.jsonl", 2, "None of the 1 rows of broken.jsonl"),
    ("drift news@1 news@2 --anchor texts.jsonl", 2, "Name one file, one version and at most one judge"),
    ("drift news@1 --anchor texts.jsonl --max-shift 1", 2, "--anchor cannot be combined with --max-shift"),
    ("drift news@1 --anchor texts.jsonl", 2, "labels of coherence in 2 groups, expected at least 10 groups"),
    ("drift news@1 --anchor texts.jsonl -o x.jsonl", 2, "Leave --output out"),
    (f"drift news@1 three.jsonl --judge embedded {DEAD}", 4, "openai/dead gave no reply that news@1 can use"),
    (f"transfer news@1 --to {LABELLED}", 2, "was not learned from"),
    ("transfer news@1 --to few.jsonl --save", 2, "There are no labels to fit the rubric to"),
    ("transfer news@1 --to texts.jsonl --action reuse", 2, "--save"),
    ("transfer news@1 --to texts.jsonl --save --action relearn --no-relearn", 2, "--no-relearn"),
    ("transfer news@1 --to texts.jsonl --scale five", 2, "'five'"),
    # label, lint and literature
    (f"label few.jsonl {RATED} --no-page -o x.jsonl --rater 'a\nb'", 2, "The rater's name 'a b' cannot be"),
    (f"label few.jsonl {RATED} --no-page -o x.jsonl --share anna,", 2, "A rater needs a name; got an empty"),
    (f"label few.jsonl {RATED} --no-page -o x.ods", 2, "x.ods: .ods is not a format that can be written"),
    (f"label same.jsonl {RATED} --no-page -o x.jsonl", 2, "the id 'a' is that of another text"),
    ("lint broken.jsonl", 2, "broken.jsonl is no checklist: it is not JSON"),
    ("lint checklist.json", 2, "checklist.json: task: missing; aspect: missing;"),
    ("literature list --included --task sumarization", 2, "Did you mean 'summarization'?"),
    ("literature list sum-99 --included", 2, "Did you mean 'sum-09'?"),
]


@pytest.mark.parametrize(
    ("line", "code", "words"), REFUSALS, ids=[line.replace(str(LABELLED.parent), "") for line, *_ in REFUSALS]
)
def test_a_command_that_cannot_work_says_what_to_do_and_writes_nothing(
    learned: Commands, tmp_path: Path, line: str, code: int, words: str
) -> None:
    keys: dict[str, Any] = {"OPENAI_API_KEY": "none"} if "openai/dead" in line else {}
    commands = Commands(tmp_path, RUBRICLAB_STORE=str(learned.folder / "store.db"), **keys)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    done = commands(*shlex.split(line))
    assert done.code == code, done.err
    assert words in done.err
    if code == 2:
        assert not done.out
        assert {path.name for path in tmp_path.iterdir()} == {*FILES}

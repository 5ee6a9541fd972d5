"""`rubriclab check` and `rubriclab split` on files as colleagues send them."""

from __future__ import annotations

import csv
import html
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Commands

from rubriclab import Lab
from rubriclab.data.check import training_examples
from rubriclab.data.readers import read
from rubriclab.models.text import Example
from rubriclab.ops.check import split
from rubriclab.ops.options import SplitOptions

HEADER = "Nr;Artikel;Zusammenfassung;Kohärenz Anna;Kohärenz Ben"
MAPPING = (
    "output=Zusammenfassung,source=Artikel,id=Nr,annotations.coherence.anna=Kohärenz Anna,"
    "annotations.coherence.ben=Kohärenz Ben"
)


def survey(path: Path, rows: int = 24, *more: str) -> Path:
    lines = [
        f"{n};Der Artikel Nummer {n // 4} über Größe und Maß.;Zusammenfassung – Nummer {n}.;{1 + n % 4},5;{1 + n % 5},0"
        for n in range(rows)
    ]
    path.write_bytes("\r\n".join([HEADER, *lines, *more, ""]).encode("cp1252"))
    return path


@pytest.fixture
def here(tmp_path: Path) -> Commands:
    return Commands(tmp_path, RUBRICLAB_STORE="store.db")


def test_an_unknown_table_is_described_and_a_mapping_proposed_that_makes_it_usable(
    here: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey(here.folder / "umfrage.csv")
    monkeypatch.chdir(here.folder)
    found = here("check", "umfrage.csv", "--aspect", "coherence")
    shown = " ".join(str(Lab(progress=None).check("umfrage.csv", aspect="coherence")).split())
    columns = json.dumps(dict(pair.split("=") for pair in MAPPING.split(",")), ensure_ascii=False)
    assert f'next: lab.learn("umfrage.csv", task="TASK", aspect="coherence", mapping={columns})' in shown
    assert found.code == 2
    assert "umfrage.csv: Usable with the mapping below, not as it is." in found.out
    for rows, said in ((12, "Usable, but 3 groups are too few for intervals"), (24, "Usable. format")):
        survey(here.folder / "few.csv", rows)
        few = here("check", "few.csv", "--aspect", "coherence", "--map", MAPPING)
        assert f"few.csv: {said}" in " ".join(few.out.split())
    assert "24: 24 usable texts" in found.out
    assert "field 'output': got nothing" in found.out
    assert f"columns that look like fields: --map '{MAPPING}'" in found.out
    usable = here("check", "umfrage.csv", "--aspect", "coherence", "--scale", "1:5", "--map", MAPPING)
    assert (usable.code, usable.err) == (0, "")
    for words in (
        "CSV, Windows-1252, cells separated by semicolon, decimal comma",
        "24 usable texts in 6 groups",
        "2: anna,",
        f"next: rubriclab learn umfrage.csv --task TASK --aspect coherence --scale 1:5 --map '{MAPPING}'",
    ):
        assert words in usable.out


SHEET = {
    "question": lambda n: f"How does number {n // 3} work?",
    "answer": lambda n: f"An answer of every version to number {n // 3}.",
    "verdict": lambda n: "pass" if n % 2 else "fail",
}


@pytest.mark.parametrize(
    ("columns", "mapping"),
    [
        ({"Version": lambda n: f"v{n % 3}"}, "context=question,system=Version,scores.ASPECT=verdict"),
        ({"Bot name": lambda n: "abc"[n % 3]}, None),
        ({"Bot": lambda n: "abc"[n % 3]}, "context=question,system=Bot,scores.ASPECT=verdict"),
        (
            {"Version": lambda n: n % 3, "verdict_ben": lambda n: "pass" if n % 4 else "fail"},
            "context=question,system=Version,annotations.ASPECT.verdict=verdict,annotations.ASPECT.ben=verdict_ben",
        ),
        ({"Version": lambda n: n % 3, "verdict": lambda n: "gut" if n % 2 else n % 4 // 2}, None),
        ({"Version": lambda n: n % 3, "verdict": lambda _: "pass"}, None),
    ],
    ids=["version", "other name", "bot", "two raters", "words and numbers", "all equal"],
)
def test_what_is_proposed_for_a_spreadsheet_of_a_bot_is_accepted_by_learning(
    here: Commands, columns: dict[str, Callable[[int], object]], mapping: str | None
) -> None:
    cells = {**SHEET, **columns}
    lines = [",".join(cells), *(",".join(str(cell(n)) for cell in cells.values()) for n in range(36))]
    (here.folder / "bot.csv").write_text("\n".join(lines), "utf-8")
    found = here("check", "bot.csv", "--json").json
    if mapping is None:
        assert not (found["next"] or "").startswith("rubriclab learn")
        assert found["levels"] or any(note.startswith(("with the mapping below", "All 36")) for note in found["notes"])
        return
    assert (found["proposal"], found["usable_as_proposed"]) == (f"output=answer,{mapping}", True)
    assert here(*shlex.split(found["next"])[1:], "--dry-run").code == 0
    assert any("taken for scores of 2 people" in note for note in found["notes"]) == ("verdict_ben" in cells)


def test_rows_of_ratings_count_once_and_problems_are_those_without_what_is_proposed(here: Commands) -> None:
    rows = [f"Answer {n // 2};{'AB'[n % 2]};{'bad' if n % 4 else 'good'}" for n in range(40)]
    (here.folder / "r.csv").write_text("\n".join(["text;Prüfer;grade", *rows]), "utf-8")
    found = here("check", "r.csv", "--map", "output=text,rater=Prüfer,scores.q=grade").out
    assert "20: 20 usable texts" in found
    assert "0: 10, 0.5: 10" in found
    assert "rater=Prüfer,scores.ASPECT=grade" in here("check", "r.csv").out
    unjoined = here("check", "r.csv", "--map", "output=text,scores.q=grade", "--levels", "bad=0,good=1").out
    assert "20 rows, the first in line 3: field 'id'" in unjoined
    assert "Problems without the levels" in found


def test_all_wrong_columns_are_named_and_corrected_together(here: Commands) -> None:
    (here.folder / "t.csv").write_text("question,answer,verdict\nWhy?,Because of it.,pass\n")
    wrong = ("--map", "output=anser,context=qestion,scores.q=other,system=answr")
    found, refused = (
        here("check", "t.csv", *wrong),
        here("learn", "t.csv", "--task", "t", "--aspect", "q", "--definition", "d", *wrong),
    )
    for said in ("'anser'", "'qestion'", "'other'", "'answr'"):
        assert said in found.out
        assert said in refused.error
    for answer in (found.out, refused.error):
        assert "--map output=answer,context=question,scores.q=verdict" in answer


def test_a_file_of_which_nothing_can_be_read_is_described_among_several(here: Commands) -> None:
    (here.folder / "texts.jsonl").write_text('{"output": "A text."}\n', "utf-8")
    (here.folder / "notes.docx").write_text("x")
    files = ("check", "notes.docx", "missing.csv", "texts.jsonl")
    done = here(*files)
    shown = " ".join(done.out.split())
    assert done.code == 2
    for said in (
        "notes.docx: Not usable: 1 problem.",
        "missing.csv: Not usable: 1 problem.",
        "there is no such file",
        "texts.jsonl: Usable.",
    ):
        assert said in shown
    rows = here(*files, "--json").json
    assert [(row["usable"], row["problem_count"]) for row in rows] == [(False, 1), (False, 1), (True, 0)]
    alone = here("check", "notes.docx")
    assert (alone.code, alone.out) == (2, "")


def test_all_problems_are_listed_at_once(here: Commands) -> None:
    survey(here.folder / "u.csv", 12, "3;x;wieder;1;2", "90;x;gut;gut;n/a", "91;x;;3;3", "92;x;hoch;9;9")
    done = here("check", "u.csv", "--aspect", "coherence", "--scale", "1:5", "--map", MAPPING, "--json")
    problems = json.loads(done.out)["problems"]
    assert done.code == 2
    assert [problem.split(" got ")[0].split(":", 1)[1] for problem in problems] == [
        "14: field 'id' (column 'Nr'):",
        "15: field 'annotations.coherence.anna' (column 'Kohärenz Anna'):",
        "16: field 'output' (column 'Zusammenfassung'):",
        "17: field 'annotations.coherence.anna' (column 'Kohärenz Anna'):",
        "17: field 'annotations.coherence.ben' (column 'Kohärenz Ben'):",
    ]
    assert json.loads(done.out)["hints"] == [
        "if the words are levels or missing values, add --levels gut=N, and replace each N by the score of the word on "
        "the scale of the numbers beside them (1, 1.5, 2 …)",
        "if 9 stands for a missing value, add --missing 9",
    ]
    assert json.loads(done.out)["problem_count"] == 5


def test_a_column_named_like_a_score_is_proposed_and_so_are_its_words_with_commas(here: Commands) -> None:
    texts = [f"Answer number {number} is long enough to be a text.," for number in range(3)]
    for name, scores in {
        "numbers.csv": ("3", "4", "5"),
        "words.csv": ("good", '"yes, fully"', '"n/a, or ""none"""'),
    }.items():
        (here.folder / name).write_text("output,score\n" + "\n".join(map("".join, zip(texts, scores, strict=True))))
        assert "--map scores.ASPECT=score\n" in here("check", name).out
        assert "--map scores.quality=score\n" in here("check", name, "--aspect", "quality").out
    mapped = ("check", "words.csv", "--aspect", "quality", "--map", "scores.quality=score")
    (hint,) = [line for line in here(*mapped).out.splitlines() if " add --levels " in line]
    levels = shlex.split(hint.partition(" add ")[2])[1].replace("=N", "=2")
    assert levels == '"n/a, or ""none""=2","yes, fully=2",good=2'
    assert "usable texts" in here(*mapped, "--levels", levels).out
    as_missing = here(*mapped, "--levels", "good=2", "--missing", '"N/A, or ""none""","yes, fully"', "--json").out
    assert json.loads(as_missing)["aspects"][0]["distribution"] == {"2": 1}
    gaps = "\n".join(f"Text {score} of several words.,{score}" for score in (*range(12), "k.A."))
    (here.folder / "gaps.csv").write_text(f"output,score\n{gaps}")
    done = here("check", "gaps.csv")
    assert "next: rubriclab learn gaps.csv" in done.out
    assert done.out.endswith(" --missing k.a.\n")


def test_one_faulty_score_of_three_raters_is_left_out_alone_and_figures_are_those_of_the_rest(here: Commands) -> None:
    header = "id;Antwort;Anna;Ben;Clara"
    rows = [f"{n};Antwort Nummer {n};{n % 5 + 1};{n % 5 + 1};{n % 5 + 1}" for n in range(20)]
    rows[3] = "3;Antwort Nummer 3;4;4;55"
    rows[4] = "4;Antwort Nummer 4;5;k.A.;5"
    (here.folder / "a.csv").write_text("\n".join([header, *rows, "3;Antwort;1;1;1"]))
    names = ("anna", "ben", "clara")
    mapping = ",".join(["output=Antwort", *(f"annotations.quality.{name}={name.title()}" for name in names)])
    arguments = ("check", "a.csv", "--scale", "1:5", "--map", mapping, "--json")
    alone = json.loads(here("check", "a.csv", "--map", ",".join(mapping.split(",")[:2]), "--json").out)
    assert alone["aspects"][0]["raters"] == ["anna"]
    refused = json.loads(here(*arguments).out)
    assert "field 'annotations.quality.clara' (column 'Clara'): got 55" in "".join(refused["problems"])
    found = json.loads(here(*arguments, "--skip-faulty").out)
    (aspect,) = found["aspects"]
    assert (found["usable"], found["skipped"], found["skipped_scores"]) == (True, 1, 2)
    assert (found["rows"], found["texts"], aspect["labels"]) == (21, 20, 20)
    assert aspect["distribution"] == {"1": 4, "2": 4, "3": 4, "4": 4, "5": 4}
    assert aspect["agreement"]["value"] == 1
    rows_read = read(here.folder / "a.csv", mapping=mapping, skip_faulty=True)
    training = training_examples(rows_read, "quality", "1:5", skip_faulty=True)
    assert {"faulty rows are left out: 1", "faulty scores of other rows are left out: 2"} <= set(training.notes)
    assert any(note.startswith("the first fault: ") for note in training.notes)
    assert [len(each.annotations["quality"]) for each in training.examples[2:6]] == [3, 2, 2, 3]


@pytest.mark.parametrize(("turned", "doubted"), [(True, True), (False, False)])
def test_raters_of_whom_one_took_the_lowest_score_for_the_best_are_said_to_contradict_each_other(
    here: Commands, turned: bool, doubted: bool
) -> None:
    rows = [{"output": f"Text {n}.", "a": 1 + n % 5, "b": 5 - n % 5 if turned else 1 + n % 4} for n in range(20)]
    raters = ("--map", "annotations.help.a=a", "--map", "annotations.help.b=b")
    said = " ".join(here("check", here.write("rows.jsonl", rows), *raters).out.split())
    assert ("contradict each other in 'a' and 'b' (Krippendorff's alpha" in said) == doubted
    assert ("did some raters take the lowest score for the best, or rate something else?" in said) == doubted


def test_the_next_command_repeats_every_reading_option_and_asks_for_a_definition(here: Commands) -> None:
    rows = [f"{n};Größe Nummer {n};{'gut' if n % 2 else 'N/A' if n % 3 else 'ok'}" for n in range(40)]
    (here.folder / "a b.csv").write_text("\n".join(["Titel", "", "id;Antwort;Note", *rows]), "cp1252")
    options = ("--skip-rows", 2, "--delimiter", ";", "--encoding", "cp1252", "--missing", "n/a", "--skip-faulty")
    arguments = ("--task", "support", "--levels", "ok=3", "--levels", "gut=5", "--map", "output=Antwort")
    assert '"Gr??e Nummer 0"' in here("check", "a b.csv", *options[:5], "utf-8", "--json").out
    done = here("check", "a b.csv", *options, *arguments, "--map", "scores.tone=Note")
    assert done.code == 0, done.out
    following = done.out.partition("next: ")[2].strip()
    assert following == (
        "rubriclab learn 'a b.csv' --task support --aspect tone --definition TEXT "
        "--map output=Antwort,scores.tone=Note --missing n/a --levels ok=3,gut=5 --skip-rows 2 "
        "--delimiter semicolon --encoding cp1252 --skip-faulty"
    )
    learned = here(*shlex.split(following)[1:], "--method", "direct", "--name", "tone")
    assert learned.code == 0, learned.err


def test_a_file_of_texts_without_scores_is_usable_for_scoring(here: Commands) -> None:
    (here.folder / "texts.jsonl").write_text('{"output": "One."}\n{"output": "One."}\n')
    done = here("check", "texts.jsonl")
    assert done.code == 0
    assert "1 row with the text of another row" in done.out
    assert "next: rubriclab score texts.jsonl --rubric REF" in done.out
    assert here("check", "texts.jsonl", "--aspect", "coherence").code == 2


@pytest.mark.parametrize(("train", "few"), [(12, True), (15, False)])
def test_a_split_says_if_groups_are_too_few_and_how_many_texts_stand_on_both_sides(train: int, few: bool) -> None:
    rows = [{"id": str(n), "output": f"Text {n % 8}.", "group": f"g{n % 9}"} for n in range(27)]
    said = list[str]()
    result = split(rows, SplitOptions(train=train), said.append)
    assert any("groups to learn from, too few to validate a rubric" in line for line in said) == few
    n = len([row for row in result.heldout if row["output"] in {each["output"] for each in result.train}])
    assert n > 1
    assert f"texts to evaluate on that repeat the words of a text to learn from: {n}; the two differ in 'group'" in said


def test_what_cannot_be_split_is_refused(here: Commands) -> None:
    (here.folder / "one.jsonl").write_text('{"output": "A", "group": "g"}\n{"output": "B", "group": "g"}\n')
    assert "All 2 texts are of one group, which is never divided." in here("split", "one.jsonl").error
    survey(here.folder / "u.csv", 4)
    assert "leaves none of 4 texts to evaluate on" in here("split", "u.csv", "--map", MAPPING, "--by", "Nr").error
    assert "has no 'colour' to split by" in here("split", "u.csv", "--map", MAPPING, "--by", "colour").error
    here.write("rows.jsonl", [{"output": f"Text {n}.", "topic": f"t{n % 3}", "place": "here"} for n in range(9)])
    error = here("split", "rows.jsonl", "--by", "system", "--train", 3).error
    assert "Name another column: --by COLUMN." in error


def test_comparisons_go_with_their_texts() -> None:
    texts = [{"id": f"{g}{n}", "output": f"{g} {n}", "group": g} for g in "abc" for n in range(2)]
    pairs = [{"preferred": f"{g}0", "over": f"{g}1"} for g in "abc"]
    checked = Lab(progress=None).check([*pairs, *texts[1:], {**texts[0], "scores": {"x": "?"}}], skip_faulty=True)
    assert (checked.skipped, checked.comparisons) == (1, 2)
    result = Lab(progress=None).split([*pairs, *texts], train=2)
    for side in (result.train, result.heldout):
        groups = {row["group"] for row in side if "group" in row}
        assert {row["preferred"][0] for row in side if "preferred" in row} == groups


def test_scores_of_a_file_with_semicolons_open_in_the_same_spreadsheet(here: Commands) -> None:
    survey(here.folder / "u.csv", 12)
    arguments = ("--task", "summarization", "--aspect", "coherence", "--map", "output=Zusammenfassung,id=Nr")
    for options, mark in (((), ","), (("--decimal", "point"), ".")):
        assert here("score", "u.csv", *arguments, "-o", "s.csv", *options).code == 0
        content = (here.folder / "s.csv").read_bytes()
        assert content.startswith(b"\xef\xbb\xbf")
        rows = list(csv.DictReader(content.decode("utf-8-sig").splitlines(), delimiter=";"))
        back = read(here.folder / "s.csv", mapping="output=Zusammenfassung,scores.coherence=score")
        scores = [row.scores["coherence"] for row in back if isinstance(row, Example)]
        assert [float(row["score"].replace(mark, ".")) for row in rows] == scores
        assert any(mark in row["score"] for row in rows)


def test_every_command_that_is_printed_runs_as_it_stands(here: Commands) -> None:
    survey(here.folder / "umfrage.csv", 40)
    (here.folder / "an own.toml").write_text("seed = 3")
    options = ("--task", "minutes", "--definition", "How 'clear' it is.", "--map", MAPPING, "--store", "an own.db")
    named = ("--config", "an own.toml")
    learned = here(*named, "learn", "umfrage.csv", "--aspect", "coherence", "--name", "m", *options)
    refused = here(*named, "evaluate", "umfrage.csv", "--rubric", "m", "--map", MAPPING, "--store", "an own.db")
    own_mapping = f"Map the columns as for m@1: --map '{MAPPING}'."
    assert own_mapping in here("evaluate", "umfrage.csv", "--rubric", "m", "--store", "an own.db").error
    unvalidated = here(*named, "score", "umfrage.csv", "--aspect", "coherence", *options)
    here(*named, "report", "m", "--store", "an own.db", "-o", "page.html")
    gate = here(*named, "gate", "m", "--store", "an own.db").out
    page = html.unescape((here.folder / "page.html").read_text("utf-8"))
    words = "\n".join([learned.out, learned.err, refused.err, unvalidated.err, gate, page])
    printed = set(re.findall(r"(?:`|<code[^>]*>)(rubriclab [^`<\n]+)", words))
    assert {line.split("'")[2].split()[0] for line in printed} >= {"learn", "plan", "show"}
    assert [line for line in printed if "TEXTS" in line and "--map output=" in line]
    evidence = here("show", "m", "--evidence", "--store", "an own.db").out
    assert re.search(r"sha256:[0-9a-f]{64}\n", evidence)
    for line in printed:
        assert line.startswith("rubriclab --config 'an own.toml' ")
        assert "--store 'an own.db'" in line
        assert "TEXTS" not in line or "scores." not in line, line
        filled = re.sub("(OTHER_)?LABELLED|HELDOUT|TEXTS", "umfrage.csv", line).replace("MODEL", "embedded")
        done = here(*shlex.split(filled)[1:])
        assert done.code == 0 or "learned from" in done.err, (line, done.err)


def test_a_command_in_text_of_others_is_shown_unchanged(here: Commands) -> None:
    survey(here.folder / "umfrage.csv", 40)
    definition = ("--task", "minutes", "--aspect", "coherence", "--definition", "It says: rubriclab score me")
    here("learn", "umfrage.csv", *definition, "--map", MAPPING, "--name", "m", "--store", "own.db")
    assert here("report", "m", "--store", "own.db", "-o", "page.html").code == 0
    assert "It says: rubriclab score me</bdi>" in (here.folder / "page.html").read_text("utf-8")

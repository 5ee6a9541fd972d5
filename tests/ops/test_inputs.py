"""Data in all its forms, and the fields that all training texts had."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest
from commands import LABELLED, LABELLED_ROWS, TASK, Commands

from rubriclab import Example, Lab, Scale, SettingsError
from rubriclab.data.check import training_examples
from rubriclab.data.readers import read
from rubriclab.data.reading_options import ReadingOptions
from rubriclab.data.write import write_rows
from rubriclab.errors import DataError
from rubriclab.ops.inputs import accept_level_names, detect_dialect, rows_of
from rubriclab.ops.options import LearnOptions

ROWS: list[dict[str, Any]] = [
    {"id": "a", "output": "one text", "group": "g", "scores": {"coherence": 3.0}},
    {"id": "b", "output": "another text", "group": "g", "scores": {"coherence": 4.5}},
]


class DataSet:
    """Stands in for `datasets.Dataset`: column names, a length, and rows as dictionaries."""

    column_names = ("id", "output", "group", "scores")

    def __len__(self) -> int:
        return len(ROWS)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(ROWS)


def examples(data: Any, **options: Any) -> list[Any]:
    return list(rows_of(data, ReadingOptions(**options)))


EXAMPLES = [
    Example("a", "one text", "g", scores={"coherence": 3.0}),
    Example("b", "another text", "g", scores={"coherence": 4.5}),
]
TABLES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "lazy polars": polars.LazyFrame,
    "pyarrow": pyarrow.Table.from_pylist,
}


@pytest.mark.parametrize("score", ["3.5", "3,5"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize(("ending", "delimiter"), [*((".csv", mark) for mark in ",;\t|"), (".tsv", "\t")])
def test_an_output_is_delimited_marked_and_has_decimals_as_the_input(
    tmp_path: Path, ending: str, delimiter: str, encoding: str, score: str
) -> None:
    """Also where texts hold every other delimiter; another encoding than UTF-8 becomes UTF-8 with a byte order mark."""
    file, output, expected = tmp_path / f"input{ending}", tmp_path / f"output{ending}", io.StringIO(newline="")
    with file.open("w", encoding=encoding, newline="") as stream:
        csv.writer(stream, delimiter=delimiter).writerows(
            [["output", "scores.q"], *[["Größe, a; b\tc | d", score]] * 9]
        )
    write_rows([{"id": "a", "score": 3.5}], output, dialect=detect_dialect(file, ReadingOptions()))
    csv.writer(expected, delimiter=delimiter).writerows([["id", "score"], ["a", score]])
    assert output.read_bytes() == expected.getvalue().encode("utf-8" if encoding == "utf-8" else "utf-8-sig")


def test_level_names_are_read_unless_the_user_gives_the_scores_of_words() -> None:
    pairs = (("schlecht", "gut"), ("yes", "no"), ("no", "yes"), None)
    own, reversed_, usual, graded = (Scale(low=0, high=1, whole=False, names=names) for names in pairs)
    for scales, given, scores in (
        ([own, usual], {}, {"Schlecht": 0, "gut": 1, "pass": 1}),
        ([own, graded], {}, {"gut": 1, "pass": 1}),
        ([reversed_], {}, {"yes": 0, "no": 1, "true": 1, "pass": 1}),
        ([reversed_, usual], {}, {"yes": 1, "no": 0, "pass": 1}),
        ([own, Scale(low=0, high=1, whole=False, names=("gut", "schlecht"))], {}, {"gut": None, "pass": 1}),
        ([own], {"fine": 3.0}, {"fine": 3, "gut": None}),
    ):
        rows: Any = [{"output": "x", "scores": {"q": word}} for word in scores]
        found = rows_of(rows, accept_level_names(ReadingOptions(level_scores=given), *scales))
        assert [row.scores["q"] if isinstance(row, Example) else None for row in found] == [*scores.values()]


@pytest.mark.parametrize("form", ["path", "rows", "generator", "data set", "examples", *TABLES])
def test_every_form_of_data_gives_the_same_examples(form: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    others: dict[str, Any] = {"path": path, "rows": ROWS, "generator": iter(ROWS), "data set": DataSet()}
    assert examples(TABLES[form](ROWS) if form in TABLES else others.get(form, EXAMPLES)) == EXAMPLES


def test_several_files_are_read_as_one_with_faults_named_by_their_own_file(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("old.jsonl", "new.csv")]
    files[0].write_text("".join(json.dumps({**row, "id": f"text {n}"}) + "\n" for n, row in enumerate(ROWS * 6)))
    files[1].write_text("id,output,coh\nx,one,3\ny,,4\ntext 3,again,5\n")
    options = {"mapping": "scores.coherence=coh", "task": "news", "aspect": "coherence"}
    with pytest.raises(DataError) as caught:
        training_examples(rows_of(files, LearnOptions(**options)), "coherence")
    assert f"{files[1]}:3: field 'output'" in str(caught.value)
    assert f"{files[1]}:4: field 'id': got 'text 3', which {files[0]}:4 also has" in str(caught.value)
    sound = training_examples(rows_of(files, LearnOptions(**options, skip_faulty=True)), "coherence", skip_faulty=True)
    assert [example.id for example in sound.examples] == [*(f"text {n}" for n in range(12)), "x"]
    files[1].write_text("id,output,mark\nx,one,3\ny,two,4\n")
    with pytest.raises(DataError, match=rf"{files[1]}: no row has a score for 'coherence', though other files have"):
        training_examples(rows_of(files, LearnOptions(**options)), "coherence")


def test_learning_takes_the_names_of_several_files(tmp_path: Path) -> None:
    lines = LABELLED.read_text("utf-8").splitlines(keepends=True)
    names = [str(tmp_path / name) for name in ("old.jsonl", "new.jsonl")]
    for name, part in zip(names, (lines[:20], lines[20:]), strict=True):
        Path(name).write_text("".join(part), "utf-8")
    learned = Commands(tmp_path, RUBRICLAB_STORE="store.db")("learn", *names, *TASK, "--method", "direct", "--json")
    lab = Lab(tmp_path / "store.db", progress=None)
    again = lab.learn(names, task="summarization", aspect="coherence", scale="1:5", methods="direct")
    assert (again.digest, len(again.provenance.examples)) == (learned.json["digest"], len(lines))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        *((data, "has no rows; expected a path, rows as mappings") for data in (5, None, b"bytes", object())),
        ({"train": ROWS, "test": ROWS}, r"is a mapping with 'train', 'test'\. Give one of its values"),
        (
            "The council met on Monday and spoke about rain.",
            r"There is no file 'The council.* in Python the texts as a list of strings",
        ),
    ],
)
def test_what_has_no_rows_is_refused_with_what_is_expected(data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        examples(data)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_without_the_named_column_is_one_error_as_a_file_is(table: str) -> None:
    rows = [{"summary": "one text"}, {"summary": "another"}]
    with pytest.raises(DataError, match=r'got nothing.*`mapping=\{"output": "summary"\}`\.$'):
        examples(TABLES[table](rows))
    with pytest.raises(DataError, match=r"field 'source': got nothing, expected a column 'article'"):
        examples(TABLES[table](rows), mapping="output=summary,source=article")


DIRECT: dict[str, Any] = {
    "task": "support answer",
    "aspect": "helpfulness",
    "definition": "How well the answer solves the customer's problem.",
    "scale": (1, 5),
    "methods": "direct",
    "judge": "embedded",
}


@pytest.fixture(scope="module")
def answers() -> list[dict[str, Any]]:
    """Answers to questions in the column `Kundenfrage`."""
    return [
        {"Kundenfrage": row["source"], "Antwort": row["output"], "Note": row["scores"]["coherence"], "Nr": row["id"]}
        for row in LABELLED_ROWS[:24]
    ]


@pytest.fixture(scope="module")
def lab(answers: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A store with a rubric learned from texts that all have a context."""
    lab = Lab(tmp_path_factory.mktemp("fields") / "store.db", progress=None)
    mapping = {"output": "Antwort", "context": "Kundenfrage", "scores.helpfulness": "Note"}
    lab.learn(answers, name="help", mapping=mapping, **DIRECT)
    return lab


@pytest.mark.parametrize("wrong", [{}, {"source": "Kundenfrage"}], ids=["dropped", "mapped to source"])
@pytest.mark.parametrize("operation", ["score", "compare", "evaluate", "explain"])
def test_a_field_that_all_training_texts_had_is_asked_for_with_its_column(
    lab: Lab, answers: list[dict[str, Any]], operation: str, wrong: dict[str, str]
) -> None:
    mapping = {"output": "Antwort", "scores.helpfulness": "Note", **wrong}
    calls: dict[str, Any] = {
        "score": lambda **options: lab.score(answers, "help", **options),
        "compare": lambda **options: lab.compare(answers, answers, "help", **options),
        "evaluate": lambda **options: lab.evaluate(answers, "help", include_training=True, **options),
        "explain": lambda **options: lab.explain(answers[:1], "help", **options),
    }
    with pytest.raises(SettingsError, match="every text that help@1 was learned from had it") as error:
        calls[operation](mapping=mapping)
    assert '"context": "Kundenfrage"' in str(error.value)
    calls[operation](mapping={"output": "Antwort", "scores.helpfulness": "Note", "context": "Kundenfrage"})


def test_the_mapping_that_is_proposed_for_scoring_gives_the_scores_of_the_right_mapping(
    lab: Lab, answers: list[dict[str, Any]], tmp_path: Path
) -> None:
    here = Commands(tmp_path, RUBRICLAB_STORE=str(lab._store))
    rows = ["Kundenfrage\tAntwort", *("\t".join(row[name] for name in ("Kundenfrage", "Antwort")) for row in answers)]
    (tmp_path / "new.tsv").write_text("\n".join(rows))
    refused = here("score", "new.tsv", "--rubric", "help", "-o", "scores.jsonl")
    assert refused.code == 2
    proposed = refused.error.rpartition("--map ")[2].strip(" .")
    assert proposed == "output=Antwort,context=Kundenfrage"
    assert here("score", "new.tsv", "--rubric", "help", "--map", proposed, "-o", "scores.jsonl").code == 0
    written = [json.loads(line)["score"] for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    right = lab.score(answers, "help", mapping={"output": "Antwort", "context": "Kundenfrage"})
    assert written == list(right.values)


def test_some_texts_without_the_field_are_scored_and_counted(lab: Lab, answers: list[dict[str, Any]]) -> None:
    rows = [
        {"output": row["Antwort"], "context": row["Kundenfrage"] if n % 3 else None} for n, row in enumerate(answers)
    ]
    why = "every text that help@1 was learned from had one"
    scores = lab.score(rows, "help")
    assert len(scores.values) == 24
    assert f"the data: 8 of 24 texts have no context, so their scores are less reliable: {why}" in scores.warnings


def test_looking_ahead_skips_no_row_of_a_stream() -> None:
    rows = read(io.BytesIO(b"".join(b'{"output": "%d"}\n' % n for n in range(5))))
    assert [example.output for _, example in rows.look_ahead(lambda example: example.output == "2", 100)] == list("012")
    assert [row.output for row in rows if not isinstance(row, Exception)] == list("01234")

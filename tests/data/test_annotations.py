"""Exports of Label Studio and Argilla, and what is no such export although it looks like one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow import parquet

from rubriclab.data.annotations import PairwiseComparison, fit_scores, parse_comparisons
from rubriclab.data.cells import CSV_RULES, JSON_RULES
from rubriclab.data.check import training_examples
from rubriclab.data.mapping import NO_MAPPING, parse_mapping
from rubriclab.data.readers import Rows, from_rows, read
from rubriclab.data.rows import RowError
from rubriclab.data.write import CsvDialect, write_rows
from rubriclab.errors import DataError
from rubriclab.models.text import Example, Scale, named_annotations

EXPORTS = Path(__file__).parent / "exports"
LEVELS = "very bad=1,bad=2,okay=3,good=4,excellent=5"
MAPPED: dict[str, Any] = {"mapping": "output=summary,source=article", "level_scores": LEVELS}
ANNA, BEN = "rater1@example.org", "rater2@example.org"
FIRST, SECOND = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"


def split(rows: Rows) -> tuple[list[Example], list[RowError]]:
    listed = list(rows)
    return [row for row in listed if isinstance(row, Example)], [row for row in listed if isinstance(row, RowError)]


def examples(file: Path, **options: Any) -> list[Example]:
    found, faults = split(read(file, **{**MAPPED, **options}))
    assert not faults
    return found


def written(folder: Path, content: Any, name: str = "export.json") -> Path:
    file = folder / name
    file.write_text(json.dumps(content), "utf-8")
    return file


def task(number: int, *annotations: dict[str, Any], **data: Any) -> dict[str, Any]:
    return {"id": number, "data": {"output": f"Text {number}.", **data}, "annotations": list(annotations)}


def annotation(rater: Any, *results: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    given = [{"from_name": name, "to_name": "output", "type": "x", "value": value} for name, value in results]
    return {"id": 7, "completed_by": rater, "result": given, **more}


def test_an_export_of_label_studio_has_ratings_and_comments() -> None:
    found = {example.id: example for example in examples(EXPORTS / "label-studio.json")}
    assert len(found) == 12
    assert named_annotations(found["2"], "coherence").keys() == {ANNA, BEN}
    assert named_annotations(found["1"], "coherence").keys() == {ANNA}
    tasks = json.loads((EXPORTS / "label-studio.json").read_text("utf-8"))
    for each in tasks:
        example = found[str(each["id"])]
        kept = [given for given in each["annotations"] if not given["was_cancelled"]]
        for aspect, field in (("coherence", "rating"), ("length", "number")):
            expected = {
                given["completed_by"]["email"]: result["value"][field]
                for given in kept
                for result in given["result"]
                if result["from_name"] == aspect
            }
            assert named_annotations(example, aspect) == expected
        assert example.output == each["data"]["summary"]
        assert named_annotations(example, "fluency") == named_annotations(example, "coherence")
    assert found["2"].reasons["coherence"] == {ANNA: "Reason 1-1.", BEN: "Reason 1-2."}
    assert "issues" not in found["1"].annotations
    note = str(read(EXPORTS / "label-studio.json", **MAPPED).source.note())
    parts = ("Label Studio JSON export", "skipped annotations left out: 3", "'why' read as reasons", "'issues' not")
    assert all(part in note for part in parts)


def test_responses_of_argilla_are_annotations_and_drafts_and_discarded_ones_are_left_out(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (EXPORTS / "argilla-data-set.jsonl").read_text("utf-8").splitlines()]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "export.parquet")
    for file in (EXPORTS / "argilla-data-set.jsonl", tmp_path / "export.parquet"):
        found = {example.id: example for example in examples(file)}
        assert found.keys() == {row["id"] for row in rows}
        for row in rows:
            users = zip(
                row["coherence.responses.users"],
                row["coherence.responses"],
                row["coherence.responses.status"],
                strict=True,
            )
            expected = {user: value for user, value, status in users if status == "submitted"}
            assert named_annotations(found[row["id"]], "coherence") == expected
            assert found[row["id"]].group == row["group"]
        assert "discarded responses left out: 3; draft responses left out: 1" in str(read(file, **MAPPED).source.note())
        assert found[rows[0]["id"]].reasons["coherence"] == {FIRST: "Reason 0."}


def argilla(answers: list[Any]) -> list[dict[str, Any]]:
    return [
        {"id": str(n), "output": f"T{n}.", "q.responses": [answer], "q.responses.users": ["anna"]}
        for n, answer in enumerate(answers)
    ]


@pytest.mark.parametrize("scores", [[1, 2, 3, 4], ["agree", "agree", "disagree", "disagree"]])
def test_a_comment_among_scores_is_left_out_and_named_and_the_others_count(scores: list[Any]) -> None:
    why = "I did not understand the second half."
    rows = from_rows(argilla([*scores, why]), level_scores="agree=4,disagree=2")
    *rated, odd = rows
    assert all(isinstance(row, Example) and row.annotations for row in rated)
    assert isinstance(odd, Example)
    assert not odd.annotations
    assert rows.raw_row["answers"] == {"q": {"anna": why}}
    assert "not one number or word: 1; the first: 'I did not understand the second half.' to 'q' in row 5" in str(
        rows.source.note()
    )


def test_the_latest_annotation_of_a_rater_counts_and_unknown_raters_stay_apart(tmp_path: Path) -> None:
    given = [
        annotation({"id": 3}, ("q", {"rating": 5}), updated_at="2026-02-02"),
        annotation({"id": 3}, ("q", {"rating": 1}), updated_at="2026-01-01"),
        {**annotation(None, ("q", {"rating": 2})), "id": 8},
        {**annotation(None, ("q", {"rating": 3})), "id": 9},
    ]
    rows = read(written(tmp_path, [task(1, *given)]))
    (example,), _ = split(rows)
    assert named_annotations(example, "q") == {"3": 5, "annotation-8": 2, "annotation-9": 3}
    assert "earlier annotations by the same rater left out: 1" in str(rows.source.note())


def test_a_word_that_is_no_level_is_a_fault_and_is_never_dropped(tmp_path: Path) -> None:
    given = [annotation(n, ("q", {"choices": [word]})) for n, word in enumerate(["Good", "Bad", "Odd"])]
    _, (fault,) = split(read(written(tmp_path, [task(1, *given)]), level_scores="good=5,bad=1"))
    assert (fault.field, fault.word) == ("annotations.q.2", "Odd")


@pytest.mark.parametrize("value", [None, True, {"a": 1}, ["Good", "Bad"]])
def test_one_odd_answer_of_label_studio_is_left_out_and_named_and_the_others_count(value: Any, tmp_path: Path) -> None:
    ratings_of = [annotation("anna", ("q", {"rating": 4})), annotation("ben", ("q", {"rating": value}))]
    words = [annotation("anna", ("q", {"choices": ["Good"]})), annotation("ben", ("q", {"choices": ["Good", "Bad"]}))]
    for answers, shown in ((ratings_of, value), (words, ["Good", "Bad"])):
        rows = read(written(tmp_path, [task(41, answers[0]), task(42, *answers)]), level_scores="good=4,bad=1")
        first, second = rows
        assert isinstance(first, Example)
        assert isinstance(second, Example)
        assert named_annotations(first, "q") == named_annotations(second, "q") == {"anna": 4}
        text = {None: "null", True: "true"}.get(shown) if isinstance(shown, bool | None) else repr(shown)
        said = f"not one number or word: 1; the first: {text} to 'q' in row 2 (id 42)"
        assert said in str(rows.source.note())
        assert rows.raw_row["answers"] == {"q": {"ben": shown}}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda rows: [*rows, 5], "a task like the first one"),
        (lambda rows: [*rows, {"data": []}], "a task like the first one"),
        (lambda rows: [*rows, {**rows[0], "annotations": [5]}], "as Label Studio exports"),
        (lambda rows: [*rows, {**rows[0], "annotations": [{"result": {}, "id": 1}, {"result": 5}]}], "the result 5"),
    ],
)
def test_a_malformed_task_is_a_fault_in_its_place(
    damage: Callable[[list[Any]], list[Any]], said: str, tmp_path: Path
) -> None:
    file = written(tmp_path, damage([task(n, annotation(1, ("q", {"rating": n}))) for n in (1, 2)]))
    _, (fault,) = split(read(file))
    assert fault.line == 3
    assert said in str(fault)
    for responses in ([1, 2], 5, {"a": 1}):
        row = {"output": "One.", "q.responses": responses, "q.responses.users": ["a"], "q.responses.status": None}
        assert "lists of one length" in str(next(from_rows([row])))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": 1, "output": "T.", "annotator": 1, "annotation_id": 2, "lead_time": 2.5}, "Export JSON"),
        ({"id": "a", "fields": {"output": "One."}, "suggestions": {}, "responses": {}}, "Export the data set"),
        (
            {"output": "One.", "q.responses": "[5 5]", "q.responses.users": "['a' 'b']"},
            r"responses are the text '\[5 5\]', expected lists.*to_json",
        ),
    ],
)
def test_an_export_without_what_is_needed_is_refused_with_the_one_to_use(row: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        list(from_rows([row]))


def test_a_text_keeps_its_label_beside_another_text_with_its_id() -> None:
    examples = [Example("same", f"Text {n}.", "g", scores={"x": n}) for n in range(3)]
    completed, _ = fit_scores(examples, (), "x", Scale(low=0, high=2, whole=True))
    assert list(completed) == examples


MAPPING = "output=text,scores.tone=rating,rater=worker_id"


def rating_rows(**extra: Callable[[int, str, str], Any]) -> list[dict[str, Any]]:
    return [
        {
            "text": f"Text {n}.",
            "aspect": aspect,
            "worker_id": rater,
            "rating": (n + len(aspect) + int(rater[1])) % 5 + 1,
            **{name: cell(n, aspect, rater) for name, cell in extra.items()},
        }
        for n in range(12)
        for aspect in ("Tone", "brevity")
        for rater in ("w1", "w2")
    ]


def without(rows: list[dict[str, Any]], *columns: str) -> list[dict[str, Any]]:
    return [{name: cell for name, cell in row.items() if name not in columns} for row in rows]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.xlsx", "t.parquet", "t.jsonl", None])
def test_the_ratings_of_the_mapped_aspect_are_joined_by_rater_and_others_are_left_out(
    name: str | None, tmp_path: Path
) -> None:
    if name is None:
        rows = from_rows(rating_rows(), mapping=MAPPING)
    else:
        write_rows(rating_rows(), tmp_path / name)
        rows = read(tmp_path / name, mapping=MAPPING)
    examples, faults = split(rows)
    assert not faults
    assert [each.output for each in examples] == [f"Text {n}." for n in range(12)]
    assert named_annotations(examples[0], "tone") == {"w1": 1, "w2": 2}
    assert not examples[0].annotations.keys() - {"tone"}
    assert "24 ratings of 12 texts; ratings of other aspects left out: 'brevity' (24)" in str(rows.source.note())
    assert len(training_examples(examples, "tone").examples) == 12


def test_without_a_column_of_aspects_all_ratings_count_and_without_raters_they_are_a_list() -> None:
    tone = [row for row in rating_rows() if row["aspect"] == "Tone"]
    examples, _ = split(from_rows(without(tone, "aspect"), mapping=MAPPING))
    assert named_annotations(examples[0], "tone") == {"w1": 1, "w2": 2}
    examples, _ = split(from_rows(without(tone, "worker_id"), mapping="output=text,scores.tone=rating"))
    assert (examples[0].annotations, examples[0].raters) == ({"tone": (1, 2)}, {})


@pytest.mark.parametrize(
    ("column", "cell", "texts"),
    [
        ("id", lambda n, aspect, rater: f"{n}-{aspect}-{rater}", 12),
        ("id", lambda n, _aspect, _rater: f"t{n}", 12),
        ("id", lambda n, _aspect, rater: f"t{n}-{rater}", 24),
        ("system", lambda _n, _aspect, rater: rater, 24),
    ],
)
def test_systems_and_ids_that_repeat_tell_texts_apart_and_other_ids_are_those_of_ratings(
    column: str, cell: Callable[[int, str, str], str], texts: int
) -> None:
    rows = from_rows(rating_rows(**{column: cell}), mapping=f"{MAPPING},scores.brevity=rating")
    examples, faults = split(rows)
    assert not faults
    assert len(examples) == len({each.id for each in examples}) == texts
    assert [dict(examples[0].annotations)[aspect][0] for aspect in ("tone", "brevity")] == [1, 4]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rating": "much"}, "field 'scores.tone' (column 'rating'): got the text 'much', expected a finite number"),
        ({"worker_id": "w1"}, "a second rating by 'w1', expected one by each rater in all rows with this text"),
        ({"worker_id": ""}, "field 'rater' (column 'worker_id'): got nothing"),
    ],
)
def test_a_faulty_rating_is_a_fault_in_its_own_row_and_can_be_skipped(
    changed: dict[str, Any], said: str, tmp_path: Path
) -> None:
    rows = rating_rows()
    rows[1] |= changed
    write_rows(rows, tmp_path / "t.csv")
    examples, (fault,) = split(read(tmp_path / "t.csv", mapping=MAPPING))
    assert said in str(fault)
    assert fault.line == 3
    assert named_annotations(examples[0], "tone") == {"w1": 1}
    skipped = read(tmp_path / "t.csv", mapping=MAPPING, skip_faulty=True)
    assert (len(list(skipped)), skipped.skipped) == (12, 1)


@pytest.mark.parametrize("mapping", [MAPPING, "output=text,scores.tone=rating"])
def test_joined_ratings_are_written_as_they_were_given(mapping: str, tmp_path: Path) -> None:
    table = [{**row, "rating": "1,3" if row["worker_id"] == "w1" else "2,0"} for row in rating_rows()]
    for _ in range(2):
        write_rows(table, tmp_path / "t.csv", dialect=CsvDialect(delimiter=";", decimal_comma=True))
        rows = read(tmp_path / "t.csv", mapping=mapping, level_scores="1.3=4.7,2=4", decimal="comma")
        texts, table = map(list, zip(*((row, rows.raw_row) for row in rows), strict=True))
        assert [text.annotations["tone"] for text in texts] == [(4.7, 4)] * 12


def test_an_aspect_that_nobody_rated_is_refused_with_those_that_somebody_did() -> None:
    with pytest.raises(DataError, match=r"no rating is of a mapped aspect, but of 'Tone' \(24\), 'brevity' \(24\)"):
        from_rows(rating_rows(), mapping="output=text,scores.clarity=rating")


def test_answers_that_a_text_cannot_be_assessed_are_counted_once() -> None:
    rows = rating_rows()
    rows[0]["rating"] = "cannot assess"
    read_rows = from_rows(rows, mapping=MAPPING)
    examples, faults = split(read_rows)
    assert not faults
    assert named_annotations(examples[0], "tone") == {"w2": 2}
    assert sum(read_rows.not_assessed.values()) == 1


def said(row, rules=JSON_RULES, mapping=None):
    answer = parse_comparisons(row, "labels", 3, parse_mapping(mapping) if mapping else NO_MAPPING, rules)
    assert isinstance(answer, tuple), answer
    return answer


def refused(row, rules=JSON_RULES):
    answer = parse_comparisons(row, "labels", 3, rules=rules)
    assert isinstance(answer, RowError), answer
    return answer


def test_a_ranking_is_all_of_its_pairs_with_ties_in_lists_of_their_own():
    found = said({"ranking": ["a", ["b", "c"], 4], "aspect": "coherence"})
    assert [(each.better, each.worse, each.tie) for each in found] == [
        ("a", "b", False),
        ("a", "c", False),
        ("a", "4", False),
        ("b", "c", True),
        ("b", "4", False),
        ("c", "4", False),
    ]
    assert {each.aspect for each in found} == {"coherence"}


def test_a_table_of_text_writes_rankings_and_ties_its_own_way():
    blank = dict.fromkeys(("output", "preferred", "over", "ranking", "tie", "aspect"), "")
    assert said({**blank, "ranking": "a > b = c"}, rules=CSV_RULES) == said({"ranking": ["a", ["b", "c"]]})
    tie = said({**blank, "preferred": "a", "over": "b", "tie": "TRUE"}, rules=CSV_RULES)
    assert tie == (PairwiseComparison("a", "b", tie=True),)


@pytest.mark.parametrize(
    ("row", "field", "came"),
    [
        ({"preferred": "a"}, "over", "nothing"),
        ({"over": "a"}, "preferred", "nothing"),
        ({"preferred": "a", "over": "a"}, "over", "'a', the same text"),
        ({"preferred": "a", "over": ["b"]}, "over", "a list of 1"),
        ({"preferred": True, "over": "b"}, "preferred", "true"),
        ({"preferred": 1.5, "over": "b"}, "preferred", "1.5"),
        ({"preferred": "a", "over": "b", "tie": "yes"}, "tie", "the text 'yes'"),
        ({"preferred": "a", "over": "b", "tie": 1}, "tie", "1"),
        ({"preferred": "a", "over": "b", "aspect": ["x"]}, "aspect", "a list of 1"),
        ({"preferred": "a", "over": "b", "ranking": ["a", "b"]}, "preferred", "a preference beside a ranking"),
        ({"ranking": "a > b"}, "ranking", "the text 'a > b'"),
        ({"ranking": []}, "ranking", "0 texts"),
        ({"ranking": ["a"]}, "ranking", "1 text"),
        ({"ranking": ["a", ["b", "a"]]}, "ranking", "'a' twice"),
        ({"ranking": ["a", []]}, "ranking", "an empty list in the ranking"),
        ({"ranking": ["a", None]}, "ranking", "nothing"),
        ({"ranking": ["a", [["b"]]]}, "ranking", "a list of 1"),
        ({"ranking": {"a": 1}}, "ranking", "an object"),
    ],
)
def test_what_is_no_comparison_is_a_fault(row, field, came):
    fault = refused(row)
    assert (fault.field, fault.got, fault.line) == (field, came, 3)


def test_readers_keep_comparisons_beside_the_texts_with_their_lines():
    lines = [
        {"preferred": "a", "over": "b"},
        {"id": "a", "output": "A", "group": "g"},
        {"ranking": ["b", "a"]},
        {"preferred": "a"},
        {"id": "b", "output": "B", "group": "g"},
        {"preferred": "b", "over": "a", "tie": True},
    ]
    rows = read([json.dumps(line) for line in lines])
    assert [(rows.line, type(row)) for row in rows] == [(2, Example), (4, RowError), (5, Example)]
    assert [(line, each.better) for line, each in rows.comparisons] == [(1, "a"), (3, "b"), (6, "b")]


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["output", "preferred", "over", "tie", "ranking", "aspect", "rater"]), JSON))
@settings(max_examples=40)
def test_whatever_stands_in_a_row_there_is_an_answer(row):
    for rules in (JSON_RULES, CSV_RULES):
        answer = parse_comparisons(row, "labels", 1, rules=rules)
        assert answer is None or isinstance(answer, RowError | tuple)
        if isinstance(answer, tuple):
            assert all(isinstance(each, PairwiseComparison) and each.better != each.worse for each in answer)

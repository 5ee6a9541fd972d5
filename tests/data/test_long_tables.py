"""In a table with a row for each rating, the ratings of a text are joined."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rubriclab.data.check import training_examples
from rubriclab.data.readers import Rows, from_rows, read
from rubriclab.data.rows import RowError
from rubriclab.data.write import write_rows
from rubriclab.errors import DataError
from rubriclab.models.text import Example, named_annotations

MAPPING = "output=text,scores.tone=rating,rater=worker_id"


def ratings(**extra: Callable[[int, str, str], Any]) -> list[dict[str, Any]]:
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


def split(rows: Rows) -> tuple[list[Example], list[RowError]]:
    listed = list(rows)
    return [row for row in listed if isinstance(row, Example)], [row for row in listed if isinstance(row, RowError)]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.xlsx", "t.parquet", "t.jsonl", None])
def test_the_ratings_of_the_mapped_aspect_are_joined_by_rater_and_others_are_left_out(
    name: str | None, tmp_path: Path
) -> None:
    if name is None:
        rows = from_rows(ratings(), mapping=MAPPING)
    else:
        write_rows(ratings(), tmp_path / name)
        rows = read(tmp_path / name, mapping=MAPPING)
    examples, faults = split(rows)
    assert not faults
    assert [each.output for each in examples] == [f"Text {n}." for n in range(12)]
    assert named_annotations(examples[0], "tone") == {"w1": 1, "w2": 2}
    assert not examples[0].annotations.keys() - {"tone"}
    assert "24 ratings of 12 texts; ratings of other aspects left out: 'brevity' (24)" in str(rows.source.note())
    assert len(training_examples(examples, "tone").examples) == 12


def test_two_mapped_aspects_of_one_column_are_both_read() -> None:
    examples, _ = split(from_rows(ratings(), mapping=f"{MAPPING},scores.brevity=rating"))
    assert named_annotations(examples[0], "tone") == {"w1": 1, "w2": 2}
    assert named_annotations(examples[0], "brevity") == {"w1": 4, "w2": 5}


def test_without_a_column_of_aspects_all_ratings_count_and_without_raters_they_are_a_list() -> None:
    tone = [row for row in ratings() if row["aspect"] == "Tone"]
    examples, _ = split(from_rows(without(tone, "aspect"), mapping=MAPPING))
    assert named_annotations(examples[0], "tone") == {"w1": 1, "w2": 2}
    examples, _ = split(from_rows(without(tone, "worker_id"), mapping="output=text,scores.tone=rating"))
    assert (examples[0].annotations, examples[0].raters) == ({"tone": (1, 2)}, {})


def test_several_columns_of_scores_and_reasons_are_joined_by_rater_also_under_names_of_fields() -> None:
    rows = [
        {"output": "A.", "rater": rater, "scores.tone": n, "scores.style": n + 1, "reasons.tone": f"{rater} says so"}
        for n, rater in enumerate(("anna", "ben"), start=1)
    ]
    (example,), _ = split(from_rows(rows))
    assert named_annotations(example, "tone") == {"anna": 1, "ben": 2}
    assert named_annotations(example, "style") == {"anna": 2, "ben": 3}
    assert example.reasons == {"tone": {"anna": "anna says so", "ben": "ben says so"}}


@pytest.mark.parametrize(
    ("ids", "texts"),
    [
        (lambda n, aspect, rater: f"{n}-{aspect}-{rater}", 12),
        (lambda n, _aspect, _rater: f"t{n}", 12),
        (lambda n, _aspect, rater: f"t{n}-{rater}", 24),
    ],
)
def test_ids_that_repeat_tell_texts_apart_and_others_are_those_of_ratings(
    ids: Callable[[int, str, str], str], texts: int
) -> None:
    examples, faults = split(from_rows(ratings(id=ids), mapping=f"{MAPPING},scores.brevity=rating"))
    assert not faults
    assert len(examples) == texts
    assert len({each.id for each in examples}) == texts


def test_texts_of_two_systems_stay_apart() -> None:
    rows = ratings(system=lambda _n, _aspect, rater: rater)
    examples, _ = split(from_rows(rows, mapping=MAPPING))
    assert len(examples) == 24


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rating": "much"}, "field 'scores.tone' (column 'rating'): got the text 'much', expected a finite number"),
        ({"worker_id": "w1"}, "a second rating of this text by 'w1'"),
        ({"worker_id": ""}, "field 'rater' (column 'worker_id'): got nothing"),
    ],
)
def test_a_faulty_rating_is_a_fault_in_its_own_row_and_can_be_skipped(
    changed: dict[str, Any], said: str, tmp_path: Path
) -> None:
    rows = ratings()
    rows[1] |= changed
    write_rows(rows, tmp_path / "t.csv")
    examples, (fault,) = split(read(tmp_path / "t.csv", mapping=MAPPING))
    assert said in str(fault)
    assert fault.line == 3
    assert named_annotations(examples[0], "tone") == {"w1": 1}
    skipped = read(tmp_path / "t.csv", mapping=MAPPING, skip_faulty=True)
    assert (len(list(skipped)), skipped.skipped) == (12, 1)


def test_an_aspect_that_nobody_rated_is_refused_with_those_that_somebody_did() -> None:
    with pytest.raises(DataError, match=r"no rating is of a mapped aspect, but of 'Tone' \(24\), 'brevity' \(24\)"):
        from_rows(ratings(), mapping="output=text,scores.clarity=rating")


def test_answers_that_a_text_cannot_be_assessed_are_counted_once() -> None:
    rows = ratings()
    rows[0]["rating"] = "cannot assess"
    read_rows = from_rows(rows, mapping=MAPPING)
    examples, faults = split(read_rows)
    assert not faults
    assert named_annotations(examples[0], "tone") == {"w2": 2}
    assert sum(read_rows.not_assessed.values()) == 1

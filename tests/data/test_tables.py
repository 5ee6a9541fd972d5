"""Tables that are written: nothing is lost, and nothing in them is executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.data.readers import read
from rubriclab.data.write import write_rows
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.text import Example

NAMES = ("t.csv", "t.tsv", "t.csv.gz", "t.xlsx", "t.parquet", "t.jsonl")
# Characters that XML and Excel hold as they are.
CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Co", "Cn"], exclude_characters="_")
TEXTS = st.text(CHARACTERS, min_size=1, max_size=10) | st.sampled_from(
    ["=1+1", "+49 30", "-5 degrees", "@name", "'=x", "''-x", "- a list\n- of items", "-5", "1e5", "007"]
)


@settings(deadline=None, max_examples=40)
@given(st.lists(TEXTS.filter(lambda text: bool(text.strip())), min_size=1, max_size=4), st.sampled_from(NAMES))
def test_texts_ids_and_scores_read_back_from_every_format(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], name: str
) -> None:
    path = tmp_path_factory.mktemp("t") / name
    rows = [
        {"id": f"n{number}", "output": f"{text} x", "source": text, "scores": {"x": number / 4}, "group": "g"}
        for number, text in enumerate(texts)
    ]
    write_rows(rows, path)
    found = list(read(path))
    assert [row.output for row in found if isinstance(row, Example)] == [row["output"] for row in rows]
    assert [row.scores for row in found if isinstance(row, Example)] == [row["scores"] for row in rows]


def test_columns_of_all_rows_are_there_nested_values_as_columns_and_lists_as_json(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": {"c": "x", "d": [1, 2]}}, {"e": True, "a": 2.5}, {"a": None}]
    write_rows(rows, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text("utf-8") == 'a,b.c,b.d,e\n1,x,"[1,2]",\n2.5,,,True\n,,,\n'
    write_rows(rows, tmp_path / "t.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    assert [str(kind) for kind in table.schema.types] == ["double", "string", "string", "bool"]


def test_formats_and_places_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"ending \.xls says no format"):
        write_rows([{"output": "x"}], tmp_path / "t.xls")
    with pytest.raises(DataError, match="cannot be written"):
        write_rows([{"output": "x"}], tmp_path / "none" / "t.csv")

"""Reading public sets: what each becomes, unchanged by the native form, and errors for wrong files."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from published_files import FILES

from experiments.datasets import native_row, read_published
from rubriclab.data.readers import read
from rubriclab.errors import DataError
from rubriclab.models.text import find_aspect, parse_scale

SETS = tomllib.loads((Path(__file__).parents[2] / "experiments" / "sets.toml").read_text("utf-8"))


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / FILES[name][0]
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FILES)
def test_every_set_becomes_what_papers_report_on(tmp_path: Path, name: str, snapshot) -> None:
    examples = read_published(name, written(tmp_path, name, FILES[name][1]()))
    rows = "\n".join(json.dumps(native_row(example)) for example in examples)
    assert rows == snapshot
    (tmp_path / "rows.jsonl").write_text(rows)
    assert tuple(read(tmp_path / "rows.jsonl")) == examples


@pytest.mark.parametrize("name", SETS)
def test_registered_sets_have_readers_definitions_and_scales_that_hold_their_scores(tmp_path: Path, name: str) -> None:
    about = SETS[name]
    examples = read_published(about["published"], written(tmp_path, about["published"], FILES[about["published"]][1]()))
    scales = {aspect: parse_scale(scale) for aspect, scale in about["aspects"].items()}
    assert all(find_aspect(about["task"], aspect).definition for aspect in scales)
    for example in examples:
        assert set(example.scores) == set(scales)
        assert all(scales[aspect].contains(score) for aspect, score in example.scores.items())


@pytest.mark.parametrize("name", FILES)
def test_what_is_no_such_file_at_all_and_the_file_of_another_set_are_refused(tmp_path: Path, name: str) -> None:
    others = (make() for other, (_, make) in FILES.items() if other.partition("_")[0] != name.partition("_")[0])
    for content in ("", "\n", "[]", "{}", "{", "\x00", "a,b\n1,2\n", '[{"a": 1}]', "null", *others):
        with pytest.raises(DataError) as caught:
            read_published(name, written(tmp_path, name, content))
        assert f"{name} is read from" in str(caught.value.hint)

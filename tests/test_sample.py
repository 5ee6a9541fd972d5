"""The shipped sample: rebuilt identically, labelled by its table, and not to be guessed from length."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

FOLDER = Path(__file__).resolve().parents[1] / "experiments" / "sample"
PARTS = {"labelled.jsonl": (6, 36), "heldout.jsonl": (12, 72)}


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_sample", FOLDER / "make_sample.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sources(maker: ModuleType) -> dict[str, Any]:
    raw = json.loads((FOLDER / "sources.json").read_text(encoding="utf-8"))
    return {entry["id"]: maker.Source.model_validate(entry) for entry in raw}


def read(part: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / part).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def texts() -> list[dict[str, Any]]:
    return [row for part in PARTS for row in read(part)]


def test_the_committed_files_are_what_the_maker_builds(maker: ModuleType) -> None:
    for name, content in maker.build().items():
        assert (FOLDER / name).read_bytes() == content.encode(), f"run {FOLDER / 'make_sample.py'}"


def test_no_source_is_in_both_parts() -> None:
    labelled, heldout = ({row["group"] for row in read(part)} for part in PARTS)
    assert not labelled & heldout


def readme_table() -> dict[tuple[str, str], tuple[int, ...]]:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (\w+) \| (mild|severe) \| (\d) \| (\d) \| (\d) \| (\d) \|$", readme, re.MULTILINE)
    return {(damage, severity): tuple(map(int, penalties)) for damage, severity, *penalties in cells}


def test_the_readme_shows_the_table_that_is_used(maker: ModuleType) -> None:
    assert readme_table() == maker.PENALTIES


def test_every_label_follows_from_the_documented_table(texts: list[dict[str, Any]]) -> None:
    table = readme_table()
    for row in texts:
        damages = [] if row["system"] == "none" else row["system"].split("+")
        taken = np.zeros(4, dtype=int)
        for damage in damages:
            name, severity = damage.split("-")
            taken += table[name, severity]
        assert list(row["scores"].values()) == [max(1, 5 - loss) for loss in taken], row["id"]
        assert list(row["scores"]) == ["coherence", "consistency", "fluency", "relevance"]


def length_correlation(part: str, aspect: str) -> float:
    rows = read(part)
    found = []
    for group in sorted({row["group"] for row in rows}):
        rivals = [row for row in rows if row["group"] == group]
        lengths = [len(row["output"].split()) for row in rivals]
        found.append(spearmanr(lengths, [row["scores"][aspect] for row in rivals]).statistic)
    return float(np.mean(found))


@pytest.mark.parametrize("part", PARTS)
def test_length_hardly_tells_the_labels_and_the_readme_says_how_much(part: str) -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    said = re.search(rf"^\| `{re.escape(part)}` ((?:\| -?0\.\d\d )+)\|$", readme, re.MULTILINE)
    assert said is not None
    measured = [length_correlation(part, aspect) for aspect in read(part)[0]["scores"]]
    assert [float(cell) for cell in said[1].split("|")[1:]] == pytest.approx(measured, abs=0.0051)
    assert max(map(abs, measured)) < 0.3


def test_swapped_facts_are_false_and_numbers_in_good_summaries_are_true(sources: dict[str, Any]) -> None:
    for source in sources.values():
        summary = " ".join(source.summary)
        for old, new in source.swaps:
            assert summary.count(old) == 1, (source.id, old)
            assert summary.replace(old, new) not in source.source
        true_texts = (*source.summary, *source.side_details, source.vague_opening)
        numbers = set(re.findall(r"\d[\d.,]*\d|\d", " ".join(true_texts)))
        assert numbers <= set(re.findall(r"\d[\d.,]*\d|\d", source.source)), source.id

"""The shipped sample: rebuilt identically, labelled by its table, and not to be guessed from length."""

import importlib.util
import json
import re
import sys
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


def test_check_notices_a_file_that_is_out_of_date(
    maker: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "sources.json").write_bytes((FOLDER / "sources.json").read_bytes())
    monkeypatch.setattr(maker, "HERE", tmp_path)
    monkeypatch.setattr(sys, "argv", ["make_sample.py"])
    assert maker.main() == 0
    monkeypatch.setattr(sys, "argv", ["make_sample.py", "--check"])
    assert maker.main() == 0
    with (tmp_path / "heldout.jsonl").open("a") as file:
        file.write("\n")
    assert maker.main() == 1
    assert capsys.readouterr().err.startswith("heldout.jsonl is not up to date")


@pytest.mark.parametrize(("part", "size"), PARTS.items())
def test_each_part_has_its_sources_with_six_texts_each(part: str, size: tuple[int, int]) -> None:
    rows = read(part)
    groups = [row["group"] for row in rows]
    assert (len(set(groups)), len(rows)) == size
    assert all(groups.count(group) == 6 for group in groups)


def test_no_source_is_in_both_parts() -> None:
    labelled, heldout = ({row["group"] for row in read(part)} for part in PARTS)
    assert not labelled & heldout


def test_ids_and_texts_are_unique(texts: list[dict[str, Any]]) -> None:
    assert len({row["id"] for row in texts}) == len(texts)
    assert len({row["output"] for row in texts}) == len(texts)


def test_each_source_has_an_undamaged_a_mild_and_a_severe_summary(texts: list[dict[str, Any]]) -> None:
    for group in {row["group"] for row in texts}:
        systems = [row["system"] for row in texts if row["group"] == group]
        assert systems.count("none") == 1
        assert any("mild" in system for system in systems)
        assert any("severe" in system for system in systems)


def test_the_labelled_part_shows_every_damage_in_both_severities(maker: ModuleType) -> None:
    shown = {pair for row in read("labelled.jsonl") for pair in maker.parse_system(row["system"])}
    assert shown == set(maker.PENALTIES)


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


def test_every_aspect_varies_within_every_source(texts: list[dict[str, Any]]) -> None:
    for group in {row["group"] for row in texts}:
        rows = [row for row in texts if row["group"] == group]
        for aspect in rows[0]["scores"]:
            assert len({row["scores"][aspect] for row in rows}) > 1, (group, aspect)


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


def test_source_texts_are_short(sources: dict[str, Any]) -> None:
    assert len(sources) == 18
    for source in sources.values():
        assert 110 <= len(source.source.split()) <= 180, source.id


def test_swapped_facts_are_false_and_numbers_in_good_summaries_are_true(sources: dict[str, Any]) -> None:
    for source in sources.values():
        summary = " ".join(source.summary)
        for old, new in source.swaps:
            assert summary.count(old) == 1, (source.id, old)
            assert summary.replace(old, new) not in source.source
        true_texts = (*source.summary, *source.side_details, source.vague_opening)
        numbers = set(re.findall(r"\d[\d.,]*\d|\d", " ".join(true_texts)))
        assert numbers <= set(re.findall(r"\d[\d.,]*\d|\d", source.source)), source.id


def test_mild_and_severe_swaps_put_in_one_and_three_falsehoods(maker: ModuleType, sources: dict[str, Any]) -> None:
    for source in sources.values():
        mild, severe = (maker.damaged(source, f"swapped_facts-{how}") for how in ("mild", "severe"))
        assert [old in mild for old, _ in source.swaps] == [False, True, True], source.id
        assert not any(old in severe for old, _ in source.swaps), source.id
        assert all(new in severe for _, new in source.swaps), source.id


def test_shuffling_and_repeating_add_no_new_sentence(maker: ModuleType, sources: dict[str, Any]) -> None:
    for source in sources.values():
        for severe in (False, True):
            shuffled = maker.shuffle(source, source.summary, severe)
            assert sorted(shuffled) == sorted(source.summary)
            assert shuffled != source.summary
            repeated = maker.repeat(source, source.summary, severe)
            assert set(repeated) <= set(source.summary)
            assert len(set(repeated)) < len(repeated)


def test_broken_grammar_keeps_names_and_numbers_in_order(maker: ModuleType, sources: dict[str, Any]) -> None:
    for source in sources.values():
        for severe in (False, True):
            broken = " ".join(maker.break_grammar(source, source.summary, severe))
            intact = " ".join(source.summary)
            assert broken != intact
            assert re.findall(r"\d+", broken) == re.findall(r"\d+", intact)


def test_a_swap_that_does_not_fit_its_summary_is_an_error(maker: ModuleType, sources: dict[str, Any]) -> None:
    source = next(iter(sources.values()))
    with pytest.raises(ValueError, match="must occur once, found 0 times"):
        maker.swap_facts(source, ("Nothing of it.",), severe=True)

"""Findings: what ships is sound, what users bring is checked, and errors name the file and the entry."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rubriclab.errors import LiteratureError
from rubriclab.methods.sources import (
    Finding,
    benchmark_name,
    load_findings,
    read_findings,
    write_findings,
)
from rubriclab.models.base import content_path

TASKS = ("summarization", "story", "dialogue")
CITATION = "Lin (2004), ROUGE: A Package"


def write(folder: Path, findings: Any) -> Path:
    text = findings if isinstance(findings, str) else json.dumps(findings)
    (folder / "poem.json").write_text(text, encoding="utf-8")
    return folder / "poem.json"


def finding(**changes: Any) -> dict[str, Any]:
    return {"id": "p-1", "aspects": ["rhythm"], "claim": "Readers count.", "citation": CITATION, **changes}


# What ships


@pytest.mark.parametrize("task", TASKS)
def test_each_task_ships_ten_findings_or_more_of_one_to_three_sentences(task: str) -> None:
    findings = load_findings(task)
    assert len(findings) >= 10
    for shipped in findings:
        assert 1 <= len(re.findall(r"[.?!](?:\s|$)", shipped.claim)) <= 3, shipped.id
        assert re.fullmatch(r".+ \(\d{4}\), .+, .+", shipped.citation), shipped.id


@pytest.mark.parametrize("task", TASKS)
def test_every_shipped_aspect_has_findings_and_every_named_aspect_ships(task: str) -> None:
    aspects = json.loads(content_path("stores", "aspects.json").read_text(encoding="utf-8"))[task]["aspects"]
    named = {aspect for shipped in load_findings(task) for aspect in shipped.aspects}
    assert named == set(aspects)
    assert all(load_findings(task, aspect) for aspect in aspects)


def test_ids_are_unique_over_all_tasks() -> None:
    findings = [shipped for task in TASKS for shipped in load_findings(task)]
    assert len({shipped.id for shipped in findings}) == len(findings)


def test_the_readme_counts_what_ships() -> None:
    readme = content_path("literature", "README.md").read_text(encoding="utf-8")
    for task in TASKS:
        row = re.search(rf"\| `{task}\.json` \|.*\| (\d+) \|", readme)
        assert row is not None
        assert int(row[1]) == len(load_findings(task))


def test_a_task_without_shipped_findings_has_none() -> None:
    assert load_findings("poem") == ()
    assert load_findings("poem", "rhythm") == ()


# A user's own


def test_a_file_and_its_folder_give_the_same_findings(tmp_path: Path) -> None:
    file = write(tmp_path, [finding()])
    expected = Finding(**finding())
    assert load_findings("poem", path=file) == load_findings("poem", path=tmp_path) == (expected,)


def test_an_aspect_selects_its_own_findings_and_the_general_ones_in_order(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        [finding(), finding(id="p-2", aspects=["rhyme"]), finding(id="p-3", aspects=[])],
    )
    assert [f.id for f in load_findings("poem", "rhythm", file)] == ["p-1", "p-3"]
    assert [f.id for f in load_findings("poem", "other", file)] == ["p-3"]
    assert [f.id for f in load_findings("poem", None, file)] == ["p-1", "p-2", "p-3"]


@pytest.mark.parametrize(
    ("findings", "message"),
    [
        ("{", r"poem\.json cannot be read: it is not JSON"),
        ([finding(), finding()], r"poem\.json: the id 'p-1' is given twice"),
        ([finding(weight=2)], r"entry 1: weight: unknown name, got 2"),
        ([finding(), {"id": "p-2", "claim": "x", "citation": "y"}], r"entry 2: aspects"),
    ],
)
def test_a_faulty_finding_is_named_by_file_and_entry(tmp_path: Path, findings: Any, message: str) -> None:
    file = write(tmp_path, findings)
    with pytest.raises(LiteratureError, match=message):
        load_findings("poem", path=file)


def test_a_path_of_the_users_own_must_hold_the_task(tmp_path: Path) -> None:
    write(tmp_path, [finding()])
    with pytest.raises(LiteratureError, match=r"findings file .*story\.json cannot be read: No such file"):
        load_findings("story", path=tmp_path)


def test_findings_about_a_benchmark_s_raters_are_marked_and_can_be_left_out() -> None:
    marked = {
        finding.citation[: finding.citation.index(")") + 1]: finding.benchmarks
        for task in TASKS
        for finding in load_findings(task)
        if finding.benchmarks
    }
    assert marked == {
        "Fabbri et al. (2021)": ("summeval",),
        "Grusky et al. (2018)": ("newsroom",),
        "Wang et al. (2020)": ("qags_cnndm", "qags_xsum"),
        "Chhun et al. (2022)": ("hanna",),
        "Chiang and Lee (2023)": ("writingprompts_a",),
        "Mehri and Eskenazi (2020)": ("topical_chat",),
    }
    left = load_findings("summarization", without=["summeval", "qags_xsum"])
    gone = {*load_findings("summarization")} - {*left}
    assert {name for finding in gone for name in finding.benchmarks} == {"summeval", "qags_cnndm", "qags_xsum"}


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("SummEval", "summeval"),
        ("the SummEval data set (Fabbri et al., 2021)", "summeval"),
        ("Topical-Chat [3, 4]", "topical_chat"),
        ("My Set", "my_set"),
    ],
)
def test_a_data_set_is_recognised_in_any_spelling_and_with_a_citation(written: str, name: str) -> None:
    assert benchmark_name(written, ["summeval", "topical_chat"]) == name


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    quoted = finding(id="p-2", benchmarks=["hanna"], quotation="Readers count “syllables”.", page=3, file="lin.pdf")
    findings = (Finding(**finding()), Finding(**quoted))
    write_findings(tmp_path / "new" / "poem.json", findings)
    assert read_findings(tmp_path / "new" / "poem.json") == findings
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["poem.json"]

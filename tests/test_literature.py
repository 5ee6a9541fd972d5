"""Findings: what ships is sound, what users bring is checked, and errors name the file and the entry."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.errors import LiteratureError
from rubriclab.literature import REFERENCES, Finding, load_findings, load_references
from rubriclab.shipped_files import content_path

TASKS = ("summarization", "story", "dialogue")
BIB = """% a comment
@article{lin2004rouge,
  author = {Lin, Chin-Yew},
  title = {ROUGE: A Package},
  year = {2004},
  journal = {Somewhere},
}
"""


def write(folder: Path, findings: Any, bib: str = BIB, name: str = "poem.json") -> Path:
    (folder / name).write_text(findings if isinstance(findings, str) else json.dumps(findings), encoding="utf-8")
    (folder / REFERENCES).write_text(bib, encoding="utf-8")
    return folder / name


def finding(**changes: Any) -> dict[str, Any]:
    return {"id": "p-1", "aspects": ["rhythm"], "claim": "Readers count.", "source": "lin2004rouge", **changes}


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


def test_ids_are_unique_over_all_tasks_and_every_reference_is_used() -> None:
    findings = [shipped for task in TASKS for shipped in load_findings(task)]
    assert len({shipped.id for shipped in findings}) == len(findings)
    references = load_references(content_path("literature", REFERENCES))
    assert {shipped.source for shipped in findings} == set(references)


def test_the_readme_counts_what_ships() -> None:
    readme = content_path("literature", "README.md").read_text(encoding="utf-8")
    for task in TASKS:
        row = re.search(rf"\| `{task}\.json` \|.*\| (\d+) \|", readme)
        assert row is not None
        assert int(row[1]) == len(load_findings(task))


def test_a_citation_names_authors_year_title_and_venue() -> None:
    cited = {shipped.source: shipped.citation for task in TASKS for shipped in load_findings(task)}
    assert cited["fabbri2021summeval"] == (
        "Fabbri et al. (2021), SummEval: Re-evaluating Summarization Evaluation, TACL"
    )
    assert cited["mehri2020usr"].startswith("Mehri and Eskenazi (2020), USR")
    assert cited["lin2004rouge"].startswith("Lin (2004), ROUGE")


def test_a_task_without_shipped_findings_has_none() -> None:
    assert load_findings("poem") == ()
    assert load_findings("poem", "rhythm") == ()


# A user's own


def test_a_file_and_its_folder_give_the_same_findings(tmp_path: Path) -> None:
    file = write(tmp_path, [finding()])
    expected = Finding(
        **finding(),
        citation="Lin (2004), ROUGE: A Package, Somewhere",
    )
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
        ("{", r"poem\.json cannot be used: it is not JSON"),
        ({"findings": []}, r"poem\.json: expected a JSON list of findings, found an object"),
        (["text"], r"poem\.json, entry 1: expected an object, found a text"),
        ([7], "entry 1: expected an object, found a number"),
        ([finding(), finding()], r"poem\.json: the id 'p-1' is given twice"),
        ([finding(claim="  ")], r"entry 1 \('p-1'\): claim: expected a non-empty text"),
        ([finding(source="lin2005")], r"entry 1 \('p-1'\): the source 'lin2005' is not in .*references\.bib"),
        ([finding(aspects="rhythm")], r"entry 1 \('p-1'\): aspects: expected a list, got the text 'rhythm'"),
        ([finding(weight=2)], r"entry 1 \('p-1'\): weight: unknown name, got 2"),
        ([finding(citation="Lin")], "citation: unknown name, got the text 'Lin'"),
        ([finding(), {"id": "p-2", "claim": "x", "source": "lin2004rouge"}], r"entry 2 \('p-2'\): aspects"),
        ([{"aspects": [], "claim": "x", "source": "lin2004rouge"}], "entry 1: id: missing"),
    ],
)
def test_a_faulty_finding_is_named_by_file_and_entry(tmp_path: Path, findings: Any, message: str) -> None:
    file = write(tmp_path, findings)
    with pytest.raises(LiteratureError, match=message):
        load_findings("poem", path=file)


def test_a_path_of_the_users_own_must_hold_the_task(tmp_path: Path) -> None:
    write(tmp_path, [finding()])
    with pytest.raises(LiteratureError, match=r"There is no findings file .*story\.json"):
        load_findings("story", path=tmp_path)


def test_missing_references_are_reported(tmp_path: Path) -> None:
    file = write(tmp_path, [finding()])
    (tmp_path / REFERENCES).unlink()
    with pytest.raises(LiteratureError, match=r"references\.bib cannot be read"):
        load_findings("poem", path=file)


def test_a_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    file = write(tmp_path, [finding()])
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(LiteratureError, match="it is not UTF-8 text"):
        load_findings("poem", path=file)


# The bibliography's subset of BibTeX


def entry(fields: str, key: str = "k") -> str:
    return f"@misc{{{key}, {fields}}}\n"


GOOD = "author = {A, B and C, D}, title = {T}, year = {1999}, publisher = {P}"


@pytest.mark.parametrize(
    ("bib", "message"),
    [
        (entry(GOOD) + entry(GOOD), "the key 'k' is given twice"),
        ('@misc{k, title = "T"}', r"line 1: entry 'k': expected a field = \{value\}"),
        ("@misc{k, title = {The {T}}}", "line 1: entry 'k': expected a field"),
        ("@misc{k, year = 1999}", r"found 'year = 1999\}'"),
        ("@misc{k, title = {T}", r"expected a field = \{value\}, or \}; found 'the end of the file'"),
        ("@misc{k, title = {T} year = {1999}}", "expected a field"),
        ("\n\nnonsense", "line 3: expected an entry such as"),
        ("@misc{k}", "line 1: expected an entry such as"),
        (entry(GOOD + ", title = {U}"), "'k' gives 'title' twice"),
        (entry("author = {A}, title = {T}, year = {1999}"), "entry 'k': venue: expected a non-empty text"),
        (entry("title = {T}, year = {1999}, journal = {J}"), "entry 'k': authors: expected a list of at least 1"),
        (
            entry("author = {A}, title = {T}, year = {in press}, journal = {J}"),
            "entry 'k': year: expected a whole number",
        ),
        (entry(GOOD.replace("1999", "0")), "entry 'k': year: expected a number of at least 1000"),
        (entry(GOOD.replace("1999", "19999")), "entry 'k': year: expected a number of at most 9999"),
    ],
)
def test_a_bibliography_outside_the_subset_is_refused_by_name(tmp_path: Path, bib: str, message: str) -> None:
    file = tmp_path / REFERENCES
    file.write_text(bib, encoding="utf-8")
    with pytest.raises(LiteratureError, match=message):
        load_references(file)


def test_comments_blank_lines_and_a_last_comma_are_allowed(tmp_path: Path) -> None:
    file = tmp_path / REFERENCES
    file.write_text(f"% one\n\n{BIB}\n  % two\n{entry(GOOD)}", encoding="utf-8")
    references = load_references(file)
    assert list(references) == ["lin2004rouge", "k"]
    assert references["k"].citation == "A and C (1999), T, P"


plain = st.text("abcdefgh XYZäß,.:'-&%@=", min_size=1).map(lambda t: " ".join(t.split())).filter(bool)


@settings(max_examples=60, deadline=None)
@given(
    books=st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9:_-]{0,8}", fullmatch=True),
        st.tuples(plain, st.integers(1000, 2999), plain),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_written_flat_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, books: dict[str, tuple[str, int, str]]
) -> None:
    file = tmp_path_factory.mktemp("bib") / REFERENCES
    text = "\n".join(
        entry(f"author = {{Lin, C}},\n title = {{{title}}},\n year={{{year}}}, journal = {{{venue}}}", key)
        for key, (title, year, venue) in books.items()
    )
    file.write_text(text, encoding="utf-8")
    read = {key: (r.title, r.year, r.venue) for key, r in load_references(file).items()}
    assert read == books


def test_findings_about_a_benchmark_s_raters_are_marked_and_can_be_left_out() -> None:
    marked = {
        finding.source: finding.benchmarks for task in TASKS for finding in load_findings(task) if finding.benchmarks
    }
    assert marked == {
        "fabbri2021summeval": ("summeval",),
        "grusky2018newsroom": ("newsroom",),
        "wang2020qags": ("qags_cnndm", "qags_xsum"),
        "chhun2022hanna": ("hanna",),
        "chiang2023alternative": ("writingprompts_a",),
        "mehri2020usr": ("topical_chat",),
    }
    left = load_findings("summarization", without=["summeval", "qags_xsum"])
    assert {finding.source for finding in load_findings("summarization")} - {finding.source for finding in left} == {
        "fabbri2021summeval",
        "wang2020qags",
    }

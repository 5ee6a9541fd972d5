"""Checklists: what ships is sound, what users bring is checked, and errors name the file and the field."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from rubriclab.errors import ChecklistError, LiteratureError
from rubriclab.methods import sources
from rubriclab.models.base import content_path
from rubriclab.ops.check import lint

ASPECTS = json.loads(content_path("stores", "aspects.json").read_text("utf-8"))
DEFINED = [(task, aspect) for task in ASPECTS for aspect in ASPECTS[task]["aspects"]]
# Equivalence is judged beside a reference, which no method that asks about whole texts is shown.
SHIPPED = [each for each in DEFINED if each != ("paraphrase", "equivalence")]
FOLDERS: tuple[sources.Folder, ...] = ("checklists", "units", "comparisons")
EVERY = [(folder, task, aspect) for folder in FOLDERS for task, aspect in sources.shipped_checklists(folder)]

# SEAL's table 2: how many sub-dimensions its paper names for each aspect, and what a unit is judged beside.
UNITS = {
    ("summarization", "coherence"): (1, "sentence pair", ()),
    ("summarization", "fluency"): (1, "sentence", ()),
    ("summarization", "consistency"): (1, "fact", ("source",)),
    ("summarization", "relevance"): (1, "fact", ("reference", "source")),
    ("dialogue", "naturalness"): (5, "response", ("source", "context")),
    ("dialogue", "coherence"): (6, "response", ("source", "context")),
    ("dialogue", "engagingness"): (5, "response", ("source", "context")),
    ("dialogue", "groundedness"): (5, "response", ("source", "context")),
    ("factuality", "consistency"): (5, "triple", ("source", "reference")),
}


def question(**changes: Any) -> dict[str, Any]:
    return {"id": "name", "text": "Is the reader addressed by name?", **changes}


def sub_dimension(**changes: Any) -> dict[str, Any]:
    return {"name": "address", "definition": "The reader is a person.", "questions": [question()], **changes}


def checklist(**changes: Any) -> dict[str, Any]:
    return {
        "format": "rubriclab-checklist/1",
        "task": "email",
        "aspect": "politeness",
        "definition": "How considerate it is.",
        "sub_dimensions": [sub_dimension()],
        **changes,
    }


def supported(units: Any, **changes: Any) -> dict[str, Any]:
    """Return a checklist with a question that asks for support by the source."""
    return checklist(units=units, sub_dimensions=[sub_dimension(questions=[question(support="source", **changes)])])


def write(folder: Path, content: Any) -> Path:
    file = folder / "own.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return file


def test_every_aspect_that_can_be_told_without_a_reference_has_a_checklist_and_the_others_a_comparison() -> None:
    assert sources.shipped_checklists() == tuple(sorted(SHIPPED))
    assert set(DEFINED) - set(SHIPPED) <= set(sources.shipped_checklists("comparisons"))


@pytest.mark.parametrize(("folder", "task", "aspect"), EVERY)
def test_a_shipped_checklist_defines_its_aspect_as_the_aspect_is_defined_without_duplicates(
    folder: sources.Folder, task: str, aspect: str
) -> None:
    shipped = sources.load_checklist(task, aspect, folder=folder)
    assert shipped.definition == ASPECTS[task]["aspects"][aspect]
    assert lint(shipped).duplicates == ()


def test_unit_packs_take_texts_apart_as_the_paper_does() -> None:
    assert sources.shipped_checklists("units") == tuple(sorted(UNITS))
    for (task, aspect), (dimensions, kind, beside) in UNITS.items():
        pack = sources.load_checklist(task, aspect, folder="units")
        assert pack.units
        assert (len(pack.sub_dimensions), pack.units.kind, pack.units.beside) == (dimensions, kind, beside)
        assert pack.units.weights == ("equal" if task == "summarization" else "judge")
        assert [one.support for one in pack.questions if one.support] == (["source"] if beside == ("source",) else [])


def test_questions_without_ids_are_numbered_past_those_that_are_given() -> None:
    first = sub_dimension(questions=[{"text": "A?"}, question(id="s01"), {"text": "B?"}])
    second = sub_dimension(name="tone", questions=[{"text": "C?"}])
    read = sources.parse_checklist(json.dumps(checklist(sub_dimensions=[first, second])).encode(), "own")
    assert [one.id for one in read.questions] == ["s02", "s01", "s03", "s04"]


def test_a_checklist_for_something_else_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, checklist())
    with pytest.raises(ChecklistError, match="is for email/politeness, not for email/clarity"):
        sources.load_checklist("email", "clarity", file)
    with pytest.raises(ChecklistError, match="is for email/politeness, not for letter/politeness"):
        sources.load_checklist("letter", "politeness", file)


def test_questions_about_units_are_not_asked_of_whole_texts(tmp_path: Path) -> None:
    file = write(tmp_path, checklist(units={"kind": "sentence pair"}))
    assert sources.load_checklist("email", "politeness", file, "units").units
    with pytest.raises(
        ChecklistError, match=r"own\.json asks about each sentence pair, not about whole texts.*seal or dcr"
    ):
        sources.load_checklist("email", "politeness", file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"own\.json is no checklist: it is not JSON: .*A checklist is one JSON object"),
        (
            checklist(format="rubriclab-checklist/2"),
            "format: expected 'rubriclab-checklist/1', got the text 'rubriclab-ch",
        ),
        ({"format": "rubriclab-checklist/1"}, "task: missing; aspect: missing; .*A checklist is {"),
        (
            checklist(sub_dimensions=[sub_dimension(questions=[])]),
            r"sub_dimensions\[0\]\.questions: expected a list of at least 1",
        ),
        (
            checklist(sub_dimensions=[sub_dimension(questions=[question(), question(id="b", better="maybe")])]),
            r"sub_dimensions\[0\]\.questions\[1\]\.better: expected 'yes' or 'no', got the text 'maybe'",
        ),
        (
            checklist(sub_dimensions=[sub_dimension(questions=[question(id="No Spaces")])]),
            r"questions\[0\]\.id: expected a text of the form .*, got the text 'No Spaces'",
        ),
        (checklist(sub_dimensions=[sub_dimension(), sub_dimension(name="b")]), "the question id 'name' is given twice"),
        (
            checklist(sub_dimensions=[sub_dimension(), sub_dimension(questions=[question(id="b")])]),
            "the sub-dimension 'address' is given twice",
        ),
        (checklist(units={"kind": "fact", "beside": ["source", "source"]}), r"units\.beside names the source twice"),
        (supported({"kind": "sentence", "beside": ["source"]}), "asks for support, which only facts have"),
        (supported({"kind": "fact", "beside": ["context"]}), 'support by the source: name "source" in "beside" too'),
        (supported({"kind": "fact", "beside": ["source"]}, better="no"), '"better" can only be "yes"'),
    ],
)
def test_a_faulty_file_is_refused_with_the_path_to_its_fault(tmp_path: Path, content: Any, message: str) -> None:
    file = write(tmp_path, content)
    with pytest.raises(ChecklistError, match=message) as raised:
        sources.read_checklist(file)
    assert str(raised.value).startswith(str(file))


TASKS = ("summarization", "story", "dialogue")
CITATION = "Lin (2004), ROUGE: A Package"


def write_literature(folder: Path, findings: Any) -> Path:
    text = findings if isinstance(findings, str) else json.dumps(findings)
    (folder / "poem.json").write_text(text, encoding="utf-8")
    return folder / "poem.json"


def finding(**changes: Any) -> dict[str, Any]:
    return {"id": "p-1", "aspects": ["rhythm"], "claim": "Readers count.", "citation": CITATION, **changes}


def test_shipped_findings_are_cited_short_and_counted_in_the_readme() -> None:
    readme = content_path("literature", "README.md").read_text(encoding="utf-8")
    every = {task: sources.load_findings(task) for task in TASKS}
    for task, findings in every.items():
        assert re.search(rf"\| `{task}\.json` \|.*\| {len(findings)} \|", readme)
    ids = [shipped.id for findings in every.values() for shipped in findings]
    assert len(set(ids)) == len(ids)
    for shipped in itertools.chain.from_iterable(every.values()):
        assert 1 <= len(re.findall(r"[.?!](?:\s|$)", shipped.claim)) <= 3, shipped.id
        assert re.fullmatch(r".+ \(\d{4}\), .+, .+", shipped.citation), shipped.id


def test_an_aspect_selects_its_own_findings_and_the_general_ones_in_order(tmp_path: Path) -> None:
    file = write_literature(tmp_path, [finding(), finding(id="p-2", aspects=["rhyme"]), finding(id="p-3", aspects=[])])
    assert [f.id for f in sources.load_findings("poem", "rhythm", file)] == ["p-1", "p-3"]
    assert [f.id for f in sources.load_findings("poem", "other", file)] == ["p-3"]
    assert [f.id for f in sources.load_findings("poem", None, file)] == ["p-1", "p-2", "p-3"]


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
    file = write_literature(tmp_path, findings)
    with pytest.raises(LiteratureError, match=message):
        sources.load_findings("poem", path=file)


def test_findings_about_a_benchmark_s_raters_can_be_left_out() -> None:
    left = sources.load_findings("summarization", excluded=["summeval", "qags_xsum"])
    gone = {*sources.load_findings("summarization")} - {*left}
    assert {name for finding in gone for name in finding.benchmarks} == {"summeval", "qags_cnndm", "qags_xsum"}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    quoted = finding(id="p-2", benchmarks=["hanna"], quotation="Readers count “syllables”.", page=3, file="lin.pdf")
    findings = (sources.Finding(**finding()), sources.Finding(**quoted))
    with sources.changing_findings(tmp_path / "new" / "poem.json") as entries:
        entries |= {each.id: each for each in findings}
    assert sources.read_findings(tmp_path / "new" / "poem.json") == findings
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["poem.json"]

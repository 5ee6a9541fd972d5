"""Packs: a version as a file, and everything that is refused of one."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import os
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from commands import HELDOUT, LABELLED
from hypothesis import HealthCheck, given, settings, strategies as st
from store_samples import EFFORT, criterion, evaluation, numbered, provenance, rubric, version_of

from rubriclab.cli.main import run
from rubriclab.data.readers import read
from rubriclab.errors import NotInStore, PackError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.learning.scoring import Score, score_text
from rubriclab.models.base import digest
from rubriclab.models.rubric import CitedReason, DroppedCriterion, Evidence, Part
from rubriclab.models.text import Example
from rubriclab.models.version import EditOrigin, Effort, Version
from rubriclab.report.render import view
from rubriclab.report.results import difference_view, names_view
from rubriclab.report.rubrics import evidence_view
from rubriclab.store.diff import compare
from rubriclab.store.packs import format_pack, named_people, read_pack, without_named_people
from rubriclab.store.store import Store, open_store

VERSION = replace(version_of(rubric(), provenance()), evaluation=evaluation(file="by-anna.csv"))
TEXT = format_pack(VERSION)
GONE = object()
CRITERION = "rubric.parts.0.criteria.0"


def changed(path: str, value: Any = GONE, text: str = TEXT) -> str:
    """Return a pack with one thing changed or taken away."""
    raw = place = json.loads(text)
    *way, last = path.split(".")
    for key in way:
        place = place[int(key) if isinstance(place, list) else key]
    if value is GONE:
        del place[last]
    else:
        place[last] = value
    return json.dumps(raw)


def test_a_pack_holds_what_the_version_holds_with_sorted_keys() -> None:
    pack = read_pack(TEXT, "pack.json")
    for field in ("name", "number", "digest", "rubric", "provenance", "provenance_digest", "effort", "evaluation"):
        assert getattr(pack, field) == getattr(VERSION, field)
    assert (pack.parent, pack.created) == (VERSION.parent, VERSION.created)
    assert json.loads(TEXT)["format"] == "rubriclab-pack/1"
    assert json.dumps(json.loads(TEXT), indent=2, sort_keys=True, ensure_ascii=False) + "\n" == TEXT


@pytest.mark.parametrize("path", ["number", "effort.calls", "rubric.scale.low", f"{CRITERION}.levels.0.score"])
def test_true_is_no_number_anywhere_in_a_pack(path: str) -> None:
    text = format_pack(replace(VERSION, number=1, effort=Effort(calls=1)))
    assert json.loads(changed(path, 1, text)) == json.loads(text)
    with pytest.raises(PackError, match=rf"^mine: {path}: not as rubriclab writes it"):
        read_pack(changed(path, True, text), "mine")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format", "rubriclab-pack/2", "format: expected 'rubriclab-pack/1', got the text 'rubriclab-pack/2'"),
        ("format", GONE, "format: expected 'rubriclab-pack/1', got null"),
        ("digest", None, "digest: expected a text, got null"),
        ("provenance_digest", GONE, "provenance_digest: missing"),
        ("rubric", GONE, "rubric: missing"),
        ("script", "import os", "script: unknown name, got the text 'import os'"),
        ("name", "../news", "name: '../news' cannot be the name"),
        *(("created", time, "created: ") for time in ("yesterday", 1e300, "2026-01-01T00:00:00+99999999:00")),
        ("created", "0001-01-01T00:00:00+23:59", "created: the time in UTC is before the year 1"),
        ("created", "9999-12-31T23:59:59-00:01", "created: the time in UTC is before the year 1 or after the year 9"),
        ("rubric.format", 2, "rubric.format: "),
        (f"{CRITERION}.weight", "heavy", "rubric.parts[0].criteria[0].weight: expected a number, got the text 'heavy'"),
        (f"{CRITERION}.weight", 2, "digest: the rubric was changed"),
        *((f"evaluation{at}", it, "evaluation_digest: the evaluation was ch") for at, it in ((".n", 9), ("", GONE))),
        ("provenance.seed", 7, "provenance_digest: the provenance was changed"),
        ("provenance.model_versions", GONE, "provenance.model_versions: not as rubriclab writes it"),
        ("provenance.seed", "42", "provenance.seed: not as rubriclab writes it"),
        ("number", -5, "number: expected a number of at least 1, got -5"),
        ("provenance.seed", -1, "provenance.seed: expected a number of at least 0, got -1"),
        ("provenance.agreement.n", -1, "provenance.agreement.n: expected a number of at least"),
        (f"{CRITERION}.evidence.missing", -1, "criteria[0].evidence.missing: expected a number of at least 0, got -1"),
    ],
)
def test_a_fault_is_named_with_file_and_field(path: str, value: Any, message: str) -> None:
    with pytest.raises(PackError) as caught:
        read_pack(changed(path, value), "packs/news.json")
    assert str(caught.value).startswith("packs/news.json: ")
    assert message in str(caught.value)


def test_methods_that_cannot_score_are_refused() -> None:
    raw, alone = json.loads(TEXT), "text features have no score of their own; expected an aggregation"
    for method, message in (("text_features", alone), *((name, rf"method: .*'{name}'") for name in ("odd", "joint"))):
        raw["rubric"]["parts"][0] |= {"method": method, "settings": {}}
        raw["digest"] = digest(raw["rubric"])
        with pytest.raises(PackError, match=message):
            read_pack(json.dumps(raw), "pack.json")


def test_two_criteria_of_one_id_are_refused() -> None:
    twice = rubric(criterion(id="h1"), criterion(id="h1", statement="It is short."))
    with pytest.raises(PackError, match="two criteria have the id the text 'h1'"):
        read_pack(format_pack(version_of(twice, provenance())), "pack.json")


def test_an_imported_pack_is_the_next_version_and_keeps_its_provenance(sqlite_store: Store) -> None:
    sqlite_store.save("news", numbered(5), provenance(seed=5), EFFORT)
    imported = sqlite_store.import_pack(read_pack(TEXT, "pack.json"))
    assert (imported.ref, imported.parent, imported.new) == ("news@2", "news@1", True)
    for field in ("digest", "provenance", "effort", "evaluation"):
        assert getattr(sqlite_store.load(imported.ref), field) == getattr(VERSION, field) == getattr(imported, field)
    again = sqlite_store.import_pack(read_pack(format_pack(replace(VERSION, evaluation=evaluation())), "pack.json"))
    assert (again.ref, again.new, again.evaluation) == ("news@2", False, VERSION.evaluation)
    assert sqlite_store.import_pack(read_pack(TEXT, "pack.json"), "copy").ref == "copy@1"
    assert sqlite_store.verify() == ()


def test_an_imported_version_keeps_its_number_where_that_is_free(sqlite_store: Store) -> None:
    pack = read_pack(format_pack(replace(VERSION, number=3)), "pack.json")
    imported = sqlite_store.import_pack(pack)
    assert (imported.ref, imported.parent) == ("news@3", None)
    assert sqlite_store.save("news", numbered(5), provenance(seed=5), EFFORT).ref == "news@4"
    assert sqlite_store.import_pack(pack).ref == "news@5"
    assert sqlite_store.import_pack(read_pack(format_pack(replace(VERSION, number=9)), "pack.json")).new is False
    with pytest.raises(NotInStore, match=r"has no version 2; the newest is news@5\."):
        sqlite_store.load("news@2")
    assert sqlite_store.verify() == ()


def test_an_anonymous_pack_names_neither_raters_nor_editors() -> None:
    cited = Evidence(origin="labels", reasons=(CitedReason(example="a", rater="Anna B."),))
    kept, gone = (criterion(id=name, statement=f"It is {name}.", evidence=cited) for name in ("h01", "h02"))
    dropped = DroppedCriterion(criterion=gone, reason="dropped by Carl: it repeats what CARL and Anna B. said")
    part = Part(method="hypoeval", settings={}, criteria=(kept,), dropped=(dropped,))
    edit = EditOrigin(author="Dora", because="dora, not Adora, and carl's words", changes=())
    named = replace(VERSION, rubric=rubric(parts=(part,)), provenance=provenance(edit=edit))
    assert named_people(named) == ["Anna B.", "Carl", "Dora"]
    anonymous = format_pack(without_named_people(named))
    assert not {"anna", "carl", "dora"} & set(re.findall(r"\w+", anonymous.lower()))
    assert json.loads(anonymous)["provenance"]["edit"]["because"] == "somebody, not Adora, and somebody's words"
    assert named_people(without_named_people(named)) == []
    for written in ("Äthel Strauß", "ATHEL-STRAUSS", "athel_strauss", "athelstrauss"):
        mild = edit.model_copy(update={"because": f"{written}: mild"})
        version = without_named_people(version_of(rubric(), provenance(edit=mild)), ["athel-strauss"])
        assert '"because": "somebody: mild"' in format_pack(version)
    assert read_pack(anonymous, "pack.json").rubric.criteria[0].statement == "It is h01."
    plain = rubric(criterion(statement="Al and Ann are named."))
    assert named_people(version_of(plain, provenance()), ["Al", "Ann"]) == ["Ann"]
    for known, written in (
        ("Bernd Maier", "as Frau Maier says"),
        ("cem-ozturk", "as Cem Oeztuerk says"),
        ("Cem Oeztuerk", "as Öztürk says"),
        ("Anna Schmidt", "as the schmidt says"),
        ("Jo R2 Schmidt", "as Frau Schmidt says"),
        ("Anna Li", "as Frau Li says"),
        ("Anna 007", "as number 007 says"),
    ):
        defined = plain.model_copy(update={"aspect": plain.aspect.model_copy(update={"definition": written})})
        version = version_of(defined, provenance())
        found = not any(word in written for word in ("schmidt", "Li", "007"))
        assert named_people(version, [known]) == ([known] if found else [])
        assert ("somebody" in without_named_people(version, [known]).rubric.aspect.definition) == found
        repeated = defined.criteria[0].model_copy(update={"statement": written})
        parts = (defined.parts[0].model_copy(update={"criteria": (repeated,)}),)
        version = version_of(plain.model_copy(update={"parts": parts}), provenance())
        assert named_people(version, [known]) == ([known] if found else [])
        assert without_named_people(version, [known]).rubric.criteria[0].statement == written
        version = version_of(defined.model_copy(update={"parts": parts}), provenance())
        assert ("somebody" in without_named_people(version, [known]).rubric.criteria[0].statement) == found


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"judge": ""}, "provenance.judge: expected the name of a judge, got an empty text."),
        ({"generator": "\u200b"}, "provenance.generator: expected the name of a judge, got only invisible characters."),
        ({"judge_address": "javascript:alert(1)"}, "provenance.judge_address: got 'javascript:alert(1)', expected one"),
        ({"judge_address": "http://u:hunter2@host/"}, "provenance.judge_address: the address has a user name, pass"),
        ({"generator_address": "http://host/ and at http://x"}, "provenance.generator_address: expected an address wi"),
        ({"judge_from": "theirs"}, "provenance.judge_from: expected NAME@NUMBER, got the text 'theirs'."),
    ],
)
def test_judges_and_addresses_are_checked_when_a_pack_is_read(fields: dict[str, Any], message: str) -> None:
    text = format_pack(version_of(rubric(), provenance(**fields)))
    with pytest.raises(PackError) as caught:
        read_pack(text, "pack.json")
    assert str(caught.value).startswith(f"pack.json: {message}")
    assert "hunter2" not in str(caught.value)


# Labelled texts that the packs are learned from.
ROWS = 12
EXAMPLES = int(os.environ.get("RUBRICLAB_FUZZ", "6"))
PYDANTIC = re.compile(r"Input should|Field required|Extra inputs|Value error|type=|pydantic|Traceback|rubriclab\.\w+\.")

METHODS = ("hypoeval", "checkeval", "seeval", "seal", "dcr", "direct", "few_shot", "geval", "analyze_rate")
LEARNED = {"joint": (), **{method: ("--method", method) for method in METHODS}}


class Packs(dict[str, dict[str, Any]]):
    """Packs by method, which no report of a failure need print."""

    def __repr__(self) -> str:
        return f"packs of {', '.join(self)}"


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> Packs:
    """A pack of every method, learned offline from the sample, and of several together with text features."""
    folder = tmp_path_factory.mktemp("packs")
    rows, place = folder / "labelled.jsonl", str(folder / "store.db")
    rows.write_bytes(b"".join(LABELLED.read_bytes().splitlines(keepends=True)[:ROWS]))
    for name, how in LEARNED.items():
        learn = ("learn", rows, "--task", "summarization", "--scale", "1:5", "--judge", "embedded", "--store", place)
        aspect = "consistency" if name == "dcr" else "coherence"
        assert run([*map(str, learn), *how, "--aspect", aspect, "--name", name]) == 0
    with open_store(place) as learned:
        versions = [replace(learned.load(name), evaluation=evaluation()) for name in LEARNED]
        return Packs({version.name: json.loads(format_pack(version)) for version in versions})


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with open_store("sqlite://") as opened:
        yield opened


@cache
def texts() -> tuple[Example, ...]:
    return tuple(row for row in read(HELDOUT) if isinstance(row, Example))[:2]


HOSTILE: tuple[Any, ...] = (
    *(None, True, 0, -1, -0.0, 0.5, 1e308, -1e308, 1e-308, 5e-324, 2**53, 2**63, -(2**64), 10**400),
    *("", " ", "\u200b\u3164", "\x1b[31mred\x1b]0;title\x07", "\x00", "\u202etxet", "none", "NaN", "1e999"),
    *("9999-99-99T99:99:99Z", "x" * 60_000, "x" * 1_200_000, "{{ 7 * 7 }}<script>alert(1)</script>"),
    *("../../etc/passwd", [], {}, [None], [[[[[[[[]]]]]]]], {"": {}}, {"\x1b[2J": "\x1b[2J"}, [0] * 2000),
)
# What only text can say: JSON that Python writes or reads in its own way, and keys that stand twice.
RAW = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", '"\\ud800"', '{"a": 1, "a": 2}', "[" * 500 + "]" * 500)
MARK = "a place for raw text"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every node but the whole."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from places(part, (*path, key))


def damaged(pack: dict[str, Any], seed: int) -> str:
    """Return the pack with one to three nodes replaced, deleted, doubled or exchanged, and digests that fit."""
    chance, pack = random.Random(seed), copy.deepcopy(pack)
    for _ in range(chance.randint(1, 3)):
        damage(pack, chance)
    for content in ("rubric", "provenance", "evaluation"):
        field = "digest" if content == "rubric" else f"{content}_digest"
        if content in pack and field in pack:
            pack[field] = fitting(pack[content])
    return json.dumps(pack).replace(json.dumps(MARK), chance.choice(RAW))


def damage(pack: dict[str, Any], chance: random.Random) -> None:
    """Change one node of the pack; every kind of field is as likely, however many entries a list has."""
    by_kind: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    for path in places(pack):
        by_kind.setdefault(tuple("#" if isinstance(step, int) else step for step in path), []).append(path)
    *way, last = chance.choice(by_kind[chance.choice(sorted(by_kind))])
    whole: Any = pack
    for step in way:
        whole = whole[step]
    how = chance.choice(["replace", "replace", "replace", "scale", "delete", "double", "exchange", "raw"])
    if how == "delete":
        del whole[last]
    elif how == "double" and isinstance(whole, list):
        whole.insert(last, copy.deepcopy(whole[last]))
    elif how == "double":
        whole[f"{last}2"] = whole[last]
    elif how == "exchange":
        other = chance.choice(sorted(whole) if isinstance(whole, dict) else range(len(whole)))
        whole[last], whole[other] = whole[other], whole[last]
    elif how == "scale" and isinstance(whole[last], float):
        whole[last] *= chance.choice([-1, 0, 1e-9, 1e9, 1e-300, 1e300])
    else:
        whole[last] = MARK if how == "raw" else copy.deepcopy(chance.choice(HOSTILE))


def fitting(content: Any) -> Any:
    """Return the digest of content, as a hostile author computes it."""
    try:
        return digest(content)
    except ValueError:
        return "sha256:0"


def scored(version: Version, example: Example) -> Score:
    return asyncio.run(score_text(version.rubric, example, EmbeddedJudge(), version.ref))


def check_as_any_other(store: Store, version: Version) -> None:
    loaded = store.load(version.ref)
    views = [evidence_view(loaded), names_view([loaded]), view("log", versions=[loaded])]
    views.append(difference_view(compare(loaded, store.load("whole"))))
    for shown_view in views:
        shown = str(shown_view)
        assert "\x1b" not in shown
        assert "\x00" not in shown
    again = read_pack(format_pack(loaded), "again.json")
    assert (again.digest, again.provenance_digest) == (loaded.digest, loaded.provenance_digest)
    scale = loaded.rubric.score_scale
    for example in texts():
        found = scored(loaded, example)
        assert (found.score is None) == (found.unscored is not None)
        for number in (found.score, *(found.interval or ())):
            assert number is None or scale.low - 1e-9 <= number <= scale.high + 1e-9
        contributions = [each.contribution for each in found.criteria if each.contribution is not None]
        assert all(map(math.isfinite, contributions))
        json.dumps(found.to_row(), allow_nan=False)


@pytest.mark.parametrize("method", sorted(LEARNED))
@given(seed=st.integers(0, 2**32))
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
def test_a_damaged_pack_is_refused_in_one_line_or_is_a_version_like_any_other(
    method: str, packs: Packs, store: Store, seed: int
) -> None:
    if "whole" not in store.names():
        store.import_pack(read_pack(json.dumps(packs["hypoeval"]), "whole.json"), "whole")
    text = damaged(packs[method], seed)
    refused = ""
    try:
        version = store.import_pack(read_pack(text, "pack.json"), "damaged")
    except PackError as error:
        refused = str(error)
    if not refused:
        check_as_any_other(store, version)
        return
    assert refused.startswith("pack.json")
    assert "\n" not in refused
    assert "\x1b" not in refused
    assert len(refused) < 2000
    assert not PYDANTIC.search(refused)


@pytest.mark.parametrize("method", sorted(LEARNED))
def test_an_undamaged_pack_is_imported_and_scores(method: str, packs: Packs, store: Store) -> None:
    version = store.import_pack(read_pack(json.dumps(packs[method]), "pack.json"), f"pack-{method.replace('_', '-')}")
    assert scored(version, texts()[0]).score is not None

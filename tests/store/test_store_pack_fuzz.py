"""Hostile packs: every kind of rubric, damaged anywhere, with digests that fit the damage.

A damaged pack is either refused in one plain line, or it is a version like any other: it can be shown, exported and
compared, and what it says of a text is a score on its scale or a reason for none.

`RUBRICLAB_FUZZ=2000` sets how many damaged packs of each method are tried.
"""

from __future__ import annotations

import asyncio
import copy
import json
import math
import os
import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from commands import HELDOUT, LABELLED
from hypothesis import HealthCheck, given, settings, strategies as st

from rubriclab.cli.main import run
from rubriclab.cli.printing import view_text
from rubriclab.data.readers import read
from rubriclab.errors import PackError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.learning.scoring import Score, score_text
from rubriclab.models.base import digest
from rubriclab.models.text import Example
from rubriclab.models.version import Version
from rubriclab.report.difference import difference_view
from rubriclab.report.lists import log_view, names_view
from rubriclab.report.training import evidence_view
from rubriclab.store import (
    compare,
    import_pack,
    read_pack,
    write_pack,
)
from rubriclab.store.store import Store, open_store

# Labelled texts that the packs are learned from.
ROWS = 12
EXAMPLES = int(os.environ.get("RUBRICLAB_FUZZ", "10"))
PYDANTIC = re.compile(r"Input should|Field required|Extra inputs|Value error|type=|pydantic|Traceback|rubriclab\.\w+\.")

LEARNED: dict[str, tuple[str, ...]] = {
    "joint": ("--aspect", "coherence"),
    "hypoeval": ("--aspect", "coherence", "--method", "hypoeval"),
    "checkeval": ("--aspect", "coherence", "--method", "checkeval"),
    "seeval": ("--aspect", "coherence", "--method", "seeval"),
    "seal": ("--aspect", "coherence", "--method", "seal"),
    "dcr": ("--aspect", "consistency", "--method", "dcr"),
    "direct": ("--aspect", "coherence", "--method", "direct"),
    "few_shot": ("--aspect", "coherence", "--method", "few_shot"),
    "geval": ("--aspect", "coherence", "--method", "geval"),
    "analyze_rate": ("--aspect", "coherence", "--method", "analyze_rate"),
}


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
        assert run([*map(str, learn), *how, "--name", name]) == 0
    with open_store(place) as learned:
        return Packs({name: json.loads(write_pack(learned.load(name))) for name in LEARNED})


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with open_store("sqlite://") as opened:
        yield opened


@cache
def texts() -> tuple[Example, ...]:
    return tuple(row for row in read(HELDOUT) if isinstance(row, Example))[:2]


HOSTILE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    -0.0,
    0.5,
    1e308,
    -1e308,
    1e-308,
    5e-324,
    2**53,
    2**63,
    -(2**64),
    10**400,
    "",
    " ",
    "\u200b\u3164",
    "\x1b[31mred\x1b]0;title\x07",
    "\x00",
    "\u202etxet",
    "none",
    "NaN",
    "1e999",
    "9999-99-99T99:99:99Z",
    "x" * 60_000,
    "x" * 1_200_000,
    "{{ 7 * 7 }}<script>alert(1)</script>",
    "../../etc/passwd",
    [],
    {},
    [None],
    [[[[[[[[]]]]]]]],
    {"": {}},
    {"\x1b[2J": "\x1b[2J"},
    [0] * 2000,
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
    for field, content in (("digest", "rubric"), ("provenance_digest", "provenance")):
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
    views = [evidence_view(loaded), names_view([loaded]), log_view([loaded])]
    views.append(difference_view(compare(loaded, store.load("whole"))))
    for view in views:
        shown = view_text(view)
        assert "\x1b" not in shown
        assert "\x00" not in shown
    again = read_pack(write_pack(loaded), "again.json")
    assert (again.digest, again.provenance_digest) == (loaded.digest, loaded.provenance_digest)
    scale = loaded.rubric.scores_on
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
        import_pack(store, read_pack(json.dumps(packs["hypoeval"]), "whole.json"), "whole")
    text = damaged(packs[method], seed)
    refused = ""
    try:
        version = import_pack(store, read_pack(text, "pack.json"), "damaged")
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
    version = import_pack(store, read_pack(json.dumps(packs[method]), "pack.json"), f"pack-{method.replace('_', '-')}")
    assert scored(version, texts()[0]).score is not None

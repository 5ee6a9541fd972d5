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
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from commands import HELDOUT, LABELLED, Commands
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rubriclab.cli.printing import view_text
from rubriclab.data import read
from rubriclab.data.example import Example
from rubriclab.digest import digest
from rubriclab.errors import PackError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.report.terminal import difference_view, log_view, names_view, version_view
from rubriclab.scoring import Score
from rubriclab.scoring.score import score_text
from rubriclab.store import Store, Version, compare, import_pack, open_store, read_pack, write_pack

EXAMPLES = int(os.environ.get("RUBRICLAB_FUZZ", "25"))
PYDANTIC = re.compile(r"Input should|Field required|Extra inputs|Value error|type=|pydantic|Traceback|rubriclab\.\w+\.")

LEARN = ("learn", LABELLED, "--task", "summarization", "--scale", "1:5")
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


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """A pack of every method, learned offline from the sample, and of several together with surface measures."""
    commands = Commands(tmp_path_factory.mktemp("packs"), RUBRICLAB_STORE="store.db", RUBRICLAB_JUDGE="embedded")
    started = {name: commands.start(*LEARN, *how, "--name", name) for name, how in LEARNED.items()}
    for name, learning in started.items():
        done = learning.wait()
        assert done.code == 0, (name, done.err)
    return {name: json.loads(commands("export", name).out) for name in LEARNED}


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with open_store("sqlite://") as opened:
        yield opened


@cache
def texts() -> tuple[Example, ...]:
    return tuple(row for row in read(HELDOUT) if isinstance(row, Example))[:2]


HOSTILE = st.sampled_from(
    [
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
    ]
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


def damaged(draw: st.DataObject, pack: dict[str, Any]) -> str:
    """Return the pack with one to three nodes replaced, deleted, doubled or exchanged, and digests that fit."""
    pack, raw = copy.deepcopy(pack), ""
    for _ in range(draw.draw(st.integers(1, 3))):
        # Depth first, so that the thousands of ids and figures do not hide the few fields that matter.
        names = sorted({tuple("#" if isinstance(step, int) else step for step in path) for path in places(pack)})
        name = draw.draw(st.sampled_from(names))
        same = [path for path in places(pack) if tuple("#" if isinstance(s, int) else s for s in path) == name]
        path = draw.draw(st.sampled_from(same))
        whole: Any = pack
        for step in path[:-1]:
            whole = whole[step]
        how = draw.draw(
            st.sampled_from(["replace", "replace", "replace", "scale", "delete", "double", "exchange", "raw"])
        )
        if how == "delete":
            del whole[path[-1]]
        elif how == "double" and isinstance(whole, list):
            whole.insert(path[-1], copy.deepcopy(whole[path[-1]]))
        elif how == "double":
            whole[f"{path[-1]}2"] = whole[path[-1]]
        elif how == "exchange":
            other = draw.draw(st.sampled_from(sorted(whole))) if isinstance(whole, dict) else len(whole) - 1
            whole[path[-1]], whole[other] = whole[other], whole[path[-1]]
        elif how == "scale" and isinstance(whole[path[-1]], float):
            whole[path[-1]] *= draw.draw(st.sampled_from([-1, 0, 1e-9, 1e9, 1e-300, 1e300]))
        elif how == "raw":
            raw = raw or draw.draw(st.sampled_from(RAW))
            whole[path[-1]] = MARK
        else:
            whole[path[-1]] = copy.deepcopy(draw.draw(HOSTILE))
    for field, content in (("digest", "rubric"), ("provenance_digest", "provenance")):
        if content in pack and field in pack:
            pack[field] = fitting(pack[content])
    return json.dumps(pack).replace(json.dumps(MARK), raw or json.dumps(MARK))


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
    views = [version_view(loaded, evidence=True), names_view([loaded]), log_view([loaded])]
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
@given(draw=st.data())
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
def test_a_damaged_pack_is_refused_in_one_line_or_is_a_version_like_any_other(
    method: str, packs: dict[str, dict[str, Any]], store: Store, draw: st.DataObject
) -> None:
    if "whole" not in store.names():
        import_pack(store, read_pack(json.dumps(packs["hypoeval"]), "whole.json"), "whole")
    text = damaged(draw, packs[method])
    try:
        version = import_pack(store, read_pack(text, "pack.json"), "damaged")
    except PackError as refused:
        assert refused.exit_code == 2
        assert "\n" not in str(refused)
        assert "\x1b" not in str(refused)
        assert len(str(refused)) < 2000
        assert not PYDANTIC.search(str(refused)), str(refused)
        return
    check_as_any_other(store, version)


@pytest.mark.parametrize("method", sorted(LEARNED))
def test_an_undamaged_pack_is_imported_and_scores(method: str, packs: dict[str, dict[str, Any]], store: Store) -> None:
    version = import_pack(store, read_pack(json.dumps(packs[method]), "pack.json"), f"pack-{method.replace('_', '-')}")
    assert scored(version, texts()[0]).score is not None

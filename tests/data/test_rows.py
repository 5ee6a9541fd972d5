"""One row: the example that it holds, or its fault."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.data.cells import CSV_RULES, JSON_RULES
from rubriclab.data.check import training_examples
from rubriclab.data.mapping import parse_mapping
from rubriclab.data.readers import from_rows, read
from rubriclab.data.rows import MAX_REASON_LENGTH, RowError, parse_example
from rubriclab.errors import DataError
from rubriclab.models.base import MAX_NAME_LENGTH
from rubriclab.models.text import Example, Scale, named_reasons


def taken(**fields):
    answer = parse_example({"output": "A text.", **fields}, "texts.jsonl", 12)
    assert isinstance(answer, Example), answer
    return answer


def refused(row, rules=JSON_RULES):
    answer = parse_example(row, "texts.jsonl", 12, rules=rules)
    assert isinstance(answer, RowError), answer
    assert (answer.where, answer.line) == ("texts.jsonl", 12)
    return answer


def test_a_fault_is_one_line_with_place_field_what_came_and_what_was_expected():
    fault = refused({"id": 7, "output": None})
    assert str(fault) == "texts.jsonl:12: field 'output': got null, expected a non-empty text"
    assert fault.id == "7"


CHAT = [{"role": "user", "content": "Is it free?"}, {"role": "assistant", "content": "Yes, it is."}]


def test_the_last_message_of_a_chat_is_the_output_and_the_earlier_ones_are_the_context():
    text = taken(output=CHAT)
    assert (text.output, text.context) == ("Yes, it is.", "user: Is it free?")
    assert (taken(output=CHAT, context="Terms").context, taken(output=CHAT[1:]).context) == ("Terms", None)
    mapped = parse_example({"turns": CHAT}, "texts.jsonl", 12, mapping=parse_mapping("output=turns"))
    assert mapped == replace(text, id=mapped.id)
    assert refused({"output": CHAT[:1]}).got == "messages that end with one of the role 'user'"
    assert refused({"output": [*CHAT, "More."]}).got == "a list of 3"
    assert "such as to 'turns'" in str(refused({"name": "case 1", "turns": CHAT}))


def test_a_missing_output_names_the_columns_and_how_to_map_one():
    fault = refused({"id": "a", "length": 3, "scores.fluency": "4", "summary": "A summary."})
    assert fault.got == "nothing"
    assert "the columns are 'id', 'length', 'scores.fluency', 'summary'" in fault.expected
    assert "map 'output' to it, such as to 'summary'" in fault.expected


def scored(score):
    return {"scores": {"fluency": 3, "coherence": score}}


def rated(ratings):
    return {"annotations": {"coherence": ratings}}


def said(reason):
    return {"reasons": {"coherence": reason}}


COLUMN = "annotations.coherence.anna"
NO_TEXT, NUMBER, RATERS, WORDS = "a non-empty text", "a finite number", "names such as 'anna'", "a reason in words"


@pytest.mark.parametrize(
    ("fields", "field", "came", "expected"),
    [
        *(
            ({"output": output}, "output", came, NO_TEXT)
            for output, came in (
                (None, "null"),
                ("", "an empty text"),
                (" \n\t\u2003", "only white space"),
                (12, "12"),
                (True, "true"),
                (["a", "b"], "a list of 2"),
                ({"text": "a"}, "an object"),
                (math.nan, "NaN"),
                (b"bytes", "a value of type bytes"),
            )
        ),
        *(({name: 3}, name, "3", "a text") for name in ("source", "context", "reference")),
        ({"context": ["turn", "turn"]}, "context", "a list of 2", "a text (join the parts of a list into one)"),
        *(({"id": name}, "id", "", "a text") for name in (True, 1.5, math.nan, math.inf, 1e23, 10**5000, ["a"])),
        ({"id": "x" * 1001}, "id", "a text of 1,001 characters", "at most"),
        *(
            (scored(score), "scores.coherence", came, NUMBER)
            for score, came in (
                (math.nan, "NaN"),
                (math.inf, "Infinity"),
                (-math.inf, "-Infinity"),
                ("4", "the text '4'"),
                ([4], "a list of 1"),
                ({}, "an object"),
                (10**400, "a whole number of more than 64 bits"),
                (Decimal("NaN"), "NaN"),
                (Decimal("sNaN"), "sNaN"),
            )
        ),
        (scored("good"), "scores.coherence", "the text 'good'", f"{NUMBER}, without quotes, or a word that"),
        ({"scores": {" ": 4}}, "scores", "an aspect without a name", "names such as 'coherence'"),
        *(({table: [4, 5]}, table, "a list of 2", "an object") for table in ("scores", "annotations")),
        *((rated(each), "annotations.coherence", "", "") for each in (4, "4 5", [4, None], [4, "5"], [4, math.nan])),
        (rated({"anna": 4, " anna ": 5}), "annotations.coherence", "the rater 'anna' twice", "one entry from each"),
        ({**rated({"anna": 4}), COLUMN: 5}, "annotations.coherence", "the rater 'anna' twice", "one entry from each"),
        ({**rated([4]), COLUMN: 5}, "annotations.coherence", "both a list and named raters", "the annotations of an"),
        (rated({"anna": math.nan}), COLUMN, "NaN", NUMBER),
        (rated({" ": 4}), "annotations.coherence", "a rater without a name", RATERS),
        ({"annotations.coherence.": 4}, "annotations.coherence", "a rater without a name", RATERS),
        (rated({"anna\ud800": 4}), "annotations.coherence", "bytes that are not UTF-8", "text in UTF-8"),
        *(
            ({field: "caf\udce9"}, field, r"bytes that are not UTF-8, in 'caf\xe9'", "text in UTF-8")
            for field in ("output", "source", "id")
        ),
        (said(4), "reasons.coherence", "4", WORDS),
        (said(["a", "b"]), "reasons.coherence", "a list of 2", WORDS),
        (said({"anna": True}), "reasons.coherence.anna", "true", WORDS),
        (said({" ": "x"}), "reasons.coherence", "a rater without a name", RATERS),
        (said({"x" * (MAX_NAME_LENGTH + 1): "y"}), "reasons.coherence", "a rater's name of", "at most"),
        (said({"anna": "a", " anna": "b"}), "reasons.coherence", "the rater 'anna' twice", "one entry from each rater"),
        (said("\ud800"), "reasons.coherence", "bytes that are not UTF-8", "text in UTF-8"),
        (said("x" * 100_000), "reasons.coherence", "a text of 100,000", f"at most {MAX_REASON_LENGTH:,} characters"),
        ({"reasons": "It wanders."}, "reasons", "the text", "an object with a value for each aspect"),
        (
            {"reasons.coherence": "It wanders.", "reasons.coherence.anna": "No ending."},
            "reasons.coherence",
            "both one text and named raters",
            "",
        ),
    ],
    ids=lambda given: ascii(given)[:40] if isinstance(given, str) else "fields",
)
def test_a_value_that_a_field_cannot_have_is_named_with_what_was_expected(fields, field, came, expected):
    fault = refused({"output": "A", **fields})
    assert fault.field == field
    assert fault.got.startswith(came)
    assert fault.expected.startswith(expected)


@pytest.mark.parametrize(
    ("column", "cell", "read"),
    [
        *(("scores.x", cell, n) for cell, n in (("4", 4.0), (" 3.5 ", 3.5), ("-1e-1", -0.1), (".5", 0.5), ("2.", 2.0))),
        *(("annotations.x", cell, (4.0, 5.0)) for cell in ("4 5", "4, 5", "[4.0, 5.0]", "4;5", "[4. 5.]")),
        *(("scores.x", cell, None) for cell in ("nan", "inf", "1e999", "four", "4,5", "1_0", "0x4", "4 5", "٤")),
        ("reasons.x", "4.5", None),
    ],
)
def test_untyped_rows_write_numbers_as_text_and_other_cells_are_refused(column, cell, read):
    answer = parse_example({"output": "A", column: cell}, "t.csv", 2, rules=CSV_RULES)
    if read is None:
        assert (type(answer), answer.field) == (RowError, column)
    else:
        assert getattr(answer, column.partition(".")[0]) == {"x": read}


@pytest.mark.parametrize("row", [None, 3, "text", [], [{"output": "A"}], math.nan])
def test_a_row_that_is_no_object_is_a_fault_of_the_whole_row(row):
    fault = refused(row)
    assert fault.field is None
    assert "an object with a field 'output'" in fault.expected


def test_a_derived_id_depends_on_what_is_shown_alone():
    known = taken(source="S")
    assert known.id == taken(source="S", scores={"coherence": 1}, reference="R").id
    others = [{"source": "S2"}, {"context": "C"}, {"system": "s"}, {"group": "g"}, {"output": "B"}]
    assert len({known.id, *(taken(**{"source": "S", **other}).id for other in others)}) == 6


def test_rows_about_one_source_are_one_group():
    first, second, third = taken(source="S"), taken(source="S", output="B"), taken(source="S2")
    assert first.group == second.group != third.group
    assert taken(context="C").group == taken(context="C", output="B").group
    assert taken(source="S", context="C").group == first.group
    alone = taken()
    assert (taken(id="a").group, alone.group) == ("a", alone.id)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
COLUMNS = st.sampled_from(["id", "group", "source", "output", "scores", "annotations", "scores.x", "annotations.x"])


@settings(deadline=None, max_examples=40)
@given(
    row=st.dictionaries(COLUMNS | st.text(max_size=3), VALUES, max_size=6) | VALUES,
    rules=st.sampled_from([JSON_RULES, CSV_RULES]),
)
def test_every_row_is_an_example_of_good_values_or_a_fault_in_one_line(row, rules):
    answer = parse_example(row, "rows", 1, rules=rules)
    if isinstance(answer, RowError):
        assert len(str(answer).splitlines()) == 1
        str(answer).encode()
    else:
        assert answer.output.strip()
        assert answer.id
        assert answer.group
        assert all(map(math.isfinite, answer.scores.values()))
        assert all(math.isfinite(score) for scores in answer.annotations.values() for score in scores)


@pytest.mark.parametrize("mapping", ["scores.fluency=rating", "annotations.fluency.anna=rating"])
@pytest.mark.parametrize("column", ["aspect", "dimension"])
def test_a_rating_of_another_aspect_than_the_mapped_one_is_a_fault(mapping: str, column: str) -> None:
    columns = parse_mapping(f"{mapping},aspect={column}" if column != "aspect" else mapping)

    def row_of(aspect: str | None) -> Example | RowError:
        return parse_example({"output": "A text.", column: aspect, "rating": 3}, "t", 1, columns)

    other = row_of("simplicity")
    assert isinstance(other, RowError)
    assert (other.field, other.usable_example) == ("aspect", None)
    assert "'simplicity'" in other.got
    assert "'fluency'" in other.expected
    assert all(isinstance(row_of(same), Example) for same in ("fluency", " Fluency", "", None))


BY_RATER = {"anna": "jumps between two topics", "ben": "no ending"}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"reasons": {"coherence": BY_RATER}}, BY_RATER),
        ({"reasons.coherence": BY_RATER}, BY_RATER),
        ({f"reasons.coherence.{name}": reason for name, reason in BY_RATER.items()}, BY_RATER),
        ({"reasons": {"coherence": {**BY_RATER, "carl": None, "dora": " \n"}}}, BY_RATER),
        ({"reasons": {"coherence": " It wanders. "}}, {"": "It wanders."}),
        ({"reasons.coherence": "4.5"}, {"": "4.5"}),
    ],
)
def test_reasons_are_an_object_by_rater_columns_or_one_text(fields: dict[str, Any], named: dict[str, str]) -> None:
    example = taken(**fields)
    assert named_reasons(example, "coherence") == named
    assert named_reasons(example, "fluency") == {}


PLACEHOLDERS = ["_nofact", "N/A", "none", "None", "null", "[none]", " n/a. ", "<null>", "NaN", "-", "(not available)"]
TEXTS = ["None of the dams held.", "Null Island lies off Ghana.", "n/a: see below", "No.", "0", "Nan baked bread."]


@pytest.mark.parametrize("said", [*PLACEHOLDERS, *TEXTS])
def test_a_placeholder_is_no_source_context_or_reference_and_any_output_id_and_system_stay(said: str):
    row = dict.fromkeys(("id", "output", "source", "context", "reference", "system"), said)
    example = parse_example(row, "t.jsonl", 1)
    assert (example.id, example.output, example.system) == (said, said, said)
    shown = None if said in PLACEHOLDERS else said
    assert (example.source, example.context, example.reference) == (shown, shown, shown)


PAIRS = [("fail", "pass"), ("👎", "👍")]


def rows_with(values: list[object]) -> list[dict[str, object]]:
    return [{"output": f"text {n}", "scores.ok": value} for n, value in enumerate(values)]


def json_lines(values: list[object]) -> list[bytes]:
    return [json.dumps(row).encode() for row in rows_with(values)]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1])
def test_words_for_verdicts_are_two_levels_with_these_names(pair: tuple[str, str]) -> None:
    worse, better = pair
    training = training_examples(read(json_lines([better, worse.upper()] * 6)), "ok")
    assert training.scale == Scale(low=0, high=1, whole=False, names=pair)
    assert [example.scores["ok"] for example in training.examples] == [1.0, 0.0] * 6
    assert f"two levels, {worse!r} and {better!r}: scores are probabilities of {better!r}" in training.notes


@pytest.mark.parametrize("kind", ["json", "frame", "parquet", "xlsx", "csv"])
def test_booleans_of_every_source_are_labels(tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame(rows_with([True, False, False] * 4))
    path = tmp_path / f"labels.{kind}"
    if kind == "frame":
        rows = from_rows(frame)
    elif kind == "json":
        rows = read(json_lines([True, False, False] * 4))
    else:
        getattr(frame, f"to_{'excel' if kind == 'xlsx' else kind}")(path, index=False)
        rows = read(path)
    training = training_examples(rows, "ok")
    assert [example.scores["ok"] for example in training.examples] == [1.0, 0.0, 0.0] * 4
    assert training.scale.names == ("false", "true")


@pytest.mark.parametrize(
    ("values", "options", "names"),
    [
        ([0, 1] * 6, {}, ("0", "1")),
        (["good", "bad"] * 6, {"level_scores": "bad=0,good=1"}, ("bad", "good")),
        ([True, False] * 6 + ["cannot assess", "n/a"], {}, ("false", "true")),
    ],
)
def test_two_numbers_and_own_words_are_levels_too(
    values: list[object], options: dict[str, Any], names: tuple[str, str]
) -> None:
    training = training_examples(read(json_lines(values), **options), "ok")
    assert training.scale == Scale(low=0, high=1, whole=False, names=names)
    assert len(training.examples) == 12
    counted = "answers saying that the text cannot be assessed, which are not labels: 2" in training.notes
    assert counted == (len(values) > 12)
    assert not training_examples(read(json_lines([0, 1] * 6)), "ok", "0:1:any").scale.names


def test_raters_verdicts_are_two_levels_and_their_share_is_the_label() -> None:
    raters = [{"a": True, "b": True, "c": False}, {"a": False, "b": False, "c": False}]
    rows = [{"output": f"text {n}", "annotations": {"ok": raters[n % 2]}} for n in range(12)]
    training = training_examples(read([json.dumps(row).encode() for row in rows]), "ok")
    assert training.scale.names
    assert [round(example.scores["ok"], 2) for example in training.examples] == [0.67, 0.0] * 6


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["good", "bad"] * 6, r"bad=0,good=1"),
        (["yes", "no", "partly"] * 4, r"no=1,partly=2,yes=3"),
        ([1, 5, 3, "yes", "no", 4] * 2, r"words for verdicts: 'no', 'yes'.*no=N,yes=N"),
    ],
)
def test_words_of_an_unknown_scale_are_refused_with_a_proposal_for_all(values: list[object], said: str) -> None:
    with pytest.raises(DataError, match=said):
        training_examples(read(json_lines(values)), "ok")

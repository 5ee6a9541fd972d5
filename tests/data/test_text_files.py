"""JSON Lines, CSV and Parquet: what a broken file costs, and that it costs no more."""

import gzip
import io
import random

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.data.readers import read
from rubriclab.data.rows import RowError
from rubriclab.data.text_files import MAX_CELL_LENGTH, delimited_rows, json_lines
from rubriclab.errors import DataError
from rubriclab.models.text import Example

GOOD = b'{"id": "good", "output": "A text."}'


def answers(*lines, end=b"\n"):
    return list(read(io.BytesIO(b"\n".join(lines) + end)))


def fault_of(line):
    before, fault, after = answers(GOOD, line, GOOD)
    assert before == after == Example(id="good", output="A text.", group="good")
    assert isinstance(fault, RowError), fault
    assert fault.line == 2
    return fault


def csv_answers(tmp_path, content):
    path = tmp_path / "texts.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read(path))


def test_byte_order_mark_crlf_and_blank_lines_are_fine():
    content = b"\xef\xbb\xbf" + b"\r\n".join([GOOD, b"", b"  \t", GOOD, b""])
    reading = read(io.BytesIO(content))
    assert [(row.id, reading.line) for row in reading] == [("good", 1), ("good", 4)]


@pytest.mark.parametrize(
    ("line", "came", "expected"),
    [
        (b"not json", "text that is not JSON", "a JSON object on one line"),
        (b'{"output": "A"} {"output": "B"}', "text that is not JSON", "a JSON object on one line"),
        (b'{"output": "A",}', "text that is not JSON", "a JSON object on one line"),
        (b"[" * 3000, "text that is not JSON", "a JSON object on one line"),
        (b'{"output": ' + b"[" * 100_000 + b"NaN", "text that is not JSON", "a JSON object on one line"),
        (b'{"output": "\\ud800", "x": NaN}', "text that is not JSON", "a JSON object on one line"),
        (b'{"output": "caf\xe9"}', 'bytes that are not UTF-8, in b\'put": "caf\\xe9"}\'', "JSON in UTF-8"),
        (b"\xff", "bytes that are not UTF-8", "JSON in UTF-8"),
        (b'[{"output": "A"}]', "a list of 1", "an object with a field 'output'; in a file that is one list"),
        (b"null", "null", "an object with a field 'output'"),
        (b"NaN", "NaN", "an object with a field 'output'"),
        (b'"text"', "the text 'text'", "an object with a field 'output'"),
    ],
)
def test_a_line_that_is_no_json_object_is_a_fault_and_reading_goes_on(line, came, expected):
    fault = fault_of(line)
    assert fault.field is None
    assert fault.got.startswith(came)
    assert fault.expected.startswith(expected)


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (gzip.compress(GOOD, mtime=0), "gzip"),
        ("\ufeffid".encode("utf-16-le"), "UTF-16"),
        ("\ufeffid".encode("utf-16-be"), "UTF-16"),
        (b"PAR1....", "Parquet"),
        (b"PK\x03\x04....", "Excel workbook"),
    ],
)
def test_what_is_not_lines_of_text_at_all_is_named_at_once(start, name):
    with pytest.raises(DataError, match=name):
        answers(start)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=8))
def test_any_bytes_give_one_answer_for_each_line_that_is_not_blank(lines):
    found = answers(GOOD, *lines)[1:]
    assert len(found) == sum(bool(line.strip()) for line in lines)
    assert all(isinstance(row, Example | RowError) for row in found)
    assert all(str(row).isprintable() for row in found if isinstance(row, RowError))


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9, 0.999])
def test_a_gzip_file_that_ends_early_gives_the_rows_before_and_then_a_fault(tmp_path, cut):
    # Differing texts, so that the packed file is long enough to be cut in many places.
    draw, path = random.Random(1), tmp_path / "texts.jsonl.gz"
    many = [{"id": str(i), "output": f"Text {i}: {draw.randbytes(60).hex()}."} for i in range(400)]
    content = gzip.compress(b"\n".join(orjson.dumps(row) for row in many))
    path.write_bytes(content[: int(len(content) * cut)])
    *rows, fault = read(path)
    assert rows
    assert [row.id for row in rows] == [row["id"] for row in many[: len(rows)]]
    assert isinstance(fault, RowError)
    assert (fault.line, fault.field) == (len(rows) + 1, None)
    assert "ends early or is damaged" in fault.got


def test_an_open_quote_costs_its_own_line_only(tmp_path):
    rows = csv_answers(tmp_path, 'id,output\n1,A\n2,"never closed\n3,B\n4,C\n')
    assert [getattr(row, "line", None) or row.id for row in rows] == ["1", 3, "3", "4"]
    assert "broken CSV row" in rows[1].got


def test_an_open_quote_is_noticed_before_it_has_swallowed_the_whole_stream():
    taken = 0

    def lines():
        nonlocal taken
        yield b"id,output\n"
        yield b'1,"open\n'
        while True:
            taken += 1
            yield b"2," + b"x" * 10_000 + b"\n"

    rows = delimited_rows("t.csv", lines())
    assert isinstance(next(rows)[1], RowError)
    assert taken <= MAX_CELL_LENGTH / 10_000 + 1
    assert next(rows) == (3, {"id": "2", "output": "x" * 10_000})


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("id,output,id\n1,A,2\n", "'id' twice"),
        ('id,"output\n1,A\n', "broken CSV row"),
        ("id,summary\n1,A\n", '`mapping={"output": "summary"}`'),
        ("id,output\n", "has no rows"),
        ("\n\n", "has no rows"),
        ("", "has no rows"),
    ],
)
def test_a_csv_file_without_a_usable_header_is_refused_once(tmp_path, content, match):
    with pytest.raises(DataError, match=match):
        csv_answers(tmp_path, content)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from([b'"', b",", b"\n", b"\r", b"\0", b"a", b"1", b"\xff", b"output"]), max_size=40))
def test_any_csv_is_read_to_its_end(parts):
    lines = [b"id,output\n", b"1,A\n", *io.BytesIO(b"".join(parts))]
    found = list(delimited_rows("t.csv", lines))
    assert found[0] == (2, {"id": "1", "output": "A"})
    at = [number for number, _ in found]
    assert at == sorted(set(at))
    broken = [number for number, row in found if isinstance(row, RowError) and "broken" in row.got]
    assert all(lines[number - 1].strip() for number in broken)


def test_a_disk_that_fails_midway_is_a_fault_in_the_place_of_the_next_row():
    def lines():
        yield GOOD
        raise OSError("the disk is gone")

    _, (line, fault) = json_lines("t.jsonl", lines())
    assert (line, fault.line) == (2, 2)
    assert "the disk is gone" in fault.got

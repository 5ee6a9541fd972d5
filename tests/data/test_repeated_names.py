"""JSON objects that name something twice, where a parser would silently keep the last."""

import pytest

from rubriclab.data import Example, RowError, read


def first(line):
    return next(read([line]))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('{"output": "A", "annotations": {"coherence": {"anna": 4, "ben": 1, "anna": 5}}}', "anna"),
        ('{"output": "A", "scores": {"coherence": 4, "coherence": 5}}', "coherence"),
        ('{"output": "A", "output": "B", "scores": {"coherence": 4}}', "output"),
    ],
)
def test_a_name_that_stands_twice_in_a_row_with_scores_is_a_fault(line, name):
    fault = first(line)
    assert isinstance(fault, RowError)
    assert str(fault) == f"stream:1: got the name {name!r} twice in one object, expected each once"


def test_one_name_in_several_objects_is_none():
    row = first(
        '{"output": "A", "annotations": {"coherence": {"anna": 4}, "fluency": {"anna": 4}}, "scores": {"anna": 1}}'
    )
    assert isinstance(row, Example)


@pytest.mark.parametrize("cell", ["[" * 1000 + "]" * 1000, "9" * 5000])
def test_what_only_one_of_two_parsers_can_take_does_not_stop_reading(cell):
    row = first(f'{{"output": "A", "more": {{"x": {cell}}}}}')
    assert isinstance(row, Example | RowError)

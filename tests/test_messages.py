"""Options in messages, as Python shows them and as the command line does."""

from __future__ import annotations

import pandas
import pytest

from rubriclab import Example
from rubriclab.cli.output import flags
from rubriclab.data.mapping import ReadingOptions
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.characters import with_flags
from rubriclab.ops.inputs import rows_of


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("`max_calls` is too small.", "--max-calls is too small."),
        ("Give `scale=1:5`.", "Give --scale 1:5."),
        ("Leave `methods` out.", "Leave --method out."),
        ("Give `mapping=output=a text`.", "Give --map 'output=a text'."),
        ("`nothing` is no option.", "`nothing` is no option."),
        ("a row says 'the `scale` is `scale=1:5`'", "a row says 'the `scale` is `scale=1:5`'"),
        ('its reviewers\' text "`scale`" and `scale`', 'its reviewers\' text "`scale`" and --scale'),
        ("Run `rubriclab trust news@1`.", "Run `rubriclab trust news@1`."),
    ],
)
def test_the_command_line_shows_options_as_flags_but_not_in_quoted_text(message: str, typed: str) -> None:
    assert with_flags(message, flags()) == typed


def test_python_shows_a_message_as_it_is() -> None:
    assert (
        str(SettingsError("`max_cost`: got -1.", "Leave `max_cost` out."))
        == "`max_cost`: got -1. Leave `max_cost` out."
    )


def test_the_mapping_that_an_error_proposes_works_when_it_is_passed() -> None:
    frame = pandas.DataFrame({"id": ["a"], "summary": ["A summary."]})
    with pytest.raises(DataError, match="got nothing, expected a non-empty text; the columns are 'id'") as caught:
        list(rows_of(frame, ReadingOptions()))
    hint = str(caught.value).partition("`mapping=")[2].partition("`")[0]
    (example,) = rows_of(frame, ReadingOptions(mapping=hint))
    assert isinstance(example, Example)
    assert example.output == "A summary."

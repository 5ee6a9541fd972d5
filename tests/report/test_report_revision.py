"""What became of rewritten texts."""

from __future__ import annotations

import pytest
from report_samples import printed
from view_samples import NO_GAIN, gain, revision

from rubriclab.models.version import Effort
from rubriclab.ops.improve import RevisionSummary, ScoreGain
from rubriclab.report.results import improvement_view


def seen(summary: RevisionSummary) -> str:
    return " ".join(printed(improvement_view(summary, Effort(calls=7)), width=140).split())


def test_it_says_that_the_gain_is_optimistic() -> None:
    assert "The gain is optimistic" in seen(revision())


@pytest.mark.parametrize(
    ("criteria", "shown"),
    [((gain("h01 order", 2, 4), NO_GAIN), True), ((NO_GAIN, NO_GAIN), False), ((gain("score x", 3, 4),), False)],
)
def test_criteria_are_shown_where_they_tell_more_than_the_score(
    criteria: tuple[ScoreGain, ...], *, shown: bool
) -> None:
    view = seen(revision(criteria=criteria))
    assert ("Criteria by the judge; 1 more without a change" in view) == shown
    assert "h02 links" not in view

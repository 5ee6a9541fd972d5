"""Whether two scores of a text come from the same questions."""

import pytest

from rubriclab.learning.scoring import CriterionScore, Score
from rubriclab.methods.method import UnitVerdict
from rubriclab.ops.improve import incomparable

WHOLE = UnitVerdict("A. B.", (), 1.0, "")


def unit(value, *places):
    return UnitVerdict("A.", places, value, "")


def score(*units, **fields):
    """Return a score by one criterion with verdicts on these units."""
    rated = CriterionScore(**{"id": "q1", "score": 0.5, "reason": "", "units": units, **fields})
    return Score("t", "coherence", 3.0, (rated,), None, "r@1", "fake")


def why(before, after, origins=((0,), (1,))):
    return incomparable(before, after, origins)


def test_the_same_verdicts_can_be_compared_and_so_can_a_text_with_a_sentence_less_or_split():
    before = score(unit(0.0, 0), unit(1.0, 1))
    assert why(before, score(unit(1.0, 0), unit(1.0, 1))) is None
    assert why(before, score(unit(1.0, 0)), [(1,)]) is None
    assert why(before, score(unit(1.0, 0), unit(1.0, 1), unit(1.0, 2)), [(0,), (0,), (1,)]) is None


@pytest.mark.parametrize("turned", [False, True])
def test_scores_by_sentence_and_of_the_whole_are_no_two_of_a_kind(turned):
    scores = [score(unit(0.0, 0), unit(1.0, 1)), score(WHOLE)]
    found = why(*(scores[::-1] if turned else scores))
    ways = ("as a whole", "by sentence") if turned else ("by sentence", "as a whole")
    assert found == "q1 judged the text {} before and {} after".format(*ways)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((unit(0.0, 0), unit(1.0, 1)), (unit(None, 0), unit(1.0, 1))),
        ((unit(0.0, 0), unit(1.0, 1)), (unit(1.0, 1),)),
        ((unit(0.0, 0), unit(None, 1)), (unit(None, 0), unit(1.0, 1))),
        ((unit(0.0, 0), unit(0.0, 0), unit(1.0, 1)), (unit(None, 0), unit(1.0, 0), unit(1.0, 1))),
        ((unit(0.0, 0), unit(None, 0), unit(1.0, 1)), (unit(None, 0), unit(1.0, 1))),
    ],
    ids=["missing", "no unit", "another turned up", "one of two", "the usable one of two"],
)
def test_a_sentence_whose_verdict_went_missing_cannot_be_compared(before, after):
    assert why(score(*before), score(*after)) == "q1 lacks a verdict on sentence 1, which had one before"


def test_what_had_no_verdict_before_needs_none():
    assert why(score(unit(None, 0), unit(0.0, 1)), score(unit(None, 0), unit(1.0, 1))) is None


def test_a_verdict_on_the_whole_that_went_missing_cannot_be_compared():
    lost = UnitVerdict("It ends.", (), None, "")
    assert why(score(WHOLE), score(lost)) == "q1 lacks 1 more of its verdicts on the whole text"
    assert why(score(), score(score=None)) == "q1 lacks 1 more of its verdicts on the whole text"
    assert why(score(), score(id="q2")) == "q1 was judged before only"

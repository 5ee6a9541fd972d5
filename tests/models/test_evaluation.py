"""The outcome of the gate from its comparisons."""

from __future__ import annotations

import pytest

from rubriclab.models.evaluation import CALIBRATED, DIRECT, EvaluatorAgreement, GateVerdict, Outcome, Validation
from rubriclab.stats.intervals import Interval

BETTER, WORSE = Interval(0.2, 0.1, 0.3), Interval(-0.2, -0.3, -0.1)
SAME, WIDE = Interval(0.0, -0.02, 0.02), Interval(0.0, -0.3, 0.3)
OUTCOMES: dict[Interval, Outcome] = {BETTER: "better", WORSE: "worse", SAME: "not better", WIDE: "inconclusive"}


def compared(
    correlation: Interval, error: Interval | None, calibrated: Interval = WIDE, free: Interval = BETTER
) -> Validation:
    """Return the comparison with the judge asked directly, the same calibrated, and word count."""

    def made(against: str, difference: Interval, less_error: Interval | None = None) -> GateVerdict:
        error_outcome = OUTCOMES[less_error] if less_error else None
        return GateVerdict(
            against=against,
            outcome=OUTCOMES[difference],
            difference=difference,
            less_error=less_error,
            error_outcome=error_outcome,
        )

    rubric = EvaluatorAgreement(name="joint", kind="rubric", n=30, spearman=BETTER, pearson=BETTER, calls=1)
    verdicts = (made("word count", free), made(DIRECT, correlation, error), made(CALIBRATED, correlation, calibrated))
    return Validation(
        level="group", n=30, groups=10, folds=10, training=rubric, evaluators=(rubric,), verdicts=verdicts
    )


@pytest.mark.parametrize(
    ("found", "outcome", "deciding"),
    [
        (compared(BETTER, BETTER), "better", DIRECT),
        (compared(BETTER, WIDE), "better", DIRECT),
        (compared(SAME, BETTER), "better", DIRECT),
        (compared(BETTER, None), "better", DIRECT),
        (compared(BETTER, WORSE), "worse", DIRECT),
        (compared(WORSE, BETTER), "worse", DIRECT),
        (compared(SAME, SAME), "not better", DIRECT),
        (compared(WIDE, SAME), "inconclusive", DIRECT),
        (compared(SAME, WIDE), "inconclusive", DIRECT),
        (compared(BETTER, BETTER, calibrated=WORSE), "worse", CALIBRATED),
        (compared(BETTER, WORSE, calibrated=WORSE), "worse", DIRECT),
        (compared(SAME, SAME, free=WORSE), "worse", "word count"),
        (compared(BETTER, BETTER, free=SAME), "not better", "word count"),
        (compared(BETTER, BETTER, free=WIDE), "inconclusive", "word count"),
        (compared(WIDE, WIDE, free=WIDE), "inconclusive", DIRECT),
        (compared(WIDE, WIDE, free=SAME), "not better", "word count"),
    ],
)
def test_a_rubric_passes_if_better_than_the_plain_question_in_one_respect_worse_in_none_and_above_what_is_free(
    found: Validation, outcome: Outcome, deciding: str
) -> None:
    assert (found.outcome, found.deciding_verdict.against) == (outcome, deciding)

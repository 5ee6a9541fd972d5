"""The results of validating a rubric, all on held-out labels."""

from __future__ import annotations

from typing import Literal

from rubriclab.base_models import Count, FrozenModel
from rubriclab.stats.interval import Interval

Outcome = Literal["better", "inconclusive", "not better"]

# The difference in correlation that would matter: about what going from 30 labels to 100 adds to a rubric (measured:
# 0.04 with one component of partial least squares, 0.06 with the five best criteria). Less is not worth a call a text.
MATTERS = 0.05

# The largest number of further labels that is named: estimates of larger ones were too uncertain.
MOST_LABELS = 300


class EvaluatorAgreement(FrozenModel):
    """One evaluator on the training texts, each text scored without the labels of its own group.

    Attributes:
        name: `joint`, a method (`hypoeval`), `direct`, `equal weights`, `constant`, `word count`,
            `best text feature`, `all text features`.
        kind: the rubric itself, an evaluator that asks a judge, or a baseline, which costs nothing.
        n: texts that it scored.
        spearman, pearson: at the level of the report.
        calls: calls per text.
    """

    name: str
    kind: Literal["rubric", "judged", "baseline"]
    n: Count
    spearman: Interval
    pearson: Interval
    calls: float


class MoreLabels(FrozenModel):
    """How many more labels would decide.

    Attributes:
        even: with an even chance; `None` above `MOST_LABELS`.
        likely: in four of five cases; `None` above `MOST_LABELS`.
    """

    even: Count | None
    likely: Count | None


class GateVerdict(FrozenModel):
    """Whether the rubric agrees better with people than another evaluator.

    Attributes:
        against: the other one's name, as in `EvaluatorAgreement`.
        outcome: `better` if the whole interval of the difference lies above zero, `not better` if none of it lies above
            what would matter, else `inconclusive`. `None` for a comparison that is shown and decides nothing: of many
            of these one would be "better" by chance.
        difference: in Pearson correlation, paired, with its interval.
        more_labels: about how many more labels would decide, where the outcome is inconclusive.
        few_groups: how many groups there were, where they were too few for an interval.
    """

    against: str
    outcome: Outcome | None
    difference: Interval
    more_labels: MoreLabels | None = None
    few_groups: Count | None = None


class Raters(FrozenModel):
    """Interrater agreement, and the ceiling that it sets for a judge.

    Attributes:
        alpha: Krippendorff's, interval metric.
        ceiling: the correlation with the labels that a perfect judge could reach.
    """

    alpha: Interval
    ceiling: float | None


class Validation(FrozenModel):
    """The gate's verdicts, with the figures that they rest on.

    Attributes:
        level: at which correlations are taken: among rivals, or over the whole set.
        n, groups: texts and groups that the figures rest on.
        folds: into how many parts the groups were put; each is scored without its labels.
        training: the rubric on the labels that it was fitted to: what optimism looks like.
        standings: the rubric first, then the others, best first.
        verdicts: the first one decides: it is against the best of what costs nothing.
        raters: `None` where single raters' scores are not known.
    """

    level: Literal["group", "dataset"]
    n: Count
    groups: Count
    folds: Count
    training: EvaluatorAgreement
    evaluators: tuple[EvaluatorAgreement, ...]
    verdicts: tuple[GateVerdict, ...]
    raters: Raters | None = None

    @property
    def outcome(self) -> Outcome:
        """The deciding verdict's outcome."""
        return self.verdicts[0].outcome or "inconclusive"

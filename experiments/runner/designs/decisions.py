"""Designs that read scores as yes or no.

- `decisions`: precision, recall and F1 of the texts with full marks (DCR, appendix C.3, figure 3). A text passes if its
  score is the best there is; for people, if all of them gave the best score.
- `discrimination`: the area under the ROC curve of high human scores against low ones (DCR, table 1).
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
from pydantic import Field

from experiments.runner.cases import Case, Material
from experiments.runner.designs.design import Bench, Design, options_of, with_baselines
from experiments.runner.figures import COEFFICIENTS, TOLERANCE, Share, agreement_row, border_of, human_scores
from experiments.runner.results import Gap, Outcome, Row
from rubriclab.models.base import FrozenModel
from rubriclab.ops.evaluate import Evaluator
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.intervals import Interval, estimate

BoolArray = npt.NDArray[np.bool_]


class DecisionsOptions(FrozenModel):
    """The share of the scale from which on a text passes, for scores of people and arms alike."""

    good_from: float = Field(1.0, gt=0, le=1)


async def run_decisions(bench: Bench, case: Case) -> Outcome:
    """Return how well every arm's decisions agree with people's, and its agreement in scores."""
    texts, study = bench.material(case), bench.study
    border = border_of(texts, options_of(study, DecisionsOptions).good_from) - TOLERANCE
    trials, missing = await bench.trials(case, texts)
    everyone = [
        *((done.evaluator, {"learning": done.learning, "scoring": done.scoring}) for done in trials.values()),
        (Evaluator("baseline: lets all through", np.full(len(texts.test), float(texts.assignment.scale.high))), {}),
    ]
    rows = list[Row]()
    for evaluator, about in everyone:
        row, used = agreement_row(study, texts, evaluator, **about), ~np.isnan(evaluator.scores)
        shares = {
            name: each.interval(_groups(texts, used)) for name, each in _shares(texts, evaluator, border, used).items()
        }
        update = {"figures": {**shares, **row.figures}, "ours": {**shares, **row.ours} if row.ours else None}
        through, good = evaluator.scores[used] >= border, human_scores(texts)[used] >= border
        counts = {**row.counts, "good": int(good.sum()), "let_through": int(through.sum())}
        rows.append(row.model_copy(update={**update, "counts": counts}))
    pairs = bench.pairs({name: done.evaluator for name, done in trials.items()})
    return bench.outcome(case, texts, [*rows, *missing], [_f1_gap(texts, border, *pair) for pair in pairs])


def _shares(texts: Material, evaluator: Evaluator, border: float, used: BoolArray) -> dict[str, Share]:
    """Return the measures of an evaluator's decisions on the texts used; F1 is the harmonic mean of the other two."""
    through, good = evaluator.scores[used] >= border, human_scores(texts)[used] >= border
    right = through & good
    return {
        "f1": Share(2.0 * right, 1.0 * through + good),
        "precision": Share(right, through),
        "recall": Share(right, good),
    }


def _f1_gap(texts: Material, border: float, first: Evaluator, second: Evaluator) -> Gap:
    """Return the difference in F1 on the texts that both evaluators scored."""
    both = ~(np.isnan(first.scores) | np.isnan(second.scores))
    one, other = (_shares(texts, each, border, both)["f1"] for each in (first, second))
    difference = one.interval(_groups(texts, both), less=other)
    return Gap(first=first.name, second=second.name, measure="f1", difference=difference)


def _groups(texts: Material, used: BoolArray) -> list[str]:
    return [each.group for each, is_used in zip(texts.test, used, strict=True) if is_used]


class DiscriminationOptions(FrozenModel):
    """The share of the scale's width from which on a human score is high."""

    border: float = Field(0.5, gt=0, le=1)


async def run_discrimination(bench: Bench, case: Case) -> Outcome:
    """Return the area under the curve of every arm and baseline."""
    texts = bench.material(case)
    high = human_scores(texts) >= border_of(texts, options_of(bench.study, DiscriminationOptions).border)
    trials, rows = await bench.trials(case, texts)
    for evaluator, about in with_baselines(trials, texts):
        unscored = int(np.isnan(evaluator.scores).sum())
        counts = {"texts": len(texts.test), "positive": int(high.sum()), "unscored": unscored}
        figures = {"auroc": auroc(evaluator.scores, high)}
        rows.append(Row(arm=evaluator.name, figures=figures, counts=counts, **about))
    return bench.outcome(case, texts, rows)


def auroc(scores: FloatArray, positive: BoolArray) -> Interval:
    """Return the area under the ROC curve with an interval over the texts that have a score.

    It is the probability that a positive text scores above a negative one, ties counting half; `None` if all texts are
    of one kind.
    """
    known = ~np.isnan(scores)
    area = partial(_area, scores[known], positive[known])
    found = estimate(
        lambda counts: np.array([area(weights) for weights in counts]),
        int(known.sum()),
        elements=int(known.sum()),
    )
    return found.within(0, 1).rounded()


def _area(scores: FloatArray, positive: BoolArray, weights: FloatArray) -> float:
    from sklearn.metrics import roc_auc_score

    drawn = weights > 0
    if len(set(positive[drawn].tolist())) < 2:
        return float("nan")
    return float(roc_auc_score(positive[drawn], scores[drawn], sample_weight=weights[drawn]))


DECISIONS = Design(run_decisions, ("f1", "precision", "recall", *COEFFICIENTS), DecisionsOptions)
DISCRIMINATION = Design(run_discrimination, ("auroc",), DiscriminationOptions)

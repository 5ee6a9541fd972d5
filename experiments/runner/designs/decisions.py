"""`decisions`: scores read as yes or no; how well do arms tell texts with full marks from the others?

DCR (appendix C.3, figure 3) holds sentences against the whole text as the thing that is judged: by the precision,
recall and F1 of the texts that come out as consistent. A text does where every piece of it does (section 4.2), so where
its score is the best there is; people say so where all of them gave the best score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pydantic import Field

from experiments.runner.arms import trial
from experiments.runner.bench import Bench, no_figure
from experiments.runner.cases import Case, Material, every_case
from experiments.runner.designs.agreement import AGREEMENT
from experiments.runner.designs.attempts import evaluator_of, telling
from experiments.runner.designs.design import Design, options_of
from experiments.runner.designs.shares import Share, difference, share
from experiments.runner.figures import agreement_row, bases, human_scores
from experiments.runner.results import Gap, Outcome, Row
from experiments.runner.study import Study
from rubriclab import Evaluator, RubriclabError
from rubriclab.research import FrozenModel

# Scores are rounded when they are written down.
TOLERANCE = 1e-6

# What costs nothing: every text is let through.
LETS_ALL = "baseline: lets all through"

BoolArray = npt.NDArray[np.bool_]


class DecisionsOptions(FrozenModel):
    """When a score lets a text through.

    Attributes:
        good_from: the share of the scale from which on it does, people's scores and arms' alike.
    """

    good_from: float = Field(1.0, gt=0, le=1)


async def run(bench: Bench, case: Case) -> Outcome:
    """Return how well every arm's decisions agree with people's, with its agreement in scores beside."""
    texts, study = bench.material(case), bench.study
    rows, evaluators = list[Row](), dict[str, Evaluator]()
    for place, arm in enumerate(study.arms):
        on_progress = telling(bench, case, arm, place)
        try:
            done = await trial(
                arm, texts, bench.judge, seed=case.seed, under_way=bench.under_way, on_progress=on_progress
            )
        except RubriclabError as error:
            rows.append(Row(arm=arm.name, missing=no_figure(error)))
            continue
        found = evaluators[arm.name] = evaluator_of(arm.name, done)
        row = decision_row(study, texts, found)
        rows.append(row.model_copy(update={"learning": done.learning, "scoring": done.scored.spent}))
    best = np.full(len(texts.test), float(texts.assignment.scale.high))
    rows.append(decision_row(study, texts, Evaluator(LETS_ALL, best)))
    pairs = ((evaluators.get(first), evaluators.get(second)) for first, second in study.compare)
    return Outcome(
        case=case,
        split=texts.split,
        basis=bases(study, texts),
        rows=tuple(rows),
        gaps=tuple(f1_gap(study, texts, first, second) for first, second in pairs if first and second),
    )


def decision_row(study: Study, texts: Material, evaluator: Evaluator) -> Row:
    """Return an evaluator's row: F1, precision and recall of the texts with full marks, and its agreement in scores.

    Counts say how many of the texts that it scored have full marks, and how many it lets through.
    """
    row, found = agreement_row(study, texts, evaluator), decided(study, texts, evaluator)
    shares = {name: share(each, found.groups) for name, each in found.shares.items()}
    return row.model_copy(
        update={
            "figures": {**shares, **row.figures},
            "ours": {**shares, **row.ours} if row.ours else None,
            "counts": {**row.counts, "good": int(found.good.sum()), "let_through": int(found.through.sum())},
        }
    )


def f1_gap(study: Study, texts: Material, first: Evaluator, second: Evaluator) -> Gap:
    """Return how much better one evaluator decides than another, on the texts that both scored, drawn together."""
    both = ~(np.isnan(first.scores) | np.isnan(second.scores))
    one, other = (decided(study, texts, each, both) for each in (first, second))
    found = difference(one.shares["f1"], other.shares["f1"], one.groups)
    return Gap(first=first.name, second=second.name, measure="f1", difference=found)


@dataclass(frozen=True, eq=False)
class Decided:
    """Which texts an evaluator lets through, and which have full marks; shape (texts,), with their groups."""

    through: BoolArray
    good: BoolArray
    groups: list[str]

    @property
    def shares(self) -> dict[str, Share]:
        """The measures; F1 is the harmonic mean of the other two."""
        right = self.through & self.good
        return {
            "f1": Share(2.0 * right, 1.0 * self.through + self.good),
            "precision": Share(right, self.through),
            "recall": Share(right, self.good),
        }


def decided(study: Study, texts: Material, evaluator: Evaluator, used: BoolArray | None = None) -> Decided:
    """Return an evaluator's decisions on the texts that it scored, or on those that are `used`."""
    used = ~np.isnan(evaluator.scores) if used is None else used
    scale, options = texts.assignment.scale, options_of(study, DecisionsOptions)
    border = scale.low + options.good_from * scale.width - TOLERANCE
    groups = [each.group for each, is_used in zip(texts.test, used, strict=True) if is_used]
    return Decided(evaluator.scores[used] >= border, human_scores(texts)[used] >= border, groups)


DECISIONS = Design(
    name="decisions",
    cases=every_case,
    at_most=AGREEMENT.at_most,
    run=run,
    measures=("f1", "precision", "recall", "spearman", "pearson", "kendall"),
    options=DecisionsOptions,
)

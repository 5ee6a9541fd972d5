"""`discrimination`: how well do arms tell texts with a high human score from texts with a low one? (DCR, table 1.)

The figure is the area under the ROC curve over all texts tested, for human scores of two kinds: of a pair of sentences,
whether they mean the same.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from experiments.runner.arms import trial
from experiments.runner.bench import Bench, no_figure
from experiments.runner.cases import Case, Material, every_case
from experiments.runner.designs.agreement import AGREEMENT
from experiments.runner.designs.attempts import evaluator_of, telling
from experiments.runner.designs.design import Design, options_of
from experiments.runner.figures import baseline_evaluators, human_scores
from experiments.runner.results import Outcome, Row
from experiments.runner.roc import auroc
from rubriclab import Evaluator, RubriclabError
from rubriclab.research import FrozenModel


class DiscriminationOptions(FrozenModel):
    """Which texts count as positive.

    Attributes:
        border: as a share of the scale's width; a text whose human score lies there or above is positive.
    """

    border: float = Field(0.5, gt=0, le=1)


async def run(bench: Bench, case: Case) -> Outcome:
    """Return the area under the curve of every arm and baseline."""
    texts, rows = bench.material(case), list[Row]()
    border = options_of(bench.study, DiscriminationOptions).border
    for place, arm in enumerate(bench.study.arms):
        on_progress = telling(bench, case, arm, place)
        try:
            done = await trial(
                arm, texts, bench.judge, seed=case.seed, under_way=bench.under_way, on_progress=on_progress
            )
        except RubriclabError as error:
            rows.append(Row(arm=arm.name, missing=no_figure(error)))
            continue
        row = _row(texts, evaluator_of(arm.name, done), border)
        rows.append(row.model_copy(update={"learning": done.learning, "scoring": done.scored.spent}))
    for baseline, note in baseline_evaluators(texts):
        rows.append(_row(texts, baseline, border).model_copy(update={"note": note}))
    return Outcome(case=case, split=texts.split, rows=tuple(rows))


def _row(texts: Material, evaluator: Evaluator, border: float) -> Row:
    scale = texts.assignment.scale
    positive = human_scores(texts) >= scale.low + border * scale.width
    return Row(
        arm=evaluator.name,
        figures={"auroc": auroc(evaluator.scores, positive).rounded()},
        counts={
            "texts": len(texts.test),
            "positive": int(positive.sum()),
            "unscored": int(np.isnan(evaluator.scores).sum()),
        },
    )


DISCRIMINATION = Design(
    name="discrimination",
    cases=every_case,
    at_most=AGREEMENT.at_most,
    run=run,
    measures=("auroc",),
    options=DiscriminationOptions,
)

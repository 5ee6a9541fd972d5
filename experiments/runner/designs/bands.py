"""`bands`: how well do arms agree with people among the weak texts alone, and among the good ones alone?

CheckEval (appendix C.1, figure 4) parts the texts by their human score, as at 3 on a scale from 1 to 5, and correlates
within each part. Scores differ less within a band than among all texts, and so does what there is to agree with: two
evaluators can be compared in one band, hardly one evaluator in two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from experiments.runner.arms import trial
from experiments.runner.bench import Bench, no_figure
from experiments.runner.cases import Case, Material, every_case
from experiments.runner.designs.agreement import AGREEMENT
from experiments.runner.designs.attempts import evaluator_of, telling
from experiments.runner.designs.design import Design, options_of
from experiments.runner.figures import agreement_row, baseline_evaluators, bases, gap, human_scores
from experiments.runner.results import Gap, Outcome, Row
from experiments.runner.study import Study
from rubriclab import Evaluator, RubriclabError
from rubriclab.research import FrozenModel

ALL, LOW, HIGH = "all texts", "low", "high"


class BandsOptions(FrozenModel):
    """Where the texts are parted.

    Attributes:
        border: as a share of the scale's width; a text whose human score lies there is a high one. The paper's example
            is 0.5: 3 on a scale from 1 to 5.
    """

    border: float = Field(0.5, gt=0, lt=1)


@dataclass(frozen=True, eq=False)
class Band:
    """Some of the texts tested, and which they are among all of them."""

    name: str
    texts: Material
    inside: npt.NDArray[np.bool_]

    def of(self, evaluator: Evaluator) -> Evaluator:
        """Return the evaluator's scores of these texts; its answers are not known by text."""
        return Evaluator(evaluator.name, evaluator.scores[self.inside])


async def run(bench: Bench, case: Case) -> Outcome:
    """Return the agreement of every arm and baseline on all texts tested, on the low and on the high ones."""
    texts, study = bench.material(case), bench.study
    rows, evaluators = await _all_texts(bench, case, texts)
    basis = bases(study, texts)
    # A band in which hardly any text has a rival left is not measured at another level for that.
    fixed = study.model_copy(update={"level": basis["paper"].level, "levels": {}})
    gaps = _gaps(fixed, texts, evaluators, ALL)
    for band in bands(texts, options_of(study, BandsOptions).border):
        inside = [band.of(evaluator) for evaluator in evaluators]
        rows += [_in_band(agreement_row(fixed, band.texts, evaluator), band.name) for evaluator in inside]
        gaps += _gaps(fixed, band.texts, inside, band.name)
    return Outcome(case=case, split=texts.split, basis=basis, rows=tuple(rows), gaps=tuple(gaps))


def bands(texts: Material, border: float) -> tuple[Band, Band]:
    """Return the texts tested that have a human score below the border, and the others."""
    scale = texts.assignment.scale
    high = human_scores(texts) >= scale.low + border * scale.width
    low, above = (
        Band(name, replace(texts, test=tuple(compress(texts.test, inside))), inside)
        for name, inside in ((LOW, ~high), (HIGH, high))
    )
    return low, above


async def _all_texts(bench: Bench, case: Case, texts: Material) -> tuple[list[Row], list[Evaluator]]:
    """Return the rows over all texts, and the evaluators that have one with figures."""
    study, rows, evaluators = bench.study, list[Row](), list[Evaluator]()

    def add(evaluator: Evaluator, about: dict[str, Any]) -> None:
        evaluators.append(evaluator)
        rows.append(agreement_row(study, texts, evaluator).model_copy(update={"variant": ALL, **about}))

    for place, arm in enumerate(study.arms):
        on_progress = telling(bench, case, arm, place)
        try:
            done = await trial(
                arm, texts, bench.judge, seed=case.seed, under_way=bench.under_way, on_progress=on_progress
            )
        except RubriclabError as error:
            rows.append(Row(arm=arm.name, variant=ALL, missing=no_figure(error)))
            continue
        add(evaluator_of(arm.name, done), {"learning": done.learning, "scoring": done.scored.spent})
    for baseline, note in baseline_evaluators(texts):
        add(baseline, {"note": note})
    return rows, evaluators


def _in_band(row: Row, name: str) -> Row:
    """Return a row of some of the texts, without counts of answers, which are known for all texts only."""
    counts = {what: count for what, count in row.counts.items() if not what.startswith("answers")}
    return row.model_copy(update={"variant": name, "counts": counts})


def _gaps(study: Study, texts: Material, evaluators: Sequence[Evaluator], name: str) -> list[Gap]:
    known = {evaluator.name: evaluator for evaluator in evaluators}
    pairs = [(known[first], known[second]) for first, second in study.compare if {first, second} <= set(known)]
    return [gap(study, texts, *pair).model_copy(update={"variant": name}) for pair in pairs]


BANDS = Design(
    name="bands",
    cases=every_case,
    at_most=AGREEMENT.at_most,
    run=run,
    measures=AGREEMENT.measures,
    options=BandsOptions,
)

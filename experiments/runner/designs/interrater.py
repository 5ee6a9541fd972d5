"""`interrater`: how far several judges agree with one another, and with people, by one rubric.

The first judge learns, and all score the same texts (CheckEval, section 5.2, tables 4, 10, 19 and 21). The paper's
alpha and kappa are of single answers for a checklist and of scores for other methods, so the agreement of final scores,
which is the same question for every method, is measured too.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing

from experiments.runner.arms import Tally, evaluator_of
from experiments.runner.cases import Case, Material
from experiments.runner.designs.design import Bench, Design, check_different
from experiments.runner.figures import agreement_row
from experiments.runner.results import Outcome, Row, Spent
from experiments.runner.study import Arm, Study
from rubriclab import Score
from rubriclab.learning.scoring import score_stream
from rubriclab.ops.evaluate import Figure, InterraterAgreement, Kind, interrater_agreement
from rubriclab.stats.intervals import Interval, rounded

# The alpha that fits a kind of answer.
ALPHA: Mapping[Kind, Figure] = {
    "yes/no": "alpha_nominal",
    "graded": "alpha_interval",
}


async def run(bench: Bench, case: Case) -> Outcome:
    """Return for every arm how far the judges agree with one another and with people."""
    check_different(bench.judges)
    texts = bench.material(case)

    async def attempt(arm: Arm) -> Row:
        learned = await bench.learned(arm, texts, case.seed)
        rubric, scored, spent = learned.trained.rubric, dict[str, Sequence[Score]](), Spent()
        for judge in bench.judges:
            tally = Tally(judge)
            async with aclosing(score_stream(rubric, texts.test, tally, rubric.aspect.name, bench.under_way)) as found:
                scored[judge.name] = [score async for score in found]
            spent += tally.spent
        row = _row(bench.study, texts, arm, interrater_agreement(rubric, texts.test, scored), scored)
        return row.model_copy(update={"learning": learned.spent, "scoring": spent})

    rows, missing = await bench.of_arms(case, attempt)
    return bench.outcome(case, texts, [*rows.values(), *missing])


def _row(
    study: Study, texts: Material, arm: Arm, found: InterraterAgreement, scored: Mapping[str, Sequence[Score]]
) -> Row:
    """Return the agreement on all answers of the most frequent kind, on scores, and with people."""
    answers = max((*found.pooled, *found.criteria), key=lambda each: (each.criteria, each.answers))
    among = {
        "alpha": answers.figures[ALPHA[answers.kind]].rounded(),
        "kappa": answers.figures["fleiss_kappa"].rounded() if "fleiss_kappa" in answers.figures else Interval(None),
        "score_alpha": found.scores.alpha.rounded(),
        "score_spearman": Interval(_mean(pair.spearman.value for pair in found.pairs)),
    }
    with_people = [agreement_row(study, texts, evaluator_of(judge, scores)) for judge, scores in scored.items()]
    ours = [row.ours for row in with_people if row.ours]
    sums = {name: sum(row.counts[name] for row in with_people) for name in ("unscored", "answers", "answers_missing")}
    counts = {"judges": len(scored), "criteria": answers.criteria, "compared": answers.answers, **sums}
    return Row(
        arm=arm.name,
        figures={**among, **_with_people([row.figures for row in with_people])},
        ours={**among, **_with_people(ours)} if ours else None,
        counts={"texts": len(texts.test), **counts},
        note=f"{answers.kind} answers",
    )


def _with_people(figures: Sequence[Mapping[str, Interval]]) -> dict[str, Interval]:
    """Return the judges' mean correlation with people, and its standard deviation over the judges."""
    known = [value for each in figures if (value := each["spearman"].value) is not None]
    spread = statistics.stdev(known) if len(known) > 1 else None
    return {"spearman": Interval(_mean(known)), "spearman_sd": Interval(rounded(spread))}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return rounded(statistics.fmean(known)) if known else None


INTERRATER = Design(run, ("alpha", "kappa", "score_alpha", "score_spearman", "spearman", "spearman_sd"), judges=(2, 20))

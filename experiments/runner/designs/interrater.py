"""`interrater`: one rubric in the hands of several judges; how far do they agree with one another, and with people?

The first judge learns, as a checklist or evaluation steps are written once, and all score the same texts by what came
of it. CheckEval (section 5.2, tables 4, 10, 19 and 21) reports Krippendorff's alpha and Fleiss' kappa among models;
`rubriclab.interrater` tells what its units are. Since these are single answers for a checklist and scores for others,
the agreement of final scores stands beside, which is the same question for every method.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing

import numpy as np

from experiments.runner.arms import Tally, course, learning_at_most, scoring_at_most
from experiments.runner.bench import Bench, no_figure
from experiments.runner.cases import Case, Material, every_case
from experiments.runner.designs.attempts import taught, telling
from experiments.runner.designs.design import Design
from experiments.runner.figures import agreement_row, bases
from experiments.runner.results import Outcome, Row, Spent
from experiments.runner.study import Arm, Study
from rubriclab import (
    CallEstimate,
    ChecklistError,
    Evaluator,
    Example,
    Judge,
    Rubric,
    RubriclabError,
    Score,
    SettingsError,
)
from rubriclab.research import (
    CriterionAgreement,
    Figure,
    InterraterAgreement,
    Kind,
    Progress,
    interrater_agreement,
    score_stream,
)
from rubriclab.stats import Interval, rounded

# The alpha that fits a kind of answer.
ALPHA: Mapping[Kind, Figure] = {
    "yes/no": "alpha_nominal",
    "part-by-part": "alpha_interval",
    "graded": "alpha_ordinal",
}
MOST_JUDGES = 20
UNDEFINED = Interval(None)

# By judge, in the order of the texts.
Scored = Mapping[str, Sequence[Score]]


async def run(bench: Bench, case: Case) -> Outcome:
    """Return for every arm how far the judges agree, and how well they do with people.

    Raises:
        SettingsError: if two of the judges are one and the same.
    """
    _check_identities(bench.judges)
    texts, study = bench.material(case), bench.study
    rows = list[Row]()
    for place, arm in enumerate(study.arms):
        try:
            rows.append(await _row(bench, case, texts, arm, telling(bench, case, arm, place)))
        except RubriclabError as error:
            rows.append(Row(arm=arm.name, missing=no_figure(error)))
    return Outcome(case=case, split=texts.split, basis=bases(study, texts), rows=tuple(rows))


def at_most(bench: Bench, case: Case) -> tuple[CallEstimate, ...]:
    """Return the most that is asked of each judge: of the first to learn and to score, of the others to score."""
    texts = bench.material(case)
    learning, scoring = CallEstimate(), CallEstimate()
    for arm in bench.study.arms:
        try:
            given = course(arm, texts.learned_from, texts.home, texts.benchmarks)
        except ChecklistError:
            continue
        learning = sum(learning_at_most(given), learning)
        scoring += scoring_at_most(given, texts.test)
    return (learning + scoring, *(scoring for _ in bench.judges[1:]))


async def _row(bench: Bench, case: Case, texts: Material, arm: Arm, on_progress: Progress) -> Row:
    """Return what the judges make of the test by what the first of them learned."""
    training_input = await taught(
        course(arm, texts.learned_from, texts.home, texts.benchmarks), bench.judge, case.seed, on_progress
    )
    rubric, scored, spent = training_input.trained.rubric, dict[str, Sequence[Score]](), Spent()
    for done, judge in enumerate(bench.judges):
        on_progress(f"{judge.name} scores {len(texts.test)} texts", (1 + done / len(bench.judges)) / 2)
        tally = Tally(judge)
        scored[judge.name] = await _scores(rubric, texts.test, tally, bench.under_way)
        spent += tally.spent
    row = _figures(bench.study, texts, arm, interrater_agreement(rubric, texts.test, scored), scored)
    return row.model_copy(update={"learning": training_input.spent, "scoring": spent})


async def _scores(rubric: Rubric, texts: Sequence[Example], judge: Judge, under_way: int) -> list[Score]:
    async with aclosing(score_stream(rubric, texts, judge, rubric.aspect.name, under_way)) as found:
        return [score async for score in found]


def _figures(study: Study, texts: Material, arm: Arm, found: InterraterAgreement, scored: Scored) -> Row:
    answers = _most_answered(found)
    among = {
        "alpha": answers.figures[ALPHA[answers.kind]].rounded(),
        "kappa": answers.figures["fleiss_kappa"].rounded() if "fleiss_kappa" in answers.figures else UNDEFINED,
        "score_alpha": found.scores.unbinned["alpha_interval"].rounded(),
        "score_spearman": Interval(_mean(pair.spearman.value for pair in found.pairs)),
    }
    with_people = [agreement_row(study, texts, _evaluator(judge, scores)) for judge, scores in scored.items()]
    ours = [row.ours for row in with_people if row.ours]
    return Row(
        arm=arm.name,
        figures={**among, **_with_people([row.figures for row in with_people])},
        ours={**among, **_with_people(ours)} if ours else None,
        counts={
            "texts": len(texts.test),
            "judges": len(scored),
            "criteria": answers.criteria,
            "compared": answers.answers,
            "unscored": sum(row.counts["unscored"] for row in with_people),
            "answers": sum(row.counts["answers"] for row in with_people),
            "answers_missing": sum(row.counts["answers_missing"] for row in with_people),
        },
        note=f"{answers.kind} answers",
    )


def _most_answered(found: InterraterAgreement) -> CriterionAgreement:
    """Return the agreement on all answers of the kind that there are most of."""
    return max((*found.pooled, *found.criteria), key=lambda each: (each.criteria, each.answers))


def _with_people(figures: Sequence[Mapping[str, Interval]]) -> dict[str, Interval]:
    """Return the judges' mean correlation with people, and its standard deviation over the judges."""
    known = [value for each in figures if (value := each["spearman"].value) is not None]
    spread = statistics.stdev(known) if len(known) > 1 else None
    return {"spearman": Interval(_mean(known)), "spearman_sd": Interval(rounded(spread))}


def _evaluator(judge: str, scores: Sequence[Score]) -> Evaluator:
    values = np.array([np.nan if score.score is None else score.score for score in scores], dtype=float)
    answers, missing = sum(score.answers for score in scores), sum(score.answers_missing for score in scores)
    return Evaluator(judge, values, missing, answers)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return rounded(statistics.fmean(known)) if known else None


def _check_identities(judges: Sequence[Judge]) -> None:
    for place, judge in enumerate(judges):
        for other in judges[:place]:
            if other.identity == judge.identity:
                raise SettingsError(
                    f"{other.name} and {judge.name} are one and the same judge;",
                    "its agreement with itself says nothing.",
                )


CONCORDANCE = Design(
    name="interrater",
    cases=every_case,
    at_most=at_most,
    run=run,
    measures=("alpha", "kappa", "score_alpha", "score_spearman", "spearman", "spearman_sd"),
    fewest_judges=2,
    most_judges=MOST_JUDGES,
)

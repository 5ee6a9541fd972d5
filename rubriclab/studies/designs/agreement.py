"""`agreement`: every arm learns and scores the same texts; how well do its scores agree with people?"""

from __future__ import annotations

import itertools

from rubriclab.errors import ChecklistError, RubriclabError
from rubriclab.evaluation import Evaluator
from rubriclab.methods.estimate import Estimate
from rubriclab.studies.arms import Trial, course, learning_at_most, scoring_at_most, trial
from rubriclab.studies.bench import Bench, no_figure
from rubriclab.studies.cases import Case, every_case
from rubriclab.studies.designs.design import Design
from rubriclab.studies.figures import agreement_row, bases, floor_evaluators, gap
from rubriclab.studies.results import Gap, Outcome, Row


async def run(bench: Bench, case: Case) -> Outcome:
    """Return the agreement of every arm and floor, and the differences that the study names."""
    texts, study = bench.material(case), bench.study
    rows, evaluators = list[Row](), dict[str, Evaluator]()
    for place, arm in enumerate(study.arms):

        def say(doing: str, share: float, name: str = arm.name, place: int = place) -> None:
            bench.say(f"{case}: {name}: {doing}", (place + share) / len(study.arms))

        try:
            done = await trial(arm, texts, bench.judge, seed=case.seed, under_way=bench.under_way, say=say)
        except RubriclabError as error:
            rows.append(Row(arm=arm.name, missing=no_figure(error)))
            continue
        evaluators[arm.name] = evaluator_of(arm.name, done)
        row = agreement_row(study, texts, evaluators[arm.name])
        rows.append(row.model_copy(update={"learning": done.learning, "scoring": done.scored.spent}))
    for floor, note in floor_evaluators(texts):
        evaluators[floor.name] = floor
        rows.append(agreement_row(study, texts, floor).model_copy(update={"note": note}))
    pairs = ((evaluators.get(first), evaluators.get(second)) for first, second in study.compare)
    gaps: list[Gap] = [gap(study, texts, first, second) for first, second in pairs if first and second]
    return Outcome(
        case=case,
        split=texts.split,
        basis=bases(study, texts),
        rows=tuple(rows),
        gaps=tuple(gaps),
    )


def evaluator_of(name: str, done: Trial) -> Evaluator:
    """Return a trial's scores under the arm's name."""
    scored = done.scored
    return Evaluator(name, scored.values, scored.answers_missing, scored.answers)


def at_most(bench: Bench, case: Case) -> tuple[Estimate]:
    """Return the most that all arms ask; those without the questions that they start from ask nothing."""
    texts, total = bench.material(case), Estimate()
    for arm in bench.study.arms:
        try:
            given = course(arm, texts.learned_from, texts.home)
        except ChecklistError:
            continue
        total = sum(itertools.chain(learning_at_most(given), [scoring_at_most(given, texts.test)]), total)
    return (total,)


AGREEMENT = Design(
    name="agreement",
    cases=every_case,
    at_most=at_most,
    run=run,
    measures=("spearman", "pearson", "kendall"),
)

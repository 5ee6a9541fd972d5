"""The results of arms on the texts of a case: agreement, beside baselines and each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from experiments.runner.arms import Course, Tally, Trial, course, learn, score
from experiments.runner.bench import Bench, no_figure
from experiments.runner.cases import Case, Material
from experiments.runner.figures import agreement_row, baseline_evaluators, bases, gap
from experiments.runner.results import Outcome, Row, Spent
from experiments.runner.study import Arm
from rubriclab import Assignment, ChecklistError, Evaluator, Judge, RubriclabError
from rubriclab.research import Progress, Trained

# Makes an arm learn and score the texts tested, and tells how far it is.
Attempt = Callable[[Arm, Progress], Awaitable[Trial]]


@dataclass(frozen=True, eq=False)
class Taught:
    """What an arm learned, and what that took."""

    trained: Trained
    spent: Spent


def startable(arm: Arm, texts: Material, told: Assignment | None = None) -> Course | None:
    """Return an arm with what it learns from, `None` if no questions ship that it starts from.

    Args:
        told: what it learns to judge, where prompts speak of that otherwise than of the texts' own assignment.
    """
    try:
        return course(arm, texts.learned_from, told or texts.home, texts.benchmarks)
    except ChecklistError:
        return None


async def taught(given: Course, judge: Judge, seed: int, on_progress: Progress) -> Taught:
    """Return what an arm learns from `judge`; it is told of as the first half of the arm.

    Raises:
        DataError: if it needs labels and has none.
        JudgeError: if nothing could be learned.
    """
    tally = Tally(judge)
    trained = await learn(given, tally, seed=seed, on_progress=lambda doing, share: on_progress(doing, share / 2))
    return Taught(trained, tally.spent)


async def tested(training_input: Taught, texts: Material, judge: Judge, under_way: int, on_progress: Progress) -> Trial:
    """Return the scores that `judge` gives the texts tested by what was learned, wherever that was.

    The rubric is asked in the words of their task and with the definition of their aspect.
    """
    assignment = texts.assignment
    update = {"task": assignment.words.task, "aspect": assignment.aspect}
    rubric = training_input.trained.rubric.model_copy(update=update)
    scored = await score(
        rubric,
        texts.test,
        judge,
        under_way=under_way,
        on_progress=lambda doing, share: on_progress(doing, (1 + share) / 2),
    )
    return Trial(training_input.trained, training_input.spent, scored)


async def outcome_of(bench: Bench, case: Case, texts: Material, attempt: Attempt) -> Outcome:
    """Return the agreement of every arm's scores and of the baselines, and the differences that the study names.

    Raises:
        JudgeError: if the provider fails altogether; an arm that fails by itself has a row that says why.
    """
    study, rows, evaluators = bench.study, list[Row](), dict[str, Evaluator]()
    for place, arm in enumerate(study.arms):
        try:
            done = await attempt(arm, telling(bench, case, arm, place))
        except RubriclabError as error:
            rows.append(Row(arm=arm.name, missing=no_figure(error)))
            continue
        evaluators[arm.name] = evaluator_of(arm.name, done)
        row = agreement_row(study, texts, evaluators[arm.name])
        rows.append(row.model_copy(update={"learning": done.learning, "scoring": done.scored.spent}))
    for baseline, note in baseline_evaluators(texts):
        evaluators[baseline.name] = baseline
        rows.append(agreement_row(study, texts, baseline).model_copy(update={"note": note}))
    pairs = ((evaluators.get(first), evaluators.get(second)) for first, second in study.compare)
    return Outcome(
        case=case,
        split=texts.split,
        basis=bases(study, texts),
        rows=tuple(rows),
        gaps=tuple(gap(study, texts, first, second) for first, second in pairs if first and second),
    )


def evaluator_of(name: str, done: Trial) -> Evaluator:
    """Return a trial's scores under the arm's name."""
    scored = done.scored
    return Evaluator(name, scored.values, scored.answers_missing, scored.answers)


def telling(bench: Bench, case: Case, arm: Arm, place: int) -> Progress:
    """Return what tells how far an arm is as a share of all arms; `place` is its own among them."""

    def on_progress(doing: str, share: float) -> None:
        bench.on_progress(f"{case}: {arm.name}: {doing}", (place + share) / len(bench.study.arms))

    return on_progress

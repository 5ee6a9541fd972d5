"""A study from its first case to its last, kept after each of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from experiments.runner.bench import Bench
from experiments.runner.cases import Case, left_out
from experiments.runner.designs import design_named
from experiments.runner.designs.design import Design, options_of
from experiments.runner.results import Results
from experiments.runner.sets import Sets
from experiments.runner.study import Study, studies
from rubriclab import CallEstimate, DataError, SettingsError


@dataclass(frozen=True)
class Schedule:
    """A study, ready to run.

    Attributes:
        cases: all that can be run on the sets that are there.
        notes: what cannot, and why.
    """

    study: Study
    design: Design
    sets: Sets
    cases: tuple[Case, ...]
    notes: tuple[str, ...]

    def left(self, done: Collection[str]) -> tuple[Case, ...]:
        """Return the cases that are not finished."""
        return tuple(case for case in self.cases if str(case) not in done)

    def empty(self, judges: Sequence[str], *, small: bool) -> Results:
        """Return results without any case."""
        names = dict.fromkeys(name for case in self.cases for name in (case.set, *(case.home or ())[:1]))
        return Results(
            study=self.study.name,
            digest=self.study.digest,
            small=small,
            configuration=None if self.study.name in studies() else self.study.configuration,
            judges=tuple(judges),
            data={name: self.sets.digest(name) for name in names},
        )


def schedule(study: Study, sets: Sets, judges: int = 1) -> Schedule:
    """Return what of a study can be run.

    Raises:
        SettingsError: for a set, aspect, option or setting that does not exist, or too few or many judges.
        DataError: if none of its sets is there, or nothing can be run on them.
    """
    design = design_named(study.design)
    options_of(study, design.options)
    if not design.fewest_judges <= judges <= design.most_judges:
        wanted = _judges(design)
        raise SettingsError(f"{study.name} takes {wanted}, and {judges} were named.", "Give --judge once for each.")
    for name, aspect in study.qualities:
        sets.assignment(name, aspect)
    notes = tuple(left_out(study, sets))
    cases = tuple(design.cases(study, sets))
    if not cases:
        files = ", ".join(f"{sets.about(name).file}.jsonl" for name in study.sets)
        raise DataError(
            f"Nothing of {study.name} can be run on {sets.folder}{': ' if notes else ''}{'; '.join(notes)}.",
            f"It runs on any of: {files} (also as .gz). python -m experiments data makes them of the public files.",
        )
    return Schedule(study, design, sets, cases, notes)


def at_most(found: Schedule, bench: Bench, cases: Iterable[Case]) -> tuple[CallEstimate, ...]:
    """Return the most that the cases ask of each judge."""
    total = [CallEstimate() for _ in bench.judges]
    # Cases that differ in nothing but the seed of the learning ask the same at most.
    known: dict[tuple[str, frozenset[str], tuple[str, ...]], Sequence[CallEstimate]] = {}
    for case in cases:
        texts = bench.material(case)
        seedless = case.model_copy(update={"seed": 0})
        key = (str(seedless), frozenset(each.id for each in texts.learned_from), tuple(each.id for each in texts.test))
        if key not in known:
            known[key] = found.design.at_most(bench, case)
        total = [before + more for before, more in zip(total, known[key], strict=True)]
    return tuple(total)


async def run(
    found: Schedule,
    bench: Bench,
    results: Results,
    *,
    keep: Callable[[Results], None],
    model_versions: Callable[[], Iterable[str]] = tuple,
) -> Results:
    """Return the results with the cases that were left, each handed to `keep` as soon as it is finished.

    Raises:
        JudgeError: if the provider fails altogether; the results so far have been kept.
    """
    left = found.left(results.done)
    for number, case in enumerate(left):

        def on_progress(doing: str, share: float, number: int = number) -> None:
            bench.on_progress(doing, (number + share) / len(left))

        outcome = await found.design.run(replace(bench, on_progress=on_progress), case)
        results = results.with_case(outcome, model_versions())
        keep(results)
    return results


def _judges(design: Design) -> str:
    fewest, most = design.fewest_judges, design.most_judges
    if fewest == most:
        return "one judge" if most == 1 else f"{most} judges"
    return f"{fewest} to {most} judges"

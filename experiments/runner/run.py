"""A study from its first case to its last, stored after each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from experiments.runner.cases import Case, left_out
from experiments.runner.designs import design_named
from experiments.runner.designs.design import Bench, Design, options_of
from experiments.runner.results import Results, present_prompts
from experiments.runner.sets import Sets
from experiments.runner.study import Study
from rubriclab import DataError, SettingsError


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

    def empty(self, judges: Sequence[str], *, small: bool) -> Results:
        """Return results without any case."""
        names = dict.fromkeys(name for case in self.cases for name in (case.set, *(case.home or ())[:1]))
        return Results(
            format="rubriclab-study-results/1",
            study=self.study.name,
            digest=self.study.digest,
            small=small,
            judges=tuple(judges),
            prompts=present_prompts(),
            data={name: self.sets.digest(name) for name in names},
        )

    def left(self, results: Results) -> list[Case]:
        """Return the cases that are not finished."""
        return [case for case in self.cases if str(case) not in results.done]


def schedule(study: Study, sets: Sets, judges: int = 1) -> Schedule:
    """Return what of a study can be run."""
    design = design_named(study.design)
    options_of(study, design.options)
    fewest, most = design.judges
    if not fewest <= judges <= most:
        wanted = f"{fewest} to {most} judges" if fewest < most else f"{most} judge{'s' * (most > 1)}"
        raise SettingsError(f"{study.name} takes {wanted}, got {judges}.", "Give --judge once for each.")
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


async def run(
    found: Schedule,
    bench: Bench,
    results: Results,
    *,
    keep: Callable[[Results], None],
    model_versions: Callable[[], Iterable[str]] = tuple,
) -> Results:
    """Return the results with the cases that were left, each given to `keep` as soon as it is finished."""
    left = found.left(results)
    for number, case in enumerate(left):

        def on_progress(doing: str, share: float, number: int = number) -> None:
            bench.on_progress(doing, (number + share) / len(left))

        outcome = await found.design.run(replace(bench, on_progress=on_progress), case)
        results = results.with_case(outcome, model_versions())
        keep(results)
    return results

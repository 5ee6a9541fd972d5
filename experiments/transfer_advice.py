"""Figures of the README: whether the advice was right, from the study's stored results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from experiments import STUDIES
from experiments.runner.designs.carrying import ADVISED, NEAR
from experiments.runner.results import Outcome, read_results

RESULTS = STUDIES / "transfer" / "results" / "embedded.json"
PAIRS = {
    "SummEval, NewsRoom": ("summeval", "newsroom"),
    "HANNA, halves": ("hanna",),
    "Topical-Chat, halves": ("topical",),
}
SAID = ("right", "unbeaten", "near")
ACTIONS = ("reuse", "recalibrate", "reweight", "reselect", "relearn")


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    cases = read_results(RESULTS).cases
    return {"advice": advice(cases), "summary": summary(cases), "fixed rules": fixed_rules(cases)}


def advice(cases: Sequence[Outcome]) -> str:
    """Return how often the advice was right, and the mean errors, by pair of sets, for Markdown."""
    columns = [*ACTIONS, ADVISED]
    heads = ["pairs", "cases", *SAID, *columns]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for title, starts in (*PAIRS.items(), ("all", ("",))):
        own = [case for case in cases if case.case.set.startswith(starts)]
        shares = [f"{share(own, name):.0%}" for name in SAID]
        errors = [f"{mean(own, name, 'error'):.2f}" for name in columns]
        lines.append(f"| {' | '.join([title, str(len(own)), *shares, *errors])} |")
    return "\n".join(lines)


def summary(cases: Sequence[Outcome]) -> str:
    """Return in a sentence how good the advice is, and that a fixed rule does as well."""
    aspects = {(case.case.set, case.case.aspect) for case in cases}
    near = {name: sum(is_near(case, name) for case in cases) for name in (ADVISED, "relearn")}
    return (
        f"In {share(cases, 'right'):.0%} of {len(cases)} transfers to {len(aspects)} aspects of public sets, no other "
        f"action was significantly better on held-out\ngroups than the recommended one. The recommended action "
        f"was near the best in {near[ADVISED] / len(cases):.0%}; always relearning, in\n"
        f"{near['relearn'] / len(cases):.0%}. "
        "30 labels often cannot tell which action is best."
    )


def fixed_rules(cases: Sequence[Outcome]) -> str:
    """Return how often each action is near the best, and what is expected of it against what came, for Markdown."""
    counted: dict[str, Callable[[Outcome, str], bool]] = {"smallest error": is_best, "near the smallest": is_near}
    heads = ["action", *counted, "expected error", "error found", "Spearman"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name in (ADVISED, *ACTIONS):
        counts = [f"{sum(holds(case, name) for case in cases)} of {len(cases)}" for holds in counted.values()]
        means = [f"{mean(cases, name, measure):.2f}" for measure in ("expected error", "error", "spearman")]
        lines.append(f"| {' | '.join([name, *counts, *means])} |")
    return "\n".join(lines)


def values(case: Outcome, measure: str) -> dict[str, float]:
    """Return one measure of each action that was tried; a correlation that is undefined counts as 0."""
    found = {row.arm: row.figures[measure].value for row in case.rows if measure in row.figures}
    return {name: value or 0.0 for name, value in found.items() if value is not None or measure == "spearman"}


def mean(cases: Sequence[Outcome], arm: str, measure: str) -> float:
    """Return the mean of a measure of an action over the cases where it was tried."""
    found = [values(case, measure) for case in cases]
    return float(np.mean([each[arm] for each in found if arm in each]))


def share(cases: Sequence[Outcome], said: str) -> float:
    """Return in what share of the cases the advice was right, in one of the senses."""
    return mean(cases, ADVISED, said)


def is_best(case: Outcome, arm: str) -> bool:
    """Return whether an action has the smallest error on the held-out groups."""
    errors = values(case, "error")
    return arm in errors and errors[arm] <= min(errors.values())


def is_near(case: Outcome, arm: str) -> bool:
    """Return whether no action has a smaller error by more than `NEAR`."""
    errors = values(case, "error")
    return arm in errors and errors[arm] <= min(errors.values()) + NEAR

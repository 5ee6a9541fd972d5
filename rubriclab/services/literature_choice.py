"""Which findings a rubric is learned with: those that ship, the user's own, and without those about a tested set."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from rubriclab.errors import LiteratureError, SettingsError
from rubriclab.literature import Finding, load_findings
from rubriclab.option_names import option
from rubriclab.papers.findings import benchmark_name, similar_benchmark
from rubriclab.services.workspace import Notify

if TYPE_CHECKING:
    from rubriclab.services.learn import LearnOptions


def chosen_findings(aspect: str, options: LearnOptions, notify: Notify) -> tuple[Finding, ...]:
    """Return the findings that the options leave, and say where a data set to leave out has none.

    Raises:
        SettingsError: if the name of such a set is similar to one that findings carry, as if it were misspelt.
        LiteratureError: if a file cannot be used, or one of the user's own has the id of one that ships.
    """
    if options.no_literature:
        return ()
    findings = _all_findings(options)
    known = {name for finding in findings for name in finding.benchmarks}
    without = left_out(options)
    for name in without:
        if name not in known:
            _say_unused(name, known, options.task, notify)
    return tuple(each for each in findings if each.bears_on(aspect) and not {*without} & {*each.benchmarks})


def left_out(options: LearnOptions) -> tuple[str, ...]:
    """Return the data sets to leave out, spelled as findings spell them, also those that ship."""
    if options.no_literature or not options.literature_without:
        return ()
    findings = (*load_findings(options.task), *_all_findings(options))
    known = {name for finding in findings for name in finding.benchmarks}
    return tuple(dict.fromkeys(benchmark_name(name, known) for name in options.literature_without))


def _say_unused(name: str, known: Collection[str], task: str, notify: Notify) -> None:
    """Say that no finding carries a name; of a misspelt one, the findings would be learned from."""
    there = f"; there are some about {', '.join(sorted(known))}" if known else ""
    message = (
        f"{option('literature_without', name)} leaves nothing out: no finding for {task} is about the raters of "
        f"{name}{there}"
    )
    if meant := similar_benchmark(name, known):
        raise SettingsError(f"{message}.", f"Did you mean {meant!r}? If not, leave out the name {name!r}.")
    notify(message)


def _all_findings(options: LearnOptions) -> tuple[Finding, ...]:
    """Return the findings for the task: those that ship, the user's own, or both."""
    own = load_findings(options.task, None, options.literature)
    if not (options.literature and options.literature_included):
        return own
    shipped = load_findings(options.task)
    if taken := {each.id for each in own} & {each.id for each in shipped}:
        raise LiteratureError(
            f"{options.literature}: the id {min(taken)!r} is that of a finding that ships.", "Give yours another id."
        )
    return (*shipped, *own)

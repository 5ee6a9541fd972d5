"""`rubriclab transfer`: what a rubric is worth on other texts or with another judge, and what to do about it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    asking_options,
    dry_run_option,
    json_option,
    option,
    rows_options,
    store_option,
)
from rubriclab.cli.places import FILE, JUDGE

if TYPE_CHECKING:
    from rubriclab.cli.relearning import Relearning
    from rubriclab.cli.session import JudgeChoice, Session
    from rubriclab.judges.judge import Judge
    from rubriclab.methods.estimate import CallEstimate
    from rubriclab.provenance import Action
    from rubriclab.store import Version
    from rubriclab.transfer.run import FittedTransfer, RelearnFunction, SourceRubric, TargetTexts

ACTIONS = ("reuse", "recalibrate", "reweight", "reselect", "relearn")


@click.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@option(
    "--to",
    "targets",
    multiple=True,
    required=True,
    type=FILE,
    metavar="PATH",
    help="Texts to carry the rubric over to, with labels or without; several for a matrix.",
)
@option(
    "--judge",
    "judges",
    multiple=True,
    type=JUDGE,
    metavar="JUDGE",
    help="Who is asked there; several for a matrix.  [default: whom the rubric is calibrated for]",
)
@option("--aspect", help="The aspect that the target's labels are of.  [default: the rubric's]")
@option("--definition", help="What that aspect means; shipped for those of the well-known data sets.")
@option("--scale", metavar="LOW:HIGH", help="The scale of the target's labels; taken from the labels if not given.")
@option(
    "--labels",
    type=click.IntRange(min=10),
    metavar="K",
    help="Use so many of the labels; the others check what comes of it.  [default: all]",
)
@option("--no-relearn", is_flag=True, help="Do not try to learn from scratch, which takes the most calls.")
@option("--save", is_flag=True, help="Keep the result as a version whose parent is REF.")
@option("--action", type=click.Choice(ACTIONS), help="What to save.  [default: what is advised]")
@option("--name", help="The name to save under.  [default: the rubric's]")
@option("--matrix", is_flag=True, help="Show all rubrics, targets and judges in one table.")
@option("--csv", "table", type=FILE, metavar="PATH", help="Also write the table as CSV.")
@option("--report", type=FILE, metavar="PATH", help="Also write a report as one HTML file.")
@option("--seed", type=click.IntRange(min=0), default=42, show_default=True, help="Of draws and folds.")
@asking_options
@rows_options
@store_option
@dry_run_option
@json_option
def transfer(refs: Sequence[str], **given: Any) -> None:
    """Say what a rubric is worth on other texts or with another judge, and what to do about it.

    The target's labels tell how well people agree with it there, what fitting it anew would give, and which is worth
    it: reuse it, recalibrate it, reweight its criteria or relearn them. Every figure is of texts whose own labels had
    no part in it. Without labels it is said how far the texts lie from those that the rubric was learned from.
    """
    from rubriclab.cli.session import session

    many = given["matrix"] or max(len(set(refs)), len(set(given["targets"])), len(set(given["judges"]))) > 1
    _check(given, many=many)
    with session(given["store"], given, create=False) as work:
        judges: tuple[str | None, ...] = tuple(dict.fromkeys(given["judges"])) or (None,)
        asked = itertools.product(dict.fromkeys(refs), dict.fromkeys(given["targets"]), judges)
        cells = [_cell(ref, path, judge, given, work) for ref, path, judge in asked]
        if given["dry_run"]:
            _say_most(cells, given)
            return
        found = list(_carried(cells, given, work))
        if given["table"]:
            _write_table(given["table"], found)
        if given["report"]:
            _write_report(given["report"], found)
        if many:
            _print_matrix(found, work, as_json=given["as_json"])
            return
        saved = _save(cells[0], found[0], given, work) if given["save"] and _savable(found[0], given) else None
        _print_one(found[0], saved, work, as_json=given["as_json"])
        if given["save"]:
            _refuse_unsaved(found[0], given)


@dataclass(frozen=True)
class _Cell:
    """A version, a target, and who is asked; the generator is asked where the rubric is learned anew."""

    version: Version
    home: SourceRubric
    target: TargetTexts
    choice: JudgeChoice
    generator: JudgeChoice
    relearning: Relearning | None


def _check(given: dict[str, Any], *, many: bool) -> None:
    from rubriclab.cli.files import check_place
    from rubriclab.errors import SettingsError

    if many and given["save"]:
        raise SettingsError("--save keeps one result; this asks for a matrix.", "Give one REF, one --to, one --judge.")
    if given["action"] and not given["save"]:
        raise SettingsError("--action says what to save.", "Give --save with it.")
    if given["action"] == "relearn" and given["no_relearn"]:
        raise SettingsError("--action relearn is not tried with --no-relearn.", "Leave one of them out.")
    if given["table"] and given["table"] == given["report"]:
        raise SettingsError("--csv and --report would write to the same file.", "Name two.")
    for path, what in ((given["table"], "--csv"), (given["report"], "--report")):
        for target in given["targets"] if path else ():
            check_place(path, target, "The result", what)


def _cell(ref: str, path: str, named: str | None, given: dict[str, Any], work: Session) -> _Cell:
    from rubriclab.cli.relearning import relearning_of
    from rubriclab.cli.session import generator_of, judge_of
    from rubriclab.cli.target import target_of
    from rubriclab.errors import SettingsError
    from rubriclab.transfer.run import SourceRubric

    version = work.store.load(ref)
    home = SourceRubric(version.ref, version.rubric, version.provenance, work.store.training(version.ref))
    target = target_of(path, version, given)
    if given["save"] and not target.labelled:
        raise SettingsError("There are no labels to fit the rubric to, so there is nothing to save.", "Give labels.")
    relearning = None if given["no_relearn"] or not target.labelled else relearning_of(version, target, given["seed"])
    choice = judge_of(version, named, work.store)
    generator = (relearning and generator_of(version, work.store)) or choice
    return _Cell(version, home, target, choice, generator, relearning)


def _say_most(cells: Sequence[_Cell], given: dict[str, Any]) -> None:
    from rubriclab.cli.dry_run import say_most

    names = [f"{cell.version.ref} on {cell.target.name} by {cell.choice.spec}" for cell in cells]
    most = {name: _at_most(cell) for name, cell in zip(names, cells, strict=True)}
    judges = {name: cell.choice.spec for name, cell in zip(names, cells, strict=True)}
    say_most(most, judges, given, proposes=any(cell.relearning for cell in cells))


def _at_most(cell: _Cell) -> CallEstimate:
    from rubriclab.scoring.estimate import scoring_at_most
    from rubriclab.transfer.rating_matrix import with_dropped_criteria

    rubric, target = cell.version.rubric, cell.target
    total = scoring_at_most(rubric, target.examples)
    if not target.labelled:
        return total
    wide = rubric.model_copy(update={"parts": with_dropped_criteria(rubric, cell.home.record)})
    use, check = target.split(0)
    total += scoring_at_most(wide, target.labelled)
    if cell.relearning:
        # Learning rates each of its texts at least as often as scoring by what it learned would.
        total += cell.relearning.at_most(use) * (1 + math.ceil(len(check) / len(use)))
    return total


def _carried(cells: Sequence[_Cell], given: dict[str, Any], work: Session) -> Iterator[FittedTransfer]:
    """Yield what became of each cell; of several, one that cannot be had costs the others nothing.

    Raises:
        RubriclabError: if none could be had.
    """
    from rubriclab.cli.session import note
    from rubriclab.errors import BudgetReached, DataError, JudgeError, JudgeRefused, ProviderDown, ReplayMiss

    latest: DataError | JudgeError | ReplayMiss | None = None
    done = 0
    for cell in cells:
        try:
            yield _run(cell, given, work)
            done += 1
        except (BudgetReached, JudgeRefused, ProviderDown):
            raise
        except (DataError, JudgeError, ReplayMiss) as error:
            latest = error
            if len(cells) > 1:
                note(f"left out: {cell.version.ref} on {cell.target.name} by {cell.choice.spec}: {error}")
    if latest and not done:
        raise latest


def _run(cell: _Cell, given: dict[str, Any], work: Session) -> FittedTransfer:
    from rubriclab.cli.progress import progress
    from rubriclab.cli.session import finish
    from rubriclab.transfer.run import transfer as carry

    judge = work.judge(cell.choice)
    relearn = _relearn(cell, judge, work) if cell.relearning else None
    with progress(work.ledger) as advance:
        return finish(
            lambda: carry(
                cell.home,
                cell.target,
                judge,
                relearn=relearn,
                seed=given["seed"],
                under_way=2 * work.options.concurrency,
                on_progress=advance,
            )
        )


def _relearn(cell: _Cell, judge: Judge, work: Session) -> RelearnFunction | None:
    """Return the training from scratch; who proposed criteria for the version proposes here too."""
    if cell.relearning is None:
        return None
    generator = judge if cell.generator == cell.choice else work.judge(cell.generator)
    return cell.relearning.by(judge, generator, lambda: sorted(work.ledger.model_versions))


def _chosen(carried: FittedTransfer, given: dict[str, Any]) -> Action:
    """Return the action to save."""
    advice = carried.transfer.advice
    if advice is None:
        raise ValueError("expected a transfer with labels, got one without")
    action: Action = given["action"] or advice.action
    return action


def _savable(carried: FittedTransfer, given: dict[str, Any]) -> bool:
    return _chosen(carried, given) in carried.adapted


def _refuse_unsaved(carried: FittedTransfer, given: dict[str, Any]) -> None:
    """Return if what was to be saved could be.

    Raises:
        SettingsError: if that action could not be tried.
    """
    from rubriclab.errors import SettingsError

    action = _chosen(carried, given)
    if action not in carried.adapted:
        why = next(each.skipped for each in carried.transfer.actions if each.action == action)
        raise SettingsError(f"{action} cannot be saved: {why}.")


def _save(cell: _Cell, carried: FittedTransfer, given: dict[str, Any], work: Session) -> Version:
    from rubriclab.transfer.new_version import as_trained

    judge, model_versions = work.judge(cell.choice), sorted(work.ledger.model_versions)
    action = _chosen(carried, given)
    made = as_trained(cell.home, carried, action, judge, model_versions)
    provenance = made.provenance.model_copy(update=_sources(cell, action, work))
    name = given["name"] or cell.version.name
    return work.store.save(name, made.rubric, provenance, work.effort(), cell.version.ref, training=made.record)


def _sources(cell: _Cell, action: Action, work: Session) -> dict[str, str | None]:
    """Return which imported versions named the judge and the generator that the provenance records."""
    from rubriclab.cli.session import named_by

    generator_from = cell.generator.named_by
    if action != "relearn":
        inherited = named_by(cell.version, cell.version.provenance.generator_from, work.store)
        generator_from = inherited.ref if inherited else None
    return {"judge_from": cell.choice.named_by, "generator_from": generator_from}


def _print_one(carried: FittedTransfer, saved: Version | None, work: Session, *, as_json: bool) -> None:
    from rubriclab.cli.printing import effort_row, print_json, print_view
    from rubriclab.report.transfer import transfer_view

    if as_json:
        row = {**carried.transfer.model_dump(mode="json"), "saved": saved.ref if saved else None}
        print_json({**row, **effort_row(work.effort())})
        return
    print_view(transfer_view(carried.transfer))
    if saved and saved.new:
        click.echo(f"\nkept as {saved.ref}, whose parent is {saved.parent}; calibrated for {saved.provenance.judge}")
    elif saved:
        click.echo(f"\n{saved.ref} holds just that already, so there is no new version")


def _print_matrix(found: Sequence[FittedTransfer], work: Session, *, as_json: bool) -> None:
    from rubriclab.cli.printing import effort_row, print_json, print_view
    from rubriclab.report.transfer import transfer_matrix_view

    rows = [carried.transfer for carried in found]
    if as_json:
        print_json({"cells": [row.model_dump(mode="json") for row in rows], **effort_row(work.effort())})
    else:
        print_view(transfer_matrix_view(rows))


def _write_table(path: str, found: Sequence[FittedTransfer]) -> None:
    import csv
    import io

    from rubriclab.cli.files import writing
    from rubriclab.report.transfer import csv_rows

    rows = csv_rows([carried.transfer for carried in found])
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with writing(path) as write:
        write(text.getvalue().encode())


def _write_report(path: str, found: Sequence[FittedTransfer]) -> None:
    from rubriclab.cli.files import writing
    from rubriclab.report.transfer import transfer_report

    page = transfer_report([carried.transfer for carried in found])
    with writing(path) as write:
        write(page.encode())

"""`rubriclab evaluate`: how well rubrics agree with human scores, beside the baselines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    dry_run_option,
    json_option,
    judge_options,
    option,
    rows_options,
    settings_option,
    store_option,
)
from rubriclab.cli.places import FILE
from rubriclab.methods.names import BASELINE_NAMES

if TYPE_CHECKING:
    from rubriclab.services.evaluate import Evaluation


@click.command()
@click.argument("heldout")
@option(
    "--rubric",
    "rubrics",
    multiple=True,
    required=True,
    metavar="REF",
    help="A rubric to evaluate; may be given several times.",
)
@option(
    "--baseline",
    "baselines",
    multiple=True,
    type=click.Choice(BASELINE_NAMES),
    help="Also evaluate this baseline, made for the rubric's aspect and saved as a version; may be repeated.",
)
@option(
    "--labelled",
    type=FILE,
    metavar="PATH",
    help="Labelled texts that the baseline few_shot shows; they are not evaluated.",
)
@option(
    "--level",
    "levels",
    multiple=True,
    type=click.Choice(["group", "dataset", "system"]),
    help="Level of agreement; may be given several times.  [default: all]",
)
@option(
    "--constant-groups",
    type=click.Choice(["skip", "papers"]),
    default="skip",
    show_default=True,
    help="What a group with constant human scores counts for; 'papers' counts it as 1, as HypoEval does.",
)
@option("--include-training", is_flag=True, help="Keep the groups that a rubric was learned from.")
@option("--report", type=FILE, metavar="PATH", help="Also write a report as one HTML file.")
@judge_options
@settings_option
@rows_options
@store_option
@dry_run_option
@json_option
def evaluate(
    heldout: str, *, rubrics: tuple[str, ...], report: str | None, dry_run: bool, as_json: bool, **values: Any
) -> None:
    """Evaluate rubrics on HELDOUT texts with human scores, beside baselines that never read a text.

    Groups that any of the rubrics was learned from are left out; their number is printed.
    """
    from rubriclab.cli.printing import note, print_dry_run
    from rubriclab.cli.workspace import options_of, workspace_of
    from rubriclab.errors import DataError
    from rubriclab.services import evaluate as service
    from rubriclab.services.running import finish

    if report and not Path(report).absolute().parent.is_dir():
        raise DataError(f"{report} cannot be written: there is no such folder.")
    options = options_of(service.EvaluateOptions, values)
    with workspace_of(values) as workspace:
        if dry_run:
            print_dry_run(service.evaluate_at_most(workspace, heldout, rubrics, options), as_json=as_json)
            return
        evaluation = finish(lambda: service.evaluate(workspace, heldout, rubrics, options))
    _print(evaluation, as_json=as_json)
    evaluation.check_answered()
    if report:
        _write_report(report, evaluation)
        note(f"report written to {report}")


def _print(evaluation: Evaluation, *, as_json: bool) -> None:
    from rubriclab.cli.printing import print_json, print_view

    if as_json:
        print_json({"results": [result.to_row() for result in evaluation.results]})
        return
    print_view(evaluation)


def _write_report(path: str, evaluation: Evaluation) -> None:
    from rubriclab.errors import DataError
    from rubriclab.report.evaluation import evaluation_view

    view = evaluation_view(evaluation.versions, evaluation.results, evaluation.scores, evaluation.examples)
    try:
        Path(path).write_text(view.page(), "utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}.") from None

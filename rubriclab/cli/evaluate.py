"""`rubriclab evaluate` and `rubriclab gate`: how well rubrics agree with human scores, beside the baselines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import check_exports, write_exports
from rubriclab.cli.options import (
    command,
    export_options,
    json_option,
    measurement_options,
    option,
    record_option,
    store_option,
)
from rubriclab.cli.places import FILE
from rubriclab.cli.printing import options_of, print_dry_run, print_json, print_result, print_view, workspace_of

if TYPE_CHECKING:
    from rubriclab.models.version import Outcome
    from rubriclab.ops.evaluate import Evaluation
    from rubriclab.report.render import View


@command(None, "EvaluateOptions", "CallOptions", "BatchOptions")
@click.argument("heldout", type=FILE)
@option(
    "--rubric",
    "rubrics",
    multiple=True,
    required=True,
    metavar="REF",
    help="A rubric to evaluate; may be given several times.",
)
@measurement_options
@record_option
def evaluate(heldout: str, *, rubrics: tuple[str, ...], dry_run: bool, as_json: bool, **values: Any) -> None:
    """Evaluate rubrics on HELDOUT texts with human scores, and compare them with free baselines.

    Groups (texts of one source) that any of the rubrics was learned from are left out, and their number is reported.
    """
    from rubriclab.ops import evaluate as service
    from rubriclab.ops.options import EvaluateOptions
    from rubriclab.ops.workspace import finish

    check_exports(values)
    options = options_of(EvaluateOptions, values)
    with workspace_of(values) as workspace:
        job = service.evaluate(workspace, heldout, rubrics, options)
        if dry_run:
            print_dry_run(job.estimate(), as_json=as_json)
            return
        evaluation = finish(job.run)
    _print(evaluation, as_json=as_json)
    evaluation.check_answered()
    write_exports(evaluation.view(), values, page=_page(evaluation) if values["html"] else None)


def _print(evaluation: Evaluation, *, as_json: bool) -> None:
    if as_json:
        print_json(evaluation.to_row())
        return
    print_view(evaluation)


def _page(evaluation: Evaluation) -> View:
    """Return the full report, with a part on each rubric, which takes time to compute."""
    from rubriclab.report.evaluation import evaluation_view

    return evaluation_view(evaluation.versions, evaluation.results, evaluation.scores, evaluation.examples)


EXIT_CODES: Mapping[Outcome, int] = {"better": 0, "not better": 1, "inconclusive": 3}


@command()
@click.argument("ref")
@export_options
@store_option
@json_option
def gate(ref: str, *, as_json: bool, **values: Any) -> None:
    """Report whether the version REF agrees better with people than the same judge asked directly.

    The comparison was made on held-out labels when the version was learned, in correlation and in error. A rubric must
    also be better than baselines without calls. Exit codes: 0 better, 1 not better, 3 inconclusive.
    """
    from rubriclab.ops import versions as service

    check_exports(values)
    with workspace_of(values) as workspace:
        result = service.gate(workspace, ref)
    fields = {"level", "n", "groups", "folds", "evaluators", "verdicts", "verdict_agreements"}
    figures = result.validation.model_dump(mode="json", include=fields)
    row = {"rubric": result.version.ref, "outcome": result.outcome, **figures}
    print_result(result.view(), row, values, as_json=as_json)
    click.get_current_context().exit(EXIT_CODES[result.outcome])

"""`rubriclab evaluate` and `rubriclab gate`: how well rubrics agree with human scores, beside the baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    command,
    export_options,
    json_option,
    measurement_options,
    option,
    record_option,
    rubric_option,
    store_option,
)
from rubriclab.cli.output import (
    FILE,
    OUTPUT,
    check_exports,
    check_rows_place,
    effort_row,
    note,
    options_of,
    print_dry_run,
    print_json,
    print_result,
    print_view,
    run,
    workspace_of,
    write_exports,
    writing_rows,
)
from rubriclab.errors import SettingsError

if TYPE_CHECKING:
    from rubriclab.learning.paired_scores import LimitOutcome
    from rubriclab.models.version import Outcome


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
def evaluate(heldout: str, *, rubrics: tuple[str, ...], as_json: bool, **values: Any) -> None:
    """Evaluate rubrics on HELDOUT texts with human scores, and compare them with free baselines.

    Groups (texts of one source) that any of the rubrics was learned from are left out, and their number is reported.
    """
    from rubriclab.ops import evaluate as service
    from rubriclab.ops.options import EvaluateOptions

    check_exports(values)
    options = options_of(EvaluateOptions, values)
    evaluation = run(values, service.evaluate, heldout, rubrics, options, as_json=as_json)
    if evaluation is None:
        return
    print_json(evaluation.to_row()) if as_json else print_view(evaluation)
    evaluation.check_answered()
    page = None
    if values["html"]:
        # The full report, with a part on each rubric, which takes time to compute.
        from rubriclab.report.evaluation import evaluation_view

        page = evaluation_view(evaluation.versions, evaluation.results, evaluation.scores, evaluation.examples)
    write_exports(evaluation.view(), values, page=page)


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


@command(None, "CompareOptions", "CallOptions")
@click.argument("outputs", type=FILE, nargs=-1, required=True, metavar="OLD [NEW]")
@rubric_option
@measurement_options
@record_option
def compare(
    outputs: tuple[str, ...],
    *,
    rubric: str,
    as_json: bool,
    **values: Any,
) -> None:
    """Compare two sets of outputs, OLD and NEW, by one rubric, or the systems in one file.

    \b
    rubriclab compare old.jsonl new.jsonl --rubric news@production --max-drop 0.2
    rubriclab compare outputs.jsonl --rubric news@production

    The result has the means, their paired difference with its interval, the criteria that changed, and the texts whose
    scores fell most. The exit code is 0 if the drop is within --max-drop (without it: if there is no significant drop),
    1 if it is beyond, and 3 if inconclusive. One file with several systems (field system) gives a ranking.
    """
    from rubriclab.ops import compare as service
    from rubriclab.ops.options import CompareOptions

    if len(outputs) > 2:
        raise SettingsError(f"Expected OLD and NEW, or one file, got {len(outputs)} files.", "Compare two at a time.")
    before, after = outputs[0], outputs[1] if len(outputs) == 2 else None
    check_exports(values)
    options = options_of(CompareOptions, values)
    result = run(values, service.compare, before, after, rubric, options, as_json=as_json)
    if result is None:
        return
    row = {**result.result.model_dump(mode="json"), "outcome": result.outcome, **effort_row(result.effort)}
    print_result(result.view(), row, values, as_json=as_json)
    click.get_current_context().exit(LIMIT_EXIT_CODES[result.outcome])


LIMIT_EXIT_CODES: Mapping[LimitOutcome, int] = {"within": 0, "beyond": 1, "inconclusive": 3}
ORDER = "REF [REF] TEXTS"


@command(None, "DriftOptions", "CallOptions")
@click.argument("named", type=FILE, nargs=-1, required=True, metavar=ORDER)
@option(
    "--anchor",
    type=FILE,
    metavar="FILE",
    help="In place of TEXTS, labelled texts that REF scores again at each look; FILE.looks.json keeps the sums.",
)
@option(
    "--output",
    "-o",
    type=OUTPUT,
    metavar="PATH",
    help="Write the texts that flip to this file, with all reasons, as JSON Lines.",
)
@option("--all", "write_all", is_flag=True, help="Write all texts to --output, not only those that flip.")
@measurement_options
@record_option
def drift(
    named: Sequence[str],
    *,
    output: str | None,
    write_all: bool,
    anchor: str | None,
    dry_run: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Measure how the scores of TEXTS change from one version REF or judge to another.

    \b
    rubriclab drift news@1 news@2 texts.jsonl
    rubriclab drift news@2 texts.jsonl --judge JUDGE --judge OTHER
    rubriclab drift news@2 --anchor labelled.jsonl

    The result has the shift of the scores, the changes of rank, the texts that cross a threshold, and the criteria that
    cause the changes. The exit code is 1 if a limit is exceeded (--max-shift, --max-flips, --min-rank), and 3 if
    inconclusive. With --anchor it is 1 if the errors of the labelled texts have changed since the first look; however
    often one looks, at most one judge in twenty that does not change is reported.
    """
    from rubriclab.ops import compare as service
    from rubriclab.ops.options import DriftOptions
    from rubriclab.ops.workspace import finish

    before, after, texts = _sides([*named, anchor] if anchor else named)
    options = options_of(DriftOptions, {**values, "anchor": anchor is not None})
    check_exports(values)
    if anchor and output:
        raise SettingsError("--output: with --anchor no text is compared.", "Leave --output out.")
    if write_all and not output:
        raise SettingsError("--all needs --output.", "Give --output PATH.")
    if output == "-":
        raise SettingsError("Standard output is used for the figures.", "Give --output a file.")
    if output:
        check_rows_place(output)
    with workspace_of(values) as workspace:
        if dry_run:
            print_dry_run(service.drift(workspace, texts, before, after, options).estimate(), as_json=as_json)
            return
        # If no text flips, those of an earlier run must not remain.
        with writing_rows(output, always=True) if output else nullcontext() as write:

            def on_row(row: dict[str, Any]) -> None:
                if write and (write_all or row["flips"]):
                    write(row)

            job = service.drift(workspace, texts, before, after, options, on_row=on_row if output else None)
            result = finish(job.run)
    found = {**result.result.model_dump(mode="json"), "outcome": result.outcome}
    print_result(result.view(), {**found, "output": output, **effort_row(result.effort)}, values, as_json=as_json)
    if output and not as_json:
        note(f"{'all texts' if write_all else 'texts that flip'} written to {output}")
    result.check_answered()
    click.get_current_context().exit(LIMIT_EXIT_CODES[result.outcome])


def _sides(named: Sequence[str]) -> tuple[str, str | None, str]:
    """Return the version before, the version after if another one is named, and the file."""

    from rubriclab.models.version import names_a_version

    if not 2 <= len(named) <= 3:
        raise SettingsError(
            f"Expected {ORDER}, got {len(named)} arguments.", "Name two versions, or one version and two judges."
        )
    if names_a_version(named[-1]) and not Path(named[-1]).exists():
        raise SettingsError(
            f"Expected {ORDER}; {named[-1]} is a version, and no file of texts is named.",
            f"Add the texts to score with both: rubriclab drift {' '.join(named)} TEXTS",
        )
    return named[0], named[1] if len(named) == 3 else None, named[-1]


@command(None, "AgreeOptions", "CallOptions")
@click.argument("texts", type=FILE)
@rubric_option
@measurement_options
@record_option
def agree(texts: str, *, rubric: str, as_json: bool, **values: Any) -> None:
    """Measure the agreement of judges that score TEXTS by the same rubric: alpha, kappas, differences in severity.

    TEXTS need no human scores. Agreement is reported for the scores, binned and not, and for each criterion.
    """
    from rubriclab.ops import evaluate as service
    from rubriclab.ops.options import AgreeOptions

    check_exports(values)
    options = options_of(AgreeOptions, values)
    result = run(values, service.agree, texts, rubric, options, as_json=as_json)
    if result is None:
        return
    row = {"rubric": result.version.ref, **result.agreement.to_row(), **effort_row(result.effort)}
    print_result(result.view(), row, values, as_json=as_json)
    result.check_answered()


@command(None, "TransferOptions", "CallOptions")
@click.argument("ref")
@option(
    "--to",
    "target",
    required=True,
    type=FILE,
    metavar="PATH",
    help="Texts to transfer the rubric to, with or without labels.",
)
@measurement_options
@record_option
def transfer(ref: str, *, target: str, as_json: bool, **values: Any) -> None:
    """Measure a rubric's agreement on other texts or with another judge, and recommend what to do.

    With labels, the rubric is measured in three ways: as it is, recalibrated, and learned again with its criteria among
    the candidates. All figures are held out. The recommended way has the smallest mean absolute error. Without labels,
    only the share of texts outside of the range of the training texts is known.
    """
    from rubriclab.ops.options import TransferOptions
    from rubriclab.ops.transfer import transfer as prepare

    check_exports(values)
    result = run(values, prepare, ref, target, options_of(TransferOptions, values), as_json=as_json)
    if result is None:
        return
    saved = result.saved
    row = {**result.transfer.model_dump(mode="json"), "saved": saved.ref if saved else None}
    print_result(result.view(), {**row, **effort_row(result.effort)}, values, as_json=as_json)
    if saved and saved.new and not as_json:
        click.echo(f"\nsaved as {saved.ref}, whose parent is {saved.parent}; calibrated for {saved.provenance.judge}")
    elif saved and not as_json:
        click.echo(f"\nequal to {saved.ref}, so there is no new version")
    result.check_saved()

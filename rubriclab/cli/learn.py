"""`rubriclab learn`: labelled texts to a version in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import command, option, record_option, run_options
from rubriclab.cli.places import FILE
from rubriclab.cli.printing import effort_row, note, options_of, print_dry_run, print_json, print_view, workspace_of

if TYPE_CHECKING:
    from rubriclab.models.rubric import Rubric
    from rubriclab.models.version import TrainingAgreement
    from rubriclab.ops.learn import LearnResult


@command(None, "LearnOptions", "CallOptions", "BatchOptions", "GeneratorOptions")
@click.argument("labelled", type=FILE)
@option(
    "--gate",
    is_flag=True,
    help="Exit with 1 if the rubric is no better than the baselines, 3 if inconclusive.",
)
@run_options
@record_option
def learn(labelled: str, *, gate: bool, dry_run: bool, as_json: bool, **values: Any) -> None:
    """Learn a rubric from LABELLED texts and save it as a version in the store.

    Several methods propose criteria. The labels select, weight and calibrate them, and cross-validation measures how
    well the rubric agrees with labels that it was not fitted to. LABELLED is a .jsonl, .csv, .tsv, .xlsx or .parquet
    file of texts with human scores, or - for standard input. After an interruption, or if a limit was reached, run the
    same command again: answers are cached when they arrive.
    """
    from rubriclab.ops import learn as service
    from rubriclab.ops.options import LearnOptions
    from rubriclab.ops.workspace import finish

    options = options_of(LearnOptions, values)
    if gate:
        service.check_joint(options, "gate")
    with workspace_of(values) as workspace:
        job = service.learn(workspace, labelled, options)
        if dry_run:
            print_dry_run(job.estimate(), as_json=as_json)
            return
        result = finish(job.run)
    _print_json(result) if as_json else _print(result)
    validation = result.version.provenance.validation
    if gate and validation:
        from rubriclab.cli.evaluate import EXIT_CODES

        click.get_current_context().exit(EXIT_CODES[validation.outcome])


def _print(result: LearnResult) -> None:
    from rubriclab.models.characters import count
    from rubriclab.report.training import learned_view
    from rubriclab.report.wording import effort

    version = result.version
    criteria, provenance = version.rubric.criteria, version.provenance
    print_view(learned_view(version))
    if not version.new:
        note(f"{version.ref} is unchanged, so no new version was saved")
    if provenance.agreement and not provenance.validation:
        click.echo(_agreement(version.rubric, provenance.agreement))
    correlations = [criterion.evidence.pearson or 0 for criterion in criteria]
    if provenance.agreement and max(correlations, default=0) <= 0 and (provenance.agreement.spearman.value or 0) <= 0:
        nothing = "none of the criteria tracks" if len(criteria) > 1 else "it does not track"
        note(f"warning: {nothing} the labels; the scores of this rubric mean nothing")
    if result.effort.failed:
        note(
            f"{count(result.effort.failed, 'prompt')} had no usable reply; the same command with --retry-failed asks "
            f"{'it' if result.effort.failed == 1 else 'them'} again"
        )
    note(f"Learning took {effort(result.effort)}.")
    note(f"Saved in {result.place}. Details: rubriclab show {version.ref} --evidence")


def _agreement(rubric: Rubric, agreement: TrainingAgreement) -> str:
    from rubriclab.report.describe import labels_proposed
    from rubriclab.report.wording import estimate

    spearman = f"Spearman {estimate(agreement.spearman)} on the {agreement.n} training texts"
    if not agreement.optimistic:
        return f"{spearman}, whose labels were not used"
    held_out = f"{estimate(agreement.reselected)} cross-validated over groups"
    if labels_proposed(rubric):
        return f"{spearman}, {held_out}; both are optimistic, as the criteria were proposed from these labels"
    return f"{spearman} (optimistic, as it was fitted to them), {held_out}"


def _print_json(result: LearnResult) -> None:
    version, provenance = result.version, result.version.provenance
    row: dict[str, Any] = {
        "rubric": version.ref,
        "new": version.new,
        "digest": version.digest,
        "criteria": len(version.rubric.criteria),
        **effort_row(result.effort),
        "agreement": provenance.agreement.model_dump(mode="json") if provenance.agreement else {},
    }
    if provenance.validation:
        row["outcome"] = provenance.validation.outcome
        row["validation"] = provenance.validation.model_dump(mode="json")
    print_json(row)

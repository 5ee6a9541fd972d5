"""`rubriclab learn`: labelled texts to a version in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    batch_options,
    checked_address,
    command,
    count_option,
    judge_options,
    option,
    run_options,
    settings_option,
    together,
)
from rubriclab.cli.places import FILE, JUDGE
from rubriclab.cli.printing import effort_row, note, options_of, print_dry_run, print_json, print_view, workspace_of
from rubriclab.methods.catalogue import DEFAULT_METHODS, METHOD_NAMES

if TYPE_CHECKING:
    from rubriclab.models.rubric import Rubric
    from rubriclab.models.version import TrainingAgreement
    from rubriclab.ops.learn import LearnResult

joint_options = together(
    count_option(
        "--criteria",
        at_least=1,
        at_most=30,
        help="The maximum number of criteria in a rubric of several methods.  [default: 8]",
    ),
    option(
        "--prefer-recall-of",
        metavar="LEVEL=SHARE",
        help="For labels of two levels: find at least this share of the texts at one, as in fail=0.95.  "
        "[default: the best balanced accuracy]",
    ),
    option(
        "--text-features",
        type=click.Choice(["include", "exclude"]),
        help="Whether text features, which take no calls, may enter the rubric.  [default: exclude]",
    ),
    option(
        "--gate",
        is_flag=True,
        help="Exit with 1 if the rubric is no better than the baselines, 3 if inconclusive.",
    ),
)


@command()
@click.argument("labelled", type=FILE)
@option("--task", required=True, help="The kind of text: summarization, story, dialogue, or your own word.")
@option("--aspect", help="The aspect to learn; the rows must have scores for it.  [required]")
@option(
    "--method",
    "methods",
    multiple=True,
    metavar="METHOD",
    help=f"Learn with this method only; give several to combine them: {', '.join(METHOD_NAMES)}, "
    "or one that an installed package offers.  "
    f"[default: {', '.join(DEFAULT_METHODS)} together]",
)
@option(
    "--name",
    from_found="never",
    help="The rubric's name in the store.  [default: TASK-ASPECT, or TASK-ASPECT-METHOD for one method]",
)
@option("--definition", help="What the aspect means; included for the aspects of well-known data sets.")
@option("--scale", metavar="LOW:HIGH", help="The raters' scale, as in 1:5; taken from the labels if not given.")
@option(
    "--seed",
    type=click.IntRange(min=0),
    default=42,
    show_default=True,
    help="Seed of the order in which texts are used.",
)
@option(
    "--generator",
    type=JUDGE,
    metavar="JUDGE",
    help="The model that proposes and refines criteria.  [default: the judge]",
)
@option(
    "--generator-api-base",
    metavar="URL",
    callback=checked_address,
    help="The address of its server, if it has one of its own; --api-base is then for the judge. Its key is read from "
    "RUBRICLAB_GENERATOR_API_KEY.",
)
@option(
    "--literature",
    type=FILE,
    metavar="PATH",
    help="Your own findings on what raters reward, a file or a folder.  [default: the included ones]",
)
@option(
    "--literature-included",
    is_flag=True,
    help="Use the included findings too, beside those of --literature.",
)
@option(
    "--literature-without",
    metavar="SET",
    multiple=True,
    help="Leave out findings about the raters of this public data set, if you test on it; may be given several times.",
)
@option("--no-literature", is_flag=True, help="Learn without published findings.")
@option(
    "--checklist",
    type=FILE,
    metavar="PATH",
    help="Your own questions, for checkeval, seal and dcr.  [default: the included ones]",
)
@joint_options
@option(
    "--parent",
    from_found="never",
    metavar="REF",
    help="The version to record as the parent.  [default: the newest of the name]",
)
@judge_options
@batch_options
@settings_option
@run_options
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

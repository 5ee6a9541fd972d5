"""`rubriclab learn`: labelled texts to a version in the store."""

from __future__ import annotations

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
    together,
)
from rubriclab.cli.places import FILE, JUDGE
from rubriclab.methods.names import DEFAULT_METHODS, METHOD_NAMES

if TYPE_CHECKING:
    from rubriclab.provenance import TrainingAgreement
    from rubriclab.rubric import Rubric
    from rubriclab.services.learn import LearnResult

joint_options = together(
    option(
        "--calls-per-text",
        type=click.FloatRange(min=0, min_open=True),
        metavar="N",
        help="The most calls that scoring one text may take.  [default: no bound]",
    ),
    option(
        "--prefer",
        type=click.Choice(["smallest", "accuracy"]),
        help="The smallest rubric within one standard error of the best, or the best.  [default: smallest]",
    ),
    option(
        "--surface",
        type=click.Choice(["include", "exclude"]),
        help="Whether measures of a text's surface, which cost nothing, may enter the rubric.  [default: exclude]",
    ),
    option(
        "--no-shortcuts",
        is_flag=True,
        help="Leave out criteria that correlate with length, copying or form more than with the labels.",
    ),
    option(
        "--gate",
        is_flag=True,
        help="Exit with 1 if the rubric is no better than the baselines, 3 if inconclusive.",
    ),
)


@click.command()
@click.argument("labelled")
@option("--task", required=True, help="The kind of text: summarization, story, dialogue, or a word of your own.")
@option("--aspect", required=True, help="The aspect to learn, one that the rows have scores for.")
@option(
    "--method",
    "methods",
    multiple=True,
    metavar="METHOD",
    help=f"Learn with this method or baseline alone; given several times, with all of them: {', '.join(METHOD_NAMES)}, "
    "or one that an installed package offers.  "
    f"[default: {', '.join(DEFAULT_METHODS)} together]",
)
@option("--name", help="The rubric's name in the store.  [default: TASK-ASPECT, or TASK-ASPECT-METHOD for one method]")
@option("--definition", help="What the aspect means; shipped for those of the well-known data sets.")
@option("--scale", metavar="LOW:HIGH", help="The raters' scale, as in 1:5; taken from the labels if not given.")
@option(
    "--seed",
    type=click.IntRange(min=0),
    default=42,
    show_default=True,
    help="Decides the order in which the texts are seen.",
)
@option(
    "--generator",
    type=JUDGE,
    metavar="JUDGE",
    help="The model that proposes and refines criteria.  [default: the judge]",
)
@option(
    "--literature",
    type=FILE,
    metavar="PATH",
    help="Findings of your own, a file or a folder.  [default: those that ship]",
)
@option(
    "--literature-without",
    metavar="SET",
    multiple=True,
    help="Leave out findings about the raters of a public data set that you test on; may be given several times.",
)
@option("--no-literature", is_flag=True, help="Learn without findings.")
@option(
    "--checklist",
    type=FILE,
    metavar="PATH",
    help="Questions of your own, for checkeval, seal and dcr.  [default: those that ship]",
)
@joint_options
@option("--parent", metavar="REF", help="The version that this one continues.  [default: the newest of the name]")
@judge_options
@settings_option
@rows_options
@store_option
@dry_run_option
@json_option
def learn(labelled: str, *, gate: bool, dry_run: bool, as_json: bool, **values: Any) -> None:
    """Learn a rubric from LABELLED texts and save it as a version in the store.

    Several methods find criteria; the labels select, weight and calibrate them; cross-validation measures how well the
    rubric agrees with labels that it was not fitted to. LABELLED is a .jsonl, .csv (both also .gz) or .parquet file of
    texts with human scores, or - for standard input. After an interruption or a cap, the same command resumes: every
    answer is cached when it arrives.
    """
    from rubriclab.cli.printing import print_dry_run
    from rubriclab.cli.workspace import options_of, workspace_of
    from rubriclab.services import learn as service
    from rubriclab.services.running import finish

    options = options_of(service.LearnOptions, values)
    if gate:
        service.check_joint(options, "gate")
    with workspace_of(values) as workspace:
        if dry_run:
            print_dry_run(service.learn_at_most(workspace, labelled, options), as_json=as_json)
            return
        result = finish(lambda: service.learn(workspace, labelled, options))
    _print_json(result) if as_json else _print(result)
    validation = result.version.provenance.validation
    if gate and validation:
        from rubriclab.cli.gate import EXIT_CODES

        click.get_current_context().exit(EXIT_CODES[validation.outcome])


def _print(result: LearnResult) -> None:
    from rubriclab.cli.printing import note
    from rubriclab.report.describe import contents

    version = result.version
    criteria, provenance = version.rubric.criteria, version.provenance
    if provenance.validation:
        from rubriclab.cli.printing import print_view
        from rubriclab.report.training import training_view

        print_view(training_view(version))
    click.echo(f"{version.ref}: {contents(criteria)}{'' if version.new else ', unchanged, so no new version'}")
    if provenance.agreement and not provenance.validation:
        click.echo(_agreement(version.rubric, provenance.agreement))
    correlations = [criterion.evidence.pearson or 0 for criterion in criteria]
    if provenance.agreement and max(correlations, default=0) <= 0 and (provenance.agreement.spearman.value or 0) <= 0:
        nothing = "none of the criteria tracks" if len(criteria) > 1 else "it does not track"
        note(f"warning: {nothing} the labels; the scores of this rubric mean nothing")
    if result.effort.failed:
        note(
            f"{result.effort.failed} prompts had no usable reply; the same command with --retry-failed asks them again"
        )
    note(f"saved in {result.place}; read it with: rubriclab show {version.ref}")


def _agreement(rubric: Rubric, agreement: TrainingAgreement) -> str:
    from rubriclab.report.describe import labels_proposed
    from rubriclab.report.wording import estimate

    spearman = f"Spearman {estimate(agreement.spearman)} on the {agreement.n} training texts"
    if not agreement.optimistic:
        return f"{spearman}, whose labels had no part in it"
    optimistic = "both" if labels_proposed(rubric) else "the first is"
    reselected = estimate(agreement.reselected)
    return f"{spearman}, {reselected} re-selected without each group's own labels ({optimistic} optimistic)"


def _print_json(result: LearnResult) -> None:
    from rubriclab.cli.printing import effort_row, print_json

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
        row["validation"] = provenance.validation.model_dump(mode="json")
    print_json(row)

"""`rubriclab learn`: labelled texts to a version in the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    command,
    dry_run_option,
    json_option,
    option,
    record_option,
    row_options,
    rubric_option,
    run_options,
    store_option,
)
from rubriclab.cli.output import (
    FILE,
    OUTPUT,
    check_rows_place,
    effort_row,
    note,
    options_of,
    print_json,
    print_view,
    run,
    write_csv,
    writing_rows,
)
from rubriclab.errors import SettingsError

if TYPE_CHECKING:
    from rubriclab.base_options import Options
    from rubriclab.models.rubric import Rubric
    from rubriclab.models.version import TrainingAgreement
    from rubriclab.ops.learn import LearnResult
    from rubriclab.ops.literature import FindingList


@command(None, "LearnOptions", "CallOptions", "BatchOptions", "GeneratorOptions")
@click.argument("labelled", type=FILE)
@option(
    "--gate",
    is_flag=True,
    help="Exit with 1 if the rubric is no better than the baselines, 3 if inconclusive.",
)
@run_options
@record_option
def learn(labelled: str, *, gate: bool, as_json: bool, **values: Any) -> None:
    """Learn a rubric from LABELLED texts and save it as a version in the store.

    Several methods propose criteria. The labels select, weight and calibrate them, and cross-validation measures how
    well the rubric agrees with labels that it was not fitted to. LABELLED is a .jsonl, .csv, .tsv, .xlsx or .parquet
    file of texts with human scores, or - for standard input. After an interruption, or if a limit was reached, run the
    same command again: answers are cached when they arrive.
    """
    from rubriclab.ops import learn as service
    from rubriclab.ops.options import LearnOptions

    options = options_of(LearnOptions, values)
    if gate:
        service.check_joint(options, "gate")
    result = run(values, service.learn, labelled, options, as_json=as_json)
    if result is None:
        return
    version, provenance = result.version, result.version.provenance
    validation = provenance.validation
    if as_json:
        row = {
            "rubric": version.ref,
            "new": version.new,
            "digest": version.digest,
            "criteria": len(version.rubric.criteria),
            **effort_row(result.effort),
            "agreement": provenance.agreement.model_dump(mode="json") if provenance.agreement else {},
        }
        if validation:
            row |= {"outcome": validation.outcome, "validation": validation.model_dump(mode="json")}
        print_json(row)
    else:
        _print(result)
    if gate and validation:
        from rubriclab.cli.evaluate import EXIT_CODES

        click.get_current_context().exit(EXIT_CODES[validation.outcome])


def _print(result: LearnResult) -> None:
    from rubriclab.models.characters import count
    from rubriclab.report.rubrics import learned_view
    from rubriclab.report.wording import effort

    version = result.version
    criteria, provenance = version.rubric.criteria, version.provenance
    print_view(learned_view(version))
    if not version.new:
        note(f"{version.ref} is unchanged, so no new version was saved")
    if provenance.agreement and not provenance.validation:
        click.echo(_agreement(version.rubric, provenance.agreement))
    correlations = [criterion.evidence.pearson or 0 for criterion in criteria]
    if (
        provenance.agreement
        and max(correlations, default=0) <= 0
        and (provenance.agreement.order.value or 0) <= (0.5 if provenance.agreement.auroc else 0)
    ):
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
    from rubriclab.report.wording import estimate, labels_proposed

    order = f"{agreement.measure} {estimate(agreement.order)} on the {agreement.n} training texts"
    if not agreement.optimistic:
        return f"{order}, whose labels were not used"
    held_out = f"{estimate(agreement.reselected)} cross-validated over groups"
    if labels_proposed(rubric):
        return f"{order}, {held_out}; both are optimistic, as the criteria were proposed from these labels"
    return f"{order} (optimistic, as it was fitted to them), {held_out}"


@command(None, "PlanOptions", "CallOptions")
@click.argument("texts", type=FILE)
@rubric_option
@option(
    "--output",
    "-o",
    type=OUTPUT,
    metavar="PATH",
    help="Write the rows to label to this file, with the reasons in `plan`; its name decides the format.",
)
@run_options
@record_option
def plan(texts: str, *, rubric: str, output: str | None, as_json: bool, **values: Any) -> None:
    """Choose which TEXTS to label next, whole groups first.

    TEXTS is a .jsonl, .csv, .tsv, .xlsx or .parquet file of texts without labels, or - for standard input. The texts
    are rated by the rubric's criteria, which takes calls; texts that already have a label or were learned from are left
    out. Add the scores of the aspect to the chosen rows, and give them to `rubriclab learn` together with the old rows.
    """
    from rubriclab.models.characters import count
    from rubriclab.ops.label import plan as prepare
    from rubriclab.ops.options import PlanOptions

    options = options_of(PlanOptions, values)
    if output and not values["dry_run"]:
        if as_json and output == "-":
            raise SettingsError(
                "--json prints the plan to standard output, but the rows are written there.", "Give --output PATH."
            )
        check_rows_place(output)
    result = run(values, prepare, texts, rubric, options, as_json=as_json)
    if result is None:
        return
    if output:
        with writing_rows(output) as write:
            for row in result.to_rows():
                write(row)
    if as_json:
        rows = zip(result.plan.texts, result.to_rows(), strict=True)
        chosen = [{"id": text.example.id, **row["plan"]} for text, row in rows]
        plan_json = {"rubric": result.version.ref, "pool": result.plan.pool, "texts": chosen, "output": output}
        print_json({**plan_json, **effort_row(result.effort)})
        return
    print_view(result.view(), err=output == "-")
    if output not in (None, "-"):
        written = count(len(result.plan.texts), "row")
        note(f"{written} written to {output}; label them, and give them to `rubriclab learn` with the old rows")


@click.group("literature")
def literature() -> None:
    """Take papers apart into findings about what raters reward, and keep them for learning.

    `learn --literature PATH` proposes criteria from the findings in PATH.
    """


@command("add", "LiteratureAddOptions", "CallOptions")
@click.argument("paper", type=FILE)
@store_option
@dry_run_option
@json_option
@record_option
def add(paper: str, *, as_json: bool, **values: Any) -> None:
    """Have a language model read PAPER, a PDF or a text file, and write findings about raters.

    Every finding has a quotation and its page; a finding whose quotation is not in the paper is dropped. Read what was
    kept, and remove what does not follow from the paper. Findings about the raters of a public data set carry its name,
    so that `learn --literature-without` can leave them out.
    """
    from rubriclab.ops import literature as service
    from rubriclab.ops.options import LiteratureAddOptions

    options = options_of(LiteratureAddOptions, values)
    added = run(values, service.literature_add, paper, options, as_json=as_json)
    if added is None:
        return
    print_json({**added.to_row(), **effort_row(added.effort)}) if as_json else print_view(added)
    if added.unread:
        note("The same command with --retry-failed asks again for the parts that were not read.")


@command("list", "LiteratureShowOptions")
@click.argument("ids", nargs=-1, metavar="[ID...]")
@row_options
def list_(ids: tuple[str, ...], **values: Any) -> None:
    """List the findings that you keep, or those that ship; of each ID, show the quotation, page and paper, too."""
    from rubriclab.ops import literature as service
    from rubriclab.ops.options import LiteratureShowOptions

    _print_of_literature(service.list_findings, LiteratureShowOptions, ids, **values)


@command("remove", "LiteratureOptions")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@row_options
def remove(ids: tuple[str, ...], **values: Any) -> None:
    """Remove findings from all of your files, or from the file of a task, and print them."""
    from rubriclab.ops import literature as service
    from rubriclab.ops.options import LiteratureOptions

    _print_of_literature(service.remove, LiteratureOptions, ids, **values)


def _print_of_literature(
    call: Callable[..., FindingList],
    options: type[Options],
    *arguments: Any,
    as_json: bool,
    csv: str | None,
    **values: Any,
) -> None:
    result = call(options_of(options, values), *arguments)
    write_csv(csv, result.to_row()["findings"])
    print_json(result.to_row()) if as_json else print_view(result)


for member in (add, list_, remove):
    literature.add_command(member)

"""Commands that read texts and ask judges: data, learning, scoring, measuring, and the pages and services."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import signal
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from rubriclab import data, ops, report as views
from rubriclab.cli.options import (
    FILE,
    STORE_AND_OUTPUT,
    CommandGroup,
    add_needed_options,
    command,
    flag,
    for_command_line,
    note,
    option,
    output_option,
    path_option,
)
from rubriclab.cli.output import (
    EXIT_CODES,
    Call,
    check_folder_exists,
    check_rows_file,
    effort_row,
    noting_rows_on_error,
    print_json,
    print_view,
    refuse_overwriting,
    write_rows,
    writing,
    writing_rows,
)
from rubriclab.errors import SettingsError
from rubriclab.models.characters import count

if TYPE_CHECKING:
    from rubriclab.models.version import Version

# The classes in `rubriclab.cli.models` with the options of every command whose result is a report on texts.
REPORT_OPTIONS = ("ResultFilesOptions", "JudgeCommandOptions")


@command("CheckOptions", "JsonOption")
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
def check(call: Call, files: tuple[str, ...]) -> None:
    """Report the format, columns and all problems of each FILE; exit code 2 if any cannot be used or read.

    The result has the use of each column, the raters and their agreement, the scale, the distribution of the scores,
    groups, missing and repeated texts, and the command to run next. No calls are made.
    """
    options = call.options(ops.options.CheckOptions)
    results = ops.check.check_each(files, options) if len(files) > 1 else [ops.check.check(files[0], options)]
    results = [result.rewrite_messages(for_command_line) for result in results]
    if call.as_json:
        rows = [result.to_row() for result in results]
        print_json(rows if len(files) > 1 else rows[0])
    else:
        for result in results:
            print_view(views.results.check_view(result, for_shell=True))
            for line in views.results.check_steps(result):
                click.echo(line)
    if not all(result.usable for result in results):
        call.end(2)


@command("JsonOption", section="Data")
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
def lint(call: Call, files: tuple[str, ...]) -> None:
    """Check the form of checklist files (- for standard input) and find duplicate questions.

    Exit code 1 if a question is repeated, 2 if a file is no checklist. During learning, a language model judges
    whether a question asks one thing that can be seen in the text.
    """
    results = {file: ops.check.lint(file) for file in files}
    if call.as_json:
        rows = [{"file": file, **result.to_row()} for file, result in results.items()]
        print_json(rows if len(files) > 1 else results[files[0]].to_row())
    else:
        for file, result in results.items():
            if len(files) > 1:
                click.echo(f"{file}:")
            for line in result.lines():
                click.echo(line)
    if any(result.duplicates for result in results.values()):
        call.end(1)


@command("SplitOptions", "JsonOption", section="Data")
@output_option(metavar="PREFIX", type=FILE, section=STORE_AND_OUTPUT, help="Write PREFIX-train and PREFIX-heldout.")
@click.argument("file", type=FILE)
def split(call: Call, file: str, *, output: str | None) -> None:
    """Split FILE by whole groups into rows to learn from and rows of other texts for `rubriclab evaluate`.

    Groups are taken until there are --train texts. The same file and seed give the same split, whatever the order of
    the rows. All columns are kept.
    """
    # The two files are named after --output, or else after FILE. Workbooks are written without macros.
    prefix, ending = data.write.split_ending(output or "")
    file_prefix, file_ending = ("rows", ".jsonl") if file == "-" else data.write.split_ending(file)
    ending = ending or file_ending.replace(".xlsm", ".xlsx")
    paths = [f"{prefix or file_prefix}-{side}{ending}" for side in ("train", "heldout")]
    for path in paths:
        check_rows_file(path)
        refuse_overwriting(path, "--output", [file])
    options = call.options(ops.options.SplitOptions)
    result = ops.check.split(file, options, note)
    dialect = ops.inputs.detect_dialect(file, options)
    for path, rows in zip(paths, (result.train, result.heldout), strict=True):
        write_rows(path, rows, dialect=dialect)
    if call.as_json:
        train = {"output": paths[0], "rows": len(result.train), "groups": result.train_groups}
        heldout = {"output": paths[1], "rows": len(result.heldout), "groups": result.heldout_groups}
        print_json({"train": train, "heldout": heldout})
        return
    print_view(result)
    note(f"written to {paths[0]} and {paths[1]}")


DEMO_ASPECT, DEMO_STORE = "coherence", "store.db"
# The commands of each part of the demonstration, by the title of the part.
DEMO_PARTS: Mapping[str, list[str]] = tomllib.loads(Path(__file__).with_name("demo.toml").read_text("utf-8"))


@command()
@flag("--sample-only", help="Only write a sample of texts with constructed labels; run no command.")
@click.argument("folder", default="demo", type=click.Path(path_type=Path))
def demo(call: Call, folder: Path, *, sample_only: bool) -> None:
    """Learn, evaluate, report and score on people's ratings of summaries; needs no key and no language model.

    The ratings and all results are written to FOLDER, which is new, empty, or has an earlier demonstration.
    [default: demo]

    A language model's recorded answers are replayed. Every command is printed, and runs without your configuration file
    and RUBRICLAB_ variables.
    """
    if sample_only:
        ops.check.write_sample(folder)
        click.echo(f"The sample is in the folder {folder}: {', '.join(ops.check.SAMPLE_FILES)}.")
        return
    ops.check.write_content("ratings", ops.check.DEMO_FILES, folder)
    click.echo("108 summaries of news articles, each rated for coherence by three people, and a language model's")
    click.echo(f"recorded answers about them ({folder / ops.check.README}).")
    for title, part in DEMO_PARTS.items():
        click.echo(f"\n{title}\n")
        if code := run_commands(folder, part, f"--judge recorded:DEMO/{ops.check.RECORDING}"):
            call.end(code)
    click.echo("\nThe recording holds the replies to these commands only: other questions need a language model.")
    pages = f"{folder}/rubric.html, {folder}/evaluation.html and {folder}/pass-fail.html"
    click.echo(f"\nDone. Open {pages} in a browser, and {folder}/scores.csv in a spreadsheet.")
    if shutil.which("rubriclab"):
        program = "rubriclab"
    elif Path(sys.argv[0]).name == "rubriclab":
        program = str(Path(sys.argv[0]))
    else:
        program = f"{sys.executable} -m rubriclab"
    store = shlex.quote(str(folder / DEMO_STORE))
    heldout, rated = shlex.quote(str(folder / ops.check.HELDOUT)), shlex.quote(str(folder / "rated.jsonl"))
    click.echo(f"\nTo inspect and edit the rubrics in a browser:\n  {program} studio --store {store}")
    rating = f"label {heldout} --task summarization --aspect {DEMO_ASPECT} --scale 1:5 -o {rated} --store {store}"
    click.echo(f"\nTo rate texts in a browser and learn from them:\n  {program} {rating}")


def run_commands(folder: Path, commands: Sequence[str], judge_option: str) -> int:
    from rubriclab.cli.main import every_command

    # The commands run in this process, since imports take seconds. If a command fails, its error ends `demo`, too.
    for variable in [name for name in os.environ if name.startswith("RUBRICLAB_")]:
        del os.environ[variable]
    for command_line in commands:
        words = shlex.split(f"{command_line.replace('JUDGE', judge_option)} --store DEMO/{DEMO_STORE}")
        name, *arguments = [word.replace("DEMO", str(folder)) for word in words]
        click.echo(f"$ rubriclab {name} {shlex.join(arguments)}")
        # The parent is not `cli`, since that would read the configuration file of the working folder.
        root = click.Context(click.Group("rubriclab"), info_name="rubriclab")
        if code := every_command()[name].main(arguments, name, standalone_mode=False, parent=root):
            return int(code)
    return 0


@command("LearnOptions", "CallOptions", "BatchOptions", "GeneratorOptions", "JudgeCommandOptions")
@click.argument("labelled", type=FILE, nargs=-1, required=True, metavar="LABELLED...")
def learn(call: Call, labelled: tuple[str, ...]) -> None:
    """Learn a rubric from LABELLED texts, in one file or several, and save it as a version in the store.

    Several methods propose criteria. The labels select, weight and calibrate them, and cross-validation measures the
    agreement with labels that the rubric was not fitted to. LABELLED is a file, such as .jsonl, .csv or .xlsx, of
    texts with human scores, or - for standard input. After an interruption or at a limit, run the same command again.
    """
    from rubriclab.judges.connect import makes_requests

    options = call.options(ops.options.LearnOptions)
    result = call.run(ops.learn.learn, labelled if len(labelled) > 1 else labelled[0], options)
    version, provenance = result.version, result.version.provenance
    validation = provenance.validation
    if call.as_json:
        row: dict[str, Any] = {"rubric": version.ref, "new": version.new, "digest": version.digest}
        row |= {"criteria": len(version.rubric.criteria), **effort_row(result.effort)}
        row["agreement"] = provenance.agreement.model_dump(mode="json") if provenance.agreement else {}
        if validation:
            row |= {"outcome": validation.outcome, "validation": validation.model_dump(mode="json")}
        print_json(row)
        return
    print_view(views.rubrics.learned_view(version))
    # The offline judge and recordings would only give the same reply again.
    if result.effort.failed and any(map(makes_requests, (provenance.judge, provenance.generator))):
        note(f"{count(result.effort.failed, 'prompt')} had no usable reply; --retry-failed asks for them again")
    note(f"Learning took {views.wording.effort(result.effort)}.")
    saved = "Saved" if version.new else f"{version.ref} is unchanged, so no new version was saved"
    note(f"{saved} in {result.store}. Details: `rubriclab show {version.ref} --evidence`")


@command("PlanOptions", "CallOptions", "RubricOption", "JudgeCommandOptions", section="Data")
@output_option(help="Write the rows to label to this file, with the field 'plan', which says why each was chosen.")
@click.argument("texts", type=FILE)
def plan(call: Call, texts: str, *, rubric: str, output: str | None, dry_run: bool) -> None:
    """Choose which TEXTS to label next, one whole group after another.

    TEXTS is a file of rows, such as .jsonl, .csv or .xlsx, or - for standard input. The texts are rated by the rubric's
    criteria, which takes calls; those that have a label or were learned from are left out. Add scores to the chosen
    rows, and give them to `rubriclab learn` with the old rows, or to `rubriclab evaluate` without learning from them.
    """
    options = call.options(ops.options.PlanOptions)
    if output and not dry_run:
        check_rows_file(output)
    result = call.run(ops.plan.plan, texts, rubric, options)
    if output and result.texts:
        write_rows(output, result.to_rows(), dialect=ops.inputs.detect_dialect(texts, options))
    if call.as_json:
        texts_and_rows = zip(result.texts, result.to_rows(), strict=True)
        plan_rows = [{"id": planned.text.example.id, **row["plan"]} for planned, row in texts_and_rows]
        row: dict[str, Any] = {"rubric": result.version.ref, "verdict": None, "more_labels": None, "more_groups": None}
        if verdict := result.version.deciding_verdict:
            row |= {"verdict": verdict.overall, "more_groups": verdict.lacking_groups}
            row |= verdict.model_dump(include={"more_labels"})
        row |= {"pool": result.pool, "texts": plan_rows}
        print_json({**row, "output": output if result.texts else None, **effort_row(result.effort)})
        return
    print_view(result.view(), err=output == "-")
    if result.texts and output not in (None, "-"):
        note(f"{count(len(result.texts), 'row')} written to {output}")


@click.group("literature", cls=CommandGroup, section="Data")
def literature() -> None:
    """Extract findings about what raters reward from papers, and keep them for learning.

    `learn --literature PATH` proposes criteria from the findings in PATH.
    """


@command("LiteratureAddOptions", "CallOptions", "JudgeCommandOptions")
@click.argument("paper", type=FILE)
def add(call: Call, paper: str) -> None:
    """Have a language model read PAPER, a PDF or a text file, and write findings about raters.

    A finding whose quotation is not in the paper is dropped. Read what was kept, and remove what does not follow from
    the paper. Findings about the raters of a public data set have its name, so that `learn --literature-without` can
    leave them out.
    """
    added = call.run(ops.literature.literature_add, paper, call.options(ops.options.LiteratureAddOptions))
    call.show(added, {**added.to_row(), **effort_row(added.effort)})
    if added.unread:
        note("The same command with --retry-failed asks again for the parts that were not read.")


@command("LiteratureShowOptions", "RowsCsvOption", "JsonOption", name="list")
@click.argument("ids", nargs=-1, metavar="[ID...]")
def list_(call: Call, ids: tuple[str, ...]) -> None:
    """List your own findings or those included in rubriclab; with IDs only these, with quotation, page and paper."""
    result = ops.literature.list_findings(call.options(ops.options.LiteratureShowOptions), ids)
    call.show_rows(result, result.to_row(), result.to_row()["findings"])


for member in (add, list_):
    literature.add_command(member)


@command("ScoreOptions", "CallOptions", "BatchOptions", "RowsOutput", "JudgeCommandOptions")
@option("--rubric", metavar="REF", help="NAME (the newest), NAME@NUMBER or NAME@TAG.")
@option(
    "--fail-under",
    metavar="SCORE",
    type=float,
    help="Exit with 1 if the 95 % interval of the mean human score is below SCORE, with 3 if it includes SCORE or "
    "cannot be computed. Without labels in --labels-in or from learning, the mean score is compared instead.",
)
@path_option("--keep-replies", help="Write the replies that could not be used, and why, to this .jsonl file.")
@flag("--resume", section=STORE_AND_OUTPUT, help="Keep the rows of --output (.jsonl), and score the rest of TEXTS.")
@click.argument("texts", type=FILE)
def score(
    call: Call,
    texts: str,
    *,
    rubric: str | None,
    output: str,
    fail_under: float | None,
    keep_replies: str | None,
    resume: bool,
    dry_run: bool,
) -> None:
    """Score TEXTS by a rubric, with one output row for each row, in the same order.

    TEXTS is a file of rows, such as .jsonl, .csv or .xlsx, or - for standard input, and is read as a stream. A faulty
    row, or a text with too few usable ratings, gets a row with the reason instead of a score. A rubric of several
    methods, as by default, gives an interval for each score, and the contribution of each criterion.

    Before there are labels, --task and --aspect replace --rubric. The judge gives one score for the aspect as a whole.
    Agreement with people is then unknown.
    """
    options = call.options(ops.options.ScoreOptions)
    if not dry_run:
        check_rows_file(output)
    if keep_replies == "-" or (keep_replies and data.write.table_ending(keep_replies)):
        hint = "Name one ending in .jsonl."
        raise SettingsError(f"--keep-replies: got {keep_replies}; expected a file of JSON Lines.", hint)
    check_rows_file(keep_replies or "-")
    with call.workspace() as workspace:
        scoring = ops.score.prepare_scoring(workspace, texts, rubric, options)
        scale = scoring.rubric.score_scale
        if fail_under is not None and not scale.contains(fail_under):
            problem = f"--fail-under: got {fail_under:g}, expected a score on the scale from {scale.describe()}."
            raise SettingsError(problem, "Every mean score lies on this scale.")
        call.end_if_dry_run(scoring.estimate)
        if resume and (error := ops.score.why_not_resumable(scoring, output)):
            raise error
        _write_scores(call, scoring, texts, output, keep_replies, resume=resume)
        scoring.check_labels_in_or_use_training_labels()
        effort = workspace.effort()
    counts = scoring.counts
    if call.as_json:  # `addresses_judge` counts texts that speak to the judge
        row = {"rubric": scoring.name, "rows": counts.rows, "texts": counts.texts, **scoring.summary.to_row()}
        row |= {name: getattr(counts, name) for name in ("unscored", "addresses_judge", "answers_missing", "answers")}
        if counts.rivals.calls:  # outputs for one input were judged together
            row["rivals"] = dataclasses.asdict(counts.rivals)
        print_json({**row, "output": output, **effort_row(effort)})
    else:
        reasons = scoring.summary.unscored
        scoring.summary.unscored = Counter({for_command_line(reason): number for reason, number in reasons.items()})
        print_view(views.render.view("distribution", summary=scoring.summary), err=True)
        to_output = "" if output == "-" else f" to {output}"
        rows = f" ({counts.rows:,} rows, as some texts have several)" if counts.texts < counts.rows else ""
        scored = f"{counts.texts - counts.unscored:,} texts scored by {scoring.name}{to_output}{rows}"
        message = f"{scored}, {counts.unscored:,} unscored"
        if counts.answers_missing:
            message += f"; {counts.answers_missing:,} of {count(counts.answers, 'answer')} missing"
        note(message)
        if scoring.version and (scoring.version.provenance.validation or scoring.version.evaluation):
            note(f"verdict on {scoring.name}: {views.rubrics.verdict(scoring.version)}")
    scoring.raise_if_unanswered()
    if fail_under is not None:
        outcome = {True: "met", False: "not met", None: "inconclusive"}[scoring.summary.meets(fail_under)]
        note(f"--fail-under {fail_under:g}: {outcome}")
        call.end(EXIT_CODES[outcome])


def _write_scores(
    call: Call, scoring: ops.score.Scoring, texts: str, output: str, keep_replies: str | None, *, resume: bool
) -> None:
    is_table = output != "-" and data.write.table_ending(output) is not None
    dialect, legend = ops.inputs.detect_dialect(texts, scoring.options), views.results.criteria_rows(scoring.rubric)
    score_bytes = reply_bytes = 0  # the sizes of the files that a resumed run goes on writing
    if resume:
        score_bytes = ops.score.resume_scores(scoring, output)
        if keep_replies and Path(keep_replies).exists():
            reply_bytes = Path(keep_replies).stat().st_size
    if score_bytes:
        note(f"{scoring.counts.rows:,} rows of {output} are kept")
    # `empty_too` also opens the file if no row follows, which removes half a row at the end of a file that is resumed.
    scores = writing_rows(output, empty_too=resume, dialect=dialect, legend=legend, kept_bytes=score_bytes)
    replies = writing_rows(keep_replies, empty_too=True, kept_bytes=reply_bytes) if keep_replies else nullcontext(None)
    advice = "" if resume or ops.score.why_not_resumable(scoring, output) else "; add --resume to keep them"
    with scores as write, replies as write_replies, noting_rows_on_error(write, output, advice) as write_score:

        async def run() -> None:
            async for row in scoring.stream():
                if scoring.counts.rows == 1 and not resume:
                    ops.score.write_record(scoring, output)  # the rubric, judge and options, for --resume
                write_score(row.to_cells() if is_table else row.to_row())
                if write_replies and row.score.answers_missing:
                    write_replies(row.replies_row())

        call.run_to_end(run)
        if not resume:
            ops.score.record_path(output).unlink(missing_ok=True)


@command("ImproveOptions", "CallOptions", "RubricOption", "RowsOutput", "JudgeCommandOptions", section="Use a rubric")
@path_option("--diff", help="Write the changes with their reasons to this file, as text; - for standard output.")
@click.argument("texts", type=FILE)
def improve(call: Call, texts: str, *, rubric: str, output: str, diff: str | None, dry_run: bool) -> None:
    """Rewrite TEXTS where a rubric finds faults, and accept rewrites that score higher: one output row for each row.

    TEXTS is a file of rows, such as .jsonl, .csv or .xlsx, or - for standard input, and is read as a stream. Each
    output row has the text in `output`, and all rounds of rewriting in `improvement`. If criteria of the rubric judge
    each sentence, as criteria of the method dcr do, only sentences with faults may change.
    """
    from rubriclab.running import no_progress

    options = call.options(ops.options.ImproveOptions)
    if not dry_run:
        check_rows_file(output)
        check_folder_exists(diff or "-")
    with call.workspace() as workspace:
        if diff == "-":  # a moving bar would write over the changes
            workspace.progress = no_progress
        improving = ops.improve.prepare_improving(workspace, texts, rubric, options)
        call.end_if_dry_run(improving.estimate, "Texts that become longer can take more calls.")
        rows, changes = writing_rows(output), writing(diff or "-")
        with rows as write, changes as write_changes, noting_rows_on_error(write, output) as write_text:

            async def run() -> None:
                async for text in improving.stream():
                    write_text(text.to_row())
                    if diff and text.outcome == "improved":
                        view = views.render.view("rewrite", result=text)
                        write_changes(f"{view}\n".encode("utf-8", "backslashreplace"))

            call.run_to_end(run)
        summary, effort = improving.summary(), workspace.effort()
    row = {**summary.to_row(), "output": output, **effort_row(effort)}
    call.show(views.render.view("revision", summary=summary, effort=effort), row, err=True)
    improving.raise_if_unanswered()


@command("EditOptions", "CallOptions", *REPORT_OPTIONS, section="Use a rubric")
@click.argument("rubric")
def edit(call: Call, rubric: str, *, preview: bool, dry_run: bool) -> None:
    """Change the criteria, weights, threshold or definition of RUBRIC, and save a version whose parent is RUBRIC.

    Weights are fitted again to the ratings kept with the version, and the cross-validated agreement is shown beside the
    parent's. Only new wordings take calls, since the labelled texts are rated by them again.
    """
    result = call.run(ops.edit.edit, rubric, call.options(ops.options.EditOptions, preview=dry_run or preview))
    call.show(result.view(), {**result.to_row(), **effort_row(result.effort)})
    if result.saved and not call.as_json:
        _print_saved(result.saved, f"{result.saved.name} without a number now means this version")


@command("EvaluateOptions", "CallOptions", "BatchOptions", *REPORT_OPTIONS)
@option("rubrics", "--rubric", metavar="REF", multiple=True, required=True, help="A rubric to evaluate; repeatable.")
@click.argument("other_labelled", type=FILE)
def evaluate(call: Call, other_labelled: str, *, rubrics: tuple[str, ...], html: str | None) -> None:
    """Evaluate rubrics on OTHER_LABELLED, other texts with human scores, and compare the rubrics with free baselines.

    Groups (texts of one source) that any of the rubrics was learned from are left out, and their number is reported.
    """
    evaluation = call.run(ops.evaluate.evaluate, other_labelled, rubrics, call.options(ops.options.EvaluateOptions))
    call.print_result(evaluation, evaluation.to_row())
    evaluation.raise_if_unanswered()
    # The full report has a section on each rubric, which takes time to compute.
    page = views.evaluation.evaluation_view(evaluation, brief=False) if html else None
    call.export(evaluation.view(), page)


@command("CompareOptions", "CallOptions", "RubricOption", *REPORT_OPTIONS)
@flag("--details", help="Also show criteria whose ratings changed, and the texts whose scores fell most.")
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
def compare(call: Call, old: str, new: str, *, rubric: str, details: bool) -> None:
    """Compare two sets of outputs, OLD and NEW, by one rubric.

    The result has the means, their paired difference with its 95 % interval, the criteria whose ratings changed, and
    the texts whose scores fell most. The mean score may drop by --max-drop (without it: not at all). The exit code is 0
    if the interval excludes a larger drop, 1 if it has only larger drops, and 3 if inconclusive.
    """
    result = call.run(ops.compare.compare, old, new, rubric, call.options(ops.options.CompareOptions))
    row = {**result.result.model_dump(mode="json"), "outcome": result.outcome, **effort_row(result.effort)}
    view = result.view()
    view.unfolded = details
    call.show(view, row)
    call.end(EXIT_CODES[result.outcome])


DRIFT_ARGUMENTS = "REF [REF] TEXTS"


@command("DriftOptions", "CallOptions", *REPORT_OPTIONS, section="Examine a rubric")
@option("--anchor", metavar="FILE", type=FILE, help="In place of TEXTS: labelled texts that every run scores again.")
@output_option(help="Write the texts that flip (cross a threshold) to this file, with all reasons, as JSON Lines.")
@flag("write_all", "--all", help="Write all texts to --output, not only those that flip.")
@click.argument("arguments", type=FILE, nargs=-1, required=True, metavar=DRIFT_ARGUMENTS)
def drift(
    call: Call, arguments: Sequence[str], *, anchor: str | None, output: str | None, write_all: bool, dry_run: bool
) -> None:
    """Measure how the scores of TEXTS change between versions, between judges, or over time by one judge (--anchor).

    \b
    rubriclab drift news@1 news@2 texts.jsonl
    rubriclab drift news@2 texts.jsonl --judge JUDGE --judge OTHER
    rubriclab drift news@2 --anchor labelled.jsonl

    The result has the shift of the scores, the changes of rank, the texts that cross a threshold, and the criteria that
    cause the changes. The exit code is 1 if a limit is exceeded (--max-shift, --max-flips, --min-rank), and 3 if
    inconclusive. With --anchor it is 1 if the errors on the labelled texts have changed since earlier runs. Of judges
    that do not change, at most one in twenty ever gets this code, however often the command runs.
    """
    if anchor:
        arguments = [*arguments, anchor]
    if not 2 <= len(arguments) <= 3:
        hint = "Name two versions, or one version and two judges."
        raise SettingsError(f"Expected {DRIFT_ARGUMENTS}, got {len(arguments)} arguments.", hint)
    before, texts = arguments[0], arguments[-1]
    after = arguments[1] if len(arguments) == 3 else None
    options = call.options(ops.options.DriftOptions, anchor=anchor is not None)
    if anchor and output:
        raise SettingsError("--output: with --anchor no text is compared.", "Leave --output out.")
    if output == "-" or (write_all and not output):
        raise SettingsError("--output: expected a file.", "Give --output PATH; standard output is for the figures.")
    check_rows_file(output or "-")
    with call.workspace() as workspace:
        if dry_run:
            call.end_if_dry_run(ops.compare.drift(workspace, texts, before, after, options).estimate)
        # If no text flips, the file of an earlier run must still be replaced.
        with writing_rows(output, empty_too=True) if output else nullcontext() as write:

            def on_row(row: dict[str, Any]) -> None:
                if write and (write_all or row["flips"]):
                    write(row)

            job = ops.compare.drift(workspace, texts, before, after, options, on_row=on_row if output else None)
            result = call.run_to_end(job.run)
    row = {**result.result.model_dump(mode="json"), "outcome": result.outcome}
    call.show(result, {**row, "output": output, **effort_row(result.effort)})
    if output and not call.as_json:
        written = "all texts" if write_all else "texts that flip"
        note(f"{written} written to {output}")
    result.raise_if_unanswered()
    call.end(EXIT_CODES[result.outcome])


@command("AgreeOptions", "CallOptions", "RubricOption", *REPORT_OPTIONS, section="Examine a rubric")
@click.argument("texts", type=FILE)
def agree(call: Call, texts: str, *, rubric: str) -> None:
    """Measure the agreement of judges that score TEXTS by the same rubric: Krippendorff's alpha, and their mean scores.

    TEXTS need no human scores. Agreement is reported for the scores and for each criterion.
    """
    result = call.run(ops.agree.agree, texts, rubric, call.options(ops.options.AgreeOptions))
    call.show(result, {"rubric": result.version.ref, **result.agreement.to_row(), **effort_row(result.effort)})
    result.raise_if_unanswered()


@command("TransferOptions", "CallOptions", *REPORT_OPTIONS, section="Examine a rubric")
@option("target", "--to", metavar="PATH", type=FILE, required=True, help="Texts to transfer to, labelled or not.")
@click.argument("ref")
def transfer(call: Call, ref: str, *, target: str) -> None:
    """Measure a rubric's agreement on other texts or with another judge, and recommend what to do.

    With labels, cross-validation compares three ways: to use the rubric as it is, to recalibrate it, or to learn again
    with its criteria among the candidates. The way with the smallest mean absolute error is recommended. Without
    labels, the result is only the share of texts whose weighted sum of ratings is outside the training texts' range.
    """
    result = call.run(ops.transfer.transfer, ref, target, call.options(ops.options.TransferOptions))
    saved = result.saved
    row = {**result.transfer.model_dump(mode="json"), "saved": saved.ref if saved else None}
    call.show(result, {**row, **effort_row(result.effort)})
    if saved and not call.as_json:
        _print_saved(saved, f"calibrated for {saved.provenance.judge}")
    result.raise_if_not_saved()


def _print_saved(saved: Version, remark: str) -> None:
    if saved.new:
        click.echo(f"\nsaved as {saved.ref}, whose parent is {saved.parent}; {remark}")
    else:
        click.echo(f"\nequal to {saved.ref}, so there is no new version")


@command("ExplainOptions", "CallOptions", "RubricOption", *REPORT_OPTIONS, section="Examine a rubric")
@click.argument("text", type=FILE, required=False)
def explain(call: Call, text: str | None, *, rubric: str) -> None:
    """Explain the score of TEXT by a rubric: the points each criterion adds, with reasons, and similar labelled texts.

    TEXT is a .txt file, or - for standard input, with the text itself; or a file of rows, of which --id names one.
    Without TEXT, --id names a text that the rubric was learned from, and no calls are made.
    """
    explanation = call.run(ops.explain.explain, text, rubric, call.options(ops.options.ExplainOptions))
    call.show(explanation, explanation.to_row())
    explanation.raise_if_unanswered()


@command("ServeOptions", "CallOptions", "StoreOption", "RecordOption", section="Use a rubric")
@click.argument("rubric")
def serve(call: Call, rubric: str) -> None:
    """Score texts by RUBRIC over HTTP, until Ctrl-C or SIGTERM.

    POST /v1/score takes a text or a list of texts and returns what `rubriclab score` writes; GET /openapi.json
    describes all requests. Without a token only this computer is served. Answers in the store are used; --max-cost and
    --max-calls limit all requests together. Each request is a line of JSON on standard output.
    """
    from rubriclab.web.api import serve_rubric

    options, workspace = call.options(ops.options.ServeOptions), call.workspace()

    def show_address(address: str) -> None:
        note(f"{rubric} is served at {address}")

    def log(entry: Any) -> None:
        click.echo(orjson.dumps(entry).decode())

    call.run_to_end(lambda: serve_rubric(workspace, rubric, options, on_access=log, on_address=show_address))


@command("JudgeOption", "CallOptions", "StoreOption", "RecordOption")
@option("--port", metavar="N", type=click.IntRange(1, 65535), help="The port.  [default: 8521, or any free port]")
@flag("--no-browser", config_may_set="always", help="Only print the address.")
@click.argument("rubric", required=False)
def studio(call: Call, rubric: str | None, *, judge: str | None, port: int | None, no_browser: bool) -> None:
    """Inspect and edit the rubrics of the store in a browser, or open RUBRIC there.

    Read reports and labelled texts, compare versions, find labels to correct, edit rubrics, explain scores. A language
    model is called only after its price was confirmed; --judge names it, and --max-cost limits all pages together.
    The pages are served on this computer only, until Ctrl-C.
    """
    from rubriclab.web.studio.pages import serve_studio

    # Pages are rendered in other threads, where click has no current context.
    format_command = partial(add_needed_options, running=click.get_current_context())
    serve_pages = partial(serve_studio, call.workspace(), rubric, judge=judge, port=port, browser=not no_browser)
    call.run_to_end(lambda: serve_pages(format_command=format_command, on_address=click.echo))


@command("JudgeOption", "CallOptions", "StoreOption", "RecordOption", section="Use a rubric")
@flag("--allow-calls", help="Let the assistant's requests call a language model, up to --max-cost.")
def mcp(call: Call, *, judge: str | None, allow_calls: bool) -> None:
    """Offer the rubrics of the store to an assistant, by the Model Context Protocol on standard input and output.

    The tools list and show rubrics, score texts and explain scores; none changes a rubric, a tag or a label. Without
    --allow-calls only the offline judge and answers in the store are used. It needs: pip install 'rubriclab[mcp]'
    """
    from rubriclab.integrations.mcp import serve_mcp

    # The protocol's SDK keeps waiting for standard input when it is interrupted, so SIGTERM ends the process at once.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    workspace = call.workspace()
    call.run_to_end(lambda: serve_mcp(workspace, judge, allow_calls=allow_calls))


@command("LabelOptions", "LabelledOutput", "StoreAndJsonOptions")
@click.argument("texts", type=FILE)
def label(call: Call, texts: str, *, output: str) -> None:
    """Open a page on which people rate TEXTS, and write the rows with their labels for `rubriclab learn`.

    Every answer is in the store as soon as it is given; run the same command again to continue. Raters see neither
    which system wrote a text nor other raters' labels. One text in ten comes twice and shows how consistent a rater is.
    """
    from rubriclab.web.label import label as serve_labelling_page

    options = call.options(ops.options.LabelOptions)
    check_rows_file(output)
    output_file = None if output == "-" else output
    with call.workspace() as workspace:
        result = call.run_to_end(lambda: serve_labelling_page(workspace, texts, output_file, options))
    if output_file is None:
        write_rows(output, result.rows)
        return
    call.show(result, result.to_row())
    if result.rows:
        words, remark = ["learn", output], ""
        if result.labelled < data.check.MIN_LABELS:
            words = ["learn", "LABELLED", output]
            remark = f", together with a file of earlier labels, since learning needs {data.check.MIN_LABELS}"
        for name, value in result.learn.items():
            words += [f"--{name}", value]
        note(f"written to {output}; learn from it{remark} with: `rubriclab {shlex.join(words)}`")

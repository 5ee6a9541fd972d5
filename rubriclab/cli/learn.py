"""`rubriclab learn`: labelled texts to a version in the store."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
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
from rubriclab.methods.names import JOINT_METHODS, METHOD_NAMES

if TYPE_CHECKING:
    from rubriclab.judges.judge import Judge
    from rubriclab.learning import Trained
    from rubriclab.methods.estimate import CallEstimate
    from rubriclab.methods.method import Progress
    from rubriclab.methods.names import MethodName, PartName
    from rubriclab.rubric import Rubric, TrainingAgreement
    from rubriclab.store import Version

joint_options = together(
    option(
        "--calls-per-text",
        type=click.FloatRange(min=0, min_open=True),
        metavar="N",
        help="The best rubric that scores a text with at most so many calls.  [default: no bound]",
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
        "--no-shortcuts", is_flag=True, help="Leave out criteria that follow length, copying or form more than people."
    ),
    option("--gate", is_flag=True, help="Exit with 1 if the rubric is no better than what costs nothing, 3 if unsure."),
)


@click.command()
@click.argument("labelled")
@option("--task", required=True, help="The kind of text: summarization, story, dialogue, or a word of your own.")
@option("--aspect", required=True, help="The aspect to learn, one that the rows have scores for.")
@option(
    "--method",
    "methods",
    multiple=True,
    type=click.Choice(METHOD_NAMES),
    help="Learn by this method or baseline alone; given several times, by these together.  "
    f"[default: {', '.join(JOINT_METHODS)} together]",
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
    "--generator", type=JUDGE, metavar="JUDGE", help="Who proposes criteria and refines them.  [default: the judge]"
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
    help="Leave out findings about the raters of a public set, as one that you test on. May be given several times.",
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
def learn(labelled: str, **given: Any) -> None:
    """Learn a rubric from LABELLED texts and keep it as a version in the store.

    Several methods find criteria; the labels choose, weigh and calibrate them; and it is said, with figures on labels
    that had no part in it, how far the rubric can be trusted. LABELLED is a .jsonl, .csv (both also .gz) or .parquet
    file of texts with human scores, or - for standard input. Killed or stopped by a cap, the same command goes on where
    it was: answers are kept as they come.
    """
    from rubriclab.cli.session import JudgeChoice, finish, judge_named, note, session
    from rubriclab.store.version import check_name

    alone = given["methods"][0] if len(set(given["methods"])) == 1 and given["surface"] != "include" else None
    name = check_name(given["name"] or default_name(given["task"], given["aspect"], alone))
    course = _alone(labelled, alone, given) if alone else _together(labelled, given)
    judge = judge_named(given["judge"])
    generator = given["generator"] or judge
    if given["dry_run"]:
        from rubriclab.cli.dry_run import say_most

        for_judge, for_generator = course.at_most()
        roles = {"judge": judge, "generator": generator}
        say_most({"judge": for_judge, "generator": for_generator}, roles, given, proposes=True)
        return
    with session(given["store"], given, create=True) as work:
        from rubriclab.cli.progress import progress

        if given["parent"]:
            work.store.load(given["parent"])
        asked_judge = work.judge(JudgeChoice(judge))
        asked_generator = asked_judge if generator == judge else work.judge(JudgeChoice(generator))
        with progress(work.ledger) as advance:
            trained = finish(
                lambda: course.train(asked_judge, asked_generator, lambda: sorted(work.ledger.model_versions), advance)
            )
        version = work.store.save(
            name, trained.rubric, trained.provenance, work.effort(), given["parent"], training=trained.record
        )
        for line in trained.notes:
            note(line)
        _report(version, work.effort(), work.store.place, as_json=given["as_json"])
    if given["gate"] and version.provenance.validation:
        from rubriclab.cli.gate import EXIT_CODES

        click.get_current_context().exit(EXIT_CODES[version.provenance.validation.outcome])


def default_name(task: str, aspect: str, method: str | None = None) -> str:
    """Return what a rubric is called in the store if its user does not say: `summarization-coherence-checkeval`."""
    words = "-".join(filter(None, (task, aspect, method)))
    return re.sub(r"[^a-z0-9._-]+", "-", words.lower()).strip("-._")


@dataclass(frozen=True)
class TrainingPlan:
    """What is to be learned: the most that it asks of the judge and of the generator, and the run itself."""

    at_most: Callable[[], tuple[CallEstimate, CallEstimate]]
    train: Callable[[Judge, Judge, Callable[[], Sequence[str]], Progress], Coroutine[Any, Any, Trained]]


def _alone(labelled: str, name: MethodName, given: Mapping[str, Any]) -> TrainingPlan:
    """Return the course of one method, as it was published."""
    from rubriclab.cli.lessons import training_input_of
    from rubriclab.cli.settings import method_settings
    from rubriclab.learning import train
    from rubriclab.methods.catalogue import METHODS

    _refuse_joint_options(name, given)
    method = METHODS[name]
    settings = method_settings(method, given["settings"], given["configured"])
    training_input = training_input_of(labelled, method, settings, given)

    async def run(
        judge: Judge, generator: Judge, model_versions: Callable[[], Sequence[str]], on_progress: Progress
    ) -> Trained:
        roles = {"judge": judge, "generator": generator}
        return await train(
            method,
            training_input,
            settings,
            **roles,
            seed=given["seed"],
            model_versions=model_versions,
            on_progress=on_progress,
        )

    return TrainingPlan(lambda: method.learning_at_most(training_input, settings), run)


def _refuse_joint_options(name: str, given: Mapping[str, Any]) -> None:
    from rubriclab.errors import SettingsError

    options = {
        "calls_per_text": "--calls-per-text",
        "prefer": "--prefer",
        "no_shortcuts": "--no-shortcuts",
        "gate": "--gate",
    }
    for field, written in options.items():
        if given[field]:
            raise SettingsError(
                f"{written} is for rubrics of several methods: --method {name} alone leaves nothing to choose.",
                "Leave --method out, or give it several times.",
            )


def _together(labelled: str, given: Mapping[str, Any]) -> TrainingPlan:
    """Return the course of several methods whose criteria become one rubric."""
    from rubriclab.cli.lessons import training_inputs_of
    from rubriclab.cli.settings import joint_settings
    from rubriclab.learning import joint
    from rubriclab.learning.candidates import Plan
    from rubriclab.methods.catalogue import METHODS

    wanted: list[PartName] = list(dict.fromkeys(given["methods"] or JOINT_METHODS))
    if given["surface"] == "include":
        wanted.append("surface")
    options: dict[str, Any] = {}
    if given["calls_per_text"]:
        options["calls_per_text"] = given["calls_per_text"]
    if given["prefer"]:
        options["prefer"] = given["prefer"]
    if given["no_shortcuts"]:
        options["no_shortcuts"] = True
    methods = [METHODS[name] for name in wanted]
    settings, own = joint_settings(methods, given["settings"], given["configured"], options)
    chosen = {method.name: values for method, values in zip(methods, own, strict=True)}
    training_inputs = training_inputs_of(
        labelled, list(zip(methods, own, strict=True)), given, all_needed=bool(given["methods"])
    )
    plans = [Plan(method, training_input, chosen[method.name]) for method, training_input in training_inputs]

    async def run(
        judge: Judge, generator: Judge, model_versions: Callable[[], Sequence[str]], on_progress: Progress
    ) -> Trained:
        roles = {"judge": judge, "generator": generator}
        return await joint.train(
            plans, settings, **roles, seed=given["seed"], model_versions=model_versions, on_progress=on_progress
        )

    return TrainingPlan(lambda: joint.at_most(plans, settings), run)


def _report(version: Version, effort: Any, place: str, *, as_json: bool) -> None:
    from rubriclab.cli.session import note
    from rubriclab.report.describe import contents

    if as_json:
        _print_json(version, effort)
        return
    criteria, made = version.rubric.criteria, version.provenance
    state = "" if version.new else ", unchanged, so no new version"
    if made.validation:
        from rubriclab.cli.printing import print_view
        from rubriclab.report.training import training_view

        print_view(training_view(version))
    click.echo(f"{version.ref}: {contents(criteria)}{state}")
    if made.agreement and not made.validation:
        click.echo(_agreed(version.rubric, made.agreement))
    if made.agreement and not any((criterion.evidence.pearson or 0) > 0 for criterion in criteria):
        nothing = "none of the criteria tracks" if len(criteria) > 1 else "it does not track"
        note(f"warning: {nothing} the labels; the scores of this rubric mean nothing")
    if effort.failed:
        note(f"{effort.failed} questions had no usable reply; the same command with --retry-failed asks them again")
    note(f"kept in {place}; read it with: rubriclab show {version.ref}")


def _agreed(rubric: Rubric, found: TrainingAgreement) -> str:
    from rubriclab.report.describe import labels_proposed
    from rubriclab.report.wording import estimate

    on = f"Spearman {estimate(found.spearman)} on the {found.n} training texts"
    if not found.optimistic:
        return f"{on}, whose labels had no part in it"
    which = "both" if labels_proposed(rubric) else "the first is"
    return f"{on}, {estimate(found.reselected)} re-selected without each group's own labels ({which} optimistic)"


def _print_json(version: Version, effort: Any) -> None:
    from rubriclab.cli.printing import effort_row, print_json

    made = version.provenance
    row: dict[str, Any] = {
        "rubric": version.ref,
        "new": version.new,
        "digest": version.digest,
        "criteria": len(version.rubric.criteria),
        **effort_row(effort),
        "agreement": made.agreement.model_dump(mode="json") if made.agreement else {},
    }
    if made.validation:
        row["validation"] = made.validation.model_dump(mode="json")
    print_json(row)

"""`rubriclab edit`: change a rubric by hand, refitted to the ratings that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from rubriclab.cli.files import check_exports
from rubriclab.cli.options import change_option, command, judge_options, measurement_options, option
from rubriclab.cli.places import FILE
from rubriclab.cli.printing import effort_row, options_of, print_dry_run, print_result, workspace_of
from rubriclab.errors import SettingsError


@command()
@click.argument("rubric")
@change_option("--drop", "ID", "Remove a criterion; this and the next five may be repeated.")
@change_option("--reword", "ID=TEXT", "Give a criterion another wording.")
@change_option("--merge", "ID,ID=TEXT", "Replace criteria by one with this wording.")
@change_option("--add", "TEXT", "Add a statement or a yes/no question.")
@change_option("--pin", "ID=WEIGHT", "Fix the weight of a criterion, as in h02=0.3.")
@change_option("--bound", "ID=LOW:HIGH", "Limit the weight of a criterion; ID=free lifts limits.")
@option(
    "--threshold",
    from_found="never",
    metavar="SCORE",
    help="For pass and fail: the lowest score that passes; learned fits it to the labels again.",
)
@option(
    "--definition",
    from_found="never",
    metavar="TEXT",
    help="Change the aspect's definition; every criterion is rated anew.",
)
@option("--labels", type=FILE, metavar="PATH", help="Labelled texts.  [default: those kept with the version]")
@option("--by", from_found="never", metavar="NAME", help="Who makes the changes; recorded with them.")
@option("--because", from_found="never", metavar="TEXT", help="Why; recorded with them.")
@option("--preview", from_found="never", is_flag=True, help="Show the effect and save nothing.")
@option("--name", from_found="never", help="The name to save under.  [default: the rubric's]")
@judge_options
@measurement_options
def edit(rubric: str, *, dry_run: bool, as_json: bool, **values: Any) -> None:
    """Change the criteria, weights, threshold or definition of RUBRIC, and save a version whose parent is RUBRIC.

    Weights are fitted again to the ratings kept with the version, and the held-out agreement is shown beside the
    parent's. Dropping criteria, limiting weights and setting the threshold takes no calls; the labelled texts are
    rated again by new wordings.
    """
    from rubriclab.report.edit import edit_view
    from rubriclab.services.edit import prepare_edit
    from rubriclab.services.edit_options import EditOptions
    from rubriclab.services.running import finish

    forms = {"reword": "ID=TEXT", "merge": "ID=TEXT", "bound": "ID=LOW:HIGH", "pin": "ID=WEIGHT"}
    changes = {
        **{name: pairs_of(values[name], f"--{name}", form) for name, form in forms.items()},
        **{name: values[name] or None for name in ("drop", "add")},
    }
    options = options_of(EditOptions, {**values, **changes, "preview": dry_run or values["preview"]})
    check_exports(values)
    with workspace_of(values) as workspace:
        prepared = prepare_edit(workspace, rubric, options)
        if dry_run:
            print_dry_run(prepared.estimate(), as_json=as_json)
            return
        result = finish(prepared.run)
    print_result(edit_view(result), {**result.to_row(), **effort_row(result.effort)}, values, as_json=as_json)
    if (saved := result.saved) and not as_json:
        new = f"saved as {saved.ref}, whose parent is {saved.parent}; {saved.name} without a number now means it"
        click.echo(f"\n{new if saved.new else f'equal to {saved.ref}, so there is no new version'}")


def pairs_of(given: Sequence[str], flag: str, form: str) -> dict[str, str] | None:
    """Return the values by name; `None` if nothing is given.

    Raises:
        SettingsError: if one is no pair, or a name is given twice.
    """

    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise SettingsError(f"{flag}: expected {form}, got {text!r}.", f"Write {flag} {form}.")
        if name.strip() in pairs:
            raise SettingsError(f"{flag} names {name.strip()} twice.", "Give each once.")
        pairs[name.strip()] = value.strip()
    return pairs or None

"""The texts of a file, ready to be judged by people."""

from __future__ import annotations

from collections.abc import Sequence

from rubriclab.data import Comparison, RowError, find_aspect, parse_scale, task_words
from rubriclab.data.comparisons import about, comparison_faults
from rubriclab.errors import DataError, SettingsError
from rubriclab.labeling.judgment import LabelQuestion
from rubriclab.option_names import option
from rubriclab.report.wording import count
from rubriclab.services.inputs import Data, notify_skipped, own_columns, rows_of
from rubriclab.services.label import Labeling
from rubriclab.services.label_options import LabelOptions
from rubriclab.services.label_rows import LabelText
from rubriclab.services.plan import PlanOptions, plan
from rubriclab.services.workspace import Workspace


async def prepare_labeling(workspace: Workspace, data: Data, options: LabelOptions) -> Labeling:
    """Return the texts of `data`, ready to be judged; with a plan, the judge rates them first.

    Raises:
        DataError: if a row is faulty, an id occurs twice, or there is nothing to judge.
        SettingsError: for options that do not go together.
        NotInStore: if `rubric` is not in the store.
    """
    question = question_of(options)
    store = workspace.open_store(create=True)
    texts, former = _texts(workspace, data, options, question.aspect.name)
    planned = await _planned(workspace, texts, options) if options.order == "plan" else ()
    labeling = Labeling(store, question, texts, options, planned=planned, former=former)
    if not labeling.items("anybody"):
        raise DataError(
            f"None of {count(len(texts), 'text')} shares its group with another one, so nothing can be compared.",
            f"Rate them one by one: {option('mode', 'rate')}.",
        )
    return labeling


def question_of(options: LabelOptions) -> LabelQuestion:
    """Return what the raters are asked.

    Raises:
        UserError: if the aspect has no definition.
        SettingsError: for a scale that is not understood.
    """
    # Ratings on a scale with whole ends are whole numbers unless the scale says otherwise.
    scale = parse_scale(options.scale, (0.0,))
    return LabelQuestion(task_words(options.task), find_aspect(options.task, options.aspect, options.definition), scale)


def _texts(
    workspace: Workspace, data: Data, options: LabelOptions, aspect: str
) -> tuple[tuple[LabelText, ...], tuple[Comparison, ...]]:
    rows = rows_of(data, options, workspace.notify)
    texts, faults = dict[str, LabelText](), list[str]()
    for row in rows:
        if isinstance(row, RowError):
            faults.append(str(row))
            continue
        text = LabelText(row, own_columns(rows.row, options.mapping))
        if texts.setdefault(row.id, text).key != text.key:
            faults.append(f"{rows.where}:{rows.line}: the id {row.id!r} is that of another text")
    examples = [text.example for text in texts.values()]
    faults += map(str, comparison_faults(rows.where, rows.comparisons, examples))
    notify_skipped(rows, workspace.notify)
    if faults:
        raise DataError(f"{count(len(faults), 'faulty row')}: {faults[0]}", _faults_hint(faults), faults)
    if not texts:
        raise DataError(f"{rows.where} has no texts to label.", "Give rows with a field 'output'.")
    return tuple(texts.values()), tuple(comparison for _, comparison in about(rows.comparisons, examples, aspect))


def _faults_hint(faults: Sequence[str]) -> str:
    more = f"The others: {'; '.join(faults[1:4])}. " if len(faults) > 1 else ""
    return f"{more}Correct them, or leave them out: {option('skip_faulty')}."


async def _planned(workspace: Workspace, texts: Sequence[LabelText], options: LabelOptions) -> tuple[str, ...]:
    """Return the keys of texts, the one whose label helps most first."""
    if options.rubric is None:
        raise SettingsError(
            f"{option('order', 'plan')} needs a version that says which labels help most.",
            f"Give {option('rubric', 'NAME')}.",
        )
    planning = PlanOptions.given({"judge": options.judge})
    result = await plan(workspace, [text.example for text in texts], options.rubric, planning)
    keys = {text.example.id: text.key for text in texts}
    return tuple(keys[planned.example.id] for planned in result.plan.texts)

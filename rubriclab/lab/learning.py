"""The operations of `Lab` on data and criteria: from checking rows to editing what was learned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.lab.base import LabBase, asynchronous, synchronous, with_options
from rubriclab.services import (
    check as checking,
    edit as editing,
    learn as learning,
    lint as linting,
    literature_add as literature_adding,
    literature_files,
    plan as planning,
    split as splitting,
)
from rubriclab.services.check import CheckOptions, CheckResult
from rubriclab.services.edit_options import EditOptions, EditResult
from rubriclab.services.inputs import Data
from rubriclab.services.label_options import LabelOptions, LabelResult
from rubriclab.services.learn import LearnOptions
from rubriclab.services.lint import LintResult
from rubriclab.services.literature_add import LiteratureAdded, LiteratureAddOptions
from rubriclab.services.literature_files import (
    FindingList,
    LiteratureOptions,
    LiteratureShowOptions,
)
from rubriclab.services.plan import PlanOptions, PlanResult
from rubriclab.services.split import SampleFiles, SplitOptions, SplitResult, write_sample

if TYPE_CHECKING:
    from rubriclab.checklist import Checklist
    from rubriclab.store import Version


class LearningOperations(LabBase):
    """Data, learning, labels and literature."""

    @with_options(CheckOptions)
    def check(self, /, data: Data, **options: Any) -> CheckResult:
        """Return what data is taken for and every problem that keeps it from being used; no judge is asked.

        Args:
            data: as for `learn`.

        Raises:
            DataError: if nothing can be read of a file: it is missing, damaged, or of an unknown format.
        """
        return checking.check(data, self._options(CheckOptions, options))

    @with_options(SplitOptions)
    def split(self, /, data: Data, **options: Any) -> SplitResult:
        """Return the rows of data in two parts that share no group; `rl.write_rows` writes them to files.

        Raises:
            DataError: if rows are faulty, or there are fewer than two groups.
        """
        with self._workspace() as workspace:
            return splitting.split(data, self._options(SplitOptions, options), workspace.notify)

    def sample(self, folder: str | Path = "demo") -> SampleFiles:
        """Write the shipped sample, texts with constructed labels, to a folder and return its files.

        Args:
            folder: a new or empty folder, or one that has the sample.

        Raises:
            SettingsError: if `folder` is a file, or has other files but not the sample.
        """
        return write_sample(folder)

    check_async = asynchronous(check)
    split_async = asynchronous(split)
    sample_async = asynchronous(sample)

    @with_options(LearnOptions)
    async def learn_async(self, /, data: Data, **options: Any) -> Version:
        """Return the rubric that is learned from labelled texts, saved as a version.

        Several methods find criteria; the labels choose, weigh and calibrate them. Stopped by an interruption or a cap,
        the same call continues where it was: every answer is cached when it arrives.

        Args:
            data: a path, rows as mappings, a pandas, polars or pyarrow table, a Hugging Face data set, or examples.

        Raises:
            DataError: if the texts cannot be learned from.
            SettingsError: for options that do not go together.
            JudgeError: if the provider fails, or nothing could be learned.
            BudgetReached: if a cap on calls or money was reached.
        """
        with self._workspace() as workspace:
            return (await learning.learn(workspace, data, self._options(LearnOptions, options))).version

    learn = synchronous(learn_async)

    @with_options(PlanOptions)
    async def plan_async(self, /, data: Data, rubric: str | Version, **options: Any) -> PlanResult:
        """Return which texts to label next so that a rubric improves most.

        Raises:
            NotInStore: if there is no such rubric, or no record of its training.
            DataError: if there are no texts without a label.
        """
        with self._workspace() as workspace:
            return await planning.plan(workspace, data, rubric, self._options(PlanOptions, options))

    plan = synchronous(plan_async)

    @with_options(EditOptions)
    async def edit_async(self, /, rubric: str | Version, **options: Any) -> EditResult:
        """Return the effect of changing a rubric by hand, and the child version that is saved unless it is a preview.

        Raises:
            NotInStore: if there is no such rubric.
            SettingsError: for changes that are not possible, or without who makes them and why.
            DataError: if there are no labelled texts.
        """
        with self._workspace() as workspace:
            return await editing.edit(workspace, rubric, self._options(EditOptions, options))

    edit = synchronous(edit_async)

    @with_options(LabelOptions)
    async def label_async(self, /, data: Data, output: str | Path | None = None, **options: Any) -> LabelResult:
        """Return the labels that people give to texts on a page, which is served until Ctrl-C or until it is ended.

        Every answer is in the store as soon as it is given; the same call again continues.

        Args:
            data: as for `learn`; labels are not needed.
            output: the file that the labelled rows are written to, in the format that its name says.

        Raises:
            DataError: if a row is faulty, there is nothing to label, or `output` cannot be written.
            SettingsError: for options that do not go together, or a port that is in use.
        """
        from rubriclab.web.label.serve import label

        with self._workspace() as workspace:
            return await label(workspace, data, output, self._options(LabelOptions, options))

    label = synchronous(label_async)

    def lint(self, checklist: str | Path | Checklist) -> LintResult:
        """Return the duplicate questions of a checklist, or of a checklist file.

        Raises:
            ChecklistError: if the file is no checklist.
        """
        return linting.lint(checklist)

    @with_options(LiteratureAddOptions)
    async def literature_add_async(self, /, paper: str | Path, **options: Any) -> LiteratureAdded:
        """Return the findings about raters that a language model takes from a PDF or text file; they are kept.

        Raises:
            LiteratureError: if a file cannot be used.
            UserError: for the offline judge, or an aspect without a definition.
            JudgeError: if the provider fails, or no part of the paper had a usable reply.
            BudgetReached: if a cap on calls or money was reached.
        """
        with self._workspace() as workspace:
            chosen = self._options(LiteratureAddOptions, options)
            return await literature_adding.literature_add(workspace, paper, chosen)

    literature_add = synchronous(literature_add_async)

    @with_options(LiteratureShowOptions)
    def literature_list(self, /, *findings: str, **options: Any) -> FindingList:
        """Return the findings that are kept, or those that ship; in detail if ids of some are given.

        Raises:
            LiteratureError: if a file cannot be used, or there is no finding with an id.
        """
        return literature_files.list_findings(self._options(LiteratureShowOptions, options), findings)

    @with_options(LiteratureOptions)
    def literature_remove(self, /, *findings: str, **options: Any) -> FindingList:
        """Return the findings that were removed, given their ids, from all files or from the file of a task.

        Raises:
            LiteratureError: if there is none.
        """
        return literature_files.remove(self._options(LiteratureOptions, options), findings)

    literature_list_async = asynchronous(literature_list)
    literature_remove_async = asynchronous(literature_remove)
    lint_async = asynchronous(lint)

"""Everything that the command line does, for Python scripts, asynchronous code and notebooks.

`Lab` has a method for each operation, which takes the operation's options as keyword arguments; `rubriclab.ops` does
the work. A rubric is saved in the store as a version, which never changes. A pack is a file with one version.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import shlex
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from rubriclab import ops, running
from rubriclab.base_options import Options, type_text
from rubriclab.data.mapping import DefaultMap, parse_mapping
from rubriclab.data.write import replacing
from rubriclab.display import Document, as_python, python_call
from rubriclab.errors import SettingsError
from rubriclab.judges.options import JudgeOptions
from rubriclab.learning.estimate import DryRun
from rubriclab.learning.scoring import Score
from rubriclab.methods.method import Progress
from rubriclab.methods.sources import Checklist
from rubriclab.models.base import is_sqlite_file
from rubriclab.models.characters import describe, did_you_mean
from rubriclab.models.version import TrainingRecord, Version
from rubriclab.ops.inputs import Data
from rubriclab.ops.scores import Scores
from rubriclab.ops.workspace import Job, JudgedResult, Notify, RubricLike, Workspace, rubric_ref
from rubriclab.running import Closing, iterate, run_to_end
from rubriclab.store.diff import VersionDiff, compare
from rubriclab.store.store import Store, StoreAccess, open_store

L = TypeVar("L")
P = ParamSpec("P")
T = TypeVar("T")
OptionsT = TypeVar("OptionsT", bound=Options)

logger = logging.getLogger("rubriclab.lab")


def synchronous(function: Callable[Concatenate[L, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[L, P], T]:
    """Return the synchronous form of an asynchronous method; it also works while an event loop is running."""

    @wraps(function)
    def method(self: L, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return run_to_end(lambda: function(self, *args, **kwargs))

    method.__name__ = function.__name__.removesuffix("_async")
    method.__qualname__ = function.__qualname__.removesuffix("_async")
    return method


def asynchronous(function: Callable[Concatenate[L, P], T]) -> Callable[Concatenate[L, P], Coroutine[Any, Any, T]]:
    """Return the asynchronous form of a synchronous method, which runs in a thread."""

    @wraps(function)
    async def method(self: L, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(function, self, *args, **kwargs)

    method.__name__ = f"{function.__name__}_async"
    method.__qualname__ = f"{function.__qualname__}_async"
    return method


def with_options(options_class: type[Options]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that replaces `**options` in a method's signature and docstring by the fields of the class."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)
        parameters = [parameter for parameter in signature.parameters.values() if parameter.name != "options"]
        documentation = f"{inspect.cleandoc(function.__doc__ or '')}\n\nOptions:\n"
        for name, field in options_class.model_fields.items():
            documentation += f"    {name}: {' '.join((field.description or '').split())}\n"
            if name not in signature.parameters:
                required = field.is_required()
                default = inspect.Parameter.empty if required else field.get_default(call_default_factory=True)
                option = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
                parameters.append(option.replace(annotation=type_text(field.annotation)))
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        function.__doc__ = documentation
        return function

    return decorate


# For `dry_run`: the class of the options of each operation that asks a judge, and the function that returns its `Job`.
OPERATIONS: Mapping[str, tuple[type[Options], Callable[..., Any]]] = {
    "learn": (ops.options.LearnOptions, ops.learn.learn),
    "score": (ops.options.ScoreOptions, ops.score.prepare_scoring),
    "evaluate": (ops.options.EvaluateOptions, ops.evaluate.evaluate),
    "explain": (ops.options.ExplainOptions, ops.explain.explain),
    "agree": (ops.options.AgreeOptions, ops.agree.agree),
    "transfer": (ops.options.TransferOptions, ops.transfer.transfer),
    "drift": (ops.options.DriftOptions, ops.compare.drift),
    "compare": (ops.options.CompareOptions, ops.compare.compare),
    "plan": (ops.options.PlanOptions, ops.plan.plan),
    "improve": (ops.options.ImproveOptions, ops.improve.prepare_improving),
    "edit": (ops.options.EditOptions, ops.edit.edit),
    "literature_add": (ops.options.LiteratureAddOptions, ops.literature.literature_add),
}


class Lab(Closing):
    """A store of rubrics, the judge to ask, and everything that can be done with them.

    Every method has an asynchronous form with the same arguments: `await lab.learn_async(...)`. The synchronous forms
    work where an event loop is running, too, as in a notebook.

    `data` is a path, rows as mappings, a pandas, polars or pyarrow table, a Hugging Face data set or examples. `rubric`
    is a version, `NAME` (the newest), `NAME@3` or `NAME@production`. Any method may raise:

    - `NoStore` if there is no store, `NotInStore` if a version is missing, `ReplayMiss` if a reply was not recorded
    - `DataError` for unusable rows, `LiteratureError` for files of findings, `ChecklistError` for files of questions
    - `SettingsError` for invalid options, such as an aspect without a definition
    - `NotConfirmed` if the judge is named only by an imported version that was not trusted
    - `JudgeError` if the provider fails, `BudgetReached` at a cap

    Args:
        store: an SQLite file or any SQLAlchemy URL; by default the user's own store.
        judge: a litellm model string, `embedded` (offline, no language model) or `recorded:PATH`; by default the judge
            that the rubric was learned with, and for learning the offline judge.
        generator: the model that proposes criteria; by default the judge.
        settings: hyperparameters by method, for everything that is learned: `{"hypoeval": {"k": 10}}`.
        mapping: the column of each field, as in `{"output": "summary"}`; not needed if rows have `output`.
        record: the file in which requests and replies are recorded.
        progress: `"auto"` for a bar in a terminal or a notebook, a function that gets a message and the share of the
            work that is done, or `None`.
        notify: gets each message for the user; by default, messages are logged, and printed in a terminal or notebook.
        options: fields of `JudgeOptions`, such as `max_cost`. Caps limit all calls of this object together.

    Raises:
        SettingsError: for an option that is unknown or out of bounds.
    """

    def __init__(
        self,
        store: str | Path | None = None,
        judge: str | None = None,
        *,
        generator: str | None = None,
        settings: ops.options.SettingsTables | None = None,
        mapping: str | Mapping[str, str] | None = None,
        record: str | Path | None = None,
        progress: Progress | Literal["auto"] | None = "auto",
        notify: Notify | None = None,
        **options: Any,
    ) -> None:
        from rubriclab.judges.limits import LocalBudget

        progress_form = "'auto', a function that takes a message and the share done, or None"
        for name, value, is_valid, expected in (
            ("store", store, isinstance(store, str | Path | None), "a path or a URL"),
            ("settings", settings, isinstance(settings or {}, Mapping), "settings by method"),
            ("record", record, isinstance(record, str | Path | None), "a path"),
            ("progress", progress, progress in (None, "auto") or callable(progress), progress_form),
            ("notify", notify, notify is None or callable(notify), "a function that takes a message"),
            ("mapping", mapping, isinstance(mapping or {}, str | Mapping), "columns by field"),
        ):
            if not is_valid:
                raise SettingsError(f"{name}: expected {expected}, got {describe(value)}.")
        self._store = store
        columns = parse_mapping(mapping).columns if isinstance(mapping, str) else mapping
        default_mapping = DefaultMap(dict(columns)) if columns else None
        self._defaults: dict[str, Any] = {"judge": judge, "generator": generator, "mapping": default_mapping}
        self._settings = settings or {}
        self._record = Path(record) if record else None
        self._progress = progress
        self._notify_user = notify
        self._judge_options = JudgeOptions(**options)
        self._budget = LocalBudget(self._judge_options.max_calls, self._judge_options.max_cost)
        self._streams = ExitStack()

    def __repr__(self) -> str:
        judge = f", judge={self._defaults['judge']!r}" if self._defaults["judge"] else ""
        return f"Lab({str(self._store)!r}{judge})"

    def close(self) -> None:
        """End the streams of scores that are still open."""
        self._streams.close()

    def _notify(self, text: str) -> None:
        """Give a message to the user's function `notify`; without one, log it, and print it where the user sees it."""
        message = as_python(text)
        if self._notify_user:
            self._notify_user(message)
            return
        logger.info(message)
        if running.in_notebook() or sys.stderr.isatty():
            print(message, file=sys.stderr)

    def _workspace(self) -> Workspace:
        return Workspace(
            self._store,
            self._judge_options,
            notify=self._notify,
            progress=_progress_display(self._progress),
            record=self._record,
            settings=self._settings,
            budget=self._budget,
        )

    def _open_store(self, access: StoreAccess = "read") -> Store:
        return open_store(self._store, create=False, access=access)

    def _options(self, options_class: type[OptionsT], values: Mapping[str, Any]) -> OptionsT:
        """Return an operation's options: each from the call, else from this object, else its default."""
        defaults = {name: value for name, value in self._defaults.items() if name in options_class.model_fields}
        return options_class(**defaults | {name: value for name, value in values.items() if value is not None})

    async def _run(
        self, prepare: Callable[..., Job[T]], options_class: type[Options], options: Mapping[str, Any], *arguments: Any
    ) -> T:
        with self._workspace() as workspace:
            result = await workspace.run(prepare, *arguments, self._options(options_class, options))
        if isinstance(result, JudgedResult):
            result.raise_if_unanswered()
        return result

    def versions(self, name: str | None = None) -> tuple[Version, ...]:
        """Return the newest version of each rubric, or all versions of the rubric `name`, the newest first."""
        with self._open_store() as store:
            return ops.versions.list_versions(store, self._notify, name)

    def load(self, ref: str) -> Version:
        """Return the version that `NAME` (the newest), `NAME@3` or `NAME@production` means."""
        with self._open_store() as store:
            return store.load(ref)

    def training_record(self, rubric: str | Version) -> TrainingRecord:
        """Return the ratings of the labelled texts by each candidate criterion, kept with a version."""
        with self._open_store() as store:
            return ops.versions.training_record(store, rubric_ref(rubric))

    @with_options(ops.versions.DisagreementsOptions)
    def disagreements(self, /, rubric: str | Version, **options: Any) -> ops.versions.Disagreements:
        """Return the labelled texts whose cross-validated scores lie furthest from their labels."""
        chosen_options = self._options(ops.versions.DisagreementsOptions, options)
        with self._open_store() as store:
            version = store.load(rubric_ref(rubric))
            return ops.versions.disagreements(version, ops.versions.training_record(store, version.ref), chosen_options)

    def gate(self, rubric: str | Version) -> ops.versions.GateResult:
        """Return whether a version agrees better with people than its baseline, which is the same judge asked directly.

        Raises:
            UserError: if the version was never compared, or is a baseline."""
        with self._open_store() as store:
            return ops.versions.gate(store, rubric_ref(rubric))

    def report(self, rubric: str | Version, path: str | Path | None = None) -> Document:
        """Return an HTML page on how a version was learned, also written to `path`; it has commands to copy."""
        from rubriclab.report.rubrics import training_view

        with self._open_store() as store:
            version = store.load(rubric_ref(rubric))
            view = training_view(version, store.training(version.ref))
            # Commands on the page do not name a store by its URL, which may have a password.
            store_path = "" if self._store is None or "://" in str(self._store) else shlex.quote(str(self._store))

            def add_store_option(text: str) -> str:
                return f"{text} --store {store_path}" if store_path and text.startswith("rubriclab ") else text

            return _document(view.with_commands_rewritten_by(add_store_option, python_call).page(), path)

    def tag(self, rubric: str | Version, tag: str, *, force: bool = False) -> Version:
        """Point a tag to a version, and return the version.

        Raises:
            BelowThreshold: for `production`, if a verdict on the version is not *better*, unless `force` is set."""
        with self._open_store("write") as store:
            return ops.versions.tag(store, rubric_ref(rubric), tag, self._notify, force=force)

    def untag(self, name: str, tag: str) -> None:
        """Remove a tag."""
        with self._open_store("write") as store:
            store.untag(str(name).partition("@")[0], tag)

    def diff(self, before: str | Version, after: str | Version) -> VersionDiff:
        """Return what changed from one version to another."""
        with self._open_store() as store:
            return compare(store.load(rubric_ref(before)), store.load(rubric_ref(after)))

    def export(self, rubric: str | Version, path: str | Path | None = None, *, anonymous: bool = False) -> Document:
        """Return a version as a pack to share, also written to `path`; with `anonymous`, without people's names."""
        with self._open_store() as store:
            return _document(ops.versions.export(store, rubric_ref(rubric), self._notify, anonymous=anonymous), path)

    def import_(self, path: str | Path, name: str | None = None) -> Version:
        """Return the version that now holds the rubric of a pack file; raises `PackError` for a damaged pack."""
        return ops.versions.import_(self._store, str(path), self._notify, name)

    def trust(self, rubric: str | Version, *, revoke: bool = False) -> Version:
        """Allow an imported version to choose a judge and its address; with `revoke`, forbid it. Return the version."""
        with self._open_store("write") as store:
            ref = rubric_ref(rubric)
            return store.revoke(ref) if revoke else store.confirm(ref)

    def verify(self, *, repair: bool = False) -> ops.versions.VerifyResult:
        """Return everything in the store that is not as it was written; with `repair`, remove damaged answers first."""
        with self._open_store("write" if repair else "read") as store:
            return ops.versions.verify(store, repair=repair)

    @with_options(ops.versions.BatchesOptions)
    async def batches_async(self, /, **options: Any) -> ops.versions.Batches:
        """Return the batches that a provider is processing; with `cancel`, cancel one of them first."""
        with self._workspace() as workspace:
            return await ops.versions.batches(workspace, self._options(ops.versions.BatchesOptions, options))

    def store_size(self) -> ops.versions.StoreSize:
        """Return the numbers of rows and bytes in the store: versions, cached answers by model, and other content."""
        with self._open_store() as store:
            return ops.versions.StoreSize(store.address, *store.sizes())

    @with_options(ops.versions.PruneOptions)
    def prune(self, /, **options: Any) -> ops.versions.PruneResult:
        """Remove cached answers, and nothing else. Answers that are needed later are requested and paid for again."""
        chosen_options = self._options(ops.versions.PruneOptions, options)
        with self._open_store("read" if chosen_options.dry_run else "write") as store:
            return ops.versions.prune(store, chosen_options)

    @with_options(ops.options.CheckOptions)
    def check(self, /, data: Data, **options: Any) -> ops.check.CheckResult:
        """Return how data would be read, and every problem that prevents its use; no judge is asked."""
        return ops.check.check(data, self._options(ops.options.CheckOptions, options)).rewrite_messages(as_python)

    @with_options(ops.options.SplitOptions)
    def split(self, /, data: Data, **options: Any) -> ops.check.SplitResult:
        """Return the rows of data in two parts that share no group; `rl.write_rows` writes them to files."""
        with self._workspace() as workspace:
            return ops.check.split(data, self._options(ops.options.SplitOptions, options), workspace.notify)

    def sample(self, folder: str | Path = "demo") -> ops.check.SampleFiles:
        """Write the shipped sample, texts with constructed labels, to a folder that is new, empty or has the sample."""
        return ops.check.write_sample(folder)

    @with_options(ops.options.LearnOptions)
    async def learn_async(self, /, data: Data, **options: Any) -> Version:
        """Return the rubric that is learned from labelled texts, saved as a version.

        After an interruption, or at a cap, the same call continues: every answer is cached when it arrives."""
        return (await self._run(ops.learn.learn, ops.options.LearnOptions, options, data)).version

    @with_options(ops.options.PlanOptions)
    async def plan_async(self, /, data: Data, rubric: str | Version, **options: Any) -> ops.plan.PlanResult:
        """Return which texts to label next so that a rubric improves most."""
        return await self._run(ops.plan.plan, ops.options.PlanOptions, options, data, rubric)

    @with_options(ops.options.EditOptions)
    async def edit_async(self, /, rubric: str | Version, **options: Any) -> ops.edit.EditResult:
        """Return the effect of changing a rubric by hand; without `preview`, save the changed rubric as a version."""
        return await self._run(ops.edit.edit, ops.options.EditOptions, options, rubric)

    @with_options(ops.options.LabelOptions)
    async def label_async(
        self, /, data: Data, output: str | Path | None = None, **options: Any
    ) -> ops.label.LabelResult:
        """Serve a page for labelling texts until it is ended or interrupted, and return the labels.

        Every answer is stored at once; the same call again continues. The labelled rows are written to `output`."""
        from rubriclab.web.label import label

        with self._workspace() as workspace:
            return await label(workspace, data, output, self._options(ops.options.LabelOptions, options))

    def lint(self, checklist: str | Path | Checklist) -> ops.check.LintResult:
        """Return the duplicate questions of a checklist or of its file; `ChecklistError` if it holds no checklist."""
        return ops.check.lint(checklist)

    @with_options(ops.options.LiteratureAddOptions)
    async def literature_add_async(self, /, paper: str | Path, **options: Any) -> ops.literature.LiteratureAdded:
        """Have a language model extract findings about raters from a PDF or text file; save and return them."""
        return await self._run(ops.literature.literature_add, ops.options.LiteratureAddOptions, options, paper)

    @with_options(ops.options.LiteratureShowOptions)
    def literature_list(self, /, *findings: str, **options: Any) -> ops.literature.FindingList:
        """Return your own findings or the shipped ones; those whose ids are given are shown in detail."""
        return ops.literature.list_findings(self._options(ops.options.LiteratureShowOptions, options), findings)

    @with_options(ops.options.ScoreOptions)
    async def score_async(self, /, data: Data, rubric: RubricLike | None = None, **options: Any) -> Scores:
        """Return the scores of texts by a rubric; a faulty row has a reason instead of a score.

        `data` may also be a list of texts and `rubric` a `Rubric`; without `rubric`, `task` and `aspect` are needed."""
        with self._workspace() as workspace:
            return await ops.score.score(workspace, data, rubric, self._options(ops.options.ScoreOptions, options))

    @overload
    def score(
        self, data: Data, rubric: RubricLike | None = None, *, stream: Literal[False] = False, **options: Any
    ) -> Scores: ...
    @overload
    def score(
        self, data: Data, rubric: RubricLike | None = None, *, stream: Literal[True], **options: Any
    ) -> Iterator[Score]: ...
    @with_options(ops.options.ScoreOptions)
    def score(
        self, data: Data, rubric: RubricLike | None = None, *, stream: bool = False, **options: Any
    ) -> Scores | Iterator[Score]:
        """Return the `Scores` of texts as `score_async` does, or with `stream` an iterator of `Score`."""
        if stream:
            scores = iterate(lambda: self.score_stream_async(data, rubric, **options))
            self._streams.callback(scores.close)
            return scores
        return run_to_end(lambda: self.score_async(data, rubric, **options))

    async def score_stream_async(
        self, data: Data, rubric: RubricLike | None = None, **options: Any
    ) -> AsyncGenerator[Score]:
        """Yield the score of each text in order, as soon as it is known; memory does not grow with their number."""
        with self._workspace() as workspace:
            chosen_options = self._options(ops.options.ScoreOptions, options)
            run = await workspace.off_event_loop(ops.score.prepare_scoring, workspace, data, rubric, chosen_options)
            async for row in run.stream():
                yield row.score
            run.raise_if_unanswered()

    @with_options(ops.options.ScoreOptions)
    def scorer(self, /, rubric: RubricLike, **options: Any) -> ops.score.TextScorer:
        """Return an open rubric that scores texts one at a time, from any thread or event loop; close it at the end."""
        return ops.score.TextScorer(self._workspace(), rubric, self._options(ops.options.ScoreOptions, options))

    @with_options(ops.options.EvaluateOptions)
    async def evaluate_async(
        self, /, data: Data, rubrics: str | Version | Sequence[str | Version], **options: Any
    ) -> ops.evaluate.Evaluation:
        """Return how well rubrics and baselines agree with human scores, on groups that no rubric was learned from."""
        return await self._run(ops.evaluate.evaluate, ops.options.EvaluateOptions, options, data, rubrics)

    @with_options(ops.options.ExplainOptions)
    async def explain_async(
        self, /, data: Data | None = None, rubric: str | Version | None = None, **options: Any
    ) -> ops.explain.ScoreExplanation:
        """Return why a text has its score: the points each criterion adds, with reasons, and similar labelled texts.

        `data` may be a `.txt` file. `id` selects one of several texts or, without `data`, a training text."""
        return await self._run(ops.explain.explain, ops.options.ExplainOptions, options, data, rubric)

    @with_options(ops.options.AgreeOptions)
    async def agree_async(self, /, data: Data, rubric: str | Version, **options: Any) -> ops.agree.AgreeResult:
        """Return how far two or more judges agree when they score the same texts by one rubric."""
        return await self._run(ops.agree.agree, ops.options.AgreeOptions, options, data, rubric)

    @with_options(ops.options.TransferOptions)
    async def transfer_async(self, /, rubric: str | Version, to: Data, **options: Any) -> ops.transfer.TransferResult:
        """Return how a rubric, reused, recalibrated or relearned, agrees with labels of other texts.

        With `save`, the result of `action` is saved. Without labels, only the texts are compared."""
        result = await self._run(ops.transfer.transfer, ops.options.TransferOptions, options, rubric, to)
        result.raise_if_not_saved()
        return result

    @with_options(ops.options.DriftOptions)
    async def drift_async(
        self, /, data: Data, before: str | Version, after: str | Version | None = None, **options: Any
    ) -> ops.compare.CompareResult:
        """Return how the scores of texts change from one version to another, or between two `judges` of one version."""
        return await self._run(ops.compare.drift, ops.options.DriftOptions, options, data, before, after)

    @with_options(ops.options.CompareOptions)
    async def compare_async(
        self, /, before: Data, after: Data, rubric: str | Version | None = None, **options: Any
    ) -> ops.compare.CompareResult:
        """Return how the scores of one set of outputs differ from those of another."""
        return await self._run(ops.compare.compare, ops.options.CompareOptions, options, before, after, rubric)

    @with_options(ops.options.ImproveOptions)
    async def improve_async(self, /, data: Data, rubric: str | Version, **options: Any) -> ops.improve.ImproveResult:
        """Rewrite texts where a rubric finds faults, and return them; only rewrites that score higher are kept."""
        with self._workspace() as workspace:
            chosen_options = self._options(ops.options.ImproveOptions, options)
            return await ops.improve.improve(workspace, data, rubric, chosen_options)

    def dry_run(self, operation: str, /, *arguments: Any, **options: Any) -> DryRun:
        """Estimate the calls that an operation takes, and make none: `lab.dry_run("learn", frame, task=...)`."""
        if not isinstance(operation, str) or operation not in OPERATIONS:
            hint = f"{did_you_mean(operation, OPERATIONS)}Expected one of {', '.join(OPERATIONS)}."
            raise SettingsError(f"There is no operation {describe(operation)} to estimate.", hint)
        options_class, prepare = OPERATIONS[operation]
        # Data and rubrics may be given by position or by name, as in a call of the operation; the rest are options.
        method = getattr(Lab, f"{operation}_async")
        keyword_kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
        _self, *others = inspect.signature(method).parameters.values()
        parameters = [parameter for parameter in others if parameter.kind not in keyword_kinds]
        names = [parameter.name for parameter in parameters]
        given_by_name = {name: options.pop(name) for name in names if name in options}
        try:
            bound = inspect.Signature(parameters).bind(*arguments, **given_by_name)
        except TypeError as error:
            expected = ", ".join([repr(operation), *names])
            raise SettingsError(f"{operation}: {error}.", f"Expected lab.dry_run({expected}, ...).") from None
        bound.apply_defaults()
        with self._workspace() as workspace:
            estimate: DryRun = prepare(workspace, *bound.args, self._options(options_class, options)).estimate()
            return estimate

    async def studio_async(
        self, rubric: str | Version | None = None, *, port: int | None = None, browser: bool = True
    ) -> None:
        """Serve the store as pages in a browser, on this computer only, until interrupted; print the address.

        The default port is 8521, or any free port if 8521 is in use."""
        from rubriclab.web.studio.pages import serve_studio

        ref = None if rubric is None else rubric_ref(rubric)
        judge = self._defaults["judge"]
        await serve_studio(self._workspace(), ref, judge=judge, port=port, browser=browser, format_command=python_call)

    @with_options(ops.options.ServeOptions)
    async def serve_async(
        self, /, rubric: RubricLike, *, on_access: Callable[[Mapping[str, Any]], object] | None = None, **options: Any
    ) -> None:
        """Serve a rubric over HTTP until SIGINT, SIGTERM or a cancellation; print the address.

        Requests under way are answered first. The caps of this object limit all requests together.

        Args:
            on_access: called after each answered request with its time, request (id), client (address), caller (name of
                the token), method, path, status and seconds; by default these are logged."""
        from rubriclab.web.api import log_access, serve_rubric

        chosen_options = self._options(ops.options.ServeOptions, options)
        await serve_rubric(self._workspace(), rubric, chosen_options, on_access=on_access or log_access)

    async def mcp_async(self, *, allow_calls: bool = False) -> None:
        """Offer the rubrics of the store to an assistant, by the Model Context Protocol, until standard input ends.

        The tools list and show rubrics, score texts and explain scores; none changes a rubric, a tag or a label.

        Args:
            allow_calls: whether a language model may be asked; this needs `max_cost` or `max_calls`. Otherwise only the
                offline judge and cached answers are used."""
        from rubriclab.integrations.mcp import serve_mcp

        await serve_mcp(self._workspace(), self._defaults["judge"], allow_calls=allow_calls)

    batches = synchronous(batches_async)
    learn = synchronous(learn_async)
    plan = synchronous(plan_async)
    edit = synchronous(edit_async)
    label = synchronous(label_async)
    literature_add = synchronous(literature_add_async)
    evaluate = synchronous(evaluate_async)
    explain = synchronous(explain_async)
    agree = synchronous(agree_async)
    transfer = synchronous(transfer_async)
    drift = synchronous(drift_async)
    compare = synchronous(compare_async)
    improve = synchronous(improve_async)
    studio = synchronous(studio_async)
    serve = synchronous(serve_async)
    mcp = synchronous(mcp_async)

    versions_async = asynchronous(versions)
    load_async = asynchronous(load)
    training_record_async = asynchronous(training_record)
    disagreements_async = asynchronous(disagreements)
    gate_async = asynchronous(gate)
    report_async = asynchronous(report)
    tag_async = asynchronous(tag)
    untag_async = asynchronous(untag)
    diff_async = asynchronous(diff)
    export_async = asynchronous(export)
    import_async = asynchronous(import_)
    trust_async = asynchronous(trust)
    verify_async = asynchronous(verify)
    store_size_async = asynchronous(store_size)
    prune_async = asynchronous(prune)
    check_async = asynchronous(check)
    split_async = asynchronous(split)
    sample_async = asynchronous(sample)
    literature_list_async = asynchronous(literature_list)
    lint_async = asynchronous(lint)
    scorer_async = asynchronous(scorer)
    dry_run_async = asynchronous(dry_run)


def _progress_display(progress: Progress | Literal["auto"] | None) -> running.ProgressDisplay:
    if progress is None:
        return running.no_progress
    if progress != "auto":
        return lambda _ledger: nullcontext(progress)
    if running.in_notebook():
        return running.notebook_bar
    return running.terminal_bar if sys.stderr.isatty() else running.no_progress


def _document(text: str, path: str | Path | None) -> Document:
    if path is not None:
        try:
            if is_sqlite_file(Path(path)):
                raise ValueError("it is a database")
            with replacing(Path(path)) as file:
                file.write_text(text, "utf-8")
        except (OSError, TypeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SettingsError(f"{path} cannot be written: {reason}.", "Give the path of another file.") from None
    return Document(text)

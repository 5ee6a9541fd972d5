"""Everything that the command line does, from Python: scripts, asynchronous code and notebooks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rubriclab.base_options import Options
from rubriclab.errors import SettingsError
from rubriclab.lab.base import asynchronous, synchronous, with_options
from rubriclab.lab.operations import Operations
from rubriclab.models.characters import describe, did_you_mean
from rubriclab.ops import (
    compare as comparing,
    edit as editing,
    evaluate as evaluating,
    explain as explaining,
    improve as improving,
    label as planning,
    learn as learning,
    literature as literature_adding,
    score as scoring,
    transfer as transferring,
)
from rubriclab.ops.options import (
    AgreeOptions,
    CompareOptions,
    DriftOptions,
    EditOptions,
    EvaluateOptions,
    ExplainOptions,
    ImproveOptions,
    LearnOptions,
    LiteratureAddOptions,
    PlanOptions,
    ScoreOptions,
    ServeOptions,
    TransferOptions,
)
from rubriclab.ops.workspace import RubricLike, ref_of

if TYPE_CHECKING:
    from rubriclab.learning.estimate import DryRun
    from rubriclab.models.version import Version


def _estimate_of(prepare: Callable[..., Any]) -> Callable[..., DryRun]:
    return lambda *arguments: prepare(*arguments).estimate()


OPERATIONS: Mapping[str, tuple[type[Options], Callable[..., DryRun]]] = {
    "learn": (LearnOptions, _estimate_of(learning.learn)),
    "score": (ScoreOptions, _estimate_of(scoring.prepare_scoring)),
    "evaluate": (EvaluateOptions, _estimate_of(evaluating.evaluate)),
    "explain": (ExplainOptions, _estimate_of(explaining.explain)),
    "agree": (AgreeOptions, _estimate_of(evaluating.agree)),
    "transfer": (TransferOptions, _estimate_of(transferring.transfer)),
    "drift": (DriftOptions, _estimate_of(comparing.drift)),
    "compare": (CompareOptions, _estimate_of(comparing.compare)),
    "plan": (PlanOptions, _estimate_of(planning.plan)),
    "improve": (ImproveOptions, _estimate_of(improving.prepare_improvement)),
    "edit": (EditOptions, _estimate_of(editing.edit)),
    "literature_add": (LiteratureAddOptions, _estimate_of(literature_adding.literature_add)),
}


class Lab(Operations):
    """A store of rubrics, the judge to ask, and everything that can be done with them.

    Every method has an asynchronous form (`await lab.learn_async(...)`) with the same arguments. The synchronous forms
    may be called where an event loop is running, too, as in a notebook.

    Args:
        store: an SQLite file or any SQLAlchemy URL; by default the user's own store.
        judge: a litellm model string, `embedded` (offline, no language model) or `recorded:PATH`; by default the one
            that a rubric was learned with, and for learning the offline one.
        generator: who proposes criteria; by default the judge.
        settings: hyperparameters by method, for everything that is learned: `{"hypoeval": {"k": 10}}`.
        mapping: where fields stand in rows: `{"output": "summary"}`.
        record: the file that requests and replies are recorded to.
        progress: `"auto"` for a bar in a terminal or a notebook, a function of a text and the share done, or `None`.
        notify: a function of a text, told what a person should know beside the results; by default these texts are
            logged, and printed to standard error in a terminal or a notebook.
        options: how judges are asked, the fields of `JudgeOptions`: `concurrency`, `timeout`, `max_cost`, `max_calls`
            and others. The caps hold for everything that this object does.

    Raises:
        SettingsError: for an option that is unknown or out of bounds.
    """

    def dry_run(self, operation: str, /, *arguments: Any, **options: Any) -> DryRun:
        """Return an estimate of what an operation asks, without asking: `lab.dry_run("learn", frame, task=...)`.

        Raises:
            SettingsError: if there is no such operation, or it makes no calls; for arguments that it does not take.
        """
        if not isinstance(operation, str) or operation not in OPERATIONS:
            hint = f"{did_you_mean(operation, OPERATIONS)}Expected one of {', '.join(OPERATIONS)}."
            raise SettingsError(f"There is no operation {describe(operation)} to estimate.", hint)
        model, estimate = OPERATIONS[operation]
        values = _arguments(operation, arguments, options)
        with self._workspace() as workspace:
            return estimate(workspace, *values, self._options(model, options))

    dry_run_async = asynchronous(dry_run)

    async def studio_async(
        self, rubric: str | Version | None = None, *, port: int | None = None, browser: bool = True
    ) -> None:
        """Serve the store as pages in a browser, on this computer only, until interrupted; print the address.

        Args:
            rubric: the rubric whose page is opened; without one, the list of rubrics.
            port: by default 8521, or any free port if that is in use.
            browser: whether the page is opened in the browser.

        Raises:
            NoStore: if there is no store.
            NotInStore: if there is no such rubric.
            SettingsError: if the port is in use.
        """
        from rubriclab.web.studio.pages import serve_studio

        named, judge = None if rubric is None else ref_of(rubric), self._defaults["judge"]
        chosen = judge if isinstance(judge, str) else None
        await serve_studio(self._workspace(), named, judge=chosen, port=port, browser=browser)

    studio = synchronous(studio_async)

    @with_options(ServeOptions)
    async def serve_async(
        self, /, rubric: RubricLike, *, on_access: Callable[[Mapping[str, Any]], object] | None = None, **options: Any
    ) -> None:
        """Serve a rubric over HTTP until a signal (SIGINT, SIGTERM) or a cancellation; print the address.

        Requests under way are answered first. The caps of this object hold for all requests together.

        Args:
            rubric: a version, a rubric, `NAME`, `NAME@3` or `NAME@production`.
            on_access: told about each request once it is answered: its time, id, client, caller, method, path, status
                and seconds; by default these are logged.

        Raises:
            NotInStore: if there is no such rubric.
            NotConfirmed: if only an imported version that is not confirmed names the judge.
            SettingsError: if the port is in use, or the service could be reached by others without a token.
        """
        from rubriclab.web.api import log_access, serve_rubric

        chosen = self._options(ServeOptions, options)
        await serve_rubric(self._workspace(), rubric, chosen, on_access=on_access or log_access)

    serve = synchronous(serve_async)

    async def mcp_async(self, *, allow_calls: bool = False) -> None:
        """Offer the rubrics of the store to an assistant, by the Model Context Protocol, until standard input ends.

        The tools list and show rubrics, score texts and explain scores; none changes a rubric, a tag or a label.

        Args:
            allow_calls: whether a language model may be asked, up to the caps of this object; else only the offline
                judge and answers in the store are used.

        Raises:
            SettingsError: if calls are allowed without `max_cost` or `max_calls`.
            UserError: if the SDK of the protocol is not installed.
        """
        from rubriclab.integrations.mcp import serve_mcp

        judge = self._defaults["judge"]
        await serve_mcp(self._workspace(), judge if isinstance(judge, str) else None, allow_calls=allow_calls)

    mcp = synchronous(mcp_async)


def _arguments(operation: str, arguments: Sequence[Any], options: dict[str, Any]) -> list[Any]:
    """Return the positional arguments of an operation, taking those that are named out of `options`."""
    signature = inspect.signature(getattr(Lab, f"{operation}_async"))
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    _self, *positional = [each for each in signature.parameters.values() if each.kind in kinds]
    named = {each.name: options.pop(each.name) for each in positional if each.name in options}
    try:
        bound = inspect.Signature(positional).bind(*arguments, **named)
    except TypeError as error:
        expected = ", ".join([repr(operation), *(each.name for each in positional)])
        raise SettingsError(f"{operation}: {error}.", f"Expected lab.dry_run({expected}, ...).") from None
    bound.apply_defaults()
    return list(bound.arguments.values())

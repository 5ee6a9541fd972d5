"""What all operations of `Lab` share: its options, its workspace, and both forms of each method."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack, nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar

from rubriclab.base_options import Options, type_text
from rubriclab.errors import SettingsError
from rubriclab.methods.method import Progress
from rubriclab.models.characters import describe
from rubriclab.ops.options import SettingsTables
from rubriclab.ops.workspace import (
    Notify,
    ProgressDisplay,
    Workspace,
    finish,
    in_notebook,
    judge_options,
    no_progress,
    notebook_bar,
    terminal_bar,
)

L = TypeVar("L")
P = ParamSpec("P")
T = TypeVar("T")
OptionsT = TypeVar("OptionsT", bound=Options)

logger = logging.getLogger("rubriclab.lab")


def synchronous(
    function: Callable[Concatenate[L, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[L, P], T]:
    """Return the method that waits for an asynchronous one, also where an event loop is running."""

    @wraps(function)
    def method(self: L, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return finish(lambda: function(self, *args, **kwargs))

    method.__name__ = function.__name__.removesuffix("_async")
    method.__qualname__ = function.__qualname__.removesuffix("_async")
    return method


def asynchronous(
    function: Callable[Concatenate[L, P], T],
) -> Callable[Concatenate[L, P], Coroutine[Any, Any, T]]:
    """Return the method that runs a synchronous one in a thread."""

    @wraps(function)
    async def method(self: L, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(function, self, *args, **kwargs)

    method.__name__, method.__qualname__ = f"{function.__name__}_async", f"{function.__qualname__}_async"
    return method


def with_options(model: type[Options]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that shows the fields of an options model in a method's signature and documentation."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)
        parameters = [
            parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD
        ]
        fields = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty
                if field.is_required()
                else field.get_default(call_default_factory=True),
                annotation=type_text(field.annotation),
            )
            for name, field in model.model_fields.items()
            if name not in signature.parameters
        ]
        function.__signature__ = signature.replace(parameters=[*parameters, *fields])  # type: ignore[attr-defined]
        documented = "\n".join(
            f"    {name}: {' '.join((field.description or '').split())}" for name, field in model.model_fields.items()
        )
        function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\nOptions:\n{documented}\n"
        return function

    return decorate


class LabBase:
    """The store, the judge and the options that operations share; see `Lab`."""

    def __init__(
        self,
        store: str | Path | None = None,
        judge: str | None = None,
        *,
        generator: str | None = None,
        settings: SettingsTables | None = None,
        mapping: str | Mapping[str, str] | None = None,
        record: str | Path | None = None,
        progress: Progress | Literal["auto"] | None = "auto",
        notify: Notify | None = None,
        **options: Any,
    ) -> None:
        from rubriclab.judges.stack import LocalBudget

        _check_type("store", store, "a path or a URL", store is None or isinstance(store, str | Path))
        _check_type("settings", settings, "settings by method", isinstance(settings or {}, Mapping))
        _check_type("record", record, "a path", record is None or isinstance(record, str | Path))
        shows = progress in (None, "auto") or callable(progress)
        _check_type("progress", progress, "'auto', a function of a text and the share done, or None", shows)
        _check_type("notify", notify, "a function of a text", notify is None or callable(notify))
        self._store = store
        self._defaults = {"judge": judge, "generator": generator, "mapping": mapping}
        self._settings = settings or {}
        self._record = Path(record) if record else None
        self._progress = progress
        self._notify = notify
        self._judge_options = judge_options(options)
        self._budget = LocalBudget(self._judge_options.max_calls, self._judge_options.max_cost)
        self._open = ExitStack()

    def __repr__(self) -> str:
        judge = self._defaults["judge"]
        return f"Lab({str(self._store)!r}{f', judge={judge!r}' if judge else ''})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the streams of scores that have not been read to their end."""
        self._open.close()

    def _workspace(self) -> Workspace:
        return Workspace(
            self._store,
            self._judge_options,
            notify=self._notify or _notify,
            progress=_display(self._progress),
            record=self._record,
            settings=self._settings,
            budget=self._budget,
        )

    def _do(self, function: Callable[Concatenate[Workspace, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a function that needs a workspace returns."""
        with self._workspace() as workspace:
            return function(workspace, *args, **kwargs)

    def _options(self, model: type[OptionsT], values: Mapping[str, Any]) -> OptionsT:
        """Return an operation's options: those of the call, then those of this object, then the defaults."""
        defaults = {name: value for name, value in self._defaults.items() if name in model.model_fields}
        given = {**defaults, **{name: value for name, value in values.items() if value is not None}}
        return model(**{name: value for name, value in given.items() if value is not None})


def _check_type(name: str, value: object, expected: str, valid: bool) -> None:
    if not valid:
        raise SettingsError(f"{name}: expected {expected}, got {describe(value)}.")


def _notify(text: str) -> None:
    logger.info(text)
    if in_notebook() or sys.stderr.isatty():
        print(text, file=sys.stderr)


def _display(progress: Progress | Literal["auto"] | None) -> ProgressDisplay:
    if progress is None:
        return no_progress
    if progress != "auto":
        return lambda _ledger: nullcontext(progress)
    if in_notebook():
        return notebook_bar
    return terminal_bar if sys.stderr.isatty() else no_progress

"""What judges and methods of other packages share: how they are loaded, and how their errors are reported.

An error of a plug-in becomes a `PlugInError` that names its package. A lost connection is not the plug-in's error.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from pydantic import ValidationError

from rubriclab.base_options import first_fault
from rubriclab.errors import JudgeUnavailable, PlugInError, RubriclabError
from rubriclab.judges.judge import JudgeWrapper
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.replies import Reply
from rubriclab.judges.responses import provider_message
from rubriclab.prompts.prompt import Prompt

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlugIn:
    kind: Literal["judge", "method"]
    name: str
    package: str

    def __str__(self) -> str:
        return f"The {self.kind} {self.name!r} of {self.package}"

    def error(self, fault: str, hint: str = "Report this to its authors, or uninstall it.") -> PlugInError:
        return PlugInError(f"{self} {fault}.", hint)

    @contextmanager
    def translated_errors(self, lead_in: str = "raised ") -> Iterator[None]:
        """Translate what the plug-in raises inside the block, and log its traceback.

        Lost connections become `JudgeUnavailable`, other errors a `PlugInError` that says "{plug_in} {lead_in}TYPE: …".
        """
        try:
            yield
        except RubriclabError:
            raise
        except (Exception, SystemExit) as error:
            _log.info("%s %s%s", self, lead_in, type(error).__name__, exc_info=error)
            if isinstance(error, ConnectionError | TimeoutError):
                raise JudgeUnavailable(
                    f"{self}: {type(error).__name__}: {provider_message(error)}.",
                    may_be_billed=not isinstance(error, ConnectionRefusedError),
                ) from error
            detail = first_fault(error, error.title) if isinstance(error, ValidationError) else str(error)
            detail = detail.strip().rstrip(".")
            message = f"{type(error).__name__}: {detail}" if detail else type(error).__name__
            raise self.error(f"{lead_in}{message}", "Report this to its authors; -v logs the traceback.") from error


@functools.cache
def judge_entry_points() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return judges' entry points by name: each loads a function that takes the text after `NAME:` and options."""
    points: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group="rubriclab.judges"):
        points[point.name] = (*points.get(point.name, ()), point)
    return points


def load_plug_in(kind: Literal["judge", "method"], points: Sequence[EntryPoint]) -> tuple[PlugIn, Any]:
    """Return a plug-in and the object it provides; `PlugInError` if several packages add it or its import fails."""
    point = points[0]
    if len(points) > 1:
        packages = " and ".join(sorted(map(_package_name, points)))
        raise PlugInError(f"The {kind} {point.name!r} is added by {packages}.", "Uninstall all but one of them.")
    plug_in = PlugIn(kind, point.name, _package_name(point))
    with plug_in.translated_errors("cannot be loaded: "):
        return plug_in, point.load()


@dataclass(eq=False, repr=False)
class PlugInJudge(JudgeWrapper):
    """The judge of another package. Its name is the specification that the user gave."""

    plug_in: PlugIn
    spec: str

    @property
    def name(self) -> str:
        return self.spec

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        with self.plug_in.translated_errors():
            reply = await self.judge.reply(prompt)
        if not isinstance(reply, Reply):
            raise self.plug_in.error(f"returned {reply!r:.80}, expected a Reply")
        return reply


def plug_in_judge(points: Sequence[EntryPoint], spec: str, options: JudgeOptions) -> PlugInJudge:
    plug_in, make_judge = load_plug_in("judge", points)
    with plug_in.translated_errors("cannot be loaded: "):
        judge = make_judge(spec.partition(":")[2], options)
    _log.info("%s: a judge of %s", spec, plug_in.package)
    return PlugInJudge(judge, plug_in, spec)


def _package_name(point: EntryPoint) -> str:
    dist = point.dist
    return f"the package {dist.name} {dist.version}" if dist else f"a package ({point.value})"

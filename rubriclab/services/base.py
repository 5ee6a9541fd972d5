"""Options that several operations share, and the types of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from rubriclab.base_options import Options
from rubriclab.data.scale import Scale
from rubriclab.descriptions import describe
from rubriclab.errors import JudgeError, SettingsError
from rubriclab.option_names import option


def _scale_text(value: Any) -> Any:
    if isinstance(value, Scale):
        return f"{value.low!r}:{value.high!r}:{'whole' if value.whole else 'any'}"
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        return ":".join(str(end) for end in value)
    return value


def check_tables(tables: Any) -> Any:
    """Return settings that have the form of `SettingsTables`, if they are a mapping.

    Raises:
        SettingsError: if one stands under `METHOD.NAME`, or what a method has is no mapping.
    """
    for owner, values in tables.items() if isinstance(tables, Mapping) else ():
        method, dot, name = str(owner).partition(".")
        if not isinstance(values, Mapping):
            given = option("settings", f"{method}.{name if dot else 'NAME'}={values if dot else 'VALUE'}")
            raise SettingsError(
                f"{option('settings')}: expected the settings of each method by name, got {describe(values)} for "
                f"{str(owner)!r}.",
                f"Write {given}.",
            )
    return tables


# A scale as `parse_scale` reads it; `(1, 5)` and a `Scale` are written so.
ScaleText = Annotated[str, BeforeValidator(_scale_text)]
# Hyperparameters by method and name: `{"hypoeval": {"k": 10}}`.
SettingsTables = Mapping[str, Mapping[str, Any]]
# The same as an option.
SettingsOption = Annotated[SettingsTables, BeforeValidator(check_tables)]


class JudgeOption(Options):
    """Which judge is asked."""

    judge: str | None = None
    """A litellm model string, `embedded` (offline, no language model) or `recorded:PATH`."""


PORT = 8600


class ServeOptions(JudgeOption):
    """How a rubric is served over HTTP."""

    host: str = "127.0.0.1"
    """The address to listen at; any but a loopback address needs a token. `0.0.0.0` is every address."""

    port: int = Field(default=PORT, ge=0, le=65535)
    """The port to listen at; 0 for any free port."""

    token_file: str | None = None
    """A file with a token, or a name and a token, on each line. Default: `RUBRICLAB_SERVE_TOKEN`, or no token."""

    max_body_bytes: int = Field(default=1_000_000, ge=1_000, le=64_000_000)
    """The largest body of a request."""

    max_texts: int = Field(default=100, ge=1, le=10_000)
    """The most texts in a request."""

    at_once: int = Field(default=64, ge=1, le=10_000)
    """Requests to score that are answered at the same time."""

    request_timeout: float = Field(default=120.0, gt=0, le=3600)
    """Seconds until a request to score is given up; answers that arrive later are kept in the store."""

    grace: int = Field(default=30, ge=0, le=3600)
    """Seconds that requests under way get once the service is to end."""


class Answered:
    """What a judge was asked for; `unanswered` says why nothing was scored, if replies failed."""

    unanswered: str | None

    def check_answered(self) -> None:
        """Return if there is a score, or no reply failed.

        Raises:
            JudgeError: otherwise.
        """
        if self.unanswered:
            raise JudgeError(self.unanswered)

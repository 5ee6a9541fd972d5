"""Every error that rubriclab raises on purpose.

::

    RubriclabError
    ├── UserError               the user must fix something (exit code 2)
    │   ├── DataError           rows that cannot be read or used; carries every fault
    │   ├── SettingsError       an option or setting out of bounds, or unknown
    │   ├── NotConfirmed        a judge, an address or a file named from outside, which the user has not confirmed
    │   ├── LiteratureError     a findings file that cannot be used
    │   ├── ChecklistError      a checklist file that cannot be used
    │   ├── StoreError          a store that cannot be opened, or holds what it should not
    │   │   ├── NotInStore      no such rubric, version or tag
    │   │   └── DamagedAnswer   a kept answer that is not as it was written: it is asked for again
    │   ├── PackError           a pack that cannot be read or does not match its digest
    │   ├── ReplayMiss          a recording that lacks the request
    │   └── BudgetReached       a cap on calls or money; what was paid for is kept
    ├── BelowThreshold          the result fails what was asked of it (exit code 1)
    └── JudgeError              the provider failed (exit code 4)
        ├── JudgeRefused        wrong key, model or request: ends the command, never retried
        ├── PromptRejected      this one prompt cannot be answered (too long, filtered): never retried
        │   └── ReplyTooLarge   the reply is larger than any usable one: not received to its end, not kept
        ├── JudgeUnavailable    rate limit, time-out, server error: a retry can help
        └── ProviderDown        nothing but failures: ends the command instead of marking every answer missing

An error answers two questions: whose fault it is (its branch), and whether a retry can help (`retryable`).
"""

from __future__ import annotations

from collections.abc import Sequence

from rubriclab.option_names import in_python


class RubriclabError(Exception):
    """Root of the deliberate errors. `hint` says what to do; `exit_code` is the command line's.

    Message and hint may name options and commands by placeholders (`rubriclab.option_names`); `str` writes them as
    Python does, the command line in its own way.
    """

    exit_code = 2
    retryable = False

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def text(self) -> str:
        """Message and hint, with their placeholders."""
        return f"{self.message} {self.hint}" if self.hint else self.message

    def __str__(self) -> str:
        return in_python(self.text)


class UserError(RubriclabError):
    """The user must fix something."""


class DataError(UserError):
    """Rows that cannot be read or used. `faults` names each one: file, line, field, what came, what was expected."""

    def __init__(self, message: str, hint: str | None = None, faults: Sequence[str] = ()) -> None:
        super().__init__(message, hint)
        self.faults = tuple(faults)


class UnknownMethod(UserError, KeyError):
    """A method that is neither built in nor offered by an installed package."""

    __str__ = UserError.__str__


class PlugInError(UserError):
    """An installed package offers a judge or method that cannot be used."""


class SettingsError(UserError):
    """An option or setting that is unknown or out of bounds."""


class NotConfirmed(UserError):
    """A pack or a configuration file from outside names what only the user may choose, and has not been confirmed."""


class LiteratureError(UserError):
    """A findings file that cannot be read or used."""


class ChecklistError(UserError):
    """A checklist file that cannot be read or used, or none for what was asked."""


class StoreError(UserError):
    """A store that cannot be opened, or that holds what it should not."""


class NotInStore(StoreError):
    """No such rubric, version or tag."""


class DamagedAnswer(StoreError):
    """A kept answer that is not as it was written."""


class NoStore(StoreError):
    """There is no store where one was to be read."""


class PackError(UserError):
    """A pack that cannot be read, or whose content does not match its digest."""


class ReplayMiss(UserError):
    """A recording that does not hold the request it was asked."""


class BudgetReached(UserError):
    """The cap on calls or money was reached; everything answered so far is kept."""


class BelowThreshold(RubriclabError):
    """The result fails what was asked of it: nothing is wrong with the request."""

    exit_code = 1


class JudgeError(RubriclabError):
    """The provider failed."""

    exit_code = 4


class JudgeRefused(JudgeError):
    """The provider refuses every request of this kind: wrong key, unknown model, malformed request."""


class PromptRejected(JudgeError):
    """The provider cannot answer this prompt (too long, filtered), but may answer others."""


class ReplyTooLarge(PromptRejected):
    """The reply is larger than its prompt allows. It may have been billed; asking again is not worth it."""


class JudgeUnavailable(JudgeError):
    """Rate limit, time-out, lost connection or server error. `retry_after` is the provider's wish in seconds."""

    retryable = True

    def __init__(self, message: str, hint: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class ProviderDown(JudgeError):
    """The provider answers nothing at all; answers kept so far make the same command continue where it stopped."""

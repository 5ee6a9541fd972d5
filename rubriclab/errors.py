"""Every error that rubriclab raises on purpose.

::

    RubriclabError
    ├── UserError               the user must fix something (exit code 2)
    │   ├── DataError, SettingsError, UnknownMethod, PlugInError, NotConfirmed
    │   ├── LiteratureError, ChecklistError, PackError, ReplayMiss, BudgetReached
    │   └── StoreError
    │       └── NoStore, NotInStore, StoreUnavailable, DamagedAnswer
    ├── BelowThreshold          the result fails a check that the user asked for (exit code 1)
    └── JudgeError              the provider failed (exit code 4)
        ├── JudgeRefused        wrong key, model or request: ends the command
        │   └── MissingKey      (exit code 2)
        ├── PromptRejected      this prompt cannot be answered, others may be
        │   └── ReplyTooLarge
        ├── JudgeUnavailable    a retry can help
        └── ProviderDown, BatchCancelled    end the command

The branch says who has to act; `retryable` says whether a retry can help. `DataError` and `SettingsError` also inherit
from `ValueError`, and `UnknownMethod` from `KeyError`.
"""

from __future__ import annotations

from collections.abc import Sequence


class RubriclabError(Exception):
    """Base of all errors that rubriclab raises on purpose. `hint` says what to do.

    Messages and hints name options in backticks: `scale` or `scale=1:5`. The command line shows `--scale 1:5`,
    and `str(error)` shows `scale="1:5"`, the argument in Python.
    """

    exit_code = 2  # of a command that the error ends
    retryable = False

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def text(self) -> str:
        """Message and hint, with options still in backticks."""
        return f"{self.message} {self.hint}" if self.hint else self.message

    def __str__(self) -> str:
        from rubriclab.display import as_python

        return as_python(self.text)


class UserError(RubriclabError):
    """The user must fix something."""


class DataError(UserError, ValueError):
    """Rows that cannot be read or used. `faults` say in words where each fault is, what came and what was expected."""

    def __init__(self, message: str, hint: str | None = None, faults: Sequence[str] = ()) -> None:
        super().__init__(message, hint)
        self.faults = tuple(faults)


class UnknownMethod(UserError, KeyError):
    """A method that is neither built in nor offered by an installed package."""

    __str__ = UserError.__str__


class PlugInError(UserError):
    """An installed package offers a judge or method that cannot be used."""


class SettingsError(UserError, ValueError):
    """An option or setting that is unknown or out of bounds."""


class NotConfirmed(UserError):
    """An imported version or a configuration file names a judge, address or file that the user has not confirmed."""


class LiteratureError(UserError):
    """A findings file that cannot be read or used."""


class ChecklistError(UserError):
    """A checklist file that cannot be read or used, or no checklist for the task and aspect."""


class StoreError(UserError):
    """A store that cannot be opened, or has invalid content."""


class NotInStore(StoreError):
    """No such rubric, version or tag."""


class DamagedAnswer(StoreError):
    """A cached answer that was changed after it was stored."""


class StoreUnavailable(StoreError):
    """The database failed: it is locked, full, damaged or out of reach."""

    retryable = True


class NoStore(StoreError):
    """There is no store at the given place."""


class PackError(UserError):
    """A pack (an exported version) that cannot be read, or whose content does not match its digest."""


class ReplayMiss(UserError):
    """A recording that has no reply to a request."""


class BudgetReached(UserError):
    """A cap on calls or cost was reached; answers so far are cached."""


class BelowThreshold(RubriclabError):
    """The result fails a check that the user asked for."""

    exit_code = 1


class JudgeError(RubriclabError):
    """The provider failed. `may_be_billed` says whether the provider may charge for the failed request."""

    exit_code = 4
    may_be_billed = True


class JudgeRefused(JudgeError):
    """The provider refuses every request of this kind: wrong key, unknown model, malformed request."""

    may_be_billed = False


class MissingKey(JudgeRefused):
    """No key is set for the provider: the user must set one (exit code 2)."""

    exit_code = UserError.exit_code


class PromptRejected(JudgeError):
    """This prompt cannot be answered (too long, filtered). If `may_concern_all`, other prompts may be rejected too."""

    def __init__(self, message: str, hint: str | None = None, *, may_concern_all: bool = False) -> None:
        super().__init__(message, hint)
        self.may_concern_all = may_concern_all


class ReplyTooLarge(PromptRejected):
    """The reply is larger than its prompt allows. It may have been billed; a retry would not help."""


class JudgeUnavailable(JudgeError):
    """Rate limit, time-out, lost connection or server error; `retry_after`: seconds that the provider asks for."""

    retryable = True

    def __init__(
        self, message: str, hint: str | None = None, retry_after: float | None = None, *, may_be_billed: bool = True
    ) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after
        self.may_be_billed = may_be_billed


class ProviderDown(JudgeError):
    """Every request fails. Run the same command later to continue from the cached answers."""


class BatchCancelled(JudgeError):
    """A batch was cancelled while a command waited for it. Its answers so far are cached."""

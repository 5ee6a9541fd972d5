"""Which judge an operation asks: the one that the user names, or else the one that a version was learned with.

An imported version never chooses a judge by itself: it is asked only once the user has confirmed the version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from rubriclab.errors import NotConfirmed, SettingsError
from rubriclab.judges.connect import EMBEDDED
from rubriclab.judges.judge import Judge
from rubriclab.judges.ledger import Ledger
from rubriclab.judges.recording import recorded_name
from rubriclab.option_names import command, option
from rubriclab.report.wording import quoted_judge
from rubriclab.services.workspace import Notify
from rubriclab.store import Store, Version


@dataclass(frozen=True)
class JudgeChoice:
    """The judge to use, and the address of its server where that is not the provider's own.

    `named_by` is the imported version (`NAME@NUMBER`) that names both, `None` where the user did. An address that
    `is_apart` holds even if the user gives one for the judges of this provider.
    """

    spec: str
    address: str | None = None
    named_by: str | None = None
    is_apart: bool = False


def judge_named(named: str | None, notify: Notify) -> str:
    """Return the judge that the user has named, or else the offline one, and say so."""
    _notify_embedded(named or EMBEDDED, "" if named else ", as none is configured", notify)
    return named or EMBEDDED


def check_distinct(judges: Mapping[str, Judge]) -> None:
    """Refuse one judge under two names, such as its recording beside it.

    Raises:
        SettingsError: if two of the judges are the same.
    """
    for (first, one), (second, other) in combinations(judges.items(), 2):
        if one.identity == other.identity:
            raise SettingsError(f"{first} and {second} are the same judge;", "a judge cannot be compared with itself.")


def unanswered(judge: str, rubric: str, scored: int, reason: str | None, ledger: Ledger) -> str | None:
    """Return that a judge gave no usable reply, if none of the texts is `scored` after replies have failed.

    Args:
        reason: the latest reason why a text has no score.
    """
    if scored or not reason or not ledger.failed:
        return None
    return f"{judge} gave no reply that {rubric} can use; the latest reason: {reason}"


def judge_of(version: Version, named: str | None, store: Store, notify: Notify) -> JudgeChoice:
    """Return the judge that the user has named, else the one that the version was learned with, and say which it is.

    Raises:
        NotConfirmed: if nobody is named, and an imported version named the judge that is not confirmed.
    """
    provenance = version.provenance
    if named:
        _notify_embedded(named, "", notify)
        if recorded_name(named) != recorded_name(provenance.judge):
            notify(
                f"{version.ref} is calibrated for {quoted_judge(provenance.judge)}; with another judge its agreement "
                f"may differ: `{command('transfer')}` says by how much"
            )
        return JudgeChoice(named)
    why = f", as {version.ref} was learned with it"
    _notify_embedded(provenance.judge, why, notify)
    if provenance.judge == EMBEDDED:
        return JudgeChoice(EMBEDDED)
    source = imported_source(version, provenance.judge_from, store)
    if source and not source.trusted:
        raise _not_confirmed(version, source)
    notify(f"judge: {quoted_judge(provenance.judge, provenance.judge_address)}{why}")
    return JudgeChoice(provenance.judge, provenance.judge_address, source.ref if source else None)


def generator_of(version: Version, store: Store, notify: Notify) -> JudgeChoice | None:
    """Return who proposed the criteria of a version, where that is not its judge and may be asked again.

    One that an unconfirmed imported version named is left out, which is said.
    """
    provenance = version.provenance
    address = provenance.generator_address
    if (provenance.generator, address) == (provenance.judge, provenance.judge_address):
        return None
    source = imported_source(version, provenance.generator_from, store)
    if provenance.generator == EMBEDDED or source is None or source.trusted:
        is_apart = address is not None and address != provenance.judge_address
        return JudgeChoice(provenance.generator, address, source.ref if source else None, is_apart)
    generator = quoted_judge(provenance.generator, address)
    notify(f"the judge proposes criteria, not {generator}, as {source.ref} was imported and is not confirmed")
    return None


def imported_source(version: Version, recorded: str | None, store: Store) -> Version | None:
    """Return the imported version that named a judge of `version`: itself, or else the one recorded, if any."""
    if version.imported:
        return version
    return store.load(recorded) if recorded else None


def online_judges(version: Version) -> dict[str, tuple[str, str | None]]:
    """Return name and address by role of those that a version names besides the offline judge.

    A generator that is the judge is listed once.
    """
    provenance = version.provenance
    judges = {
        "judge": (provenance.judge, provenance.judge_address),
        "generator": (provenance.generator, provenance.generator_address),
    }
    if judges["generator"] == judges["judge"]:
        del judges["generator"]
    return {role: judge for role, judge in judges.items() if judge[0] != EMBEDDED}


def _not_confirmed(version: Version, source: Version) -> NotConfirmed:
    provenance = version.provenance
    origin = "" if source.ref == version.ref else f"{version.ref} was made with the judge of {source.ref}: "
    return NotConfirmed(
        f"{origin}{source.ref} was imported, and the judge that it names is not confirmed: "
        f"{quoted_judge(provenance.judge, provenance.judge_address)}.",
        f"Name a judge with {option('judge')}, or, if this one may have your texts and your key, run: "
        f"{command('trust', source.ref)}",
    )


def _notify_embedded(judge: str, why: str, notify: Notify) -> None:
    if judge == EMBEDDED:
        notify(
            f"judge: embedded{why}; it measures texts offline and is not a language model "
            f"(name another with {option('judge')})"
        )

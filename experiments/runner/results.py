"""The results of a study: one JSON file, written anew after each case, that the same command goes on from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationError

from experiments.runner.cases import Case
from experiments.runner.compact import CompactModel
from rubriclab import DataError, Judge, __version__
from rubriclab.research import FrozenModel, Unreadable, first_fault, read_file
from rubriclab.stats import ConstantRule, Interval, Level

Format = Literal["rubriclab-study-results/1"]


class Spent(FrozenModel):
    """What an arm took by itself, answers kept earlier counted like new ones; only `seconds` differ from run to run.

    Attributes:
        cost_usd: `None` where the price is not known.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Spent(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            seconds=round(self.seconds + other.seconds, 3),
        )


class Basis(FrozenModel):
    """How a correlation was taken."""

    level: Level
    constant: ConstantRule


class Row(CompactModel):
    """What one evaluator came to in one case.

    Attributes:
        arm: the arm, or a baseline.
        variant: what the study's design varies inside a case.
        figures: by measure, as the paper has them.
        ours: the same measures at our own level and rule, where these differ from the paper's.
        counts: what the figures rest on: `texts` tested, of which `n` have a part in the figures, and `unscored` no
            score; `groups`, `constant_groups`; `answers` to single criteria, of which `answers_missing` are not there.
        learning, scoring: what it took.
        note: a remark, as which measure a baseline is.
        missing: why there are no figures.
    """

    added: ClassVar[frozenset[str]] = frozenset({"variant", "ours", "learning", "scoring", "note", "missing"})

    arm: str
    variant: str = ""
    figures: Mapping[str, Interval] = Field(default_factory=dict)
    ours: Mapping[str, Interval] | None = None
    counts: Mapping[str, int] = Field(default_factory=dict)
    learning: Spent | None = None
    scoring: Spent | None = None
    note: str = ""
    missing: str | None = None


class Gap(CompactModel):
    """How much better one evaluator did than another on the same texts, with a paired bootstrap interval.

    Attributes:
        measure: what the difference is of.
    """

    added: ClassVar[frozenset[str]] = frozenset({"variant"})

    first: str
    second: str
    measure: str
    difference: Interval
    variant: str = ""


class Outcome(FrozenModel):
    """A finished case.

    Attributes:
        split: whether the official texts were learned from.
        basis: how figures were taken as the paper does, and by our own rule.
        version: of this package.
    """

    case: Case
    split: Literal["official", "drawn"]
    basis: Mapping[Literal["paper", "ours"], Basis] = Field(default_factory=dict)
    rows: tuple[Row, ...]
    gaps: tuple[Gap, ...] = ()
    version: str = __version__

    @property
    def failed(self) -> bool:
        """Whether some arm has no figure, or some text no score."""
        return any(row.missing or row.counts.get("unscored") for row in self.rows)


class Results(FrozenModel):
    """What is known of a study so far.

    Attributes:
        study: its name.
        digest: of its configuration.
        small: whether it was run in little only.
        judges: as the user named them.
        model_versions: model names that the providers reported.
        identities: what answers depend on, for each judge; empty in results that are older.
        data: digest of each set.
        configuration: of a study that does not ship, so that its results can be shown without its file.
        cases: those that are finished, as they were.
    """

    format: Format = "rubriclab-study-results/1"
    study: str
    digest: str
    small: bool = False
    judges: tuple[str, ...]
    model_versions: tuple[str, ...] = ()
    identities: tuple[Mapping[str, Any], ...] = ()
    data: Mapping[str, str]
    configuration: Mapping[str, Any] | None = None
    cases: tuple[Outcome, ...] = ()

    @property
    def done(self) -> frozenset[str]:
        """The finished cases, as they are called."""
        return frozenset(str(outcome.case) for outcome in self.cases)

    def without_failures(self) -> Results:
        """Return the results without the cases in which something is missing, so that these are run again."""
        return self.model_copy(update={"cases": tuple(outcome for outcome in self.cases if not outcome.failed)})

    def with_case(self, outcome: Outcome, model_versions: Iterable[str]) -> Results:
        """Return the results with one more case."""
        known = tuple(sorted({*self.model_versions, *model_versions}))
        return self.model_copy(update={"cases": (*self.cases, outcome), "model_versions": known})


def with_judges(results: Results, judges: Sequence[Judge]) -> Results:
    """Return results that are gone on with by these judges.

    Raises:
        DataError: if the cases so far rest on answers of others, for example of an older offline judge.
    """
    identities = tuple(dict(judge.identity) for judge in judges)
    if results.cases and results.identities and results.identities != identities:
        raise DataError(
            "The judge is not the one that the finished cases rest on.",
            "Choose another file with -o, or the same judge.",
        )
    return results.model_copy(update={"identities": identities})


def write_results(results: Results, path: Path) -> None:
    """Write the results to `path`, a line a case; what was there before stays whole until all is written.

    Raises:
        DataError: if it cannot be written.
    """
    whole = results.model_dump(mode="json")
    cases = ",\n".join(json.dumps(case, ensure_ascii=False) for case in whole.pop("cases"))
    head = json.dumps(whole, indent=1, ensure_ascii=False).removesuffix("\n}")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(f'{head},\n "cases": [\n{cases}\n]\n}}\n', "utf-8")
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise DataError(f"{path} cannot be written: {error.strerror}.") from None


def read_results(path: Path) -> Results:
    """Return the results in a file.

    Raises:
        DataError: if it cannot be read, or holds something else.
    """
    try:
        return Results.model_validate_json(read_file(path))
    except Unreadable as error:
        raise DataError(f"{path} cannot be read: {error}.") from None
    except ValidationError as error:
        raise DataError(f"{path} holds no results of a study: {first_fault(error)}.") from None


def begun(path: Path, new: Results) -> Results:
    """Return what `path` holds of these results, to go on from; `new` itself where there is no such file.

    Raises:
        DataError: if the file holds results of something else, which are never written over.
    """
    if not path.exists():
        return new
    found = read_results(path)
    _check_same(found, new, str(path))
    return found.model_copy(update={"data": {**found.data, **new.data}})


def merged(parts: Mapping[str, Results]) -> Results:
    """Return results that several files hold together, each case once.

    Raises:
        DataError: if they are not of the same study, configuration, judges and data.
    """
    (_, whole), *others = parts.items()
    for name, part in others:
        _check_same(part, whole, name)
        cases = tuple(outcome for outcome in part.cases if str(outcome.case) not in whole.done)
        model_versions = tuple(sorted({*whole.model_versions, *part.model_versions}))
        update = {
            "cases": (*whole.cases, *cases),
            "data": {**whole.data, **part.data},
            "model_versions": model_versions,
        }
        whole = whole.model_copy(update=update)
    return whole


def _check_same(found: Results, new: Results, where: str) -> None:
    judges = (", ".join(found.judges), ", ".join(new.judges))
    for what, (old, other) in {
        "the study": (found.study, new.study),
        "a run in little (--small)": (found.small, new.small),
        "the judge": judges,
        "the study's configuration": (found.digest, new.digest),
    }.items():
        if old != other:
            told = "" if isinstance(old, bool) else f" {old}, not {other}"
            raise DataError(f"{where} holds results of something else: {what} differs{_short(told)}.", HINT)
    if changed := [name for name in sorted(found.data.keys() & new.data.keys()) if found.data[name] != new.data[name]]:
        raise DataError(f"{where} holds results on other texts: {', '.join(changed)} has changed since.", HINT)


HINT = "Give another file, or remove this one to begin anew."


def _short(told: str) -> str:
    return ":" + told if told and "sha256" not in told else ""

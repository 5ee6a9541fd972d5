"""Results as JSON files that a run continues: those of a study, and those of a measurement."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from operator import sub
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from experiments import ROOT
from experiments.runner.cases import Case, SplitName
from experiments.runner.training import temporary_lab
from rubriclab import DataError, Judge
from rubriclab.base_options import first_fault
from rubriclab.judges.connect import EMBEDDED
from rubriclab.models.base import FrozenModel, Unreadable, read_file
from rubriclab.prompts.render import FOLDER, prompts_digest
from rubriclab.stats.intervals import Interval
from rubriclab.stats.score_agreement import ConstantRule, Level

# Of scores, between processors.
TOLERANCE = 0.01
HINT = "Give another file with -o, or remove this one to begin anew."
Stored = TypeVar("Stored", bound=FrozenModel)


class Spent(FrozenModel):
    """What an arm took by itself, cached replies included; only `seconds` differ from run to run.

    Attributes:
        cost_usd: `None` if the price is not known.
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
    """How a correlation is computed."""

    level: Level
    constant: ConstantRule


class Row(FrozenModel):
    """The figures of one evaluator in one case.

    Attributes:
        arm: the arm, or a baseline.
        figures: by measure, computed as in the paper.
        ours: the same measures at our own level and rule, if these differ from the paper's.
        counts: `texts` tested, of which `n` are part of the figures and `unscored` have no score; `groups` and
            `constant_groups`; `answers` about single criteria, of which `answers_missing` are missing.
        note: a remark, as which text feature a baseline is.
        missing: why there are no figures.
    """

    arm: str
    figures: Mapping[str, Interval] = Field(default_factory=dict)
    ours: Mapping[str, Interval] | None = None
    counts: Mapping[str, int] = Field(default_factory=dict)
    learning: Spent | None = None
    scoring: Spent | None = None
    note: str = ""
    missing: str | None = None


class Gap(FrozenModel):
    """The difference of two evaluators on the same texts, with a paired interval."""

    first: str
    second: str
    measure: str
    difference: Interval


class Outcome(FrozenModel):
    """A finished case.

    Attributes:
        basis: how figures are computed as in the paper, and by our own rule.
        version: of this package.
    """

    case: Case
    split: SplitName
    basis: Mapping[Literal["paper", "ours"], Basis] = Field(default_factory=dict)
    rows: tuple[Row, ...]
    gaps: tuple[Gap, ...] = ()
    version: str

    @property
    def failed(self) -> bool:
        """Whether some arm has no figure, or some text no score."""
        return any(row.missing or row.counts.get("unscored") for row in self.rows)


class Results(FrozenModel):
    """The finished cases of a study.

    Attributes:
        digest: of the study's configuration.
        judge, identity: as the user named it, and what its answers depend on.
        model_versions: model names that the providers reported.
        prompts: digest of the wording of all prompts.
        sample: of the offline judge, `sample_scores` at that time.
        data: digest of each set.
    """

    format: Literal["rubriclab-study-results/1"]
    study: str
    digest: str
    small: bool = False
    judge: str
    model_versions: tuple[str, ...] = ()
    identity: Mapping[str, Any] = Field(default_factory=dict)
    prompts: str
    sample: tuple[float, ...] = ()
    data: Mapping[str, str]
    cases: tuple[Outcome, ...] = ()

    @property
    def done(self) -> frozenset[str]:
        """The names of the finished cases."""
        return frozenset(str(outcome.case) for outcome in self.cases)

    def without_failures(self) -> Results:
        """Return the results without the cases in which something is missing, so that these are run again."""
        return self.model_copy(update={"cases": tuple(outcome for outcome in self.cases if not outcome.failed)})

    def with_case(self, outcome: Outcome, model_versions: Iterable[str]) -> Results:
        """Return the results with one more case."""
        known = tuple(sorted({*self.model_versions, *model_versions}))
        return self.model_copy(update={"cases": (*self.cases, outcome), "model_versions": known})

    def with_judge(self, judge: Judge) -> Results:
        """Return the results, to be continued with this judge."""
        if self.cases and self.identity != judge.identity:
            raise DataError("The finished cases are of another judge.", HINT)
        return self.model_copy(update={"identity": dict(judge.identity)})


@cache
def present_prompts() -> str:
    """Return the digest of the wording of all prompts."""
    return prompts_digest(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.md"))


@cache
def sample_scores() -> tuple[float, ...]:
    """Return the scores of the sample's held-out texts by the rubric that is learned offline from the labelled ones.

    While they stay, so do figures measured with the offline judge: digests of its code change with every wording.
    """
    learned_from, others = (ROOT / "sample" / f"{name}.jsonl" for name in ("labelled", "heldout"))
    with temporary_lab(EMBEDDED) as lab:
        version = lab.learn(learned_from, task="summarization", aspect="coherence", scale="1:5")
        return tuple(round(score, 3) for score in lab.score(others, version).values if score is not None)


def provenance(judge: str, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return what results say of how they were measured."""
    sample = sample_scores() if judge == EMBEDDED else ()
    return {"judge": judge, "identity": dict(identity), "prompts": present_prompts(), "sample": sample}


def changed_since(stored: Mapping[str, Any]) -> str:
    """Return what has changed since results were measured: the offline judge, or another judge's prompts; or nothing.

    Args:
        stored: the results as they are in their file.
    """
    if stored.get("judge") == EMBEDDED:
        before, now = stored.get("sample", ()), sample_scores()
        same = len(before) == len(now) and max(map(abs, map(sub, before, now)), default=0.0) <= TOLERANCE
        return "" if same else "the offline judge's scores"
    return "" if stored.get("judge") is None or stored.get("prompts") == present_prompts() else "the prompts"


def begun(path: Path, new: Results) -> Results:
    """Return the results in `path`, to be continued; `new` itself if there is no such file."""
    if not path.exists():
        return new
    found = read_stored(Results, path)
    for what in ("study", "small", "judge", "digest", "prompts"):
        if getattr(found, what) != getattr(new, what):
            raise DataError(f"{path} holds results of something else: {what} differs.", HINT)
    if changed := [name for name in sorted(found.data.keys() & new.data.keys()) if found.data[name] != new.data[name]]:
        raise DataError(f"{path} holds results on other texts: {', '.join(changed)} has changed since.", HINT)
    return found.model_copy(update={"data": {**found.data, **new.data}})


def read_stored(model: type[Stored], path: Path) -> Stored:
    """Return the results in a file."""
    try:
        return model.model_validate_json(read_file(path))
    except Unreadable as error:
        raise DataError(f"{path} cannot be read: {error}.") from None
    except ValidationError as error:
        raise DataError(f"{path} holds no {model.__name__.lower()} of experiments: {first_fault(error)}.") from None


def write_stored(results: FrozenModel, path: Path) -> None:
    """Write results, a line per case or row; the earlier file stays whole until all is written."""
    whole = results.model_dump(mode="json", exclude_defaults=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(f"{_lines(whole)}\n", "utf-8")
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise DataError(f"{path} cannot be written: {error.strerror}.") from None


def _lines(value: Any, depth: int = 3) -> str:
    if depth and isinstance(value, dict):
        return (
            "{\n" + ",\n".join(f"{json.dumps(key)}: {_lines(each, depth - 1)}" for key, each in value.items()) + "\n}"
        )
    if depth and isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return "[\n" + ",\n".join(_lines(each, 0) for each in value) + "\n]"
    return json.dumps(value, ensure_ascii=False)

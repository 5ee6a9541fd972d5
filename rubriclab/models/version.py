"""Versions of rubrics, references to them, and what a version stores beside its rubric.

Two verdicts may say whether the rubric agrees with people better than simpler ways to score: the verdict of the gate at
learning, and the verdict of a stored evaluation on other texts. `Version.deciding_verdict` is the one that counts.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter

from rubriclab.display import Displayed
from rubriclab.errors import StoreError
from rubriclab.models.base import BoundedFloat, Count, FrozenModel, canonical_json, digest
from rubriclab.models.evaluation import DIRECT, EvaluationRecord, GateVerdict, Outcome, TrainingAgreement, Validation
from rubriclab.models.rubric import Criterion, Rubric
from rubriclab.models.text import Example, ShownField, common_fields
from rubriclab.stats.correlation import FloatArray, float_table
from rubriclab.stats.intervals import Interval

_NAME_OR_TAG = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_VERSION_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
NUMBERED_REF = re.compile(f"{_NAME_OR_TAG.pattern}@{_VERSION_NUMBER.pattern}")
# Tags that a reader would take for the number of a version, or for its position among the versions.
_LIKE_A_NUMBER = re.compile(r"v?[0-9._-]+(?:(?:a|b|c|rc|alpha|beta|dev|pre|post)[0-9._-]*)?")
_POSITIONS = frozenset({"latest", "newest", "last", "current", "head", "next", "previous", "first", "oldest"})


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference as a user writes it: `NAME` (the newest), `NAME@3` or `NAME@tag`."""

    name: str
    number: int | None = None
    tag: str | None = None


def parse_ref(text: str) -> Ref:
    """Return the reference in `text`. A number after the @ is the version's number; any other word is a tag."""
    name, at, suffix = str(text).partition("@")
    if not isinstance(text, str) or not _NAME_OR_TAG.fullmatch(name) or (at and not _NAME_OR_TAG.fullmatch(suffix)):
        raise StoreError(f"{text!r} does not refer to a rubric.", "Write NAME, NAME@NUMBER or NAME@TAG.")
    if not at:
        return Ref(name)
    return Ref(name, number=int(suffix)) if _VERSION_NUMBER.fullmatch(suffix) else Ref(name, tag=suffix)


def check_name(name: str, role: str = "the name of a rubric") -> str:
    if not isinstance(name, str) or not _NAME_OR_TAG.fullmatch(name):
        raise StoreError(
            f"{name!r} cannot be {role}.",
            "Use at most 100 small letters, digits, dots, dashes and underscores, a letter or digit first.",
        )
    return name


def check_tag(tag: str) -> str:
    """Return `tag`, or raise `StoreError` if it is invalid, or reads like a number or a position (`latest`)."""
    if check_name(tag, "a tag") in _POSITIONS:
        raise StoreError(
            f"{tag!r} cannot be a tag: it could be taken for a position among the versions.",
            "Choose a tag such as stable; NAME alone is the newest version.",
        )
    if _LIKE_A_NUMBER.fullmatch(tag):
        raise StoreError(
            f"{tag!r} cannot be a tag: it could be taken for the number of a version.",
            "Choose a word, such as stable; NAME@NUMBER is a version.",
        )
    return tag


class RecordedText(FrozenModel):
    """A labelled text of the training record, with the fields of its `Example`.

    Attributes:
        raters, reasons: each rater's label and reason by name; the name of an unknown rater is empty.
        predicted, low, high: score and interval by a rubric that was fitted without the text's group.
        direct: the score by the same judge asked directly, `None` if it was not asked.
        passed: whether the text passes by `threshold`, which was learned without the labels of the text's fold.
    """

    id: str
    group: str
    output: str
    source: str | None = None
    context: str | None = None
    reference: str | None = None
    system: str | None = None
    label: float
    raters: Mapping[str, float] = Field(default_factory=dict)
    reasons: Mapping[str, str] = Field(default_factory=dict, exclude_if=lambda reasons: not reasons)
    predicted: float | None = None
    low: float | None = None
    high: float | None = None
    direct: float | None = Field(None, exclude_if=lambda score: score is None)
    passed: bool | None = Field(None, exclude_if=lambda passed: passed is None)
    threshold: float | None = Field(None, exclude_if=lambda threshold: threshold is None)

    def decided_wrongly(self, old_threshold: float | None) -> bool:
        """Return whether the decision contradicts the label; a label of 0.5, a tie of the raters, contradicts nothing.

        `old_threshold` is used only for records of earlier releases, which store no decision.
        """
        passed = self.passed
        if passed is None and old_threshold is not None and self.predicted is not None:
            passed = self.predicted >= old_threshold
        return passed is not None and self.label != 0.5 and passed != (self.label > 0.5)

    @property
    def example(self) -> Example:
        return Example(self.id, self.output, self.group, self.source, self.context, self.reference, self.system)


@dataclass(frozen=True, slots=True)
class Cell:
    """The rating of one text by one criterion with its reason, or the reason why there is no rating.

    `applies` is false if the criterion does not apply to the text, which is not a failure. This is a dataclass, since a
    pydantic model takes ten times the memory, and 10,000 texts have a million cells.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False)

    score: float | None
    reason: str
    applies: bool = True


class Candidate(FrozenModel):
    """A criterion that took part in selection, its method, and whether it was selected (`kept`).

    `made_from` has the ids of the texts whose labels helped to make the criterion. `by_hand` says what a person did.
    """

    method: str
    criterion: Criterion
    kept: bool
    made_from: tuple[str, ...] = ()
    by_hand: Literal["added", "removed"] | None = None


_CELLS: TypeAdapter[Any] = TypeAdapter(tuple[Cell, ...])
_TEXT: TypeAdapter[Any] = TypeAdapter(RecordedText)


class TrainingRecord(FrozenModel):
    """Labelled texts and their ratings: a row of `cells` for each text, with a cell for each candidate criterion."""

    texts: tuple[RecordedText, ...]
    candidates: tuple[Candidate, ...]
    cells: tuple[tuple[Cell, ...], ...]

    def content(self) -> Iterator[str]:
        """Yield the record's canonical JSON row by row; as one text it would take many times its length in memory.

        Raises ValueError if a row would not read back as the same row.
        """
        candidates = [candidate.model_dump(mode="json", warnings="error") for candidate in self.candidates]
        yield f'{{"candidates":{canonical_json(candidates)}'
        for name, adapter, rows in (("cells", _CELLS, self.cells), ("texts", _TEXT, self.texts)):
            yield f',"{name}":['
            for index, row in enumerate(rows):
                content = canonical_json(adapter.dump_python(row, mode="json", warnings="error"))
                if adapter.validate_json(content) != row:
                    raise ValueError(f"row {index + 1} of {name!r} would read back as another row")
                yield f"{',' if index else ''}{content}"
            yield "]"
        yield "}"

    @property
    def matrix(self) -> FloatArray:
        return float_table(([cell.score for cell in row] for row in self.cells), len(self.candidates))


class Baseline(FrozenModel):
    """The text feature that correlates best with the training labels; a useful rubric agrees better with these labels.

    `sign` is the sign of `pearson`, the correlation. `model` is a formula: each text feature's mean and weight by name,
    fitted to all training labels.
    """

    feature: str
    sign: Literal[-1, 1]
    pearson: float
    model: Mapping[str, tuple[BoundedFloat, BoundedFloat]] = Field({}, exclude_if=lambda model: not model)


Action = Literal["reuse", "recalibrate", "relearn"]


class TransferOrigin(FrozenModel):
    """How a version was transferred: the action; judge, aspect and data digest of its parent; how many new labels."""

    action: Action
    judge: str
    aspect: str
    data: str
    labels: Count


EditAction = Literal["drop", "reword", "merge", "add", "pin", "bound", "threshold", "definition"]


class EditChange(FrozenModel):
    """A change that a person made to the parent or its `criteria` (ids). `result` is the id of a new criterion, if any.

    `before` and `after` are the wording, the definition, the threshold or the limits of the weight.
    """

    action: EditAction
    criteria: tuple[str, ...] = ()
    result: str | None = None
    before: str | None = None
    after: str | None = None


MadeBy = Literal["learning", "transfer", "edit"]
EditStatistic = Literal["Pearson", "balanced accuracy"]


class EditOrigin(FrozenModel):
    """How a person made a version from its parent.

    Attributes:
        labels: the number of labelled texts that both versions scored; 0 if nothing was measured.
        folds: the number of folds of the cross-validated figures; 0 if nothing was fitted to the labels.
        before, after: agreement of the parent and of this version with these labels, on the same folds.
        difference: after minus before, on the same texts. The person may have known the labels.
    """

    author: str
    because: str
    changes: tuple[EditChange, ...]
    labels: Count = 0
    folds: Count = 0
    statistic: EditStatistic = "Pearson"
    before: Interval = Interval(None)
    after: Interval = Interval(None)
    difference: Interval = Interval(None)


class Provenance(FrozenModel):
    """The data, models and settings that a version was learned from.

    Attributes:
        judge, generator: as the user named them.
        judge_address, generator_address: servers that received the requests, if not the provider's own.
        judge_from, generator_from: the imported version (`NAME@NUMBER`) whose record named the judge or generator and
            its server; `None` if the user named them. The judge is trusted only if that version is confirmed.
        model_versions: model names that the provider reported back.
        settings: all hyperparameters, by method.
        prompts, data: digests of the prompt templates, and of the training texts and labels.
        examples, groups: ids of the training texts and their groups, sorted.
        literature_without: names of data sets; findings about their raters were not used in learning.
        texts: digests of the words of the training texts, sorted, so that a text is recognized under any id.
        grades: the score that each grade counted as, if the labels are grades (of which 1 may be the best).
        reading: values of the options by which the labels were read, such as `mapping`; the value of a flag is empty.
        limits: sentences about faults of the data that concern every figure, such as texts that are in several groups.
        text_fields: `source` or `context` if all training texts had it; texts to score need it too. `None` if unknown.
        version: the version of this package.
    """

    judge: str
    generator: str
    judge_address: str | None = None
    generator_address: str | None = None
    judge_from: str | None = None
    generator_from: str | None = None
    model_versions: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, JsonValue]] = Field(default_factory=dict)
    prompts: str
    data: str
    examples: tuple[str, ...]
    groups: tuple[str, ...]
    texts: tuple[str, ...] = ()
    text_fields: tuple[ShownField, ...] | None = Field(None, exclude_if=lambda fields: fields is None)
    literature_without: tuple[str, ...] = Field((), exclude_if=lambda names: not names)
    grades: Mapping[str, float] = Field(default_factory=dict, exclude_if=lambda grades: not grades)
    reading: Mapping[str, str] = Field(default_factory=dict, exclude_if=lambda options: not options)
    limits: tuple[str, ...] = Field((), exclude_if=lambda limits: not limits)
    seed: Count
    agreement: TrainingAgreement | None = None
    baseline: Baseline | None = None
    validation: Validation | None = None
    transfer: TransferOrigin | None = None
    edit: EditOrigin | None = None
    version: str

    @functools.cached_property
    def digest(self) -> str:
        return digest(self.model_dump(mode="json"))

    @property
    def transferred_unchanged(self) -> bool:
        """Whether the rubric was transferred unchanged: the new labels have no part in its scores."""
        return self.transfer is not None and self.transfer.action == "reuse"

    @property
    def note_on_grades(self) -> str:
        """Which grades counted as which scores; empty without grades."""
        pairs = ", ".join(f"{grade} as {score:g}" for grade, score in self.grades.items())
        return f"The grades of the labels count as scores, {pairs}: a higher score is better." if pairs else ""

    @property
    def made_by(self) -> MadeBy:
        """The step that made the version; cross-validation repeats this step without the labels of each fold."""
        if self.edit:
            return "edit"
        return "transfer" if self.transfer else "learning"


def shared_text_fields(parent: Provenance, examples: Sequence[Example]) -> tuple[ShownField, ...] | None:
    """Return the `SHOWN_FIELDS` that all `examples` and all training texts of the parent have."""
    if not examples or parent.text_fields is None:
        return parent.text_fields
    return tuple(name for name in common_fields(examples) if name in parent.text_fields)


class Effort(FrozenModel):
    """Calls, tokens, money and time of a command; not part of the provenance, which is the same for a resumed run.

    Attributes:
        calls, cached: replies received from the provider, and cached replies used instead.
        failed: prompts without a usable reply.
        repaired: prompts that were repeated because the first reply was unusable.
        by_name_or_order: replies whose entries were recognized by names or by order instead of by ids.
        cost_usd: US dollars; `None` if the price is unknown.
        cached_prompt_tokens: the prompt tokens that the provider read from its prompt cache.
        saved_usd: US dollars that the prompt cache saved, minus the price of writing to it; `cost_usd` includes both.
        stages, stage_tokens: numbers of replies and of their tokens by prompt template, cached replies included.
    """

    calls: Count = 0
    cached: Count = 0
    failed: Count = 0
    repaired: Count = 0
    by_name_or_order: Count = Field(0, exclude_if=lambda replies: not replies)
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cost_usd: float | None = Field(default=0.0, ge=0)
    cached_prompt_tokens: Count = Field(0, exclude_if=lambda tokens: not tokens)
    saved_usd: float = Field(default=0.0, exclude_if=lambda dollars: not dollars)
    seconds: float = Field(default=0.0, ge=0)
    stages: Mapping[str, int] = Field(default_factory=dict)
    stage_tokens: Mapping[str, int] = Field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Version(Displayed):
    """A rubric in a store under a name and a number.

    Attributes:
        parent: the version that this one was made from, `NAME@NUMBER`; `None` for a first version.
        imported_from: the name of this version in its pack, as `NAME@NUMBER`; the author of the pack chose the judges
            and servers. `None` if the version was made in this store.
        confirmed: whether the user has confirmed that this version may choose the judge.
        new: whether the call that returned this version created it.
        evaluation: the stored evaluation on texts that it was not learned from; `None` if this store has none.
    """

    name: str
    number: int
    digest: str
    rubric: Rubric
    provenance: Provenance
    provenance_digest: str
    effort: Effort
    parent: str | None
    created: datetime
    tags: tuple[str, ...] = ()
    new: bool = False
    imported_from: str | None = None
    confirmed: bool = False
    evaluation: EvaluationRecord | None = None

    def __repr__(self) -> str:
        return f"Version({self.ref!r})"

    @property
    def imported(self) -> bool:
        return self.imported_from is not None

    @property
    def ref(self) -> str:
        """`NAME@NUMBER`, the permanent reference to this version."""
        return f"{self.name}@{self.number}"

    @property
    def trusted(self) -> bool:
        """Whether its recorded judge, generator and servers may be used without the user naming them."""
        return self.confirmed or not self.imported

    @property
    def lacks_direct(self) -> bool:
        """Whether an edit left the gate without a comparison with the same judge asked directly for a score."""
        validation, rubric = self.provenance.validation, self.rubric
        has_judged_criteria = any(criterion.kind != "feature" for criterion in rubric.criteria)
        is_comparable = has_judged_criteria and not rubric.asks_directly
        return bool(self.provenance.edit and is_comparable and validation and not validation.verdict_against(DIRECT))

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the gate at learning, if any; `better` is inconclusive if the version `lacks_direct`."""
        validation = self.provenance.validation
        outcome = validation.outcome if validation else None
        return "inconclusive" if outcome == "better" and self.lacks_direct else outcome

    def evaluation_prevails(self, compared_with_direct: bool) -> bool:
        """Return whether the verdict of an evaluation decides, rather than the gate's verdict at learning.

        An evaluation that compares with the judge asked directly always decides. Any other evaluation decides only if
        the gate did not compare with the judge asked directly either, and no comparison was lost by an edit.
        """
        validation = self.provenance.validation
        gate_rests_on_direct = validation is not None and validation.deciding_verdict is not validation.free_verdict
        return compared_with_direct or not (gate_rests_on_direct or self.lacks_direct)

    @property
    def deciding_evaluation(self) -> EvaluationRecord | None:
        """The stored evaluation if its verdict decides, else `None`."""
        record = self.evaluation
        return record if record and self.evaluation_prevails(record.compared_with_direct) else None

    @property
    def deciding_verdict(self) -> GateVerdict | None:
        """The verdict of the `deciding_evaluation`; without one, the gate's verdict at learning."""
        if self.deciding_evaluation:
            return self.deciding_evaluation.verdict
        validation = self.provenance.validation
        return validation.deciding_verdict if validation else None

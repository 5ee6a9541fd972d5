"""Provenance: the data, judge and settings that a rubric was learned from, its training agreement, and its cost."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field, JsonValue

from rubriclab.base_models import Count, FrozenModel
from rubriclab.data.example import Example, ShownField, common_fields
from rubriclab.digest import digest
from rubriclab.stats.interval import Interval
from rubriclab.validation import Validation


class TrainingAgreement(FrozenModel):
    """Agreement of the rubric's scores with the labels of the training texts.

    Attributes:
        level: correlations are computed over the whole training set.
        n: number of training texts with a score.
        optimistic: whether the rubric was learned from these labels; false for a method that uses no labels.
        spearman, pearson, kendall: the correlations.
        reselected: cross-validated Spearman: label-based selection is repeated for each group without its labels.
            Still optimistic, though less so, if labels also helped to propose the criteria.
    """

    level: Literal["dataset"] = "dataset"
    n: Count
    optimistic: bool = True
    spearman: Interval
    pearson: Interval
    kendall: Interval
    reselected: Interval


class Baseline(FrozenModel):
    """The text feature that correlates best with the training labels. A useful rubric has to beat it."""

    feature: str
    sign: Literal[-1, 1]
    pearson: float


Action = Literal["reuse", "recalibrate", "relearn"]


class TransferOrigin(FrozenModel):
    """How a version was transferred from its parent to other texts or another judge.

    Attributes:
        action: which part of the rubric was relearned.
        judge, aspect, data: those of the parent version.
        labels: number of labelled new texts that were used.
    """

    action: Action
    judge: str
    aspect: str
    data: str
    labels: Count


EditAction = Literal["drop", "reword", "merge", "add", "pin", "bound", "threshold", "definition"]


class EditChange(FrozenModel):
    """One change that a person made to a rubric.

    Attributes:
        criteria: ids of the criteria that it concerns, in the parent version.
        result: id of the new criterion, if there is one.
        before, after: the wording, the definition, the threshold or the limits of the weight.
    """

    action: EditAction
    criteria: tuple[str, ...] = ()
    result: str | None = None
    before: str | None = None
    after: str | None = None


HeldOutBy = Literal["learning", "transfer", "edit"]
EditStatistic = Literal["Pearson", "balanced accuracy"]


class EditOrigin(FrozenModel):
    """How a person made a version from its parent.

    Attributes:
        by, because: who changed it, and why.
        labels: number of labelled texts that the weights were fitted to; 0 if nothing was fitted or measured.
        folds: number of folds that the figures are held out in; 0 where nothing was fitted to the labels.
        statistic: what the next three are of: Pearson correlation, or balanced accuracy of verdicts.
        before, after: agreement of the parent and of this version with the labels, on the same folds.
        difference: after less before, paired, with its interval. The person may have known the labels.
    """

    by: str
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
        judge_from, generator_from: the imported version (`NAME@NUMBER` in the store where this one was learned) whose
            record named the judge or generator and its server; `None` if the user named them. This version is trusted
            only if that one is.
        model_versions: model names that the provider reported back.
        settings: all hyperparameters, by method.
        prompts: digest of the prompt templates.
        data: digest of the training texts and labels.
        examples, groups: ids of the training texts and their groups, sorted.
        texts: digests of the training texts, sorted, so that a text is recognized under any id.
        text_fields: fields that every training text had, of source and context; scoring needs them too. `None` if
            unknown; it is then left out of the record, so that earlier records keep their digests.
        literature_without: public data sets whose raters' findings were left out, as `literature_without` of `learn`
            named them; left out of the record if empty, so that earlier records keep their digests.
        baseline: the text feature that correlates best with the training labels; `None` if none does.
        validation: outcome of the gate, for a rubric of several methods.
        transfer: how the version was transferred from its parent, if it was.
        edit: how a person made the version from its parent, if one did.
        version: version of this package.
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
    seed: Count
    agreement: TrainingAgreement | None = None
    baseline: Baseline | None = None
    validation: Validation | None = None
    transfer: TransferOrigin | None = None
    edit: EditOrigin | None = None
    version: str

    @functools.cached_property
    def digest(self) -> str:
        """Digest of all fields."""
        return digest(self.model_dump(mode="json"))

    @property
    def held_out_by(self) -> HeldOutBy:
        """What each fold of the held-out agreement repeats: learning, a transfer, or the refit of an edited rubric."""
        if self.edit:
            return "edit"
        return "transfer" if self.transfer else "learning"


def fields_of_both(before: Provenance, examples: Sequence[Example]) -> tuple[ShownField, ...] | None:
    """Return which of source and context all texts of an earlier version and all the examples have."""
    if not examples or before.text_fields is None:
        return before.text_fields
    return tuple(name for name in common_fields(examples) if name in before.text_fields)


class Effort(FrozenModel):
    """Calls, tokens, money and time that a command used. Part of no digest: a resumed run uses less.

    Attributes:
        calls: replies received from the provider.
        cached: cached replies used instead of a call.
        failed: prompts without a usable reply.
        repaired: prompts that were repeated because the first reply was unusable.
        by_name_or_order: replies of which entries were recognised by names or by their order instead of their ids.
        prompt_tokens, completion_tokens: as counted by the provider.
        cost_usd: US dollars; `None` if the price is unknown.
        cached_prompt_tokens: the prompt tokens that the provider read from its prompt cache.
        saved_usd: US dollars that the provider's prompt cache saved, included in `cost_usd`; negative if writing to it
            cost more than reading from it saved. Both are left out of the record where they are 0, as in earlier ones.
        seconds: wall-clock time.
        stages, stage_tokens: number of replies and of their tokens, cached ones included, by prompt template.
    """

    calls: int = Field(default=0, ge=0)
    cached: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    repaired: int = Field(default=0, ge=0)
    by_name_or_order: int = Field(default=0, ge=0, exclude_if=lambda replies: not replies)
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = Field(default=0.0, ge=0)
    cached_prompt_tokens: int = Field(default=0, ge=0, exclude_if=lambda tokens: not tokens)
    saved_usd: float = Field(default=0.0, exclude_if=lambda dollars: not dollars)
    seconds: float = Field(default=0.0, ge=0)
    stages: Mapping[str, int] = Field(default_factory=dict)
    stage_tokens: Mapping[str, int] = Field(default_factory=dict)

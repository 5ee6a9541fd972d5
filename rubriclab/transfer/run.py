"""A rubric applied to other texts, or through another judge: what that costs, and what to do about it.

target texts            -> rated by the rubric's criteria, exactly as in scoring
those with labels       -> agreement there, beside home, the floors, and what each action would give
some of the labels only -> the others check what the actions really gave
all of the texts        -> how far they lie from those that the rubric was learned from
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rubriclab.data.aspect import Aspect
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.errors import BudgetReached, DataError, JudgeError, JudgeRefused, ProviderDown, ReplayMiss, SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.learning.baselines import SURFACE, measure_values
from rubriclab.learning.gate import GateLevel, gate_level
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.single_method import Trained
from rubriclab.methods.method import Progress, silent
from rubriclab.rubric import Action, Provenance, Rubric, rounded
from rubriclab.stats.correlation import FloatArray
from rubriclab.text_features import WORD_COUNT
from rubriclab.training_record import TrainingRecord
from rubriclab.transfer.actions import (
    ACTIONS,
    AdaptedRubric,
    LabelledTarget,
    applied,
    recalibrated,
    relearned,
    reused,
    reweighted,
)
from rubriclab.transfer.advice import advise, paired
from rubriclab.transfer.distribution_shift import DistributionShift, shift
from rubriclab.transfer.metrics import AgreementMetrics, figures
from rubriclab.transfer.rating_matrix import RatedTexts, rate, rate_all, wider
from rubriclab.transfer.results import ActionEvaluation, SourceAgreement, Transfer
from rubriclab.transfer.split import split
from rubriclab.validation import Interval

WORDS = "word count"
MEASURE = "best surface measure at home"

RelearnFunction = Callable[[Sequence[Example]], Awaitable[Trained]]


@dataclass(frozen=True)
class SourceRubric:
    """A version, and what is on record of its training, if anything is."""

    ref: str
    rubric: Rubric
    provenance: Provenance
    record: TrainingRecord | None = None


@dataclass(frozen=True)
class TargetTexts:
    """Texts that a rubric is carried over to.

    Attributes:
        name: as the user wrote it.
        examples: all usable texts; those of `labelled` are among them.
        labelled: with a score for `aspect`, on `scale`.
        labels: how many of the labels actions may use; the other texts check them. `None` for all.
    """

    name: str
    examples: tuple[Example, ...]
    labelled: tuple[Example, ...]
    aspect: Aspect
    scale: Scale
    labels: int | None = None


@dataclass(frozen=True, eq=False)
class FittedTransfer:
    """A transfer, and what can be saved of it.

    Attributes:
        tried: by action, with the rubric that it makes.
        place: the labelled texts that these were made of; `None` without labels.
        trained: of `relearn`.
        wide: the texts by all criteria that were considered at home, where there are more than the rubric's.
    """

    found: Transfer
    tried: Mapping[Action, AdaptedRubric]
    place: LabelledTarget | None = None
    trained: Trained | None = None
    wide: RatedTexts | None = None


async def transfer(
    home: SourceRubric,
    target: TargetTexts,
    judge: Judge,
    *,
    relearn: RelearnFunction | None = None,
    seed: int = 0,
    under_way: int = 16,
    on_progress: Progress = silent,
) -> FittedTransfer:
    """Return what the rubric of `home` is worth on the target, asked of `judge`.

    Args:
        relearn: learns from scratch from labelled texts of the target; without it that is not tried.
        seed: of splits, folds and resamples.
        under_way: texts asked about at once.

    Raises:
        JudgeError: if no text could be scored.
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does; they concern every text.
    """
    rubric = home.rubric.model_copy(update={"aspect": target.aspect})
    on_progress(f"rating {len(target.examples)} texts by the rubric", 0.0)
    rated = await rate(rubric, home.ref, target.examples, judge, under_way)
    if np.isnan(rated.scores).all():
        raise JudgeError(f"None of {len(rated.examples)} texts could be scored; the latest reason: {rated.reason}")
    found = _without_labels(home, target, rated, judge, seed)
    if not target.labelled:
        return FittedTransfer(found, {})
    course = _Course(home, rubric, target, rated, judge, seed, under_way)
    await course.try_all(relearn, on_progress)
    return FittedTransfer(
        found.model_copy(update={**_beside_home(home, course), **await course.findings()}),
        course.tried,
        course.place,
        course.trained,
        course.wide,
    )


@dataclass
class _Course:
    """The actions, one after the other, on labelled texts."""

    home: SourceRubric
    rubric: Rubric
    target: TargetTexts
    rated: RatedTexts
    judge: Judge
    seed: int
    under_way: int

    def __post_init__(self) -> None:
        use, check = split(self.target.labelled, self.target.labels, self.seed)
        self.place = self.at(_some(self.rated, use))
        self.check = self.at(_some(self.rated, check)) if check else None
        self.parts = wider(self.rubric, self.home.record)
        self.tried: dict[Action, AdaptedRubric] = {}
        self.missing: dict[Action, str] = {}
        self.trained: Trained | None = None
        self.wide: RatedTexts | None = None

    def at(self, rated: RatedTexts) -> LabelledTarget:
        """Return the rubric on these labelled texts."""
        settings = JointSettings.model_validate(dict(self.home.provenance.settings.get("joint", {})))
        unbounded = settings.model_copy(update={"calls_per_text": 0})
        return LabelledTarget(self.rubric, rated, self.target.aspect.name, self.target.scale, unbounded, self.seed)

    async def try_all(self, relearn: RelearnFunction | None, on_progress: Progress) -> None:
        """Try what can be tried, and remember why the rest cannot."""
        self._keep("reuse", reused(self.place))
        self._keep("recalibrate", recalibrated(self.place))
        self._keep("reweight", reweighted(self.place))
        if sum(len(part.criteria) for part in self.parts) > len(self.rubric.criteria):
            on_progress("rating the labelled texts by the criteria that were left out, too", 0.3)
            await self._reselect()
        else:
            self.missing["reselect"] = "no criterion is known that was left out"
        if relearn:
            on_progress(f"learning from scratch from {len(self.place.rated.examples)} labels", 0.5)
            await self._relearn(relearn)
        else:
            self.missing["relearn"] = "it was not asked for"

    async def _reselect(self) -> None:
        try:
            self.wide = await rate_all(self.parts, self.rubric, self._texts(self.place), self.judge, self.under_way)
        except ReplayMiss as error:
            # A recording of scoring knows the rubric's own criteria alone.
            self.missing["reselect"] = str(error)
        else:
            self._keep("reselect", reweighted(self.place, self.wide, self.parts))

    def _keep(self, action: Action, tried: AdaptedRubric | None) -> None:
        if tried:
            self.tried[action] = tried
        else:
            self.missing[action] = "no criterion tells any two of these texts apart"

    async def _relearn(self, relearn: RelearnFunction) -> None:
        try:
            self.trained = await relearn(self._texts(self.place))
        except (DataError, JudgeError, ReplayMiss, SettingsError) as error:
            # What a provider refuses, a cap or a missing recording concerns what follows too; this concerns learning.
            if isinstance(error, (BudgetReached, JudgeRefused, ProviderDown)):
                raise
            self.missing["relearn"] = str(error)
        else:
            self._keep("relearn", relearned(self.place, self.trained))

    async def findings(self) -> dict[str, Any]:
        """Return what each action gives, and which is advised."""
        table, check = self.place.table, self.check
        squares = {name: each.squares(table.labels) for name, each in self.tried.items()}
        # Another judge uses the scale in its own way, whatever the labels can tell.
        other = self.judge.name != self.home.provenance.judge
        advice = advise(squares, table.labels, table.groups, usual="recalibrate" if other else "reuse")
        on_check = await self._all_on_check(check) if check else {}
        return {
            "labels": len(table.labels),
            "checked": len(check.table.labels) if check else 0,
            "actions": tuple(self._finding(action, on_check, advice.action) for action in ACTIONS),
            "advice": advice,
        }

    def _finding(self, action: Action, on_check: Mapping[Action, FloatArray], advised: Action) -> ActionEvaluation:
        tried, check = self.tried.get(action), self.check
        if tried is None:
            return ActionEvaluation(action=action, missing=self.missing[action])
        held_out = self.measured(tried.scores, tried.raw, self.place)
        criteria = len(tried.rubric.criteria)
        if check is None or action not in on_check:
            return ActionEvaluation(action=action, criteria=criteria, held_out=held_out)
        table, behind = check.table, None
        if advised in on_check:
            own, best = (np.square(on_check[name] - table.labels) for name in (action, advised))
            behind = paired(own - best, table.labels, table.groups)
        checked = self.measured(on_check[action], on_check[action], check)
        return ActionEvaluation(action=action, criteria=criteria, held_out=held_out, checked=checked, behind=behind)

    async def _all_on_check(self, check: LabelledTarget) -> dict[Action, FloatArray]:
        """Return what each action's rubric says of the other labelled texts, if the judge can say anything of it."""
        found = {}
        for name, each in self.tried.items():
            # A recording may lack the prompts of a rubric that was only just made.
            with contextlib.suppress(ReplayMiss):
                found[name] = await self._on_check(each, check)
        return found

    async def _on_check(self, tried: AdaptedRubric, check: LabelledTarget) -> FloatArray:
        """Return what an action's rubric says of the other labelled texts."""
        if tried.action == "reuse":
            return reused(check).scores
        if tried.action in ("recalibrate", "reweight"):
            return applied(tried.rubric, check.rated)
        rated = await rate(tried.rubric, tried.action, self._texts(check), self.judge, self.under_way)
        scale = tried.rubric.scores_on
        return np.array([scale.moved_to(self.rubric.scale, score) for score in rated.scores.tolist()], dtype=float)

    def measured(
        self, scores: FloatArray | None, raw: FloatArray, place: LabelledTarget, level: GateLevel | None = None
    ) -> AgreementMetrics:
        """Return the figures of scores of a place's texts."""
        table = place.table
        own = level or gate_level(table.labels, table.groups)
        point = self.target.scale.width / self.rubric.scale.width
        return figures(scores, raw, table.labels, table.groups, level=own, point=point, seed=self.seed)

    @staticmethod
    def _texts(place: LabelledTarget) -> tuple[Example, ...]:
        return place.rated.examples


def _some(rated: RatedTexts, examples: Sequence[Example]) -> RatedTexts:
    """Return what was rated of these texts, with their labels."""
    places = {example.id: place for place, example in enumerate(rated.examples)}
    chosen = np.array([places[example.id] for example in examples], dtype=np.int64)
    return replace(rated.rows(chosen), examples=tuple(examples))


def _without_labels(home: SourceRubric, target: TargetTexts, rated: RatedTexts, judge: Judge, seed: int) -> Transfer:
    """Return what can be said of the target without labels."""
    return Transfer(
        rubric=home.ref,
        judge=judge.name,
        calibrated_for=home.provenance.judge,
        target=target.name,
        aspect=target.aspect.name,
        home_aspect=home.rubric.aspect.name,
        scale=target.scale,
        home_scale=home.rubric.scores_on,
        texts=len(rated.examples),
        unscored=int(np.isnan(rated.scores).sum()),
        unscored_why=rated.reason,
        shift=_shift(home, rated, seed),
    )


def _shift(home: SourceRubric, rated: RatedTexts, seed: int) -> DistributionShift | None:
    """Return how far the rated texts lie from those learned from; `None` where nothing is known of these."""
    ids = [candidate.criterion.id for candidate in rated.candidates]
    here = dict(zip(ids, rated.values.T, strict=True))
    terms = home.rubric.aggregation.terms if home.rubric.aggregation else ()
    if home.record is None:
        return shift((), rated.examples, {}, here, terms=terms, seed=seed) if terms else None
    columns = {each.criterion.id: place for place, each in enumerate(home.record.candidates)}
    matrix = home.record.matrix
    there = {name: matrix[:, columns[name]] for name in ids if name in columns}
    return shift([text.example for text in home.record.texts], rated.examples, there, here, terms=terms, seed=seed)


def _beside_home(home: SourceRubric, course: _Course) -> dict[str, Any]:
    """Return how well the rubric agrees with all labels as it is, beside home and the floors."""
    place = course.at(_some(course.rated, course.target.labelled))
    level = gate_level(place.table.labels, place.table.groups)
    before = _at_home(home, level)
    there = reused(place)
    floors = {WORDS: _measure(WORD_COUNT, 1, place)}
    if floor := home.provenance.floor:
        floors[MEASURE] = _measure(floor.measure, floor.sign, place)
    same = course.measured(there.scores, there.raw, place, before.level if before else level)
    return {
        "home": before,
        "there": same,
        "drop": drop(before.spearman, same.spearman) if before else None,
        "floors": {name: course.measured(None, values, place, same.level) for name, values in floors.items()},
    }


def _measure(name: str, sign: int, place: LabelledTarget) -> FloatArray:
    if name not in SURFACE:
        return np.full(len(place.rated.examples), np.nan)
    return sign * measure_values(place.rated.examples, [name])[:, 0]


def _at_home(home: SourceRubric, level: GateLevel) -> SourceAgreement | None:
    """Return what the rubric reached at home, at that level if it is known, else over all texts."""
    validation, agreement = home.provenance.validation, home.provenance.agreement
    if validation and validation.level in (level, "dataset"):
        own = validation.evaluators[0]
        return SourceAgreement(level=validation.level, n=own.n, spearman=own.spearman, pearson=own.pearson)
    if agreement and agreement.reselected.value is not None:
        return SourceAgreement(level="dataset", n=agreement.n, spearman=agreement.reselected)
    if agreement and not agreement.optimistic:
        return SourceAgreement(level="dataset", n=agreement.n, spearman=agreement.spearman, pearson=agreement.pearson)
    return None


def drop(before: Interval, after: Interval) -> Interval:
    """Return the difference of two independent figures; its interval is made of theirs.

    The method of variance estimates recovery (Zou 2007, "Toward using confidence intervals to compare correlations",
    Psychological Methods 12).
    """
    if before.value is None or after.value is None:
        return Interval(value=None)
    value = before.value - after.value
    ends = (before.low, before.high, after.low, after.high)
    if None in ends:
        return Interval(value=rounded(value))
    low, high, low_after, high_after = (float(end) for end in ends if end is not None)
    down = math.hypot(before.value - low, high_after - after.value)
    up = math.hypot(high - before.value, after.value - low_after)
    return Interval(value=rounded(value), low=rounded(value - down), high=rounded(value + up))

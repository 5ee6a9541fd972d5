"""A rubric applied to target texts, or through another judge: the loss of agreement, and what to do about it.

target texts           -> rated by the rubric's criteria, exactly as in scoring
labelled texts         -> agreement there, compared with the source and baselines, and a cross-validation of each action
only some of the labels -> the others are held out to evaluate each action
all texts              -> their distance from the texts that the rubric was learned from
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rubriclab.data.example import Example
from rubriclab.errors import BudgetReached, DataError, JudgeError, JudgeRefused, ProviderDown, ReplayMiss, SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.learning.baselines import FEATURE_NAMES, feature_values
from rubriclab.learning.gate import GateLevel, gate_level
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.single_method import Trained
from rubriclab.methods.method import Progress, silent
from rubriclab.provenance import Action
from rubriclab.rubric import Rubric
from rubriclab.stats.correlation import FloatArray
from rubriclab.text_features import WORD_COUNT
from rubriclab.transfer.actions import (
    ACTIONS,
    AdaptedRubric,
    LabelledTarget,
    aggregate_scores,
    recalibrated,
    relearned,
    rescaled,
    reused,
    reweighted,
)
from rubriclab.transfer.distribution_shift import DistributionShift, distribution_shift
from rubriclab.transfer.rating_matrix import RatedTexts, rate, rate_parts, with_dropped_criteria
from rubriclab.transfer.recommendation import advise, paired_difference
from rubriclab.transfer.results import ActionEvaluation, AgreementMetrics, Transfer, agreement_metrics
from rubriclab.transfer.source_target import SourceRubric, TargetTexts, drop, source_agreement

WORDS = "word count"
BEST_FEATURE = "best text feature on the source"

RelearnFunction = Callable[[Sequence[Example]], Awaitable[Trained]]


@dataclass(frozen=True, eq=False)
class FittedTransfer:
    """A transfer, with the rubrics fitted on the way.

    Attributes:
        adapted: by action.
        labelled: the texts that these were fitted to; `None` without labels.
        trained: the training of `relearn`.
        all_criteria: ratings of the labelled texts by all former candidates; `None` if these are the rubric's criteria.
    """

    transfer: Transfer
    adapted: Mapping[Action, AdaptedRubric] = field(default_factory=dict)
    labelled: LabelledTarget | None = None
    trained: Trained | None = None
    all_criteria: RatedTexts | None = None


async def transfer(
    source: SourceRubric,
    target: TargetTexts,
    judge: Judge,
    *,
    relearn: RelearnFunction | None = None,
    seed: int = 0,
    under_way: int = 16,
    on_progress: Progress = silent,
) -> FittedTransfer:
    """Return the evaluation of the rubric of `source` on the target, rated by `judge`.

    Args:
        relearn: trains from scratch on labelled target texts; without it, that action is skipped.
        seed: of splits, folds and resamples.
        under_way: texts rated concurrently.

    Raises:
        JudgeError: if no text could be scored.
        JudgeRefused, BudgetReached, ReplayMiss: from the judge; they concern every text.
    """
    rubric = source.rubric.model_copy(update={"aspect": target.aspect})
    on_progress(f"rating {len(target.examples)} texts by the rubric", 0.0)
    rated = await rate(rubric, source.ref, target.examples, judge, under_way)
    if np.isnan(rated.scores).all():
        raise JudgeError(f"None of {len(rated.examples)} texts could be scored; the latest reason: {rated.reason}")
    unlabelled = _without_labels(source, target, rated, judge, seed)
    if not target.labelled:
        return FittedTransfer(unlabelled)
    actions = _Actions(source, rubric, target, rated, judge, seed, under_way)
    await actions.fit_all(relearn, on_progress)
    complete = await actions.evaluate(unlabelled)
    return FittedTransfer(complete, actions.adapted, actions.labelled, actions.trained, actions.all_criteria)


def _without_labels(source: SourceRubric, target: TargetTexts, rated: RatedTexts, judge: Judge, seed: int) -> Transfer:
    return Transfer(
        rubric=source.ref,
        judge=judge.name,
        calibrated_for=source.provenance.judge,
        target=target.name,
        aspect=target.aspect.name,
        source_aspect=source.rubric.aspect.name,
        scale=target.scale,
        source_scale=source.rubric.scores_on,
        texts=len(rated.examples),
        unscored=int(np.isnan(rated.scores).sum()),
        unscored_reason=rated.reason,
        shift=_shift(source, rated, seed),
    )


def _shift(source: SourceRubric, rated: RatedTexts, seed: int) -> DistributionShift | None:
    """Return the distance of the rated texts from the source texts; `None` if nothing is known about the latter."""
    ids = [candidate.criterion.id for candidate in rated.candidates]
    ratings = dict(zip(ids, rated.values.T, strict=True))
    terms = source.rubric.aggregation.terms if source.rubric.aggregation else ()
    if source.record is None:
        return distribution_shift((), rated.examples, {}, ratings, terms=terms, seed=seed) if terms else None
    matrix = source.record.matrix
    columns = {candidate.criterion.id: column for column, candidate in enumerate(source.record.candidates)}
    source_ratings = {name: matrix[:, columns[name]] for name in ids if name in columns}
    texts = [text.example for text in source.record.texts]
    return distribution_shift(texts, rated.examples, source_ratings, ratings, terms=terms, seed=seed)


@dataclass
class _Actions:
    """The actions, fitted one after the other to labelled texts."""

    source: SourceRubric
    rubric: Rubric
    target: TargetTexts
    rated: RatedTexts
    judge: Judge
    seed: int
    under_way: int

    def __post_init__(self) -> None:
        fitted, held_out = self.target.split(self.seed)
        self.labelled = self._at(fitted)
        self.held_out = self._at(held_out) if held_out else None
        self.adapted: dict[Action, AdaptedRubric] = {}
        self.skipped: dict[Action, str] = {}
        self.trained: Trained | None = None
        self.all_criteria: RatedTexts | None = None

    def _at(self, examples: Sequence[Example]) -> LabelledTarget:
        settings = JointSettings.model_validate(dict(self.source.provenance.settings.get("joint", {})))
        unbounded = settings.model_copy(update={"calls_per_text": 0})
        rated, aspect = self.rated.select(examples), self.target.aspect.name
        return LabelledTarget(self.rubric, rated, aspect, self.target.scale, unbounded, self.seed)

    async def fit_all(self, relearn: RelearnFunction | None, on_progress: Progress) -> None:
        """Fit the actions, with the reasons for those that cannot be tried."""
        self._add("reuse", reused(self.labelled))
        self._add("recalibrate", recalibrated(self.labelled))
        self._add("reweight", reweighted(self.labelled))
        parts = with_dropped_criteria(self.rubric, self.source.record)
        if sum(len(part.criteria) for part in parts) > len(self.rubric.criteria):
            on_progress("rating the labelled texts by the dropped criteria, too", 0.3)
            # A recording of scoring contains the rubric's own criteria only.
            with self._skipping("reselect", ReplayMiss):
                texts = self.labelled.rated.examples
                self.all_criteria = await rate_parts(parts, self.rubric, texts, self.judge, self.under_way)
                self._add("reselect", reweighted(self.labelled, self.all_criteria, parts))
        else:
            self.skipped["reselect"] = "no dropped criteria are known"
        if relearn:
            on_progress(f"learning from scratch from {len(self.labelled.rated.examples)} labels", 0.5)
            with self._skipping("relearn", DataError, JudgeError, ReplayMiss, SettingsError):
                self.trained = await relearn(self.labelled.rated.examples)
                self._add("relearn", relearned(self.labelled, self.trained))
        else:
            self.skipped["relearn"] = "not requested"

    def _add(self, action: Action, adapted: AdaptedRubric | None) -> None:
        if adapted:
            self.adapted[action] = adapted
        else:
            self.skipped[action] = "no criterion varies over these texts"

    @contextlib.contextmanager
    def _skipping(self, action: Action, *errors: type[Exception]) -> Iterator[None]:
        """Skip an action for these errors, except for those that concern all further calls."""
        try:
            yield
        except (BudgetReached, JudgeRefused, ProviderDown):
            raise
        except errors as error:
            self.skipped[action] = str(error)

    async def evaluate(self, unlabelled: Transfer) -> Transfer:
        """Return `unlabelled` with the evaluations of the actions, the advice, and the comparison with the source."""
        table, held_out = self.labelled.table, self.held_out
        squares = {action: adapted.squared_errors(table.labels) for action, adapted in self.adapted.items()}
        # Another judge uses the scale differently, even if the labels are too few to show it.
        same_judge = self.judge.name == self.source.provenance.judge
        advice = advise(squares, table.labels, table.groups, default="reuse" if same_judge else "recalibrate")
        held_out_scores = await self._held_out_scores(held_out) if held_out else {}
        return unlabelled.model_copy(
            update={
                "labels": len(table.labels),
                "held_out_labels": len(held_out.table.labels) if held_out else 0,
                "actions": tuple(self._evaluation(action, held_out_scores, advice.action) for action in ACTIONS),
                "advice": advice,
                **self._compared_with_source(),
            }
        )

    def _evaluation(
        self, action: Action, held_out_scores: Mapping[Action, FloatArray], advised: Action
    ) -> ActionEvaluation:
        if (adapted := self.adapted.get(action)) is None:
            return ActionEvaluation(action=action, skipped=self.skipped[action])
        criteria = len(adapted.rubric.criteria)
        cross_validated = self._metrics(adapted.scores, adapted.raw, self.labelled)
        if self.held_out is None or action not in held_out_scores:
            return ActionEvaluation(action=action, criteria=criteria, cross_validated=cross_validated)
        scores, table, excess = held_out_scores[action], self.held_out.table, None
        if advised in held_out_scores:
            errors, best = (np.square(held_out_scores[name] - table.labels) for name in (action, advised))
            excess = paired_difference(errors - best, table.labels, table.groups)
        return ActionEvaluation(
            action=action,
            criteria=criteria,
            cross_validated=cross_validated,
            held_out=self._metrics(scores, scores, self.held_out),
            excess_error=excess,
        )

    async def _held_out_scores(self, held_out: LabelledTarget) -> dict[Action, FloatArray]:
        """Return the scores of the held-out texts by each action's rubric, as far as the judge can reply."""
        scores = {}
        for action, adapted in self.adapted.items():
            # A recording may lack the prompts of a newly learned rubric.
            with contextlib.suppress(ReplayMiss):
                scores[action] = await self._scores(adapted, held_out)
        return scores

    async def _scores(self, adapted: AdaptedRubric, held_out: LabelledTarget) -> FloatArray:
        if adapted.action == "reuse":
            return reused(held_out).scores
        if adapted.action in ("recalibrate", "reweight"):
            return aggregate_scores(adapted.rubric, held_out.rated)
        texts = held_out.rated.examples
        rated = await rate(adapted.rubric, adapted.action, texts, self.judge, self.under_way)
        return rescaled(rated.scores, adapted.rubric.scores_on, self.rubric.scale)

    def _metrics(
        self, scores: FloatArray | None, raw: FloatArray, labelled: LabelledTarget, level: GateLevel | None = None
    ) -> AgreementMetrics:
        table = labelled.table
        level = level or gate_level(table.labels, table.groups)
        point = self.target.scale.width / self.rubric.scale.width
        return agreement_metrics(scores, raw, table.labels, table.groups, level=level, point=point, seed=self.seed)

    def _compared_with_source(self) -> dict[str, object]:
        """Return the agreement of the unchanged rubric with all labels, and what it is compared with."""
        labelled = self._at(self.target.labelled)
        level = gate_level(labelled.table.labels, labelled.table.groups)
        before = source_agreement(self.source.provenance, level)
        unchanged = reused(labelled)
        after = self._metrics(unchanged.scores, unchanged.raw, labelled, before.level if before else level)
        features = {WORDS: (WORD_COUNT, 1)}
        if best := self.source.provenance.baseline:
            features[BEST_FEATURE] = (best.feature, best.sign)
        baselines = {
            name: self._metrics(None, _feature(*feature, labelled.rated.examples), labelled, after.level)
            for name, feature in features.items()
        }
        change = drop(before.spearman, after.spearman) if before else None
        return {"source": before, "agreement": after, "drop": change, "baselines": baselines}


def _feature(name: str, sign: int, examples: Sequence[Example]) -> FloatArray:
    return sign * feature_values(examples, [name])[:, 0] if name in FEATURE_NAMES else np.full(len(examples), np.nan)

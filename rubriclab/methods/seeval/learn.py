"""SEEval's learning: several explanations, of which the best is rewritten by its errors, if that helps on other texts.

The paper elicits one explanation and leaves refinement to future work (section 6); `preset=paper` does the same.

elicit                        -> explanations without labels; each scores the texts of a trial
best by Pearson correlation   -> scores the other texts too; kept, unless a rewriting is better
rewrite by the errors on one half and score the other half, and vice versa: is there a gain on held-out texts?
if so                         -> one more rewriting, by the errors on all labelled texts, is kept
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.judges.judge import Judge
from rubriclab.methods.baselines import written_steps
from rubriclab.methods.holistic import require_scores, score_all, values, with_evidence
from rubriclab.methods.method import (
    CriterionRating,
    Learned,
    LearningCalls,
    Progress,
    TrainingInput,
    cross_validated,
    scores_of,
    silent,
)
from rubriclab.methods.seeval.explain import FORM, Mistake, elicit, refine
from rubriclab.methods.seeval.settings import SEEvalSettings
from rubriclab.models.rubric import (
    Criterion,
    DroppedCriterion,
    Evidence,
    Part,
)
from rubriclab.models.text import Example
from rubriclab.stats.correlation import BoolArray, FloatArray, pearson
from rubriclab.stats.intervals import DIGITS, rounded

OUTDONE = "not asked: another explanation tracked the labels of the texts tried first better"

# Labelled texts, in whole groups, that all explanations score; only the best explanation scores the other texts too.
TRIED = 10

# Texts in the prompt of a rewriting.
SHOWN = 6

# Fewest texts in a half to evaluate a rewriting.
FEWEST_IN_HALF = 5


@dataclass(frozen=True, slots=True)
class PromptRewrite:
    """The two-fold evaluation of rewriting.

    Attributes:
        gain: mean gain in Pearson correlation on the held-out half.
        halves: the masks of the texts of each half.
        scores: each text's score by the rewriting from the other half.
        criteria: the two rewritings.
    """

    gain: float
    halves: tuple[BoolArray, BoolArray]
    scores: FloatArray
    criteria: tuple[Criterion, ...]


async def learn(
    training_input: TrainingInput,
    settings: SEEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    on_progress: Progress = silent,
) -> Learned:
    """Return the part with the explanation that SEEval keeps, and the dropped ones.

    Raises:
        JudgeError: if the judge gives no explanation, or no usable score for any labelled text.
    """
    study = _SEEvalRun(training_input, settings, judge, generator, seed, on_progress)
    return await study.run()


@dataclass(frozen=True, slots=True)
class _RatedExplanations:
    """Explanations and the texts' ratings by them, one row for each text."""

    criteria: tuple[Criterion, ...]
    ratings: tuple[tuple[CriterionRating, ...], ...]

    @property
    def matrix(self) -> FloatArray:
        """The scores, shape (texts, explanations)."""
        return scores_of(self.ratings, len(self.criteria))

    def beside(
        self, criterion: Criterion, rated: Mapping[str, CriterionRating], ids: Sequence[str]
    ) -> _RatedExplanations:
        """Return the ratings with one more explanation."""
        rows = tuple((*row, rated[name]) for row, name in zip(self.ratings, ids, strict=True))
        return _RatedExplanations((*self.criteria, criterion), rows)


@dataclass
class _SEEvalRun:
    """One run of learning."""

    training_input: TrainingInput
    settings: SEEvalSettings
    judge: Judge
    generator: Judge
    seed: int
    on_progress: Progress

    def __post_init__(self) -> None:
        self.steps = ""
        self.order, self.labels = self.training_input.in_order, self.training_input.label_array
        self.ids = tuple(example.id for example in self.order)
        self.groups = [example.group for example in self.order]

    async def run(self) -> Learned:
        table, best = await self._elicited()
        base, scores_before = table.criteria[best], table.matrix[:, best]
        dropped = self._outdone(table.criteria, best)
        trial = await self._try_rewriting(base, scores_before)
        if trial is None:
            return self._learned(base, dropped, table, self._reselected(table.matrix))
        change = f"rewriting changed the correlation on unseen texts by {trial.gain:+.2f}"
        half = f"a trial rewriting, from one half of the texts; {change}"
        dropped += tuple(DroppedCriterion(criterion=criterion, reason=half) for criterion in trial.criteria)
        final = await self._rewritten("r", base, scores_before, self.order) if trial.gain > 0 else None
        rated = await self._rated(final, self.order) if final else {}
        scores = values(rated, self.ids)
        reselected = reselect_rewriting(self._reselected(table.matrix), scores_before, trial, self.labels, self.groups)
        if final is None or np.isnan(_correlation(scores, self.labels)):
            return self._learned(base, dropped, table, reselected)
        kept = _heldout(with_evidence(final, scores, self.labels), _correlation(reselected, self.labels))
        dropped += (DroppedCriterion(criterion=base, reason=change),)
        return self._learned(kept, dropped, table.beside(kept, rated, self.ids), reselected)

    async def _elicited(self) -> tuple[_RatedExplanations, int]:
        """Return the explanations with their ratings, and the index of the best one.

        All of them score the texts of the trial; the best one scores the other texts too.
        """
        count = self.settings.explanations if self.order else 1
        assignment, settings = self.training_input.assignment, self.settings
        if settings.elicitation == "open":
            self.steps = await written_steps(assignment, settings, self.generator)
        elicited = await elicit(count, assignment, self.judge, settings, self.steps)
        criteria = tuple(self._criterion(f"e{place}", text) for place, text in enumerate(elicited, 1))
        self.on_progress(f"{len(criteria)} explanations elicited", 0.1)
        self.trial = self._trial(len(criteria))
        tried = [example for example, inside in zip(self.order, self.trial, strict=True) if inside]
        rated = [await self._rated(criterion, tried) for criterion in criteria]
        require_scores([each for scores in rated for each in scores.values()])
        best = self._chosen(np.column_stack([values(scores, self.ids) for scores in rated]), self.trial)
        rest = [example for example, inside in zip(self.order, self.trial, strict=True) if not inside]
        rated[best] |= await self._rated(criteria[best], rest) if rest else {}
        return self._table(criteria, rated), best

    def _table(
        self, criteria: Sequence[Criterion], rated: Sequence[Mapping[str, CriterionRating]]
    ) -> _RatedExplanations:
        annotated = []
        for criterion, scores in zip(criteria, rated, strict=True):
            requested = np.array([name in scores for name in self.ids], dtype=bool)
            column = values(scores, self.ids)[requested]
            annotated.append(with_evidence(criterion, column, self.labels[requested]))
        rows = (
            tuple(
                scores.get(name, CriterionRating(criterion.id, None, OUTDONE))
                for criterion, scores in zip(criteria, rated, strict=True)
            )
            for name in self.ids
        )
        return _RatedExplanations(tuple(annotated), tuple(rows))

    def _trial(self, explanations: int) -> BoolArray:
        """Return the mask of the texts that all explanations score: whole groups, or all texts with a single
        explanation."""
        if explanations < 2 or len(self.order) <= TRIED:
            return np.ones(len(self.order), dtype=bool)
        groups = sorted({example.group for example in self.order})
        random.Random(f"trial {self.seed}").shuffle(groups)
        inside = np.zeros(len(self.order), dtype=bool)
        for group in groups:
            if inside.sum() < TRIED:
                inside |= np.array([example.group == group for example in self.order])
        return inside

    def _chosen(self, matrix: FloatArray, rows: BoolArray) -> int:
        """Return the column with the highest correlation on the texts of the trial among `rows`."""
        return _best(matrix[rows & self.trial], self.labels[rows & self.trial])

    def _criterion(self, name: str, explanation: str, evidence: Evidence | None = None) -> Criterion:
        return Criterion(
            id=name,
            kind="score",
            trait=self.training_input.assignment.aspect.name,
            statement=explanation,
            evidence=evidence or Evidence(origin="prior knowledge"),
            steps=self.steps,
        )

    async def _rated(self, criterion: Criterion, examples: Sequence[Example]) -> dict[str, CriterionRating]:
        part = replace(self.training_input, examples=tuple(examples))
        rated = await score_all(part, criterion, self.judge, FORM, self.settings)
        self.on_progress(f"{len(examples)} texts scored by explanation {criterion.id}", 0.5)
        return rated

    def _reselected(self, matrix: FloatArray) -> FloatArray:
        def predict(others: np.ndarray, held_out: np.ndarray) -> FloatArray:
            column: FloatArray = matrix[held_out, self._chosen(matrix, others)]
            return column

        return cross_validated(self.groups, predict)

    async def _try_rewriting(self, base: Criterion, base_scores: FloatArray) -> PromptRewrite | None:
        """Return the evaluation of rewriting on held-out halves; `None` if it is impossible."""
        halves = self._halves()
        if not self.settings.refine or halves is None:
            return None
        gains, criteria = [], []
        scores = np.full(len(self.order), np.nan)
        for name, seen, unseen in (("r1", halves[0], halves[1]), ("r2", halves[1], halves[0])):
            rewritten = await self._rewritten(name, base, base_scores, [self.order[i] for i in seen])
            if rewritten is None:
                return None
            rewritten_scores = values(await self._rated(rewritten, [self.order[i] for i in unseen]), self.ids)
            scores[unseen] = rewritten_scores[unseen]
            before = _correlation(base_scores[unseen], self.labels[unseen])
            after = _correlation(rewritten_scores[unseen], self.labels[unseen])
            gains.append(after - before)
            criteria.append(_heldout(with_evidence(rewritten, rewritten_scores[unseen], self.labels[unseen])))
        gain = float(np.mean(gains))
        first = np.isin(np.arange(len(self.order)), halves[0])
        return None if np.isnan(gain) else PromptRewrite(gain, (first, ~first), scores, tuple(criteria))

    def _halves(self) -> tuple[list[int], list[int]] | None:
        """Return the indices of the texts in two halves without common groups; `None` if one would be too small."""
        groups = sorted({example.group for example in self.order})
        random.Random(f"halves {self.seed}").shuffle(groups)
        sizes = Counter(example.group for example in self.order)
        first, count = set[str](), 0
        for group in sorted(groups, key=lambda name: -sizes[name]):
            if count + sizes[group] <= (len(self.order) + 1) // 2:
                first.add(group)
                count += sizes[group]
        halves = [[i for i, e in enumerate(self.order) if (e.group in first) == side] for side in (True, False)]
        return None if min(map(len, halves)) < FEWEST_IN_HALF else (halves[0], halves[1])

    async def _rewritten(
        self, name: str, base: Criterion, base_scores: FloatArray, seen: Sequence[Example]
    ) -> Criterion | None:
        mistakes = self._mistakes(base_scores, {example.id for example in seen})
        if not mistakes:
            return None
        rewritten = await refine(base.statement, mistakes, self.training_input.assignment, self.generator)
        if rewritten is None:
            return None
        text, reasons = rewritten
        ids = tuple(mistake.example.id for mistake in mistakes)
        return self._criterion(name, text, Evidence(origin="labels", examples=ids, reasons=reasons, refined=1))

    def _mistakes(self, base_scores: FloatArray, seen: set[str]) -> list[Mistake]:
        """Return the texts of `seen` with the largest residuals of the regression of labels on scores.

        The differences of scores and labels would not do: a judge that is only more lenient than people ranks all texts
        correctly. Half of the texts have positive and half negative residuals, so that more than a shift can be
        learned.
        """
        places = [i for i, name in enumerate(self.ids) if name in seen and not np.isnan(base_scores[i])]
        if len(places) < 2:
            return []
        x, y = base_scores[places], self.labels[places]
        slope = float(np.cov(x, y)[0, 1] / np.var(x, ddof=1)) if np.ptp(x) else 0.0
        # With a negative slope, a reversed judge would have small residuals.
        errors = (y - y.mean() - max(slope, 0.0) * (x - x.mean())).round(DIGITS)
        ranked = sorted(range(len(places)), key=lambda i: (-abs(errors[i]), self.ids[places[i]]))
        above = [i for i in ranked if errors[i] > 0][: SHOWN // 2]
        below = [i for i in ranked if errors[i] < 0][: SHOWN // 2]
        shown = sorted((*above, *below), key=ranked.index)
        return [Mistake(self.order[places[i]], float(y[i]), float(x[i])) for i in shown]

    def _outdone(self, criteria: Sequence[Criterion], best: int) -> tuple[DroppedCriterion, ...]:
        reason = f"{criteria[best].id} tracks the labels better"
        return tuple(DroppedCriterion(criterion=each, reason=reason) for i, each in enumerate(criteria) if i != best)

    def _learned(
        self, kept: Criterion, dropped: tuple[DroppedCriterion, ...], table: _RatedExplanations, reselected: FloatArray
    ) -> Learned:
        self.on_progress("explanation chosen", 1.0)
        settings = self.settings.model_dump(mode="json")
        part = Part(method="seeval", settings=settings, criteria=(kept,), dropped=dropped)
        names = tuple(criterion.id for criterion in table.criteria)
        scores = table.matrix[:, names.index(kept.id)]
        return Learned(part, self.ids, names, table.ratings, scores, reselected, optimistic=bool(dropped))


def reselect_rewriting(
    explained: FloatArray, before: FloatArray, trial: PromptRewrite, labels: FloatArray, groups: Sequence[str]
) -> FloatArray:
    """Return cross-validated scores: those of each group by the rewriting from the other half, if it gains on the other
    groups of its own half, or else `explained`.

    The gain on the other half says nothing there: it grows with the labels of this half, which made that rewriting.

    Args:
        explained: cross-validated scores by the explanations.
        before: scores by the explanation that was rewritten.
    """

    def predict(others: BoolArray, held_out: BoolArray) -> FloatArray:
        chosen = explained.copy()
        for half in trial.halves:
            rows = others & half
            gain = _correlation(trial.scores[rows], labels[rows]) - _correlation(before[rows], labels[rows])
            # Where the other groups choose another explanation, there is no rewriting of it.
            rewritten = half & (gain > 0) & (explained == before)
            chosen[rewritten] = trial.scores[rewritten]
        return chosen[held_out]

    return cross_validated(groups, predict)


def _best(matrix: FloatArray, labels: FloatArray) -> int:
    """Return the column with the highest correlation with the labels; the first of equal ones."""
    return int(np.argmax(np.nan_to_num([_correlation(column, labels) for column in matrix.T], nan=-2.0)))


def _heldout(criterion: Criterion, pearson: float | None = None) -> Criterion:
    """Return the criterion with its correlation with held-out labels; by default that of its evidence."""
    correlation = criterion.evidence.pearson if pearson is None else rounded(pearson)
    return criterion.model_copy(update={"evidence": criterion.evidence.model_copy(update={"heldout": correlation})})


def _correlation(scores: FloatArray, labels: FloatArray) -> float:
    """Return Pearson's correlation over the texts with a score, 0 if it is undefined or of only two texts.

    NaN if less than half of the texts have a score.
    """
    judged = ~np.isnan(scores)
    if judged.sum() < len(scores) / 2:
        return np.nan
    r = pearson(scores[judged], labels[judged]) if judged.sum() > 2 else np.nan
    return 0.0 if np.isnan(r) else float(r)


def learning_calls(training_input: TrainingInput, settings: SEEvalSettings) -> LearningCalls:
    """Return the explanations, their scores of the texts that they are tried on, and the rewritings with theirs."""
    n, steps = len(training_input.examples), int(settings.elicitation == "open")
    if not n:
        return LearningCalls(1, steps, unrated=int(bool(training_input.unrated)))
    tried = min(TRIED, n)
    scores = n + tried * (settings.explanations - 1)
    # Each half is scored by the rewriting from the other half, and all texts by the last rewriting.
    scores += 2 * n if settings.refine else 0
    rewritings = 3 if settings.refine else 0
    return LearningCalls(settings.explanations + scores * settings.calls, steps + rewritings, SHOWN)

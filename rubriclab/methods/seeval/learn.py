"""SEEval's learning: several explanations, the best one rewritten where it errs, chosen by texts not seen before.

The paper elicits one explanation and names refining it as future work (section 6); `preset=paper` does just that.

elicit                        -> explanations, none of which has seen a label; each scores the texts of a trial
best by Pearson correlation   -> scores the other texts too; kept, unless a rewriting is better
rewrite from one half's errors, score the other half, and the other way round: did rewriting help on unseen texts?
if so                         -> one more rewriting, from the errors of all labelled texts, is kept
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.baselines.geval import written_steps
from rubriclab.methods.holistic import require_some, score_all, values, with_evidence
from rubriclab.methods.item_selection import BoolArray
from rubriclab.methods.method import CriterionRating, Learned, Progress, TrainingInput, left_out, scores_of, silent
from rubriclab.methods.seeval.explain import FORM, Mistake, elicit, refine
from rubriclab.methods.seeval.settings import SEEvalSettings
from rubriclab.rubric import Criterion, DroppedCriterion, Evidence, Part
from rubriclab.stats.correlation import FloatArray, pearson
from rubriclab.stats.interval import DIGITS, rounded

OUTDONE = "not asked: another explanation tracked the labels of the texts tried first better"

# Fewer texts than this in a half tell nothing about a rewriting, and neither does a single group.
FEWEST_IN_HALF = 5


@dataclass(frozen=True, slots=True)
class PromptRewrite:
    """What rewriting was found to be worth.

    Attributes:
        gain: mean gain in Pearson correlation on the half that the rewriting had not seen.
        heldout: mean Pearson correlation there.
        scores: each text's score by the rewriting that had not seen its half.
        criteria: the two rewritings, for the record.
    """

    gain: float
    heldout: float
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
    """Return the explanation that SEEval keeps, with what it was compared with.

    Raises:
        JudgeError: if the judge gives no explanation, or no usable score for any labelled text.
    """
    study = _Study(training_input, settings, judge, generator, seed, on_progress)
    return await study.run()


@dataclass(frozen=True, slots=True)
class _Table:
    """Explanations and the ratings that the texts have by them, one row for each text."""

    criteria: tuple[Criterion, ...]
    ratings: tuple[tuple[CriterionRating, ...], ...]

    @property
    def matrix(self) -> FloatArray:
        """The scores, shape (texts, explanations)."""
        return scores_of(self.ratings, len(self.criteria))

    def beside(self, criterion: Criterion, rated: Mapping[str, CriterionRating], ids: Sequence[str]) -> _Table:
        """Return the table with one more explanation."""
        rows = tuple((*row, rated[name]) for row, name in zip(self.ratings, ids, strict=True))
        return _Table((*self.criteria, criterion), rows)


@dataclass
class _Study:
    """One run of learning."""

    training_input: TrainingInput
    settings: SEEvalSettings
    judge: Judge
    generator: Judge
    seed: int
    on_progress: Progress

    def __post_init__(self) -> None:
        self.steps = ""
        self.order = tuple(sorted(self.training_input.examples, key=lambda example: example.id))
        self.ids = tuple(example.id for example in self.order)
        labels = self.training_input.labels
        self.labels = np.array([labels[name] for name in self.ids], dtype=float)

    async def run(self) -> Learned:
        table, best = await self._elicited()
        base, given = table.criteria[best], table.matrix[:, best]
        dropped = self._outdone(table.criteria, best)
        trial = await self._try_rewriting(base, given)
        if trial is None:
            return self._learned(base, dropped, table, self._reselected(table.matrix))
        change = f"rewriting changed the correlation on unseen texts by {trial.gain:+.2f}"
        half = f"a trial rewriting, from one half of the texts; {change}"
        dropped += tuple(DroppedCriterion(criterion=criterion, reason=half) for criterion in trial.criteria)
        final = await self._rewritten("r", base, given, self.order) if trial.gain > 0 else None
        rated = await self._rated(final, self.order) if final else {}
        scores = values(rated, self.ids)
        if final is None or np.isnan(_correlation(scores, self.labels)):
            return self._learned(base, dropped, table, self._reselected(table.matrix))
        kept = _heldout(with_evidence(final, scores, self.labels), trial.heldout)
        dropped += (DroppedCriterion(criterion=base, reason=change),)
        return self._learned(kept, dropped, table.beside(kept, rated, self.ids), trial.scores)

    async def _elicited(self) -> tuple[_Table, int]:
        """Return the explanations with their scores, and the place of the one that goes on.

        All of them score the texts of the trial, the best one the others too.
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
        require_some([each for scores in rated for each in scores.values()])
        best = self._chosen(np.column_stack([values(scores, self.ids) for scores in rated]), self.trial)
        rest = [example for example, inside in zip(self.order, self.trial, strict=True) if not inside]
        rated[best] |= await self._rated(criteria[best], rest) if rest else {}
        return self._table(criteria, rated), best

    def _table(self, criteria: Sequence[Criterion], rated: Sequence[Mapping[str, CriterionRating]]) -> _Table:
        found = []
        for criterion, scores in zip(criteria, rated, strict=True):
            asked = np.array([name in scores for name in self.ids], dtype=bool)
            column = values(scores, self.ids)[asked]
            found.append(with_evidence(criterion, column, self.labels[asked]))
        rows = (
            tuple(
                scores.get(name, CriterionRating(criterion.id, None, OUTDONE))
                for criterion, scores in zip(criteria, rated, strict=True)
            )
            for name in self.ids
        )
        return _Table(tuple(found), tuple(rows))

    def _trial(self, explanations: int) -> BoolArray:
        """Return which texts all explanations score: whole groups, or all texts where there is nothing to choose."""
        tried = self.settings.tried
        if explanations < 2 or not 0 < tried < len(self.order):
            return np.ones(len(self.order), dtype=bool)
        groups = sorted({example.group for example in self.order})
        random.Random(f"trial {self.seed}").shuffle(groups)
        inside = np.zeros(len(self.order), dtype=bool)
        for group in groups:
            if inside.sum() < tried:
                inside |= np.array([example.group == group for example in self.order])
        return inside

    def _chosen(self, matrix: FloatArray, rows: BoolArray) -> int:
        """Return the column that tracks the labels of these texts best, of the explanations tried."""
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
        def predict(others: np.ndarray, inside: np.ndarray) -> FloatArray:
            column: FloatArray = matrix[inside, self._chosen(matrix, others)]
            return column

        return left_out([example.group for example in self.order], predict)

    async def _try_rewriting(self, base: Criterion, given: FloatArray) -> PromptRewrite | None:
        """Return what a rewriting from one half is worth on the other; `None` if that cannot be told."""
        halves = self._halves()
        if not self.settings.refine or halves is None:
            return None
        gains, figures, criteria = [], [], []
        scores = np.full(len(self.order), np.nan)
        for name, seen, unseen in (("r1", halves[0], halves[1]), ("r2", halves[1], halves[0])):
            rewritten = await self._rewritten(name, base, given, [self.order[i] for i in seen])
            if rewritten is None:
                return None
            found = values(await self._rated(rewritten, [self.order[i] for i in unseen]), self.ids)
            scores[unseen] = found[unseen]
            before = _correlation(given[unseen], self.labels[unseen])
            after = _correlation(found[unseen], self.labels[unseen])
            gains.append(after - before)
            figures.append(after)
            criteria.append(_heldout(with_evidence(rewritten, found[unseen], self.labels[unseen])))
        gain = float(np.mean(gains))
        return None if np.isnan(gain) else PromptRewrite(gain, float(np.mean(figures)), scores, tuple(criteria))

    def _halves(self) -> tuple[list[int], list[int]] | None:
        """Return the texts' places in two halves that share no group; `None` if they would be too small."""
        groups = sorted({example.group for example in self.order})
        random.Random(f"halves {self.seed}").shuffle(groups)
        sizes = Counter(example.group for example in self.order)
        first, inside = set[str](), 0
        for group in sorted(groups, key=lambda name: -sizes[name]):
            if inside + sizes[group] <= (len(self.order) + 1) // 2:
                first.add(group)
                inside += sizes[group]
        halves = [[i for i, e in enumerate(self.order) if (e.group in first) == side] for side in (True, False)]
        return None if min(map(len, halves)) < FEWEST_IN_HALF else (halves[0], halves[1])

    async def _rewritten(
        self, name: str, base: Criterion, given: FloatArray, seen: Sequence[Example]
    ) -> Criterion | None:
        mistakes = self._mistakes(given, {example.id for example in seen})
        if not mistakes:
            return None
        text = await refine(base.statement, mistakes, self.training_input.assignment, self.generator)
        ids = tuple(mistake.example.id for mistake in mistakes)
        return self._criterion(name, text, Evidence(origin="labels", examples=ids, refined=1)) if text else None

    def _mistakes(self, given: FloatArray, seen: set[str]) -> list[Mistake]:
        """Return the texts among those `seen` that lie furthest from the line that maps the scores to the labels.

        Not those with the largest differences: a judge that is merely more lenient than people puts no text in the
        wrong order, and its explanation is not at fault. Half of them lie above the line and half below: from one side
        alone only a level could be learned.
        """
        places = [i for i, name in enumerate(self.ids) if name in seen and not np.isnan(given[i])]
        if len(places) < 2:
            return []
        x, y = given[places], self.labels[places]
        slope = float(np.cov(x, y)[0, 1] / np.var(x, ddof=1)) if np.ptp(x) else 0.0
        # A score that runs against the labels would otherwise be taken for a good one turned round.
        errors = (y - y.mean() - max(slope, 0.0) * (x - x.mean())).round(DIGITS)
        ranked = sorted(range(len(places)), key=lambda i: (-abs(errors[i]), self.ids[places[i]]))
        above = [i for i in ranked if errors[i] > 0][: -(-self.settings.shown // 2)]
        below = [i for i in ranked if errors[i] < 0][: self.settings.shown // 2]
        shown = sorted((*above, *below), key=ranked.index)
        return [Mistake(self.order[places[i]], float(y[i]), float(x[i])) for i in shown]

    def _outdone(self, criteria: Sequence[Criterion], best: int) -> tuple[DroppedCriterion, ...]:
        reason = f"{criteria[best].id} tracks the labels better"
        return tuple(DroppedCriterion(criterion=each, reason=reason) for i, each in enumerate(criteria) if i != best)

    def _learned(
        self, kept: Criterion, dropped: tuple[DroppedCriterion, ...], table: _Table, reselected: FloatArray
    ) -> Learned:
        self.on_progress("explanation chosen", 1.0)
        settings = self.settings.model_dump(mode="json")
        part = Part(method="seeval", settings=settings, criteria=(kept,), dropped=dropped)
        names = tuple(criterion.id for criterion in table.criteria)
        scores = table.matrix[:, names.index(kept.id)]
        return Learned(part, self.ids, names, table.ratings, scores, reselected, optimistic=bool(dropped))


def _best(matrix: FloatArray, labels: FloatArray) -> int:
    """Return the column that tracks the labels best; of equal ones the first, and last those with too few scores."""
    return int(np.argmax(np.nan_to_num([_correlation(column, labels) for column in matrix.T], nan=-2.0)))


def _heldout(criterion: Criterion, pearson: float | None = None) -> Criterion:
    """Return the criterion with its correlation on labels it has not seen; by default that of its evidence."""
    found = criterion.evidence.pearson if pearson is None else rounded(pearson)
    return criterion.model_copy(update={"evidence": criterion.evidence.model_copy(update={"heldout": found})})


def _correlation(scores: FloatArray, labels: FloatArray) -> float:
    """Return Pearson's correlation over the texts with a score, 0 where it is undefined or of two texts alone.

    NaN if less than half of the texts have a score: it would be a correlation of other texts.
    """
    judged = ~np.isnan(scores)
    if judged.sum() < len(scores) / 2:
        return np.nan
    r = pearson(scores[judged], labels[judged]) if judged.sum() > 2 else np.nan
    return 0.0 if np.isnan(r) else float(r)

"""The training phase as one: several methods find criteria, the labels make one rubric of them, the gate judges it.

methods                -> candidates: criteria by labelled texts, every rating with its reason, nothing asked twice
candidates + labels    -> which to keep, what they weigh, how the sum is mapped onto the raters' scale
the same, fold by fold -> scores of texts whose labels had no part: intervals, and the gate beside what costs nothing
all of it              -> a rubric of plain numbers, its provenance, and a record of what was seen
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rubriclab.aggregation import Aggregation, Ask, Conformal, Term
from rubriclab.data.assignment import Assignment
from rubriclab.errors import JudgeError, SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.learning.baselines import SURFACE, best_measure, measure_values
from rubriclab.learning.calibration import bounds, conformal
from rubriclab.learning.candidates import (
    Candidates,
    Plan,
    find_candidates,
    joining,
    learning_at_most,
)
from rubriclab.learning.contributions import added, frontier, noise
from rubriclab.learning.cross_validation import CrossValidatedScores, allowed_columns, offered, relearned, reweighed
from rubriclab.learning.feature_selection import DroppedColumn
from rubriclab.learning.fitting import Fit
from rubriclab.learning.gate import CONFIDENCE, validation
from rubriclab.learning.jackknife import agreement_errors, fisher_interval
from rubriclab.learning.raters import raters
from rubriclab.learning.rating_matrix import RatingMatrix
from rubriclab.learning.selection_path import SelectionPath, chosen_shares, climb
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.shortcuts import shortcuts
from rubriclab.learning.single_call import asked_in_one_call
from rubriclab.learning.single_method import Trained, origins, recorded_texts, training_agreement
from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.method import Progress, silent
from rubriclab.methods.names import JOINT
from rubriclab.methods.single_call import TEMPLATE
from rubriclab.option_names import option
from rubriclab.prompts import prompts_digest
from rubriclab.provenance import Provenance, TrainingAgreement
from rubriclab.rubric import Rubric
from rubriclab.stats.correlation import FloatArray, pearson
from rubriclab.stats.interval import DIGITS
from rubriclab.stats.levels import Level
from rubriclab.training_record import TrainingRecord
from rubriclab.validation import EvaluatorAgreement, Validation

# What part of the work is done when the methods have found and rated their criteria.
FOUND = 0.95


async def train(
    plans: Sequence[Plan],
    settings: JointSettings,
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    model_versions: Callable[[], Sequence[str]] = tuple,
    on_progress: Progress = silent,
) -> Trained:
    """Return one rubric of the criteria that the methods of `plans` find, with its validation.

    Only `model_versions` depends on when and in how many runs the replies came: the same plans, settings, seed and
    replies give the same rubric, provenance and record.

    Raises:
        DataError: if there are no labelled texts.
        SettingsError: if a setting leaves nothing to choose from.
        JudgeError: if a method could learn nothing, or no criterion distinguishes any two labelled texts.
    """
    _check(plans, settings)
    assignment = plans[0].training_input.assignment
    candidates = await find_candidates(
        plans,
        judge=judge,
        generator=generator,
        seed=seed,
        ask=settings.ask,
        on_progress=lambda doing, share: on_progress(doing, FOUND * share),
    )
    candidates, note = await _rated_together(candidates, assignment, settings, judge, on_progress)
    study = _Study(candidates, assignment, settings, seed)
    study.notes.extend(note)
    if settings.relearned > 1:
        study.unseen = await relearned(
            plans, settings, judge=judge, generator=generator, seed=seed, on_progress=on_progress
        )
    on_progress(f"{len(candidates.candidates)} criteria to choose from", FOUND)
    rubric = study.rubric()
    on_progress(f"{len(rubric.criteria)} of {len(candidates.candidates)} criteria kept", 1.0)
    provenance = Provenance(
        **origins(candidates.examples, assignment.aspect.name, judge, generator, model_versions()),
        settings=_settings(plans, settings),
        prompts=prompts_digest(sorted({name for plan in plans for name in plan.method.prompts} | {TEMPLATE})),
        seed=seed,
        agreement=study.agreement,
        baseline=best_measure(candidates.examples, assignment.aspect.name),
        validation=study.validation,
    )
    return Trained(rubric, provenance, (*candidates.notes, *study.notes), study.record(rubric))


def at_most(plans: Sequence[Plan], settings: JointSettings) -> tuple[CallEstimate, CallEstimate]:
    """Return the most that a joint training asks of the judge, and of the generator."""
    _check(plans, settings)
    judge, generator = learning_at_most(plans, settings.ask)
    if settings.relearned > 1:
        # Every training but the last leaves texts out, which it rates afterwards by what it found: at most as often as
        # learning rates them.
        judge, generator = judge * (settings.relearned + 2), generator * (settings.relearned + 1)
    if settings.ask == "in one call" or (settings.ask == "chosen" and len(joining(plans)) > 1):
        # One more round shows every candidate once for each text; their number is bounded by what the methods ask.
        judge = judge + _one_round(plans, judge)
    return judge, generator


async def _rated_together(
    candidates: Candidates, assignment: Assignment, settings: JointSettings, judge: Judge, on_progress: Progress
) -> tuple[Candidates, tuple[str, ...]]:
    """Return the candidates with their ratings in one call, where the settings may have use for these."""
    joined = {candidates.candidates[place].method for place in candidates.joined}
    if settings.ask == "by method" or (settings.ask == "chosen" and len(joined) < 2):
        return candidates, ()
    on_progress(f"{len(candidates.examples)} texts to rate by all criteria in one call", FOUND)
    try:
        return await asked_in_one_call(candidates, assignment, judge), ()
    except JudgeError as error:
        if settings.ask == "in one call":
            raise
        return candidates, (f"rubrics that ask everything in one call were not tried: {error}",)


def _check(plans: Sequence[Plan], settings: JointSettings) -> None:
    """Return if the settings leave something to learn, as far as that can be told before anything is paid for."""
    free = any(plan.method.name == "surface" for plan in plans)
    if 0 < settings.calls_per_text < 1 and not free:
        raise SettingsError(
            f"No criterion can be asked for in {settings.calls_per_text:g} calls per text;",
            f"allow one at least, or add measures, which cost none: {option('surface', 'include')}.",
        )
    if settings.calibration == "none" and free:
        raise SettingsError(
            "Calibration `none` is the mean of what the judge said, which surface measures have no part in;",
            "choose another calibration, or leave the measures out.",
        )


def _one_round(plans: Sequence[Plan], judge: CallEstimate) -> CallEstimate:
    """Return the most that one call for each text takes: at worst as long as all calls about it together."""
    return CallEstimate(len(plans[0].training_input.examples), judge.prompt_tokens, judge.completion_tokens)


def _settings(plans: Sequence[Plan], settings: JointSettings) -> Mapping[str, Mapping[str, Any]]:
    methods: dict[str, Mapping[str, Any]] = {plan.method.name: plan.settings.model_dump(mode="json") for plan in plans}
    return {**methods, "joint": settings.model_dump(mode="json")}


@dataclass
class _Study:
    """The candidates before the labels."""

    candidates: Candidates
    assignment: Assignment
    settings: JointSettings
    seed: int

    def __post_init__(self) -> None:
        self.notes: list[str] = []
        self.every = self.candidates.table(self.assignment, "by method")
        self.surface = measure_values(self.candidates.examples, SURFACE)
        self.calls = self.candidates.calls_every_way(self.assignment)

    @cached_property
    def columns(self) -> list[int]:
        """The candidates that may enter the rubric."""
        allowed = allowed_columns(self.every, self.surface, self.settings, self.seed)
        if self.settings.no_shortcuts:
            left = [name for place, name in enumerate(self.candidates.ids) if place not in allowed]
            self.notes.append(
                f"left out, as they follow a shortcut more than the raters do: {', '.join(left) or 'none'}"
            )
        return allowed

    @cached_property
    def table(self) -> RatingMatrix:
        """What may enter the rubric, as numbers."""
        return offered(self.candidates, self.assignment, self.settings, self.columns)

    @cached_property
    def ids(self) -> list[str]:
        """The names of the table's columns."""
        return [self.candidates.ids[place] for place in self.table.places]

    @cached_property
    def ladder(self) -> SelectionPath:
        """All candidate rubrics, and the one that is kept."""
        return climb(self.table, self.settings, self.calls, seed=self.seed)

    @property
    def ask(self) -> Ask:
        """How the rubric that is kept asks."""
        return self.ladder.steps[self.ladder.kept].rung.ask

    @cached_property
    def fit(self) -> Fit:
        """The rubric's numbers."""
        fit = self.ladder.fit
        if not fit.columns:
            raise JudgeError(
                "No criterion distinguishes any two of the labelled texts, so there is nothing to weigh.",
                f"Try another {option('judge')}, or other methods.",
            )
        return fit

    @cached_property
    def unseen(self) -> CrossValidatedScores:
        """Each text by those who have not seen its group's labels."""
        return reweighed(self.ladder, self.table, self.every, self.settings, self.seed)

    @cached_property
    def fitted(self) -> FloatArray:
        """Each text by the rubric itself."""
        return self.fit.scores(self.table.values, self.assignment.scale)

    @cached_property
    def conformal(self) -> Conformal | None:
        """Where intervals of single texts come from."""
        return conformal(self.unseen.scores, self.table.labels, self.unseen.hardness, float(self.settings.confidence))

    def rubric(self) -> Rubric:
        """Return the parts that are left, and how they come to one score."""
        terms = _terms(self.fit, self.ids, chosen_shares(self.ladder, self.table))
        aggregation = Aggregation(ask=self.ask, terms=terms, calibration=self.fit.calibration, conformal=self.conformal)
        parts = self.candidates.parts_with([term.criterion for term in terms], self._reasons())
        task, aspect, scale = self.assignment.words.task, self.assignment.aspect, self.assignment.scale
        return Rubric(task=task, aspect=aspect, scale=scale, parts=parts, aggregation=aggregation)

    def _reasons(self) -> dict[str, str]:
        """Return why each candidate that is not in the rubric is not."""
        left = dict.fromkeys(self.candidates.ids, "follows a shortcut more than the raters do")
        kept = {self.ids[place] for place in self.fit.columns}
        known: dict[str, DroppedColumn] = {}
        for place, reason in self.fit.dropped.items():
            # Of a candidate rated both ways, why the rubric's own way of asking does without it tells more.
            if known.get(self.ids[place], reason).why == "not asked":
                known[self.ids[place]] = reason
            left.pop(self.ids[place], None)
        return {**left, **{name: why.words(self.ids) for name, why in known.items() if name not in kept}}

    @cached_property
    def validation(self) -> Validation:
        """What the gate says."""
        alone = {part.method: [each.id for each in part.criteria] for part in self.candidates.parts}
        kept = [self.ids[place] for place in self.fit.columns]
        result = validation(
            self.every,
            self.surface,
            self.unseen.raw,
            self.fit.raw(self.table.values),
            self.unseen.fold,
            alone=self.unseen.alone,
            calls={
                JOINT: self._calls(kept, self.ask),
                **{name: self._calls(ids, "by method") for name, ids in alone.items()},
            },
            frontier=frontier(self.ladder, self.table, seed=self.seed),
            added=added(self.ladder, self.table, seed=self.seed),
            shortcuts=shortcuts(self.every, self.candidates.ids, self.surface, self.unseen.raw, seed=self.seed),
            raters=raters(self.candidates.examples, self.assignment, self.unseen.scores, seed=self.seed),
            forgone=self._forgone(),
            noise=noise(self.ladder, self.table, self.settings, seed=self.seed),
            seed=self.seed,
        )
        joint, *others = result.evaluators
        return result.model_copy(update={"evaluators": (self._refitted(joint, result.level), *others)})

    def _refitted(self, own: EvaluatorAgreement, level: Level) -> EvaluatorAgreement:
        """Return the rubric's standing with intervals that know of the learning too, not only of the texts drawn."""
        errors = agreement_errors(self.table, self.ladder.held_out, level=level, seed=self.seed)
        intervals = {
            name: fisher_interval(figure.value, errors[name], CONFIDENCE)
            for name, figure in (("spearman", own.spearman), ("pearson", own.pearson))
        }
        return own.model_copy(update={name: each.rounded() for name, each in intervals.items()})

    @property
    def agreement(self) -> TrainingAgreement:
        """How well the rubric agrees with the labels that it was fitted to, and without each group's own."""
        labels, groups = self.table.labels, self.table.groups
        result = training_agreement(self.fitted, self.unseen.raw, labels, groups)
        # The same figure as the gate's has the same interval.
        same = {"reselected": self.validation.evaluators[0].spearman} if self.validation.level == "dataset" else {}
        return result.model_copy(update=same)

    def _calls(self, kept: Sequence[str], ask: Ask) -> float:
        bundles = {
            bundle
            for name, bundle in zip(self.candidates.ids, self.candidates.bundles(ask), strict=True)
            if name in kept
        }
        return sum(self.calls.get(bundle, 1.0) for bundle in bundles if bundle)

    def _forgone(self) -> float | None:
        """Return what leaving out shortcuts cost in correlation."""
        if len(self.columns) == len(self.candidates.ids):
            return None
        every = offered(self.candidates, self.assignment, self.settings, range(len(self.candidates.ids)))
        everything = climb(every, self.settings, self.calls, seed=self.seed).held_out.raw
        labels = self.table.labels
        return round(_correlation(everything, labels) - _correlation(self.ladder.held_out.raw, labels), DIGITS)

    def record(self, rubric: Rubric) -> TrainingRecord:
        """Return what was seen and found, text by text."""
        aspect = self.assignment.aspect.name
        low, high = bounds(self.unseen.scores, self.unseen.hardness, self.conformal, self.assignment.scale)
        texts = recorded_texts(self.candidates.examples, aspect, self.unseen.scores, low, high)
        kept = {criterion.id for criterion in rubric.criteria}
        return TrainingRecord(
            texts=texts, candidates=self.candidates.marked(kept), cells=self.candidates.rated(self.ask)
        )


def _terms(fitted: Fit, ids: Sequence[str], selected: FloatArray) -> tuple[Term, ...]:
    columns = (fitted.weights, fitted.centers, fitted.spreads, fitted.low, fitted.high, selected)
    rows = zip(fitted.columns, *(column.tolist() for column in columns), strict=True)
    return tuple(
        Term(
            criterion=ids[place],
            weight=weight,
            center=center,
            spread=spread,
            low=round(low, DIGITS),
            high=round(high, DIGITS),
            selected=round(chosen, DIGITS),
        )
        for place, weight, center, spread, low, high, chosen in rows
    )


def _correlation(scores: FloatArray, labels: FloatArray) -> float:
    there = ~np.isnan(scores)
    r = pearson(scores[there], labels[there]) if there.sum() > 1 else np.nan
    return 0.0 if np.isnan(r) else r

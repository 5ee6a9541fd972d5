"""HypoEval's learning (section 2): from labelled texts and literature to a few hypotheses about the raters.

first texts + literature -> first hypotheses, which rate the first texts
every further text       -> rated by the top k; if most of them are wrong, it enters the wrong bank
full wrong bank          -> new hypotheses from it, refined by literature (in the paper by the wrong bank and
                            literature in turn); redundant ones are dropped, and then the worst
literature alone         -> more hypotheses
union                    -> redundant ones dropped; all rate all texts; the best by Pearson correlation are kept

Where another step has the texts rated, together with the criteria of other methods, only the first hypotheses and those
from literature are proposed here; `extend` adds those from texts whose ratings are wrong.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.errors import DataError, JudgeError, SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.methods.deduplication import MOST_SHOWN, find_redundant
from rubriclab.methods.hypoeval.bank import (
    Bank,
    final_bank,
    hopeless,
    predictions,
    reselected,
    select,
    tolerance,
    utility,
    wrong_needed,
)
from rubriclab.methods.hypoeval.propose import Prediction, ProposalContext, predicted, propose, refine
from rubriclab.methods.hypoeval.score import RatingTable, rate
from rubriclab.methods.hypoeval.settings import HypoEvalSettings
from rubriclab.methods.literature import Finding
from rubriclab.methods.method import Learned, LearningCalls, Progress, TrainingInput, silent
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.text import Assignment, Example
from rubriclab.option_names import RUN_AGAIN, option
from rubriclab.stats.correlation import FloatArray, floats, label_correlations
from rubriclab.stats.intervals import rounded

# Shares of the texts that are rated in each round; after each but the last, hopeless hypotheses are dropped.
ROUNDS = (0.25, 0.5, 1.0)


async def learn(
    training_input: TrainingInput,
    settings: HypoEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    on_progress: Progress = silent,
) -> Learned:
    """Return the part with the hypotheses that HypoEval keeps, and the dropped ones.

    The result does not depend on the order of the examples. Without examples to rate, the first hypotheses in the
    generator's order are kept.

    Raises:
        DataError: if hypotheses come from labels, and there are none.
        SettingsError: if they come from literature alone, and there are no findings.
        JudgeError: if no hypothesis, or none with ratings of half of the texts, could be obtained.
    """
    assignment, findings = training_input.assignment, training_input.findings
    _check(training_input, settings)
    order, shown = list(training_input.in_order), sorted(training_input.shown, key=lambda example: example.id)
    for texts in (order, shown):
        random.Random(seed).shuffle(texts)
    used = tuple(findings) if settings.sources in ("labels and literature", "literature") else ()
    study = _HypoEvalRun(
        tuple(order),
        tuple(shown[: settings.initial_examples]),
        assignment,
        judge,
        generator,
        used,
        settings,
        random.Random(f"union {seed}"),
        on_progress,
    )
    await study.propose_all()
    await study.remove_redundant()
    if study.order:
        await study.rate_bank()
    return await study.conclude()


def _check(training_input: TrainingInput, settings: HypoEvalSettings) -> None:
    if "labels" in settings.sources and not training_input.shown:
        raise DataError(
            "hypoeval learns from labelled texts, and there are none.",
            "Without any, set its sources to 'literature' or 'prior knowledge'.",
        )
    if settings.sources == "literature" and not training_input.findings:
        raise SettingsError(
            "Hypotheses from literature alone need findings, and there are none for "
            f"{training_input.assignment.words.task!r}.",
            f"Give your own with {option('literature', 'PATH')}.",
        )


@dataclass
class _HypoEvalRun:
    """One run of learning: the bank, the ratings, and the steps in order."""

    order: tuple[Example, ...]
    first: tuple[Example, ...]
    assignment: Assignment
    judge: Judge
    generator: Judge
    findings: tuple[Finding, ...]
    settings: HypoEvalSettings
    random: random.Random
    on_progress: Progress

    def __post_init__(self) -> None:
        self.bank = Bank(self.settings)
        self.ratings = RatingTable(self.assignment, self.judge, self.settings.ask)
        self.labels = {example.id: example.scores[self.assignment.aspect.name] for example in self.order}
        self._improved = self.settings.procedure == "improved"
        self.failures: list[str] = []
        self.notes: list[str] = []

    async def propose_all(self) -> None:
        """Fill the bank from the sources that the settings name."""
        settings = self.settings
        if settings.sources == "prior knowledge":
            await self._propose(settings.selected, ProposalContext())
        if "labels" in settings.sources:
            await self._run_bandit()
        if self.findings:
            await self._add_from_literature()
        if not self.bank.alive:
            raise JudgeError(f"No hypothesis could be obtained: {self.failures[-1]}")

    async def remove_redundant(self) -> None:
        """Drop redundant hypotheses, and reduce the bank to its size."""
        # Hypotheses from prior knowledge are in one reply to a prompt that forbids repetitions.
        if self.settings.sources != "prior knowledge":
            for bank in self._banks():
                await self._drop_redundant(bank, MOST_SHOWN if self._improved else 2)
        self._cut_union()
        self.on_progress(f"{len(self.bank.alive)} hypotheses without redundant ones", 0.5)

    async def _drop_redundant(self, tiers: Sequence[Sequence[Criterion]], most_shown: int = MOST_SHOWN) -> None:
        redundant, notes = await find_redundant(tiers, "hypothesis", self.assignment, self.judge, most_shown=most_shown)
        self.notes += notes
        for name, reason in redundant.items():
            self.bank.drop(name, reason)

    def _banks(self) -> list[list[list[Criterion]]]:
        """Return the banks in which hypotheses are compared, each as tiers in order of preference.

        Hypotheses that were rated are ranked by rewards; those from literature only by their wording.
        """
        preferred = self._by_preference(self.bank.alive)
        tried = [[each] for each in preferred if not self._is_literature(each)]
        untried = [each for each in preferred if self._is_literature(each)]
        if self._improved:
            return [[*tried, untried]]
        return [tried, [[each] for each in untried]]

    async def rate_bank(self) -> None:
        """Rate all texts by the whole bank, in rounds after which hopeless hypotheses are dropped."""
        for rounds_left, share in zip(reversed(range(len(ROUNDS))), ROUNDS, strict=True):
            end = round(share * len(self.order))
            await self.ratings.fill(self.bank.alive, self.order[:end])
            if self.settings.drop_hopeless and rounds_left:
                self._drop_hopeless(end, rounds_left)
            doing = f"{end} of {len(self.order)} texts rated by {len(self.bank.alive)} hypotheses"
            self.on_progress(doing, 0.5 + 0.5 * share)

    async def conclude(self) -> Learned:
        """Return the selected hypotheses with their evidence."""
        candidates = tuple(criterion.id for criterion in self.bank.alive)
        ids = tuple(example.id for example in self.order)
        matrix = self.ratings.matrix(candidates, ids)
        labels = np.array([self.labels[name] for name in ids])
        selected = self._chosen(candidates, matrix, labels)
        self._annotate(ids)
        kept = tuple(self.bank.get(name) for name in selected)
        best = f"{self.settings.selected} that track the labels best" if ids else f"first {self.settings.selected}"
        for name in candidates:
            if name not in selected:
                self.bank.drop(name, f"not among the {best}")
        part = Part(
            method="hypoeval",
            settings=self.settings.model_dump(mode="json"),
            criteria=kept,
            dropped=self.bank.dropped(),
        )
        scores = await self._scores(kept, matrix, candidates)
        groups = [example.group for example in self.order]
        ratings = self.ratings.rows(candidates, ids)
        reselected_scores = reselected(matrix, labels, groups, self.settings)
        return Learned(part, ids, candidates, ratings, scores, reselected_scores, notes=tuple(self.notes))

    def _chosen(self, candidates: tuple[str, ...], matrix: FloatArray, labels: FloatArray) -> tuple[str, ...]:
        """Return the selected candidates; without labels the first in the generator's order of importance."""
        if not self.order:
            return candidates[: self.settings.selected]
        if np.isnan(matrix).all():
            raise JudgeError(
                "The judge gave no usable rating for any training text.", f"Try another {option('judge')}."
            )
        chosen = tuple(candidates[column] for column in select(matrix, labels, self.settings))
        if not chosen:
            raise JudgeError(
                f"No hypothesis was rated on at least half of the {len(self.order)} texts.",
                f"{RUN_AGAIN}, with {option('retry_failed')}.",
            )
        return chosen

    async def _scores(self, kept: Sequence[Criterion], matrix: FloatArray, candidates: Sequence[str]) -> FloatArray:
        if self.settings.ask != "concatenated":
            return predictions(matrix, [candidates.index(criterion.id) for criterion in kept])
        requests = (rate(example, kept, self.assignment, self.judge, "concatenated") for example in self.order)
        return floats(overall.score for (overall,) in await asyncio.gather(*requests))

    async def _run_bandit(self) -> None:
        settings, total, first = self.settings, len(self.order), self.first
        await self._propose(
            settings.initial_hypotheses, ProposalContext(first, self.findings), visit=first if total else ()
        )
        self.bank.trim(settings.bank_size, len(first))
        wrong: dict[str, tuple[Example, tuple[Prediction, ...]]] = {}
        for step in range(len(first) + 1, total + 1):
            example = self.order[step - 1]
            top = self.bank.top(settings.k, step - 1)
            await self._visit(top, [example], step)
            predicted = self._predicted(example, top)
            missed = sum(each.verdict != "close" for each in predicted)
            if missed >= max(1, wrong_needed(len(top), step, total)):
                wrong[example.id] = (example, predicted)
            if len(wrong) >= settings.wrong_bank:
                await self._propose_from_wrong(wrong, top, step)
                wrong = {}
            self.on_progress(
                f"{step} of {total} labelled texts seen, {len(self.bank.alive)} hypotheses", 0.5 * step / total
            )

    async def _propose(self, count: int, material: ProposalContext, visit: Sequence[Example] = ()) -> None:
        await self._visit(self.bank.add(await self._proposed(count, material)), visit, len(visit))

    async def _proposed(self, count: int, material: ProposalContext) -> tuple[Criterion, ...]:
        new, failure = await propose(count, material, self.assignment, self.generator)
        if failure:
            self.failures.append(failure)
        return new

    async def _propose_from_wrong(
        self, wrong: Mapping[str, tuple[Example, tuple[Prediction, ...]]], top: Sequence[Criterion], step: int
    ) -> None:
        settings = self.settings
        texts = tuple(text for text, _ in wrong.values())
        material = ProposalContext(texts)
        if self._improved:
            predictions = {name: predicted for name, (_, predicted) in wrong.items()}
            close = tolerance(settings.theta, self.assignment.scale)
            material = ProposalContext(texts, (), self._known, predictions, close)
        new = await self._proposed(settings.new_hypotheses, material)
        if not new:
            return
        # The generator has just seen these texts: a turn without material is skipped.
        again = ProposalContext() if self._improved else material
        turns = (again, ProposalContext(findings=self.findings, known=self._known))
        new = await self._refined(new, turns[::-1] if settings.procedure == "published" else turns)
        added = await self._without_repetitions(self.bank.add(new))
        await self._visit(added, texts, step)
        if settings.procedure == "paper":
            self.bank.keep_only((*top, *added))
        self.bank.trim(settings.bank_size, step)

    async def _without_repetitions(self, added: Sequence[Criterion]) -> tuple[Criterion, ...]:
        """Return the added hypotheses that are not redundant; the others are dropped.

        Earlier hypotheses have ratings and are preferred to new ones.
        """
        if self._improved:
            names = {criterion.id for criterion in added}
            known = [[each] for each in self._by_preference(self.bank.alive) if each.id not in names]
            await self._drop_redundant([*known, added])
        left = {criterion.id for criterion in self.bank.alive}
        return tuple(criterion for criterion in added if criterion.id in left)

    async def _refined(self, new: tuple[Criterion, ...], materials: Sequence[ProposalContext]) -> tuple[Criterion, ...]:
        unchanged = 0
        for number in range(self.settings.refine_rounds):
            material, before = materials[number % len(materials)], new
            if material.examples or material.findings:
                new = await refine(before, material, self.assignment, self.generator)
            unchanged = unchanged + 1 if new is before else 0
            if unchanged == len(materials):  # every further round would repeat a request
                break
        return new

    async def _add_from_literature(self) -> None:
        await self._propose(self.settings.from_literature, ProposalContext(findings=self.findings, known=self._known))

    @property
    def _known(self) -> tuple[Criterion, ...]:
        """The hypotheses that a proposal must not repeat: the bank, which the paper and its code do not show."""
        return self.bank.alive if self._improved else ()

    async def _visit(self, criteria: Sequence[Criterion], examples: Sequence[Example], step: int) -> None:
        await self.ratings.fill(criteria, examples)
        for example in examples:
            for criterion in criteria:
                rating = self.ratings.get(criterion.id, example.id).score
                gain = None if rating is None else utility(rating, self.labels[example.id], self.assignment.scale)
                self.bank.visit(criterion.id, gain, step)

    def _predicted(self, example: Example, top: Sequence[Criterion]) -> tuple[Prediction, ...]:
        scores = {each.id: self.ratings.get(each.id, example.id).score for each in top}
        return predicted(top, scores, self.labels[example.id], self.settings.theta, self.assignment.scale)

    def _is_literature(self, criterion: Criterion) -> bool:
        return criterion.evidence.origin == "literature"

    def _by_preference(self, criteria: Sequence[Criterion]) -> list[Criterion]:
        """Return the rated hypotheses by reward or accuracy, then those from literature in the generator's order."""
        by_accuracy = self.settings.procedure == "published"
        ranked = self.bank.most_accurate() if by_accuracy else self.bank.top(len(criteria), len(self.order))
        rank = {c.id: place for place, c in enumerate(ranked)}
        return sorted(criteria, key=lambda c: (0, rank[c.id]) if not self._is_literature(c) else (1, 0))

    def _cut_union(self) -> None:
        size, preferred = self.settings.bank_size, self._by_preference(self.bank.alive)
        literature = [c for c in preferred if self._is_literature(c)]
        learned = [c for c in preferred if not self._is_literature(c)]
        kept = {c.id for c in final_bank(learned, literature, size, self.settings.procedure, self.random)}
        for criterion in preferred:
            if criterion.id not in kept:
                self.bank.drop(criterion.id, f"no place in the final bank of {size}")

    def _drop_hopeless(self, rated: int, rounds_left: int) -> None:
        # All ratings count: hypotheses from the bandit have some of later texts too.
        names = [criterion.id for criterion in self.bank.alive]
        matrix = self.ratings.matrix(names, [example.id for example in self.order])
        labels = np.array([self.labels[example.id] for example in self.order])
        for column in hopeless(matrix, labels, rounds_left, self.settings):
            self.bank.drop(names[column], f"tracked the labels too little when {rated} texts were rated by the bank")

    def _annotate(self, ids: Sequence[str]) -> None:
        place = {name: number for number, name in enumerate(ids)}
        for criterion in self.bank.every_id():
            # Most hypotheses were dropped early and have few ratings.
            ratings = self.ratings.of(criterion)
            rated = [name for name in sorted(ratings, key=lambda name: place[name]) if ratings[name].score is not None]
            scores = np.array([[ratings[name].score] for name in rated], dtype=float).reshape(len(rated), 1)
            r = label_correlations(scores, np.array([self.labels[name] for name in rated], dtype=float))
            self.bank.annotate(criterion, rounded(float(r[0])), len(rated), len(ratings) - len(rated))


def learning_calls(training_input: TrainingInput, settings: HypoEvalSettings) -> LearningCalls:
    """Return the calls for ratings, redundancy and proposals, with new hypotheses as often as the texts allow."""
    n, from_labels = len(training_input.examples), "labels" in settings.sources
    later = bool(training_input.unrated)
    refills = max(0, n - settings.initial_examples) // settings.wrong_bank if from_labels else 0
    # What another step has rated is extended once.
    refills += later and from_labels
    first = {"prior knowledge": settings.selected, "literature": 0}.get(settings.sources, settings.initial_hypotheses)
    with_literature = bool(training_input.findings) and "literature" in settings.sources
    hypotheses = first + refills * settings.new_hypotheses + with_literature * settings.from_literature
    ratings = 2 * n + refills * settings.wrong_bank if settings.ask == "together" else hypotheses * n
    overall = n if settings.ask == "concatenated" else 0
    comparisons = 1 + refills if settings.procedure == "improved" else hypotheses * (hypotheses - 1) // 2
    redundancy = 0 if settings.sources == "prior knowledge" else comparisons
    rounds = settings.refine_rounds
    if settings.procedure == "improved":
        rounds = with_literature * rounds // 2
    proposals = bool(first) + with_literature + refills * (1 if later else 1 + rounds)
    return LearningCalls(
        (0 if later else ratings + overall) + redundancy,
        proposals,
        settings.initial_examples if from_labels else 0,
        hypotheses if later else 0,
    )

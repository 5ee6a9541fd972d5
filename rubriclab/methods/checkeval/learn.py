"""CheckEval's learning (section 3): from the seed questions of a checklist to those that are put to texts.

seeds                  -> other sides of each sub-dimension, finer points of each seed, independently of one another
pool                   -> the model takes out what is misaligned, of another aspect, redundant or badly worded
labelled texts, if any -> every question answered for every text, once; the labels take out and weigh questions
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rubriclab.data.example import Example
from rubriclab.errors import ChecklistError, JudgeError, SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.answer import Answered, answers
from rubriclab.methods.checkeval.augment import augmented
from rubriclab.methods.checkeval.filtering import Filtered, filtered
from rubriclab.methods.checkeval.score import rated, text_score
from rubriclab.methods.checkeval.seeds import starting_questions
from rubriclab.methods.checkeval.settings import CheckEvalSettings
from rubriclab.methods.item_selection import BoolArray, Chosen, Sheet, choose
from rubriclab.methods.method import CriterionRating, Learned, Progress, TrainingInput, left_out, scores_of, silent
from rubriclab.option_names import option
from rubriclab.rubric import Criterion, DroppedCriterion, Part
from rubriclab.stats.correlation import FloatArray, label_correlations
from rubriclab.stats.interval import rounded

AUGMENTED, FILTERED = 0.2, 0.4


async def learn(
    training_input: TrainingInput,
    settings: CheckEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
    on_progress: Progress = silent,
    **_unused: Any,
) -> Learned:
    """Return the questions that CheckEval keeps, with what was made of the others.

    The same lesson with the same replies gives the same result, in whatever order its examples come; nothing is drawn
    by lot. `on_progress` is told of progress; the result's notes tell what went wrong or was overruled.

    Raises:
        ChecklistError: if there are no seed questions.
        SettingsError: if a setting needs labelled texts, and there are none.
        JudgeError: if no question could be made, or none was answered for any labelled text.
    """
    _check(training_input, settings)
    checklist = await starting_questions(training_input, settings, generator)
    pool = await augmented(checklist, training_input.assignment, generator, settings)
    on_progress(f"{len(pool.questions)} questions", AUGMENTED)
    found = await filtered(pool.questions, checklist, training_input.assignment, generator, settings)
    on_progress(f"{len(found.kept)} questions to ask", FILTERED)
    dimensions = {sub.name: sub.definition for sub in checklist.sub_dimensions}
    learned = await _Study(training_input, settings, found, dimensions, judge, on_progress).run()
    return replace(learned, notes=(*pool.failures, *found.notes, *learned.notes))


@dataclass
class _Study:
    """The questions before the labelled texts."""

    training_input: TrainingInput
    settings: CheckEvalSettings
    filtered: Filtered
    dimensions: Mapping[str, str]
    judge: Judge
    on_progress: Progress

    def __post_init__(self) -> None:
        self.texts = tuple(sorted(self.training_input.examples, key=lambda example: example.id))
        labels = self.training_input.labels
        self.labels = np.array([labels[text.id] for text in self.texts], dtype=float)

    async def run(self) -> Learned:
        questions, settings = self.filtered.kept, self.settings
        given = await self._answers()
        ratings = [{each.id: rated(each, said[each.id], settings.combine) for each in questions} for said in given]
        sheet = Sheet(*_arrays(questions, ratings), self.labels)
        if self.texts:
            questions = tuple(_with_evidence(each, given, ratings, self.labels) for each in questions)
        chosen = choose(questions, sheet, settings)
        self.on_progress(f"{len(chosen.questions)} questions kept", 1.0)
        part = Part(
            method="checkeval",
            settings=settings.model_dump(mode="json"),
            criteria=chosen.questions,
            dropped=(*self.filtered.dropped, *_left(questions, chosen)),
            dimensions=self.dimensions,
        )
        ids, candidates = tuple(text.id for text in self.texts), tuple(question.id for question in questions)
        rows, scores = _rows(questions, ratings), self._scores(chosen, ratings)
        if not self.texts or not _by_labels(settings):
            return Learned(part, ids, candidates, rows, scores, scores, optimistic=False, notes=chosen.notes)
        reselected = self._reselected(questions, sheet, ratings)
        return Learned(part, ids, candidates, rows, scores, reselected, notes=chosen.notes)

    async def _answers(self) -> list[dict[str, tuple[Answered, ...]]]:
        """Return the answers to all questions about each text."""
        done = 0

        async def one(text: Example) -> dict[str, tuple[Answered, ...]]:
            nonlocal done
            found = await self._ask(text)
            done += 1
            self.on_progress(
                f"{done} of {len(self.texts)} texts answered", FILTERED + (1 - FILTERED) * done / len(self.texts)
            )
            return found

        found = await asyncio.gather(*(one(text) for text in self.texts))
        given = [each for answered in found for said in answered.values() for each in said]
        if given and all(each.answer is None for each in given):
            reason = f"The judge gave no usable answer for any training text: {given[0].reason}"
            raise JudgeError(reason, f"Try another {option('judge')}.")
        return found

    async def _ask(self, text: Example) -> dict[str, tuple[Answered, ...]]:
        assignment = self.training_input.assignment
        return await answers(text, self.filtered.kept, self.dimensions, assignment, self.judge, settings=self.settings)

    def _scores(self, chosen: Chosen, ratings: Sequence[Mapping[str, CriterionRating]]) -> FloatArray:
        """Return what scoring gives texts with these ratings; NaN where it gives none."""
        scale, weights = self.training_input.assignment.scale, self.settings.weights
        scores = [text_score(chosen.questions, each, weights, scale) for each in ratings]
        return np.array([np.nan if score is None else score for score in scores], dtype=float)

    def _reselected(
        self, questions: Sequence[Criterion], sheet: Sheet, ratings: Sequence[Mapping[str, CriterionRating]]
    ) -> FloatArray:
        """Return each text's score by what the other groups' labels keep and weigh."""

        def predict(others: BoolArray, inside: BoolArray) -> FloatArray:
            chosen = choose(questions, sheet.rows(others), self.settings)
            return self._scores(chosen, [ratings[row] for row in np.flatnonzero(inside).tolist()])

        return left_out([text.group for text in self.texts], predict)


def _check(training_input: TrainingInput, settings: CheckEvalSettings) -> None:
    if training_input.checklist is None and settings.seeds == "checklist":
        raise ChecklistError(
            "CheckEval starts from seed questions, and there are none.",
            f"Give a checklist with {option('checklist', 'FILE')}, or have it written: "
            f"{option('settings', 'checkeval.seeds=prior knowledge')}.",
        )
    if settings.needs_labels and not training_input.examples:
        raise SettingsError(
            f"The setting {settings.needs_labels} needs labelled texts, and there are none.",
            "Give labelled texts, or leave the setting at its default.",
        )


def _by_labels(settings: CheckEvalSettings) -> bool:
    """Return whether labels have a part in what a rubric keeps or weighs."""
    return settings.asks_labels or settings.weights == "regression" or settings.selected > 0


def _arrays(
    questions: Sequence[Criterion], ratings: Sequence[Mapping[str, CriterionRating]]
) -> tuple[FloatArray, BoolArray]:
    """Return scores, NaN where there is none, and whether each question applies; shape (texts, questions)."""
    rows = _rows(questions, ratings)
    applies = np.array([[r.applies for r in row] for row in rows], dtype=bool)
    return scores_of(rows, len(questions)), applies.reshape(len(rows), len(questions))


def _rows(
    questions: Sequence[Criterion], ratings: Sequence[Mapping[str, CriterionRating]]
) -> tuple[tuple[CriterionRating, ...], ...]:
    return tuple(tuple(each[question.id] for question in questions) for each in ratings)


def _with_evidence(
    question: Criterion,
    given: Sequence[Mapping[str, Sequence[Answered]]],
    ratings: Sequence[Mapping[str, CriterionRating]],
    labels: FloatArray,
) -> Criterion:
    """Return the question with what the training texts say of it; answers are counted part by part."""
    good, applies = _arrays([question], ratings)
    counts = Counter(each.answer for answered in given for each in answered[question.id])
    judged = int((~np.isnan(good)).sum())
    update = {
        "answers": {answer: counts[answer] for answer in ("yes", "no", "n/a")},
        "pearson": rounded(float(label_correlations(good, labels)[0])),
        "judged": judged,
        "missing": int(applies.sum()) - judged,
    }
    return question.model_copy(update={"evidence": question.evidence.model_copy(update=update)})


def _left(questions: Sequence[Criterion], chosen: Chosen) -> list[DroppedCriterion]:
    return [
        DroppedCriterion(criterion=each, reason=chosen.left[each.id]) for each in questions if each.id in chosen.left
    ]

"""CheckEval's learning (section 3): from the seed questions of a checklist to the questions of a rubric.

seeds                  -> diversified questions for each sub-dimension and elaborated ones for each seed
raters' reasons        -> shown to the diversification, if there are any
pool                   -> the model drops questions that are misaligned, about another aspect, redundant or badly worded
labelled texts, if any -> every question is answered for every text once; the labels select questions
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rubriclab.errors import ChecklistError, JudgeError
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.answer import QuestionAnswer, ask_questions, rate_question, text_score
from rubriclab.methods.checkeval.augment import augment, explained_texts, planned_size, starting_checklist
from rubriclab.methods.checkeval.filtering import FilterResult, filter_questions
from rubriclab.methods.checkeval.settings import CheckEvalSettings
from rubriclab.methods.method import (
    CriterionRating,
    Learned,
    LearningCalls,
    Progress,
    TrainingInput,
    scores_of,
    silent,
)
from rubriclab.methods.prompting import for_each
from rubriclab.methods.questions import AnswerMatrix, SelectedQuestions, reselected_scores, select_questions
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.text import Example
from rubriclab.option_names import option
from rubriclab.stats.correlation import BoolArray, FloatArray, floats, label_correlations
from rubriclab.stats.intervals import rounded

AUGMENTED, FILTERED = 0.2, 0.4

# Share of the labelled texts with the lowest and with the highest labels on which generated questions are tried. On
# recorded judgments of 14 good questions it cost 0.00 to 0.01 of Spearman correlation on other texts.
ENDS = 0.4


async def learn(
    training_input: TrainingInput,
    settings: CheckEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
    on_progress: Progress = silent,
    **_unused: Any,
) -> Learned:
    """Return the part with the questions that CheckEval keeps, and the dropped ones with the reasons.

    The result depends on the input and the replies alone, not on the order of examples; there is no randomness.

    Raises:
        ChecklistError: if there are no seed questions.
        JudgeError: if no question could be obtained, or none was answered for any labelled text.
    """
    if training_input.checklist is None and settings.seeds == "checklist":
        raise ChecklistError(
            "CheckEval starts from seed questions, and there are none.",
            f"Give a checklist with {option('checklist', 'FILE')}, or have it written: "
            f"{option('settings', 'checkeval.seeds=prior knowledge')}.",
        )
    checklist = await starting_checklist(training_input, settings, generator)
    aspect = training_input.assignment.aspect.name
    explained = explained_texts(training_input.shown, aspect) if settings.procedure == "improved" else ()
    pool = await augment(checklist, training_input.assignment, generator, settings, explained)
    on_progress(f"{len(pool.questions)} questions", AUGMENTED)
    filtered = await filter_questions(pool.questions, checklist, training_input.assignment, generator, settings)
    on_progress(f"{len(filtered.kept)} questions to ask", FILTERED)
    dimensions = {sub.name: sub.definition for sub in checklist.sub_dimensions}
    learned = await _CheckEvalRun(training_input, settings, filtered, dimensions, judge, on_progress).run()
    return replace(learned, notes=(*pool.failures, *filtered.notes, *learned.notes))


@dataclass
class _CheckEvalRun:
    """The answers on the labelled texts, and the selection by labels."""

    training_input: TrainingInput
    settings: CheckEvalSettings
    filtered: FilterResult
    dimensions: Mapping[str, str]
    judge: Judge
    on_progress: Progress

    def __post_init__(self) -> None:
        self.texts, self.labels = self.training_input.in_order, self.training_input.label_array

    async def run(self) -> Learned:
        questions = self.filtered.kept
        answers = await self._answers()
        ratings = [{each.id: rate_question(each, answered[each.id]) for each in questions} for answered in answers]
        matrix = AnswerMatrix(*_arrays(questions, ratings), self.labels)
        if self.texts:
            questions = tuple(_with_evidence(question, answers, ratings, self.labels) for question in questions)
        chosen = self._selected(questions, matrix)
        self.on_progress(f"{len(chosen.questions)} questions kept", 1.0)
        part = Part(
            method="checkeval",
            settings=self.settings.model_dump(mode="json"),
            criteria=chosen.questions,
            dropped=(*self.filtered.dropped, *chosen.left_out(questions)),
            dimensions=self.dimensions,
        )
        ids, candidates = tuple(text.id for text in self.texts), tuple(question.id for question in questions)
        rows, scores = _rows(questions, ratings), self._scores(chosen, ratings)
        if not self.texts or not self._by_labels:
            explained = any(question.evidence.examples for question in chosen.questions)
            return Learned(part, ids, candidates, rows, scores, scores, optimistic=explained, notes=chosen.notes)
        reselected = reselected_scores(
            self.texts, ratings, lambda others: self._selected(questions, matrix.rows(others)), self._scores
        )
        return Learned(part, ids, candidates, rows, scores, reselected, notes=chosen.notes)

    @property
    def _by_labels(self) -> bool:
        return self.settings.filter == "model and labels"

    def _selected(self, questions: Sequence[Criterion], matrix: AnswerMatrix) -> SelectedQuestions:
        if not self._by_labels:
            return SelectedQuestions(tuple(questions), {})
        return select_questions(questions, matrix, ends=ENDS)

    async def _answers(self) -> list[dict[str, QuestionAnswer]]:
        total = len(self.texts)

        def on_done(done: int) -> None:
            self.on_progress(f"{done} of {total} texts answered", FILTERED + (1 - FILTERED) * done / total)

        answers = await for_each(self.texts, self._ask, on_done)
        all_answers = [answer for answered in answers for answer in answered.values()]
        if all_answers and all(answer.answer is None for answer in all_answers):
            reason = f"The judge gave no usable answer for any training text: {all_answers[0].reason}"
            raise JudgeError(reason, f"Try another {option('judge')}.")
        return answers

    async def _ask(self, text: Example) -> dict[str, QuestionAnswer]:
        assignment = self.training_input.assignment
        return await ask_questions(
            text, self.filtered.kept, self.dimensions, assignment, self.judge, settings=self.settings
        )

    def _scores(self, chosen: SelectedQuestions, ratings: Sequence[Mapping[str, CriterionRating]]) -> FloatArray:
        """Return the scores of texts with these ratings; NaN if there is none."""
        scale = self.training_input.assignment.scale
        return floats(text_score(chosen.questions, each, scale) for each in ratings)


def _arrays(
    questions: Sequence[Criterion], ratings: Sequence[Mapping[str, CriterionRating]]
) -> tuple[FloatArray, BoolArray]:
    """Return scores, NaN if missing, and whether each question is applicable; shape (texts, questions)."""
    rows = _rows(questions, ratings)
    applies = np.array([[r.applies for r in row] for row in rows], dtype=bool)
    return scores_of(rows, len(questions)), applies.reshape(len(rows), len(questions))


def _rows(
    questions: Sequence[Criterion], ratings: Sequence[Mapping[str, CriterionRating]]
) -> tuple[tuple[CriterionRating, ...], ...]:
    return tuple(tuple(each[question.id] for question in questions) for each in ratings)


def _with_evidence(
    question: Criterion,
    answers: Sequence[Mapping[str, QuestionAnswer]],
    ratings: Sequence[Mapping[str, CriterionRating]],
    labels: FloatArray,
) -> Criterion:
    good, applies = _arrays([question], ratings)
    counts = Counter(answered[question.id].answer for answered in answers)
    judged = int((~np.isnan(good)).sum())
    update = {
        "answers": {answer: counts[answer] for answer in ("yes", "no", "n/a")},
        "pearson": rounded(float(label_correlations(good, labels)[0])),
        "judged": judged,
        "missing": int(applies.sum()) - judged,
    }
    return question.model_copy(update={"evidence": question.evidence.model_copy(update=update)})


def learning_calls(training_input: TrainingInput, settings: CheckEvalSettings) -> LearningCalls:
    """Return the calls about sub-dimensions and seeds, and those that answer the questions about each text.

    Raises:
        ChecklistError: if there are no seed questions.
    """
    subs, seeds = planned_size(training_input, settings)
    by_whole = settings.procedure == "paper"
    writing = int(settings.seeds == "prior knowledge") + (1 if by_whole else subs) * bool(settings.diversified)
    elaborating = seeds * bool(settings.elaborated_most)
    filtering = (1 if by_whole else subs + 1) if settings.filter != "off" else 0
    questions = seeds + subs * settings.diversified + seeds * settings.elaborated_most
    by_text = {"together": 1, "by sub-dimension": subs, "one by one": min(settings.most, questions)}
    return LearningCalls(
        len(training_input.examples) * by_text[settings.ask],
        generator=writing + elaborating + filtering,
        unrated=min(settings.most, questions) if training_input.unrated else 0,
    )

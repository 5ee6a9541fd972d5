"""SEAL's learning: a pack's questions and proposed ones, verified on labelled texts, chosen and weighed by the labels.

The paper's sub-dimensions are written by hand and its weights are the model's; finding them is its future work.

pack, if there is one      -> its questions, and what a text is taken apart into
proposals                  -> new sub-dimensions from the aspect's definition and texts of low, middle and high score
labelled texts, if any     -> every question verified for every unit of every text, once; the labels take out and weigh
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rubriclab.checklist import Checklist
from rubriclab.data.example import Example
from rubriclab.errors import ChecklistError, JudgeError, SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.methods.item_selection import BoolArray, Chosen, Sheet, chance_below, choose
from rubriclab.methods.method import Learned, Progress, TrainingInput, left_out, scores_of, silent
from rubriclab.methods.questions import about
from rubriclab.methods.seal.inquiry import Examination
from rubriclab.methods.seal.propose import propose
from rubriclab.methods.seal.score import rated, scored
from rubriclab.methods.seal.settings import SealSettings, units_of
from rubriclab.methods.seal.verify import JudgedUnit, judge_text
from rubriclab.option_names import option
from rubriclab.rubric import Criterion, DroppedCriterion, Evidence, Part, Question
from rubriclab.stats.correlation import FloatArray, label_correlations
from rubriclab.stats.interval import rounded

PROPOSED = 0.2


async def learn(
    training_input: TrainingInput,
    settings: SealSettings,
    *,
    judge: Judge,
    generator: Judge,
    on_progress: Progress = silent,
    **_unused: Any,
) -> Learned:
    """Return the questions that SEAL keeps, with what was made of the others.

    The same lesson with the same replies gives the same result, in whatever order its examples come; nothing is drawn
    by lot. `on_progress` is told of progress; the result's notes tell what went wrong or was overruled.

    Raises:
        ChecklistError: if there is neither a pack of questions nor anything to be proposed.
        SettingsError: if a setting needs labelled texts, and there are none.
        JudgeError: if there is no pack and nothing could be proposed, or if no labelled text has a usable verdict.
    """
    _check(training_input, settings)
    packed, dimensions = pack_questions(training_input.checklist)
    proposed, meant, failure = await propose(training_input, settings, generator)
    if not packed and not proposed:
        raise JudgeError(f"There are no questions to ask: {failure}", f"Try another {option('generator')}.")
    questions = (*packed, *proposed)
    on_progress(f"{len(questions)} questions to ask", PROPOSED)
    units = units_of(training_input.checklist.units if training_input.checklist else None, settings.units)
    exam = Examination(questions, {**dimensions, **meant}, units, training_input.assignment, settings)
    learned = await _Study(training_input, settings, exam, judge, on_progress).run()
    return replace(learned, notes=(*filter(None, [failure]), *learned.notes))


def pack_questions(checklist: Checklist | None) -> tuple[tuple[Criterion, ...], dict[str, str]]:
    """Return a pack's questions, and what is meant by their sub-dimensions; none without a pack."""
    subs = checklist.sub_dimensions if checklist else ()
    questions = (
        Criterion(
            id=seed.id,
            kind="question",
            trait=sub.name,
            statement=seed.text,
            evidence=Evidence(origin="written by hand"),
            question=Question(origin="seed", better=seed.better, support=seed.support),
        )
        for sub in subs
        for seed in sub.questions
    )
    return tuple(questions), {sub.name: sub.definition for sub in subs}


@dataclass
class _Study:
    """The questions before the labelled texts."""

    training_input: TrainingInput
    settings: SealSettings
    exam: Examination
    judge: Judge
    on_progress: Progress

    def __post_init__(self) -> None:
        self.texts = tuple(sorted(self.training_input.examples, key=lambda example: example.id))
        labels = self.training_input.labels
        self.labels = np.array([labels[text.id] for text in self.texts], dtype=float)

    async def run(self) -> Learned:
        judged, questions = await self._judged(), self.exam.questions
        ratings = tuple(rated(each, questions) for each in judged)
        good = scores_of(ratings, len(questions))
        sheet = Sheet(good, np.ones(good.shape, dtype=bool), self.labels)
        if self.texts:
            columns = zip(questions, good.T, strict=True)
            questions = tuple(_with_evidence(each, judged, column, self.labels) for each, column in columns)
        chosen = chosen_by_labels(questions, sheet, self.settings)
        self.on_progress(f"{len(chosen.questions)} questions kept", 1.0)
        part = Part(
            method="seal",
            settings=self.settings.model_dump(mode="json"),
            criteria=chosen.questions,
            dropped=tuple(
                DroppedCriterion(criterion=q, reason=chosen.left[q.id]) for q in questions if q.id in chosen.left
            ),
            dimensions=self.exam.dimensions,
            units=self.exam.units,
        )
        scores = self._scores(chosen, judged)
        optimistic = bool(self.texts) and self._by_labels()
        return Learned(
            part,
            examples=tuple(text.id for text in self.texts),
            candidates=tuple(question.id for question in questions),
            ratings=ratings,
            scores=scores,
            reselected=self._reselected(questions, sheet, judged) if optimistic else scores,
            optimistic=optimistic,
            notes=chosen.notes,
        )

    async def _judged(self) -> list[JudgedUnit]:
        """Return the verdicts on each text.

        Raises:
            JudgeError: if there are texts, and not one verdict.
        """
        done = 0

        async def one(text: Example) -> JudgedUnit:
            nonlocal done
            found = await judge_text(text, self.exam, self.judge)
            done += 1
            self.on_progress(
                f"{done} of {len(self.texts)} texts judged", PROPOSED + (1 - PROPOSED) * (done / len(self.texts))
            )
            return found

        found = await asyncio.gather(*(one(text) for text in self.texts))
        verdicts = [verdict for judged in found for verdict in judged.verdicts.values()]
        if found and all(verdict.value is None for verdict in verdicts):
            reason = verdicts[0].reason if verdicts else found[0].fault
            raise JudgeError(
                f"There is no usable verdict on any training text: {reason}", f"Try another {option('judge')}."
            )
        return found

    def _by_labels(self) -> bool:
        """Return whether labels have a part in what is kept, weighed or proposed."""
        weighed = self.settings.weights == "labels"
        proposed = any(question.evidence.examples for question in self.exam.questions)
        return self.settings.asks_labels or self.settings.selected > 0 or weighed or proposed

    def _scores(self, chosen: Chosen, judged: Sequence[JudgedUnit]) -> FloatArray:
        """Return what texts with these verdicts score, NaN where they do not; the judge's weights keep their ratio."""
        scores = [scored(each, chosen.questions, self.training_input.assignment.scale)[0] for each in judged]
        return np.array([np.nan if score is None else score for score in scores], dtype=float)

    def _reselected(self, questions: Sequence[Criterion], sheet: Sheet, judged: Sequence[JudgedUnit]) -> FloatArray:
        """Return each text's score by what the other groups' labels keep and weigh."""

        def predict(others: BoolArray, inside: BoolArray) -> FloatArray:
            chosen = chosen_by_labels(questions, sheet.rows(others), self.settings)
            return self._scores(chosen, [judged[row] for row in np.flatnonzero(inside).tolist()])

        return left_out([text.group for text in self.texts], predict)


def chosen_by_labels(questions: Sequence[Criterion], sheet: Sheet, settings: SealSettings) -> Chosen:
    """Return what the labels leave of the questions: of the proposed ones only those that track them.

    Behind a pack's questions stands a person, and they stay unless something speaks against them; as do proposed ones
    where there is nothing else.
    """
    left = _not_tracking(questions, sheet, settings) if settings.asks_labels else {}
    if len(left) == len(questions):
        left = {}
    kept = [column for column in range(len(questions)) if column not in left]
    remaining = Sheet(sheet.good[:, kept], sheet.applies[:, kept], sheet.labels)
    found = choose([questions[column] for column in kept], remaining, settings)
    return replace(found, left={**{questions[column].id: reason for column, reason in left.items()}, **found.left})


def _not_tracking(questions: Sequence[Criterion], sheet: Sheet, settings: SealSettings) -> dict[int, str]:
    """Return the columns of proposed questions whose correlation with the labels could well be chance, one-sided."""
    found = {}
    given = (~np.isnan(sheet.good)).sum(axis=0).tolist()
    for column, (r, n) in enumerate(zip(label_correlations(sheet.good, sheet.labels).tolist(), given, strict=True)):
        proposed = about(questions[column]).origin == "proposed"
        # Where there is no correlation (NaN), other rules decide.
        if proposed and n >= settings.fewest_answers and (p := chance_below(-r, n)) > settings.tracking:
            found[column] = (
                f"does not track the labels: correlation {r:.2f} over {n} training texts, "
                f"so high by chance in {p:.1%} of cases"
            )
    return found


def _check(training_input: TrainingInput, settings: SealSettings) -> None:
    if training_input.checklist is None and not settings.proposed:
        raise ChecklistError(
            "SEAL asks questions, and there are none: no pack of them and nothing to be proposed (proposed=0).",
            f"Give a pack with {option('checklist', 'FILE')}, or have some proposed.",
        )
    if settings.needs_labels and not training_input.examples:
        raise SettingsError(
            f"The setting {settings.needs_labels} needs labelled texts, and there are none.",
            "Give labelled texts, or leave the setting at its default.",
        )


def _with_evidence(
    question: Criterion, judged: Sequence[JudgedUnit], column: FloatArray, labels: FloatArray
) -> Criterion:
    """Return the question with what the training texts say of it; answers are counted unit by unit."""
    has = ~np.isnan(column)
    update: Mapping[str, Any] = {
        "answers": _answers(question, judged),
        "pearson": rounded(float(label_correlations(column[:, None], labels)[0])),
        "judged": int(has.sum()),
        "missing": int((~has).sum()),
    }
    return question.model_copy(update={"evidence": question.evidence.model_copy(update=update)})


def _answers(question: Criterion, judged: Sequence[JudgedUnit]) -> dict[str, int]:
    """Return how often the question was answered yes and no; ratings are neither."""
    verified = (each for each in judged if not each.rated)
    counts = Counter(each.verdicts[unit.id, question.id].value for each in verified for unit in each.units)
    good, bad = counts[1.0], counts[0.0]
    return {"yes": good, "no": bad} if about(question).better == "yes" else {"yes": bad, "no": good}

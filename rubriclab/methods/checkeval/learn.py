"""Seed questions, and new ones from them by diversification and elaboration (CheckEval, sections 3.1 and 3.2).

CheckEval's authors write sub-dimensions and seeds by hand. In HypoEval's comparison the model writes the whole
checklist from prior knowledge (HypoEval, section 3).

Both start from the seeds and not from each other's results, so every question is derived from a seed.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, zip_longest
from typing import Any, Literal

import numpy as np

from rubriclab.errors import ChecklistError, JudgeError
from rubriclab.judges.judge import Judge, ask
from rubriclab.methods.checkeval.score import (
    ELSEWHERE,
    CheckEvalSettings,
    CitingDiversification,
    Diversification,
    Elaboration,
    FinerQuestion,
    PlainDiversification,
    PlainElaboration,
    QuestionAnswer,
    QuestionVerdict,
    Removals,
    WrittenSeeds,
    ask_questions,
    fault,
    of_questions,
    rate_question,
    text_score,
)
from rubriclab.methods.method import CriterionRating, Learned, LearningCalls, Progress, TrainingInput, scores_of, silent
from rubriclab.methods.prompting import (
    chunks,
    cited_reasons,
    fields_of_reasons,
    first_usable,
    for_each,
    numbered_reasons,
)
from rubriclab.methods.questions import (
    AnswerMatrix,
    SelectedQuestions,
    find_redundant,
    is_handwritten,
    is_seed,
    make_question,
    payload,
    question_of,
    reselected_scores,
    select_questions,
)
from rubriclab.methods.sources import Checklist, SeedQuestion, SubDimension
from rubriclab.models.base import digest
from rubriclab.models.rubric import CitedReason, Criterion, DroppedCriterion, Part
from rubriclab.models.text import Aspect, Assignment, Example, named_reasons, shipped_aspects
from rubriclab.option_names import option
from rubriclab.prompts.prompt import KeyedReply, Prompt
from rubriclab.stats.correlation import BoolArray, FloatArray, floats, label_correlations
from rubriclab.stats.intervals import rounded

# Sub-dimensions requested, as many as in the paper's checklists, and questions in each.
FEWEST, MOST = 3, 5
QUESTIONS_EACH = 2

# In tokens.
LONGEST = 1500


async def starting_checklist(training_input: TrainingInput, settings: CheckEvalSettings, generator: Judge) -> Checklist:
    """Return the sub-dimensions and seed questions to start from.

    Raises:
        ChecklistError: if they come from a checklist, and there is none.
        JudgeError: if the generator wrote no usable ones.
    """
    if settings.seeds == "checklist":
        return _shortened(training_input, settings)
    answer = await ask(generator, seeds_prompt(training_input.assignment))
    if answer.value is None:
        raise JudgeError(f"No seed questions could be written: {answer.missing}", f"Try another {option('generator')}.")
    return _as_checklist(answer.value, training_input.assignment)


def seeds_prompt(assignment: Assignment) -> Prompt[WrittenSeeds]:
    """Return the prompt for sub-dimensions and seed questions from the aspect's definition alone."""
    fields = {**assignment.fields(), "fewest": FEWEST, "most": MOST, "each": QUESTIONS_EACH}
    return Prompt("checkeval/seeds", fields, WrittenSeeds, max_tokens=LONGEST)


def planned_size(training_input: TrainingInput, settings: CheckEvalSettings) -> tuple[int, int]:
    """Return the number of sub-dimensions and of seed questions; as many as requested if the generator writes them.

    Raises:
        ChecklistError: if the questions come from a checklist, and there is none.
    """
    if settings.seeds == "prior knowledge":
        return MOST, MOST * QUESTIONS_EACH
    subs = _shortened(training_input, settings).sub_dimensions
    return len(subs), sum(len(sub.questions) for sub in subs)


def _shortened(training_input: TrainingInput, settings: CheckEvalSettings) -> Checklist:
    """Return the checklist with at most as many seeds of each sub-dimension as the settings allow."""
    if training_input.checklist is None:
        raise ChecklistError("CheckEval starts from seed questions, and there are none.")
    most = settings.seeds_per_sub_dimension
    if not most:
        return training_input.checklist
    subs = tuple(
        sub.model_copy(update={"questions": _first(sub.questions, most, settings)})
        for sub in training_input.checklist.sub_dimensions
    )
    return training_input.checklist.model_copy(update={"sub_dimensions": subs})


def _first(seeds: tuple[SeedQuestion, ...], most: int, settings: CheckEvalSettings) -> tuple[SeedQuestion, ...]:
    # Sorting is stable, so both kinds keep the checklist's order.
    ordered = sorted(seeds, key=lambda seed: settings.procedure == "paper" and seed.better == "no")
    kept = ordered[:most]
    return tuple(seed for seed in seeds if seed in kept)


def _as_checklist(written: WrittenSeeds, assignment: Assignment) -> Checklist:
    numbers = count(1)
    subs = tuple(
        SubDimension(
            name=sub.name,
            definition=sub.definition,
            questions=tuple(SeedQuestion(id=f"s{next(numbers):02d}", text=text) for text in sub.questions),
        )
        for sub in written.sub_dimensions
    )
    aspect = assignment.aspect
    return Checklist(
        format="rubriclab-checklist/1",
        task=assignment.words.task,
        aspect=aspect.name,
        definition=aspect.definition,
        sub_dimensions=subs,
    )


Author = Literal["written by hand", "prior knowledge"]

TOKENS_PER_QUESTION = 100

# Fewest finer questions requested per seed.
FEWEST = 3

# Texts whose raters' reasons the diversification is shown.
MOST_EXPLAINED = 6


@dataclass(frozen=True, slots=True)
class QuestionPool:
    """Questions by sub-dimension: seeds, diversified and elaborated ones; and the reasons of failed requests."""

    questions: tuple[Criterion, ...]
    failures: tuple[str, ...] = ()


async def augment(
    checklist: Checklist,
    assignment: Assignment,
    generator: Judge,
    settings: CheckEvalSettings,
    explained: Sequence[Example] = (),
) -> QuestionPool:
    """Return the checklist's questions and those made from them.

    Args:
        explained: labelled texts whose raters' reasons the diversification is shown, without the texts.

    Raises:
        JudgeError: if questions were requested, and all requests failed.
    """
    subs = checklist.sub_dimensions
    together = [subs] if settings.procedure == "paper" else [(sub,) for sub in subs]
    diversifications, elaborations = await asyncio.gather(
        asyncio.gather(*(_diversified(some, assignment, generator, settings, explained) for some in together)),
        asyncio.gather(*(_elaborated(sub, seed, assignment, generator, settings) for sub, seed in _seeds(subs))),
    )
    requests = len(diversifications) * bool(settings.diversified) + len(elaborations) * bool(settings.elaborated_most)
    failures = tuple(result for result in (*diversifications, *elaborations) if isinstance(result, str))
    if requests and len(failures) == requests:
        raise JudgeError(
            f"No question could be made from the seeds: {failures[-1]}",
            f"Try another {option('generator')}, or set diversified and elaborated_most of checkeval to 0: only the "
            "seeds are then used.",
        )
    author: Author = "written by hand" if settings.seeds == "checklist" else "prior knowledge"
    return QuestionPool(
        _with_ids(subs, diversifications, dict(zip(_ids(subs), elaborations, strict=True)), author), failures
    )


def explained_texts(examples: Sequence[Example], aspect: str) -> tuple[Example, ...]:
    """Return the labelled texts whose raters' reasons the diversification is shown, in canonical order.

    Questions made from reasons have seen the labels of these texts' groups, so they cannot be tested on them. So few
    texts are chosen, from at most half of the groups, and from those with the most explained texts; labels play no
    part in the choice.
    """
    given = [example for example in examples if named_reasons(example, aspect)]
    sizes = Counter(example.group for example in given)
    ranked = sorted(sizes, key=lambda group: (-sizes[group], digest(group)))
    half = max(1, len({example.group for example in examples}) // 2)
    rank = {group: place for place, group in enumerate(ranked[:half])}
    inside = [example for example in given if example.group in rank]
    return tuple(sorted(inside, key=lambda example: (rank[example.group], example.id))[:MOST_EXPLAINED])


def diversify_prompt(
    sub: SubDimension, assignment: Assignment, settings: CheckEvalSettings, explained: Sequence[Example] = ()
) -> Prompt[Any]:
    """Return the prompt for questions about sides of a sub-dimension that its seeds do not cover."""
    aspect = assignment.aspect.name
    reasons = numbered_reasons(explained, aspect)
    rated = [{"score": each.scores[aspect], "reasons": fields_of_reasons(reasons, each.id)} for each in explained]
    fields = {
        **assignment.fields(),
        "sub_dimension": _shown(sub),
        "questions": [_payload(seed) for seed in sub.questions],
        "count": settings.diversified,
        "rated": rated,
    }
    form = CitingDiversification if reasons else Diversification
    return Prompt("checkeval/diversify", fields, form, max_tokens=_longest(settings.diversified))


def diversify_dimension_prompt(
    subs: Sequence[SubDimension], assignment: Assignment, settings: CheckEvalSettings
) -> Prompt[Any]:
    """Return the paper's prompt for questions that the seeds of all sub-dimensions do not cover."""
    count = settings.diversified * len(subs)
    shown = [{**_shown(sub), "questions": [_payload(seed) for seed in sub.questions]} for sub in subs]
    fields = {**assignment.fields(), "sub_dimensions": shown, "count": count}
    return Prompt("checkeval/diversify_dimension", fields, PlainDiversification, max_tokens=_longest(count))


def elaborate_prompt(
    sub: SubDimension, seed: SeedQuestion, assignment: Assignment, settings: CheckEvalSettings
) -> Prompt[Any]:
    """Return the prompt for `FEWEST` to `elaborated_most` finer questions from `seed`."""
    fields = {
        **assignment.fields(),
        "sub_dimension": _shown(sub),
        "question": _payload(seed),
        "fewest": min(FEWEST, settings.elaborated_most),
        "most": settings.elaborated_most,
        "self_contained": settings.procedure == "improved",
    }
    form = Elaboration if settings.procedure == "improved" else PlainElaboration
    return Prompt("checkeval/elaborate", fields, form, max_tokens=_longest(settings.elaborated_most))


@dataclass(frozen=True, slots=True)
class _NewQuestion:
    """A question with the id of its seed, the texts whose raters' reasons the prompt showed, and those it cites."""

    seed: str
    question: FinerQuestion
    examples: tuple[str, ...] = ()
    reasons: tuple[CitedReason, ...] = ()


# The result of a request: questions, or why it failed.
_NewQuestions = Sequence[_NewQuestion] | str


async def _diversified(
    subs: Sequence[SubDimension],
    assignment: Assignment,
    generator: Judge,
    settings: CheckEvalSettings,
    explained: Sequence[Example],
) -> _NewQuestions:
    if not settings.diversified:
        return ()
    if settings.procedure == "paper":
        prompt, what = diversify_dimension_prompt(subs, assignment, settings), assignment.aspect.name
    else:
        prompt, what = diversify_prompt(subs[0], assignment, settings, explained), subs[0].name
    answer = await first_usable(prompt, generator, salvage=prompt.reply)
    if answer.value is None:
        return f"other sides of {what!r}: {answer.missing}"
    reasons, shown = numbered_reasons(explained, assignment.aspect.name), tuple(each.id for each in explained)
    return [
        _NewQuestion(new.seed, new, shown, cited_reasons(new.reasons, reasons))
        for new in answer.value.questions[: settings.diversified * len(subs)]
    ]


async def _elaborated(
    sub: SubDimension, seed: SeedQuestion, assignment: Assignment, generator: Judge, settings: CheckEvalSettings
) -> _NewQuestions:
    if not settings.elaborated_most:
        return ()
    prompt = elaborate_prompt(sub, seed, assignment, settings)
    answer = await first_usable(prompt, generator, salvage=prompt.reply)
    if answer.value is None:
        return f"finer points of {seed.id}: {answer.missing}"
    return [_NewQuestion(seed.id, new) for new in answer.value.questions[: settings.elaborated_most]]


def _with_ids(
    subs: Sequence[SubDimension], sides: Sequence[_NewQuestions], points: dict[str, _NewQuestions], author: Author
) -> tuple[Criterion, ...]:
    taken = set(_ids(subs))
    questions: list[Criterion] = []
    made = [new for result in sides if not isinstance(result, str) for new in result]
    for sub in subs:
        questions += [
            make_question(seed.id, seed.text, sub, better=seed.better, author=author) for seed in sub.questions
        ]
        own = {seed.id for seed in sub.questions}
        side = [new for new in made if new.seed in own]
        questions += _named(f"{_slug(sub.name)}-d", side, sub, "diversified", taken)
        for seed in sub.questions:
            questions += _named(f"{seed.id}-e", points[seed.id], sub, "elaborated", taken)
    return tuple(questions)


def _named(
    prefix: str, result: _NewQuestions, sub: SubDimension, origin: Literal["diversified", "elaborated"], taken: set[str]
) -> Iterable[Criterion]:
    for new in () if isinstance(result, str) else result:
        name = next(name for number in count(1) if (name := f"{prefix}{number}") not in taken)
        taken.add(name)
        yield make_question(
            name,
            new.question.text,
            sub,
            new.seed,
            origin=origin,
            absent=new.question.absent,
            broken=new.question.broken,
            examples=new.examples,
            reasons=new.reasons,
        )


def _seeds(subs: Sequence[SubDimension]) -> list[tuple[SubDimension, SeedQuestion]]:
    return [(sub, seed) for sub in subs for seed in sub.questions]


def _ids(subs: Sequence[SubDimension]) -> list[str]:
    return [seed.id for _, seed in _seeds(subs)]


def _shown(sub: SubDimension) -> dict[str, Any]:
    return {"name": sub.name, "definition": sub.definition}


def _payload(seed: SeedQuestion) -> dict[str, Any]:
    return {"id": seed.id, "text": seed.text, "better": seed.better}


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "sub-dimension"


def _longest(number: int) -> int:
    return 600 + TOKENS_PER_QUESTION * number


# The shipped aspect that includes all others of its task, so that no question is about another aspect.
WHOLE = "overall"

# Most verdicts in one reply: in longer ones, reasons become formulas.
MOST_VERDICTS = 20

STYLES = {
    "exaggerated": "its wording is exaggerated",
    "trifling": "it asks for something trifling",
    "several things": "it asks several things at once",
}


# The faults of the paper's filter.
REMOVED = {
    "alignment": '"yes" does not speak for a text',
    "dimension": "it is about something else",
    "redundancy": "it repeats another question",
    "style": "its wording is exaggerated, or it asks for something trifling",
}


@dataclass(frozen=True, slots=True)
class FilterResult:
    """The questions kept, in the pool's order, the others with the reasons, and notes for the user."""

    kept: tuple[Criterion, ...]
    dropped: tuple[DroppedCriterion, ...]
    notes: tuple[str, ...] = ()


async def filter_questions(
    pool: Sequence[Criterion],
    checklist: Checklist,
    assignment: Assignment,
    generator: Judge,
    settings: CheckEvalSettings,
) -> FilterResult:
    """Return the questions that the model keeps, at most as many as the settings allow.

    If the model would drop every question, the seeds are kept.
    """
    questions, notes, asks_model = list(pool), list[str](), settings.filter != "off"
    reasons = {
        each.id: problem for each in pool if settings.procedure == "improved" and (problem := wording_fault(each))
    }
    if asks_model and settings.procedure == "paper":
        reasons, notes = await _removed(pool, checklist, assignment, generator)
    elif asks_model:
        sound = [question for question in pool if question.id not in reasons]
        turned, faults, unjudged = await _judged(sound, checklist, assignment, generator)
        questions, reasons = [turned.get(question.id, question) for question in pool], reasons | faults
        if unjudged:
            notes.append(f"the filter gave no usable verdict on {unjudged} of {len(sound)} questions; they stay")
    if questions and all(question.id in reasons for question in questions):
        notes.append("the filter would take out every question: the seeds stay")
        reasons = {each.id: reasons[each.id] for each in questions if not is_seed(each)}
    if asks_model and settings.procedure == "improved":
        remaining = [question for question in questions if question.id not in reasons]
        repeated, unasked = await find_redundant(by_author(remaining), "question", assignment, generator)
        reasons |= repeated
        notes += unasked
    remaining = [question for question in questions if question.id not in reasons]
    for question in by_preference(remaining)[settings.most :]:
        reasons[question.id] = f"no place among the {settings.most} questions allowed"
    return FilterResult(
        kept=tuple(question for question in questions if question.id not in reasons),
        dropped=tuple(DroppedCriterion(criterion=c, reason=reasons[c.id]) for c in questions if c.id in reasons),
        notes=tuple(notes),
    )


def filter_dimension_prompt(
    questions: Sequence[Criterion], checklist: Checklist, assignment: Assignment
) -> Prompt[Removals]:
    """Return the paper's prompt for the questions to remove from the whole checklist."""
    fields = {
        **assignment.fields(),
        "sub_dimensions": [
            {
                "name": sub.name,
                "definition": sub.definition,
                "questions": [payload(question) for question in questions if question.trait == sub.name],
            }
            for sub in checklist.sub_dimensions
        ],
        "others": [other.model_dump() for other in other_aspects(checklist, assignment)],
    }
    return Prompt("checkeval/filter_dimension", fields, Removals, max_tokens=256 + 128 * len(questions))


async def _removed(
    pool: Sequence[Criterion], checklist: Checklist, assignment: Assignment, generator: Judge
) -> tuple[dict[str, str], list[str]]:
    """Return the reasons to drop questions by the paper's filter, by id, and notes for the user."""
    reasons = {each.id: '"no" is its good answer' for each in pool if question_of(each).better == "no"}
    shown = [each for each in pool if each.id not in reasons]
    answer = await ask(generator, filter_dimension_prompt(shown, checklist, assignment), salvage=Removals)
    if answer.value is None:
        return reasons, [f"the filter gave no usable reply; all questions that it was shown stay: {answer.missing}"]
    removed = {each.id: f"{REMOVED[each.fault]}: {each.reason}".removesuffix(": ") for each in answer.value.removed}
    return reasons | removed, []


def wording_fault(question: Criterion) -> str | None:
    """Return what is wrong with the wording of a generated question; `lint` checks the questions of a person."""
    if is_handwritten(question):
        return None
    return fault(question_of(question).broken, question_of(question).better)


def by_preference(questions: Sequence[Criterion]) -> list[Criterion]:
    """Return the questions by preference, so that a shorter list covers as much as possible.

    Seeds come first, then the questions made from them, sub-dimensions in turn, and within each of these in turn the
    diversified questions and the elaborated ones of each seed.
    """
    return [each for tier in by_author(questions) for each in tier]


def by_author(questions: Sequence[Criterion]) -> list[list[Criterion]]:
    """Return the seeds, and the questions made from them, in the order of `by_preference`."""
    return [_mixed([each for each in questions if is_seed(each) == side]) for side in (True, False)]


def round_robin(lists: Sequence[Sequence[Criterion]]) -> list[Criterion]:
    """Return the first of each list, then the second of each, and so on."""
    return [each for each in chain.from_iterable(zip_longest(*lists)) if each is not None]


def other_aspects(checklist: Checklist, assignment: Assignment) -> tuple[Aspect, ...]:
    """Return the other aspects that a question might be about: the checklist's, or else the task's shipped aspects."""
    if checklist.others:
        return tuple(Aspect(name=name, definition=words) for name, words in checklist.others.items())
    if assignment.aspect.name == WHOLE:
        return ()
    own = {assignment.aspect.name, WHOLE}
    return tuple(aspect for aspect in shipped_aspects(assignment.words.task) if aspect.name not in own)


def filter_prompt(
    sub: SubDimension,
    questions: Sequence[Criterion],
    others: Sequence[Aspect],
    assignment: Assignment,
) -> Prompt[KeyedReply]:
    """Return the prompt for a verdict on each of the questions of one sub-dimension."""
    fields: Mapping[str, Any] = {
        **assignment.fields(),
        "sub_dimension": {"name": sub.name, "definition": sub.definition},
        "questions": [payload(question) for question in questions],
        "others": [other.model_dump() for other in others],
    }
    return Prompt(
        "checkeval/filter", fields, of_questions(fields, QuestionVerdict), max_tokens=256 + 128 * len(questions)
    )


def _mixed(questions: Sequence[Criterion]) -> list[Criterion]:
    families: dict[str, dict[str | None, list[Criterion]]] = {}
    for each in questions:
        of = question_of(each)
        seed = of.seed if of.origin == "elaborated" else None
        families.setdefault(each.trait, {}).setdefault(seed, []).append(each)
    return round_robin([round_robin(list(family.values())) for family in families.values()])


async def _judged(
    pool: Sequence[Criterion],
    checklist: Checklist,
    assignment: Assignment,
    generator: Judge,
) -> tuple[dict[str, Criterion], dict[str, str], int]:
    """Return the questions with the model's findings, by id, the reasons to drop some, and the number of questions
    without a verdict."""
    others = other_aspects(checklist, assignment)
    groups = ((sub, [each for each in pool if each.trait == sub.name]) for sub in checklist.sub_dimensions)
    prompts = [
        filter_prompt(sub, some, others, assignment) for sub, group in groups for some in chunks(group, MOST_VERDICTS)
    ]
    answers = await asyncio.gather(*(ask(generator, prompt) for prompt in prompts))
    verdicts = {name: each for answer in answers if answer.value for name, each in answer.value.entries.items()}
    turned = {each.id: _turned(each, verdicts.get(each.id)) for each in pool}
    aspect = assignment.aspect.name
    reasons = {name: _fault(each, verdicts.get(name), aspect) for name, each in turned.items()}
    unjudged = sum(question.id not in verdicts for question in pool)
    return turned, {name: reason for name, reason in reasons.items() if reason}, unjudged


def _turned(question: Criterion, verdict: QuestionVerdict | None) -> Criterion:
    """Return the question with "no" as its good answer if the verdict says so, and with the answers it presupposes.

    Answers stated in a seed or by the generator are not changed.
    """
    if verdict is None:
        return question
    stated = question_of(question)
    update: dict[str, Any] = {"absent": stated.absent or verdict.absent, "broken": stated.broken or verdict.broken}
    if verdict.yes_means == "worse" and not is_seed(question):
        update["better"] = "no"
    return question.model_copy(update={"question": stated.model_copy(update=update)})


def _fault(question: Criterion, verdict: QuestionVerdict | None, aspect: str) -> str | None:
    """Return the reason to drop a question; `None` if there is none, or no verdict."""
    if verdict is None:
        return None
    better = question_of(question).better
    if verdict.yes_means == "neither":
        problem = 'neither "yes" nor "no" speaks for a text'
    elif (verdict.yes_means == "better") != (better == "yes"):
        problem = f'"{better}" is given as its good answer, but "yes" means {verdict.yes_means}'
    elif verdict.about != aspect:
        problem = "it is about something else" if verdict.about == ELSEWHERE else f"it is about {verdict.about}"
    elif verdict.broken == better and not is_handwritten(question):
        problem = f"a text that is empty or makes no sense would earn its good answer, {better}"
    else:
        problem = STYLES.get(verdict.style, "")
    return f"{problem}: {verdict.reasoning}".removesuffix(": ") if problem else None


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

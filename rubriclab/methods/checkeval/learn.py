"""CheckEval's learning (sections 3.1 and 3.2): from seed questions to the questions that a rubric asks.

1. Seeds: the questions of a checklist that people wrote, or (HypoEval, section 3) that the generator writes.
2. Augmentation: the generator makes more questions from the seeds. Diversification asks about other sides of a
   sub-dimension (a component of the aspect); elaboration asks about finer points of a seed.
3. Filter: the generator drops questions. At most `settings.most` of the others remain.
4. Selection: the judge answers the questions about the labelled texts, and questions are dropped by the labels.

The paper uses one model as judge and generator. Here the judge, which has more calls, may be a smaller model.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rubriclab.errors import ChecklistError, JudgeError
from rubriclab.judges.judge import Judge, ask
from rubriclab.methods import prompting
from rubriclab.methods.checkeval import score as scoring
from rubriclab.methods.method import Learned, LearningCalls, Method, Progress, TrainingInput, ignore_progress
from rubriclab.methods.questions import (
    Origin,
    find_redundant,
    is_handwritten,
    is_seed,
    learn_from_answers,
    make_question,
    question_fields,
    question_of,
    questions_to_drop,
)
from rubriclab.methods.sources import Checklist, SeedQuestion, SubDimension
from rubriclab.models.rubric import Criterion, DroppedCriterion, Evidence, Part, Question
from rubriclab.models.text import Aspect, Assignment, Example, Material, named_reasons, shipped_aspects, sort_by_content
from rubriclab.prompts.prompt import Prompt

# The numbers of sub-dimensions that the generator may write, as in the paper's checklists, and of seeds in each.
MIN_SUB_DIMENSIONS = 3
MAX_SUB_DIMENSIONS = 5
SEEDS_EACH = 2
# Elaboration requests at least this many finer questions for a seed.
MIN_ELABORATED = 3
# Diversification is shown raters' reasons for at most this many labelled texts.
MAX_TEXTS_WITH_REASONS = 6


async def starting_checklist(
    training_input: TrainingInput, settings: scoring.CheckEvalSettings, generator: Judge
) -> Checklist:
    """Return the sub-dimensions with the seeds; raises ChecklistError or JudgeError if there are none."""
    if settings.seeds == "checklist":
        return _checklist_with_limited_seeds(training_input, settings)
    assignment, aspect = training_input.assignment, training_input.assignment.aspect
    fields = {**assignment.fields(), "fewest": MIN_SUB_DIMENSIONS, "most": MAX_SUB_DIMENSIONS, "each": SEEDS_EACH}
    answer = await ask(generator, Prompt("checkeval/seeds", fields, scoring.WrittenSeeds, max_tokens=1500))
    (written,) = prompting.require_reply([answer], "seed questions", "generator")
    subs = []
    numbers = itertools.count(1)
    for sub in written.sub_dimensions:
        questions = tuple(SeedQuestion(id=f"s{next(numbers):02d}", text=text) for text in sub.questions)
        subs.append(SubDimension(name=sub.name, definition=sub.definition, questions=questions))
    return Checklist(
        format="rubriclab-checklist/1",
        task=assignment.words.task,
        aspect=aspect.name,
        definition=aspect.definition,
        sub_dimensions=tuple(subs),
    )


def _checklist_with_limited_seeds(training_input: TrainingInput, settings: scoring.CheckEvalSettings) -> Checklist:
    checklist, max_seeds = training_input.checklist, settings.seeds_per_sub_dimension or None
    if checklist is None:
        raise ChecklistError(
            "CheckEval starts from seed questions, and there are none.",
            "Give a checklist with `checklist=FILE`, or have it written: `settings=checkeval.seeds=prior knowledge`.",
        )
    subs = []
    for sub in checklist.sub_dimensions:
        chosen = sub.questions[:max_seeds]
        if settings.procedure == "paper":
            # Seeds whose good answer is "no" are chosen last, since the paper's filter drops them.
            chosen = tuple(sorted(sub.questions, key=lambda seed: seed.better == "no"))[:max_seeds]
        seeds = tuple(seed for seed in sub.questions if seed in chosen)
        subs.append(sub.model_copy(update={"questions": seeds}))
    return checklist.model_copy(update={"sub_dimensions": tuple(subs)})


def choose_texts_with_reasons(examples: Sequence[Example], aspect: str) -> tuple[Example, ...]:
    """Return the labelled texts whose raters' reasons are shown for diversification.

    The questions made from reasons cannot be tested on the groups of these texts. So the texts are few, and from at
    most half of the groups. Labels do not influence the choice.
    """
    with_reasons = sort_by_content([example for example in examples if named_reasons(example, aspect)])
    max_groups = max(1, len({example.group for example in examples}) // 2)
    chosen_groups = [group for group, _ in Counter(text.group for text in with_reasons).most_common(max_groups)]
    candidates = [text for text in with_reasons if text.group in chosen_groups]
    return tuple(sorted(candidates, key=lambda text: chosen_groups.index(text.group))[:MAX_TEXTS_WITH_REASONS])


class _Request(NamedTuple):
    """A request for at most `max_questions` new questions; `seed_id` is `None` unless a seed is to be elaborated."""

    description: str
    prompt: Prompt[Any]
    max_questions: int
    seed_id: str | None = None


def _augmentation_requests(
    checklist: Checklist, assignment: Assignment, settings: scoring.CheckEvalSettings, texts: Sequence[Example]
) -> list[_Request]:
    subs, aspect = checklist.sub_dimensions, assignment.aspect.name
    is_improved = settings.procedure == "improved"
    n_diversified, n_elaborated = settings.diversified, settings.elaborated_most  # maxima: per sub-dimension; per seed
    requests: list[_Request] = []
    # Diversification takes one request for each sub-dimension; in the paper, one request for all sub-dimensions.
    if n_diversified and is_improved:
        reasons = prompting.numbered_reasons(texts, aspect)
        rated = [{"score": e.scores[aspect], "reasons": prompting.fields_of_reasons(reasons, e.id)} for e in texts]
        reply_model: Any = scoring.CitingDiversification if reasons else scoring.Diversification
        for sub in subs:
            fields: dict[str, Any] = {
                **assignment.fields(),
                "sub_dimension": {"name": sub.name, "definition": sub.definition},
                "questions": [seed.fields() for seed in sub.questions],
                "count": n_diversified,
                "rated": rated,
            }
            prompt = Prompt("checkeval/diversify", fields, reply_model, max_tokens=600 + 100 * n_diversified)
            requests.append(_Request(f"other sides of {sub.name!r}", prompt, n_diversified))
    elif n_diversified:
        count = n_diversified * len(subs)
        shown = [
            {"name": sub.name, "definition": sub.definition, "questions": [seed.fields() for seed in sub.questions]}
            for sub in subs
        ]
        fields = {**assignment.fields(), "sub_dimensions": shown, "count": count}
        reply_model = scoring.PlainDiversification
        prompt = Prompt("checkeval/diversify_dimension", fields, reply_model, max_tokens=600 + 100 * count)
        requests.append(_Request(f"other sides of {aspect!r}", prompt, count))
    # Elaboration takes one request for each seed.
    reply_model = scoring.Elaboration if is_improved else scoring.PlainElaboration
    for sub in subs if n_elaborated else ():
        for seed in sub.questions:
            fields = {
                **assignment.fields(),
                "sub_dimension": {"name": sub.name, "definition": sub.definition},
                "question": seed.fields(),
                "fewest": min(MIN_ELABORATED, n_elaborated),
                "most": n_elaborated,
                "self_contained": is_improved,
            }
            prompt = Prompt("checkeval/elaborate", fields, reply_model, max_tokens=600 + 100 * n_elaborated)
            requests.append(_Request(f"finer points of {seed.id}", prompt, n_elaborated, seed.id))
    return requests


async def augment(
    checklist: Checklist,
    assignment: Assignment,
    generator: Judge,
    settings: scoring.CheckEvalSettings,
    texts: Sequence[Example] = (),
) -> tuple[tuple[Criterion, ...], tuple[str, ...]]:
    """Return the seeds and the questions made from them, in the order of sub-dimensions, and why some requests failed.

    Prompts for diversification show labels and raters' reasons of `texts`, not the texts. JudgeError if all fail.
    """
    requests = _augmentation_requests(checklist, assignment, settings, texts)
    replies = (prompting.first_usable(each.prompt, generator, salvage_model=each.prompt.reply) for each in requests)
    answers = await asyncio.gather(*replies)
    failures = list[str]()
    new_questions = list[tuple[str, Origin, scoring.PlainQuestion]]()  # each begins with the id of its seed
    for request, answer in zip(requests, answers, strict=True):
        if answer.value is None:
            failures.append(f"{request.description}: {answer.missing}")
            continue
        origin: Origin = "elaborated" if request.seed_id else "diversified"
        written = answer.value.questions[: request.max_questions]
        new_questions += ((request.seed_id or new.seed, origin, new) for new in written)
    if failures and len(failures) == len(requests):
        raise JudgeError(
            f"No question could be made from the seeds: {failures[-1]}",
            "Try another `generator`, or use the seeds alone: set checkeval's diversified and elaborated_most to 0.",
        )
    seed_evidence = Evidence(origin="written by hand" if settings.seeds == "checklist" else "prior knowledge")
    reasons = prompting.numbered_reasons(texts, assignment.aspect.name)
    questions: list[Criterion] = []
    used_ids = {seed.id for seed in checklist.questions}
    for sub in checklist.sub_dimensions:
        seed_ids = {seed.id for seed in sub.questions}
        for seed in sub.questions:
            question = Question(origin="seed", better=seed.better)
            questions.append(make_question(seed.id, sub.name, seed.text, seed_evidence, question))
        slug = re.sub(r"[^a-z0-9]+", "-", sub.name.lower()).strip("-") or "sub-dimension"
        # The diversified questions of the sub-dimension, and then the elaborated ones of each seed.
        for seed_id, origin, new in (each for each in new_questions if each[0] in seed_ids):
            prefix, evidence = f"{seed_id}-e", Evidence(origin="seed questions")
            if origin == "diversified":
                prefix = f"{slug}-d"
                # Only questions of the improved procedure can cite raters' reasons.
                cited = prompting.cited_reasons(getattr(new, "reasons", ()), reasons)
                evidence = Evidence(origin="seed questions", examples=tuple(text.id for text in texts), reasons=cited)
            numbered_ids = (f"{prefix}{number}" for number in itertools.count(1))
            new_id = next(id_ for id_ in numbered_ids if id_ not in used_ids)
            used_ids.add(new_id)
            # The answers for a text that lacks what the question is about, and for one that makes no sense.
            default_answers = new.model_dump(include={"absent", "broken"})
            question = Question(origin=origin, seed=seed_id, **default_answers)
            needs_source = new.model_dump(include={"needs_source"})
            questions.append(make_question(new_id, sub.name, new.text, evidence, question, **needs_source))
    return tuple(questions), tuple(failures)


# The shipped aspect that includes its task's other aspects: a question about another aspect is about this one too.
WHOLE_ASPECT = "overall"
# At most this many verdicts are requested in one reply: in longer replies, reasons become formulaic.
MAX_VERDICTS = 20

# Why a question is dropped, by the value of a field of the reply: `style` (improved filter), `fault` (the paper's).
STYLE_FAULTS = {
    "exaggerated": "its wording is exaggerated",
    "trifling": "it asks for something trifling",
    "several things": "it asks several things at once",
}
REMOVAL_FAULTS = {
    "alignment": '"yes" is not in favor of a text',
    "dimension": "it is about something else",
    "redundancy": "it repeats another question",
    "style": "its wording is exaggerated, or it asks for something trifling",
}


async def filter_questions(
    pool: Sequence[Criterion],
    checklist: Checklist,
    assignment: Assignment,
    generator: Judge,
    settings: scoring.CheckEvalSettings,
    *,
    missing_materials: Sequence[Material] = (),
) -> tuple[tuple[Criterion, ...], tuple[DroppedCriterion, ...], tuple[str, ...]]:
    """Return the questions that are kept, at most `settings.most`; the dropped ones; and notes for the user.

    `missing_materials` has the materials that no labelled text has. Questions that contain the task's word for one of
    them are dropped without a call.
    """
    questions = list(pool)
    notes: list[str] = []
    drop_reasons: dict[str, str] = {}
    asks_model = settings.filter != "off"
    if asks_model and settings.procedure == "paper":
        drop_reasons, notes = await _filter_as_in_paper(pool, checklist, assignment, generator)
    elif settings.procedure == "improved":
        # An empty or senseless text must not get the good answer. `lint` checks this for handwritten questions.
        generated = [(each.id, question_of(each)) for each in pool if not is_handwritten(each)]
        faults = {id_: scoring.broken_text_fault(details.broken, details.better) for id_, details in generated}
        for material, question in itertools.product(missing_materials, pool):
            word = assignment.words.name_of(material)
            if question.needs_source and re.search(rf"\b{re.escape(word)}\b", question.statement, re.IGNORECASE):
                faults[question.id] = f"it asks about the {word}, which no labelled text has"
        if asks_model:
            asked = [question for question in pool if not faults.get(question.id)]
            verdicts = await _ask_verdicts(asked, checklist, assignment, generator)
            for index, question in enumerate(questions):
                if verdict := verdicts.get(question.id):
                    questions[index], faults[question.id] = _apply_verdict(question, verdict, assignment.aspect.name)
            if n_missing := len(asked) - len(verdicts):
                notes.append(f"the filter gave no usable verdict on {n_missing} of {len(asked)} questions; they stay")
        drop_reasons = {id_: fault for id_, fault in faults.items() if fault}
    if questions and all(question.id in drop_reasons for question in questions):
        notes.append("the filter would take out every question: the seeds stay")
        drop_reasons = {each.id: drop_reasons[each.id] for each in questions if not is_seed(each)}
    if asks_model and settings.procedure == "improved":
        remaining = [question for question in questions if question.id not in drop_reasons]
        repeated, failures = await find_redundant(preference_tiers(remaining), "question", assignment, generator)
        drop_reasons |= repeated
        notes += failures
    remaining = [question for question in questions if question.id not in drop_reasons]
    by_preference = [question for tier in preference_tiers(remaining) for question in tier]
    for question in by_preference[settings.most :]:
        drop_reasons[question.id] = f"no place among the {settings.most} questions allowed"
    kept = tuple(question for question in questions if question.id not in drop_reasons)
    dropped_questions = [question for question in questions if question.id in drop_reasons]
    dropped = tuple(DroppedCriterion(criterion=each, reason=drop_reasons[each.id]) for each in dropped_questions)
    return kept, dropped, tuple(notes)


async def _filter_as_in_paper(
    pool: Sequence[Criterion], checklist: Checklist, assignment: Assignment, generator: Judge
) -> tuple[dict[str, str], list[str]]:
    drop_reasons = {each.id: '"no" is its good answer' for each in pool if question_of(each).better == "no"}
    shown = [each for each in pool if each.id not in drop_reasons]
    dimensions = {sub.name: sub.definition for sub in checklist.sub_dimensions}
    fields = {
        **assignment.fields(),
        "sub_dimensions": scoring.sub_dimension_fields(shown, dimensions),
        "others": [other.model_dump() for other in other_aspects(checklist, assignment)],
    }
    prompt = Prompt("checkeval/filter_dimension", fields, scoring.Removals, max_tokens=256 + 128 * len(shown))
    answer = await ask(generator, prompt, salvage_model=scoring.Removals)
    if answer.value is None:
        note = f"the filter gave no usable reply; all questions that it was shown stay: {answer.missing}"
        return drop_reasons, [note]
    for each in answer.value.removed:
        drop_reasons[each.id] = f"{REMOVAL_FAULTS[each.fault]}: {each.reason}".removesuffix(": ")
    return drop_reasons, []


def preference_tiers(questions: Sequence[Criterion]) -> list[list[Criterion]]:
    """Return the list of the seeds and the list of the questions made from them, each in order of preference.

    So that the beginning of a list covers as much as possible, the sub-dimensions take turns in it. Within a
    sub-dimension, its diversified questions take turns with those that elaborate each seed.
    """
    tiers = []
    for is_seed_tier in (True, False):
        # By sub-dimension, then by the seed that a question elaborates, or `None` if it elaborates none.
        families: dict[str, dict[str | None, list[Criterion]]] = {}
        for each in questions:
            if is_seed(each) == is_seed_tier:
                seed_id = question_of(each).seed if question_of(each).origin == "elaborated" else None
                families.setdefault(each.trait, {}).setdefault(seed_id, []).append(each)
        tiers.append(interleave([interleave(list(family.values())) for family in families.values()]))
    return tiers


def interleave(lists: Sequence[Sequence[Criterion]]) -> list[Criterion]:
    return [each for each in itertools.chain.from_iterable(itertools.zip_longest(*lists)) if each is not None]


def other_aspects(checklist: Checklist, assignment: Assignment) -> tuple[Aspect, ...]:
    """Return the aspects that questions should not be about: the checklist's `others`, or else shipped ones."""
    if checklist.others:
        return tuple(Aspect(name=name, definition=definition) for name, definition in checklist.others.items())
    if assignment.aspect.name == WHOLE_ASPECT:
        return ()
    excluded = {assignment.aspect.name, WHOLE_ASPECT}
    return tuple(aspect for aspect in shipped_aspects(assignment.words.task) if aspect.name not in excluded)


async def _ask_verdicts(
    pool: Sequence[Criterion], checklist: Checklist, assignment: Assignment, generator: Judge
) -> dict[str, scoring.QuestionVerdict]:
    others = [other.model_dump() for other in other_aspects(checklist, assignment)]
    prompts = []
    for sub in checklist.sub_dimensions:
        for chunk in prompting.chunks([each for each in pool if each.trait == sub.name], MAX_VERDICTS):
            fields: Mapping[str, Any] = {
                **assignment.fields(),
                "sub_dimension": {"name": sub.name, "definition": sub.definition},
                "questions": [question_fields(question) for question in chunk],
                "others": others,
            }
            reply_model = scoring.answers_reply(fields, scoring.QuestionVerdict)
            prompts.append(Prompt("checkeval/filter", fields, reply_model, max_tokens=256 + 128 * len(chunk)))
    verdicts: dict[str, scoring.QuestionVerdict] = {}
    for answer in await asyncio.gather(*(ask(generator, prompt) for prompt in prompts)):
        verdicts |= answer.value.entries if answer.value else {}
    return verdicts


def _apply_verdict(question: Criterion, verdict: scoring.QuestionVerdict, aspect: str) -> tuple[Criterion, str | None]:
    """Return the question with what the verdict adds, and why the question is dropped, or `None` if it stays.

    The verdict's `yes_means` decides which answer to a generated question is good, and `needs_source` whether a seed
    needs a source. If the question has no answers for texts that lack what is asked about (`absent`) or make no sense
    (`broken`), the verdict's answers are added.
    """
    details = question_of(question)
    better = "no" if verdict.yes_means == "worse" and not is_seed(question) else details.better
    added = {"absent": details.absent or verdict.absent, "broken": details.broken or verdict.broken, "better": better}
    needs_source = verdict.needs_source if is_seed(question) else question.needs_source
    judged = question.model_copy(update={"question": details.model_copy(update=added), "needs_source": needs_source})
    if verdict.yes_means == "neither":
        fault: str | None = 'neither "yes" nor "no" is in favor of a text'
    elif (verdict.yes_means == "better") != (better == "yes"):
        fault = f'"{better}" is given as its good answer, but "yes" means {verdict.yes_means}'
    elif verdict.about != aspect:
        fault = f"it is about {verdict.about}"
    else:
        fault = None if is_handwritten(question) else scoring.broken_text_fault(verdict.broken, better)
        fault = fault or STYLE_FAULTS.get(verdict.style)
    return judged, (f"{fault}: {verdict.reasoning}".removesuffix(": ") if fault else None)


PROGRESS_AFTER_AUGMENTATION = 0.2
PROGRESS_AFTER_FILTER = 0.4
# Share of the labelled texts that count as the worst, and as the best: a generated question must tell them apart. The
# rule drops some good questions by chance; of 14 questions, this lowered Spearman's rho on other texts by 0.01 at most.
END_SHARE = 0.4


async def learn(
    training_input: TrainingInput,
    settings: scoring.CheckEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
    on_progress: Progress = ignore_progress,
    **_unused: Any,
) -> Learned:
    assignment, texts = training_input.assignment, training_input.in_order  # `in_order`: sorted by content
    checklist = await starting_checklist(training_input, settings, generator)
    with_reasons: tuple[Example, ...] = ()
    if settings.procedure == "improved":
        with_reasons = choose_texts_with_reasons(training_input.texts_for_generator, assignment.aspect.name)
    pool, failures = await augment(checklist, assignment, generator, settings, with_reasons)
    on_progress(f"{len(pool)} questions", PROGRESS_AFTER_AUGMENTATION)
    materials: tuple[Material, ...] = ("source", "context")
    missing_materials = [each for each in materials if texts and not any(getattr(text, each) for text in texts)]
    questions, dropped, notes = await filter_questions(
        pool, checklist, assignment, generator, settings, missing_materials=missing_materials
    )
    on_progress(f"{len(questions)} questions to ask", PROGRESS_AFTER_FILTER)
    part = Part(
        method="checkeval",
        settings=settings.model_dump(mode="json"),
        criteria=questions,
        dropped=dropped,
        dimensions={sub.name: sub.definition for sub in checklist.sub_dimensions},
    )
    ratings_of_texts = await prompting.for_each(
        texts,
        lambda text: scoring.ask_questions(text, part, assignment, judge),
        on_progress,
        "texts answered",
        PROGRESS_AFTER_FILTER,
    )
    answers = [rating for by_id in ratings_of_texts for rating in by_id.values()]
    prompting.fail_if_all_missing("answer", [(each.score if each.applies else "n/a", each.reason) for each in answers])
    answer_counts = {}
    for question in questions:
        ratings = [by_id[question.id] for by_id in ratings_of_texts]
        n_good, n_bad = sum(rating.score == 1 for rating in ratings), sum(rating.score == 0 for rating in ratings)
        n_yes, n_no = (n_good, n_bad) if question_of(question).better == "yes" else (n_bad, n_good)
        n_inapplicable = sum(not rating.applies for rating in ratings)
        answer_counts[question.id] = {"yes": n_yes, "no": n_no, "n/a": n_inapplicable}
    drops_by_labels = settings.filter == "model and labels"
    learned = learn_from_answers(
        part,
        training_input,
        ratings_of_texts,
        tuple(tuple(by_id.values()) for by_id in ratings_of_texts),
        answer_counts=answer_counts,
        score=lambda ratings, selected: scoring.text_score(selected, ratings, assignment.scale),
        drop=functools.partial(questions_to_drop, end_share=END_SHARE) if drops_by_labels else None,
        cross_validate=drops_by_labels and bool(texts),
    )
    on_progress(f"{len(learned.part.criteria)} questions kept", 1.0)
    # Labels influenced the scores also if questions were made from raters' reasons, which are shown with labels.
    optimistic = learned.optimistic or any(question.evidence.examples for question in learned.part.criteria)
    return replace(learned, optimistic=optimistic, notes=(*failures, *notes, *learned.notes))


def learning_calls(training_input: TrainingInput, settings: scoring.CheckEvalSettings) -> LearningCalls:
    n_subs, n_seeds = MAX_SUB_DIMENSIONS, MAX_SUB_DIMENSIONS * SEEDS_EACH
    generator_calls = 1 if settings.seeds == "prior knowledge" else 0
    if settings.seeds == "checklist":
        checklist = _checklist_with_limited_seeds(training_input, settings)
        n_subs, n_seeds = len(checklist.sub_dimensions), len(checklist.questions)
    follows_paper = settings.procedure == "paper"  # one call about all sub-dimensions, not one about each
    if settings.diversified:
        generator_calls += 1 if follows_paper else n_subs
    if settings.elaborated_most:
        generator_calls += n_seeds
    if settings.filter != "off":
        generator_calls += 1 if follows_paper else n_subs + 1
    n_questions = min(settings.most, n_seeds + n_subs * settings.diversified + n_seeds * settings.elaborated_most)
    calls_per_text = {"together": 1, "by sub-dimension": n_subs, "one by one": n_questions}
    return LearningCalls(
        len(training_input.examples) * calls_per_text[settings.ask],
        generator=generator_calls,
        jointly_rated_criteria=n_questions if training_input.jointly_rated_examples else 0,
    )


CHECKEVAL = Method(
    name="checkeval",
    note="a checklist of yes/no questions",
    settings=scoring.CheckEvalSettings,
    presets=scoring.PRESETS,
    prompts=(
        "checkeval/seeds",
        "checkeval/diversify",
        "checkeval/diversify_dimension",
        "checkeval/elaborate",
        "checkeval/filter",
        "checkeval/filter_dimension",
        "deduplication/group",
        "checkeval/answer",
    ),
    learn=learn,
    score=scoring.score,
    learning_calls=learning_calls,
    criterion_kind="question",
    # In a call about the criteria of several methods, each answer has a reason.
    shares_call=lambda settings: scoring.CheckEvalSettings.model_validate(settings).answers == "with reasons",
    generator_sees_reasons=lambda settings: settings.diversified > 0 and settings.procedure == "improved",
    # The paper finds asking together and one by one about equal. Beside other methods, 14 questions are enough.
    joint_settings={"ask": "together", "most": 14},
    leaves_rating_to_joint_training=lambda _settings: True,
    needs_labels=False,
    checklists="checklists",  # the folder stores/checklists
    needs_checklist=lambda settings: settings.seeds == "checklist",
)

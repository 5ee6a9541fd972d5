"""Candidate criteria of several methods, with the rating of each labelled text by each criterion.

1. `find_candidates` runs the methods. Criteria that a method dropped are candidates too, so that cross-validation can
   repeat the selection without the labels of a fold.
2. `add_earlier` adds the criteria of an earlier rubric.
3. `rate_in_joint_calls` rates the texts in joint calls: by the criteria of all methods at once, as scoring does. It
   first tries such calls on a few texts (`usable_form`): some small models cannot rate by twenty criteria at once.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import math
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from pydantic import BaseModel

from rubriclab.errors import DataError, JudgeError, SettingsError
from rubriclab.judges.judge import Judge, JudgeAnswer, ask
from rubriclab.judges.providers import estimated_tokens
from rubriclab.learning.estimate import calls_per_text
from rubriclab.learning.matrix import RatingMatrix, rating_matrix
from rubriclab.learning.scoring import ratings_of_texts
from rubriclab.methods import method as interface
from rubriclab.methods.prompting import chunks
from rubriclab.methods.questions import question_of
from rubriclab.methods.single_call import can_share_call, judge_prompt, split_criteria, split_texts, usable_ratings
from rubriclab.models.aggregation import Bounds, CallForm, CallGrouping, RivalLimits
from rubriclab.models.evaluation import DIRECT
from rubriclab.models.rubric import Criterion, DroppedCriterion, Part
from rubriclab.models.text import Assignment, Example, sort_by_content
from rubriclab.models.version import Candidate, Cell
from rubriclab.prompts import render
from rubriclab.prompts.prompt import KeyedReply, Prompt
from rubriclab.stats.correlation import FloatArray, float_table, floats

# A cell is a text's rating by a candidate. `NOT_RATED` stands for a missing rating, until joint calls rate the text.
NOT_RATED_REASON = "the method did not have this text rated, since its prompts show it as an example"
NOT_RATED = Cell(score=None, reason=NOT_RATED_REASON, applies=False)


@dataclass(frozen=True, slots=True)
class Plan:
    method: interface.Method
    training_input: interface.TrainingInput
    settings: BaseModel


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidate criteria with their ratings of the labelled texts, and the parts that the methods learned.

    Attributes:
        candidates: the columns of `cells`, part by part, with unique ids; `kept` is false for all.
        cells: each text's rating by each candidate, from the method's own calls if it made any, else from joint calls.
        joint_ratings: as `cells`, but with ratings from joint calls for `joinable_criteria`; empty without such calls.
        bounds: the lowest and highest weight that a person allows, by criterion id.
        group_limits: how many texts of one group (rivals) a call has at most; `None` if each call was about one text.
        simpler_form: the form of calls about one text; `None` for the usual form (all criteria at once, with reasons).
    """

    examples: tuple[Example, ...]
    candidates: tuple[Candidate, ...]
    cells: tuple[tuple[Cell, ...], ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    joint_ratings: tuple[tuple[Cell, ...], ...] = ()
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    group_limits: RivalLimits | None = None
    simpler_form: CallForm | None = None

    @functools.cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(candidate.criterion.id for candidate in self.candidates)

    @property
    def joinable_criteria(self) -> list[Criterion]:
        """The candidates by which joint calls can rate texts."""
        methods = {part.method for part in self.parts if can_share_call(part)}
        return [candidate.criterion for candidate in self.candidates if candidate.method in methods]

    def cells_for(self, grouping: CallGrouping) -> tuple[tuple[Cell, ...], ...]:
        return self.joint_ratings if grouping == "in one call" and self.joint_ratings else self.cells

    def table(self, assignment: Assignment, grouping: CallGrouping) -> RatingMatrix:
        values = float_table(([cell.score for cell in row] for row in self.cells_for(grouping)), len(self.candidates))
        labels = floats(example.scores[assignment.aspect.name] for example in self.examples)
        return rating_matrix(self.candidates, values, self.examples, labels, assignment, bounds=self.bounds)

    def calls_per_text(self, kept_ids: Collection[str], assignment: Assignment, grouping: CallGrouping) -> float:
        """Return how many calls rate a text by the candidates with these ids, as the mean over all texts."""
        parts = self.parts_with(kept_ids)
        if self.group_limits and grouping == "in one call":
            return len(split_texts(self.examples, parts, assignment, self.group_limits)) / len(self.examples)
        return calls_per_text(parts, grouping, assignment, self.examples, self.simpler_form)

    def parts_with(self, kept_ids: Collection[str], reasons: Mapping[str, str] | None = None) -> tuple[Part, ...]:
        """Return the parts that have kept criteria; `reasons` has, by id, why each other criterion is dropped."""
        parts = []
        for part in self.parts:
            criteria = (candidate.criterion for candidate in self.candidates if candidate.method == part.method)
            kept_criteria = tuple(criterion for criterion in criteria if criterion.id in kept_ids)
            if kept_criteria:
                dropped = tuple(self.dropped_criteria(part, kept_ids, reasons or {}))
                parts.append(part.model_copy(update={"criteria": kept_criteria, "dropped": dropped}))
        return tuple(parts)

    def dropped_criteria(
        self, part: Part, kept_ids: Collection[str], reasons: Mapping[str, str]
    ) -> Iterator[DroppedCriterion]:
        """Yield the criteria of a part that are not kept, each with its reason in `reasons` or the method's reason."""
        method_reasons = {dropped.criterion.id: dropped.reason for dropped in part.dropped}
        candidate_criteria = {candidate.criterion.id: candidate.criterion for candidate in self.candidates}
        for criterion in all_criteria(part):
            if criterion.id not in kept_ids:
                reason = reasons.get(criterion.id) or method_reasons.get(criterion.id, "not chosen")
                yield DroppedCriterion(criterion=candidate_criteria.get(criterion.id, criterion), reason=reason)


async def find_candidates(
    plans: Sequence[Plan],
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    proposals_only: bool = False,
    on_progress: interface.Progress = interface.ignore_progress,
) -> Candidates:
    """Run the methods one after the other; return the criteria that they rated or, with `proposals_only`, proposed."""
    texts = plans[0].training_input.in_order  # `in_order`: sorted by content
    if not texts:
        raise DataError("Criteria of several methods are selected and weighted by labelled texts; got none.")
    for plan in plans:
        if getattr(plan.settings, "ask", None) == "concatenated":
            raise SettingsError(
                f"{plan.method.name}.ask is 'concatenated': one score by all criteria leaves nothing to weigh.",
                f"Set {plan.method.name}.ask to 'together' or 'separately'.",
            )
    plans = list(map(leave_rating_to_joint_calls, plans)) if proposals_only else plans
    results, failures = list[interface.Learned](), dict[str, JudgeError]()
    for number, plan in enumerate(plans):

        def report(stage: str, share: float, name: str = plan.method.name, number: int = number) -> None:
            on_progress(f"{name}: {stage}", (number + share) / len(plans))

        report("starting", 0.0)
        try:
            learned = await plan.method.learn(
                plan.training_input, plan.settings, judge=judge, generator=generator, seed=seed, on_progress=report
            )
            results.append(learned)
        except JudgeError as error:
            # A subclass of JudgeError (no key, a limit reached, a refusal) would stop every method. A holistic method
            # may fail, since the criteria of the other methods are enough for a rubric.
            if type(error) is not JudgeError or plan.method.criterion_kind != "score":
                raise
            failures[plan.method.name] = error
    if not results:
        raise next(iter(failures.values()))
    parts, candidates, columns = list[Part](), list[Candidate](), list[list[Cell]]()
    for learned, new_ids in zip(results, unique_ids([learned.part for learned in results]), strict=True):
        part = rename_criteria(learned.part, new_ids)
        parts.append(part)
        criteria_by_id = {criterion.id: criterion for criterion in all_criteria(part)}
        ratings_by_text = dict(zip(learned.examples, learned.ratings, strict=True))
        # All criteria that the method rated are candidates: its own selection depends on the labels of all folds.
        for column, old_id in enumerate(learned.candidates):
            candidates.append(_candidate(part.method, criteria_by_id[new_ids[old_id]]))
            cells = {text_id: rating_cell(ratings[column]) for text_id, ratings in ratings_by_text.items()}
            columns.append([cells.get(text.id, NOT_RATED) for text in texts])
    return Candidates(
        examples=texts,
        candidates=tuple(candidates),
        cells=tuple(zip(*columns, strict=True)),
        parts=tuple(parts),
        notes=(
            *(f"{name} is left out: {error.text}" for name, error in failures.items()),
            *(f"{learned.part.method}: {note}" for learned in results for note in learned.notes),
        ),
    )


def leave_rating_to_joint_calls(plan: Plan) -> Plan:
    """Return the plan, without texts to rate if its method leaves rating to joint calls."""
    if not plan.method.leaves_rating_to_joint_training(plan.settings):
        return plan
    texts = plan.training_input.examples
    return replace(plan, training_input=replace(plan.training_input, examples=(), jointly_rated_examples=texts))


def _candidate(method: str, criterion: Criterion) -> Candidate:
    made_from = tuple(sorted(criterion.evidence.examples))
    return Candidate(method=method, criterion=criterion, kept=False, made_from=made_from)


def rating_cell(rating: interface.CriterionRating) -> Cell:
    # Equal reasons share memory.
    return Cell(score=rating.score, reason=sys.intern(rating.reason), applies=rating.applies)


def all_criteria(part: Part) -> tuple[Criterion, ...]:
    return (*part.criteria, *(dropped.criterion for dropped in part.dropped))


def unique_ids(parts: Sequence[Part]) -> list[dict[str, str]]:
    """Return for each part the new id of each criterion, by the old id; new ids are unique over all parts.

    A text feature keeps its id. A holistic criterion gets its method's name. An id in use is changed to METHOD.ID.
    """
    used_ids = {each.id for part in parts for each in all_criteria(part) if each.kind == "feature"}
    ids_by_part = []
    for part in parts:
        new_ids = {}
        for criterion in all_criteria(part):
            new_id = part.method if criterion.kind == "score" and criterion is part.criteria[0] else criterion.id
            if criterion.kind != "feature":
                if new_id in used_ids:
                    new_id = f"{part.method}.{criterion.id}"
                while new_id in used_ids:
                    new_id += "'"
            new_ids[criterion.id] = new_id
            used_ids.add(new_id)
        ids_by_part.append(new_ids)
    return ids_by_part


def rename_criteria(part: Part, id_map: Mapping[str, str]) -> Part:
    """Return the part with new ids by `id_map` (old id to new id), also in the reasons of dropped criteria."""
    new_ids = {old: new for old, new in id_map.items() if old != new}
    if not new_ids:
        return part
    old_id_pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, new_ids))})(?![\w-])")

    def rename(criterion: Criterion) -> Criterion:
        question = criterion.question
        if question and question.seed:
            question = question.model_copy(update={"seed": new_ids.get(question.seed, question.seed)})
        return criterion.model_copy(update={"id": new_ids.get(criterion.id, criterion.id), "question": question})

    dropped = (
        DroppedCriterion(
            criterion=rename(each.criterion), reason=old_id_pattern.sub(lambda match: new_ids[match[0]], each.reason)
        )
        for each in part.dropped
    )
    return part.model_copy(update={"criteria": tuple(map(rename, part.criteria)), "dropped": tuple(dropped)})


@dataclass(frozen=True, eq=False)
class EarlierRubric:
    """The parts of an earlier rubric; `cells` has its rating of each new labelled text, by text id and criterion id."""

    parts: tuple[Part, ...]
    cells: Mapping[str, Mapping[str, Cell]]


def add_earlier(candidates: Candidates, earlier: EarlierRubric) -> Candidates:
    """Return the candidates, followed by the criteria of an earlier rubric that were not proposed again."""
    parts = {part.method: part for part in candidates.parts}
    all_candidates, taken_ids = list(candidates.candidates), set(candidates.ids)
    rows = [list(row) for row in candidates.cells]
    for old_part in earlier.parts:
        part = parts.get(old_part.method, old_part.model_copy(update={"criteria": (), "dropped": ()}))
        proposed_wordings = {(each.kind, each.trait, each.statement) for each in all_criteria(part)}
        for criterion in old_part.criteria:
            if (criterion.kind, criterion.trait, criterion.statement) in proposed_wordings:
                continue
            if criterion.kind == "score" and part.criteria:  # one holistic criterion of a method is enough
                continue
            new_id = f"earlier.{criterion.id}" if criterion.id in taken_ids else criterion.id
            taken_ids.add(new_id)
            added = criterion.model_copy(update={"id": new_id})
            all_candidates.append(Candidate(method=part.method, criterion=added, kept=False))
            for row, example in zip(rows, candidates.examples, strict=True):
                row.append(earlier.cells[example.id][criterion.id])
            part = part.model_copy(update={"criteria": (*part.criteria, added)})
        if part.criteria:
            dimensions = {**(old_part.dimensions or {}), **(part.dimensions or {})}
            parts[part.method] = part.model_copy(update={"dimensions": dimensions or None})
    cells = tuple(map(tuple, rows))
    return replace(candidates, candidates=tuple(all_candidates), cells=cells, parts=tuple(parts.values()))


USUAL_CALLS = 5  # number of texts with which the usual form of a call, about all criteria at once, is tried
# Simpler forms, tried in turn if no reply in the usual form can be used.
SIMPLER_FORMS = (*(CallForm(criteria=number) for number in (10, 5, 2, 1)), CallForm(criteria=1, reasons=False))
# Simpler forms, tried in turn if all scores in the usual form are equal, and the number of texts in all these trials.
SIMPLER_IF_EQUAL, SIMPLER_CALLS = (CallForm(criteria=5), CallForm(criteria=1)), 5
MAX_QUOTED = 200  # maximum number of characters that a message quotes from a reply


@dataclass(frozen=True)
class UsableForm:
    """A form of calls, `None` for the usual form; `note` is empty unless the usual form has problems."""

    form: CallForm | None = None
    # By text id, the ratings of each text for which a call in the usual form gave ratings by all criteria.
    ratings: Mapping[str, tuple[interface.CriterionRating, ...]] = field(default_factory=dict)
    note: str = ""


async def usable_form(
    examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment, judge: Judge, total_criteria: int
) -> UsableForm:
    """Return a usable form of calls, else raise JudgeError; texts will be rated by `total_criteria` criteria in all."""
    criteria_by_id = {criterion.id: criterion for part in parts for criterion in part.criteria}
    usual_count = len(criteria_by_id)
    labels = {example.id: example.scores[assignment.aspect.name] for example in examples}

    def prompt_in(form: CallForm | None, text: Example) -> Prompt[KeyedReply]:
        if form is None:
            return judge_prompt(text, parts, assignment)
        return judge_prompt(text, split_criteria(parts, form.criteria)[0], assignment, with_reasons=form.reasons)

    async def answers_in(form: CallForm | None, texts: Iterable[Example]) -> list[JudgeAnswer[KeyedReply]]:
        return await asyncio.gather(*(ask(judge, prompt_in(form, text), repair=False) for text in texts))

    def scores_differ(answers: Iterable[JudgeAnswer[KeyedReply]]) -> bool:
        ratings_by_text = [usable_ratings(answer.value, criteria_by_id) for answer in answers if answer.value]
        return not have_equal_scores([row[each] for row in ratings_by_text if each in row] for each in criteria_by_id)

    def simpler_form(form: CallForm, reason: str) -> UsableForm:
        calls = len(examples) * math.ceil(total_criteria / form.criteria)
        tokens = calls * estimated_tokens(render(prompt_in(form, examples[0])))
        note = (
            f"{reason}; the judge is now asked for {form}, so {len(examples)} texts by {total_criteria} criteria take "
            f"about {calls:,} calls and {tokens:,} prompt tokens"
        )
        return UsableForm(form, note=note)

    # Try the usual form with texts whose labels differ.
    lowest_label_first = sorted(sort_by_content(examples), key=lambda example: labels[example.id])
    texts = interface.pick_evenly(lowest_label_first, USUAL_CALLS)
    answers = await answers_in(None, texts)
    # If the judge replied but no reply can be used, try simpler forms, with one text each.
    replied = [answer for answer in answers if answer.replied]
    if replied and not any(answer.value for answer in answers):
        answer, problem = replied[0], replied[0].missing
        forms = [form for form in SIMPLER_FORMS if form.criteria < usual_count or not form.reasons]
        for form, text in zip(forms, itertools.cycle(texts), strict=False):
            answer = (await answers_in(form, [text]))[0]
            if answer.value:
                return simpler_form(form, f"replies about {usual_count} criteria at once could not be used ({problem})")
        beginning = answer.reply.text.strip()[:MAX_QUOTED] if answer.reply else ""
        raise JudgeError(
            f"The judge gave no usable rating of {len(texts)} texts in any form, from {usual_count} criteria a call to "
            f"{forms[-1]}. The last reply began {beginning!r}; {answer.missing}",
            "Try another `judge`.",
        )
    rated_texts, complete_ratings = list[Example](), dict[str, tuple[interface.CriterionRating, ...]]()
    for text, answer in zip(texts, answers, strict=True):
        if answer.value:
            rated_texts.append(text)
            ratings = usable_ratings(answer.value, criteria_by_id)
            if len(ratings) == usual_count:
                complete_ratings[text.id] = tuple(ratings[each] for each in criteria_by_id)
    # Equal scores of texts with equal labels may be right.
    if len({labels[text.id] for text in rated_texts}) < 2 or scores_differ(answers):
        return UsableForm(ratings=complete_ratings)
    # If all scores are equal although labels differ, try simpler forms; each needs two texts.
    reason = f"asked about {usual_count} criteria at once, the judge gave every text the same value for each criterion"
    forms = [form for form in SIMPLER_IF_EQUAL if form.criteria < usual_count]
    calls_left = SIMPLER_CALLS
    for number, form in enumerate(forms):
        sample = interface.pick_evenly(rated_texts, calls_left // (len(forms) - number))
        calls_left -= len(sample)
        if scores_differ(await answers_in(form, sample)):
            return simpler_form(form, reason)
    simpler_tried = f", also with {' and '.join(map(str, forms))}" if forms else ""
    return UsableForm(ratings=complete_ratings, note=f"{reason}{simpler_tried}")


def have_equal_scores(columns: Iterable[Iterable[interface.CriterionRating | Cell]]) -> bool:
    """Return whether the scores in each column are equal; missing scores do not count."""
    return all(len({rated.score for rated in column} - {None}) <= 1 for column in columns)


MAX_CRITERIA_PER_CALL = 20  # in longer replies the judge's reasons become stereotyped
EQUAL_RIVALS_NOTE = (
    "in calls about several texts the judge gave every text the same value for each criterion, so each text is rated "
    "in a call of its own"
)


async def rate_in_joint_calls(
    candidates: Candidates,
    plans: Sequence[Plan],
    *,
    judge: Judge,
    generator: Judge,
    group_limits: RivalLimits | None = None,
    on_progress: interface.Progress = interface.ignore_progress,
) -> Candidates:
    """Return the candidates with ratings from joint calls, each about at most `MAX_CRITERIA_PER_CALL` criteria."""
    assignment, examples = plans[0].training_input.assignment, candidates.examples
    kinds_in_order = ("score", "hypothesis", "question")
    joinable = sorted(candidates.joinable_criteria, key=lambda criterion: kinds_in_order.index(criterion.kind))
    # The first call about each text rates it as a whole and by the first criteria.
    first_ids = [criterion.id for criterion in joinable[:MAX_CRITERIA_PER_CALL]]
    on_progress(f"rating {len(examples)} texts by {len(first_ids)} criteria at once", 0.0)
    ratings_of_trial: Mapping[str, tuple[interface.CriterionRating, ...]] = {}
    if group_limits is None:
        usable = await usable_form(examples, candidates.parts_with(first_ids), assignment, judge, len(joinable))
        ratings_of_trial, candidates = usable.ratings, replace(candidates, simpler_form=usable.form)
        if usable.note:
            candidates = replace(candidates, notes=(*candidates.notes, usable.note))
            on_progress(usable.note, 0.0)

    async def rate(ids: Sequence[str], known: Mapping[str, Sequence[interface.CriterionRating]]) -> dict[str, Any]:
        """Return the columns of ratings by criterion id; texts with `known` ratings are not rated again."""
        texts, parts = [example for example in examples if example.id not in known], candidates.parts_with(ids)
        form = candidates.simpler_form
        rated = await ratings_of_texts(texts, parts, "in one call", assignment, judge, limits=group_limits, form=form)
        ratings_by_text = {**known, **{text.id: ratings for text, ratings in zip(texts, rated, strict=True)}}
        return _columns([ratings_by_text[example.id] for example in examples])

    columns = await rate(first_ids, ratings_of_trial)
    if all(cell.score is None for column in columns.values() for cell in column):
        reason = next(cell.reason for column in columns.values() for cell in column)
        raise JudgeError(f"No usable rating in one call: {reason}", "Try another `judge`.")
    if group_limits and have_equal_scores(columns.values()):
        with_note = replace(candidates, notes=(*candidates.notes, EQUAL_RIVALS_NOTE))
        return await rate_in_joint_calls(with_note, plans, judge=judge, generator=generator, on_progress=on_progress)
    # Some methods propose more criteria from these ratings. Then texts are rated by every criterion without ratings.
    candidates = await _extend_criteria(candidates, columns, plans, judge, generator)
    more_ids = [criterion.id for criterion in candidates.joinable_criteria if criterion.id not in columns]
    ids_by_call = chunks(more_ids, MAX_CRITERIA_PER_CALL)
    on_progress(f"rating {len(examples)} texts by {len(more_ids)} more criteria", 0.5)
    for more_columns in await asyncio.gather(*(rate(ids, {}) for ids in ids_by_call)):
        columns |= more_columns
    # In scoring, no call gets more texts than the largest of these calls, even if it is about fewer criteria.
    if group_limits:
        parts_by_call = [candidates.parts_with(ids) for ids in (first_ids, *ids_by_call)]
        calls = [call for parts in parts_by_call for call in split_texts(examples, parts, assignment, group_limits)]
        group_limits = RivalLimits(texts=max(2, *map(len, calls)))  # a limit is at least 2
    return await _add_joint_ratings(replace(candidates, group_limits=group_limits), columns, assignment, judge)


async def _add_joint_ratings(
    candidates: Candidates, columns: Mapping[str, Sequence[Cell]], assignment: Assignment, judge: Judge
) -> Candidates:
    """Return the candidates with `columns` as joint ratings, and also as `cells` of criteria that had no ratings."""
    examples = candidates.examples
    old_columns: dict[str, Sequence[Cell]] = dict(zip(candidates.ids, zip(*candidates.cells, strict=True), strict=True))
    unrated_ids = {each for each, cells in old_columns.items() if all(cell is NOT_RATED for cell in cells)}
    filled_columns = {each: cells for each, cells in columns.items() if each in unrated_ids}
    # The gate needs the scores by the judge asked directly. If they are not known yet, request them here.
    direct_ids = [candidate.criterion.id for candidate in candidates.candidates if candidate.method == DIRECT]
    if not unrated_ids.isdisjoint(direct_ids):
        parts = list(candidates.parts_with(unrated_ids.intersection(direct_ids)))
        if candidates.simpler_form and not candidates.simpler_form.reasons:
            parts = [part.model_copy(update={"settings": {**part.settings, "form": "score only"}}) for part in parts]
        filled_columns |= _columns(await ratings_of_texts(examples, parts, "by method", assignment, judge))
    labels = floats(example.scores[assignment.aspect.name] for example in examples)
    rated_candidates = list(candidates.candidates)
    for index, criterion_id in enumerate(candidates.ids):
        if criterion_id in unrated_ids and criterion_id in columns:
            rated_candidates[index] = _with_agreement(rated_candidates[index], columns[criterion_id], labels)
    cells = tuple(zip(*(old_columns | filled_columns).values(), strict=True))
    joint_ratings = tuple(zip(*{**old_columns, **columns}.values(), strict=True))
    return replace(candidates, candidates=tuple(rated_candidates), cells=cells, joint_ratings=joint_ratings)


def _columns(ratings: Sequence[Sequence[interface.CriterionRating]]) -> dict[str, list[Cell]]:
    """Return the columns of ratings by criterion id; `ratings` has a row for each text."""
    return {column[0].id: [rating_cell(rating) for rating in column] for column in zip(*ratings, strict=True)}


async def _extend_criteria(
    candidates: Candidates, columns: Mapping[str, Sequence[Cell]], plans: Sequence[Plan], judge: Judge, generator: Judge
) -> Candidates:
    """Return the candidates, followed by the criteria that methods propose from the ratings in `columns`."""
    ratings: dict[str, dict[str, float]] = {}
    for row, text in enumerate(candidates.examples):
        scores = {criterion_id: cells[row].score for criterion_id, cells in columns.items()}
        ratings[text.id] = {criterion_id: score for criterion_id, score in scores.items() if score is not None}
    for plan in plans:
        if not (plan.method.extend and plan.method.leaves_rating_to_joint_training(plan.settings)):
            continue
        (rated_part,) = (each for each in candidates.parts_with(candidates.ids) if each.method == plan.method.name)
        proposed, notes = await plan.method.extend(
            rated_part, ratings, plan.training_input, plan.settings, judge=judge, generator=generator
        )
        proposed = rename_criteria(proposed, unique_ids([*candidates.parts, proposed])[-1])
        parts = list(candidates.parts)
        for index, part in enumerate(parts):
            if part.method == proposed.method:
                update = {"criteria": part.criteria + proposed.criteria, "dropped": part.dropped + proposed.dropped}
                parts[index] = part.model_copy(update=update)
        candidates = replace(
            candidates,
            candidates=(*candidates.candidates, *(_candidate(proposed.method, each) for each in proposed.criteria)),
            cells=tuple((*row, *[NOT_RATED] * len(proposed.criteria)) for row in candidates.cells),
            parts=tuple(parts),
            notes=(*candidates.notes, *(f"{plan.method.name}: {note}" for note in notes)),
        )
    return candidates


def _with_agreement(candidate: Candidate, cells: Sequence[Cell], labels: FloatArray) -> Candidate:
    """Return the candidate with the evidence for its criterion: how its ratings (`cells`) agree with the labels."""
    criterion = candidate.criterion
    scores = floats(cell.score for cell in cells)
    n_scores, n_inapplicable = int((~np.isnan(scores)).sum()), sum(not cell.applies for cell in cells)
    answers = None
    if criterion.kind == "question":
        n_good_answers = int(np.nansum(scores))
        n_yes = n_good_answers if question_of(criterion).better == "yes" else n_scores - n_good_answers
        answers = {"yes": n_yes, "no": n_scores - n_yes, "n/a": n_inapplicable}
    measured = interface.with_agreement(criterion, scores, labels, len(cells) - n_inapplicable, answers)
    return candidate.model_copy(update={"criterion": measured})

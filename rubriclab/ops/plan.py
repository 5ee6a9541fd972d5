"""Which texts to label next. How many labels would decide is in `rubriclab.learning.labels_needed`."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rubriclab.data.check import first_faults
from rubriclab.data.readers import Rows
from rubriclab.data.rows import RowError
from rubriclab.display import Displayed
from rubriclab.errors import DataError, JudgeError, NotInStore
from rubriclab.learning.matrix import centers_and_spreads, standardise
from rubriclab.models import text as text_model
from rubriclab.models.characters import count
from rubriclab.models.rubric import Criterion, Rubric
from rubriclab.models.version import Effort, TrainingRecord, Version
from rubriclab.ops.inputs import Data, notify_faulty, rows_of
from rubriclab.ops.options import PlanOptions, ScoreOptions
from rubriclab.ops.score import Scoring
from rubriclab.ops.versions import missing_record
from rubriclab.ops.workspace import Job, Notify, Workspace, choose_judge, load_version
from rubriclab.stats.correlation import FloatArray, IntArray, float_table
from rubriclab.stats.intervals import DIGITS

DEFAULT_COUNT = 10


@dataclass(frozen=True, repr=False)
class PlanResult(Displayed):
    """The texts to label in order, chosen from `pool` texts, and the effort."""

    version: Version
    texts: tuple[PlannedText, ...]
    pool: int
    effort: Effort

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rows to label, unchanged but for the reasons in `plan`."""
        from rubriclab.report.results import plan_reason

        return [
            {**each.text.row, "plan": {"rank": each.rank, "new_group": each.new_group, "why": plan_reason(each)}}
            for each in self.texts
        ]


def plan(workspace: Workspace, data: Data, rubric: str | Version, options: PlanOptions) -> Job[PlanResult]:
    """Return which texts to label next so that the rubric improves most; labelled texts are left out."""
    rows = rows_of(data, options, workspace.notify)
    version = load_version(workspace, rubric)
    record = workspace.store.training(version.ref)
    if record is None or version.rubric.aggregation is None:
        hint = "Learn the rubric again from these texts, without `methods`, in this store."
        raise NotInStore(f"Planning takes the ratings of training texts. {missing_record(version)}", hint)
    choice = choose_judge(version, options.judge, workspace.store, workspace.notify)
    pool = _pool(rows, version, options, workspace.notify)
    examples = [text.example for text in pool]
    scoring = Scoring(workspace, examples, version.rubric, version.ref, choice, ScoreOptions())

    async def run() -> PlanResult:
        scores = [each.score async for each in scoring.stream()]
        rated = [
            replace(text, ratings={rating.id: rating.score for rating in score.criteria if rating.applies})
            for text, score in zip(pool, scores, strict=True)
            if not score.unscored
        ]
        reasons = [score.unscored for score in scores if score.unscored]
        if reasons:
            if not rated:
                raise JudgeError(f"None of {len(reasons)} texts could be scored; the latest reason: {reasons[-1]}")
            unscored = f"{count(len(reasons), 'text')} that could not be scored"
            workspace.notify(f"left out: {unscored}; the latest reason: {reasons[-1]}")
        labelling_plan = make_plan(version.rubric, record, rated, options.count or DEFAULT_COUNT)
        validation = version.provenance.validation
        deciding = validation.deciding if validation else None
        if version.deciding_evaluation:
            deciding = version.deciding_evaluation.verdict
        lacking = deciding.lacking_groups if deciding and deciding.overall == "inconclusive" else None
        new_groups = {text.example.group for text in rated} - {text.group for text in record.texts}
        if lacking and len(new_groups) < lacking:
            lack = f"a verdict needs labels of at least {count(lacking, 'more group')}"
            workspace.notify(f"{lack}, and these texts are of {count(len(new_groups), 'new group')}")
        return PlanResult(version, labelling_plan, len(rated), workspace.effort())

    return Job(scoring.estimate, run)


def _pool(rows: Rows, version: Version, options: PlanOptions, notify: Notify) -> tuple[PoolText, ...]:
    """Return the texts to rate, and notify of rows left out; memory holds the digests of all texts, but few rows."""
    trained_on, aspect = frozenset(version.provenance.texts), version.rubric.aspect.name
    faults, counts = list[str](), Counter[str]()
    # A sample by digests is as good as a random one, and does not depend on the order of the rows.
    distinct, sampled, sample = set[str](), list[str](), dict[str, PoolText]()
    for row in rows:
        if isinstance(row, RowError):
            faults.append(str(row))
            continue
        key, text = text_model.words_digest(row), PoolText(row, rows.row)
        if key in trained_on or aspect in row.scores:
            counts["learned" if key in trained_on else "labelled"] += 1
            continue
        counts["usable"] += 1
        distinct.add(key)
        if key in sample:
            sample[key] = min(sample[key], text, key=lambda each: each.example.id)
            continue
        bisect.insort(sampled, key)
        sample[key] = text
        if len(sampled) > options.sample:
            del sample[sampled.pop()]
    pool = tuple(sample[key] for key in sampled)
    notify_faulty(rows, notify)
    for fault in first_faults(faults):
        notify(f"left out: {fault}")
    left_out = (
        (counts["learned"], "text", f" that {version.ref} has learned from"),
        (counts["labelled"], "text", f" with a label that {version.ref} has not learned from yet"),
        (counts["usable"] - len(distinct), "row", " with the same text as another one"),
    )
    for number, noun, why in left_out:
        if number > 0:
            notify(f"left out: {count(number, noun)}{why}")
    if len(pool) < len(distinct):
        notify(f"rating {count(len(pool), 'text')} of {len(distinct):,} (`sample`)")
    labelled = counts["learned"] + counts["labelled"]
    if not pool and labelled:
        raise DataError(f"All {labelled} usable rows have a label for {aspect!r} already.", "Give texts without one.")
    if not pool:
        raise DataError(f"None of {count(len(faults), 'row')} can be used.", *faults[:1])
    if options.count is not None and options.count > len(pool):
        problem = f"`count={options.count}` is more than the {count(len(pool), 'text')} to choose from"
        raise DataError(f"{problem}.", "Give a smaller one, or more texts (`sample` bounds how many are rated).")
    return pool


@dataclass(frozen=True, slots=True)
class PoolText:
    example: text_model.Example
    row: Any = None
    ratings: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedText:
    """A text to label; `new_group` if no text of its group is labelled yet.

    `unusual` is the criterion whose rating makes the text most unusual: the distance from `mean`, the mean rating of
    labelled texts, times the weight is largest.
    """

    rank: int
    text: PoolText
    new_group: bool
    unusual: Criterion | None
    mean: float


def make_plan(rubric: Rubric, record: TrainingRecord, pool: Sequence[PoolText], count: int) -> tuple[PlannedText, ...]:
    """Return which texts of the pool to label next, independent of the pool's order; see `select_texts`."""
    terms = rubric.aggregation.terms if rubric.aggregation else ()
    names = ("id", "group", "output", "source", "context")
    ordered = sorted(pool, key=lambda text: [getattr(text.example, name) or "" for name in names])
    ratings = float_table(([text.ratings.get(term.criterion) for term in terms] for text in ordered), len(terms))
    column_of = {candidate.criterion.id: column for column, candidate in enumerate(record.candidates)}
    labelled_ratings = record.matrix[:, [column_of[term.criterion] for term in terms]]
    absolute_weights = np.abs([term.weight for term in terms])
    shares = absolute_weights / absolute_weights.sum()
    # Both matrices are standardised over all texts together; missing ratings become 0.
    scale = centers_and_spreads(np.vstack([ratings, labelled_ratings]))
    z, labelled_z = standardise(ratings, *scale), standardise(labelled_ratings, *scale)
    groups, labelled_groups = [text.example.group for text in ordered], [text.group for text in record.texts]
    criteria = {criterion.id: criterion for criterion in rubric.criteria}
    texts: list[PlannedText] = []
    for row in select_texts(z, groups, labelled_z, labelled_groups, shares)[:count]:
        distances = shares * np.abs(z[row])
        column = int(np.argmax(distances))
        unusual = criteria[terms[column].criterion] if distances[column] > 0 else None
        mean = round(float(np.nanmean(labelled_ratings[:, column])), DIGITS)
        is_new_group = groups[row] not in labelled_groups
        texts.append(PlannedText(len(texts) + 1, ordered[row], is_new_group, unusual, mean))
    return tuple(texts)


def select_texts(
    pool: FloatArray, groups: Sequence[str], labelled: FloatArray, labelled_groups: Sequence[str], shares: FloatArray
) -> list[int]:
    """Return the rows of the pool in the order of labelling.

    Groups without any label come first. The next group is always the one whose mean ratings are farthest from those of
    all groups labelled or selected before (farthest-first traversal: Gonzalez 1985, "Clustering to minimize the maximum
    intercluster distance", Theoretical Computer Science 38). Within a group, the text farthest from the mean of all
    texts comes first. Labels of whole groups raise agreement within groups more than scattered labels; V-optimality
    added nothing in our measurements.

    `pool` and `labelled` are standardised ratings, shape (texts, criteria); `shares` of the criteria have the sum 1.
    """
    points, labelled_points = pool * np.sqrt(shares), labelled * np.sqrt(shares)
    names, rows, means = _group_means(points, groups)
    _, _, covered = _group_means(labelled_points, labelled_groups)
    distance = np.linalg.norm(means[:, np.newaxis] - covered, axis=2).min(axis=1)
    labelled_already = np.isin(names, list(labelled_groups))
    remaining = np.ones(len(names), dtype=bool)
    selected_rows: list[int] = []
    while remaining.any():
        unlabelled = remaining & ~labelled_already
        eligible = unlabelled if unlabelled.any() else remaining
        # Rounded, so that the last bits of a sum do not decide ties.
        farthest = int(np.argmax(np.where(eligible, distance.round(9), -1.0)))
        remaining[farthest] = False
        leverage = np.square(points[rows[farthest]]).sum(axis=1).round(9)
        largest_first = np.argsort(-leverage, kind="stable")
        selected_rows.extend(rows[farthest][largest_first].tolist())
        distance = np.minimum(distance, np.linalg.norm(means - means[farthest], axis=1))
    return selected_rows


def _group_means(points: FloatArray, groups: Sequence[str]) -> tuple[list[str], list[IntArray], FloatArray]:
    """Return the names of the groups, the rows of each, and the mean point of each."""
    rows_of: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        rows_of.setdefault(group, []).append(row)
    rows = [np.array(each) for each in rows_of.values()]
    return list(rows_of), rows, np.array([points[each].mean(axis=0) for each in rows])

"""Which texts to label next. How many labels a verdict needs is in `rubriclab.learning.labels_needed`."""

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
from rubriclab.learning.estimate import DryRun
from rubriclab.learning.matrix import centers_and_spreads, standardise
from rubriclab.models import text as text_model
from rubriclab.models.characters import count
from rubriclab.models.rubric import Criterion, Rubric
from rubriclab.models.version import Effort, TrainingRecord, Version
from rubriclab.ops.inputs import Data, notify_skipped, rows_of
from rubriclab.ops.options import PlanOptions, ScoreOptions
from rubriclab.ops.score import Scoring
from rubriclab.ops.versions import missing_record
from rubriclab.ops.workspace import Job, Notify, Workspace, choose_judge, load_version
from rubriclab.stats.correlation import FloatArray, IntArray, float_table
from rubriclab.stats.intervals import DIGITS

DEFAULT_COUNT = 10


@dataclass(frozen=True, repr=False)
class PlanResult(Displayed):
    """The texts to label in order, chosen from `pool` texts (none if all have labels), and the effort."""

    version: Version
    texts: tuple[PlannedText, ...]
    pool: int
    effort: Effort

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rows to label, unchanged but for the reasons in `plan`."""
        from rubriclab.report.results import plan_reason

        rows = []
        for planned in self.texts:
            plan_cells = {"rank": planned.rank, "new_group": planned.new_group, "why": plan_reason(planned)}
            rows.append({**planned.text.row, "plan": plan_cells})
        return rows


def plan(workspace: Workspace, data: Data, rubric: str | Version, options: PlanOptions) -> Job[PlanResult]:
    """Return which texts to label next so that the rubric improves most; labelled texts are left out."""
    rows = rows_of(data, options, workspace.notify)
    version = load_version(workspace, rubric)
    record = workspace.store.training(version.ref)
    if record is None or version.rubric.aggregation is None:
        hint = "Learn the rubric again from these texts, without `methods`, in this store."
        raise NotInStore(f"Planning needs the ratings of training texts. {missing_record(version)}", hint)
    choice = choose_judge(version, options.judge, workspace.store, workspace.notify)
    pool = _pool(rows, version, options, workspace.notify)
    examples = [text.example for text in pool]
    scoring = Scoring(workspace, examples, version.rubric, version.ref, choice, ScoreOptions())

    async def run() -> PlanResult:
        scores = [scored.score async for scored in scoring.stream()] if pool else []
        rated_texts, reasons = list[PoolText](), list[str]()
        for text, score in zip(pool, scores, strict=True):
            if score.unscored:
                reasons.append(score.unscored)
                continue
            ratings = {rating.id: rating.score for rating in score.criteria if rating.applies}
            rated_texts.append(replace(text, ratings=ratings))
        if reasons:
            if not rated_texts:
                raise JudgeError(f"None of {len(reasons)} texts could be scored; the latest reason: {reasons[-1]}")
            unscored = count(len(reasons), "text")
            workspace.notify(f"left out: {unscored} that could not be scored; the latest reason: {reasons[-1]}")
        planned_texts = make_plan(version.rubric, record, rated_texts, options.count or DEFAULT_COUNT)
        verdict = version.deciding_verdict
        groups_needed = verdict.lacking_groups if verdict and verdict.overall == "inconclusive" else None
        n_new_groups = len({text.example.group for text in rated_texts} - {text.group for text in record.texts})
        if groups_needed and n_new_groups < groups_needed:
            needed = f"a verdict needs labels of at least {count(groups_needed, 'more group')}"
            workspace.notify(f"{needed}, and these texts are of {count(n_new_groups, 'new group')}")
        return PlanResult(version, planned_texts, len(rated_texts), workspace.effort())

    return Job(scoring.estimate if pool else lambda: DryRun({}), run)


def _pool(rows: Rows, version: Version, options: PlanOptions, notify: Notify) -> tuple[PoolText, ...]:
    """Return the texts to rate, none if all have labels; memory holds the digests of all texts, but few rows."""
    trained_on, aspect = frozenset(version.provenance.texts), version.rubric.aspect.name
    faults, counts = list[str](), Counter[str]()
    # The texts with the lowest digests: a sample as good as a random one, independent of the order of the rows.
    digests, sampled_digests, sample = set[str](), list[str](), dict[str, PoolText]()
    for row in rows:
        if isinstance(row, RowError):
            faults.append(str(row))
            continue
        digest, text = text_model.words_digest(row), PoolText(row, rows.row)
        if digest in trained_on or text_model.is_labelled(row, aspect):
            counts["learned" if digest in trained_on else "labelled"] += 1
            continue
        counts["usable"] += 1
        digests.add(digest)
        if digest in sample:
            sample[digest] = min(sample[digest], text, key=lambda equal_text: equal_text.example.id)
            continue
        bisect.insort(sampled_digests, digest)
        sample[digest] = text
        if len(sampled_digests) > options.sample:
            del sample[sampled_digests.pop()]
    pool = tuple(sample[digest] for digest in sampled_digests)
    notify_skipped(rows, notify)
    for fault in first_faults(faults):
        notify(f"left out: {fault}")
    left_out = (
        (counts["learned"], "text", f" that {version.ref} has learned from"),
        (counts["labelled"], "text", f" with a label that {version.ref} has not learned from yet"),
        (counts["usable"] - len(digests), "row", " with the same text as another one"),
    )
    for number, noun, why in left_out:
        if number > 0:
            notify(f"left out: {count(number, noun)}{why}")
    if len(pool) < len(digests):
        notify(f"rating {count(len(pool), 'text')} of {len(digests):,} (`sample`)")
    if not counts:
        raise DataError(f"None of {count(len(faults), 'row')} can be used.", *faults[:1])
    if pool and options.count is not None and options.count > len(pool):
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

    `unusual` is the criterion whose rating is farthest from the average of all texts, in standard deviations times the
    weight. `mean` is the mean rating of labelled texts by this criterion.
    """

    rank: int
    text: PoolText
    new_group: bool
    unusual: Criterion | None
    mean: float


def make_plan(rubric: Rubric, record: TrainingRecord, pool: Sequence[PoolText], count: int) -> tuple[PlannedText, ...]:
    """Return which texts of the pool to label next, independent of the pool's order; see `select_texts`."""
    terms = rubric.aggregation.terms if rubric.aggregation else ()
    if not pool:
        return ()
    names = ("id", "group", "output", "source", "context")
    ordered = sorted(pool, key=lambda text: [getattr(text.example, name) or "" for name in names])
    ratings = float_table(([text.ratings.get(term.criterion) for term in terms] for text in ordered), len(terms))
    column_of = {candidate.criterion.id: column for column, candidate in enumerate(record.candidates)}
    labelled_ratings = record.matrix[:, [column_of[term.criterion] for term in terms]]
    absolute_weights = np.abs([term.weight for term in terms])
    shares = absolute_weights / absolute_weights.sum()
    # Both matrices are standardised over all texts together; missing ratings become 0.
    scale = centers_and_spreads(np.vstack([ratings, labelled_ratings]))
    z_scores, labelled_z_scores = standardise(ratings, *scale), standardise(labelled_ratings, *scale)
    groups, labelled_groups = [text.example.group for text in ordered], [text.group for text in record.texts]
    criteria = {criterion.id: criterion for criterion in rubric.criteria}
    texts: list[PlannedText] = []
    for row in select_texts(z_scores, groups, labelled_z_scores, labelled_groups, shares)[:count]:
        distances = shares * np.abs(z_scores[row])
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

    `pool` and `labelled` are standardised ratings, shape (texts, criteria); `shares` of the weight sum to 1.
    """
    points, labelled_points = pool * np.sqrt(shares), labelled * np.sqrt(shares)
    names, rows, means = _group_means(points, groups)
    _, _, labelled_means = _group_means(labelled_points, labelled_groups)
    # From each group's mean to the nearest mean of a group that is labelled or selected.
    distance = np.linalg.norm(means[:, np.newaxis] - labelled_means, axis=2).min(axis=1)
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
    """Return the names of the groups, the rows of each group, and the mean point of each group."""
    rows_by_group: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        rows_by_group.setdefault(group, []).append(row)
    rows = [np.array(group_rows) for group_rows in rows_by_group.values()]
    return list(rows_by_group), rows, np.array([points[group_rows].mean(axis=0) for group_rows in rows])

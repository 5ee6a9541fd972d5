"""The command `plan`: which unlabelled texts to label next, so that the rubric improves most.

The texts to choose from (the pool) are rated by the rubric. Groups without labels whose ratings are unlike those of the
labelled groups come first.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rubriclab.data.readers import Rows
from rubriclab.display import Displayed
from rubriclab.errors import DataError, JudgeError, NotInStore
from rubriclab.learning.estimate import DryRun
from rubriclab.learning.matrix import centers_and_spreads, standardize
from rubriclab.models import text as text_model
from rubriclab.models.characters import count
from rubriclab.models.rubric import Criterion, Rubric
from rubriclab.models.version import Effort, TrainingRecord, Version
from rubriclab.ops.inputs import Data, accept_level_names, read_texts, rows_of
from rubriclab.ops.options import PlanOptions, ScoreOptions
from rubriclab.ops.score import Scoring
from rubriclab.ops.versions import explain_missing_record
from rubriclab.ops.workspace import Job, Notify, Workspace, choose_judge, load_version
from rubriclab.stats.correlation import FloatArray, float_table
from rubriclab.stats.intervals import DIGITS

DEFAULT_COUNT = 10


@dataclass(frozen=True, slots=True)
class PoolText:
    example: text_model.Example
    row: Any = None  # as the user gave it
    ratings: Mapping[str, float | None] = field(default_factory=dict)  # by criterion id, once the text is rated


@dataclass(frozen=True, slots=True)
class PlannedText:
    """A text to label; `new_group` if no text of its group is labelled yet.

    `unusual` is the criterion whose rating is farthest from the mean of all texts (in standard deviations, times the
    criterion's weight), `mean` the mean rating of the labelled texts by this criterion.
    """

    rank: int
    text: PoolText
    new_group: bool
    unusual: Criterion | None
    mean: float


@dataclass(frozen=True, repr=False)
class PlanResult(Displayed):
    """The texts to label, the most useful first; `pool` is the number of rated texts that they were chosen from."""

    version: Version
    texts: tuple[PlannedText, ...]
    pool: int
    effort: Effort  # calls, tokens, money and time that the command used

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the user's rows of the texts, each with a new field `plan`: its rank, and why it was chosen."""
        from rubriclab.report.results import plan_reason

        rows = []
        for planned in self.texts:
            plan_field = {"rank": planned.rank, "new_group": planned.new_group, "why": plan_reason(planned)}
            rows.append({**planned.text.row, "plan": plan_field})
        return rows


def plan(workspace: Workspace, data: Data, rubric: str | Version, options: PlanOptions) -> Job[PlanResult]:
    """Return which texts to label next so that the rubric improves most; labelled texts are left out."""
    version = load_version(workspace, rubric)
    rows = rows_of(data, accept_level_names(options, version.rubric.score_scale), workspace.notify)
    record = workspace.store.training(version.ref)
    if record is None or version.rubric.aggregation is None:
        hint = "Learn the rubric again from these texts, without `methods`, in this store."
        raise NotInStore(f"Planning needs the ratings of training texts. {explain_missing_record(version)}", hint)
    choice = choose_judge(version, options.judge, workspace.store, workspace.notify)
    pool = _pool(rows, version, options, workspace.notify)
    scoring = Scoring(workspace, [text.example for text in pool], version.rubric, version.ref, choice, ScoreOptions())

    async def run() -> PlanResult:
        scores = [scored.score async for scored in scoring.stream()] if pool else []
        rated_texts, unscored_reasons = list[PoolText](), list[str]()
        for text, score in zip(pool, scores, strict=True):
            if score.unscored:
                unscored_reasons.append(score.unscored)
                continue
            ratings = {rating.id: rating.score for rating in score.criteria if rating.applies}
            rated_texts.append(replace(text, ratings=ratings))
        if unscored_reasons:
            latest, n_unscored = f"the latest reason: {unscored_reasons[-1]}", len(unscored_reasons)
            if not rated_texts:
                raise JudgeError(f"None of {n_unscored} texts could be scored; {latest}")
            workspace.notify(f"left out: {count(n_unscored, 'text')} that could not be scored; {latest}")
        planned_texts = make_plan(version.rubric, record, rated_texts, options.count or DEFAULT_COUNT)
        verdict = version.deciding_verdict
        n_groups_lacking = verdict.lacking_groups if verdict and verdict.overall == "inconclusive" else None
        n_new_groups = len({text.example.group for text in rated_texts} - {text.group for text in record.texts})
        if n_groups_lacking and n_new_groups < n_groups_lacking:
            needed = f"a verdict needs labels of at least {count(n_groups_lacking, 'more group')}"
            workspace.notify(f"{needed}, and these texts are of {count(n_new_groups, 'new group')}")
        return PlanResult(version, planned_texts, len(rated_texts), workspace.effort())

    return Job(scoring.estimate if pool else lambda: DryRun({}), run)


def _pool(rows: Rows, version: Version, options: PlanOptions, notify: Notify) -> tuple[PoolText, ...]:
    """Return at most `options.sample` texts without labels; none if all texts have labels."""
    trained_on, aspect_name = frozenset(version.provenance.texts), version.rubric.aspect.name
    counts, digests = Counter[str](), set[str]()
    # The sample has the texts with the lowest digests. It is random, and independent of the order of the rows.
    sampled_digests, sample = list[str](), dict[str, PoolText]()
    for row in read_texts(rows, notify):
        digest, text = text_model.words_digest(row), PoolText(row, rows.raw_row)
        if digest in trained_on:
            counts["learned"] += 1
            continue
        if text_model.is_labelled(row, aspect_name):
            counts["labelled"] += 1
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
    left_out = {
        f"that {version.ref} has learned from": counts["learned"],
        f"with a label that {version.ref} has not learned from yet": counts["labelled"],
        "with the same words as another text": counts["usable"] - len(digests),
    }
    for which_texts, n_texts in left_out.items():
        if n_texts:
            notify(f"left out: {count(n_texts, 'text')} {which_texts}")
    if len(pool) < len(digests):
        notify(f"rating {count(len(pool), 'text')} of {len(digests):,} (`sample`)")
    if pool and options.count is not None and options.count > len(pool):
        problem = f"`count={options.count}` is more than the {count(len(pool), 'text')} to choose from."
        raise DataError(problem, "Give a smaller `count`, more texts, or a larger `sample`.")
    return pool


def make_plan(rubric: Rubric, record: TrainingRecord, pool: Sequence[PoolText], limit: int) -> tuple[PlannedText, ...]:
    """Return at most `limit` texts to label, in the order of `select_texts`; the order of the pool does not matter."""
    terms = rubric.aggregation.terms if rubric.aggregation else ()
    if not pool:
        return ()
    sort_fields = ("id", "group", "output", "source", "context")
    ordered = sorted(pool, key=lambda text: [getattr(text.example, name) or "" for name in sort_fields])
    ratings = float_table(([text.ratings.get(term.criterion) for term in terms] for text in ordered), len(terms))
    columns = {candidate.criterion.id: column for column, candidate in enumerate(record.candidates)}
    labelled_ratings = record.matrix[:, [columns[term.criterion] for term in terms]]
    absolute_weights = np.abs([term.weight for term in terms])
    shares = absolute_weights / absolute_weights.sum()
    # Both matrices are standardized over all texts together; missing ratings become 0.
    centers, spreads = centers_and_spreads(np.vstack([ratings, labelled_ratings]))
    z_scores, labelled_z_scores = (standardize(table, centers, spreads) for table in (ratings, labelled_ratings))
    groups, labelled_groups = [text.example.group for text in ordered], [text.group for text in record.texts]
    criteria = {criterion.id: criterion for criterion in rubric.criteria}
    planned: list[PlannedText] = []
    for index in select_texts(z_scores, groups, labelled_z_scores, labelled_groups, shares)[:limit]:
        distances = shares * np.abs(z_scores[index])
        column = int(np.argmax(distances))
        unusual = criteria[terms[column].criterion] if distances[column] > 0 else None
        labelled_mean = round(float(np.nanmean(labelled_ratings[:, column])), DIGITS)
        is_new_group = groups[index] not in labelled_groups
        planned.append(PlannedText(len(planned) + 1, ordered[index], is_new_group, unusual, labelled_mean))
    return tuple(planned)


def select_texts(
    ratings: FloatArray, groups: list[str], labelled_ratings: FloatArray, labelled_groups: list[str], shares: FloatArray
) -> list[int]:
    """Return the row numbers of `ratings` in the order in which to label the texts.

    Groups without any label come first. The next group is always the one whose mean ratings are farthest from those of
    all groups labelled or selected before (farthest-first traversal: Gonzalez 1985, "Clustering to minimize the maximum
    intercluster distance", Theoretical Computer Science 38). Within a group, the text farthest from the mean of all
    texts comes first. Whole groups are labelled, since labels of single texts of many groups raised agreement less.

    Ratings are standardized, shape (texts, criteria); `shares` has each criterion's share of the total weight.
    """
    points, labelled_points = ratings * np.sqrt(shares), labelled_ratings * np.sqrt(shares)
    rows_by_group, means = _group_means(points, groups)
    _, labelled_means = _group_means(labelled_points, labelled_groups)
    rows = list(rows_by_group.values())
    # The distance of each group's mean from the nearest mean of a group that is labelled or selected.
    distances = np.linalg.norm(means[:, np.newaxis] - labelled_means, axis=2).min(axis=1)
    has_labels = np.isin(list(rows_by_group), labelled_groups)
    is_remaining = np.ones(len(rows), dtype=bool)
    selected_rows: list[int] = []
    while is_remaining.any():
        is_unlabelled = is_remaining & ~has_labels
        is_eligible = is_unlabelled if is_unlabelled.any() else is_remaining
        # Rounded, so that rounding errors do not choose between equal distances.
        farthest = int(np.argmax(np.where(is_eligible, distances.round(9), -1.0)))
        is_remaining[farthest] = False
        squared_distances = np.square(points[rows[farthest]]).sum(axis=1).round(9)
        largest_first = np.argsort(-squared_distances, kind="stable")
        selected_rows.extend(rows[farthest][index] for index in largest_first)
        distances = np.minimum(distances, np.linalg.norm(means - means[farthest], axis=1))
    return selected_rows


def _group_means(points: FloatArray, groups: Sequence[str]) -> tuple[dict[str, list[int]], FloatArray]:
    """Return the row numbers of each group by its name, and the mean point of each group."""
    rows_by_group: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        rows_by_group.setdefault(group, []).append(row)
    return rows_by_group, np.array([points[rows].mean(axis=0) for rows in rows_by_group.values()])

"""An evaluation in words: which rubric agrees best, and whether it is above the baselines on the same texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from rubriclab.methods.catalogue import BASELINE_NAMES
from rubriclab.models.characters import count
from rubriclab.ops.evaluate import Evaluator, Result
from rubriclab.report import wording
from rubriclab.report.texts import JudgedText, human_scores, rubric_scores
from rubriclab.stats.agreement import Level, difference
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.intervals import Interval

if TYPE_CHECKING:
    from rubriclab.models.version import Version

# The level that the summary speaks of: the first at which a correlation is defined.
PREFERRED: tuple[Level, ...] = ("group", "dataset", "system")
# Methods that never see a label: a version's labelled groups are then those that it was measured on.
UNTAUGHT = frozenset(BASELINE_NAMES) - {"few_shot"}

# With more paired differences the summary says that their intervals are not adjusted for their number.
MANY_COMPARISONS = 3

Verdict = Literal["above", "below", "overlaps", "too few groups", "not comparable with"]


@dataclass(frozen=True, slots=True)
class EvaluatorComparison:
    """A rubric against another evaluator on the texts that both have scored; undefined if these are not known.

    Attributes:
        n, groups: the texts of the difference, and their groups.
        too_few_groups: whether there are too few groups for an interval.
        p: see `rubriclab.stats.AgreementDifference`.
    """

    other: Result
    difference: Interval
    n: int = 0
    groups: int = 0
    too_few_groups: bool = False
    p: float | None = None

    @property
    def verdict(self) -> Verdict:
        """What the interval of the difference shows; `overlaps` if it includes 0."""
        if self.too_few_groups:
            return "too few groups"
        low, high = self.difference.low, self.difference.high
        if low is None or high is None:
            return "not comparable with"
        if low > 0:
            return "above"
        return "below" if high < 0 else "overlaps"


@dataclass(frozen=True, slots=True)
class EvaluatorRow:
    """How well one rubric or baseline agrees.

    Attributes:
        best_baseline: against the best free baseline; `None` if none was evaluated.
        best: against the first of its ranking; `None` for the first itself and for baselines beside rubrics.
        seen: texts of groups that it has learned from.
    """

    result: Result
    best_baseline: EvaluatorComparison | None
    best: EvaluatorComparison | None
    seen: int
    baseline: bool

    @property
    def ref(self) -> str:
        """`NAME@NUMBER` of the version."""
        return self.result.evaluator


@dataclass(frozen=True, slots=True)
class EvaluationSummary:
    """The rubrics of one aspect, best first, then its baselines, at the first level with a defined correlation.

    `baselines` holds the best rubric against each baseline; without any rubric the baselines are ranked instead.
    """

    aspect: str
    level: Level
    evaluators: tuple[EvaluatorRow, ...]
    baselines: tuple[EvaluatorComparison, ...]

    @property
    def comparisons(self) -> tuple[tuple[str, EvaluatorComparison], ...]:
        """Every paired comparison that was made, each with the rubric or baseline whose side it takes."""
        made = [(row.ref, each) for row in self.evaluators for each in (row.best_baseline, row.best) if each]
        return (*made, *((self.evaluators[0].ref, each) for each in self.baselines))

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one JSON object for each comparison: Spearman's difference on the same texts, and what it shows."""
        return [
            {
                "evaluator": ref,
                "compared_with": each.other.evaluator,
                "aspect": self.aspect,
                "level": self.level,
                "n": each.n,
                "groups": each.groups,
                "difference": asdict(each.difference),
                "permutation_p": each.p,
                "verdict": each.verdict,
            }
            for ref, each in self.comparisons
        ]


def summarize(
    aspect: str,
    versions: Sequence[Version],
    results: Sequence[Result],
    texts: Mapping[str, Sequence[JudgedText]],
    free_baselines: Sequence[Evaluator],
) -> EvaluationSummary | None:
    """Return how the rubrics of `aspect` did; `None` if no correlation is defined for any of them.

    `texts` holds each version's texts by its ref, the same texts for all; `free_baselines` their scores of them.
    """
    refs = {version.ref: version for version in versions}
    chosen = _headline([result for result in results if result.aspect == aspect], refs)
    if not chosen:
        return None
    level, rows = chosen
    scores = {_key(baseline.name): baseline.scores for baseline in free_baselines}
    scores |= {ref: rubric_scores(texts[ref]) for ref in refs}
    ours = _best_first([row for row in rows if row.evaluator in refs])
    baselines = [row for row in ours if _is_baseline(refs[row.evaluator])]
    ranked = [row for row in ours if row not in baselines] or baselines
    beside = [row for row in baselines if row not in ranked]
    rivals = _best_first([row for row in rows if wording.is_baseline(row.evaluator)])
    known = texts[ranked[0].evaluator]

    def contest(row: Result, other: Result | None) -> EvaluatorComparison | None:
        return None if other is None or other is row else _comparison(row, other, scores, known)

    evaluators = tuple(
        EvaluatorRow(
            row,
            contest(row, rivals[0] if rivals else None),
            contest(row, None if row in beside else ranked[0]),
            _seen(refs[row.evaluator], known),
            row in baselines,
        )
        for row in (*ranked, *beside)
    )
    against = tuple(_comparison(ranked[0], row, scores, known) for row in beside)
    return EvaluationSummary(aspect, level, evaluators, against)


def sentences(summary: EvaluationSummary) -> Iterator[str]:
    """Yield the summary in words: the best rubric, the baselines, the other rubrics, and what limits the figures."""
    best = summary.evaluators[0]
    others = [(row.ref, row.best) for row in summary.evaluators if row.best]
    place = wording.LEVELS[summary.level]
    agreement = best.result.agreement
    yield (
        f"{_among(best, len(others))} Spearman correlation with the labels of {summary.aspect}: "
        f"{wording.estimate(agreement.spearman)} {place}, on {count(agreement.n, 'text')} in "
        f"{count(agreement.groups, 'group')}."
    )
    if best.best_baseline:
        name, _ = wording.evaluator_parts(best.best_baseline.other.evaluator)
        yield _beside(best.ref, best.best_baseline, f"the best free baseline, {name}")
    else:
        yield "No free baseline was evaluated, so there is nothing to compare with."
    yield from (_beside(ref, contest, contest.other.evaluator) for ref, contest in others)
    yield from (_beside(best.ref, contest, f"the baseline {contest.other.evaluator}") for contest in summary.baselines)
    if others:
        yield "The figure of the best of several is slightly optimistic, as the same texts were used to pick it."
    compared = [each for _, each in summary.comparisons if each.difference.low is not None]
    if len(compared) > MANY_COMPARISONS:
        yield (
            f"The {len(compared)} paired differences are not adjusted for their number: without any difference, one in "
            "twenty intervals excludes 0."
        )
    for row in summary.evaluators:
        if row.seen:
            yield (
                f"{count(row.seen, 'text')} are of groups that {row.ref} has learned from, so its figures are "
                "optimistic."
            )


def _among(best: EvaluatorRow, others: int) -> str:
    if others:
        return f"Of {others + 1} {'baselines' if best.baseline else 'rubrics'}, {best.ref} has the highest"
    return f"The baseline {best.ref} has a" if best.baseline else f"{best.ref} has a"


def _beside(ref: str, contest: EvaluatorComparison, other: str) -> str:
    """Return whether an evaluator agrees better or worse than another on the same texts."""
    figures = f"{other}, which reaches {wording.estimate(contest.other.agreement.spearman)}"
    difference = f"the difference on the same texts is {wording.estimate(contest.difference)}"
    match contest.verdict:
        case "above" | "below" as side:
            return f"{ref} is {side} {figures}: {difference}, an interval {side} 0."
        case "overlaps":
            return f"These texts do not distinguish {ref} from {figures}: {difference}, an interval that includes 0."
        case "too few groups":
            too_few = wording.too_few_groups(contest.groups)
            return f"Whether {ref} differs from {figures}, is undecided: {difference}, with {too_few}."
    return f"{ref} cannot be compared with {figures} on the same texts."


def _headline(results: Sequence[Result], refs: Mapping[str, Version]) -> tuple[Level, list[Result]] | None:
    for level in PREFERRED:
        rows = [row for row in results if row.agreement.level == level and row.agreement.spearman.value is not None]
        if any(row.evaluator in refs for row in rows):
            return level, rows
    return None


def _best_first(rows: Sequence[Result]) -> list[Result]:
    return sorted(rows, key=lambda row: -(row.agreement.spearman.value or 0.0))


def _comparison(
    row: Result, other: Result, scores: Mapping[str, FloatArray], texts: Sequence[JudgedText]
) -> EvaluatorComparison:
    if _key(other.evaluator) not in scores:
        return EvaluatorComparison(other, Interval(None))
    found = difference(
        scores[row.evaluator],
        scores[_key(other.evaluator)],
        human_scores(texts),
        [text.example.group for text in texts],
        [text.example.system or "" for text in texts],
        level=row.agreement.level,
        constant=row.agreement.constant,
    )
    return EvaluatorComparison(other, found.spearman, found.n, found.groups, found.too_few_groups, found.p)


def _key(evaluator: str) -> str:
    """Return a free baseline's name without the remark that says for which rubrics it was evaluated."""
    return wording.BASELINE + wording.evaluator_parts(evaluator)[0] if wording.is_baseline(evaluator) else evaluator


def _is_baseline(version: Version) -> bool:
    """Return whether all that a version does is what a baseline does; several parts are a rubric."""
    parts = version.rubric.parts
    return len(parts) == 1 and parts[0].method in BASELINE_NAMES


def _seen(version: Version, texts: Sequence[JudgedText]) -> int:
    if all(part.method in UNTAUGHT for part in version.rubric.parts):
        return 0
    groups = frozenset(version.provenance.groups)
    return sum(text.example.group in groups for text in texts)

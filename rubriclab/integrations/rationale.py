"""A score in words, for tools that show a text beside a number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rubriclab.characters import one_line
from rubriclab.data.scale import show
from rubriclab.errors import UserError
from rubriclab.judges.recording import recorded_name
from rubriclab.report import describe
from rubriclab.rubric import Rubric
from rubriclab.scoring import CriterionScore, Score


def rationale(score: Score, rubric: Rubric) -> str:
    """Return the score with its verdict, interval and scale, then a line for each criterion with its rating and reason.

    Criteria with contributions are sorted by their size, the largest first. For a text without a score, the first line
    says why there is none.
    """
    judge = f"judge {one_line(recorded_name(score.judge))}"
    if score.score is None:
        first = f"no score by {score.rubric} ({judge}): {one_line(score.unscored or '')}"
    else:
        interval = f" {describe.score_interval(score.interval)}" if score.interval else ""
        scale = f"scale {scale_of(rubric)}"
        verdict = f"{one_line(score.verdict)}: " if score.verdict else ""
        first = f"{verdict}{describe.rounded(score.score)}{interval} by {score.rubric} ({scale}, {judge})"
    parts = sorted(score.criteria, key=lambda part: -abs(part.contribution or 0.0))
    return "\n".join((first, *(f"{criterion_result(part, rubric)}: {one_line(part.reason)}" for part in parts)))


def criterion_result(part: CriterionScore, rubric: Rubric, most: int | None = None) -> str:
    """Return what a criterion adds to the score, its title, cut after `most` characters, and its rating."""
    criterion = next(criterion for criterion in rubric.criteria if criterion.id == part.id)
    points = "" if part.contribution is None else f"{part.contribution:+.2f} "
    rated = describe.answered(part, criterion, whole=not part.units)
    return f"{points}{one_line(describe.title(criterion, most))} ({rated})"


def scale_of(rubric: Rubric) -> str:
    """Return the ends of the scale of a rubric's scores, as `1 to 5`."""
    return f"{show(rubric.scores_on.low)} to {show(rubric.scores_on.high)}"


@contextmanager
def imported_from(library: str, extra: str) -> Iterator[None]:
    """Explain an import that fails because a library is not installed.

    Raises:
        UserError: if an import within the `with` statement fails.
    """
    try:
        yield
    except ImportError as error:
        raise UserError(
            f"{library} cannot be imported: {error}.", f"Install it with: pip install 'rubriclab[{extra}]'"
        ) from error

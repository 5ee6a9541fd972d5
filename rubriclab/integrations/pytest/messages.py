"""What a failed assertion says: the score, the criteria that cost the text most, and the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rubriclab.characters import one_line
from rubriclab.comparison.results import Comparison, SideSummary
from rubriclab.data.scale import show
from rubriclab.integrations.evaluator import criterion_result, scale_of
from rubriclab.integrations.pytest.settings import UPDATE
from rubriclab.judges.recording import recorded_name
from rubriclab.report import describe
from rubriclab.report.comparison import change_sentence
from rubriclab.report.wording import count, estimate, excerpt
from rubriclab.rubric import Criterion, Rubric
from rubriclab.scoring import CriterionScore, Score

# Criteria that are listed for a text, texts that are listed, and characters of a reason and of a text.
CRITERIA, TEXTS, REASON, TEXT = 3, 3, 200, 300


def below(score: Score, rubric: Rubric, threshold: float, output: object) -> str:
    """Return why a text fails."""
    interval = f" {describe.score_interval(score.interval)}" if score.interval else ""
    first = f"{score.rubric}: score {describe.rounded(score.score)}{interval} is below {show(threshold)}"
    return "\n".join((f"{first} ({_scorer(score, rubric)})", *_costs(score, rubric), *_text(score, output)))


def unscored(score: Score, rubric: Rubric, output: object) -> str:
    """Return why a text has no score."""
    first = f"{score.rubric}: no score: {excerpt(one_line(score.unscored or ''), REASON)}"
    return "\n".join((f"{first} ({_scorer(score, rubric)})", *_text(score, output)))


def mean_below(
    side: SideSummary, scores: Sequence[Score], rubric: Rubric, threshold: float, *, inconclusive: bool
) -> str:
    """Return why the mean of many texts fails, or why it is not known whether it is high enough."""
    texts = f"{count(side.scored, 'text')} in {count(side.groups, 'group')}"
    names = rubric.scores_on.names
    what = f"share of {names[1]!r}" if names else "mean"
    lines = [f"{scores[0].rubric}: {what} {estimate(side.mean)} of {texts} ({_scorer(scores[0], rubric)})"]
    if not inconclusive:
        lines.append(f"the whole interval is below {show(threshold)}")
    elif side.mean.low is None:
        lines.append("inconclusive: with so few groups there is no interval; give texts of more groups")
    elif side.mean.low >= threshold:
        lines.append("inconclusive: more than a tenth of the texts have no score: the others may not represent them")
    else:
        lines.append(f"inconclusive: the interval includes {show(threshold)}; more texts are needed")
    lines += _without_score(side)
    lines += _lowest(scores, rubric)
    return "\n".join(lines)


def changed(comparison: Comparison, baseline: str, *, inconclusive: bool) -> str:
    """Return how outputs differ from a baseline: the means, the criteria that fell most, and the texts."""
    sides = (comparison.before, comparison.after)
    before, after = (f"{estimate(side.mean)} ({count(side.scored, 'text')})" for side in sides)
    outcome = "inconclusive" if inconclusive else "worse"
    lines = [
        f"{comparison.rubric}: {outcome}, compared with the baseline {baseline}",
        change_sentence(comparison),
        f"baseline: {before}; now: {after}; paired by: {comparison.pairing or 'nothing'}",
    ]
    if not comparison.enough_scored:
        lines.append("more than a tenth of the texts have no score: the others may not represent them")
    if unpaired := without_counterpart(comparison):
        mend = f": give all its texts, or run pytest with {UPDATE}" if comparison.unpaired_before else ""
        lines.append(f"{unpaired}{mend}")
    for name, side in (("baseline", comparison.before), ("now", comparison.after)):
        lines += [f"{name}: {line}" for line in _without_score(side)]
    lines += _fallen_criteria(comparison)
    for text in comparison.fallen[:TEXTS]:
        lines.append(f"fell from {describe.rounded(text.before)} to {describe.rounded(text.after)}: text {text.id}")
        lines += [f"  {name}: {_reason(then)} -> {_reason(now)}" for name, then, now in text.reasons[:1]]
    return "\n".join(lines)


def without_counterpart(comparison: Comparison) -> str:
    """Return how many outputs of each side are not compared since the other has none to pair them with; else ""."""
    if comparison.pairing is None:
        return ""
    sides = (
        ("the baseline", comparison.unpaired_before, comparison.before.texts),
        ("this run", comparison.unpaired_after, comparison.after.texts),
    )
    found = [f"{unpaired} of {count(texts, 'output')} of {side}" for side, unpaired, texts in sides if unpaired]
    return f"without a counterpart: {' and '.join(found)}" if found else ""


def _without_score(side: SideSummary) -> Iterator[str]:
    for reason, number in side.unscored.items():
        yield f"{count(number, 'text')} without a score: {_reason(reason)}"


def _fallen_criteria(comparison: Comparison) -> Iterator[str]:
    fallen = [change for change in comparison.criteria if (change.difference.value or 0.0) < 0]
    if fallen:
        yield "criteria that fell most, as shares of their range:"
    for change in fallen[:CRITERIA]:
        points = "" if change.contribution is None else f", {change.contribution:+.2f} points"
        yield f"  {estimate(change.difference)}{points}  {_reason(change.title)}"


def _scorer(score: Score, rubric: Rubric) -> str:
    return f"scale {scale_of(rubric)}; judge {one_line(recorded_name(score.judge))}"


def _costs(score: Score, rubric: Rubric) -> Iterator[str]:
    """Yield the criteria that lower the score most: by contributions, or else by how far they are from their best."""
    ranked = _ranked(score, rubric)
    if not ranked:
        yield "no criterion lowers the score"
        return
    yield "criteria that lower the score most:"
    yield from (f"  {_cost(part, rubric)}" for part in ranked[:CRITERIA])


def _cost(part: CriterionScore, rubric: Rubric) -> str:
    return f"{criterion_result(part, rubric, REASON)}: {_reason(part.reason)}"


def _ranked(score: Score, rubric: Rubric) -> list[CriterionScore]:
    contributed = [part for part in score.criteria if part.contribution is not None]
    if contributed:
        costly = [part for part in contributed if (part.contribution or 0.0) < 0]
        return sorted(costly, key=lambda part: part.contribution or 0.0)
    criteria = {criterion.id: criterion for criterion in rubric.criteria}
    shares = [(_share(part, criteria[part.id], rubric), part) for part in score.criteria if part.score is not None]
    return [part for share, part in sorted(shares, key=lambda pair: pair[0]) if share < 1]


def _share(part: CriterionScore, criterion: Criterion, rubric: Rubric) -> float:
    rating = part.score or 0.0
    return rating if criterion.kind == "question" else (rating - rubric.scale.low) / rubric.scale.width


def _text(score: Score, output: object) -> Iterator[str]:
    yield f"text {one_line(score.id)}: {excerpt(one_line(str(output)), TEXT)}"


def _lowest(scores: Sequence[Score], rubric: Rubric) -> Iterator[str]:
    """Yield the texts with the lowest scores, each with the criterion that lowers it most."""
    scored = sorted((score for score in scores if score.score is not None), key=lambda score: score.score or 0.0)
    for score in scored[:TEXTS]:
        yield f"lowest: {describe.rounded(score.score)}, text {one_line(score.id)}"
        yield from (f"  {_cost(part, rubric)}" for part in _ranked(score, rubric)[:1])


def _reason(text: str) -> str:
    return excerpt(one_line(text), REASON)

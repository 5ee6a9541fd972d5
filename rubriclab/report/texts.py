"""Labelled texts with their scores: errors, agreement by criterion, and the texts on which people and rubric differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rubriclab.learning.gate import rater_errors
from rubriclab.learning.scoring import Score
from rubriclab.learning.verdicts import verdict_statistic
from rubriclab.models.characters import count
from rubriclab.models.rubric import Criterion, Rubric
from rubriclab.models.text import Example, Scale, labelled
from rubriclab.models.version import RecordedText
from rubriclab.report import charts, describe
from rubriclab.report.model import (
    Block,
    Card,
    Details,
    Drawing,
    Paragraph,
    Stack,
    Words,
    line,
    paragraphs,
    quiet,
    quoted,
    table,
)
from rubriclab.report.verdicts import errors_words, raters_errors
from rubriclab.report.wording import excerpt
from rubriclab.stats.agreement import (
    ConstantRule,
    Level,
    ScoreErrors,
    level_statistic,
    score_errors,
    scored_texts,
    used_texts,
)
from rubriclab.stats.correlation import FloatArray, floats, spearman_rows
from rubriclab.stats.intervals import Interval, estimate

if TYPE_CHECKING:
    from rubriclab.models.version import Version

MOST_SHOWN, TITLE = 6, 60
SOURCE_EXCERPT = 1500


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A text with its label and the rubric's."""

    example: Example
    human: float
    score: Score


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One criterion's agreement with the labels.

    Attributes:
        agreement: AUROC for labels of two levels, else Spearman correlation.
        id: the criterion's.
        criterion: `None` for scores under an id that the rubric does not have.
        inapplicable: texts of which the judge found that it cannot be asked.
        unscored: texts without a usable rating.
    """

    id: str
    criterion: Criterion | None
    agreement: Interval
    inapplicable: int
    unscored: int


def judged_texts(examples: Sequence[Example], scores: Sequence[Score], ref: str, aspect: str) -> list[JudgedText]:
    """Return the examples with a label for `aspect`, each with its score by the rubric `ref`.

    `scores` belong to all examples or to those with a label, in their order.

    Raises:
        ValueError: if they belong to neither.
    """
    rated = labelled(examples, aspect)
    texts = rated if len(scores) == len(rated) else examples
    if [example.id for example in texts] != [score.id for score in scores]:
        raise ValueError(
            f"scored[{ref!r}]: expected one score for each of the {len(examples)} examples, or of the {len(rated)} "
            f"with a label for {aspect!r}, in their order; got {len(scores)} scores with other ids or in another order"
        )
    pairs = zip(texts, scores, strict=True)
    return [JudgedText(text, text.scores[aspect], score) for text, score in pairs if aspect in text.scores]


def human_scores(texts: Sequence[JudgedText]) -> FloatArray:
    """Return the labels, shape (texts,)."""
    return np.array([text.human for text in texts], dtype=float)


def rubric_scores(texts: Sequence[JudgedText]) -> FloatArray:
    """Return the scores of the rubric, shape (texts,), NaN for unscored texts."""
    return floats(text.score.score for text in texts)


def error_sentence(version: Version, texts: Sequence[JudgedText]) -> Words:
    """Return a version's errors, coverage, and the raters' errors in words; empty if no text has a score.

    Args:
        texts: with labels and scores, on the scale of the rubric's scores.
    """
    errors = errors_of(version, texts)
    if errors is None:
        return ""
    rubric = version.rubric
    raters = rater_errors([text.example for text in texts], rubric.aspect.name, rubric.scores_on)
    conformal = version.rubric.aggregation and version.rubric.aggregation.conformal
    held = [text.score.interval[0] <= text.human <= text.score.interval[1] for text in texts if text.score.interval]
    coverage = ""
    if conformal and held:
        coverage = (
            f"; {sum(held):,} of {count(len(held), 'label')} ({describe.percent(sum(held) / len(held))}) lie in the "
            f"{describe.percent(conformal.confidence)} intervals of the scores"
        )
    scored = count(sum(text.score.score is not None for text in texts), "text")
    return quoted(version.ref), f": {errors_words(errors)}, on {scored}{coverage}.{raters_errors(raters)}"


def errors_of(version: Version, texts: Sequence[JudgedText]) -> ScoreErrors | None:
    """Return a version's errors on texts with labels on the scale of its scores; `None` if none has a score."""
    groups, width = [text.example.group for text in texts], version.rubric.scores_on.width
    return score_errors(rubric_scores(texts), human_scores(texts), groups, width)


def criterion_agreements(
    rubric: Rubric, texts: Sequence[JudgedText], level: Level, constant: ConstantRule
) -> list[CriterionRow]:
    """Return the agreement of every criterion that `texts` were scored by, in the rubric's order."""
    by_id: dict[str, Criterion] = {criterion.id: criterion for criterion in rubric.criteria}
    scored = dict.fromkeys(part.id for text in texts for part in text.score.criteria)
    found = []
    for name in [*(name for name in by_id if name in scored), *(name for name in scored if name not in by_id)]:
        ratings = [next((part for part in text.score.criteria if part.id == name), None) for text in texts]
        inapplicable = sum(part is not None and part.score is None and not part.applies for part in ratings)
        scores = floats(part.score if part else None for part in ratings)
        agreement = _auroc(scores, texts) if rubric.scores_on.names else _spearman(scores, texts, level, constant)
        found.append(
            CriterionRow(name, by_id.get(name), agreement, inapplicable, int(np.isnan(scores).sum()) - inapplicable)
        )
    return found


def _auroc(scores: FloatArray, texts: Sequence[JudgedText]) -> Interval:
    return verdict_statistic("AUROC", [scores], human_scores(texts), [text.example.group for text in texts])


def _spearman(scores: FloatArray, texts: Sequence[JudgedText], level: Level, constant: ConstantRule) -> Interval:
    """Return what `rubriclab.stats.agreement` gives for Spearman, without the time that Kendall takes."""
    groups = [text.example.group for text in texts]
    systems = [text.example.system or "" for text in texts]
    used = used_texts(scored_texts([scores], human_scores(texts), groups, systems), level, constant)
    return estimate(
        level_statistic(used, 0, spearman_rows, level, constant),
        used.clusters,
        elements=len(used.human),
        correlation=True,
    )


def distance(text: RecordedText) -> float:
    """Return how far the predicted score lies from the label, in points; 0 without a score."""
    return 0.0 if text.predicted is None else abs(text.predicted - text.label)


def text_card(
    axis: charts.Axis,
    scale: Scale,
    text: RecordedText,
    answers: Sequence[Sequence[Words | Stack]],
    *,
    opened: bool = False,
    full: bool = False,
) -> Card:
    """Return a text with its label and predicted score on the axis, and every criterion's score and reason.

    Args:
        scale: of labels and scores.
        opened: whether the scores by criterion are shown at once.
        full: whether the details hold the full text and source where an excerpt would cut them.
    """
    ends = (text.low, text.high)
    interval = describe.score_interval((ends[0], ends[1])) if ends[0] is not None and ends[1] is not None else ""
    scores = line(
        quoted(f"people {describe.label(text.label, scale)}, rubric {describe.rounded(text.predicted)}"),
        quiet(interval),
    )
    drawing = Drawing(charts.rated(axis, text.label, text.raters.values(), Interval(text.predicted, *ends)))
    folded: tuple[Block, ...] = (table(("criterion", "score", "reason"), answers, numeric=("score",)),)
    cut = full and excerpt(text.output) != text.output.strip()
    if cut:
        folded += (Paragraph("Full text", "quiet"), Paragraph(quoted(text.output), "quote"))
    if text.source:
        shown = text.source if full else excerpt(text.source, SOURCE_EXCERPT)
        folded += (Paragraph("Source", "quiet"), Paragraph(quoted(shown), "quote"))
    more = f"{', the full text' if cut else ''}{', the source' if text.source else ''}"
    raters = _raters(text, scale)
    blocks = (
        table(("", "", ""), [(quoted(text.id, "id"), drawing, scores)]),
        *paragraphs([quoted(raters)] if raters else [], "quiet"),
        Paragraph(quoted(excerpt(text.output)), "quote"),
        Details(f"Scores and reasons by criterion{more}", folded, open=opened),
    )
    return Card("", blocks, text=True)


def _raters(text: RecordedText, scale: Scale) -> str:
    """Return each rater's score with the reason that was given for it, and the reasons of unknown raters."""
    scores = {name: f"{name} {describe.label(mark, scale)}" for name, mark in text.raters.items()}
    given = {name: f"{scores.get(name, name)}: {reason}".removeprefix(": ") for name, reason in text.reasons.items()}
    return ("; " if given else ", ").join({**scores, **given}.values())

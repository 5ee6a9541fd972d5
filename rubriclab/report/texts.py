"""Texts with their labels and scores, and those on which the two disagree most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.data.example import Example, labelled
from rubriclab.report.model import Block, Card, Details, Drawing, Paragraph, Stack, Words, paragraphs, quoted, table
from rubriclab.report.wording import excerpt
from rubriclab.scoring.score import Score
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.missing import floats

MOST_SHOWN = 5
SOURCE_EXCERPT = 1500


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A text with its label and the rubric's."""

    example: Example
    human: float
    score: Score


@dataclass(frozen=True, slots=True)
class Placed:
    """A text's percentile rank among all scored texts, by people and by the rubric: the share of the others below it.

    Equal scores count half, so that equal texts have the middle rank.
    """

    judged: JudgedText
    human: float
    rubric: float

    @property
    def gap(self) -> float:
        """How much higher the rubric ranks the text than people do."""
        return self.rubric - self.human


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


def criterion_scores(texts: Sequence[JudgedText], criterion: str) -> FloatArray:
    """Return the ratings by one criterion, shape (texts,), NaN where there is none."""
    return floats({part.id: part.score for part in text.score.criteria}.get(criterion) for text in texts)


def furthest_apart(texts: Sequence[JudgedText]) -> tuple[list[Placed], list[Placed]]:
    """Return the `MOST_SHOWN` texts that the rubric ranks furthest above, and furthest below, their rank by people.

    Ranks are compared instead of scores, so that a rubric that is strict on all texts is not counted as wrong on all.
    """
    scored = [text for text in texts if text.score.score is not None]
    human, rubric = places(human_scores(scored)), places(rubric_scores(scored))
    placed = [Placed(text, float(h), float(r)) for text, h, r in zip(scored, human, rubric, strict=True)]
    over = sorted((text for text in placed if text.gap > 0), key=lambda text: (-text.gap, text.judged.example.id))
    under = sorted((text for text in placed if text.gap < 0), key=lambda text: (text.gap, text.judged.example.id))
    return over[:MOST_SHOWN], under[:MOST_SHOWN]


def places(scores: FloatArray) -> FloatArray:
    """Return for each score the share of the other scores below it, 0 to 100, equal ones counted half."""
    if len(scores) < 2:
        return np.full(len(scores), 50.0)
    _, level, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    below = np.cumsum(sizes) - sizes
    shares: FloatArray = 100 * (below + (sizes - 1) / 2)[level] / (len(scores) - 1)
    return shares


def text_card(
    scored: tuple[str, Drawing, Words],
    remark: str,
    text: tuple[str, str | None],
    answers: Sequence[Sequence[Words | Stack]],
    *,
    opened: bool = False,
    full: bool = False,
) -> Card:
    """Return a text (its id, a drawing of its scores and the scores; the output and its source) and its criteria.

    Args:
        full: whether the details hold the full text and source where an excerpt would cut them.
    """
    (name, drawing, scores), (output, source) = scored, text
    reasons = table(("criterion", "score", "reason"), answers, numeric=("score",))
    folded: tuple[Block, ...] = (reasons,)
    cut = full and excerpt(output) != output.strip()
    if cut:
        folded += (Paragraph("Full text", "quiet"), Paragraph(quoted(output), "quote"))
    if source:
        shown = source if full else excerpt(source, SOURCE_EXCERPT)
        folded += (Paragraph("Source", "quiet"), Paragraph(quoted(shown), "quote"))
    blocks = (
        table(("", "", ""), [(quoted(name, "id"), drawing, scores)]),
        *paragraphs([quoted(remark)] if remark else [], "quiet"),
        Paragraph(quoted(excerpt(output)), "quote"),
        Details(
            f"Scores and reasons by criterion{', the full text' if cut else ''}{', the source' if source else ''}",
            folded,
            open=opened,
        ),
    )
    return Card("", blocks, text=True)

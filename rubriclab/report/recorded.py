"""Labelled texts with their held-out scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from rubriclab.report import charts, describe
from rubriclab.report.model import Card, Drawing, Paragraph, Section, View, line, quiet, quoted
from rubriclab.report.texts import text_card
from rubriclab.report.wording import count
from rubriclab.training_record import Candidate, Cell, RecordedText, TrainingRecord

if TYPE_CHECKING:
    from rubriclab.store.version import Version

MOST_SHOWN, TITLE = 6, 60


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A text on which people and the rubric differ.

    Attributes:
        points: by how much the rubric's score lies above the label.
        answers: the ratings by each criterion of the rubric.
    """

    text: RecordedText
    points: float
    answers: tuple[tuple[Candidate, Cell], ...]

    @property
    def side(self) -> Literal["higher", "lower"]:
        """Whether the rubric's score is higher or lower than the label."""
        return "higher" if self.points > 0 else "lower"


def disagreements(record: TrainingRecord, most: int = MOST_SHOWN) -> list[Disagreement]:
    """Return the texts whose held-out scores lie furthest from their labels, in points of the scale."""
    differing = [
        Disagreement(text, text.predicted - text.label, _kept(record.candidates, cells))
        for text, cells in zip(record.texts, record.cells, strict=True)
        if text.predicted is not None and text.predicted != text.label
    ]
    return sorted(differing, key=lambda one: (-abs(one.points), one.text.id))[:most]


def predicted(record: TrainingRecord) -> list[RecordedText]:
    """Return the texts that have a held-out score."""
    return [text for text in record.texts if text.predicted is not None]


def coverage(record: TrainingRecord, confidence: float) -> str:
    """Return how many intervals contain their label, and why this is not evidence; empty without intervals."""
    held = [
        text.low <= text.label <= text.high for text in record.texts if text.low is not None and text.high is not None
    ]
    if not held:
        return ""
    inside = f"{sum(held)} of {count(len(held), 'label')} lie inside"
    return (
        f"{inside}, by construction, as these texts determine the width; for new texts the intervals are meant to "
        f"contain {100 * confidence:.0f} %."
    )


def _kept(candidates: Sequence[Candidate], cells: Sequence[Cell]) -> tuple[tuple[Candidate, Cell], ...]:
    pairs = zip(candidates, cells, strict=True)
    return tuple((candidate, cell) for candidate, cell in pairs if candidate.kept)


def disagreements_view(version: Version, record: TrainingRecord, texts: Sequence[Disagreement]) -> View:
    """Return the texts as a report of their own, in a terminal too."""
    if not texts:
        return View(quoted(version.ref), (Paragraph("No text has a held-out score that differs from its label."),))
    section = replace(disagreement_section(version, record, texts), page_only=False)
    return View(quoted(version.ref), (section,), "rubriclab disagreements", unfolded=True)


def disagreement_section(version: Version, record: TrainingRecord, furthest: Sequence[Disagreement]) -> Section:
    """Return the texts with label, raters' scores, held-out score, and every criterion's score and reason."""
    scale = version.rubric.scores_on
    axis = score_axis_of(version, record)
    about = (
        f"Held-out scores furthest from the labels, in points of the scale from {scale.describe()}. Hollow is the "
        "label, strokes are single raters, filled is the rubric with its interval."
    )
    cards = (disagreement_card(axis, each, opened=number == 0) for number, each in enumerate(furthest))
    title = "Largest disagreements with people"
    return Section(title, (Paragraph(about), *cards), name="disagreements", page_only=True)


def disagreement_card(axis: charts.Axis, disagreement: Disagreement, *, opened: bool, full: bool = False) -> Card:
    """Return a text with label and score on the axis, folded or opened, and every criterion's score and reason."""
    text = disagreement.text
    interval = describe.score_interval((text.low, text.high)) if text.low is not None and text.high is not None else ""
    scores = line(f"people {describe.rounded(text.label)}, rubric {describe.rounded(text.predicted)}", quiet(interval))
    answers = [
        (
            line(quoted(candidate.criterion.id, "id"), quoted(describe.title(candidate.criterion, TITLE))),
            describe.answered(cell, candidate.criterion),
            quoted(cell.reason),
        )
        for candidate, cell in disagreement.answers
    ]
    scored = (text.id, Drawing(charts.rated(axis, text)), scores)
    return text_card(scored, _raters(text), (text.output, text.source), answers, opened=opened, full=full)


def _raters(text: RecordedText) -> str:
    """Return each rater's score with the reason that was given for it, and the reasons of unknown raters."""
    scores = {name: f"{name} {describe.rounded(mark)}" for name, mark in text.raters.items()}
    given = {name: f"{scores.get(name, name)}: {reason}".removeprefix(": ") for name, reason in text.reasons.items()}
    return ("; " if given else ", ").join({**scores, **given}.values())


def score_axis_of(version: Version, record: TrainingRecord) -> charts.Axis:
    """Return the axis that holds the scale and every label and score of the record."""
    return charts.score_axis(version.rubric.scores_on, _scores(record))


def _scores(record: TrainingRecord) -> Iterator[float]:
    """Yield every score on the raters' scale that a drawing may have to hold."""
    for text in record.texts:
        yield from (text.label, *text.raters.values())
        yield from (score for score in (text.predicted, text.low, text.high) if score is not None)

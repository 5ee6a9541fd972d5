"""Versions, scores and results to look at: small and made by hand, hostile in every word, or really learned."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from io import StringIO
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from rich.console import Console, RenderableType

from rubriclab.learning.scoring import Score
from rubriclab.methods.method import CriterionRating
from rubriclab.models.rubric import Criterion, DroppedCriterion, Evidence, Level, Part, Rubric
from rubriclab.models.text import Aspect, Example, Scale
from rubriclab.models.version import Baseline, Effort, Provenance, TrainingAgreement, Version
from rubriclab.ops.evaluate import Evaluator, Result, baseline_evaluators, measure_agreement
from rubriclab.stats.intervals import Interval

GROUPS = 6
RIVALS = 4


def interval(value: float | None, low: float | None = None, high: float | None = None) -> Interval:
    """Return a statistic with its interval."""
    return Interval(value, low, high)


def criterion(name: str = "h01", trait: str = "linked sentences", **fields: Any) -> Criterion:
    """Return the criterion with the id `name`; `fields` replace its own."""
    own: dict[str, Any] = {
        "kind": "hypothesis",
        "statement": "Each sentence takes up the one before.",
        "levels": (Level(score=1, description="loose sentences"), Level(score=5, description="a firm chain")),
        "weight": 1.5,
        "evidence": Evidence(
            origin="labels and literature",
            examples=("train-1", "train-2"),
            findings=("sum-07",),
            refined=2,
            pearson=0.613,
            judged=29,
            missing=1,
        ),
    }
    return Criterion(id=name, trait=trait, **(own | fields))


DROPPED = DroppedCriterion(
    criterion=criterion("h02", "short words", statement="Words are short.", evidence=Evidence(origin="literature")),
    reason="no place in the final bank of 20",
)


def version(number: int = 1, **fields: Any) -> Version:
    """Return a version of `news`; `fields` replace those of the rubric, the provenance and the version."""
    agreement = TrainingAgreement(
        n=30,
        spearman=interval(0.71, 0.52, 0.83),
        pearson=interval(0.68, 0.5, 0.8),
        kendall=interval(0.55, 0.4, 0.7),
        reselected=interval(0.44, -0.12, 0.66),
    )
    rubric: dict[str, Any] = {
        "task": "summarization",
        "aspect": Aspect(name="coherence", definition="How well the sentences hang together."),
        "scale": Scale(low=1, high=5, whole=True),
        "parts": (
            Part(
                method="hypoeval",
                settings={"k": 10},
                criteria=(criterion(), criterion("h03", "a clear end")),
                dropped=(DROPPED,),
            ),
        ),
    }
    provenance: dict[str, Any] = {
        "judge": "gpt-4o-mini",
        "generator": "gpt-4o",
        "model_versions": ("gpt-4o-mini-2024-07-18",),
        "settings": {"hypoeval": {"k": 10, "sources": "labels and literature"}},
        "prompts": "sha256:" + "a" * 64,
        "data": "sha256:" + "b" * 64,
        "examples": ("train-1", "train-2", "train-3"),
        "groups": ("train-a", "train-b"),
        "seed": 114514,
        "agreement": agreement,
        "baseline": Baseline(feature="words", sign=-1, pearson=-0.31),
        "version": "0.1.0",
    }
    own: dict[str, Any] = {
        "name": "news",
        "effort": Effort(calls=412, cached=37, failed=2, repaired=1, prompt_tokens=9000, cost_usd=None, seconds=61.0),
        "parent": "news@7",
        "created": datetime(2026, 11, 21, 22, 40, tzinfo=UTC),
        "tags": ("production",),
    }
    made_rubric = Rubric(**{name: fields.get(name, value) for name, value in rubric.items()})
    made = Provenance(**{name: fields.get(name, value) for name, value in provenance.items()})
    rest = {name: fields.get(name, value) for name, value in own.items()}
    return Version(
        number=number,
        digest=made_rubric.digest,
        rubric=made_rubric,
        provenance=made,
        provenance_digest=made.digest,
        **rest,
    )


def examples(aspect: str = "coherence") -> list[Example]:
    """Return texts of several groups whose labels rise with their number inside the group."""
    return [
        Example(
            id=f"{group}-{rival}",
            group=f"g{group}",
            output=f"Text {rival} about {group}." + " It goes on." * ((rival * 7 + group) % 5),
            source=f"The source of {group}.",
            system=f"s{rival}",
            scores={aspect: 1.0 + rival},
        )
        for group in range(GROUPS)
        for rival in range(RIVALS)
    ]


def scores_of(rubric: Version, texts: Sequence[Example], rate: Callable[[int, Example], float | None]) -> list[Score]:
    """Return a score for each text, as `rate` says from its number and itself; `None` makes it unscored."""
    scores = []
    for number, text in enumerate(texts):
        value = rate(number, text)
        reason = "The reply was empty." if value is None else f"Reason for {text.id}."
        parts = tuple(CriterionRating(one.id, value, reason) for one in rubric.rubric.criteria)
        why = None if value is not None else f"no usable rating for {text.id}"
        scores.append(Score(text.id, rubric.rubric.aspect.name, value, parts, why, rubric.ref, "fake"))
    return scores


def results_of(
    versions: Sequence[Version], scored: Mapping[str, Sequence[Score]], texts: Sequence[Example], **options: Any
) -> list[Result]:
    """Return what `rubriclab evaluate` computes: the rubrics of one aspect and their baselines, at every level."""
    rubrics = [
        Evaluator(
            ref,
            np.array([math.nan if score.score is None else score.score for score in scores], dtype=float),
            sum(score.answers_missing for score in scores),
            sum(score.answers for score in scores),
        )
        for ref, scores in scored.items()
    ]
    known = {one.ref: one.provenance.baseline for one in versions if one.provenance.baseline}
    aspect = versions[0].rubric.aspect.name
    return measure_agreement(texts, [*rubrics, *baseline_evaluators(texts, known)], aspect, **options)


def printed(view: RenderableType, width: int = 80) -> str:
    """Return what a pipe gets of a view."""
    console = Console(file=StringIO(), width=width)
    console.print(view)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def words_of(view: RenderableType, width: int = 80) -> str:
    """Return the words of a view, wherever its lines end."""
    return " ".join(printed(view, width).split())


def shapes(drawing: str, tag: str, style: str) -> list[dict[str, str]]:
    """Return the attributes of a drawing's shapes of one class; the drawing must be well-formed."""
    found = ET.fromstring(drawing).iter(tag)
    return [dict(shape.attrib) for shape in found if shape.get("class") == style]

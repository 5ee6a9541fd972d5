"""A rubric of three criteria with the record of its training, and texts without labels: all made up."""

from __future__ import annotations

import numpy as np

from rubriclab.models.aggregation import Aggregation, Calibration, Term
from rubriclab.models.rubric import Criterion, Evidence, Level, Part, Question, Rubric
from rubriclab.models.text import Aspect, Example, Scale
from rubriclab.models.version import Candidate, Cell, RecordedText, TrainingRecord
from rubriclab.ops.plan import PoolText

EVIDENCE = Evidence(origin="definition")
LEVELS = (Level(score=1, description="loose"), Level(score=5, description="firm"))
LINKS, SPARE = (
    Criterion(id=name, kind="hypothesis", trait=name, statement=f"It has {name}.", levels=LEVELS, evidence=EVIDENCE)
    for name in ("links", "spare")
)
FOLLOWED = Criterion(
    id="followed",
    kind="question",
    trait="ease",
    statement="Is it easy to follow?",
    evidence=EVIDENCE,
    question=Question(origin="seed"),
)
DIRECT = Criterion(id="direct", kind="score", trait="coherence", statement="How coherent is it?", evidence=EVIDENCE)
METHODS = {"links": "hypoeval", "spare": "hypoeval", "followed": "checkeval", "direct": "direct"}
CANDIDATES = (LINKS, FOLLOWED, DIRECT, SPARE)


def rubric(*kept: str) -> Rubric:
    chosen = [each for each in CANDIDATES if each.id in kept]
    share = 1 / len(chosen)
    terms = [
        Term(criterion=each.id, weight=share, center=3, spread=1, low=0, high=share, selected=1) for each in chosen
    ]
    return Rubric(
        task="summarization",
        aspect=Aspect(name="coherence", definition="How well it hangs together."),
        scale=Scale(low=1, high=5, whole=True),
        parts=tuple(Part(method=METHODS[each.id], settings={}, criteria=(each,)) for each in chosen),
        aggregation=Aggregation(terms=tuple(terms), calibration=Calibration(kind="linear", x=(0, 1), y=(3, 4))),
    )


def trained() -> tuple[Rubric, TrainingRecord]:
    """Return the rubric with the record of thirty labelled texts of ten groups."""
    rng = np.random.default_rng(0)
    labels = rng.integers(1, 6, 30).astype(float)
    rows = [_scores(rng, label) for label in labels]
    texts = tuple(
        RecordedText(id=f"t{n:02d}", group=f"g{n % 10}", output=f"Text {n}.", label=label)
        for n, label in enumerate(labels)
    )
    kept = ("links", "followed", "direct")
    candidates = tuple(Candidate(method=METHODS[each.id], criterion=each, kept=each.id in kept) for each in CANDIDATES)
    cells = tuple(tuple(Cell(score=row[each.id], reason="as made up") for each in CANDIDATES) for row in rows)
    return rubric(*kept), TrainingRecord(texts=texts, candidates=candidates, cells=cells)


def rated(number: int) -> PoolText:
    """Return a text without a label, of a group of two, with its scores."""
    rng = np.random.default_rng(100 + number)
    example = Example(f"u{number:02d}", f"New text {number}.", f"n{number // 2}")
    ratings = {name: score for name, score in _scores(rng, rng.uniform(1, 5)).items() if name != "spare"}
    return PoolText(example, ratings=ratings)


def _scores(rng: np.random.Generator, label: float) -> dict[str, float]:
    """Return scores that follow the label with noise, but for one that follows nothing."""
    return {
        "links": float(np.clip(round(label + rng.normal(0, 1)), 1, 5)),
        "followed": float(label + rng.normal(0, 1) > 3),
        "direct": float(np.clip(round(label + rng.normal(0, 0.7)), 1, 5)),
        "spare": float(rng.integers(1, 6)),
    }

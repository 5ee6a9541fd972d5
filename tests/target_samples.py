"""A rubric of three criteria on labelled texts, all made up: how its scores come to the labels is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from planning_samples import CANDIDATES, METHODS, rubric

from rubriclab.learning.adaptation import LabelledTarget, RatedTexts
from rubriclab.learning.fitting import JointSettings
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Example, Scale
from rubriclab.models.version import Candidate, Cell

SCALE = Scale(low=1, high=5, whole=False)
KEPT = ("links", "followed", "direct")


def place(
    truth: Callable[[np.ndarray], np.ndarray],
    *,
    texts: int = 40,
    groups: int = 20,
    onto: Scale = SCALE,
    of: Rubric | None = None,
    noise: float = 0.3,
    seed: int = 0,
) -> LabelledTarget:
    """Return a rubric on texts whose label is what `truth` makes of the scores by three criteria, with noise.

    Criteria score 1 to 5, the question 0 or 1; the label is moved to `onto`.
    """
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.uniform(1, 5, texts), rng.integers(0, 2, texts), rng.uniform(1, 5, texts)])
    labels = np.clip(truth(values) + rng.normal(0, noise, texts), 1, 5)
    examples = tuple(
        Example(f"t{n:02d}", f"Text {n}.", f"g{n % groups:02d}", scores={"coherence": SCALE.moved_to(onto, label)})
        for n, label in enumerate(labels.tolist())
    )
    return on(of or rubric(*KEPT), examples, values, onto)


def on(of: Rubric, examples: tuple[Example, ...], values: np.ndarray, onto: Scale = SCALE) -> LabelledTarget:
    """Return a rubric on these texts, which its criteria score so."""
    from rubriclab.models.aggregation import combine

    known = {each.id: each for each in CANDIDATES}
    candidates = tuple(Candidate(method=METHODS[name], criterion=known[name], kept=True) for name in KEPT)
    cells = tuple(tuple(Cell(score=None if np.isnan(v) else v, reason="made up") for v in row) for row in values)
    rated = RatedTexts(examples, candidates, cells, np.full(len(examples), np.nan))
    if of.aggregation:
        scores = [combine(of.aggregation, rated.ratings(row), of.scale).score for row in range(len(examples))]
        rated = replace(rated, scores=np.array([np.nan if score is None else score for score in scores], dtype=float))
    else:
        rated = replace(rated, scores=np.nanmean(values[:, [0, 2]], axis=1))
    return LabelledTarget(of, rated, "coherence", onto, JointSettings(repeats=1), 0)

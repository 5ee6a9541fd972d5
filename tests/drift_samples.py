"""Versions by hand and scores that their own arithmetic gives: what tests of drift share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from scripted_judge import criterion

from rubriclab.learning.paired_scores import Comparison, DriftLimits, PairedScore, RubricPair, pair_rubrics
from rubriclab.learning.scoring import Score
from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.methods.method import CriterionRating
from rubriclab.models.aggregation import Aggregation, Calibration, Conformal, Term, combine
from rubriclab.models.rubric import Part, Rubric
from rubriclab.models.text import Aspect, Scale
from rubriclab.models.version import Effort, Provenance, Version
from rubriclab.ops.compare import compare_columns

ONE_TO_FIVE = Scale(low=1, high=5, whole=False)
HUNDRED = Scale(low=0, high=100, whole=False)
COHERENCE = Aspect(name="coherence", definition="How well the sentences hang together.")

Values = Mapping[str, float | None]


def version(
    weights: Mapping[str, float],
    *,
    number: int = 1,
    onto: Scale | None = None,
    middle: float = 3.0,
    combined: bool = True,
    words: Mapping[str, str] | None = None,
) -> Version:
    """Return a version whose criteria, by id, weigh so much; an intercept scores `middle`.

    `words` names what a criterion says, where that is not its id: criteria of the same words are the same.
    """
    given = words or {}
    criteria = tuple(
        criterion(given.get(name, name)).model_copy(update={"id": name, "trait": given.get(name, name)})
        for name in weights
    )
    part = Part(method="hypoeval", settings=HypoEvalSettings().model_dump(mode="json"), criteria=criteria)
    made = Rubric(
        task="summarization",
        aspect=COHERENCE,
        scale=ONE_TO_FIVE,
        parts=(part,),
        aggregation=_combination(weights, middle, onto) if combined else None,
    )
    return _stored(made, number)


def _combination(weights: Mapping[str, float], middle: float, onto: Scale | None) -> Aggregation:
    whole = sum(abs(weight) for weight in weights.values())
    terms = tuple(
        Term(criterion=name, weight=weight / whole, center=3.0, spread=1.0, low=-1, high=1, selected=1.0)
        for name, weight in weights.items()
    )
    return Aggregation(
        terms=terms,
        calibration=Calibration(kind="linear", x=(-1.0, 1.0), y=(middle - 1, middle + 1)),
        conformal=Conformal(errors=tuple(0.1 * step for step in range(-11, 12))),
        onto=onto,
    )


def _stored(rubric: Rubric, number: int) -> Version:
    made = Provenance(
        judge="fake",
        generator="fake",
        prompts="sha256:" + "a" * 64,
        data="sha256:" + "b" * 64,
        examples=(),
        groups=(),
        seed=1,
        version="0",
    )
    return Version(
        name="news",
        number=number,
        digest=rubric.digest,
        rubric=rubric,
        provenance=made,
        provenance_digest=made.digest,
        effort=Effort(),
        parent=None,
        created=datetime(2026, 11, 21, tzinfo=UTC),
    )


def scored(made: Version, text: str, values: Values) -> Score:
    """Return the score of a text of which each criterion says so much; `None` is a rating that is missing."""
    rubric = made.rubric
    given = {each.id: values[each.trait] for each in rubric.criteria}
    interval = None
    if rubric.aggregation:
        found = combine(rubric.aggregation, given, rubric.scale)
        score, contributions = found.score, found.contributions
        if found.low is not None and found.high is not None:
            interval = (found.low, found.high)
    else:
        there = [value for value in given.values() if value is not None]
        score, contributions = (sum(there) / len(there) if there else None), {}
    criteria = tuple(
        CriterionRating(each.id, given[each.id], f"{each.id} of {text}", contribution=contributions.get(each.id))
        for each in rubric.criteria
    )
    why = None if score is not None else f"{text} has too few ratings"
    return Score(text, rubric.aspect.name, score, criteria, why, made.ref, "fake", interval)


def paired(
    before: Version, after: Version, texts: Sequence[Values], others: Sequence[Values] | None = None, rivals: int = 3
) -> tuple[RubricPair, list[PairedScore]]:
    """Return the rubrics and the pairs of texts; `others` is what the side after says, where it is not the same."""
    both = pair_rubrics(before.rubric, after.rubric)
    pairs = [
        both.pair_scores(f"g{place // rivals}", scored(before, f"t{place}", ours), scored(after, f"t{place}", theirs))
        for place, (ours, theirs) in enumerate(zip(texts, others or texts, strict=True))
    ]
    return both, pairs


def compared(
    before: Version,
    after: Version,
    texts: Sequence[Values],
    others: Sequence[Values] | None = None,
    *,
    rivals: int = 3,
    threshold: float = 3.0,
    judges: tuple[str, str] = ("a", "a"),
    limits: DriftLimits = DriftLimits(),  # noqa: B008 (immutable)
) -> Comparison:
    names = (before.ref, judges[0]), (after.ref, judges[1])
    return compare_columns(*paired(before, after, texts, others, rivals), names, threshold, limits)


def texts(count: int, names: Sequence[str], seed: int = 0) -> list[Values]:
    rng = np.random.default_rng(seed)
    return [{name: float(np.round(rng.uniform(1, 5), 1)) for name in names} for _ in range(count)]

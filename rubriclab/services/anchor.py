"""Labelled texts that are scored again and again, to see whether their judge still agrees with people as it did.

`NAME.looks.json` beside the file of texts holds the sums of all looks. An observation is the difference of a group's
mean from its mean over the looks before it: without a change these are independent with mean 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from pydantic import Field, ValidationError

from rubriclab.base_models import FrozenModel
from rubriclab.comparison.columns import score_columns
from rubriclab.comparison.results import MAX_UNSCORED, AnchorLook
from rubriclab.data import Example, labelled
from rubriclab.data.example import text_digest
from rubriclab.digest import digest
from rubriclab.errors import DataError
from rubriclab.services.scores import ColumnScoring
from rubriclab.stats.confidence_sequence import MeanSequence
from rubriclab.stats.folds import renumbered

ERROR_RATE = 0.05
"""The probability of any false alarm, over all looks and both sequences."""

FEWEST = 10
"""With fewer groups, false alarms are more frequent than `ERROR_RATE`."""

TIGHTEST_LOOK = 10
"""The look after which the intervals are narrowest for the number of observations."""


class _Looks(FrozenModel):
    """What is kept of the looks so far.

    Attributes:
        rubric, judge: the digest of the version, and what scores by it.
        texts: for each text and label, by digest: in how many looks it was scored, the sum of its errors, and that of
            their absolute values.
    """

    rubric: str
    judge: str
    looks: int = 0
    texts: dict[str, tuple[int, float, float]] = Field(default_factory=dict)
    bias: MeanSequence = MeanSequence()
    error: MeanSequence = MeanSequence()


async def look(scoring: ColumnScoring, place: str) -> AnchorLook:
    """Score the labelled texts of a file once more, and return whether their errors have changed since the first look.

    Cached answers are not used. A look with too many texts without a score is not counted.

    Raises:
        DataError: for too few labelled texts, or if the looks so far are of another rubric or judge.
    """
    workspace, (version, choice) = scoring.workspace, scoring.scorers[0]
    earlier = _read(place, _Looks(rubric=version.digest, judge=choice.spec))
    aspect = version.rubric.aspect.name
    examples = labelled(scoring.texts(), aspect)
    if (groups := len({example.group for example in examples})) < FEWEST:
        raise DataError(
            f"{place}: got texts with labels of {aspect} in {groups} groups, expected at least {FEWEST} groups.",
            "Label more texts.",
        )
    judge = workspace.judge(choice, fresh=True)
    pairs = [pair async for pair in score_columns([(version, judge)], examples, workspace.under_way)]
    scored = [(example, score.score) for example, (score,) in pairs if score.score is not None]
    errors = np.array([score - example.scores[aspect] for example, score in scored])
    complete = len(scored) >= (1 - MAX_UNSCORED) * len(examples)
    looks = _after(earlier, [example for example, _ in scored], errors, aspect) if complete else earlier
    if complete:
        _looks_of(place).write_text(looks.model_dump_json(), "utf-8")
    return AnchorLook(
        rubric=version.ref,
        judge=choice.spec,
        looks=looks.looks,
        texts=len(examples),
        scored=len(scored),
        groups=groups,
        bias=float(errors.mean()) if scored else None,
        absolute_error=float(np.abs(errors).mean()) if scored else None,
        bias_change=looks.bias.interval.rounded(),
        error_change=looks.error.interval.rounded(),
        outcome=(
            "beyond" if looks.bias.excludes_zero or looks.error.excludes_zero else "within" if complete else "unknown"
        ),
    )


def _looks_of(place: str) -> Path:
    return Path(f"{place}.looks.json")


def _read(place: str, first: _Looks) -> _Looks:
    """Return the looks at a file of texts, `first` if there are none.

    Raises:
        DataError: if they cannot be read, or are of another rubric or judge.
    """
    kept = _looks_of(place)
    if not kept.exists():
        return first
    try:
        found = _Looks.model_validate_json(kept.read_bytes())
    except ValidationError:
        found = first.model_copy(update={"judge": ""})
    if (found.rubric, found.judge) != (first.rubric, first.judge):
        raise DataError(
            f"{kept} holds looks by another rubric or judge than {first.judge}, or cannot be read.",
            "Use another copy of the texts for them, or delete this file to begin again.",
        )
    return found


def _after(earlier: _Looks, examples: Iterable[Example], errors: np.ndarray, aspect: str) -> _Looks:
    """Return the looks with one more; texts that were not scored before begin with it."""
    texts, changes, groups = dict(earlier.texts), [], []
    for example, error in zip(examples, errors.tolist(), strict=True):
        key = digest([text_digest(example), example.scores[aspect]])
        number, total, absolute = texts.get(key, (0, 0.0, 0.0))
        if number:
            changes.append((error - total / number, abs(error) - absolute / number))
            groups.append(example.group)
        texts[key] = (number + 1, total + error, absolute + abs(error))
    found = earlier.model_copy(update={"looks": earlier.looks + 1, "texts": texts})
    unit = renumbered(np.array(groups, dtype=str))
    if len(changes) == 0 or unit.max() == 0:
        return found
    sums = [np.bincount(unit, column) / np.bincount(unit) for column in np.array(changes).T]
    tightest = TIGHTEST_LOOK * (int(unit.max()) + 1)
    bias, error = (
        sequence.after(observations, error_rate=ERROR_RATE / 2, tightest=tightest)
        for sequence, observations in zip((earlier.bias, earlier.error), sums, strict=True)
    )
    return found.model_copy(update={"bias": bias, "error": error})

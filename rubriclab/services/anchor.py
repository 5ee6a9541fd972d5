"""Labelled texts that are scored again and again, to see whether their judge still agrees with people as it did.

`NAME.looks.json` beside the file of texts holds the errors of all looks. An observation is the difference of a group's
mean from its mean over the looks before it: without a change these are independent with mean 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from rubriclab.base_models import FrozenModel
from rubriclab.comparison.columns import score_columns
from rubriclab.comparison.results import MAX_UNSCORED, AnchorLook
from rubriclab.data import labelled
from rubriclab.data.example import text_digest
from rubriclab.digest import digest
from rubriclab.errors import DataError
from rubriclab.services.scores import ColumnScoring
from rubriclab.stats.confidence_sequence import confidence_sequence
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import renumbered

ERROR_RATE = 0.05
"""The probability of any false alarm, over all looks and both sequences."""

FEWEST = 10
"""With fewer groups, false alarms are more frequent than `ERROR_RATE`."""

TIGHTEST_LOOK = 10
"""The look after which the intervals are narrowest for the number of observations."""


class _Looks(FrozenModel):
    """The looks so far: for each text and label, by digest, the score less the label."""

    rubric: str
    judge: str
    looks: tuple[Mapping[str, float], ...] = ()


async def look(scoring: ColumnScoring, place: str) -> AnchorLook:
    """Score the labelled texts of a file once more, and return whether their errors have changed since the first look.

    Cached answers are not used. A look with too many texts without a score is not counted.

    Raises:
        DataError: for too few labelled texts, or if the looks so far are of another rubric or judge.
    """
    workspace, (version, choice) = scoring.workspace, scoring.scorers[0]
    earlier = _read(place, _Looks(rubric=version.digest, judge=choice.spec))
    aspect = version.rubric.aspect.name
    texts = {digest([text_digest(each), each.scores[aspect]]): each for each in labelled(scoring.texts(), aspect)}
    examples = tuple(texts.values())
    if (groups := len({example.group for example in examples})) < FEWEST:
        raise DataError(
            f"{place}: got texts with labels of {aspect} in {groups} groups, expected at least {FEWEST} groups.",
            "Label more texts.",
        )
    judge = workspace.judge(choice, fresh=True)
    scored = score_columns([(version, judge)], examples, workspace.under_way)
    scores = [score.score async for _, (score,) in scored]
    errors = {
        key: score - each.scores[aspect]
        for (key, each), score in zip(texts.items(), scores, strict=True)
        if score is not None
    }
    counted = len(errors) >= (1 - MAX_UNSCORED) * len(texts)
    looks = (*earlier.looks, errors) if counted else earlier.looks
    if counted:
        _looks_of(place).write_text(earlier.model_copy(update={"looks": looks}).model_dump_json(), "utf-8")
    table = np.array([[each.get(key, np.nan) for key in texts] for each in looks]).reshape(len(looks), len(texts))
    unit = renumbered(np.array([each.group for each in examples]))
    bias, error = (
        confidence_sequence(_changes(values, unit), error_rate=ERROR_RATE / 2, tightest=TIGHTEST_LOOK * groups)
        for values in (table, np.abs(table))
    )
    changed = any((each.low or 0.0) > 0 or (each.high or 0.0) < 0 for each in (bias, error))
    now = np.array([*errors.values()])
    return AnchorLook(
        rubric=version.ref,
        judge=choice.spec,
        looks=len(looks),
        texts=len(texts),
        groups=groups,
        bias=float(now.mean()) if errors else None,
        absolute_error=float(np.abs(now).mean()) if errors else None,
        bias_change=bias.rounded(),
        error_change=error.rounded(),
        outcome="beyond" if changed else "within" if counted else "unknown",
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


def _changes(values: FloatArray, unit: IntArray) -> list[FloatArray]:
    """Return for each look but the first the mean change of each group from its texts' means over the looks before.

    Args:
        values: shape (looks, texts), NaN where a text has no score.
        unit: the group of each text.
    """
    counts = np.cumsum(~np.isnan(values), axis=0)[:-1]
    changes = values[1:] - np.nancumsum(values, axis=0)[:-1] / np.where(counts, counts, np.nan)
    known = [(row[~np.isnan(row)], renumbered(unit[~np.isnan(row)])) for row in changes]
    return [np.bincount(group, row) / np.bincount(group) for row, group in known if group.max(initial=0) > 0]

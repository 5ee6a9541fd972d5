"""Looks at an anchor: whether the errors of a version and its judge have changed since earlier looks.

An anchor is a file of labelled texts. At each look the same version and judge score all of its texts, without cached
answers. A text's error is its score less its label. The errors at each look are kept in a file beside the anchor. If
the provider has changed the judge, the mean error (the bias) or the mean absolute error changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from rubriclab.errors import DataError
from rubriclab.learning import paired_scores as paired
from rubriclab.models.base import FrozenModel, digest
from rubriclab.models.text import labelled, text_digest
from rubriclab.models.version import Version
from rubriclab.ops import inputs
from rubriclab.ops.scores import ColumnScoring
from rubriclab.stats import intervals
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.intervals import renumber

# The probability that any look raises a false alarm: half of it each for the bias and the absolute error.
ERROR_RATE = 0.05
# The fewest groups of an anchor: with fewer, a false alarm would be more probable.
MIN_GROUPS = 10
# The number of looks at which the interval of a change is narrowest.
NARROWEST_LOOK = 10


class _Looks(FrozenModel):
    """The file beside an anchor: the errors at each look, by the digest of text and label."""

    rubric: str  # the digest of the version
    judge: str
    looks: tuple[Mapping[str, float], ...] = ()

    def write(self, file: Path) -> None:
        file.write_text(self.model_dump_json(), "utf-8")


def _read_looks(file: Path, version: Version, judge: str) -> _Looks:
    if not file.exists():
        return _Looks(rubric=version.digest, judge=judge)
    hint = "Give a copy of the texts under another name, or delete this file to begin again."
    try:
        looks = _Looks.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise DataError(f"{file} is not a record of looks.", hint) from error
    if (looks.rubric, looks.judge) != (version.digest, judge):
        raise DataError(f"{file} is not of {version.ref} and {judge}, but of another rubric or judge.", hint)
    return looks


async def look(scoring: ColumnScoring, anchor: str) -> paired.AnchorLook:
    """Score the texts of the file `anchor` once more, and compare the errors with those at earlier looks.

    A look that leaves too many texts unscored is not recorded.
    """
    version, choice = scoring.scorers[0]
    file = Path(f"{anchor}.looks.json")
    looks = _read_looks(file, version, choice.spec)
    aspect = version.rubric.aspect.name
    texts = {digest([text_digest(text), text.scores[aspect]]): text for text in labelled(scoring.read_texts(), aspect)}
    labels = [text.scores[aspect] for text in texts.values()]
    inputs.check_labels(labels, version.rubric, version.ref)
    group_numbers = renumber(np.array([text.group for text in texts.values()]))
    groups = int(group_numbers.max(initial=-1)) + 1
    if groups < MIN_GROUPS:
        mapping = None if texts else inputs.propose_label_mapping(anchor, scoring.options, aspect)
        hint = f"Map the column of the labels: `mapping={mapping}`." if mapping else "Label more texts."
        problem = f"{anchor} has labels of {aspect} in {groups} groups, expected at least {MIN_GROUPS} groups."
        raise DataError(problem, hint)
    scores = [score.score async for _, (score,) in scoring.stream(tuple(texts.values()))]
    errors = {key: score - label for key, label, score in zip(texts, labels, scores, strict=True) if score is not None}
    outcome: paired.LimitOutcome = "inconclusive"
    if len(errors) >= (1 - paired.MAX_UNSCORED) * len(texts):
        outcome = "within"
        looks = looks.model_copy(update={"looks": (*looks.looks, errors)})
        looks.write(file)
    rows = [[errors_at_look.get(key, np.nan) for key in texts] for errors_at_look in looks.looks]
    error_table = np.array(rows).reshape(-1, len(texts))
    changes = {}
    for name, table in (("bias_change", error_table), ("error_change", np.abs(error_table))):
        group_changes, tightest_at = _group_changes(table, group_numbers), NARROWEST_LOOK * groups
        change = intervals.confidence_sequence(group_changes, error_rate=ERROR_RATE / 2, tightest_at=tightest_at)
        changes[name] = change.rounded()
        if (change.low or 0.0) > 0 or (change.high or 0.0) < 0:  # 0 is outside of the interval
            outcome = "beyond"
    errors_now = np.array([*errors.values()])
    return paired.AnchorLook(
        rubric=version.ref,
        judge=choice.spec,
        looks=len(looks.looks),
        texts=len(texts),
        groups=groups,
        bias=float(errors_now.mean()) if errors else None,
        absolute_error=float(np.abs(errors_now).mean()) if errors else None,
        outcome=outcome,
        **changes,
    )


def _group_changes(errors: FloatArray, group_numbers: IntArray) -> list[FloatArray]:
    """Return each group's mean change of errors at each look after the first.

    A text's change is its error less the mean of its errors at earlier looks. `errors` has shape (looks, texts), NaN
    where a text has no score. Looks at fewer than two groups are left out.
    """
    n_earlier = np.cumsum(~np.isnan(errors), axis=0)[:-1]
    earlier_means = np.nancumsum(errors, axis=0)[:-1] / np.where(n_earlier, n_earlier, np.nan)
    group_changes = []
    for changes in errors[1:] - earlier_means:
        is_defined = ~np.isnan(changes)
        groups = renumber(group_numbers[is_defined])
        if groups.max(initial=0) > 0:
            group_changes.append(np.bincount(groups, changes[is_defined]) / np.bincount(groups))
    return group_changes

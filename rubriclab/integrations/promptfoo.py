"""promptfoo: an assertion that scores texts, for a file that promptfoo runs::

from rubriclab.integrations.promptfoo import get_assert
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubriclab.errors import DataError, SettingsError
from rubriclab.integrations.evaluator import FIELDS, open_scorer, rationale
from rubriclab.ops.scores import criterion_cells


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return promptfoo's `GradingResult` of an output.

    `score` is a share of the rubric's scale, from 0 to 1. `namedScores` are on the scale: the score under the rubric's
    name, and the score of each criterion as `RUBRIC.ID`. Without a score the assertion fails with `score` 0, which
    promptfoo needs, and no named scores.

    Args:
        context: as promptfoo gives it. `vars` has values of fields, by name. `config` has `rubric`, and may have
            `threshold` (on the rubric's scale), `fields` (the variable of each field that is named otherwise in `vars`,
            as in `{"source": "article"}`), and options of `Lab`.

    Raises:
        SettingsError: for faulty settings, or for a cap, which would hold for one assertion only.
        DataError: if a variable of `fields` is missing.
    """
    config = dict(context.get("config") or {})
    if caps := " and ".join(f"`{name}`" for name in ("max_calls", "max_cost") if name in config):
        problem = f"promptfoo starts a process for each assertion, and {caps} would hold for one assertion only."
        raise SettingsError(problem, f"Leave out {caps}; answers are kept in the store.")
    rubric, threshold = config.pop("rubric", None), config.pop("threshold", None)
    row = row_of(output, context.get("vars") or {}, config.pop("fields", None) or {})
    if not isinstance(rubric, str):
        hint = "Add one to it, as in `rubric: news-coherence` or `rubric: news-coherence@production`."
        raise SettingsError("The 'config' names no rubric.", hint)
    with open_scorer(rubric, threshold, **config) as scorer:
        threshold = scorer.rubric.threshold if threshold is None else threshold
        score = scorer.score_row(row)
        name, reason = scorer.name.partition("@")[0], rationale(score, scorer.rubric)
        if score.score is None:
            return {"pass": False, "score": 0.0, "reason": reason}
        cells = criterion_cells(score)
        criteria = {f"{name}.{each.id}": cells[each.id] for each in score.criteria if each.score is not None}
        passes = threshold is None or score.score >= threshold
        return {
            "pass": passes,
            "score": scorer.share_of_scale(score.score),
            "reason": reason if passes else f"below the threshold {threshold}: {reason}",
            "namedScores": {name: score.score, **criteria},
        }


def row_of(output: Any, value_by_variable: Mapping[str, Any], variable_by_field: Mapping[str, str]) -> dict[str, Any]:
    """Return the row of an output. A field that `variable_by_field` lacks has the variable of the same name."""
    hint = f"Give variables for some of these: {', '.join(FIELDS)}."
    if not isinstance(variable_by_field, Mapping):
        raise SettingsError(f"'fields': expected a mapping of fields to variables, got {variable_by_field!r}.", hint)
    if unknown := sorted(map(str, variable_by_field.keys() - set(FIELDS))):
        raise SettingsError(f"'fields' names {', '.join(unknown)}, which it cannot set.", hint)
    if missing := [name for name in variable_by_field.values() if name not in value_by_variable]:
        hint = f"Its variables are: {', '.join(sorted(value_by_variable)) or 'none'}."
        raise DataError(f"The test has no variable {missing[0]!r}.", hint)
    row = {name: value_by_variable[name] for name in FIELDS if name in value_by_variable}
    row |= {field: value_by_variable[variable] for field, variable in variable_by_field.items()}
    return {**row, "output": output}

"""A rubric beside the same judge without a rubric, which scores by the definition of the aspect alone.

The gate compares a rubric with what costs nothing. Whether the rubric adds agreement to the judge that it is scored
with is another question, and the smaller difference: it is answered beside the verdict, which it does not change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from rubriclab.learning.gate import DIRECT
from rubriclab.option_names import by_reader, command
from rubriclab.report.wording import estimate, figure
from rubriclab.validation import MATTERS, EvaluatorAgreement, GateVerdict, Validation

if TYPE_CHECKING:
    from rubriclab.store.version import Version

Side = Literal["better", "worse", "not distinguishable", "too few groups"]


def side_of(verdict: GateVerdict) -> Side:
    """Return on which side of 0 the whole interval of a difference is."""
    low, high = verdict.difference.low, verdict.difference.high
    if low is None or high is None:
        return "too few groups"
    if low > 0:
        return "better"
    return "worse" if high < 0 else "not distinguishable"


def sentence(version: Version) -> str:
    """Return how the rubric compares with the same judge without a rubric; empty for a rubric without a judge."""
    validation = version.provenance.validation
    if validation is None or _is_judge_alone(version):
        return ""
    verdict, alone = _comparison(validation)
    if verdict is None or alone is None:
        return _unknown(version, validation)
    figures = f"{figure(alone.pearson.value)}; difference {estimate(verdict.difference)}"
    match side_of(verdict):
        case "better":
            return f"Better than the same judge without a rubric ({figures})."
        case "worse":
            return f"Worse than the same judge without a rubric ({figures})."
        case "not distinguishable":
            return f"Not distinguishable from the same judge without a rubric ({figures})."
        case _:
            return f"Too few groups to compare it with the same judge without a rubric ({figures})."


def advice(version: Version) -> Iterator[str]:
    """Yield what to consider where the rubric does not agree better than the same judge without a rubric."""
    from rubriclab.report.verdicts import per_text

    validation = version.provenance.validation
    if validation is None or _is_judge_alone(version):
        return
    verdict, alone = _comparison(validation)
    if verdict is None or alone is None:
        return
    learn = command("learn", "…", methods=DIRECT)
    cheap = f"`{learn}` makes a version that scores without a rubric, with {per_text(alone.calls)}."
    match side_of(verdict):
        case "worse":
            yield f"Consider the same judge without a rubric, which agrees better: {cheap}"
        case "not distinguishable":
            high = verdict.difference.high or 0.0
            shown = f"a gain of {MATTERS} or more is ruled out" if high < MATTERS else "these labels show no gain"
            yield (
                "Keep the rubric if you need its criteria and reasons, not for its agreement: compared with the same "
                f"judge without a rubric, {shown}. {cheap}"
            )


def _comparison(validation: Validation) -> tuple[GateVerdict | None, EvaluatorAgreement | None]:
    verdict = next((each for each in validation.verdicts if each.against == DIRECT), None)
    alone = next((each for each in validation.evaluators if each.name == DIRECT), None)
    defined = verdict is not None and verdict.difference.value is not None
    return (verdict, alone) if defined else (None, None)


def _is_judge_alone(version: Version) -> bool:
    """Return whether the rubric asks nothing but the score by the definition, or asks no judge."""
    return {part.method for part in version.rubric.parts} <= {DIRECT, "text_features"}


def _unknown(version: Version, validation: Validation) -> str:
    if version.provenance.edit and version.parent:
        return (
            "Not compared with the same judge without a rubric, which has not rated these texts for the edited "
            f"version; of its parent: `{command('gate', version.parent)}`."
        )
    if not any(each.kind == "judged" for each in validation.evaluators):
        return ""
    compare = by_reader(
        python=f"lab.evaluate(..., [{version.ref!r}], baselines=[{DIRECT!r}])",
        command_line=f"rubriclab evaluate HELDOUT --rubric {version.ref} --baseline {DIRECT}",
    )
    return f"Not compared with the same judge without a rubric, which was not learned; `{compare}` compares them."

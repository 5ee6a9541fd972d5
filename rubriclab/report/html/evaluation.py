"""The page on an evaluation: how far rubrics agree with people on texts that they have not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubriclab.data.example import Example, labelled
from rubriclab.evaluation import Evaluator, Result
from rubriclab.evaluation import floors as measured_floors
from rubriclab.report import wording
from rubriclab.report.criteria import CriterionRow, criterion_agreements
from rubriclab.report.html.page import render
from rubriclab.report.summary import EvaluationSummary, sentences, summarize
from rubriclab.report.texts import JudgedText, furthest_apart, judged_texts
from rubriclab.rubric import Criterion
from rubriclab.scoring.score import Score
from rubriclab.stats import IntervalEstimate
from rubriclab.text_features import CATALOGUE

if TYPE_CHECKING:
    from rubriclab.store.version import Version

MOST_UNSCORED = 50
MOST_ROWS = 15


@dataclass(frozen=True, slots=True)
class AspectPart:
    """What the report says of one aspect: in words, and result by result."""

    name: str
    summary: EvaluationSummary | None
    sentences: tuple[str, ...]
    blocks: Sequence[tuple[str, str, Sequence[Result]]]


@dataclass(frozen=True, slots=True)
class RubricPart:
    """What the report says of one rubric."""

    version: Version
    texts: Sequence[JudgedText]
    level: str
    agreements: Sequence[CriterionRow]
    result: Result | None

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """Label and rubric score of every text that has both."""
        return [(text.human, text.score.score) for text in self.texts if text.score.score is not None]

    @property
    def criteria(self) -> dict[str, Criterion]:
        """Every criterion by its id."""
        return {criterion.id: criterion for criterion in self.version.rubric.criteria}

    @property
    def charted(self) -> list[tuple[str, list[CriterionRow]]]:
        """Its criteria's agreement, the questions of one sub-dimension together."""
        found: dict[str, list[CriterionRow]] = {}
        for one in self.agreements:
            found.setdefault(one.sub_dimension, []).append(one)
        return list(found.items())

    @property
    def tall(self) -> bool:
        """Whether its criteria are too many for a reader to keep the numbers under their chart in view."""
        return len(self.agreements) > MOST_ROWS

    @property
    def shown(self) -> list[IntervalEstimate]:
        """The correlations of its criteria and its own, which share an axis."""
        return [found.spearman for found in self.agreements] + ([self.result.agreement.spearman] if self.result else [])


def evaluation_report(
    versions: Sequence[Version],
    results: Sequence[Result],
    scored: Mapping[str, Sequence[Score]],
    examples: Sequence[Example],
) -> str:
    """Return the evaluation of `versions` as one self-contained HTML page.

    Args:
        versions: the rubrics that were evaluated.
        results: their agreement with people and that of the floors; see `rubriclab.evaluation.evaluate`.
        scored: by `NAME@NUMBER`, the scores of `examples`, or of those with a label, in their order.
        examples: the texts, with labels for the rubrics' aspects.

    Raises:
        ValueError: scores are missing for a version, or belong to other texts.
    """
    texts = {version.ref: _texts(version, scored, examples) for version in versions}
    aspects = [_aspect_part(name, versions, results, texts, examples) for name in _aspects(versions)]
    by_aspect = {aspect.name: aspect for aspect in aspects}
    rubrics = [_rubric_part(version, texts[version.ref], by_aspect) for version in versions]
    constant = results[0].agreement.constant if results else "skip"
    return render(
        "evaluation.html",
        aspects=aspects,
        rubrics=rubrics,
        several=len(aspects) > 1,
        constant=constant,
        explained=_explained(versions),
        furthest_apart=furthest_apart,
        most_unscored=MOST_UNSCORED,
    )


def _explained(versions: Sequence[Version]) -> dict[str, bool]:
    """Return which things that only some rubrics have are to be explained."""
    criteria = [criterion for version in versions for criterion in version.rubric.criteria]
    return {
        "rewards": any(criterion.evidence.rewards for criterion in criteria),
        "questions": any(criterion.question for criterion in criteria),
    }


def _texts(version: Version, scored: Mapping[str, Sequence[Score]], examples: Sequence[Example]) -> list[JudgedText]:
    if version.ref not in scored:
        known = ", ".join(scored) or "none"
        raise ValueError(f"scored: expected the scores of {version.ref!r} too, got those of {known}")
    return judged_texts(examples, scored[version.ref], version.ref, version.rubric.aspect.name)


def _aspects(versions: Sequence[Version]) -> list[str]:
    return list(dict.fromkeys(version.rubric.aspect.name for version in versions))


def _aspect_part(
    name: str,
    versions: Sequence[Version],
    results: Sequence[Result],
    texts: Mapping[str, Sequence[JudgedText]],
    examples: Sequence[Example],
) -> AspectPart:
    chosen = [version for version in versions if version.rubric.aspect.name == name]
    own = [result for result in results if result.aspect == name]
    floors = _floors(chosen, labelled(examples, name))
    summary = summarize(name, chosen, own, texts, floors)
    return AspectPart(name, summary, tuple(sentences(summary)) if summary else (), wording.blocks(own))


def _floors(versions: Sequence[Version], examples: Sequence[Example]) -> list[Evaluator]:
    """Return the floors' scores once more: results keep figures only, and a comparison needs the scores.

    Measures that this catalogue does not know, of a rubric that somebody else learned, are left out.
    """
    known = {entry.name for entry in CATALOGUE}
    chosen = {version.ref: version.provenance.baseline for version in versions}
    return measured_floors(examples, {ref: floor for ref, floor in chosen.items() if floor and floor.measure in known})


def _rubric_part(version: Version, texts: Sequence[JudgedText], aspects: Mapping[str, AspectPart]) -> RubricPart:
    summary = aspects[version.rubric.aspect.name].summary
    if summary is None:
        return RubricPart(version, texts, "", (), None)
    result = next((row.result for row in summary.evaluators if row.ref == version.ref), None)
    constant = summary.evaluators[0].result.agreement.constant
    agreements = criterion_agreements(version.rubric, texts, summary.level, constant)
    return RubricPart(version, texts, summary.level, agreements, result)

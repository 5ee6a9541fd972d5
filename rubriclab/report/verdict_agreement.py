"""How verdicts, and scores of few levels, agree with people's: one view for learning, reports and evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rubriclab.data.example import Example
from rubriclab.evaluation import Evaluator
from rubriclab.learning.verdicts import (
    RATERS,
    LevelAgreement,
    raters_verdicts,
    verdict_agreement,
    verdict_statistic,
    verdicts_of,
)
from rubriclab.methods.names import JOINT
from rubriclab.report import charts
from rubriclab.report.model import NO_BASIS, Basis, Block, Figure, Paragraph, Plot, Row, Section, quoted, table
from rubriclab.report.wording import count, estimate, evaluator_parts, figure
from rubriclab.rubric import Rubric
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import Interval
from rubriclab.validation import VerdictAgreement

NAMES = {JOINT: "this rubric", "direct": "the same judge asked directly"}


def verdict_sentence(agreement: VerdictAgreement, names: tuple[str, str]) -> str:
    """Return which share of the texts at each level the verdicts find, and how well they agree as a whole."""
    fails, passes = agreement.recalls
    return (
        f"the verdicts find {estimate(fails)} of the texts that people put at {names[0]!r} and {estimate(passes)} of "
        f"those at {names[1]!r} (balanced accuracy {estimate(agreement.balanced_accuracy)}, Cohen's kappa "
        f"{estimate(agreement.kappa)})"
    )


@dataclass(frozen=True)
class VerdictEvaluation:
    """How verdicts of rubrics on one aspect agree with people's on texts that they were not learned from.

    Attributes:
        names: of the levels.
        agreements: of the rubrics, by their references, and of the raters among themselves where they are known.
        groups: of the texts.
        baseline: the free baseline with the highest AUROC, and its AUROC.
        gains: by rubric, its AUROC less that of the baseline on the same texts.
    """

    aspect: str
    names: tuple[str, str]
    agreements: tuple[VerdictAgreement, ...]
    groups: int
    baseline: tuple[str, Interval]
    gains: Mapping[str, Interval]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the figures of each rubric and of the raters as one JSON object each."""
        name, auroc = self.baseline
        return [
            {
                "evaluator": each.name,
                "aspect": self.aspect,
                "levels": self.names,
                **each.model_dump(mode="json", exclude={"name"}),
                **({"auroc_above": {name: asdict(self.gains[each.name])}} if each.name in self.gains else {}),
            }
            for each in self.agreements
        ] + [{"evaluator": name, "aspect": self.aspect, "levels": self.names, "auroc": asdict(auroc)}]

    def section(self) -> Section:
        """Return the figures in sentences and tables."""
        rubrics = [each for each in self.agreements if each.name in self.gains]
        name, auroc = self.baseline
        sentences = [
            Paragraph(
                quoted(
                    f"{each.name}: {verdict_sentence(each, self.names)}, AUROC {estimate(each.auroc)}, Brier "
                    f"score {estimate(each.brier)}, on {count(sum(each.cells), 'text')}."
                ),
                "lead",
            )
            for each in rubrics
        ]
        gains = "; ".join(f"{each.name} {estimate(self.gains[each.name])}" for each in rubrics)
        above = f"The best free baseline, {name}, has an AUROC of {estimate(auroc)}; above it: {gains}."
        basis = Basis(aspect=self.aspect, level="dataset", n=sum(rubrics[0].cells), groups=self.groups)
        (tables,) = verdict_section(self.agreements, self.names, "", basis=basis)
        blocks = (*sentences, Paragraph(quoted(above)), *tables.blocks)
        return Section(quoted(f"Verdicts: {self.aspect}"), blocks, "in brackets 95 % intervals", name="verdicts")


def evaluate_verdicts(
    aspect: str,
    rubrics: Mapping[str, tuple[Rubric, FloatArray]],
    baselines: Sequence[Evaluator],
    texts: Sequence[Example],
) -> VerdictEvaluation | None:
    """Return how verdicts on one aspect agree with the labels of texts; `None` if no rubric gives verdicts.

    Args:
        rubrics: by reference, each with its scores of the texts, NaN where missing.
        baselines: which never read a text.
    """
    groups, labels = [text.group for text in texts], np.array([text.scores[aspect] for text in texts], dtype=float)
    found, scores = [], {}
    names: tuple[str, str] | None = None
    for ref, (rubric, values) in rubrics.items():
        if rubric.threshold is not None:
            names = names or rubric.scores_on.names
            scores[ref] = values
            found.append(verdict_agreement(ref, values, verdicts_of(values, rubric.threshold), labels, groups))
    if names is None:
        return None
    free = {evaluator_parts(each.name)[0]: each.scores for each in baselines}
    reached = {name: verdict_statistic("AUROC", [values], labels, groups) for name, values in free.items()}
    best = max(reached, key=lambda name: reached[name].value or 0.0)
    gains = {ref: verdict_statistic("AUROC", [values, free[best]], labels, groups) for ref, values in scores.items()}
    if raters := raters_verdicts([text.annotations.get(aspect, ()) for text in texts], groups):
        found.append(raters)
    return VerdictEvaluation(aspect, names, tuple(found), len(set(groups)), (best, reached[best]), gains)


def verdict_section(
    agreements: Sequence[VerdictAgreement],
    names: tuple[str, str],
    measured: str,
    name: str = "",
    *,
    basis: Basis = NO_BASIS,
) -> Iterator[Section]:
    """Yield the figures of every evaluator, its four cells, and the calibration of the first; none without verdicts."""
    if not agreements:
        return
    worse, better = names
    rows = [
        (f"found of {worse!r}", [each.recalls[0] for each in agreements]),
        (f"found of {better!r}", [each.recalls[1] for each in agreements]),
        (f"precision of {worse!r}", [each.precisions[0] for each in agreements]),
        (f"precision of {better!r}", [each.precisions[1] for each in agreements]),
        ("balanced accuracy", [each.balanced_accuracy for each in agreements]),
        ("Cohen's kappa", [each.kappa for each in agreements]),
        ("AUROC", [each.auroc for each in agreements]),
        ("Brier score", [each.brier for each in agreements]),
    ]
    columns = [NAMES.get(each.name, each.name) for each in agreements]
    figures = [Row((quoted(title), *map(Figure, found)), basis=basis) for title, found in rows]
    pairs = [(said, judged) for said in names for judged in names]
    cells = [
        Row((quoted(f"people {said!r}, verdict {judged!r}"), *(f"{each.cells[place]:,}" for each in agreements)))
        for place, (said, judged) in enumerate(pairs)
    ]
    blocks: list[Block] = [
        table(("", *columns), figures, numeric=columns),
        Section("Texts", (table(("", *columns), cells, numeric=columns),)),
    ]
    if bins := agreements[0].reliability:
        shown = [(f"{each.n:,}", figure(each.score), Figure(each.share)) for each in bins]
        titles = ("texts", "mean score", f"share of {better!r}")
        caption = (
            f"Each dot is a part of the texts, by score, with the 95 % interval of the share that people put at "
            f"{better!r}; on the broken line scores are calibrated."
        )
        points = [(each.score, each.share) for each in bins]
        plot = Plot(quoted(caption), charts.reliability(points, f"share of {better!r}"))
        note = "calibrated scores are near the share that people let pass"
        blocks.append(Section("Calibration", (plot, table(titles, shown, numeric=titles)), note))
    if agreements[-1].name == RATERS:
        blocks.append(Paragraph("Each rater is compared with the majority of the others.", "quiet"))
    yield Section("Verdicts", tuple(blocks), measured, name=name)


def level_section(agreement: LevelAgreement | None, measured: str, name: str = "") -> Iterator[Section]:
    """Yield the table of labels and scores, rounded to whole levels, with weighted kappa; none without levels."""
    if agreement is None:
        return
    levels = [f"{level:g}" for level in agreement.levels]
    rows = [(f"people {level}", *map(str, counts)) for level, counts in zip(levels, agreement.cells, strict=True)]
    kappa = f"Quadratic weighted kappa {estimate(agreement.kappa)} on {count(sum(map(sum, agreement.cells)), 'text')}."
    titles = [f"score {level}" for level in levels]
    blocks = (table(("", *titles), rows, numeric=titles), Paragraph(kappa))
    yield Section("Level by level", blocks, measured, name=name)

"""How verdicts, and scores of few levels, agree with people's: one view for learning, reports and evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rubriclab.learning.verdicts import (
    RATERS,
    LevelAgreement,
    raters_verdicts,
    verdict_agreement,
    verdict_statistic,
    verdicts_of,
)
from rubriclab.methods.catalogue import JOINT
from rubriclab.models.characters import count
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Example
from rubriclab.models.version import VerdictAgreement
from rubriclab.ops.evaluate import Evaluator
from rubriclab.report import charts
from rubriclab.report.model import NO_BASIS, Basis, Block, Figure, Paragraph, Plot, Row, Section, quoted, table
from rubriclab.report.wording import estimate, evaluator_parts, figure
from rubriclab.stats.correlation import FloatArray

NAMES = {JOINT: "this rubric", "direct": "the same judge asked directly"}


def verdict_sentence(agreement: VerdictAgreement, names: tuple[str, str]) -> str:
    """Return which share of the texts at each level the verdicts find, and how well they agree as a whole."""
    fails, passes = agreement.recalls
    return (
        f"the verdicts find {estimate(fails)} of the texts that people put at {names[0]!r} and {estimate(passes)} of "
        f"those at {names[1]!r} (balanced accuracy {estimate(agreement.balanced_accuracy)}, Cohen's kappa "
        f"{estimate(agreement.kappa)})"
    )


def evaluated_verdicts(
    aspect: str,
    rubrics: Mapping[str, tuple[Rubric, FloatArray]],
    baselines: Sequence[Evaluator],
    texts: Sequence[Example],
) -> tuple[Section, list[dict[str, Any]]] | None:
    """Return how verdicts on one aspect agree with the labels of texts, also as JSON; `None` without verdicts.

    Args:
        rubrics: by reference, each with its scores of the texts, NaN where missing.
        baselines: which never read a text; the rubrics are compared with the one of the highest AUROC.
    """
    groups, labels = [text.group for text in texts], np.array([text.scores[aspect] for text in texts], dtype=float)
    free = {evaluator_parts(each.name)[0]: each.scores for each in baselines}
    reached = {name: verdict_statistic("AUROC", [values], labels, groups) for name, values in free.items()}
    best = max(reached, key=lambda name: reached[name].value or 0.0)
    found, gains, sentences, names = [], {}, [], ("", "")
    for ref, (rubric, scores) in rubrics.items():
        if rubric.threshold is None or rubric.scores_on.names is None:
            continue
        names, verdicts = rubric.scores_on.names, verdicts_of(scores, rubric.threshold)
        agreement = verdict_agreement(ref, scores, verdicts, labels, groups)
        gains[ref] = verdict_statistic("AUROC", [scores, free[best]], labels, groups)
        sentences.append(
            f"{ref}: {verdict_sentence(agreement, names)}, AUROC {estimate(agreement.auroc)}, Brier score "
            f"{estimate(agreement.brier)}, on {count(sum(agreement.cells), 'text')}."
        )
        found.append(agreement)
    if not found:
        return None
    if raters := raters_verdicts([text.annotations.get(aspect, ()) for text in texts], groups):
        found.append(raters)
    basis = Basis(aspect=aspect, level="dataset", n=sum(found[0].cells), groups=len(set(groups)))
    (tables,) = verdict_section(found, names, "", basis=basis)
    above = "; ".join(f"{ref} {estimate(gain)}" for ref, gain in gains.items())
    free_words = f"The best free baseline, {best}, has an AUROC of {estimate(reached[best])}; above it: {above}."
    blocks = (*(Paragraph(quoted(each), "lead") for each in sentences), Paragraph(quoted(free_words)), *tables.blocks)
    section = Section(quoted(f"Verdicts: {aspect}"), blocks, "in brackets 95 % intervals", name="verdicts")
    rows = [
        {"aspect": aspect, "levels": names, "evaluator": each.name, **each.model_dump(mode="json", exclude={"name"})}
        for each in found
    ]
    for row in rows:
        if gain := gains.get(row["evaluator"]):
            row["auroc_above"] = {best: asdict(gain)}
    return section, [*rows, {"aspect": aspect, "levels": names, "evaluator": best, "auroc": asdict(reached[best])}]


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

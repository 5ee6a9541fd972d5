"""How verdicts, and scores of few levels, agree with people's: one view for learning, reports and evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rubriclab.learning.verdicts import RATERS, LevelAgreement
from rubriclab.methods.names import JOINT
from rubriclab.report.model import Block, Figure, Paragraph, Row, Section, quoted, table
from rubriclab.report.wording import count, estimate, figure
from rubriclab.validation import Validation, VerdictAgreement

NAMES = {JOINT: "this rubric", "direct": "the same judge asked directly"}


def verdict_sentence(agreement: VerdictAgreement, names: tuple[str, str]) -> str:
    """Return which share of the texts at each level the verdicts find, and how well they agree as a whole."""
    fails, passes = agreement.recalls
    return (
        f"the verdicts find {estimate(fails)} of the texts that people put at {names[0]!r} and {estimate(passes)} of "
        f"those at {names[1]!r} (balanced accuracy {estimate(agreement.balanced_accuracy)}, Cohen's kappa "
        f"{estimate(agreement.kappa)})"
    )


def asked_directly(validation: Validation) -> str:
    """Return the same judge's verdicts without a rubric in a sentence; empty without verdicts."""
    direct = next((each for each in validation.verdict_agreements if each.name == "direct"), None)
    if direct is None:
        return ""
    rubric = validation.verdict_agreements[0]
    return (
        f"Asked directly, the same judge has a balanced accuracy of {estimate(direct.balanced_accuracy)}, an AUROC of "
        f"{estimate(direct.auroc)} and a Brier score of {estimate(direct.brier)}; the rubric's are "
        f"{estimate(rubric.balanced_accuracy)}, {estimate(rubric.auroc)} and {estimate(rubric.brier)}."
    )


def verdict_section(
    agreements: Sequence[VerdictAgreement], names: tuple[str, str], measured: str, name: str = ""
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
    figures = [Row((quoted(title), *map(Figure, found))) for title, found in rows]
    pairs = [(said, judged) for said in names for judged in names]
    cells = [
        Row((quoted(f"people {said!r}, verdict {judged!r}"), *(f"{each.cells[place]:,}" for each in agreements)))
        for place, (said, judged) in enumerate(pairs)
    ]
    blocks: list[Block] = [
        table(("", *columns), figures, numeric=columns),
        Section("Texts", (table(("", *columns), cells, numeric=columns),)),
    ]
    if agreements[0].name == JOINT and (bins := agreements[0].reliability):
        shown = [(f"{each.n:,}", figure(each.score), Figure(each.share)) for each in bins]
        titles = ("texts", "mean score", f"share of {better!r}")
        note = "calibrated scores are near the share that people let pass"
        blocks.append(Section("Calibration", (table(titles, shown, numeric=titles),), note))
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

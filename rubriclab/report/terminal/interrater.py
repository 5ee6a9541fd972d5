"""How far judges agree: who gave what, the scores, each criterion, and the whole in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table

from rubriclab.data.scale import show
from rubriclab.report import wording
from rubriclab.report.terminal.parts import QUIET, columns, figured, heading, pairs, text

if TYPE_CHECKING:
    from rubriclab.interrater import CriterionAgreement, Figure, InterraterAgreement, JudgeScores, Kind

TITLES: Mapping[Figure, str] = {
    "alpha_interval": "alpha, interval",
    "alpha_ordinal": "alpha, ordinal",
    "alpha_nominal": "alpha, nominal",
    "fleiss_kappa": "Fleiss' kappa",
    "linear_kappa": "kappa, linear weights",
    "quadratic_kappa": "kappa, quadratic weights",
}
# What the tables of criteria show, and under which titles; of two weightings of kappa the one in wider use.
SHOWN: Mapping[Kind, Mapping[Figure, str]] = {
    "yes/no": {"alpha_nominal": "alpha", "fleiss_kappa": "Fleiss' kappa", "cohen_kappa": "Cohen's kappa"},
    "part-by-part": {
        "alpha_interval": "alpha",
        "linear_kappa": "kappa, linear",
        "quadratic_kappa": "kappa, quadratic",
    },
    "graded": {"alpha_ordinal": "alpha", "fleiss_kappa": "Fleiss' kappa", "quadratic_kappa": "weighted kappa"},
}
# Krippendorff 2004, "Reliability in content analysis", Human Communication Research 30(3).
TENTATIVE, RELIABLE = 0.667, 0.8


def concordance_view(ref: str, found: InterraterAgreement) -> RenderableType:
    """Return tables of judges, pairs of judges, scores and criteria, and below them what they say in words."""
    return Group(
        *_title(ref, found),
        *_judges(found),
        *_pairs(found),
        *_scores(found),
        *(row for kind in SHOWN for row in _criteria(found, kind)),
        "",
        text(" ".join(sentences(found))),
    )


def sentences(found: InterraterAgreement) -> Iterator[str]:
    """Yield the whole in words: alpha of the scores, severity, criteria agreed on most and least, what is missing."""
    yield from _alpha_in_words(found)
    yield from _severity(found)
    for kind in SHOWN:
        yield from _extremes([criterion for criterion in found.criteria if criterion.kind == kind], kind)
    missing = sum(criterion.missing for criterion in found.criteria)
    if missing or found.scores.missing:
        yield (
            f"{wording.count(found.scores.missing, 'score')} and {wording.count(missing, 'answer')} are missing; "
            "the figures rest on the others."
        )


def _title(ref: str, found: InterraterAgreement) -> Iterator[RenderableType]:
    drawn = wording.count(found.groups, "group") + " of texts" if found.resampled == "groups" else "texts"
    yield text(f"{ref}: {found.aspect}", "bold")
    yield text(f"{wording.count(found.texts, 'text')} on {found.scale.describe()}", QUIET)
    yield text(f"in brackets, 95 % bootstrap intervals over {drawn}", QUIET)


def _judges(found: InterraterAgreement) -> Iterator[RenderableType]:
    yield heading("Judges")
    table = columns("", "judge", "scored", "unscored", "mean", "sd", numeric=("scored", "unscored", "mean", "sd"))
    for letter, judge in zip(_letters(found), found.judges, strict=True):
        cells = (letter, judge.judge, f"{judge.scored:,}", f"{judge.unscored:,}")
        table.add_row(*map(text, (*cells, wording.figure(judge.mean), wording.figure(judge.deviation))))
    yield table


def _pairs(found: InterraterAgreement) -> Iterator[RenderableType]:
    letters = dict(zip((judge.judge for judge in found.judges), _letters(found), strict=True))
    yield heading("Pairs of judges", "mean: the first's mean score less the second's")
    table = columns("", "texts", "Spearman", "mean", numeric=("texts", "Spearman", "mean"))
    for pair in found.pairs:
        names = f"{letters[pair.first]}, {letters[pair.second]}"
        figures = (wording.estimate(pair.spearman), wording.estimate(pair.difference))
        table.add_row(*map(text, (names, f"{pair.n:,}", *figures)))
    yield table


def _scores(found: InterraterAgreement) -> Iterator[RenderableType]:
    scores = found.scores
    bins = f"in {found.bins} bins"
    yield heading("Scores", f"{wording.count(scores.texts, 'text')} with two or more, {scores.missing:,} missing")
    table = columns("", "as they are", bins, numeric=("as they are", bins))
    for figure, estimate in scores.binned.items():
        unbinned = wording.estimate(scores.unbinned[figure]) if figure in scores.unbinned else ""
        table.add_row(*map(text, (TITLES[figure], unbinned, wording.estimate(estimate))))
    yield table
    yield ""
    ends = f"{show(found.scale.low)} to {show(found.scale.high)}"
    notes = {
        "alpha": "Krippendorff's; 1 is full agreement, 0 what chance gives",
        "weights": "Cohen's weighted kappa, the mean over the pairs of judges",
        "bins": f"{found.bins} of equal width from {ends}; nominal figures count equal bins only",
    }
    yield pairs((name, text(note, QUIET)) for name, note in notes.items())


def _criteria(found: InterraterAgreement, kind: Kind) -> Iterator[RenderableType]:
    rows = [criterion for criterion in found.criteria if criterion.kind == kind]
    if not rows:
        return
    headings: Mapping[Kind, tuple[str, str]] = {
        "yes/no": ("Yes/no questions", "alpha: nominal"),
        "part-by-part": ("Questions asked part by part", "shares of parts with the good answer; alpha: interval"),
        "graded": ("Graded criteria", f"alpha: ordinal; kappas: in {found.bins} bins, with quadratic weights"),
    }
    yield heading(*headings[kind])
    inapplicable = any(row.inapplicable for row in rows)
    numeric = [*SHOWN[kind].values(), *(["missing", "n/a"] if inapplicable else ["missing"])]
    table = columns("", *numeric, numeric=numeric)
    for row in rows:
        _add(table, f"{row.id} {row.trait}", row, inapplicable=inapplicable)
    for row in found.pooled:
        if row.kind == kind:
            table.add_section()
            _add(table, f"all {row.criteria:,} pooled", row, inapplicable=inapplicable)
    yield table


def _add(table: Table, name: str, row: CriterionAgreement, *, inapplicable: bool) -> None:
    counts = [row.missing, row.inapplicable] if inapplicable else [row.missing]
    figures = (figured(wording.estimate(row.figures[figure]), stacked=True) for figure in SHOWN[row.kind])
    table.add_row(text(name), *figures, *(text(f"{number:,}") for number in counts))


def _alpha_in_words(found: InterraterAgreement) -> Iterator[str]:
    alpha, nominal = found.scores.unbinned["alpha_interval"], found.scores.binned["alpha_nominal"]
    if alpha.value is None:
        yield (
            "Krippendorff's alpha of the scores is undefined: fewer than two texts have two scores, or all scores are "
            "equal."
        )
        return
    yield (
        f"Krippendorff's alpha of the scores is {wording.estimate(alpha)} as they are (interval) and "
        f"{wording.estimate(nominal)} in {found.bins} bins (nominal)."
    )
    if alpha.low is not None and alpha.high is not None:
        low, high = _zone(alpha.low), _zone(alpha.high)
        lies = f"lies {low}" if low == high else f"reaches from {low} to {high}"
        yield (
            f"Krippendorff (2004) relies on data from {RELIABLE:.3f} on and draws tentative conclusions from "
            f"{TENTATIVE:.3f} on; the interval of the first figure {lies}."
        )


def _zone(alpha: float) -> str:
    if alpha < TENTATIVE:
        return f"below {TENTATIVE:.3f}"
    return f"between {TENTATIVE:.3f} and {RELIABLE:.3f}" if alpha < RELIABLE else f"above {RELIABLE:.3f}"


def _severity(found: InterraterAgreement) -> Iterator[str]:
    judged: list[tuple[float, str, JudgeScores]] = [
        (judge.mean, letter, judge)
        for letter, judge in zip(_letters(found), found.judges, strict=True)
        if judge.mean is not None
    ]
    correlations = [pair.spearman.value for pair in found.pairs if pair.spearman.value is not None]
    if len(judged) < 2 or not correlations:
        return
    (low, lowest, _), *_, (high, highest, _) = sorted(judged, key=lambda entry: entry[0])
    mean = sum(correlations) / len(correlations)
    over = "" if len(found.pairs) == 1 else f", mean over {wording.count(len(correlations), 'pair')}"
    yield (
        f"Mean scores reach from {wording.figure(low)} ({lowest}) to {wording.figure(high)} ({highest}): alpha counts "
        f"such a difference in severity as disagreement, Spearman's correlation ({wording.figure(mean)}{over}) does "
        "not."
    )


def _extremes(criteria: Sequence[CriterionAgreement], kind: Kind) -> Iterator[str]:
    figure = next(iter(SHOWN[kind]))
    defined = [(row.figures[figure].value, row.id) for row in criteria if row.figures[figure].value is not None]
    ranked = sorted((value, name) for value, name in defined if value is not None)
    if ranked and wording.figure(ranked[0][0]) != wording.figure(ranked[-1][0]):
        (worst, least), (best, most) = ranked[0], ranked[-1]
        yield (
            f"Of the {len(criteria)} {kind} criteria, the judges agree most on {most} (alpha {wording.figure(best)}) "
            f"and least on {least} ({wording.figure(worst)})."
        )
    if len(ranked) < len(criteria):
        yield (
            f"Alpha is undefined for {len(criteria) - len(ranked)} of the {len(criteria)} {kind} criteria, which got "
            "one answer throughout or too few."
        )


def _letters(found: InterraterAgreement) -> list[str]:
    """Return what judges are called in tables of pairs: A, B … and numbers beyond the alphabet."""
    return [ascii_uppercase[i] if i < len(ascii_uppercase) else str(i + 1) for i in range(len(found.judges))]

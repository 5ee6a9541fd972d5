"""How far judges agree with each other: their scores, each criterion, and a summary in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING

from rubriclab.data.scale import show
from rubriclab.interrater import RELIABLE, TENTATIVE
from rubriclab.report import wording
from rubriclab.report.model import Cell, Figure, Pairs, Paragraph, Row, Section, View, line, quiet, quoted, table

if TYPE_CHECKING:
    from rubriclab.interrater import CriterionAgreement, Figure as Coefficient, InterraterAgreement, Kind, Reliability

TITLES: Mapping[Coefficient, str] = {
    "alpha_interval": "alpha, interval",
    "alpha_ordinal": "alpha, ordinal",
    "alpha_nominal": "alpha, nominal",
    "fleiss_kappa": "Fleiss' kappa",
    "linear_kappa": "kappa, linear weights",
    "quadratic_kappa": "kappa, quadratic weights",
}
# What the tables of criteria show, with their titles; of two weightings of kappa the more common one.
SHOWN: Mapping[Kind, Mapping[Coefficient, str]] = {
    "yes/no": {"alpha_nominal": "alpha", "fleiss_kappa": "Fleiss' kappa", "cohen_kappa": "Cohen's kappa"},
    "part-by-part": {
        "alpha_interval": "alpha",
        "linear_kappa": "kappa, linear",
        "quadratic_kappa": "kappa, quadratic",
    },
    "graded": {"alpha_ordinal": "alpha", "fleiss_kappa": "Fleiss' kappa", "quadratic_kappa": "weighted kappa"},
}
ZONES: Mapping[Reliability, str] = {
    "unreliable": f"below {TENTATIVE:.3f}",
    "tentative": f"between {TENTATIVE:.3f} and {RELIABLE:.3f}",
    "reliable": f"above {RELIABLE:.3f}",
}


def interrater_view(ref: str, agreement: InterraterAgreement) -> View:
    """Return tables of judges, pairs of judges, scores and criteria, and below them a summary in words."""
    drawn = wording.count(agreement.groups, "group") + " of texts" if agreement.resampled == "groups" else "texts"
    blocks = (
        Paragraph(f"{wording.count(agreement.texts, 'text')} on {agreement.scale.describe()}", "quiet"),
        Paragraph(f"in brackets, 95 % bootstrap intervals over {drawn}", "quiet"),
        _judges(agreement),
        _pairs(agreement),
        _scores(agreement),
        *(section for kind in SHOWN for section in _criteria(agreement, kind)),
        Section("Summary", (Paragraph(" ".join(sentences(agreement))),)),
    )
    return View(quoted(f"{ref}: {agreement.aspect}"), blocks, "rubriclab interrater agreement")


def sentences(agreement: InterraterAgreement) -> Iterator[str]:
    """Yield a summary: alpha of the scores, severity, criteria agreed on most and least, what is missing."""
    yield from _alpha_in_words(agreement)
    yield from _severity(agreement)
    for kind in SHOWN:
        yield from _extremes([criterion for criterion in agreement.criteria if criterion.kind == kind], kind)
    missing = sum(criterion.missing for criterion in agreement.criteria)
    if missing or agreement.scores.missing:
        yield (
            f"{wording.count(agreement.scores.missing, 'score')} and {wording.count(missing, 'answer')} are missing; "
            "the figures rest on the others."
        )


def _judges(agreement: InterraterAgreement) -> Section:
    numeric = ("scored", "unscored", "mean", "sd")
    rows = [
        (
            letter,
            quoted(judge.judge),
            f"{judge.scored:,}",
            f"{judge.unscored:,}",
            wording.figure(judge.mean),
            wording.figure(judge.deviation),
        )
        for letter, judge in zip(_letters(agreement), agreement.judges, strict=True)
    ]
    return Section("Judges", (table(("", "judge", *numeric), rows, numeric=numeric),))


def _pairs(agreement: InterraterAgreement) -> Section:
    letters = dict(zip((judge.judge for judge in agreement.judges), _letters(agreement), strict=True))
    numeric = ("texts", "Spearman", "mean difference")
    rows = [
        (
            f"{letters[pair.first]}, {letters[pair.second]}",
            f"{pair.n:,}",
            Figure(pair.spearman),
            Figure(pair.difference),
        )
        for pair in agreement.pairs
    ]
    beside = "mean difference: the first judge's mean score minus the second's"
    return Section("Pairs of judges", (table(("", *numeric), rows, numeric=numeric),), beside)


def _scores(agreement: InterraterAgreement) -> Section:
    scores = agreement.scores
    numeric = ("unbinned", f"in {agreement.bins} bins")
    rows = [
        (TITLES[name], Figure(scores.unbinned[name]) if name in scores.unbinned else "", Figure(estimate))
        for name, estimate in scores.binned.items()
    ]
    ends = f"{show(agreement.scale.low)} to {show(agreement.scale.high)}"
    notes = {
        "alpha": "Krippendorff's; 1 is full agreement, 0 agreement by chance",
        "weights": "Cohen's weighted kappa, the mean over the pairs of judges",
        "bins": f"{agreement.bins} of equal width from {ends}; nominal figures count equal bins only",
    }
    explained = Pairs(tuple((name, quiet(note)) for name, note in notes.items()))
    beside = f"{wording.count(scores.texts, 'text')} with two or more, {scores.missing:,} missing"
    return Section("Scores", (table(("", *numeric), rows, numeric=numeric), explained), beside)


def _criteria(agreement: InterraterAgreement, kind: Kind) -> Iterator[Section]:
    chosen = [criterion for criterion in agreement.criteria if criterion.kind == kind]
    if not chosen:
        return
    headings: Mapping[Kind, tuple[str, str]] = {
        "yes/no": ("Yes/no questions", "alpha: nominal"),
        "part-by-part": ("Questions asked part by part", "shares of parts with the good answer; alpha: interval"),
        "graded": ("Graded criteria", f"alpha: ordinal; kappas: in {agreement.bins} bins, with quadratic weights"),
    }
    inapplicable = any(criterion.inapplicable for criterion in chosen)
    numeric = (*SHOWN[kind].values(), *(["missing", "n/a"] if inapplicable else ["missing"]))
    rows: list[Row | str] = [
        _row(line(quoted(each.id, "id"), quoted(each.trait)), each, inapplicable=inapplicable) for each in chosen
    ]
    rows += [
        _row(f"all {pooled.criteria:,} pooled", pooled, inapplicable=inapplicable)
        for pooled in agreement.pooled
        if pooled.kind == kind
    ]
    title, beside = headings[kind]
    yield Section(title, (table(("", *numeric), rows, numeric=numeric),), beside)


def _row(name: Cell, criterion: CriterionAgreement, *, inapplicable: bool) -> Row:
    counts = [criterion.missing, criterion.inapplicable] if inapplicable else [criterion.missing]
    figures = (Figure(criterion.figures[figure]) for figure in SHOWN[criterion.kind])
    return Row((name, *figures, *(f"{number:,}" for number in counts)))


def _alpha_in_words(agreement: InterraterAgreement) -> Iterator[str]:
    alpha, nominal = agreement.scores.unbinned["alpha_interval"], agreement.scores.binned["alpha_nominal"]
    if alpha.value is None:
        yield (
            "Krippendorff's alpha of the scores is undefined: fewer than two texts have two scores, or all scores are "
            "equal."
        )
        return
    yield (
        f"Krippendorff's alpha of the scores is {wording.estimate(alpha)} unbinned (interval) and "
        f"{wording.estimate(nominal)} in {agreement.bins} bins (nominal)."
    )
    if reliability := agreement.scores.reliability:
        low, high = (ZONES[end] for end in reliability)
        lies = f"lies {low}" if low == high else f"ranges from {low} to {high}"
        yield (
            f"Krippendorff (2004) considers data reliable from {RELIABLE:.3f} and allows tentative conclusions from "
            f"{TENTATIVE:.3f}; the interval of the first figure {lies}."
        )


def _severity(agreement: InterraterAgreement) -> Iterator[str]:
    judged = [
        (judge.mean, letter)
        for letter, judge in zip(_letters(agreement), agreement.judges, strict=True)
        if judge.mean is not None
    ]
    correlations = [pair.spearman.value for pair in agreement.pairs if pair.spearman.value is not None]
    if len(judged) < 2 or not correlations:
        return
    (low, lowest), *_, (high, highest) = sorted(judged)
    mean = sum(correlations) / len(correlations)
    over = "" if len(agreement.pairs) == 1 else f", mean over {wording.count(len(correlations), 'pair')}"
    yield (
        f"Mean scores range from {wording.figure(low)} ({lowest}) to {wording.figure(high)} ({highest}): alpha counts "
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


def _letters(agreement: InterraterAgreement) -> list[str]:
    """Return what judges are called in tables of pairs: A, B … and numbers beyond the alphabet."""
    return [ascii_uppercase[i] if i < len(ascii_uppercase) else str(i + 1) for i in range(len(agreement.judges))]

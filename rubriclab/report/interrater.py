"""How far judges agree with each other: their scores, each criterion, and a summary in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import ascii_uppercase
from typing import TYPE_CHECKING

from rubriclab.models.characters import count
from rubriclab.ops.evaluate import RELIABLE, TENTATIVE
from rubriclab.report import wording
from rubriclab.report.model import Cell, Figure, Paragraph, Section, View, line, quoted, table

if TYPE_CHECKING:
    from rubriclab.ops.evaluate import (
        CriterionAgreement,
        Figure as Coefficient,
        InterraterAgreement,
        Kind,
        Reliability,
        ScoreAgreement,
    )

# What the tables of criteria show, with their titles.
SHOWN: Mapping[Kind, Mapping[Coefficient, str]] = {
    "yes/no": {"alpha_nominal": "alpha", "fleiss_kappa": "Fleiss' kappa"},
    "graded": {"alpha_interval": "alpha"},
}
ZONES: Mapping[Reliability, str] = {
    "unreliable": f"below {TENTATIVE:.3f}",
    "tentative": f"between {TENTATIVE:.3f} and {RELIABLE:.3f}",
    "reliable": f"above {RELIABLE:.3f}",
}


def interrater_view(ref: str, agreement: InterraterAgreement) -> View:
    """Return tables of judges, pairs of judges, scores and criteria, and below them a summary in words."""
    drawn = count(agreement.groups, "group") + " of texts" if agreement.unit == "groups" else "texts"
    blocks = (
        Paragraph(f"{count(agreement.texts, 'text')} on {agreement.scale.describe()}", "quiet"),
        Paragraph(f"in brackets, 95 % intervals over {drawn}", "quiet"),
        _judges(agreement),
        _pairs(agreement),
        _scores(agreement.scores),
        *(section for kind in SHOWN for section in _criteria(agreement, kind)),
        Section("Summary", (Paragraph(" ".join(sentences(agreement))),)),
    )
    return View(quoted(f"{ref}: {agreement.aspect}"), blocks, "rubriclab interrater agreement")


def sentences(agreement: InterraterAgreement) -> Iterator[str]:
    """Yield a summary: alpha of the scores, and what is missing."""
    yield from _alpha_in_words(agreement)
    missing = sum(criterion.missing for criterion in agreement.criteria)
    if missing or agreement.scores.missing:
        yield (
            f"{count(agreement.scores.missing, 'score')} and {count(missing, 'answer')} are missing; "
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


def _scores(scores: ScoreAgreement) -> Section:
    numeric = ("alpha", "texts", "missing")
    row = ("scores", Figure(scores.alpha), f"{scores.texts:,}", f"{scores.missing:,}")
    beside = "alpha: Krippendorff's, interval; texts: with two scores or more"
    return Section("Scores", (table(("", *numeric), [row], numeric=numeric),), beside)


def _criteria(agreement: InterraterAgreement, kind: Kind) -> Iterator[Section]:
    chosen = [criterion for criterion in agreement.criteria if criterion.kind == kind]
    if not chosen:
        return
    headings: Mapping[Kind, tuple[str, str]] = {
        "yes/no": ("Yes/no questions", "alpha: nominal"),
        "graded": ("Graded criteria", "alpha: interval"),
    }
    numeric = (*SHOWN[kind].values(), "missing", "n/a")
    named: list[tuple[Cell, CriterionAgreement]] = [
        (line(quoted(each.id, "id"), quoted(each.trait)), each) for each in chosen
    ]
    named += [(f"all {each.criteria:,} pooled", each) for each in agreement.pooled if each.kind == kind]
    rows = [
        (name, *(Figure(each.figures[figure]) for figure in SHOWN[kind]), f"{each.missing:,}", f"{each.inapplicable:,}")
        for name, each in named
    ]
    title, beside = headings[kind]
    yield Section(title, (table(("", *numeric), rows, numeric=numeric),), beside)


def _alpha_in_words(agreement: InterraterAgreement) -> Iterator[str]:
    alpha = agreement.scores.alpha
    if alpha.value is None:
        yield (
            "Krippendorff's alpha of the scores is undefined: fewer than two texts have two scores, or all scores are "
            "equal."
        )
        return
    yield f"Krippendorff's alpha of the scores is {wording.estimate(alpha)}."
    if reliability := agreement.scores.reliability:
        low, high = (ZONES[end] for end in reliability)
        lies = f"lies {low}" if low == high else f"ranges from {low} to {high}"
        yield (
            f"Krippendorff (2004) considers data reliable from {RELIABLE:.3f} and allows tentative conclusions from "
            f"{TENTATIVE:.3f}; its interval {lies}."
        )


def _letters(agreement: InterraterAgreement) -> list[str]:
    """Return what judges are called in tables of pairs: A, B … and numbers beyond the alphabet."""
    return [ascii_uppercase[i] if i < len(ascii_uppercase) else str(i + 1) for i in range(len(agreement.judges))]

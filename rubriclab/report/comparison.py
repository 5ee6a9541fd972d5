"""Two columns of scores, of sets of outputs, versions or judges, and several systems scored with one version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from rubriclab.learning.paired_scores import AnchorLook, Comparison
from rubriclab.models.text import show
from rubriclab.report import describe
from rubriclab.report.conclusion import verdict_line
from rubriclab.report.model import (
    Badge,
    Block,
    Card,
    Details,
    Figure,
    Pairs,
    Paragraph,
    Section,
    Span,
    Table,
    View,
    Words,
    quoted,
    table,
)
from rubriclab.report.verdicts import errors_words
from rubriclab.report.wording import LEVELS, count, estimate, excerpt, figure, listed
from rubriclab.stats.intervals import Interval

if TYPE_CHECKING:
    from rubriclab.learning.paired_scores import (
        CriterionScoreChange,
        HumanDifference,
        LimitCheck,
        LimitOutcome,
        TextChange,
    )
    from rubriclab.models.version import Version
    from rubriclab.ops.compare import RankedSystem, SystemDifference, SystemRanking

TITLE, TEXT = 90, 400
# Reasons why texts have no score that are listed for each side.
REASONS = 5
# Paired differences of systems that are listed at once.
MOST_PAIRS = 15
BADGES: Mapping[LimitOutcome, tuple[str, Literal["good", "bad", "warning"]]] = {
    "within": ("within the limit", "good"),
    "beyond": ("beyond the limit", "bad"),
    "unknown": ("inconclusive", "warning"),
}
LIMITS: Mapping[str, str] = {
    "max_drop": "the mean score drops by {} points",
    "max_human_drop": "the mean human score drops by {} points",
    "max_shift": "the mean score moves by {} points",
    "max_flips": "a share of {} of the texts flips",
    "min_rank": "the rankings correlate by {}",
}


def result_view(result: Comparison | AnchorLook | SystemRanking, version: Version | None) -> View:
    """Return the view of whatever was compared."""
    if isinstance(result, AnchorLook):
        return anchor_view(result)
    return comparison_view(result, version) if isinstance(result, Comparison) else ranking_view(result, version)


def comparison_view(comparison: Comparison, version: Version | None = None) -> View:
    """Return whether the limits hold, the means, the criteria that changed and the texts that changed most.

    Args:
        version: what the outputs were scored with; its own verdict is shown too.
    """
    title = (quoted(comparison.before.name), " to ", quoted(comparison.after.name))
    scorer = _scorer(comparison) if version else ()
    blocks = (
        *(_limit(check, human=comparison.human is not None) for check in comparison.checks),
        *([] if comparison.checks else _no_limit()),
        Paragraph(change_sentence(comparison), "lead"),
        *(verdict_line(version) if version else ()),
        Paragraph((*scorer, "; " if version else "", _pairing(comparison)), "quiet"),
        *_warnings(comparison),
        _sides(comparison),
        *_shares(comparison),
        *_ranks(comparison),
        *_flips(comparison),
        *_criteria(comparison),
        *_fallen(comparison),
    )
    return View(title, blocks, "rubriclab comparison")


def _limit(check: LimitCheck, *, human: bool) -> Badge:
    """Return the outcome of a limit, with the figure, of `human` scores or the judge's, and the limit if any."""
    words, tone = BADGES[check.outcome]
    if check.allowed is None:
        return Badge({"within": "no significant drop", "beyond": "worse"}.get(check.outcome, words), tone)
    found = "an undefined figure" if check.value is None else show(round(check.value, 4))
    figures = LIMITS["max_human_drop" if human else check.limit].format(found)
    return Badge(words, tone, f"{figures}, limit {show(check.allowed)}")


def _no_limit() -> Iterator[Paragraph]:
    limits = " or ".join(f"--{name.replace('_', '-')}" for name in LIMITS if not name.endswith("drop"))
    yield Paragraph(f"No limit was given ({limits}), so none is exceeded.", "quiet")


def _scorer(result: Comparison | AnchorLook | SystemRanking) -> tuple[str | Span, ...]:
    return "scored with ", quoted(result.rubric), " by ", quoted(result.judge)


def change_sentence(comparison: Comparison) -> str:
    """Return the change of the mean with its interval, and what that means for the limit."""
    difference = comparison.difference
    if difference.value is None:
        unscored = (
            "No text was scored by both sides" if comparison.pairing == "text" else "No output of a set has a score"
        )
        return f"{unscored}, so nothing can be compared."
    if comparison.human:
        changed = f"The mean human score changes by {_points(comparison.human)}, estimated {_labels(comparison.human)}."
        difference = comparison.human.difference
    else:
        changed = f"The mean score changes by {_points(comparison)}."
    if difference.low is None:
        return f"{changed} With so few groups there is no interval: give outputs for more sources."
    if comparison.max_drop is None:
        return changed
    limit = f"a drop of {show(comparison.max_drop)}"
    meaning = {
        "within": f"The interval excludes more than {limit}.",
        "beyond": f"The whole interval lies beyond {limit}.",
        "unknown": f"The interval includes {limit}: more {'labels' if comparison.human else 'texts'} are needed.",
    }
    return f"{changed} {meaning[comparison.outcome]}"


def _points(found: Comparison | HumanDifference) -> str:
    p = "" if found.p is None else f", p = {found.p:.3g}"
    return f"{estimate(found.difference)} points{p}"


def _labels(found: HumanDifference) -> str:
    texts = {"both": "these outputs", "learning": "learning"}.get(found.labels_of, f"the outputs {found.labels_of}")
    return f"by {count(found.labels, 'label')} of {texts}"


def _pairing(comparison: Comparison) -> str:
    if comparison.pairing is None:
        return "no id or group occurs in both sets, so they are compared as independent sets, by the means of groups"
    if comparison.pairing == "text":
        scored = f"{count(comparison.pairs, 'text')} scored by both, of {count(comparison.before.texts, 'text')}"
        return f"{scored} in {count(comparison.groups, 'group')}; {_intervals(comparison.groups)}"
    if comparison.pairs == 0 and comparison.pairing == "group":
        return "groups have several outputs and nothing says which belong together, so the means of groups are compared"
    unpaired = comparison.unpaired_before + comparison.unpaired_after
    rest = f", {count(unpaired, 'output')} without a counterpart" if unpaired else ""
    pairs = f"{count(comparison.pairs, 'pair')} by {comparison.pairing} in {count(comparison.groups, 'group')}"
    return f"{pairs}{rest}; {_intervals(comparison.groups)}"


def _intervals(groups: int) -> str:
    return "95 % intervals over groups" if groups > 1 else "95 % intervals over texts, which hold for this group only"


def _warnings(comparison: Comparison) -> Iterator[Paragraph]:
    if comparison.human and comparison.human.labels_of != "both":
        yield Paragraph(
            "The interval allows for a judge that favours one of the sets. With labels of both sets, on at least five "
            "groups each, it would be narrower.",
            "quiet",
        )
    elif not comparison.human and comparison.pairing != "text":
        yield Paragraph(
            "This is the judge's difference: people's may have another size or sign. For theirs, label outputs of both "
            "sets, on at least five groups each.",
            "quiet",
        )
    if comparison.other_sources:
        pairs = count(comparison.other_sources, "pair")
        yield Paragraph(f"The sources of {pairs} differ: do the ids name the same texts in both sets?", "warning")
    if not comparison.enough_scored:
        yield Paragraph("More than a tenth of the texts have no score: the others may not represent them.", "warning")


def _sides(comparison: Comparison) -> Section:
    numeric = ("texts", "scored", "groups", "mean", "sd", "p")
    sides = (("before", comparison.before), ("after", comparison.after))
    rows: list[tuple[Words | Figure, ...]] = [
        (
            name,
            quoted(side.name),
            f"{side.texts:,}",
            f"{side.scored:,}",
            f"{side.groups:,}",
            Figure(side.mean),
            figure(side.standard_deviation),
            "",
        )
        for name, side in sides
    ]
    pairs, groups = (f"{number:,}" if comparison.pairs else "" for number in (comparison.pairs, comparison.groups))
    p = "" if comparison.p is None else f"{comparison.p:.3g}"
    rows.append(("difference", "", pairs, pairs, groups, Figure(comparison.difference), "", p))
    if human := comparison.human:
        p = "" if human.p is None else f"{human.p:.3g}"
        rows.append(("of human scores", "", "", "", "", Figure(human.difference), "", p))
    reasons = (
        Paragraph(quoted(f"{name}: {count(number, 'text')} unscored: {excerpt(reason)}"), "quiet")
        for name, side in sides
        for reason, number in list(side.unscored.items())[:REASONS]
    )
    errors = (
        Paragraph(f"{name}: {errors_words(side.errors)}, on {count(side.labelled, 'labelled text')}.", "quiet")
        for name, side in sides
        if side.errors
    )
    return Section("Scores", (table(("", "scores", *numeric), rows, numeric=numeric), *errors, *reasons))


def _shares(comparison: Comparison) -> Iterator[Block]:
    if comparison.worse is None or comparison.better is None or comparison.unchanged is None:
        return
    shares = {"worse": comparison.worse, "unchanged": comparison.unchanged, "better": comparison.better}
    rows = [(name, Figure(Interval(share))) for name, share in shares.items()]
    shown = table(("", "share"), rows, numeric=("share",))
    yield Section("Pairs", (shown,), f"worse and better by at least {show(comparison.visible)} points")


def _ranks(comparison: Comparison) -> Iterator[Section]:
    rows = [(LEVELS[ranks.level], Figure(ranks.spearman), Figure(ranks.kendall)) for ranks in comparison.ranks]
    if rows and comparison.pairs:
        numeric = ("Spearman", "Kendall")
        yield Section("Rankings", (table(("", *numeric), rows, numeric=numeric),), "before and after")


def _flips(comparison: Comparison) -> Iterator[Section]:
    flips = comparison.flips
    if flips is None or flips.share.value is None:
        return
    blocks: list[Block] = [Paragraph(f"{flips.texts:,} of {comparison.pairs:,}, a share of {estimate(flips.share)}")]
    if flips.largest:
        rows = [(quoted(flip.id), show(round(flip.before, 2)), show(round(flip.after, 2))) for flip in flips.largest]
        blocks.append(table(("text", "before", "after"), rows, numeric=("before", "after")))
    if (more := flips.texts - len(flips.largest)) > 0:
        blocks.append(Paragraph(f"{more:,} more that changed less", "quiet"))
    yield Section(f"Texts that flip at {show(flips.threshold)}", tuple(blocks), f"{flips.up:,} up, {flips.down:,} down")


def _criteria(comparison: Comparison) -> Iterator[Section]:
    if not comparison.criteria:
        return
    titles = _titles(comparison)
    rows = [_criterion(change, titles[change.id]) for change in comparison.criteria if _changed(change)]
    if not rows:
        yield Section("Criteria that changed", (Paragraph("None."),))
        return
    numeric = ("change", "points", "p")
    note = (
        "change: of the criterion's score, as a share of its range; points: of its contribution to the score; p: "
        "adjusted for the false discovery rate over all criteria; significant: below 0.05."
    )
    shown = table(("criterion", *numeric, ""), rows, numeric=numeric)
    yield Section("Criteria that changed", (shown, Paragraph(note, "quiet")), "the largest drop first")


def _changed(change: CriterionScoreChange) -> bool:
    return bool(change.difference.value or change.contribution) or change.state in ("added", "removed")


def _criterion(change: CriterionScoreChange, title: str) -> tuple[Words | Figure, ...]:
    state = "" if change.state == "kept" else change.state
    return (
        quoted(title),
        Figure(change.difference) if change.pairs else "",
        "" if change.contribution is None else f"{change.contribution:+.2f}",
        "" if change.adjusted_p is None else f"{change.adjusted_p:.3g}",
        ", ".join(filter(None, (state, "significant" if change.significant else ""))),
    )


def _titles(comparison: Comparison) -> dict[str, str]:
    return describe.distinct_titles({change.id: change.title for change in comparison.criteria}, TITLE)


def _fallen(comparison: Comparison) -> Iterator[Details]:
    if comparison.fallen:
        titles = _titles(comparison)
        cards = tuple(_card(change, titles) for change in comparison.fallen)
        yield Details("Texts that fell most", cards, short=True, hint="the largest drop first")


def _card(change: TextChange, titles: Mapping[str, str]) -> Card:
    title = (quoted(change.id), f": score from {show(round(change.before, 2))} to {show(round(change.after, 2))}")
    reasons = tuple(
        Paragraph((quoted(titles.get(name, name), "strong"), ": ", quoted(f"{before} → {after}")))
        for name, before, after in change.reasons
    )
    texts = (("before", quoted(excerpt(change.text_before, TEXT))), ("after", quoted(excerpt(change.text_after, TEXT))))
    return Card(title, (*reasons, Pairs(texts)), text=True)


def anchor_view(look: AnchorLook) -> View:
    """Return whether the errors of labelled texts have changed since the first look."""
    changes = (
        ("score less label", look.bias, look.bias_change),
        ("absolute error", look.absolute_error, look.error_change),
    )
    rows = [(name, figure(now), Figure(change)) for name, now, change in changes]
    badges = {
        "within": Badge("no change seen" if look.looks > 1 else "first look", "good"),
        "beyond": Badge("changed", "bad", "the errors are not those of the first looks"),
        "unknown": Badge("not counted", "warning", "more than a tenth of the texts have no score"),
    }
    blocks = (
        badges[look.outcome],
        Paragraph((*_scorer(look), f"; {count(look.texts, 'text')} in {count(look.groups, 'group')}"), "quiet"),
        table(("", "at this look", "change"), rows, numeric=("at this look", "change")),
        Paragraph(
            "change: of a look from the mean of the looks before it, the mean over all looks. However often one looks, "
            "at most one judge in twenty that does not change is reported as changed.",
            "quiet",
        ),
    )
    return View(f"Look {look.looks}", blocks, "rubriclab drift")


def ranking_view(ranking: SystemRanking, version: Version | None = None) -> View:
    """Return the system with the highest mean, all systems with ties, and their paired differences.

    Args:
        version: what the outputs were scored with; its own verdict is shown too.
    """
    numeric = ("rank", "texts", "scored", "groups", "mean")
    ranks = {system.system: system.rank for system in ranking.systems}
    rows = [
        (
            quoted(system.system),
            str(system.rank),
            f"{system.texts:,}",
            f"{system.scored:,}",
            f"{system.groups:,}",
            Figure(system.mean),
            ", ".join(map(str, sorted(ranks[tie] for tie in system.ties))),
        )
        for system in ranking.systems
    ]
    places = table(("system", *numeric, "not distinguished from rank"), rows, numeric=numeric)
    groups = max(system.groups for system in ranking.systems)
    basis = Paragraph((*_scorer(ranking), f"; {_intervals(groups)}"), "quiet")
    verdict = Paragraph(_best(ranking.systems), "lead")
    of_judge = Paragraph("These are the judge's means: people's ranking may differ.", "quiet")
    blocks = (verdict, *(verdict_line(version) if version else ()), basis, of_judge, places, *_differences(ranking))
    return View("Systems by mean score", blocks, "rubriclab comparison")


def _best(systems: Sequence[RankedSystem]) -> Words:
    """Return which system has the highest mean, and which others cannot be told from it."""
    first = systems[0]
    start = (quoted(first.system, "strong"), f" has the highest mean score, {estimate(first.mean)}. ")
    if not first.ties:
        return (*start, "Every other system scores significantly lower.")
    if len(first.ties) == len(systems) - 1:
        return (*start, "No system scores significantly lower.")
    return (*start, "Not significantly lower: ", quoted(listed(first.ties)), ".")


def _differences(ranking: SystemRanking) -> Iterator[Block]:
    """Yield the paired differences, those of many systems folded away."""
    remark = "means of groups that both have outputs in; p adjusted for the false discovery rate over all pairs"
    if len(ranking.differences) <= MOST_PAIRS:
        yield Section("Paired differences", (_difference_table(ranking.differences),), remark)
        return
    shown = (_difference_table(ranking.differences), Paragraph(remark, "quiet"))
    yield Details(f"All {len(ranking.differences):,} paired differences", shown, hint="JSON and CSV list them")


def _difference_table(differences: Sequence[SystemDifference]) -> Table:
    columns = ("difference", "groups", "p")
    rows = [
        (
            quoted(f"{each.first} less {each.second}"),
            Figure(each.difference),
            f"{each.groups:,}",
            "" if each.adjusted_p is None else f"{each.adjusted_p:.3g}",
        )
        for each in differences
    ]
    return table(("systems", *columns), rows, numeric=columns)

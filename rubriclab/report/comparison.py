"""Two columns of scores, of sets of outputs, versions or judges, and several systems scored with one version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from rubriclab.learning.paired_scores import AnchorLook, Comparison
from rubriclab.models.characters import count
from rubriclab.models.text import show
from rubriclab.report.conclusion import verdict_line
from rubriclab.report.html import blocks_html
from rubriclab.report.render import View, view
from rubriclab.report.wording import estimate

if TYPE_CHECKING:
    from rubriclab.learning.paired_scores import (
        HumanDifference,
        LimitCheck,
        LimitOutcome,
    )
    from rubriclab.models.version import Version
    from rubriclab.ops.compare import SystemRanking

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
    changed = [
        each
        for each in comparison.criteria
        if each.difference.value or each.contribution or each.state in ("added", "removed")
    ]
    return view(
        "comparison",
        found=comparison,
        version=version,
        sentence=change_sentence(comparison),
        verdict=blocks_html(verdict_line(version) if version else ()),
        limit=limit_badge,
        intervals=intervals,
        changed=changed,
        titles={each.id: each.title for each in comparison.criteria},
    )


def limit_badge(check: LimitCheck, *, human: bool) -> tuple[str, str, str]:
    """Return the outcome of a limit, with the figure, of `human` scores or the judge's, and the limit if any."""
    words, tone = BADGES[check.outcome]
    if check.allowed is None:
        return {"within": "no significant drop", "beyond": "worse"}.get(check.outcome, words), tone, ""
    found = "an undefined figure" if check.value is None else show(round(check.value, 4))
    figures = LIMITS["max_human_drop" if human else check.limit].format(found)
    return words, tone, f"{figures}, limit {show(check.allowed)}"


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


def intervals(groups: int) -> str:
    """Return what the intervals rest on."""
    return "95 % intervals over groups" if groups > 1 else "95 % intervals over texts, which hold for this group only"


def anchor_view(look: AnchorLook) -> View:
    """Return whether the errors of labelled texts have changed since the first look."""
    return view("drift", look=look)


def ranking_view(ranking: SystemRanking, version: Version | None = None) -> View:
    """Return the system with the highest mean, all systems with ties, and their paired differences.

    Args:
        version: what the outputs were scored with; its own verdict is shown too.
    """
    ranks = {system.system: system.rank for system in ranking.systems}
    return view(
        "ranking",
        found=ranking,
        verdict=blocks_html(verdict_line(version) if version else ()),
        intervals=intervals,
        ties=lambda system: ", ".join(map(str, sorted(ranks[tie] for tie in system.ties))),
    )

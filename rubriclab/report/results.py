"""Views of comparisons, checks of data, transfers, rewritten texts, plans, lists of a store, and scores."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Literal, get_args

from markupsafe import Markup
from pydantic import JsonValue

from rubriclab.learning.paired_scores import AnchorLook, Comparison
from rubriclab.models.base import canonical
from rubriclab.models.characters import count
from rubriclab.models.text import format_score
from rubriclab.ops.evaluate import RELIABLE, TENTATIVE
from rubriclab.ops.improve import RejectionReason
from rubriclab.report import wording
from rubriclab.report.render import View, view
from rubriclab.report.rubrics import (
    badge_of,
    change_in_agreement,
    edited_sentence,
    more_labels,
    verdict,
    verdict_line,
)
from rubriclab.report.wording import OPTIMISTIC, estimate, recorded_agreement

if TYPE_CHECKING:
    from rubriclab.learning.paired_scores import LimitCheck, LimitOutcome
    from rubriclab.learning.rewriting import SentenceEdit
    from rubriclab.methods.sources import Finding
    from rubriclab.models.judgment import Consistency, RaterAgreement
    from rubriclab.models.rubric import FieldChange, Rubric
    from rubriclab.models.version import Effort, Version
    from rubriclab.ops.check import CheckResult
    from rubriclab.ops.compare import SystemRanking
    from rubriclab.ops.edit import EditEffect, EditResult
    from rubriclab.ops.evaluate import InterraterAgreement, Reliability
    from rubriclab.ops.improve import Improvement, RevisionSummary
    from rubriclab.ops.label import LabelResult, PlannedText, PlanResult
    from rubriclab.ops.literature import FindingList, LiteratureAdded
    from rubriclab.ops.scores import ScoreDistribution, Scores
    from rubriclab.ops.transfer import Transfer
    from rubriclab.ops.versions import PruneResult, StoreSize, VacuumResult, VerifyResult
    from rubriclab.store.diff import VersionDiff
    from rubriclab.store.store import Problem

# Comparisons.

BADGES: Mapping[LimitOutcome, tuple[str, Literal["good", "bad", "warning"]]] = {
    "within": ("within the limit", "good"),
    "beyond": ("beyond the limit", "bad"),
    "inconclusive": ("inconclusive", "warning"),
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
        verdict=verdict_line(version) if version else "",
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
    found = "an undefined figure" if check.value is None else format_score(round(check.value, 4))
    figures = LIMITS["max_human_drop" if human else check.limit].format(found)
    return words, tone, f"{figures}, limit {format_score(check.allowed)}"


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
        verdict=verdict_line(version) if version else "",
        intervals=intervals,
        ties=lambda system: ", ".join(map(str, sorted(ranks[tie] for tie in system.ties))),
    )


# Checks of data.


def check_view(result: CheckResult, *, commands: bool = True) -> View:
    """Return the verdict, what the file is taken for, its columns, scores and groups, problems and the next command.

    Without `commands`, the lines of `check_commands` are left out: a terminal prints them unbroken.
    """
    return view(
        "check",
        found=result,
        reasons=", ".join(f"{each.reasons:,} for {each.aspect}" for each in result.aspects if each.reasons),
        missing=", ".join(f"{field} in {count(number, 'text')}" for field, number in result.missing.items()),
        distribution=lambda aspect: wording.excerpt(
            ", ".join(f"{format_score(value)}: {number}" for value, number in aspect.distribution.items()), 60
        ),
        commands=check_commands(result) if commands else (),
    )


def check_commands(result: CheckResult) -> Iterator[str]:
    """Yield the options that would solve problems, the mapping that is proposed, and the command to run next."""
    yield from result.hints
    if result.proposal:
        yield f"columns that look like fields: --map {shlex.quote(result.proposal)}"
    if result.next:
        yield f"next: {result.next}"


# Judges beside each other.

# The tables of criteria: their kind, title and remark, and the figures that they show.
KINDS = (
    ("yes/no", "Yes/no questions", "alpha: nominal", ("alpha_nominal", "fleiss_kappa")),
    ("graded", "Graded criteria", "alpha: interval", ("alpha_interval",)),
)
ZONES: Mapping[Reliability, str] = {
    "unreliable": f"below {TENTATIVE:.3f}",
    "tentative": f"between {TENTATIVE:.3f} and {RELIABLE:.3f}",
    "reliable": f"above {RELIABLE:.3f}",
}


def interrater_view(ref: str, agreement: InterraterAgreement) -> View:
    """Return tables of judges, pairs of judges, scores and criteria, and below them a summary in words."""
    letters = {
        judge.judge: ascii_uppercase[place] if place < len(ascii_uppercase) else str(place + 1)
        for place, judge in enumerate(agreement.judges)
    }
    return view(
        "interrater",
        ref=ref,
        found=agreement,
        letters=letters,
        kinds=KINDS,
        figures=lambda criterion, names: [criterion.figures[name] for name in names],
        zones=ZONES,
        reliable=RELIABLE,
        tentative=TENTATIVE,
    )


# A rubric on other texts.


def transfer_view(transfer: Transfer) -> View:
    """Return everything that is known of a rubric on a target."""
    level = next((each.level for each in transfer.actions if not each.skipped), None)
    return view("transfer", found=transfer, level=level)


# Rewritten texts.

_EDITS = re.compile(r"(\[-.*?-\]|\{\+.*?\+\})", re.DOTALL)
REJECTIONS: tuple[RejectionReason, ...] = get_args(RejectionReason)


def improvement_view(summary: RevisionSummary, effort: Effort) -> View:
    """Return how many texts were improved, the gain by score and criterion, and what limits these figures."""
    changed = [gain for gain in summary.criteria if gain.before != gain.after]
    return view(
        "revision",
        found=summary,
        rejections=REJECTIONS,
        unchanged=sum(summary.outcomes[why] for why in REJECTIONS),
        changed=changed,
        spent=effort,
    )


def rewrite_view(improvement: Improvement) -> View:
    """Return one text's rounds: its scores, which sentences were rewritten to what, and why."""
    return view("rewrite", found=improvement, edits=_edits)


def _edits(change: SentenceEdit) -> Iterator[tuple[str, str]]:
    """Yield the parts of a rewritten sentence, each with its style."""
    for place, words in enumerate(_EDITS.split(f"{change.sentence}. {change.diff}")):
        # Every second part is an edit.
        yield words, ("removed" if words.startswith("[") else "added") if place % 2 else ""


# Plans of what to label.


PLAN_TITLE = 60


def plan_view(result: PlanResult) -> View:
    """Return the texts to label in order, below the verdict of the gate on the rubric."""
    validation = result.version.provenance.validation
    return view(
        "plan",
        plan=result,
        ref=result.version.ref,
        validation=validation,
        verdict=verdict(result.version) if validation else "",
        more_labels=more_labels(validation) if validation else "",
        why=why,
    )


def why(planned: PlannedText) -> str:
    """Return why a text is worth a label."""
    group, criterion = "new group" if planned.new_group else "group with labels", planned.unusual
    rating = planned.text.ratings.get(criterion.id) if criterion else None
    if criterion is None or rating is None:
        return f"{group}; no rating is unusual"
    title, mean = wording.title(criterion, PLAN_TITLE), planned.mean
    if criterion.question is None:
        number, usual = (format_score(round(value, 1)) for value in (rating, mean))
        return f"{group}; “{title}”: {number} here, {usual} on average so far"
    # A score of a question says whether its answer speaks for the text, not whether it is yes.
    answer, share = "yes" if (rating >= 0.5) == (criterion.question.better == "yes") else "no", mean
    return f"{group}; “{title}”: {answer} here, as for {share if rating >= 0.5 else 1 - share:.0%} so far"


# What a store holds.


def names_view(versions: Sequence[Version]) -> View:
    """Return one line a version: what it is called and judges, and how well it agreed while learning."""
    if not versions:
        return view("lines", lines=["No rubric is stored."])
    rows = [(version, recorded_agreement(version)) for version in versions]
    by_name: dict[str, list[str]] = {}
    for version, found in rows:
        if found:
            by_name.setdefault(found.name, []).append(version.ref)
    return view(
        "names", versions=versions, rows=rows, by_name=by_name, badge_of=badge_of, edited_sentence=edited_sentence
    )


def log_view(versions: Sequence[Version]) -> View:
    """Return a few lines a version, in the given order: when it was made, by what, from what, and its parent."""
    if not versions:
        return view("lines", lines=["No version is stored."])
    return view("log", versions=versions)


def trust_view(versions: Sequence[Version], files: Mapping[str, bool]) -> View:
    """Return one line an imported version and a confirmed file.

    Args:
        versions: those imported.
        files: confirmed configuration files by path, each with whether it still has the content that was confirmed.
    """
    if not versions and not files:
        return view("lines", lines=["Nothing in the store was imported, and no configuration file is confirmed."])
    return view("trust", versions=versions, files=files)


def verify_view(result: VerifyResult) -> View:
    """Return the answers that were removed, where each problem is and what does not match."""
    return view("verify", removed=result.removed, problems=result.problems, place=result.place, names=result.names)


def problems_view(problems: Sequence[Problem]) -> View:
    """Return where each problem is and what does not match."""
    return view("verify", removed=(), problems=problems)


def store_view(result: StoreSize | PruneResult | VacuumResult) -> View:
    """Return how much space a store takes, by kind of content, or what was removed or given back."""
    return view("store", kind=type(result).__name__, found=result)


# Findings of papers.


def added_view(added: LiteratureAdded) -> View:
    """Return what was kept of a paper, what was dropped, and how it is used."""
    return view("added", added=added, findings=_finding_facts(added.kept), file=shlex.quote(str(added.file)))


def findings_view(found: FindingList) -> View:
    """Return one line for each finding, or all that is recorded of each."""
    facts = _finding_facts([each.finding for each in found.findings])
    detailed = found.detailed or not found.findings
    return view("findings", detailed=detailed, findings=facts, found=found.findings, said=found.said)


def _finding_facts(findings: Sequence[Finding]) -> Iterator[list[tuple[str, str]]]:
    for each in findings:
        aspects, benchmarks = ", ".join(each.aspects) or "all", ", ".join(each.benchmarks)
        values = {**each.to_row(), "aspects": aspects, "benchmarks": benchmarks}
        yield [(name, str(value)) for name, value in values.items() if value]


# What raters have labelled, and scores.

# Rows that are shown at each end of a long list, and characters of a title.
SHOWN, TITLE = 10, 90
BLOCKS = "▁▂▃▄▅▆▇█"


def labeling_view(result: LabelResult) -> View:
    """Return the number of labels, and a table of the raters."""
    return view("labels", found=result, agreement=agreement_words(result.agreement))


def agreement_words(agreement: RaterAgreement | None) -> str:
    """Return how well raters agree, in a sentence."""
    if agreement is None:
        return "Agreement among raters is known once two of them have judged the same texts."
    judged = f"{agreement.raters} raters, {agreement.units} judged by two or more"
    if agreement.alpha.value is None:
        return f"Agreement among raters is not known yet ({judged})."
    return f"Agreement among raters: Krippendorff's alpha {estimate(agreement.alpha)} ({judged})."


def consistency_words(consistency: Consistency | None) -> str:
    """Return how consistent a rater is, in a few words."""
    if consistency is None:
        return "nothing rated twice yet"
    same = f"{consistency.same:.0%} equal of {count(consistency.repeats, 'repeat')}"
    return f"{same}, {consistency.difference:.2f} points apart on average"


def scores_view(scores: Scores) -> View:
    """Return the mean, how many texts have no score, and the first and last scores with their intervals."""
    rows = list(scores)
    first, last = (rows[:SHOWN], rows[-SHOWN:]) if len(rows) > 2 * SHOWN else (rows, [])
    summary = scores.summary
    return view("scores", scores=scores, first=first, last=last, summary=summary, bars=_bars(summary.histogram))


def distribution_view(summary: ScoreDistribution) -> View:
    """Return the mean human score, the scores' mean, spread and histogram, and the main reasons for missing scores."""
    return view("distribution", summary=summary, bars=_bars(summary.histogram))


def criteria_rows(rubric: Rubric) -> list[dict[str, Any]]:
    """Return what the columns of criteria in a table of scores stand for: id, title, statement and weight."""
    weights = {term.criterion: term.weight for term in rubric.aggregation.terms} if rubric.aggregation else {}
    return [
        {
            "criterion": criterion.id,
            "title": wording.title(criterion, TITLE),
            "statement": criterion.statement,
            "weight": weights.get(criterion.id),
        }
        for criterion in rubric.criteria
    ]


def _bars(counts: Sequence[int]) -> str:
    """Return a histogram as one character a bin; an empty bin is a dot."""
    highest = max(1, *counts)
    return "".join(BLOCKS[round(number / highest * (len(BLOCKS) - 1))] if number else "." for number in counts)


# Edits of a rubric, and two versions beside each other.


def edit_view(result: EditResult) -> View:
    """Return the effect of an edit, and the version that was saved."""
    return view("edit", found=result, verdict=edit_verdict(result.effect))


def edit_effect(result: EditResult) -> Markup:
    """Return the effect of an edit beside the weights of the parent's criteria."""
    return view("edit_effect", found=result).body()


def edit_verdict(effect: EditEffect) -> str:
    """Return the difference in one sentence."""
    return change_in_agreement(effect.statistic, effect.difference, effect.folds, effect.n)


STATISTICS = {
    "heldout_auroc": "AUROC, held out",
    "heldout_brier": "Brier score, held out",
    "heldout_pearson": "Pearson, held out",
    "heldout_spearman": "Spearman, held out",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "kendall": "Kendall",
    "auroc": "AUROC",
}
FITTED = ("spearman", "pearson", "kendall", "auroc")
# Lines shown around those of a text that changed, and characters of a text that has no other side.
CONTEXT, EXCERPT = 1, 300


def difference_view(difference: VersionDiff, *, with_effect: bool = True) -> View:
    """Return what changed: fields, training agreement, criteria (added, removed, reworded) and training texts.

    Args:
        with_effect: whether to begin with the title and the effect of an edit.
    """
    marks = {"reselected": OPTIMISTIC if difference.labels_proposed else ""}
    marks |= dict.fromkeys(FITTED, ", fitted" if difference.optimistic else "")
    verdicts = any(change.statistic == "auroc" for change in difference.agreement)
    titles = {**STATISTICS, "reselected": f"{'AUROC' if verdicts else 'Spearman'}, cross-validated"}
    agreement = [
        (titles[change.statistic] + marks.get(change.statistic, ""), change)
        for change in difference.agreement
        if change.before != change.after or change.statistic.startswith("heldout")
    ]
    return view(
        "difference",
        found=difference,
        with_effect=with_effect,
        effect=paired_effect(difference),
        agreement=agreement,
        held_out=any(change.statistic.startswith("heldout") for change in difference.agreement),
        sides=_sides,
        value=_value,
    )


def paired_effect(difference: VersionDiff) -> str:
    """Return the paired effect of an edit on agreement, with which a difference begins; empty without an edit."""
    edit = difference.edit
    if edit is None or edit.difference.value is None:
        return ""
    return change_in_agreement(edit.statistic, edit.difference, edit.folds, edit.labels)


def _sides(change: FieldChange) -> Iterator[tuple[str, str]]:
    """Yield the lines of a field that changed, each with its sign; none for a remark."""
    before, after = change.before, change.after
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        old, new = (wording.lines(wording.cut(side)) for side in (before, after))
        # Two lines for the files' names, and one for where the first change is.
        changed = list(islice(difflib.unified_diff(old, new, n=CONTEXT, lineterm=""), 3, None))
        if not changed:
            yield "", "white space only"
        for changed_line in changed:
            sign, words = changed_line[0], changed_line[1:]
            if sign == "@":
                yield "", "…"
            elif words or sign.strip():
                yield sign, words
        return
    if before is not None:
        yield "-", wording.excerpt(_value(before), EXCERPT) if after is None else _value(before)
    if after is not None:
        yield "+", wording.excerpt(_value(after), EXCERPT) if before is None else _value(after)


def _value(value: JsonValue) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return wording.short_digest(value) if value.startswith("sha256:") else value
    return canonical(value)

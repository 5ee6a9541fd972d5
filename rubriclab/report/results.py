"""Views of comparisons, checks of data, judges, rewritten texts, plans, lists of stored versions, scores and edits."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, get_args

from pydantic import JsonValue

from rubriclab.display import as_python, python_argument
from rubriclab.learning.paired_scores import AnchorLook, Comparison
from rubriclab.models.base import canonical_json
from rubriclab.models.characters import count
from rubriclab.models.text import format_score
from rubriclab.ops.agree import RELIABLE, TENTATIVE
from rubriclab.ops.improve import RejectionReason
from rubriclab.report import wording
from rubriclab.report.render import View, view
from rubriclab.report.rubrics import change_in_agreement
from rubriclab.report.wording import LABELS_HELPED_PROPOSE, estimate, recorded_agreement

if TYPE_CHECKING:
    from rubriclab.methods.rewriting import ChangedSentence
    from rubriclab.models.judgment import Consistency, RaterAgreement
    from rubriclab.models.rubric import FieldChange, Rubric
    from rubriclab.models.version import Version
    from rubriclab.ops.agree import JudgeScores, Reliability
    from rubriclab.ops.check import CheckResult
    from rubriclab.ops.compare import CompareResult
    from rubriclab.ops.plan import PlannedText
    from rubriclab.store.diff import VersionDiff

TITLE_LENGTH, PLAN_TITLE_LENGTH = 90, 60  # characters of a criterion's title in legends and in plans
CONTEXT_LINES = 1  # unchanged lines shown around a change
CHANGE_EXCERPT_LENGTH = 300  # characters shown of a text that was added or removed as a whole
HISTOGRAM_BARS = "▁▂▃▄▅▆▇█"
REJECTIONS: tuple[RejectionReason, ...] = get_args(RejectionReason)
# Kind of criteria, title and remark of each table of criteria.
CRITERION_TABLES = (("yes/no", "Yes/no questions", "alpha: nominal"), ("graded", "Graded criteria", "alpha: interval"))
ZONES: Mapping[Reliability, str] = {
    "unreliable": f"below {TENTATIVE:.3f}",
    "tentative": f"between {TENTATIVE:.3f} and {RELIABLE:.3f}",
    "reliable": f"above {RELIABLE:.3f}",
}
# The titles of statistics of a rubric's scores, and of cross-validated scores.
SCORE_STATISTICS = {"spearman": "Spearman", "pearson": "Pearson", "kendall": "Kendall", "auroc": "AUROC"}
_CROSS_VALIDATED = {**SCORE_STATISTICS, "brier": "Brier score"}.items()
CROSS_VALIDATED_STATISTICS = {f"heldout_{name}": f"{title}, cross-validated" for name, title in _CROSS_VALIDATED}
_EDITS = re.compile(r"(\[-.*?-\]|\{\+.*?\+\})", re.DOTALL)


def compare_view(compared: CompareResult) -> View:
    if isinstance(compared.result, AnchorLook):  # the latest of repeated scorings of the same texts
        return view("drift", look=compared.result)
    return comparison_view(compared.result, compared.version)


def comparison_view(comparison: Comparison, version: Version | None = None) -> View:
    """Return the view of a comparison; with the verdict of `version`, if a version scored the outputs."""
    return view("comparison", result=comparison, version=version)


def check_view(result: CheckResult, *, for_shell: bool = False) -> View:
    """Return the view of a check; the command line (`for_shell`) prints `check_steps` itself, unwrapped."""
    if for_shell:
        return view("check", result=result, steps=())
    result = result.rewrite_messages(as_python)
    return view("check", result=result, steps=check_steps(result, python=True))


def check_steps(result: CheckResult, *, python: bool = False) -> Iterator[str]:
    """Yield options that would solve problems, the proposed mapping, and the next command (a call if `python`)."""
    yield from result.hints
    if proposal := result.proposal:
        option = python_argument("mapping", proposal) if python else f"--map {shlex.quote(proposal)}"
        yield f"columns that look like fields: {option}"
    if result.next:
        yield f"next: {result.next.as_python() if python else result.next}"


def short_names(judges: Sequence[JudgeScores]) -> dict[str, str]:
    """Return the name of each judge in tables: a letter or, from the 27th judge on, a number."""
    names = [*ascii_uppercase, *(str(number) for number in range(len(ascii_uppercase) + 1, len(judges) + 1))]
    return {each.judge: name for each, name in zip(judges, names, strict=False)}


def edits(change: ChangedSentence) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a numbered sentence, each with `removed`, `added`, or "" if unchanged."""
    for index, words in enumerate(_EDITS.split(f"{change.sentence}. {change.diff}")):
        edit = "removed" if words.startswith("[") else "added"
        yield words, edit if index % 2 else ""  # `split` alternates between unchanged words and edits


def plan_reason(planned: PlannedText) -> str:
    group, criterion = "new group" if planned.new_group else "group with labels", planned.unusual
    rating = planned.text.ratings.get(criterion.id) if criterion else None
    if criterion is None or rating is None:
        return f"{group}; no rating is unusual"
    title, mean = wording.title(criterion, PLAN_TITLE_LENGTH), planned.mean
    if criterion.question is None:
        here, average = (format_score(round(value, 1)) for value in (rating, mean))
        return f"{group}; “{title}”: {here} here, {average} on average so far"
    # The score of a question is 1 for its better answer, which may be "no".
    is_better = rating >= 0.5
    answer = "yes" if is_better == (criterion.question.better == "yes") else "no"
    share = mean if is_better else 1 - mean
    return f"{group}; “{title}”: {answer} here, like {share:.0%} of the texts rated so far"


def names_view(versions: Sequence[Version]) -> View:
    """Return a table of versions: name, aspect, verdict, and the agreement that each records."""
    return view("names", versions=versions, rows=[(each, recorded_agreement(each)) for each in versions])


def agreement_words(agreement: RaterAgreement | None) -> str:
    if agreement is None:
        return "Agreement among raters is known once two of them have judged the same texts."
    basis = f"{agreement.raters} raters, {count(agreement.units, 'text')} judged by two or more"
    if agreement.alpha.value is None:
        return f"Agreement among raters is not known yet ({basis})."
    return f"Agreement among raters: Krippendorff's alpha {estimate(agreement.alpha)} ({basis})."


def consistency_words(consistency: Consistency | None) -> str:
    if consistency is None:
        return "nothing rated twice yet"
    equal = f"{consistency.equal_share:.0%} equal of {count(consistency.repeats, 'repeat')}"
    return f"{equal}, {consistency.difference:.2f} points apart on average"


def criteria_rows(rubric: Rubric) -> list[dict[str, Any]]:
    """Return a legend to the criterion columns of a table of scores: id, title, statement and weight of each."""
    terms = rubric.terms
    return [
        {
            "criterion": criterion.id,
            "title": wording.title(criterion, TITLE_LENGTH),
            "statement": criterion.statement,
            "weight": terms[criterion.id].weight if criterion.id in terms else None,
        }
        for criterion in rubric.criteria
    ]


def histogram(counts: Sequence[int]) -> str:
    highest, steps = max(1, *counts), len(HISTOGRAM_BARS) - 1
    return "".join(HISTOGRAM_BARS[round(number / highest * steps)] if number else "." for number in counts)


def difference_view(difference: VersionDiff, *, with_heading: bool = True) -> View:
    """Return the differences between two versions; the heading has the versions' names and the effect of an edit."""
    remarks = {"reselected": LABELS_HELPED_PROPOSE if difference.proposed_from_labels else ""}
    remarks |= dict.fromkeys(SCORE_STATISTICS, ", fitted" if difference.optimistic else "")
    two_levels = any(change.statistic == "auroc" for change in difference.agreement)
    titles = {**SCORE_STATISTICS, **CROSS_VALIDATED_STATISTICS}
    titles["reselected"] = f"{'AUROC' if two_levels else 'Spearman'}, cross-validated"  # without a gate
    agreement = [
        (titles[change.statistic] + remarks.get(change.statistic, ""), change)
        for change in difference.agreement
        if change.before != change.after or change.statistic.startswith("heldout")
    ]
    return view(
        "difference",
        result=difference,
        with_heading=with_heading,
        effect=paired_effect(difference),
        agreement=agreement,
        held_out=any(change.statistic.startswith("heldout") for change in difference.agreement),
    )


def paired_effect(difference: VersionDiff) -> str:
    edit = difference.edit
    if edit is None or edit.difference.value is None:
        return ""
    return change_in_agreement(edit.statistic, edit.difference, edit.folds, edit.labels)


def changed_lines(change: FieldChange) -> Iterator[tuple[str, str]]:
    """Yield lines with their sign: `-` or `+` for a changed line, a space for an unchanged one, "" for a remark."""
    before, after = change.before, change.after
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        old, new = (wording.lines(wording.cut(side)) for side in (before, after))
        # The first three lines are two file names and the position of the first change.
        diff_lines = list(difflib.unified_diff(old, new, n=CONTEXT_LINES, lineterm=""))[3:]
        if not diff_lines:
            yield "", "white space only"
        for diff_line in diff_lines:
            sign, words = diff_line[0], diff_line[1:]
            if sign == "@":
                yield "", "…"
            elif words or sign.strip():
                yield sign, words
        return
    if before is not None:
        yield "-", wording.excerpt(value_words(before), CHANGE_EXCERPT_LENGTH) if after is None else value_words(before)
    if after is not None:
        yield "+", wording.excerpt(value_words(after), CHANGE_EXCERPT_LENGTH) if before is None else value_words(after)


def value_words(value: JsonValue) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return wording.short_digest(value) if value.startswith("sha256:") else value
    return canonical_json(value)

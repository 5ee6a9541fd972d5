"""Numbers, names and notes in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rubriclab.models.characters import count, listed, plain
from rubriclab.models.version import Baseline, Effort
from rubriclab.stats.intervals import MIN_GROUPS, Interval

if TYPE_CHECKING:
    from datetime import datetime

    from rubriclab.ops.evaluate import Result

BASELINE = "baseline: "
DIGEST_SHOWN = 12
EXCERPT = 420
# Characters of one text that are shown: wrapping takes minutes for millions of them, and nobody reads on.
LONGEST_SHOWN = 20_000
# Ends of intervals below are 0 but for rounding errors.
SMALLEST = 1e-6

LEVELS: Mapping[str, str] = {
    "group": "within groups",
    "dataset": "over all texts",
    "system": "between systems",
}
LEVEL_NOTES: Mapping[str, str] = {
    "group": "texts that share a source are compared with each other; mean over the groups",
    "dataset": "one correlation over all texts, whatever their source",
    "system": "the systems' mean scores are compared, one point per system",
}


def lines(text: str) -> list[str]:
    """Return the lines of `text`, made plain, with their indentation; never more than one empty line in a row."""
    stripped = [line.rstrip() for line in plain(text).strip().expandtabs(4).split("\n")]
    return [line for place, line in enumerate(stripped) if line or (place and stripped[place - 1])]


def cut(text: str) -> str:
    """Return a text, or the beginning of one that is too long, with the number of missing characters."""
    more = len(text) - LONGEST_SHOWN
    if more <= 0:
        return text
    return f"{text[:LONGEST_SHOWN]} … ({more:,} more characters; `rubriclab export` writes all of them)"


def excerpt(text: str, most: int = EXCERPT) -> str:
    """Return the beginning of a text, cut between words."""
    text = text.strip()
    if len(text) <= most:
        return text
    return f"{text[:most].rsplit(maxsplit=1)[0]} …"


def figure(value: float | None) -> str:
    """Return a correlation with two decimals, or `undefined`."""
    if value is None:
        return "undefined"
    shown = f"{value:.2f}"
    return "0.00" if shown == "-0.00" else shown


def interval(statistic: Interval) -> str:
    """Return the interval as `[0.41, 0.53]`; empty if there is none.

    An end that two decimals would round to 0 keeps its first digit: whether 0 lies inside has to be visible.
    """
    if statistic.low is None or statistic.high is None:
        return ""
    return f"[{_end(statistic.low)}, {_end(statistic.high)}]"


def _end(end: float) -> str:
    shown = figure(end)
    if shown != "0.00" or abs(end) < SMALLEST:
        return shown
    return f"{end:.{-math.floor(math.log10(abs(end)))}f}"


def estimate(statistic: Interval) -> str:
    """Return a statistic as `0.47 [0.41, 0.53]`."""
    return f"{figure(statistic.value)} {interval(statistic)}".rstrip()


def byte_count(number: int) -> str:
    """Return `512 bytes`, `1.2 MB`."""
    if number < 1000:
        return count(number, "byte")
    size, units = number / 1000, iter(("kB", "MB", "GB", "TB"))
    unit = next(units)
    while size >= 999.5 and unit != "TB":
        size, unit = size / 1000, next(units)
    return f"{size:.1f} {unit}" if size < 99.95 else f"{size:.0f} {unit}"


def counted(number: int, noun: str) -> str:
    """Return `1 criterion`, `2 criteria`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun.removesuffix('on')}a"


def missing_answers(missing: int, answers: int) -> str:
    """Return `864 of 1,872 answers missing`."""
    return f"{missing:,} of {count(answers, 'answer')} missing"


def is_baseline(evaluator: str) -> bool:
    """Return whether an evaluator of this name is a free baseline; see `rubriclab.ops.evaluate`."""
    return evaluator.startswith(BASELINE)


def evaluator_parts(evaluator: str) -> tuple[str, str]:
    """Return what an evaluator is called in a table, and the remark in brackets that its name may end with."""
    name, _, remark = evaluator.removeprefix(BASELINE).partition(" (")
    return name, remark.removesuffix(")")


def remarks(results: Sequence[Result]) -> list[str]:
    """Return the remarks on the evaluators of `results`, one line for each evaluator that has one."""
    parts = dict.fromkeys(evaluator_parts(result.evaluator) for result in results)
    return [f"{name}: {remark}." for name, remark in parts if remark]


def short_digest(digest: str) -> str:
    """Return a digest's algorithm and first digits."""
    algorithm, _, digits = digest.rpartition(":")
    return f"{algorithm}:{digits[:DIGEST_SHOWN]}" if algorithm else digits[:DIGEST_SHOWN]


def moment(created: datetime) -> str:
    """Return a time, which has a zone, as `2026-11-21 22:40 UTC`."""
    from datetime import UTC

    return f"{created.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def effort(spent: Effort) -> str:
    """Return calls, tokens, cost and time."""
    failed = "" if not spent.failed else f", {spent.failed:,} failed"
    repaired = "" if not spent.repaired else f", {spent.repaired:,} repaired"
    unclear = "" if not spent.by_name_or_order else f", {spent.by_name_or_order:,} read by name or order"
    calls = f"{count(spent.calls, 'call')} ({spent.cached:,} more answered from cache{failed}{repaired}{unclear})"
    tokens = f"{spent.prompt_tokens:,} + {spent.completion_tokens:,} tokens{_provider_cache(spent)}"
    return f"{calls}, {tokens}, {cost(spent.cost_usd)}, {spent.seconds:,.0f} s"


def _provider_cache(spent: Effort) -> str:
    """Return what the provider's prompt cache gave and saved, in brackets; nothing where there was none."""
    if not (spent.cached_prompt_tokens or spent.saved_usd):
        return ""
    difference = f"saved ${spent.saved_usd:.4f}" if spent.saved_usd >= 0 else f"cost ${-spent.saved_usd:.4f} more"
    money = f", which {difference}" if spent.saved_usd else ""
    return f" ({spent.cached_prompt_tokens:,} read from the provider's prompt cache{money})"


def stages(spent: Effort) -> str:
    """Return the number of replies to each prompt with their tokens, the most first; empty if not recorded."""
    most_first = sorted(spent.stages.items(), key=lambda stage: (-stage[1], stage[0]))
    return ", ".join(
        f"{name} {number:,}" + (f" ({tokens:,} tokens)" if (tokens := spent.stage_tokens.get(name)) else "")
        for name, number in most_first
    )


def cost(usd: float | None) -> str:
    """Return a cost in dollars, or `cost unknown`."""
    if usd is None:
        return "cost unknown"
    if usd == 0:
        return "no cost"
    return "less than $0.01" if usd < 0.005 else f"${usd:,.2f}"


def baseline_feature(baseline: Baseline) -> str:
    """Return what a free baseline measures, by its title if the catalogue has it."""
    from rubriclab.models.text_features import CATALOGUE

    titles = {entry.name: entry.title for entry in CATALOGUE}
    title = f"{titles[baseline.feature]} ({baseline.feature})" if baseline.feature in titles else baseline.feature
    return title if baseline.sign > 0 else f"the less {title}, the better"


def too_few_groups(groups: int) -> str:
    """Return `too few groups for an interval (2; 5 are needed)`."""
    return f"too few groups for an interval ({groups}; {MIN_GROUPS} are needed)"


def basis(result: Result) -> str:
    """Return the basis of a result: texts, groups, constant groups, unscored texts, missing answers."""
    agreement = result.agreement
    parts = [f"{count(agreement.n, 'text')} in {count(agreement.groups, 'group')}"]
    if agreement.systems is not None:
        parts.append(f"{count(agreement.systems, 'system')}; intervals are over {agreement.unit}, not systems")
    if agreement.level == "group":
        counted = "counted as 1" if agreement.constant == "papers" else "left out"
        constant = f"{count(agreement.constant_groups, 'group')} with constant labels {counted}"
        parts.append(constant if agreement.constant_groups else "no group with constant labels")
        if agreement.single_groups:
            parts.append(f"{count(agreement.single_groups, 'group')} of one text left out")
    if agreement.too_few_groups:
        parts.append(too_few_groups(agreement.groups))
    parts.append(f"{count(result.unscored, 'text')} unscored" if result.unscored else "none unscored")
    if result.answers_missing:
        remark = "; scores rest on the others" if result.answers_missing < result.answers else ""
        parts.append(missing_answers(result.answers_missing, result.answers) + remark)
    return "; ".join(parts)


def bases(results: Sequence[Result]) -> list[str]:
    """Return the basis of the results: one line if all share it, else a line for each basis."""
    by_basis: dict[str, list[str]] = {}
    for result in results:
        by_basis.setdefault(basis(result), []).append(result.evaluator)
    if len(by_basis) == 1:
        return [f"All on {next(iter(by_basis))}."]
    names = {shared: [evaluator_parts(name)[0] for name in evaluators] for shared, evaluators in by_basis.items()}
    return [f"{listed(names[shared])}: {shared}." for shared in by_basis]


def blocks(results: Sequence[Result]) -> list[tuple[str, str, list[Result]]]:
    """Return the results by aspect and level, in order of occurrence, free baselines last."""
    grouped: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        grouped.setdefault((result.aspect, result.agreement.level), []).append(result)
    return [(*key, sorted(rows, key=lambda row: is_baseline(row.evaluator))) for key, rows in grouped.items()]

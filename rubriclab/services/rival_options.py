"""Options of calls that rate the texts of one group together, and what they say at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from rubriclab.aggregation import RivalLimits
from rubriclab.base_options import Options
from rubriclab.errors import SettingsError
from rubriclab.option_names import option
from rubriclab.report.wording import count
from rubriclab.rubric import Rubric
from rubriclab.scoring.grouped_stream import WINDOW
from rubriclab.scoring.rivals import RivalCounts
from rubriclab.scoring.score import limits_of
from rubriclab.services.workspace import Notify

# The ways of asking that `score_stream` takes.
Rivals = RivalLimits | Literal["apart"] | None


class RivalOptions(Options):
    """Whether the texts of one group are rated in one call."""

    rivals: Literal["apart", "together"] | None = None
    """Rate each text in a call of its own, or the texts of one group in one call, by a rubric whose criteria are asked
    about in one call. Default: as the rubric was learned."""

    rivals_per_call: int | None = Field(default=None, ge=2, le=100)
    """The most texts of a call about several texts; larger groups are divided evenly. Default: 10."""


def rivals_of(options: RivalOptions, rubric: Rubric, name: str, notify: Notify) -> Rivals:
    """Return how `score_stream` asks about the texts, and say where the rubric was learned in another way.

    Raises:
        SettingsError: if the rubric cannot rate several texts in one call, or a size is given for calls about one text.
    """
    learned = rubric.aggregation.rivals if rubric.aggregation else None
    given = options.rivals_per_call
    if options.rivals == "apart" or not (options.rivals or learned):
        if given:
            raise SettingsError(
                f"{option('rivals_per_call')}: each text is rated in a call of its own;",
                f"give {option('rivals', 'together')}, too.",
            )
        if learned:
            notify(
                f"{name} was learned from scores of texts that were rated together; agreement and intervals are of "
                "such scores, not of texts rated apart"
            )
        return options.rivals
    limits = RivalLimits(texts=given) if given else learned or RivalLimits()
    limits_of(rubric, limits)
    if learned is None and rubric.aggregation:
        notify(
            f"{name} was learned from scores of texts that were rated apart; agreement and intervals are of such "
            "scores, not of texts rated together"
        )
    elif learned and limits != learned:
        notify(f"{name} was learned with at most {learned.texts} texts in a call")
    return limits


def rival_notes(counts: RivalCounts) -> Iterator[str]:
    """Yield what is to be said of texts that were rated together."""
    if not counts.calls:
        return
    yield f"{count(counts.texts, 'text')} rated together with their rivals in {count(counts.calls, 'call')}"
    if counts.without_rivals:
        texts = "of these texts had" if counts.without_rivals < counts.texts else "texts had: give `group` or `source`;"
        yield f"{counts.without_rivals:,} {texts} no rival in their call"
    if counts.continued:
        yield (
            f"{count(counts.continued, 'group')} in several calls, as their texts are more than {WINDOW:,} rows apart; "
            "sort the rows by group"
        )
    if orders := counts.orders.agreement():
        yield orders.describe()

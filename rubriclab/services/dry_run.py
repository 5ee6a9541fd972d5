"""What an operation would ask at most, told before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rubriclab.display import Displayed
from rubriclab.judges.connect import EMBEDDED
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.price import FREE, Price
from rubriclab.judges.recording import PREFIX
from rubriclab.methods.estimate import CallEstimate
from rubriclab.option_names import option

if TYPE_CHECKING:
    from rubriclab.report.model import View


@dataclass(frozen=True)
class CallBound:
    """The most that one judge is asked; `cost_usd` is `None` where its price is not known."""

    judge: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None

    def to_row(self) -> dict[str, Any]:
        """Return the bound as one JSON object."""
        return {
            "judge": self.judge,
            "calls": self.calls,
            "tokens": {"prompt": self.prompt_tokens, "completion": self.completion_tokens},
            "cost_usd": self.cost_usd,
        }


@dataclass(frozen=True, repr=False)
class DryRun(Displayed):
    """The most that an operation asks, by role; cached answers lower it.

    `proposes` says whether criteria are proposed, which a judge is asked for up to five times. `batch` says whether the
    cost is that of batches, and `assumed` names the judges for which that is an assumption.
    """

    roles: Mapping[str, CallBound]
    proposes: bool = False
    batch: bool = False
    assumed: tuple[str, ...] = ()

    def to_row(self) -> dict[str, Any]:
        """Return the bounds as one JSON object."""
        return {"dry_run": True, "at_most": {role: bound.to_row() for role, bound in self.roles.items()}}

    def lines(self) -> Iterator[str]:
        """Yield calls, tokens and money of each role, and what may change them."""
        for role, bound in self.roles.items():
            unknown = f"price unknown ({option('price')})"
            money = unknown if bound.cost_usd is None else f"${bound.cost_usd:.4f}"
            tokens = f"{bound.prompt_tokens:,} tokens read, {bound.completion_tokens:,} written"
            yield f"{role} {bound.judge}: at most {bound.calls:,} calls, {tokens}, {money}"
        if self.batch:
            half = f" For {', '.join(self.assumed)} half of the usual price is assumed." if self.assumed else ""
            yield f"Costs are those of batches; prompts that are sent one by one cost the usual price.{half}"
        proposals = ", and a proposal up to five times" if self.proposes else ""
        yield (
            "No calls made. Cached answers lower this bound. A reply that cannot be used raises it: it is asked for "
            f"once again{proposals}."
        )

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.model import View, paragraphs

        return View((), paragraphs(self.lines()))


def dry_run(roles: Mapping[str, tuple[str, CallEstimate]], options: JudgeOptions, *, proposes: bool = False) -> DryRun:
    """Return the bound of each role, given its judge and the most that it is asked."""
    bounds = {role: bound(judge, estimate, options) for role, (judge, estimate) in roles.items()}
    called = {judge for judge, _ in roles.values() if not _is_free(judge)}
    batch = options.batch and bool(called)
    assumed = tuple(sorted(judge for judge in called if options.batch and _price(judge, options)[1]))
    return DryRun(bounds, proposes, batch, assumed)


def bound(judge: str, estimate: CallEstimate, options: JudgeOptions) -> CallBound:
    """Return the most that a judge is asked, with its price where that is known."""
    price, _ = _price(judge, options)
    cost = price.cost(estimate.prompt_tokens, estimate.completion_tokens) if price else None
    return CallBound(judge, estimate.calls, estimate.prompt_tokens, estimate.completion_tokens, cost)


def _is_free(judge: str) -> bool:
    return judge == EMBEDDED or judge.startswith(PREFIX)


def _price(judge: str, options: JudgeOptions) -> tuple[Price | None, bool]:
    """Return the price of a judge, and whether it is an assumption."""
    if _is_free(judge):
        return FREE, False
    if options.batch:
        from rubriclab.judges.batch_model import ASSUMED_SHARE, batch_price_of

        if options.price:
            return options.price.times(ASSUMED_SHARE), True
        price, listed = batch_price_of(judge)
        return price, price is not None and not listed
    if options.price:
        return options.price, False
    from rubriclab.judges.language_model import price_of

    return price_of(judge), False

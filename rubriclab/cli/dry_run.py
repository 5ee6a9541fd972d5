"""What `--dry-run` prints: the most that a command would ask, and what that would cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from rubriclab.cli.printing import print_json
from rubriclab.judges.price import FREE, Price, parse_price
from rubriclab.methods.estimate import CallEstimate


def say_most(
    asked: Mapping[str, CallEstimate], judges: Mapping[str, str], given: Mapping[str, Any], *, proposes: bool = False
) -> None:
    """Print calls, tokens and money, per role, for the judge that plays it; `proposes` where criteria are made."""
    rows = {role: most_row(judges[role], estimate, given) for role, estimate in asked.items()}
    if given["as_json"]:
        print_json({"dry_run": True, "at_most": rows})
        return
    for role, row in rows.items():
        money = "price unknown (--price)" if row["cost_usd"] is None else f"${row['cost_usd']:.4f}"
        tokens = f"{row['tokens']['prompt']:,} tokens read, {row['tokens']['completion']:,} written"
        click.echo(f"{role} {row['judge']}: at most {row['calls']:,} calls, {tokens}, {money}")
    click.echo(
        "Nothing was asked. Kept answers make it less. A reply that cannot be used makes it more: it is asked for once "
        f"again{', and a proposal up to five times' if proposes else ''}."
    )


def most_row(judge: str, estimate: CallEstimate, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the most that a judge is asked, with its price where that is known."""
    price = _price(judge, given)
    return {
        "judge": judge,
        "calls": estimate.calls,
        "tokens": {"prompt": estimate.prompt_tokens, "completion": estimate.completion_tokens},
        "cost_usd": price.cost(estimate.prompt_tokens, estimate.completion_tokens) if price else None,
    }


def _price(judge: str, given: Mapping[str, Any]) -> Price | None:
    if judge == "embedded" or judge.startswith("recorded:"):
        return FREE
    if given["price"]:
        return parse_price(given["price"])
    from rubriclab.judges.language_model import price_of

    return price_of(judge)

"""Serves a rubric over HTTP until it is stopped."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rubriclab.errors import SettingsError
from rubriclab.judges.connect import is_language_model
from rubriclab.judges.metrics import Metrics
from rubriclab.judges.providers import load_litellm
from rubriclab.judges.stack import Ledger, RedactingJudge
from rubriclab.ops.score import ScoreOptions, TextScorer
from rubriclab.ops.workspace import (
    RubricLike,
    ServeOptions,
    Workspace,
    no_progress,
)
from rubriclab.web.api.app import ScoringWork, application
from rubriclab.web.api.gate import VARIABLE, AccessLog, Tokens, read_tokens
from rubriclab.web.security import Access
from rubriclab.web.server import Server, listen, port_of

_access = logging.getLogger("rubriclab.access")


def log_access(entry: Mapping[str, Any]) -> None:
    """Log a request as `name=value` pairs with values in JSON, so that no path can look like another pair or line."""
    _access.info(" ".join(f"{name}={json.dumps(value)}" for name, value in entry.items()))


async def serve_rubric(
    settings: Workspace,
    rubric: RubricLike,
    options: ServeOptions,
    *,
    on_access: AccessLog = log_access,
    on_address: Callable[[str], object] = print,
) -> None:
    """Serve a rubric over HTTP until a signal (SIGINT, SIGTERM) or a cancellation; requests under way are answered.

    Args:
        settings: the store, how judges are asked, and the caps on calls and money for all requests together.
        on_access: told about each request once it is answered: time, id, client, caller, method, path, status, seconds,
            and for a request to score the numbers of its texts and of those without a score.
        on_address: told the address once the service answers.

    Raises:
        NotInStore: if there is no such rubric.
        NotConfirmed: if only an imported version that is not confirmed names the judge.
        SettingsError: if the address or the tokens cannot be used, or the service could be reached without a token.
        StoreError: if the judge is a language model, and its answers cannot be kept, as the store is read-only.
    """
    tokens = read_tokens(options.token_file)
    host = _address(options.host, tokens)
    if settings.options.batch:
        raise SettingsError("`batch`: batches take hours, and callers wait;", "leave `batch` out.")
    ledger = Ledger()
    metrics = Metrics(ledger)
    with listen(host, options.port or None) as bound:
        opened = replace(settings, progress=no_progress, ledger=ledger, metrics=metrics)
        scorer = await asyncio.to_thread(TextScorer, opened, rubric, ScoreOptions(judge=options.judge), RedactingJudge)
        work = ScoringWork(scorer, options)
        server: Server | None = None
        try:
            if is_language_model(scorer.judge):
                opened.store.check_writable()
                await asyncio.to_thread(load_litellm)  # else the first caller waits for it, for seconds
            shown = f"[{host}]" if ":" in host else host
            address = f"http://{shown}:{port_of(bound)}"
            hosts = Access.at(port_of(bound), [shown]).hosts

            def served() -> None:
                on_address(address)

            app = application(work, metrics, tokens=tokens, hosts=hosts, access_log=on_access)
            server = Server(app, bound, served, patience=options.grace)
            await server.run()
        finally:
            if left := await work.finish(server.seconds_left if server else 0):
                were = "1 request was" if left == 1 else f"{left} requests were"
                settings.notify(f"{were} still being scored when the service ended and got no score")
            await asyncio.to_thread(scorer.close)


def _address(host: str, tokens: Tokens) -> str:
    """Return the numeric address to listen at."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError:
        raise SettingsError(
            f"`host`: expected an address such as 127.0.0.1, got {host!r}.", "0.0.0.0 is every address."
        ) from None
    if not tokens and not address.is_loopback:
        file = "`token_file=FILE`"
        raise SettingsError(
            f"`host={host}`: others can reach the service at this address, and there is no token.",
            f"Set {VARIABLE}, or give {file}; without `host` it is reached from this computer only.",
        )
    return str(address)

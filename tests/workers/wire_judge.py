"""A judge of an installed package that asks the local server; a process imports it in a tenth of litellm's time."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
from typing import Any

from rubriclab import JudgeOptions, Prompt, Reply, Usage
from rubriclab.errors import JudgeUnavailable
from rubriclab.judges import messages_of


class WireJudge:
    """Sends each prompt to the server at the port in `WIRE_PORT`."""

    def __init__(self, model: str) -> None:
        self.name = f"wire:{model}"
        self.identity = {"judge": self.name}

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the server's reply; each costs a cent."""
        return await asyncio.to_thread(self._ask, [{**turn} for turn in messages_of(prompt)])

    def _ask(self, messages: list[dict[str, Any]]) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["WIRE_PORT"]), timeout=30)
        try:
            connection.request("POST", "/v1/chat/completions", json.dumps({"model": self.name, "messages": messages}))
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise JudgeUnavailable(f"no reply: {error}.") from None
        finally:
            connection.close()
        if response.status != 200:
            raise JudgeUnavailable("busy.", retry_after=float(response.headers.get("Retry-After", 0)))
        row = json.loads(body)
        usage = Usage(row["usage"]["prompt_tokens"], row["usage"]["completion_tokens"], 0.01)
        return Reply(row["choices"][0]["message"]["content"], row["model"], usage)


def make_judge(rest: str, _options: JudgeOptions) -> WireJudge:
    """Return the judge."""
    return WireJudge(rest)

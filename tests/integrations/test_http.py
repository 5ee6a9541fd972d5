"""`rubriclab serve` as a process of its own, and its description of itself by the validator of OpenAPI."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from commands import PATIENCE, Commands
from pytest_projects import TEXTS, Parity
from server import RunningServer

from rubriclab.web.api_models import describe_api


def test_scores_over_http_are_those_of_the_command_and_no_text_is_asked_about_twice(
    store: Path, server: RunningServer, parity: Parity
) -> None:
    judge: dict[str, Any] = {"OPENAI_API_BASE": server.url, "OPENAI_API_KEY": "none"}
    service = Commands(store.parent, RUBRICLAB_STORE="store.db", **judge).start("serve", "remote@1", "--port", 0)
    try:
        with httpx.Client(base_url=service.address(), trust_env=False, timeout=PATIENCE) as client:
            response = client.post("/v1/score", json={"texts": TEXTS})
    finally:
        os.kill(service.pid, signal.SIGTERM)
        ended = service.wait()
    assert (response.status_code, ended.code) == (200, 0), response.text
    parity.check("HTTP service", "httpx", {row["id"]: row["score"] for row in response.json()["scores"]})


@pytest.mark.parametrize("tokens", [True, False])
def test_the_description_is_valid_openapi_3_1(tokens: bool) -> None:
    validation = pytest.importorskip("openapi_spec_validator", reason="run make test-integrations")
    found = json.loads(json.dumps(describe_api(needs_token=tokens)))
    assert found["openapi"] == "3.1.0"
    assert list(validation.OpenAPIV31SpecValidator(found).iter_errors()) == []

"""litellm and its providers. Only this module imports litellm, whose environment variables have to be set first."""

from __future__ import annotations

import functools
import logging
import os
import re
import warnings
from contextlib import suppress
from typing import Any

from rubriclab.judges.address import bypass_proxies

# Names of OpenAI's models, recognised without importing litellm, which takes seconds.
_OPENAI = re.compile(r"(?:ft:)?(?:gpt-\d|chatgpt-|o\d(?:-|$))")

# With it, litellm asks OpenAI-compatible servers by its own HTTP client. OpenAI's takes a third of the processor time
# of a call.
OWN_CLIENT = "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"
# Variables that only OpenAI's client sends.
_SENT_BY_OPENAI_CLIENT = ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID")


@functools.cache
def load_litellm() -> Any:
    """Return litellm, configured to send no telemetry and to read no file. The first call takes seconds."""
    # Otherwise it downloads a price table and reads any .env file it finds.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    choose_client()
    for host in ("localhost", "127.0.0.1", "::1"):  # clients that are not bounded below ask local servers too
        bypass_proxies(host)
    import litellm
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from openai import _base_client as sdk

    from rubriclab.judges.transport import bound_responses, bound_sdk_responses

    bound_responses(AsyncHTTPHandler)
    bound_sdk_responses(AsyncHTTPHandler, sdk, "AsyncHttpxClientWrapper")
    with suppress(ImportError):  # newer releases give the OpenAI package a client of their own
        from litellm.llms.openai import workload_identity

        bound_sdk_responses(AsyncHTTPHandler, workload_identity, "OpenAIAsyncHTTPClient")
    litellm.suppress_debug_info = True
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    # Damaged log-probabilities are detected where the reply is read.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    # Of litellm's own types.
    warnings.filterwarnings("ignore", r"Item '\w+' on TypedDict class", UserWarning)
    # A cancelled request may leave a coroutine behind in litellm's thread.
    warnings.filterwarnings("ignore", r"coroutine '[\w.]*completion' was never awaited", RuntimeWarning)
    return litellm


def choose_client() -> None:
    """Have litellm use its own HTTP client, unless a variable is set that only OpenAI's client sends."""
    if not any(map(os.environ.get, _SENT_BY_OPENAI_CLIENT)):
        os.environ.setdefault(OWN_CLIENT, "True")


def is_loaded() -> bool:
    """Return whether litellm has been imported."""
    return load_litellm.cache_info().currsize > 0


@functools.cache
def provider_of(model: str) -> str:
    """Return the provider that litellm asks for `model`; a bare name that it does not know is returned itself.

    litellm refuses such a name when it is asked, so that no provider's variables apply to it.
    """
    if "/" in model:
        return model.split("/", 1)[0]
    return "openai" if _OPENAI.match(model) else _known_to_litellm(model)


def key_variable(model: str) -> str:
    """Return the environment variable in which litellm looks for the provider's key."""
    return f"{provider_of(model).upper()}_API_KEY"


def _known_to_litellm(model: str) -> str:
    litellm = load_litellm()
    try:
        provider = str(litellm.get_llm_provider(model)[1])
    except litellm.BadRequestError:
        return model
    return provider.removeprefix("text-completion-")

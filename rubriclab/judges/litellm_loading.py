"""The one place that imports litellm: what it reads from the environment while it is imported has to be set before."""

from __future__ import annotations

import functools
import logging
import os
import warnings
from typing import Any


@functools.cache
def load_litellm() -> Any:
    """Return litellm, set to send nothing and to read no file by itself; its first import takes seconds."""
    # Without these two it fetches a price table from the network and reads any .env file it finds.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    import litellm
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    from rubriclab.judges.transport import bound_responses

    bound_responses(AsyncHTTPHandler)
    litellm.suppress_debug_info = True
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    # Damaged log-probabilities are found and left out where the reply is read.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    # A request cancelled early leaves a coroutine in litellm's thread, which is no news to a user who pressed Ctrl-C.
    warnings.filterwarnings("ignore", r"coroutine '\w+\.a?completion' was never awaited", RuntimeWarning)
    return litellm


def is_loaded() -> bool:
    """Return whether litellm has been imported here."""
    return load_litellm.cache_info().currsize > 0

"""Which provider a litellm model string belongs to: it decides on the variables of the key and of the address."""

from __future__ import annotations

import functools
import re

# Names of OpenAI's models, recognised without importing litellm, which takes seconds.
_OPENAI = re.compile(r"(?:ft:)?(?:gpt-\d|chatgpt-|o\d(?:-|$))")


@functools.cache
def provider_of(model: str) -> str:
    """Return the provider that litellm asks for `model`; a bare name that it does not know is returned itself.

    litellm refuses such a name when it is asked, so that no provider's variables apply to it.
    """
    if "/" in model:
        return model.split("/", 1)[0]
    return "openai" if _OPENAI.match(model) else _known_to_litellm(model)


def _known_to_litellm(model: str) -> str:
    from rubriclab.judges.litellm_loading import load_litellm

    litellm = load_litellm()
    try:
        provider = str(litellm.get_llm_provider(model)[1])
    except litellm.BadRequestError:
        return model
    return provider.removeprefix("text-completion-")

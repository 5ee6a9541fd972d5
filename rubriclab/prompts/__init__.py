"""Prompts as values, and the prose templates that turn them into messages."""

from rubriclab.prompts.prompt import Prompt, Repair
from rubriclab.prompts.render import Message, prompts_digest, render

__all__ = ["Message", "Prompt", "Repair", "prompts_digest", "render"]

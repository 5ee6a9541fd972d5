"""Prompts as values, and the prose templates that turn them into messages."""

from rubriclab.prompts.prompt import Prompt, Repair
from rubriclab.prompts.render import Message, Turn, prompts_digest, render, render_turns

__all__ = ["Message", "Prompt", "Repair", "Turn", "prompts_digest", "render", "render_turns"]

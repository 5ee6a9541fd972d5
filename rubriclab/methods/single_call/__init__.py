"""The criteria of several methods in one call: about one text, or about several texts of one group."""

from rubriclab.methods.single_call.judge import judge_all, ratings_in
from rubriclab.methods.single_call.prompt import TEMPLATE, can_join, divided, joins, judge_prompt
from rubriclab.methods.single_call.rivals import (
    RIVALS_TEMPLATE,
    judge_rivals,
    rival_calls,
    rivals_key,
)

__all__ = [
    "RIVALS_TEMPLATE",
    "TEMPLATE",
    "can_join",
    "divided",
    "joins",
    "judge_all",
    "judge_prompt",
    "judge_rivals",
    "ratings_in",
    "rival_calls",
    "rivals_key",
]

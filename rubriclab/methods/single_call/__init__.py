"""The criteria of several methods in one call per text, which shows the text once."""

from rubriclab.methods.single_call.judge import estimate_single_call, judge_all
from rubriclab.methods.single_call.prompt import TEMPLATE, can_join, joins

__all__ = ["TEMPLATE", "can_join", "estimate_single_call", "joins", "judge_all"]

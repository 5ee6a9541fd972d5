"""Everything about a text in one call: the criteria of several methods, at the price of showing the text once."""

from rubriclab.methods.single_call.judge import at_most, judge_all
from rubriclab.methods.single_call.prompt import TEMPLATE, can_join, joins

__all__ = ["TEMPLATE", "at_most", "can_join", "joins", "judge_all"]

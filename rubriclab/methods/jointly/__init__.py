"""Everything about a text in one call: the criteria of several methods, at the price of showing the text once."""

from rubriclab.methods.jointly.estimate import at_most
from rubriclab.methods.jointly.judge import judge_all
from rubriclab.methods.jointly.prompt import TEMPLATE, can_join, joins

__all__ = ["TEMPLATE", "at_most", "can_join", "joins", "judge_all"]

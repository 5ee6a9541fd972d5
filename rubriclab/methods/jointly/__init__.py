"""Everything about a text in one call: the criteria of several methods, at the price of showing the text once."""

from rubriclab.methods.jointly.estimate import at_most
from rubriclab.methods.jointly.judge import judge_all
from rubriclab.methods.jointly.prompt import JOINABLE, TEMPLATE, can_join

__all__ = ["JOINABLE", "TEMPLATE", "at_most", "can_join", "judge_all"]

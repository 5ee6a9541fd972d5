"""Transfer: what a rubric is worth on other texts or with another judge, and what to do about it."""

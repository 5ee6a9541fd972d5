"""A rubric as a service: scores over HTTP."""

"""A rubric that a person edits: criteria, limits of weights and the definition."""

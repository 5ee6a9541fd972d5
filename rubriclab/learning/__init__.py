"""Labelled texts to a rubric with its provenance, and what is done with rubrics; see docs/architecture.md."""

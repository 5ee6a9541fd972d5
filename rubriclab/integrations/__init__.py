"""Scoring inside other frameworks; each module needs the extra of the same name."""

"""Judges answer prompts. Judges wrap judges; `connect` builds the usual stack."""

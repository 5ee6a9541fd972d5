"""Judges answer prompts. Judges wrap judges; `rubriclab.judges.connect` builds the usual stack."""

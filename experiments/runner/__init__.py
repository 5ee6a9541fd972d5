"""Runs studies and measurements: cases, results and summaries."""

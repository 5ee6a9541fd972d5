"""Runs studies and measurements: cases, designs, results and summaries."""

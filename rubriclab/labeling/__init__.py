"""Ratings that people give on a page: order of texts, history, progress, agreement."""

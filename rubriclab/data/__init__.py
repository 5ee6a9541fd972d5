"""Examples, aspects and scales; readers of files and tables; checks of training data."""

"""Public sets with human ratings, read from the very files that their authors publish.

One module for each set says what its file looks like and what becomes of it. No text of any set ships with rubriclab.
"""

from experiments.datasets.registry import PUBLISHED, PublishedSet, read_published
from experiments.datasets.rows import native_row

__all__ = ["PUBLISHED", "PublishedSet", "native_row", "read_published"]

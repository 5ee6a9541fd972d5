"""Public sets with human ratings, read from the files that their authors publish. No text of any set is included."""

from experiments.datasets.published import PUBLISHED, native_row, read_published

__all__ = ["PUBLISHED", "native_row", "read_published"]

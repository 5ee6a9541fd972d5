"""Examples, aspects and scales; readers of files and tables; checks of training data."""

from rubriclab.data.annotations import PairwiseComparison
from rubriclab.data.check import Training, training_examples
from rubriclab.data.mapping import FieldMap, parse_mapping
from rubriclab.data.readers import Rows, from_rows, read
from rubriclab.data.rows import RowError
from rubriclab.models.text import (
    Aspect,
    Assignment,
    Example,
    Scale,
    TaskWords,
    data_digest,
    find_aspect,
    labelled,
    parse_scale,
    scale_of,
    split_by_group,
    task_words,
)

__all__ = [
    "Aspect",
    "Assignment",
    "Example",
    "FieldMap",
    "PairwiseComparison",
    "RowError",
    "Rows",
    "Scale",
    "TaskWords",
    "Training",
    "data_digest",
    "find_aspect",
    "from_rows",
    "labelled",
    "parse_mapping",
    "parse_scale",
    "read",
    "scale_of",
    "split_by_group",
    "task_words",
    "training_examples",
]

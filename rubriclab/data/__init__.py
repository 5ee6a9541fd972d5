"""Examples, aspects and scales; readers of files and tables; checks of training data."""

from rubriclab.data.aspect import Aspect, Assignment, TaskWords, find_aspect, task_words
from rubriclab.data.check import Training, training_examples
from rubriclab.data.comparisons import PairwiseComparison
from rubriclab.data.example import Example, data_digest, labelled, split_by_group
from rubriclab.data.mapping import FieldMap, parse_mapping
from rubriclab.data.readers import Rows, from_rows, read
from rubriclab.data.row import RowError
from rubriclab.data.scale import Scale, parse_scale, scale_of

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

"""The planted version with its ratings, and what labels select of it in each fold: computed once."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_samples import examples

from rubriclab.ops.edits import FoldSelection, RatedRubric, rated_rubric, select_in_folds
from rubriclab.store.store import open_store


@pytest.fixture(scope="session")
def rated(planted_store: Path) -> RatedRubric:
    """The rubric of `planted@1` with its ratings."""
    with open_store(planted_store) as store:
        version, record = store.load("planted"), store.training("planted@1")
    assert record
    return rated_rubric(version.rubric, version.provenance, examples(), record.candidates, record.cells)


@pytest.fixture(scope="session")
def selection(rated: RatedRubric) -> FoldSelection:
    """What labels select in each fold."""
    return select_in_folds(rated)

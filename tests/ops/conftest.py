"""The planted version with its ratings, and what labels select of it in each fold: computed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubriclab.ops.edit import FoldSelection, RatedRubric, editable_version, select_in_folds
from rubriclab.ops.options import EditOptions
from rubriclab.ops.workspace import Workspace


@pytest.fixture(scope="session")
def rated(planted_store: Path) -> RatedRubric:
    with Workspace(planted_store) as workspace:
        return editable_version(workspace, "planted", EditOptions()).rated


@pytest.fixture(scope="session")
def selection(rated: RatedRubric) -> FoldSelection:
    return select_in_folds(rated)

"""MLflow (`pip install 'rubriclab[mlflow]'`): a scorer for evaluations, and versions in runs and in the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubriclab.lazy_names import home_of, lazy_getattr

if TYPE_CHECKING:
    from rubriclab.integrations.mlflow.scorer import (
        MLflowScorer as MLflowScorer,
        row_of as row_of,
        rubric_scorer as rubric_scorer,
    )
    from rubriclab.integrations.mlflow.versions import (
        LoggedVersion as LoggedVersion,
        load_version as load_version,
        log_version as log_version,
    )

_HOME_OF = home_of(
    {
        "integrations.mlflow.scorer": ("MLflowScorer", "row_of", "rubric_scorer"),
        "integrations.mlflow.versions": ("LoggedVersion", "load_version", "log_version"),
    }
)

__all__ = [*_HOME_OF]

# Hidden from type checkers, which would take any name for one of the package.
if not TYPE_CHECKING:
    __getattr__ = lazy_getattr(__name__, _HOME_OF)

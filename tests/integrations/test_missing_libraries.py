"""An integration whose library is not installed names the extra that installs it."""

from __future__ import annotations

import importlib
import sys

import pytest

from rubriclab.errors import UserError


@pytest.mark.parametrize(
    ("module", "name", "library", "extra"),
    [
        ("deepeval", "RubricMetric", "deepeval", "deepeval"),
        ("inspect_ai", "rubric_scorer", "inspect_ai", "inspect-ai"),
        ("langfuse", "LangfuseEvaluator", "langfuse", "langfuse"),
        ("langsmith", "LangSmithEvaluator", "langsmith", "langsmith"),
        ("mcp", "RubricTools", "mcp", "mcp"),
        ("mlflow", "MLflowScorer", "mlflow", "mlflow"),
        ("phoenix", "PhoenixEvaluator", "phoenix", "phoenix"),
        ("weave", "WeaveScorer", "weave", "weave"),
    ],
)
def test_the_error_names_the_extra(
    module: str, name: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"rubriclab.integrations.{module}"
    for loaded in [each for each in sys.modules if each.partition(".")[0] == library or each.startswith(package)]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UserError, match=rf"pip install 'rubriclab\[{extra}\]'"):
        getattr(importlib.import_module(package), name)

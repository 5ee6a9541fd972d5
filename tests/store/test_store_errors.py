"""What the errors of stores and packs tell."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rubriclab
from rubriclab import errors

PACKAGE = Path(str(rubriclab.__file__)).parent
KINDS = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.StoreError | errors.PackError)
}
PLACES = [*sorted((PACKAGE / "store").rglob("*.py")), PACKAGE / "services" / "versions.py"]


@pytest.mark.parametrize("path", PLACES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_error_of_the_store_says_what_to_do(path: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    raised = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in KINDS]
    assert [ast.unparse(call) for call in raised if len(call.args) < 2] == []

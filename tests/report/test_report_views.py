"""The view of each result."""

from __future__ import annotations

import importlib
import pkgutil

import rubriclab
from rubriclab.display import Displayed
from rubriclab.report import TEMPLATES, VIEWS


def test_every_result_has_a_view_and_every_view_a_function() -> None:
    for package in ("learning", "models", "ops", "store"):
        for module in pkgutil.iter_modules([f"{rubriclab.__path__[0]}/{package}"], f"rubriclab.{package}."):
            importlib.import_module(module.name)
    results = {result for result in Displayed.__subclasses__() if result.__module__.startswith("rubriclab.")}
    # A result without a template of its own is shown by its lines.
    in_lines = {result.__name__ for result in results if hasattr(result, "lines")} - TEMPLATES.keys() - VIEWS.keys()
    assert {result.__name__ for result in results} == TEMPLATES.keys() | VIEWS.keys() | in_lines
    for module_name, function in VIEWS.values():
        assert callable(getattr(importlib.import_module(f"rubriclab.report.{module_name}"), function))

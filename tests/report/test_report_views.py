"""The view of each result."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from functools import partial

import view_samples
from report_samples import joint_trust, joint_version

import rubriclab
from rubriclab import Lab
from rubriclab.display import Displayed, python_call
from rubriclab.models.evaluation import GateVerdict
from rubriclab.report import TEMPLATES, VIEWS
from rubriclab.report.rubrics import learned_view
from rubriclab.stats.intervals import Interval


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


def test_python_shows_every_command_as_a_call_that_lab_accepts() -> None:
    assert "Settings and digests: `lab.report` shows them." in str(joint_version())
    methods = set[str]()
    few = GateVerdict(against="word count", outcome="inconclusive", difference=Interval(0.1), few_groups=3)
    undecided = joint_version(validation=joint_trust(verdicts=(few,)))
    for sample in (*view_samples.VIEWS.values(), *view_samples.PAGES.values(), partial(learned_view, undecided)):
        view = sample().with_commands_rewritten_by(python_call)
        assert not [word for word in str(view).split() if word == "`rubriclab" or word.lstrip("(`").startswith("--")]
        for code in view.tree.iter("code"):
            for call in ast.walk(ast.parse(str(code.text))):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                    options = {str(option.arg): option.value for option in call.keywords}
                    inspect.signature(getattr(Lab, call.func.attr)).bind("lab", *call.args, **options)
                    methods.add(call.func.attr)
    assert methods >= {"evaluate", "learn", "score", "transfer"}

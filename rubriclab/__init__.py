"""Learns what human raters reward from about thirty labels, writes it down as a rubric, and scores texts with it.

The names below are the public ones; each is imported when it is first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# An application decides where log messages go.
logging.getLogger(__name__).addHandler(logging.NullHandler())

if TYPE_CHECKING:
    from rubriclab.data import (
        Aspect,
        Assignment,
        Example,
        Scale,
        find_aspect,
        from_rows,
        parse_scale,
        read,
        split_by_group,
        task_words,
        training_examples,
    )
    from rubriclab.errors import RubriclabError
    from rubriclab.evaluation import Evaluator, evaluate, floors
    from rubriclab.judges import FakeJudge, JudgeOptions, Ledger, connect
    from rubriclab.learning import train
    from rubriclab.literature import load_findings
    from rubriclab.methods.catalogue import METHODS
    from rubriclab.methods.hypoeval import HypoEvalSettings
    from rubriclab.methods.method import TrainingInput
    from rubriclab.revision import Improvement, ImproveSettings, improve_stream, improve_text
    from rubriclab.rubric import Rubric
    from rubriclab.scoring import Score, score_stream, score_text
    from rubriclab.store import open_store

_HOMES = {
    "data": (
        "Aspect",
        "Assignment",
        "Example",
        "Scale",
        "find_aspect",
        "from_rows",
        "parse_scale",
        "read",
        "split_by_group",
        "task_words",
        "training_examples",
    ),
    "errors": ("RubriclabError",),
    "evaluation": ("Evaluator", "evaluate", "floors"),
    "revision": ("ImproveSettings", "Improvement", "improve_stream", "improve_text"),
    "judges": ("FakeJudge", "JudgeOptions", "Ledger", "connect"),
    "learning": ("train",),
    "literature": ("load_findings",),
    "methods.catalogue": ("METHODS",),
    "methods.hypoeval": ("HypoEvalSettings",),
    "methods.method": ("TrainingInput",),
    "rubric": ("Rubric",),
    "scoring": ("Score", "score_stream", "score_text"),
    "store": ("open_store",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*_HOME_OF]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

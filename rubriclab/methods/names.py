"""What the methods are called; apart from them, so that the command line knows the names without loading any."""

from __future__ import annotations

from typing import Literal, get_args

MethodName = Literal["hypoeval", "checkeval", "seeval", "seal", "dcr", "direct", "few_shot", "geval", "analyze_rate"]
BaselineName = Literal["direct", "few_shot", "geval", "analyze_rate"]

METHOD_NAMES: tuple[str, ...] = get_args(MethodName)
BASELINE_NAMES: tuple[str, ...] = get_args(BaselineName)

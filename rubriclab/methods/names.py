"""What the methods are called; apart from them, so that the command line knows the names without loading any."""

from __future__ import annotations

from typing import Literal, get_args

MethodName = Literal["hypoeval", "checkeval", "seeval", "seal", "dcr", "direct", "few_shot", "geval", "analyze_rate"]
# What a part of a rubric may come from: `surface` costs nothing, and is no way to evaluate on its own.
PartName = Literal[MethodName, "surface"]
BaselineName = Literal["direct", "few_shot", "geval", "analyze_rate"]

METHOD_NAMES: tuple[str, ...] = get_args(MethodName)
# What a rubric is learned by unless the user says otherwise.
JOINT_METHODS: tuple[MethodName, ...] = ("hypoeval", "checkeval", "seeval", "direct")
# The methods and the training phase as a whole: whatever has hyperparameters.
SETTINGS_NAMES: tuple[str, ...] = (*METHOD_NAMES, "joint")
BASELINE_NAMES: tuple[str, ...] = get_args(BaselineName)

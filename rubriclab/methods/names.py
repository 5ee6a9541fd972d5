"""The names of the built-in methods, without importing any: the command line needs them for its help."""

from __future__ import annotations

from collections.abc import Mapping

# Where each built-in method is, as `module:attribute`.
BUILT_IN: Mapping[str, str] = {
    "hypoeval": "rubriclab.methods.hypoeval:HYPOEVAL",
    "checkeval": "rubriclab.methods.checkeval:CHECKEVAL",
    "seeval": "rubriclab.methods.seeval:SEEVAL",
    "seal": "rubriclab.methods.seal:SEAL",
    "dcr": "rubriclab.methods.dcr:DCR",
    "direct": "rubriclab.methods.baselines:DIRECT",
    "few_shot": "rubriclab.methods.baselines:FEW_SHOT",
    "geval": "rubriclab.methods.baselines:GEVAL",
    "analyze_rate": "rubriclab.methods.baselines:ANALYZE_RATE",
    "text_features": "rubriclab.methods.text_features:TEXT_FEATURES",
}
# `text_features` costs nothing and can be part of a rubric, but is not an evaluator by itself.
METHOD_NAMES: tuple[str, ...] = tuple(name for name in BUILT_IN if name != "text_features")
BASELINE_NAMES: tuple[str, ...] = ("direct", "few_shot", "geval", "analyze_rate")
# The methods of a rubric unless the user chooses others.
DEFAULT_METHODS: tuple[str, ...] = ("hypoeval", "checkeval", "seeval", "direct")
# The name of joint training as a whole, which has settings too.
JOINT = "joint"


def has_settings(name: str) -> bool:
    """Return whether `name` is joint training or a method, built in or offered by an installed package."""
    if name == JOINT or name in METHOD_NAMES:
        return True
    from rubriclab.methods.catalogue import plug_in_names

    return name in plug_in_names()


def settings_names() -> tuple[str, ...]:
    """Return the names of whatever has settings, for messages."""
    from rubriclab.methods.catalogue import plug_in_names

    return (*METHOD_NAMES, *plug_in_names(), JOINT)

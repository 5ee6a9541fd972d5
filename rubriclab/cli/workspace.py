"""What a command's options say, as a service takes it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rubriclab.base_options import Options
    from rubriclab.services.workspace import Workspace

OptionsT = TypeVar("OptionsT", bound="Options")


def workspace_of(values: Mapping[str, Any]) -> Workspace:
    """Return the workspace that the options of a command say."""

    from rubriclab.cli.printing import note
    from rubriclab.judges.options import JudgeOptions
    from rubriclab.progress import regular_lines, terminal_bar
    from rubriclab.services.settings import parse_settings
    from rubriclab.services.workspace import Workspace, judge_options

    record = values.get("record")
    return Workspace(
        values["store"],
        judge_options({name: values.get(name) for name in JudgeOptions.model_fields}),
        notify=note,
        progress=terminal_bar if sys.stderr.isatty() else regular_lines,
        record=Path(record) if record else None,
        settings=parse_settings(values.get("configured") or ()),
    )


def options_of(model: type[OptionsT], values: Mapping[str, Any]) -> OptionsT:
    """Return the options of a service; `--set` pairs become tables."""
    from rubriclab.services.settings import parse_settings

    pairs = values.get("settings")
    return model.given({**values, "settings": parse_settings(pairs)} if pairs else {**values, "settings": None})

"""Classes of options that several commands share and no operation has, such as `--json`."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from rubriclab.base_options import JUDGING, STORE_AND_OUTPUT, CliForm, ConfigMaySet, Options
from rubriclab.data.write import OUTPUT_HELP

OutputPath = Annotated[str | None, CliForm(metavar="PATH", path_kind="output")]


class StoreOption(Options):
    section: ClassVar[str] = STORE_AND_OUTPUT

    store: Annotated[str | None, CliForm(metavar="PATH|URL", path_kind="store")] = None
    """The database of versions and cached answers: an SQLite file or any SQLAlchemy URL."""


class JsonOption(Options):
    section: ClassVar[str] = STORE_AND_OUTPUT
    config_may_set: ClassVar[ConfigMaySet] = "always"

    as_json: Annotated[bool, CliForm("--json")] = False
    """Print machine-readable results."""


class StoreAndJsonOptions(JsonOption, StoreOption):
    """`--store` and `--json`, which every command on the store has."""


class RowsCsvOption(Options):
    section: ClassVar[str] = STORE_AND_OUTPUT

    csv: OutputPath = None
    """Also write the rows of the result as CSV."""


class ResultFilesOptions(Options):
    section: ClassVar[str] = STORE_AND_OUTPUT

    html: OutputPath = None
    """Also write the result as one HTML page."""

    markdown: OutputPath = None
    """Also write the result as Markdown, for a pull request."""

    csv: OutputPath = None
    """Also write the figures of the tables as CSV."""


class RecordOption(Options):
    section: ClassVar[str] = JUDGING

    record: OutputPath = None
    """Record every request digest and reply in this file, to be replayed by --judge recorded:PATH."""


class JudgeCommandOptions(RecordOption, StoreAndJsonOptions):
    """The options of every command that asks a judge."""

    dry_run: Annotated[bool, CliForm(section=STORE_AND_OUTPUT)] = False
    """Print an estimate of calls, tokens and cost; make no calls."""


class RubricOption(Options):
    rubric: Annotated[str, CliForm(metavar="REF")]
    """NAME (the newest), NAME@NUMBER or NAME@TAG."""


MainOutput = Annotated[str, CliForm("--output -o", metavar="PATH", path_kind="output", section=STORE_AND_OUTPUT)]


class LabelledOutput(Options):
    output: MainOutput = Field(description=OUTPUT_HELP.replace("the rows", "the labelled rows"))


class RowsOutput(Options):
    output: MainOutput = Field(default="-", description=f"{OUTPUT_HELP} Default: JSON Lines to standard output.")

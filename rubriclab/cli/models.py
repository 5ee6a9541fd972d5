"""The options that only the command line has, in the same form as those of operations; `Call` gives their values."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from rubriclab.base_options import JUDGING, STORED, Flag, FromFound, Options

OutputPath = Annotated[str | None, Flag(metavar="PATH", place="output")]
OutputFile = Annotated[str | None, Flag("--output -o", metavar="PATH", place="output")]
RowsPath = Annotated[str, Flag("--output -o", metavar="PATH", place="output", section=STORED)]
Ref = Annotated[str, Flag(metavar="REF")]


class StoreOption(Options):
    section: ClassVar[str] = STORED

    store: Annotated[str | None, Flag(metavar="PATH|URL", place="store")] = None
    """The database of versions and cached answers: an SQLite file or any SQLAlchemy URL."""


class JsonOption(Options):
    section: ClassVar[str] = STORED
    from_found: ClassVar[FromFound] = "always"

    as_json: Annotated[bool, Flag("--json")] = False
    """Print machine-readable results."""


class StoreJson(JsonOption, StoreOption):
    """What every command on the store takes."""


class RowsCsv(Options):
    section: ClassVar[str] = STORED

    csv: OutputPath = None
    """Also write the rows of the result as CSV."""


class Exports(Options):
    section: ClassVar[str] = STORED

    html: OutputPath = None
    """Also write the result as one HTML page."""

    markdown: OutputPath = None
    """Also write the result as Markdown, for a pull request."""

    csv: OutputPath = None
    """Also write the figures of the tables as CSV."""


class RecordOption(Options):
    section: ClassVar[str] = JUDGING

    record: OutputPath = None
    """Record every request digest and reply in this file, to be replayed by recorded:PATH."""


class Asking(RecordOption, StoreJson):
    """What every command that asks a judge takes."""

    dry_run: Annotated[bool, Flag(section=STORED)] = False
    """Print an estimate of calls, tokens and cost; make no calls."""


class RubricOption(Options):
    rubric: Ref
    """NAME (the newest), NAME@NUMBER or NAME@TAG."""


class RowsOutput(Options):
    output: RowsPath = "-"
    """Write the rows to this file: .jsonl, .csv, .tsv, .xlsx or .parquet. Default: JSON Lines to standard output."""


class SplitFlags(Options):
    output: Annotated[str | None, Flag("--output -o", metavar="PREFIX", place="input", section=STORED)] = None
    """Write PREFIX-train and PREFIX-heldout, in the format that PREFIX ends in. Default: the name of FILE."""


class DemoFlags(Options):
    sample_only: bool = False
    """Write the files of the sample, and run no command."""


class LearnFlags(Options):
    gate: bool = False
    """Exit with 1 if the rubric is no better than the baselines, 3 if inconclusive."""


class PlanFlags(Options):
    output: OutputFile = None
    """Write the rows to label to this file, with the reasons in `plan`; its name decides the format."""


class ScoreFlags(Options):
    rubric: Annotated[str | None, Flag(metavar="REF")] = None
    """NAME (the newest), NAME@NUMBER or NAME@TAG."""

    fail_under: Annotated[float | None, Flag(metavar="SCORE")] = None
    """Exit with 1 if the interval of the mean human score is below this, or 3 if it holds this or more than a tenth of
    the texts have no score. Without labels of learning, the mean score decides."""

    keep_replies: OutputPath = None
    """Write the replies that could not be used, and why, to this .jsonl file: a line for each text with a missing
    answer."""

    resume: Annotated[bool, Flag(section=STORED)] = False
    """Keep the rows that --output, a .jsonl file, has already, and score the texts after them."""


class ImproveFlags(Options):
    diff: OutputPath = None
    """Write the changes with their reasons to this file, as text; - for standard output."""


class EvaluateFlags(Options):
    rubrics: Annotated[tuple[str, ...], Flag("--rubric", metavar="REF")]
    """A rubric to evaluate; may be given several times."""


class CompareFlags(Options):
    details: bool = False
    """Show the criteria that changed and the texts that fell most, too."""


class DriftFlags(Options):
    anchor: Annotated[str | None, Flag(metavar="FILE", place="input")] = None
    """In place of TEXTS, labelled texts that REF scores again at each look; FILE.looks.json keeps the sums."""

    output: OutputFile = None
    """Write the texts that flip to this file, with all reasons, as JSON Lines."""

    write_all: Annotated[bool, Flag("--all")] = False
    """Write all texts to --output, not only those that flip."""


class TransferFlags(Options):
    target: Annotated[str, Flag("--to", metavar="PATH", place="input")]
    """Texts to transfer the rubric to, with or without labels."""


class StudioFlags(Options):
    port: Annotated[int | None, Flag(metavar="N")] = Field(default=None, ge=1, le=65535)
    """The port to serve at. Default: 8521, or any free port."""

    no_browser: Annotated[bool, Flag(from_found="always")] = False
    """Only print the address."""


class McpFlags(Options):
    allow_calls: Annotated[bool, Flag(section="")] = False
    """Let the assistant have a language model asked, up to --max-cost."""


class LabelFlags(Options):
    output: RowsPath
    """Write the labelled rows to this file: .jsonl, .csv, .tsv, .xlsx or .parquet."""


class TrustFlags(Options):
    revoke: Annotated[bool, Flag(from_found="never")] = False
    """Withdraw the confirmation instead."""


class TagFlags(Options):
    delete: Annotated[bool, Flag(from_found="never")] = False
    """Remove the tag instead."""

    force: Annotated[bool, Flag(from_found="never")] = False
    """Allow the tag production regardless of the gate."""


class ExportFlags(Options):
    output: Annotated[str, Flag("--output -o", metavar="PATH", place="output")] = "-"
    """The pack to write. Default: standard output."""

    anonymous: bool = False
    """Leave the names of raters and editors out."""


class ImportFlags(Options):
    name: Annotated[str | None, Flag("--as", metavar="NAME", from_found="never")] = None
    """The name to save it under. Default: the pack's own."""


class VerifyFlags(Options):
    repair: Annotated[bool, Flag(from_found="never")] = False
    """Remove damaged cached answers; their prompts are sent again when needed."""


class ShowFlags(Options):
    evidence: Annotated[bool, Flag(from_found="always")] = False
    """Also show the origin of each criterion, and dropped criteria with reasons."""

    matrix: Annotated[bool, Flag(from_found="always")] = False
    """Show the rating of each labelled text by each candidate criterion instead."""

    output: OutputFile = None
    """Write the matrix with all reasons to this file, a row for each text and criterion."""


class ReportFlags(Options):
    output: Annotated[str, Flag("--output -o --html", metavar="PATH", place="output")] = "-"
    """The page to write. Default: standard output."""

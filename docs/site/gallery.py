"""The reports of the gallery, made by the commands of `rubriclab demo` and one more, in the folder of the argument."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from rubriclab.cli.commands import (
    DEMO_ASPECT as RUBRIC,  # the first rubric of the demonstration is named after its aspect
    DEMO_STORE,
)
from rubriclab.cli.main import run
from rubriclab.ops.check import HELDOUT, RECORDING

TRANSFER = "transfer.html"
PICTURES = sorted(Path(__file__).parents[1].glob("report*.png"))


@dataclass(frozen=True)
class Report:
    file: str
    title: str
    text: str


REPORTS = (
    Report(
        "rubric.html",
        "A learned rubric",
        "`rubriclab report`: verdict, criteria, weights, calibration and labelled texts.",
    ),
    Report(
        "evaluation.html",
        "Agreement on held-out labels",
        "`rubriclab evaluate --html`: correlations with intervals, beside the baselines.",
    ),
    Report(
        "pass-fail.html", "A rubric of pass and fail", "The same command for the same summaries, labelled pass or fail."
    ),
    Report(
        TRANSFER, "A rubric on other texts", "`rubriclab transfer --html`: agreement there, as it is and recalibrated."
    ),
)


def make(folder: Path) -> None:
    """Run the demonstration and a command that it leaves out; write the reports and a first page to `folder`.

    Raises:
        SystemExit: if a command fails, or a report is missing.
    """
    demo, reports = folder.with_name("demo"), folder / "gallery"
    for name in [name for name in os.environ if name.startswith("RUBRICLAB_")]:
        del os.environ[name]
    options = ("--no-relearn", "--html", TRANSFER, "--judge", f"recorded:{RECORDING}", "--store", DEMO_STORE)
    if code := run(["demo", str(demo)]):
        raise SystemExit(code)
    with chdir(demo):
        if code := run(["transfer", RUBRIC, "--to", HELDOUT, *options]):
            raise SystemExit(code)
    if missing := [report.file for report in REPORTS if not (demo / report.file).exists()]:
        raise SystemExit(f"the demonstration did not write {', '.join(missing)}: see its output above")
    reports.mkdir()
    for report in REPORTS:
        shutil.copy(demo / report.file, reports)
    # README.md has them in HTML, one for light and one for dark; Sphinx copies only pictures of Markdown.
    (folder / "docs").mkdir()
    for picture in PICTURES:
        shutil.copy(picture, folder / "docs")
    (folder / "index.html").write_text(
        '<!doctype html><meta charset="utf-8"><title>rubriclab</title>'
        '<meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">rubriclab</a>\n',
        "utf-8",
    )


def previews() -> str:
    """Return a section for each report, with a preview and a link, as Markdown for the page `docs/gallery.md`."""
    return "\n\n".join(
        f'## {report.title}\n\n{report.text}\n\n<p><a href="../gallery/{report.file}">Open the report</a></p>\n\n'
        f'<iframe class="report" src="../gallery/{report.file}" title="{report.title}" loading="lazy"></iframe>'
        for report in REPORTS
    )


if __name__ == "__main__":
    made = Path(sys.argv[1]).resolve()
    made.mkdir(parents=True)
    make(made)

"""The reports of the gallery, made by the commands of the demonstration: `python docs/site/gallery.py FOLDER`."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from navigation import CHECKOUT

# An unfinished gallery has no such file.
COMPLETE = "complete"


@dataclass(frozen=True)
class Report:
    file: str
    title: str
    text: str


REPORTS = (
    Report("rubric.html", "A learned rubric", "`rubriclab report`: verdict, criteria, weights, calibration and every labelled text. A language model answered."),
    Report("evaluation.html", "Agreement on held-out labels", "`rubriclab evaluate --html`: correlations with intervals, beside the baselines."),
    Report("rubric-offline.html", "A rubric by the offline judge", "The same command and labels as the first report, without a language model."),
    Report("evaluation-direct.html", "A rubric beside the same judge without one", "`rubriclab evaluate --baseline direct --html`, by the offline judge."),
    Report("transfer.html", "A rubric on other texts", "`rubriclab transfer --html`: agreement there, and what each action would change."),
)


def make(folder: Path) -> None:
    """Run the demonstration and the commands that it leaves out; write the reports and a first page to `folder`.

    Raises:
        SystemExit: if a command fails, or a report is missing.
    """
    sys.path.insert(0, str(CHECKOUT))
    os.chdir(CHECKOUT)
    from experiments.demo import HELDOUT, OFFLINE, demonstrate

    reports = folder / "gallery"
    if code := demonstrate(reports):
        raise SystemExit(code)
    offline = ("--judge", "embedded", "--store", str(reports / "store.db"))
    for command in (
        ("evaluate", str(HELDOUT), "--rubric", OFFLINE, "--baseline", "direct", "--html", str(reports / "evaluation-direct.html")),
        ("transfer", OFFLINE, "--to", str(HELDOUT), "--no-relearn", "--html", str(reports / "transfer.html")),
    ):
        subprocess.run([sys.executable, "-m", "rubriclab", *command, *offline], check=True)
    for file in reports.iterdir():
        if file.name not in {report.file for report in REPORTS}:
            file.unlink()
    if missing := [report.file for report in REPORTS if not (reports / report.file).exists()]:
        raise SystemExit(f"the demonstration did not write {', '.join(missing)}: see its output above")
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
    make(Path(sys.argv[1]).resolve())

"""A paper of three pages as text."""

from __future__ import annotations

from pathlib import Path

TITLE_PAGE = """What Raters Reward
Anna Lind and Per Berg
TACL, 2021

Abstract. We asked forty people to score news summaries."""
RESULTS = """Results. In this study the raters marked down sum-
maries whose sentences stood in no order that they could follow (p < 0.05).
On SummEval, the raters did not reward length in 45.2% of all cases."""
REFERENCES_PAGE = "References. Chin-Yew Lin. 2004. ROUGE: A package for automatic evaluation of summaries."


def write_paper(folder: Path) -> Path:
    """Write the paper as the text file `paper.txt`, a form feed after each page."""
    (folder / "paper.txt").write_text(
        "".join(f"{page}\n\f" for page in (TITLE_PAGE, RESULTS, REFERENCES_PAGE)), "utf-8"
    )
    return folder / "paper.txt"

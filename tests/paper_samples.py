"""A paper of three pages as text, and how it is cited."""

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
PAGES = (TITLE_PAGE, RESULTS, REFERENCES_PAGE)
BIB = """@article{Lind_2021,
  title={{What Raters Reward}}, volume="9", month=apr, year=2021, DOI={10.1000/x},
  journal={Transactions of the {ACL}}, author={Lind, Anna and Kry{\\'s}ci{\\'n}ski, Wojciech}, pages={1--12} }
"""


def write_paper(folder: Path, name: str = "paper.txt") -> Path:
    """Write the paper as a text file, a form feed after each page, and `paper.bib` beside it."""
    (folder / name).write_text("".join(f"{page}\n\f" for page in PAGES), "utf-8")
    (folder / "paper.bib").write_text(BIB, "utf-8")
    return folder / name

"""How a paper is cited is taken from its own first pages, whole word for whole word."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rubriclab.errors import LiteratureError
from rubriclab.judges import FakeJudge
from rubriclab.literature import Reference
from rubriclab.papers.citation import read_citation
from rubriclab.papers.paper import Paper, PaperPage

PAGE = """arXiv:2012.03456v1 [cs.CL]
W HAT R ATERS R EWARD
Anna Lind and Wojciech Kry´sci´nski and Wei Li and J. van der Berg
Transactions of the Association for
Computational Linguistics (TACL, 2021)

Abstract. Listing metrics is common (Lin, 2004; Gao et al., 2018), as Fabbri et al. (2020) and Chen (2017) did in EMNLP
(Findings, Novikova et al., 2016), while quality is judged by hand.

References
Zoe Doe. 2009. A paper. In NAACL."""
READ = {
    "title": "What Raters Reward",
    "authors": ["Lind, Anna", "Kryściński, Wojciech", "Li, Wei", "van der Berg, J."],
    "year": 2021,
    "venue": "TACL",
}


def citation(page: str = PAGE, **read: Any) -> Reference:
    """Return how a page is cited, as a model read it."""
    judge = FakeJudge(lambda _: json.dumps({**READ, **read}))
    return asyncio.run(read_citation(Paper("p.pdf", (PaperPage(1, page),), True), judge))


def test_words_are_found_whatever_small_capitals_accents_and_line_ends_do() -> None:
    read = citation(venue="Transactions of the Association for Computational Linguistics")
    assert read.authors == ("Lind, Anna", "Kryściński, Wojciech", "Li, Wei", "van der Berg, J.")
    assert (read.title, read.year) == ("What Raters Reward", 2021)
    assert citation(venue="arXiv").venue == "arXiv"


def test_given_names_that_the_pages_do_not_state_are_left_out() -> None:
    assert citation(authors=["Lind, Anna Maria", "van der Berg, Jan"]).authors == ("Lind, Anna", "van der Berg")


@pytest.mark.parametrize(
    ("read", "missing"),
    [
        ({"venue": "ACL"}, "venue"),
        ({"venue": "NAACL"}, "venue"),
        ({"venue": "Computational"}, ""),
        ({"venue": "Association for Linguistics"}, "venue"),
        ({"venue": ""}, "venue"),
        ({"year": 2004}, "year"),
        ({"year": 2009}, "year"),
        ({"year": 2012}, "year"),
        ({"year": 2016}, "year"),
        ({"year": 2017}, "year"),
        ({"year": 2018}, "year"),
        ({"year": 2020}, "year"),
        ({"year": None}, "year"),
        ({"authors": ["Ling, A."]}, "authors"),
        ({"authors": ["Lin, C."]}, "authors"),
        ({"authors": ["Ata, R."]}, "authors"),
        ({"authors": ["Lind, Anna", "Doe, Zoe"]}, "authors"),
        ({"authors": []}, "authors"),
        ({"title": "What Raters Rew"}, "title"),
        ({"title": "What Raters"}, ""),
        ({"title": "What Raters Rewarded"}, "title"),
        ({"title": "Reward What Raters"}, "title"),
    ],
)
def test_what_the_pages_state_only_of_other_work_or_inside_other_words_is_not_found(
    read: dict[str, Any], missing: str
) -> None:
    if not missing:
        citation(**read)
        return
    with pytest.raises(LiteratureError, match=f"not found: {missing}[.] Give its BibTeX entry"):
        citation(**read)

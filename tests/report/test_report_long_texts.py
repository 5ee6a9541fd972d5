"""A version with a text of 10 MB, as a store may hold from before there were limits."""

from __future__ import annotations

import time

from report_samples import version

from rubriclab.models.version import Version
from rubriclab.report.results import difference_view, log_view, names_view
from rubriclab.report.rubrics import evidence_view, training_report
from rubriclab.report.wording import LONGEST_SHOWN
from rubriclab.store import compare

LENGTH = 10_000_000


def long_version(words: str) -> Version:
    """Return the sample version with the words as the statement of its first criterion and as its definition."""
    from dataclasses import replace

    made = version()
    part = made.rubric.parts[0]
    first = part.criteria[0].model_copy(update={"statement": words})
    part = part.model_copy(update={"criteria": (first, *part.criteria[1:])})
    aspect = made.rubric.aspect.model_copy(update={"definition": words})
    return replace(made, rubric=made.rubric.model_copy(update={"parts": (part,), "aspect": aspect}), digest="sha256:1")


def test_every_view_of_a_huge_text_is_cut_and_says_how_to_see_the_rest() -> None:
    # A bound that only work beyond linear exceeds: uncut, one of these took minutes.
    started = time.monotonic()
    one, other = long_version("word " * (LENGTH // 5)), long_version("other\n" * (LENGTH // 6))
    shown = [str(evidence_view(each)) for each in (one, other)]
    shown += [str(names_view([one])), str(log_view([one])), str(difference_view(compare(one, other)))]
    assert time.monotonic() - started < 60
    assert all(len(text) < 20 * LONGEST_SHOWN for text in shown)
    assert "more characters; `rubriclab export` writes all of them)" in " ".join(shown[0].split())


def test_a_page_of_a_huge_text_is_cut_and_says_how_to_see_the_rest() -> None:
    for words in ("word " * (LENGTH // 5), "other\n" * (LENGTH // 6)):
        page = training_report(long_version(words), None)
        assert len(page) < 30 * LONGEST_SHOWN
        assert "more characters; `rubriclab export` writes all of them)" in page

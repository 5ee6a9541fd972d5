"""Findings that a model proposes: none of them is lost without a reason."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rubriclab.data import task_words
from rubriclab.judges import FakeJudge
from rubriclab.papers import findings
from rubriclab.papers.findings import (
    MOST_FINDINGS,
    PaperReading,
    Subject,
    benchmark_name,
    findings_prompts,
    propose_findings,
    similar_benchmark,
)
from rubriclab.papers.paper import Paper, PaperPage
from rubriclab.papers.quotation import Passage, find_quotation
from rubriclab.prompts import render

PAPER = Paper("p.txt", (PaperPage(1, "In this study the raters liked short texts with many facts in them."),), True)
QUOTATION = "the raters liked short texts with many facts"


def entry(number: int, **fields: Any) -> dict[str, Any]:
    """Return an entry of a reply."""
    made = {"page": 1, "quotation": QUOTATION, "claim": f"Raters like {number} facts.", "aspects": [], "benchmarks": []}
    return {**made, **fields}


def reading(*entries: Mapping[str, Any]) -> PaperReading:
    """Return what is made of a reply with these entries."""
    judge = FakeJudge(lambda _: json.dumps({"reasoning": "They liked facts.", "findings": entries}))
    subject = Subject(task_words("summarization"), benchmarks=("summeval",))
    return asyncio.run(propose_findings(PAPER, subject, judge, tokens=8_000))


def test_the_event_loop_is_not_blocked_while_quotations_are_sought(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    def sought(quotation: str, pages: Sequence[PaperPage], page: int | None = None) -> Passage | None:
        threads.append(threading.current_thread())
        return find_quotation(quotation, pages, page)

    monkeypatch.setattr(findings, "find_quotation", sought)
    assert len(reading(entry(1), entry(2)).found) == 2
    assert len(threads) == 2
    assert threading.main_thread() not in threads


def test_the_prompt_names_a_kind_of_text_that_rubriclab_has_no_words_for() -> None:
    own, known = (
        str(render(findings_prompts(PAPER, Subject(task_words(task)), 8_000)[0]))
        for task in ("product review", "summarization")
    )
    assert "The texts are of this kind: product review." in own
    assert "holds for texts of this kind or for texts in general" in own
    assert "of this kind" not in known
    assert "holds for a summary or for texts in general" in known


def test_findings_beyond_the_number_asked_for_are_dropped_with_the_reason() -> None:
    read = reading(*map(entry, range(MOST_FINDINGS + 2)))
    assert len(read.found) == MOST_FINDINGS
    reason = "its part already has 6 findings"
    assert [(each.claim, each.page, each.reason) for each in read.dropped] == [
        ("Raters like 6 facts.", 1, reason),
        ("Raters like 7 facts.", 1, reason),
    ]


def test_entries_that_cannot_be_used_are_dropped_with_their_fault() -> None:
    read = reading(entry(1), entry(2, page="two"), {"claim": "Raters hate blue."}, entry(3, aspects=["wit"]))
    assert [each.claim for each in read.found] == ["Raters like 1 facts."]
    assert [(each.claim, each.page) for each in read.dropped] == [
        ("Raters like 2 facts.", None),
        ("Raters hate blue.", None),
        ("Raters like 3 facts.", 1),
    ]
    faults = [each.reason.removeprefix("its entry in the reply cannot be used, ") for each in read.dropped]
    assert faults[0].startswith("page: expected a whole number")
    assert faults[1].startswith("page: missing")
    assert "'wit' is none of the qualities asked about" in faults[2]


def test_a_finding_found_twice_carries_the_data_sets_of_both() -> None:
    read = reading(entry(1), entry(1, benchmarks=["SummEval"]), entry(1, benchmarks=["My Set"]))
    assert [each.benchmarks for each in read.found] == [("summeval", "my_set")]
    assert [each.reason for each in read.dropped] == ["it says the same as another one"] * 2


NAMES = ("summeval", "qags_cnndm", "qags_xsum", "corpus_of_data")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("SummEval", "summeval"),
        ("Summ-Eval", "summeval"),
        ("SummEval (Fabbri et al., 2021)", "summeval"),
        ("SummEval [12, 13]", "summeval"),
        ("the SummEval benchmark", "summeval"),
        ("QAGS (XSum)", "qags_xsum"),
        ("Corpus of Data", "corpus_of_data"),
        ("My Corpus (Berg, 2020a)", "my_corpus"),
        ("DUC (2004)", "duc_2004"),
        ("DUC (_ 2004)", "duc"),
        ("DUC (-, 2004)", "duc_2004"),
        ("DUC (Berg (2004)", "duc_berg_2004"),
        ("DUC (2 Berg 2004)", "duc_2_berg_2004"),
        ("SummEval 2", "summeval_2"),
    ],
)
def test_a_data_set_is_known_in_any_spelling_and_without_a_citation_after_it(written: str, name: str) -> None:
    assert benchmark_name(written, NAMES) == name


def test_a_long_name_of_a_data_set_takes_little_time() -> None:
    began = time.process_time()
    assert benchmark_name("(" + "a" * 50_000) == "a" * 50_000
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("sumeval", "summeval"),
        ("summeval_2", "summeval"),
        ("qags", "qags_xsum"),
        ("summeval_of_many_languages", "summeval"),
        ("hanna", None),
    ],
)
def test_a_name_that_is_misspelt_or_a_part_of_a_known_one_is_similar(name: str, similar: str | None) -> None:
    assert similar_benchmark(name, NAMES) == similar

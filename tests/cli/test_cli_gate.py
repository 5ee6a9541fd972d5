"""`rubriclab gate`, and what `rubriclab tag` makes of its verdict."""

from __future__ import annotations

from typing import Any

import pytest
from commands import Commands

from rubriclab.provenance import Effort
from rubriclab.stats.interval import Interval
from rubriclab.store import open_store
from rubriclab.validation import EvaluatorAgreement, GateVerdict, MoreLabels, Validation

DIFFERENCES = {"better": (0.21, 0.05, 0.38), "not better": (-0.1, -0.2, 0.01), "inconclusive": (0.1, -0.1, 0.3)}
BADGES = {"better": "BETTER than", "not better": "NOT BETTER than", "inconclusive": "INCONCLUSIVE compared with"}
CODES = {"better": 0, "not better": 1, "inconclusive": 3}


def validation(outcome: Any) -> Validation:
    def evaluator_agreement(name: str, kind: Any, value: float) -> EvaluatorAgreement:
        found = Interval(value, value - 0.2, value + 0.2)
        return EvaluatorAgreement(
            name=name, kind=kind, n=30, spearman=found, pearson=found, calls=3 if kind == "rubric" else 0
        )

    value, low, high = DIFFERENCES[outcome]
    more = MoreLabels(even=90, likely=240) if outcome == "inconclusive" else None
    difference = Interval(value, low, high)
    return Validation(
        level="dataset",
        n=30,
        groups=21,
        folds=10,
        training=evaluator_agreement("joint", "rubric", 0.7),
        evaluators=(evaluator_agreement("joint", "rubric", 0.5), evaluator_agreement("word count", "baseline", 0.29)),
        verdicts=(
            GateVerdict(against="word count", outcome=outcome, difference=difference, more_labels=more),
            GateVerdict(against="direct", outcome="better", difference=Interval(0.3, 0.1, 0.5)),
        ),
    )


@pytest.fixture
def gated(own: Commands) -> Commands:
    """The command line with a store of a rubric for each verdict: `better`, `not-better`, `inconclusive`."""
    with open_store(own.folder / "store.db") as store:
        known = store.load("news@1")
        for outcome in CODES:
            provenance = known.provenance.model_copy(update={"validation": validation(outcome)})
            store.save(outcome.replace(" ", "-"), known.rubric, provenance, Effort())
    return own


@pytest.mark.parametrize("outcome", CODES)
def test_the_exit_code_is_the_verdict(gated: Commands, outcome: str) -> None:
    name = outcome.replace(" ", "-")
    done = gated("gate", name)
    assert (done.code, done.err) == (CODES[outcome], "")
    words = " ".join(done.out.split())
    assert words.startswith(f"{name}@1 {BADGES[outcome]} word count With the judge embedded")
    assert f"the difference is {DIFFERENCES[outcome][0]:.2f} [" in words
    assert "direct 0.30 [0.10, 0.50]" in words
    assert "direct 0.30 [0.10, 0.50] better" not in words  # the first of many comparisons alone has an outcome
    assert "word count 0.29 [0.09, 0.49]" in words


def test_the_verdict_is_written_as_markdown_and_a_page_too(gated: Commands) -> None:
    done = gated("gate", "not-better", "--markdown", "gate.md", "--html", "gate.html")
    assert (done.code, done.err) == (1, "gate.html written\ngate.md written\n")
    written = (gated.folder / "gate.md").read_text("utf-8")
    assert "**not better** than word count" in written
    assert "| word count |" in written
    assert "word count" in (gated.folder / "gate.html").read_text("utf-8")


def test_a_version_of_one_method_has_no_gate(gated: Commands) -> None:
    done = gated("gate", "news@1")
    assert (done.code, done.out) == (2, "")
    assert done.error == (
        "news@1 was never compared with anything: it was made by one method. Learn it without --method, or with "
        "several, and the gate is part of learning."
    )


@pytest.mark.parametrize("name", ["not-better", "inconclusive"])
def test_production_is_refused_to_what_is_not_better(gated: Commands, name: str) -> None:
    done = gated("tag", name, "production")
    assert (done.code, done.out) == (1, "")
    assert done.error.startswith(f"{name}@1 stays without the tag production. ")
    assert done.error.endswith("on 30 held-out labels. To tag it all the same, use --force.")
    assert gated("show", f"{name}@production").code == 2


def test_production_can_be_forced_and_is_said_to_be(gated: Commands) -> None:
    done = gated("tag", "inconclusive", "production", "--force")
    assert (done.code, done.out) == (0, "inconclusive@1 is production\n")
    assert done.err.startswith("forced, whatever the gate says of inconclusive@1: Inconclusive against word count: ")


def test_what_is_better_becomes_production_without_a_word(gated: Commands) -> None:
    done = gated("tag", "better", "production")
    assert (done.code, done.out, done.err) == (0, "better@1 is production\n", "")


def test_a_version_without_a_gate_becomes_production_with_a_note(gated: Commands) -> None:
    done = gated("tag", "news@1", "production")
    assert (done.code, done.out) == (0, "news@1 is production\n")
    assert done.err == "news@1 never went through the gate: nothing shows it to be better than what costs nothing\n"


def test_other_tags_are_free_and_production_can_be_taken_away(gated: Commands) -> None:
    assert gated("tag", "not-better", "trial").code == 0
    assert gated("tag", "not-better", "production", "--force").code == 0
    assert gated("tag", "not-better", "production", "--delete").code == 0

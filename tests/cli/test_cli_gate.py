"""`rubriclab gate`, and what `rubriclab tag` makes of its verdict."""

from __future__ import annotations

from typing import Any

import pytest
from commands import Commands

from rubriclab.models.version import Effort, EvaluatorAgreement, GateVerdict, MoreLabels, ScoreErrors, Validation
from rubriclab.stats.intervals import Interval
from rubriclab.store.store import open_store

DIFFERENCES = {"better": (0.21, 0.05, 0.38), "not better": (-0.1, -0.2, 0.01), "inconclusive": (0.1, -0.1, 0.3)}
DIRECT_FIGURES = (
    "the same judge asked directly: mean absolute error 0.40 instead of 0.70 points (better), Pearson 0.50 instead of "
    "0.45 (inconclusive). The best free baseline is word count, Pearson 0.29 (difference "
)
STATED = {
    "better": f"Better than {DIRECT_FIGURES}0.21 [0.05, 0.38]: better).",
    "not better": (
        f"Not better than the best free baseline. Compared with {DIRECT_FIGURES}-0.10 [-0.20, 0.01]: not better)."
    ),
    "inconclusive": (
        f"Inconclusive compared with the best free baseline. Compared with {DIRECT_FIGURES}0.10 [-0.10, 0.30]: "
        "inconclusive)."
    ),
}
CODES = {"better": 0, "not better": 1, "inconclusive": 3}


def validation(outcome: Any) -> Validation:
    def evaluator_agreement(name: str, kind: Any, value: float, error: float | None = None) -> EvaluatorAgreement:
        found, calls = Interval(value, value - 0.2, value + 0.2), 3 if kind == "rubric" else 0
        errors = error and ScoreErrors(absolute=Interval(error, error - 0.1, error + 0.1), bias=0.1, near=0.9, point=1)
        return EvaluatorAgreement(
            name=name, kind=kind, n=30, spearman=found, pearson=found, calls=calls, errors=errors or None
        )

    value, low, high = DIFFERENCES[outcome]
    more = MoreLabels(even=90, likely=240) if outcome == "inconclusive" else None
    difference = Interval(value, low, high)
    direct = GateVerdict(
        against="direct",
        outcome="inconclusive",
        difference=Interval(0.05, -0.1, 0.2),
        error_outcome="better",
        less_error=Interval(0.3, 0.1, 0.5),
    )
    return Validation(
        level="dataset",
        n=30,
        groups=21,
        folds=10,
        training=evaluator_agreement("joint", "rubric", 0.7),
        evaluators=(
            evaluator_agreement("joint", "rubric", 0.5, 0.4),
            evaluator_agreement("direct", "judged", 0.45, 0.7),
            evaluator_agreement("word count", "baseline", 0.29),
        ),
        verdicts=(GateVerdict(against="word count", outcome=outcome, difference=difference, more_labels=more), direct),
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
    stated = outcome.upper() + STATED[outcome][len(outcome) :]
    assert words.startswith(f"{name}@1 {stated} With the judge embedded")
    assert "direct 0.05 [-0.10, 0.20] inconclusive 0.30 [0.10, 0.50] better" in words
    assert gated("gate", name, "--json").json["outcome"] == outcome
    assert "direct 0.45 0.70 +0.10 90 % 0 [0.25, 0.65] [0.60, 0.80]" in words
    assert "word count 0.29 0 [0.09, 0.49]" in words


def test_the_verdict_is_written_as_markdown_and_a_page_too(gated: Commands) -> None:
    done = gated("gate", "not-better", "--markdown", "gate.md", "--html", "gate.html")
    assert (done.code, done.err) == (1, "gate.html written\ngate.md written\n")
    written = (gated.folder / "gate.md").read_text("utf-8")
    assert "**not better** than the best free baseline" in written
    assert "| word count |" in written
    assert "word count" in (gated.folder / "gate.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["not-better", "inconclusive"])
def test_production_is_refused_to_what_is_not_better(gated: Commands, name: str) -> None:
    done = gated("tag", name, "production")
    assert (done.code, done.out) == (1, "")
    stated = STATED[name.replace("-", " ")]
    assert done.error == f"{name}@1 stays without the tag production. {stated} To tag it all the same, use --force."
    assert gated("show", f"{name}@production").code == 2


def test_production_can_be_forced_and_is_said_to_be(gated: Commands) -> None:
    done = gated("tag", "inconclusive", "production", "--force")
    assert (done.code, done.out) == (0, "inconclusive@1 is production\n")
    assert done.err == f"forced, whatever the gate says of inconclusive@1: {STATED['inconclusive']}\n"


def test_what_is_better_becomes_production_without_a_word(gated: Commands) -> None:
    done = gated("tag", "better", "production")
    assert (done.code, done.out, done.err) == (0, "better@1 is production\n", "")


def test_a_version_without_a_gate_becomes_production_with_a_note(gated: Commands) -> None:
    done = gated("tag", "news@1", "production")
    assert (done.code, done.out) == (0, "news@1 is production\n")
    assert done.err == "news@1 never went through the gate: nothing shows it to be better than the plain question\n"


def test_other_tags_are_free_and_production_can_be_taken_away(gated: Commands) -> None:
    assert gated("tag", "not-better", "trial").code == 0
    assert gated("tag", "not-better", "production", "--force").code == 0
    assert gated("tag", "not-better", "production", "--delete").code == 0

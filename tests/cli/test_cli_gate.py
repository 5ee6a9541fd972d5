"""`rubriclab gate`, and what `rubriclab tag` makes of its verdict."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from commands import LABELLED, Commands

from rubriclab.models.evaluation import EvaluationRecord, EvaluatorAgreement, GateVerdict, Validation
from rubriclab.models.version import EditOrigin, Effort
from rubriclab.report.rubrics import verdict
from rubriclab.report.wording import outcome as in_words
from rubriclab.stats.intervals import Interval
from rubriclab.store.store import open_store

DIFFERENCES = {
    "better": Interval(0.21, 0.05, 0.38),
    "worse": Interval(-0.1, -0.2, -0.05),
    "not better": Interval(-0.1, -0.2, 0.01),
    "inconclusive": Interval(0.1, -0.1, 0.3),
}
# Outcomes at learning and on other texts.
EVALUATED: Any = {"undone": ("better", "inconclusive"), "regained": ("worse", "better"), "alone": (None, "better")}


def validation(outcome: Any) -> Validation:
    found = Interval(0.5, 0.3, 0.7)
    rubric = EvaluatorAgreement(name="joint", kind="rubric", n=30, spearman=found, pearson=found, calls=3)
    words = EvaluatorAgreement(name="word count", kind="baseline", n=30, spearman=found, pearson=found, calls=0)
    difference = GateVerdict(against="word count", outcome=outcome, difference=DIFFERENCES[outcome])
    return Validation(
        level="dataset", n=30, groups=21, folds=10, training=rubric, evaluators=(rubric, words), verdicts=(difference,)
    )


@pytest.fixture
def gated(own: Commands) -> Commands:
    """The command line with a rubric for each verdict at learning, and those with one on other texts."""
    with open_store(own.folder / "store.db") as store:
        known = store.load("news@1")
        for outcome in DIFFERENCES:
            provenance = known.provenance.model_copy(update={"validation": validation(outcome)})
            store.save(outcome.replace(" ", "-"), known.rubric, provenance, Effort())
        update = {"validation": validation("better"), "edit": EditOrigin(author="a", because="b", changes=())}
        store.save("edited", known.rubric, known.provenance.model_copy(update=update), Effort())
        own_side: dict[str, Any] = {"judge": "j", "data": "d", "n": 72, "groups": 18, "compared_with_direct": True}
        for name, (before, after) in EVALUATED.items():
            against = GateVerdict(against="d@1", outcome=after, difference=DIFFERENCES[after])
            record = EvaluationRecord(created=datetime.now(UTC), level="group", verdict=against, **own_side)
            provenance = store.load(before or "news").provenance
            store.add_evaluation(store.save(name, known.rubric, provenance, Effort()), record)
    return own


def stated(commands: Commands, name: str) -> str:
    with open_store(commands.folder / "store.db") as store:
        version = store.load(name)
        return verdict(version, at_learning=version.outcome != "better")


@pytest.mark.parametrize(("outcome", "code"), [("better", 0), ("worse", 1), ("not better", 1), ("inconclusive", 3)])
def test_the_exit_code_is_the_verdict(gated: Commands, outcome: str, code: int) -> None:
    name = outcome.replace(" ", "-")
    done = gated("gate", name, "--markdown", "gate.md", "--html", "gate.html")
    assert (done.code, done.err) == (code, "gate.html written\ngate.md written\n")
    assert done.out.startswith(f"{name}@1")
    assert f"**{in_words(outcome)}**" in (gated.folder / "gate.md").read_text("utf-8").lower()
    assert "word count" in (gated.folder / "gate.html").read_text("utf-8")
    assert gated("gate", name, "--json").json["outcome"] == outcome
    scored = gated("score", "-", "--rubric", name, stdin=b'{"id": "x", "output": "It rained.", "source": "Rain."}')
    assert scored.err.splitlines()[-1] == f"verdict on {name}@1: {stated(gated, name)}"


@pytest.mark.parametrize(
    ("name", "code"), [("not-better", 1), ("inconclusive", 3), ("edited", 3), ("undone", 3), ("regained", 0)]
)
def test_production_is_refused_to_what_is_not_better_unless_forced(gated: Commands, name: str, code: int) -> None:
    refused = gated("tag", name, "production")
    assert (refused.code, refused.out) == (1, "")
    both = "This is the verdict {0}; production needs the verdicts {0} and {1} to be better"
    places = {"undone": ("on other texts", "at learning"), "regained": ("at learning", "on other texts")}
    says = ". ".join([stated(gated, name), *([both.format(*places[name])] if name in places else ())])
    assert refused.error == f"{name}@1 stays without the tag production. {says}. To tag it all the same, use --force."
    assert gated("show", f"{name}@production").code == 2
    forced = gated("tag", name, "production", "--force")
    assert (forced.code, forced.out) == (0, f"{name}@1 is production\n")
    assert forced.err == f"{name}@1 is tagged by --force in spite of this: {says}.\n"
    assert gated("tag", name, "trial").code == 0, "other tags are free"
    gate, counts = gated("gate", name, "--json"), "evaluation" if name in EVALUATED else "learning"
    figures = gate.json["evaluation"] if counts == "evaluation" else gate.json
    assert (figures["n"], "verdicts" in gate.json) == ((72, False) if counts == "evaluation" else (30, True))
    assert (gate.code, gate.json["counts"], gate.json["outcomes"][counts]) == (code, counts, gate.json["outcome"])
    assert gated("export", name, "--output", "pack.json", "--anonymous").code == 0
    assert (gated("import", "pack.json", "--as", "shared").code, gated("gate", "shared").code) == (0, code)
    better = gated("tag", "better", "production")
    assert (better.code, better.err) == (0, "")


def test_an_evaluated_method_has_a_gate_unless_it_is_a_baseline(gated: Commands) -> None:
    gate = gated("gate", "alone", "--json")
    assert (gate.code, gate.json["outcomes"]) == (0, {"learning": None, "evaluation": "better"})
    assert gated("tag", "alone", "production").code == 0
    aspect = ("--task", "summarization", "--aspect", "coherence")
    assert gated("learn", LABELLED, *aspect, "--method", "direct", "--name", "d").code == 0
    with open_store(gated.folder / "store.db") as store:
        store.add_evaluation(store.load("d"), store.load("alone").evaluation)
    why = "d@1 is by the baseline method direct: others are compared with it, so it has no gate"
    assert gated("gate", "d").error == f"{why}. Measure it: `rubriclab evaluate OTHER_LABELLED --rubric d@1`"
    stays = f"d@1 stays without the tag production. {why}. To tag it all the same, use --force."
    assert (gated("tag", "d", "production").error, gated("tag", "d", "production").code) == (stays, 1)

"""The training that a transfer compares with learns from what the version was learned from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from drift_samples import COHERENCE, ONE_TO_FIVE, version

from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.methods.sources import load_findings
from rubriclab.ops.transfer import TargetTexts, training_like
from rubriclab.ops.workspace import Workspace


@pytest.mark.parametrize("without", [(), ("summeval",)])
def test_findings_that_a_version_was_learned_without_are_left_out_when_it_is_learned_again(
    without: tuple[str, ...],
) -> None:
    learned = version({"order": 1.0})
    settings = {"hypoeval": HypoEvalSettings().model_dump(mode="json")}
    provenance = learned.provenance.model_copy(update={"settings": settings, "literature_without": without})
    target = TargetTexts("target.jsonl", (), (), COHERENCE, ONE_TO_FIVE)
    training = training_like(replace(learned, provenance=provenance), target, Workspace())
    assert training
    findings = training.plans[0].training_input.findings
    marked = {name for each in findings for name in each.benchmarks}
    assert ("summeval" in marked) is not bool(without)
    assert findings == load_findings("summarization", "coherence", without=without)

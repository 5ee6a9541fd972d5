"""Edits of versions without kept ratings: learned by a single method, or imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from edit_samples import ASPECT, examples

from rubriclab import DataError, Lab, SettingsError

TEXTS = len(examples())
WHO = {"by": "anna", "because": "it repeats"}
ROWS: list[dict[str, Any]] = [
    {"id": text.id, "group": text.group, "output": text.output, "source": text.source, "scores": dict(text.scores)}
    for text in examples()
]


def test_without_labelled_texts_they_are_asked_for(planted_lab: Lab, tmp_path: Path) -> None:
    planted_lab.export("planted@1", tmp_path / "pack.json")
    planted_lab.import_(tmp_path / "pack.json", "imported")
    for name in ("alone", "imported"):
        with pytest.raises(DataError, match=rf"{name}@1 keeps no labelled texts: .*Give them: labels='FILE'"):
            planted_lab.edit(name, drop="links", preview=True)


def test_weights_of_a_single_methods_rubric_cannot_be_limited(planted_lab: Lab) -> None:
    for changes in ({"pin": {"links": 0.3}}, {"bound": {"links": (0, 0.2)}}):
        with pytest.raises(
            SettingsError, match="alone@1 has no learned weights: its score is the mean of its criteria"
        ):
            planted_lab.edit("alone", **changes, labels=ROWS, preview=True)


def test_a_single_methods_rubric_is_changed_and_both_versions_are_measured_on_the_given_labels(
    planted_lab: Lab,
) -> None:
    result = planted_lab.edit("alone", drop="links", reword={"order": "All is told in order."}, labels=ROWS, **WHO)
    assert (result.effect.folds, result.effect.n) == (0, TEXTS)
    child = planted_lab.load("alone")
    assert (child.ref, child.parent, child.provenance.edit.by) == ("alone@2", "alone@1", "anna")
    assert "order.2" in {criterion.id for criterion in child.rubric.criteria}
    assert child.rubric.aggregation is None
    with pytest.raises(SettingsError, match="has no learned weights"):
        planted_lab.edit(child, pin={"order.2": 0.2}, labels=ROWS, preview=True)
    # The figures are those of scoring by either version.
    labels = [row["scores"][ASPECT] for row in ROWS]
    for version, side in (("alone@1", result.effect.before), ("alone@2", result.effect.after)):
        scores = [each.score for each in planted_lab.score(ROWS, version)]
        assert side.value == pytest.approx(np.corrcoef(scores, labels)[0, 1], abs=1e-5)


def test_it_is_said_how_much_a_criterion_of_another_method_counts(planted_lab: Lab) -> None:
    (note,) = planted_lab.edit("alone", add="Is it long?", labels=ROWS, preview=True).notes
    assert note == "a01 is rated by checkeval: the score is the mean of the scores by hypoeval and checkeval"
    assert planted_lab.edit("alone", add="It is long.", labels=ROWS, preview=True).notes == ()


def test_an_imported_version_is_rated_by_every_criterion_and_then_refitted(planted_lab: Lab, tmp_path: Path) -> None:
    planted_lab.export("planted@1", tmp_path / "pack.json")
    planted_lab.import_(tmp_path / "pack.json", "imported")
    planted_lab.trust("imported")
    result = planted_lab.edit("imported", drop="dates", labels=ROWS, **WHO)
    assert result.effort.calls == len(result.rubric.parts) * TEXTS
    assert (result.saved.ref, result.saved.parent) == ("imported@2", "imported@1")
    record = planted_lab.training_record("imported@2")
    # Its ratings are kept now: the next edit asks nothing.
    assert len(record.texts) == TEXTS
    assert planted_lab.edit("imported@2", drop="length", preview=True).effort.calls == 0
    of = {each.criterion.id: each for each in record.candidates}
    original = {each.criterion.id: each for each in planted_lab.training_record("planted").candidates}
    assert of["theory"].made_from == original["theory"].made_from or not of["theory"].criterion.evidence.examples

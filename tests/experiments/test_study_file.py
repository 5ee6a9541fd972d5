"""Studies as files: errors in one, and small or changed studies."""

from __future__ import annotations

import one_case
import pytest

from experiments import STUDIES
from experiments.runner.figures import COEFFICIENTS
from experiments.runner.study import Study, load_study, studies
from rubriclab.methods.catalogue import METHODS
from rubriclab.ops.learn import resolve_settings

RAW = {
    "sets": {"summeval": ["coherence", "fluency"], "hanna": ["empathy"]},
    "labels": [30],
    "test_texts": None,
    "arms": [
        {"name": "a", "method": "hypoeval", "settings": {"hypoeval": {"k": 4}}},
        {"name": "b", "method": "direct"},
        {"name": "c", "method": "joint", "methods": ["hypoeval", "direct"], "settings": {"joint": {"folds": 5}}},
    ],
}


def study(**fields: object) -> Study:
    return one_case.study(**{**RAW, **fields})


def test_the_digest_depends_on_all_that_a_case_depends_on_and_on_nothing_else() -> None:
    base = study().digest
    assert study(question="Why?", seeds=[1, 2], sets={"hanna": ["empathy"]}).digest == base
    assert study(labels=[20]).digest != base
    assert study(constant="papers").digest != base
    assert study().changed({"hypoeval": {"k": 7}}).digest != base


@pytest.mark.parametrize("name", studies())
def test_every_stored_study_names_known_sets_settings_and_measures(name, sets) -> None:
    found = load_study(name)
    assert (STUDIES / found.name / "study.toml").is_file()
    for each, aspect in found.qualities:
        assert sets.assignment(each, aspect).aspect.name == aspect
    for arm in found.arms:
        methods = [METHODS[part] for part in arm.parts]
        assert resolve_settings(methods, joint=arm.method == "joint", options=arm.settings)
    for published in found.published:
        assert set(published.measures) <= set(COEFFICIENTS)
        assert all(set(own) <= set(found.sets[each]) for each, own in published.figures.items())

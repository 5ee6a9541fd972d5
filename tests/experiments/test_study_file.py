"""Studies as files: what is wrong with one is said, and what a small or changed one is."""

import pytest

from experiments.runner.study import SMALL_LABELS, Study, load_study, parse_study, studies, study_folder
from rubriclab.errors import SettingsError

RAW = {
    "name": "some",
    "question": "What?",
    "sets": {"summeval": ["coherence", "fluency"], "hanna": ["empathy"]},
    "arms": [
        {"name": "a", "method": "hypoeval", "settings": {"hypoeval": {"k": 4}}},
        {"name": "b", "method": "direct"},
        {"name": "c", "method": "joint", "methods": ["hypoeval", "direct"], "settings": {"joint": {"folds": 5}}},
    ],
}


def study(**fields: object) -> Study:
    return parse_study({**RAW, **fields}, "here/study.toml")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"arms": []}, "arms: expected a list of at least 1"),
        ({"sets": {}}, "sets: expected a list of at least 1"),
        ({"colour": "red"}, "colour: unknown name, got the text 'red'"),
        ({"seeds": [1, 1]}, "the seed 1 is given twice"),
        ({"labels": [30, 30]}, "the number of labels 30 is given twice"),
        ({"arms": [{"name": "a", "method": "direct"}] * 2}, "the arm 'a' is given twice"),
        ({"arms": [{"name": "a", "method": "magic"}]}, "arms[0].method: expected"),
        (
            {"arms": [{"name": "a", "method": "direct", "settings": {"hypoeval": {"k": 1}}}]},
            "'a' has settings for 'hypoeval'; it has none but direct",
        ),
        ({"compare": [["a", "z"]]}, "'z' is compared, and is no arm; known are a, b, c, baseline: word count"),
        (
            {"published": [{"source": "t", "judge": "j", "arm": "z", "measures": ["spearman"], "figures": {}}]},
            "'z' is compared, and is no arm",
        ),
        (
            {
                "published": [
                    {
                        "source": "table 1",
                        "judge": "j",
                        "arm": "a",
                        "measures": ["spearman", "pearson"],
                        "figures": {"summeval": {"coherence": [0.5]}},
                    }
                ]
            },
            "table 1, a: summeval coherence has 1 figures for 2 measures",
        ),
    ],
)
def test_what_is_wrong_with_a_study_is_said(fields, said) -> None:
    with pytest.raises(SettingsError) as error:
        study(**fields)
    assert str(error.value).startswith("here/study.toml: ")
    assert said in str(error.value)


def test_a_small_study_is_little_of_everything_and_keeps_what_an_arm_is_about() -> None:
    small = study(seeds=[5, 6], labels=[60, 100], options={"wordings": 10}, small_options={"wordings": 2}).small()
    assert small.sets == {"summeval": ("coherence",), "hanna": ("empathy",)}
    assert (small.seeds, small.labels, small.options) == ((5,), (SMALL_LABELS,), {"wordings": 2})
    hypoeval, direct, joint = small.arms
    assert hypoeval.settings["hypoeval"]["k"] == 4
    assert hypoeval.settings["hypoeval"]["bank_size"] < 20
    assert direct.settings == {}
    assert joint.settings["joint"]["folds"] == 5
    assert joint.settings["joint"]["repeats"] == 1


def test_changed_settings_reach_every_arm_that_has_them() -> None:
    changed = study().changed({"hypoeval": {"k": 7}})
    assert [arm.settings.get("hypoeval") for arm in changed.arms] == [{"k": 7}, None, {"k": 7}]
    with pytest.raises(SettingsError, match="No arm of some has settings of 'seal'"):
        study().changed({"seal": {"proposed": 1}})


def test_the_digest_knows_what_a_case_hangs_on_and_nothing_else() -> None:
    base = study().digest
    assert study(question="Why?", seeds=[1, 2], sets={"hanna": ["empathy"]}).digest == base
    assert study().only(("hanna",)).digest == base
    assert study(labels=[20]).digest != base
    assert study(constant="papers").digest != base
    assert study().changed({"hypoeval": {"k": 7}}).digest != base


def test_some_sets_or_aspects_alone() -> None:
    assert study().only(()).sets == study().sets
    assert study().only(("summeval:fluency", "hanna")).sets == {"summeval": ("fluency",), "hanna": ("empathy",)}
    for wanted in ("qags", "hanna:fluency"):
        with pytest.raises(SettingsError, match="It has summeval: coherence, fluency; hanna: empathy"):
            study().only((wanted,))


def test_shipped_studies_are_found_and_others_refused(tmp_path) -> None:
    assert {"hypoeval-main", "labels-needed"} <= set(studies())
    with pytest.raises(SettingsError, match="There is no study 'nothing'"):
        load_study("nothing")
    (tmp_path / "study.toml").write_text("question = ")
    with pytest.raises(SettingsError, match="is not valid TOML"):
        load_study(str(tmp_path))


@pytest.mark.parametrize("name", studies())
def test_every_shipped_study_names_sets_that_are_known_and_settings_that_exist(name, sets) -> None:
    from experiments.runner.arms import joint_settings, settings_of
    from experiments.runner.designs import design_named
    from experiments.runner.designs.design import options_of

    found = load_study(name)
    assert study_folder(name).name == found.name
    for each, aspect in found.qualities:
        assert sets.assignment(each, aspect).aspect.name == aspect
    for arm in found.arms:
        for part in arm.parts:
            settings_of(arm, part)
        joint_settings(arm)
    design = design_named(found.design)
    options_of(found, design.options)
    for published in found.published:
        assert set(published.measures) <= set(design.measures)
        assert all(set(found.sets[each]) >= set(own) for each, own in published.figures.items() if each in found.sets)
        assert set(published.figures) <= set(found.sets)

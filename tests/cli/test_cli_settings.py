"""Hyperparameters as users write them: METHOD.NAME=VALUE, for the method that is learned."""

from __future__ import annotations

import contextlib
import json

import pytest
from commands import LABELLED, Commands
from hypothesis import given
from hypothesis import settings as tries
from hypothesis import strategies as st

from rubriclab.cli.settings import method_settings, settings_from
from rubriclab.errors import SettingsError
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.names import METHOD_NAMES

SEEVAL, FEW_SHOT, HYPOEVAL = METHODS["seeval"], METHODS["few_shot"], METHODS["hypoeval"]
LEARN = ("learn", LABELLED, "--task", "summarization", "--aspect", "coherence")


def refused(method, given_, configured=()) -> str:
    with pytest.raises(SettingsError) as caught:
        method_settings(method, given_, configured)
    return str(caught.value)


# Pairs


@pytest.mark.parametrize("name", tuple(METHODS))
def test_without_pairs_the_settings_are_the_defaults(name):
    assert method_settings(METHODS[name], ()) == METHODS[name].settings()


@pytest.mark.parametrize(
    ("pair", "field", "value"),
    [
        ("seeval.explanations=5", "explanations", 5),
        ("seeval.refine=false", "refine", False),
        ("seeval.refine=False", "refine", False),
        ("seeval.scoring=weighted", "scoring", "weighted"),
        ('seeval.scoring="weighted"', "scoring", "weighted"),
        (" seeval.temperature = 0.5 ", "temperature", 0.5),
        ("seeval.temperature=1e-1", "temperature", 0.1),
    ],
)
def test_values_are_read_as_json_and_else_as_words(pair, field, value):
    assert getattr(method_settings(SEEVAL, [pair]), field) == value


@tries(deadline=None, max_examples=60)
@given(k=st.integers(1, 20), temperature=st.floats(0.01, 2), scoring=st.sampled_from(["once", "weighted"]))
def test_settings_survive_being_written_as_pairs(k, temperature, scoring):
    wanted = FEW_SHOT.settings(k=k, temperature=temperature, scoring=scoring)
    pairs = [f"few_shot.{name}={json.dumps(value)}" for name, value in wanted.model_dump(mode="json").items()]
    assert method_settings(FEW_SHOT, pairs) == wanted


@tries(deadline=None, max_examples=100)
@given(pair=st.text(max_size=30) | st.sampled_from([*METHOD_NAMES]).flatmap(lambda m: st.text().map(f"{m}.".__add__)))
def test_whatever_is_written_is_a_setting_or_one_clear_error(pair):
    with contextlib.suppress(SettingsError):
        assert isinstance(method_settings(SEEVAL, [pair]), SEEVAL.settings)


def test_the_last_of_several_values_counts():
    assert method_settings(SEEVAL, ["seeval.shown=3", "seeval.shown=4"]).shown == 4


@pytest.mark.parametrize("pair", ["", "seeval", "seeval.k", "=3", "k=3", "seval.k=3", ".k=3", "SEEVAL.shown=3"])
def test_a_pair_of_another_form_or_method_is_not_understood(pair):
    complaint = refused(SEEVAL, [pair])
    assert complaint.startswith(f"--set {pair!r} is not understood; write METHOD.NAME=VALUE")
    assert all(name in complaint for name in METHOD_NAMES)


def test_a_pair_for_another_method_on_the_command_line_is_refused():
    assert refused(SEEVAL, ["hypoeval.k=3"]) == "--set 'hypoeval.k=3' is for another method; this is seeval."


def test_a_configuration_may_hold_tables_of_several_methods():
    configured = ["hypoeval.k=3", "seeval.shown=4", "direct.samples=9"]
    assert method_settings(SEEVAL, (), configured) == SEEVAL.settings(shown=4)
    assert method_settings(HYPOEVAL, (), configured) == HYPOEVAL.settings(k=3)


def test_the_command_line_comes_before_the_configuration():
    found = method_settings(SEEVAL, ["seeval.shown=3"], ["seeval.shown=4", "seeval.explanations=2"])
    assert (found.shown, found.explanations) == (3, 2)


def test_a_fault_in_another_method_s_table_does_no_harm():
    assert method_settings(SEEVAL, (), ["hypoeval.unheard_of=3"]) == SEEVAL.settings()


# Values


@pytest.mark.parametrize(
    ("pair", "complaint"),
    [
        ("seeval.shown=1", "seeval.shown: expected a number of at least 2, got 1."),
        ("seeval.shown=", "seeval.shown: expected a whole number"),
        ("seeval.shown=many", "seeval.shown: expected a whole number"),
        ("seeval.scoring=twice", "seeval.scoring: expected 'once' or 'weighted', got the text 'twice'."),
        ("seeval.preset=mine", "seeval.preset: unknown preset 'mine'; expected 'paper'."),
        ("seeval.k=3", "seeval.k: unknown name, got 3. Known are: preset, elicit_temperature"),
        ("seeval.samples=true", "seeval.samples: a number was expected; got True."),
        ("seeval.=3", "seeval.: unknown name, got 3."),
    ],
)
def test_a_fault_is_told_with_its_name_what_came_and_what_was_expected(pair, complaint):
    told = refused(SEEVAL, [pair])
    assert told.startswith(complaint)
    assert refused(SEEVAL, (), [pair]) == told


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_every_preset_can_be_asked_for(name):
    method = METHODS[name]
    for preset, values in method.presets.items():
        assert method_settings(method, [f"{name}.preset={preset}"]) == method.settings(**values)


def test_a_single_value_comes_before_the_preset_wherever_it_stands():
    for pairs in (
        ["seeval.preset=paper", "seeval.explanations=4"],
        ["seeval.explanations=4", "seeval.preset=paper"],
    ):
        found = method_settings(SEEVAL, pairs)
        assert (found.explanations, found.refine) == (4, False)


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("diversified", True, "checkeval.diversified: a number was expected; got True."),
        ("part_words", 1, "checkeval.part_words: expected 0 or at least 50, got 1."),
    ],
)
def test_a_complaint_of_our_own_is_told_once_and_without_its_kind(field, value, complaint):
    with pytest.raises(SettingsError) as refusal:
        settings_from(METHODS["checkeval"], {field: value})
    assert str(refusal.value) == complaint


def test_settings_are_made_from_values_too():
    assert settings_from(SEEVAL, {"shown": 3}) == SEEVAL.settings(shown=3)
    with pytest.raises(SettingsError, match=r"few_shot\.k: expected a number of at most 20, got 21\."):
        settings_from(FEW_SHOT, {"k": 21})


# On the command line


def test_a_method_s_settings_decide_what_is_asked(rubriclab: Commands) -> None:
    def calls(*more: object) -> int:
        done = rubriclab(*LEARN, "--dry-run", "--json", *more)
        assert done.code == 0, done.err
        return int(done.json["at_most"]["judge"]["calls"])

    once = calls("--method", "direct")
    assert calls("--method", "direct", "--set", "direct.scoring=weighted", "--set", "direct.samples=3") == 3 * once
    assert calls("--method", "seeval", "--set", "seeval.preset=paper") == once + 1


@pytest.mark.parametrize("name", ["seeval", "direct", "few_shot", "geval", "analyze_rate"])
def test_every_method_learns_offline_under_a_name_of_its_own(rubriclab: Commands, name: str) -> None:
    done = rubriclab(*LEARN, "--method", name)
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        f"summarization-coherence-{name}@1: 1 score of the whole aspect",
    ), done.err
    again = rubriclab(*LEARN, "--method", name, "--json")
    assert (again.json["rubric"], again.json["new"]) == (f"summarization-coherence-{name}@1", False)
    assert rubriclab("score", LABELLED, "--rubric", f"summarization-coherence-{name}").code == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--method", "hypoeval", "--set", "seeval.shown=3"), "is for another method; this is hypoeval."),
        (
            ("--set", "seal.proposed=3"),
            "--set: seal.proposed is for another method; it takes no part in this training.",
        ),
        (("--set", "joint.prefer=best"), "joint.prefer: expected 'smallest' or 'accuracy'"),
        (("--set", "joint.fold=3"), "Known are: ask, calibration"),
        (("--method", "hypoeval", "--gate"), "--gate is for rubrics of several methods: --method hypoeval alone"),
        (("--method", "few_shot", "--set", "few_shot.k=0"), "few_shot.k: expected a number of at least 1"),
    ],
    ids=str,
)
def test_what_does_not_fit_the_method_is_refused_in_one_line(
    rubriclab: Commands, arguments: tuple[str, ...], complaint: str
) -> None:
    done = rubriclab(*LEARN, *arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert complaint in done.error


def test_a_method_that_nobody_knows_is_refused_with_those_that_are_known(rubriclab: Commands) -> None:
    done = rubriclab(*LEARN, "--method", "unheard")
    assert (done.code, done.out) == (2, "")
    assert "'unheard' is not one of 'hypoeval', 'checkeval', 'seeval', 'seal', 'dcr', 'direct'" in done.err


def test_a_checklist_that_the_method_has_no_use_for_is_not_left_out_in_silence(rubriclab: Commands) -> None:
    done = rubriclab(*LEARN, "--method", "direct", "--checklist", "mine.json", "--dry-run")
    assert done.code == 0
    assert "--checklist is left out: direct asks no questions of a checklist" in done.err

"""Settings of methods and of joint training: pairs METHOD.NAME=VALUE, and which of several sources wins."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings as tries, strategies as st
from pydantic import BaseModel

from rubriclab.errors import SettingsError
from rubriclab.methods.catalogue import METHOD_NAMES, METHODS
from rubriclab.methods.method import Method
from rubriclab.ops.learn import resolve_settings
from rubriclab.ops.options import parse_settings

SEEVAL, FEW_SHOT, HYPOEVAL = METHODS["seeval"], METHODS["few_shot"], METHODS["hypoeval"]
# A setting of which the default, the one inside a joint training and those tried here all differ.
JOINT = (HYPOEVAL, METHODS["direct"])


def method_settings(method: Method, chosen: Sequence[str], configured: Sequence[str] = ()) -> Any:
    tables = {"options": parse_settings(chosen), "configured": parse_settings(configured)}
    return resolve_settings([method], joint=False, **tables).methods[method.name]


def refused(method: Method, chosen: Sequence[str], configured: Sequence[str] = ()) -> str:
    with pytest.raises(SettingsError) as caught:
        method_settings(method, chosen, configured)
    return str(caught.value)


@pytest.mark.parametrize(
    ("pair", "field", "value"),
    [
        ("seeval.explanations=5", "explanations", 5),
        ("seeval.refine=false", "refine", False),
        ('seeval.scoring="weighted"', "scoring", "weighted"),
        (" seeval.samples = 5 ", "samples", 5),
        ("seeval.explanations=4", "samples", SEEVAL.settings().model_dump()["samples"]),
    ],
)
def test_values_are_read_as_json_and_else_as_words(pair: str, field: str, value: Any) -> None:
    assert getattr(method_settings(SEEVAL, [pair]), field) == value


@tries(deadline=None, max_examples=100)
@given(pair=st.text(max_size=30) | st.sampled_from([*METHOD_NAMES]).flatmap(lambda m: st.text().map(f"{m}.".__add__)))
def test_whatever_is_written_is_a_setting_or_one_clear_error(pair: str) -> None:
    with contextlib.suppress(SettingsError):
        assert isinstance(method_settings(SEEVAL, [pair]), SEEVAL.settings)


@pytest.mark.parametrize("pair", ["", "seeval", "seeval.k", "=3", "k=3", "seval.k=3", ".k=3", "SEEVAL.samples=3"])
def test_a_pair_of_another_form_or_method_is_not_understood(pair: str) -> None:
    complaint = refused(SEEVAL, [pair])
    assert complaint.startswith(f"`settings` {pair!r} is not understood; write METHOD.NAME=VALUE")
    assert all(name in complaint for name in METHOD_NAMES)


def test_a_configuration_may_hold_tables_of_several_methods() -> None:
    configured = ["hypoeval.k=3", "seeval.samples=4", "direct.unheard_of=9"]
    assert method_settings(SEEVAL, (), configured) == SEEVAL.settings(samples=4)
    assert method_settings(HYPOEVAL, (), configured) == HYPOEVAL.settings(k=3)


@pytest.mark.parametrize(
    ("pair", "complaint"),
    [
        ("seeval.samples=0", "seeval.samples: expected a number of at least 1, got 0."),
        ("seeval.explanations=", "seeval.explanations: expected a whole number"),
        ("seeval.scoring=twice", "seeval.scoring: expected 'once', 'weighted' or 'sampled', got the text 'twice'."),
        ("seeval.preset=mine", "seeval.preset: unknown preset 'mine'; expected 'paper'."),
        ("seeval.k=3", "seeval.k: unknown name, got 3. The known ones are: preset, elicitation"),
        ("seeval.samples=true", "seeval.samples: a number was expected; got True."),
    ],
)
def test_a_fault_is_told_with_its_name_what_came_and_what_was_expected(pair: str, complaint: str) -> None:
    told = refused(SEEVAL, [pair])
    assert told.startswith(complaint)
    assert refused(SEEVAL, (), [pair]) == told


def test_a_single_value_comes_before_the_preset_wherever_it_stands() -> None:
    for pairs in (
        ["seeval.preset=paper", "seeval.explanations=4"],
        ["seeval.explanations=3", "seeval.explanations=4", "seeval.preset=paper"],
    ):
        found = method_settings(SEEVAL, pairs)
        assert (found.explanations, found.refine) == (4, False)


def joint(**tables: Mapping[str, Mapping[str, Any]]) -> BaseModel:
    return resolve_settings(JOINT, joint=True, **tables).methods["hypoeval"]


def bank_size(**tables: Mapping[str, Any]) -> Any:
    return joint(**{source: {"hypoeval": values} for source, values in tables.items()}).bank_size  # type: ignore[attr-defined]


def test_each_source_of_settings_overrides_those_before_it() -> None:
    assert HYPOEVAL.settings().bank_size == 20  # type: ignore[attr-defined]
    assert bank_size() == 10
    values = {name: {"bank_size": 11 + number} for number, name in enumerate(("configured", "options", "recorded"))}
    assert bank_size(configured=values["configured"]) == 11
    assert bank_size(configured=values["configured"], options=values["options"]) == 12
    everything = {name: {"hypoeval": table} for name, table in values.items()}
    everything["recorded"]["joint"] = {}
    assert joint(**everything).bank_size == 13  # type: ignore[attr-defined]
    tables = {"configured": {"joint": {"folds": 5, "repeats": 2}}, "options": {"joint": {"folds": 6}}}
    settings = resolve_settings(JOINT, joint=True, **tables).joint
    assert settings is not None
    assert (settings.folds, settings.repeats) == (6, 2)


def test_of_a_version_of_one_method_only_what_the_user_set_overrides_the_joint_defaults() -> None:
    recorded = {"hypoeval": HYPOEVAL.settings(k=7).model_dump(mode="json")}
    settings = resolve_settings([HYPOEVAL], joint=True, recorded=recorded).methods["hypoeval"]
    expected = resolve_settings([HYPOEVAL], joint=True, options={"hypoeval": {"k": 7}}).methods["hypoeval"]
    assert settings == expected
    assert settings.drop_hopeless is False  # type: ignore[attr-defined]

"""What the reply forms of several methods share: scores on the prompt's scale, and sameness told by id."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationInfo, field_validator

from rubriclab.data.scale import Scale

# What stands for "no other criterion".
NONE = "none"


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"a number was expected; got {value}")
    return value


def _on_scale(score: float, info: ValidationInfo) -> float:
    if info.context:
        scale = Scale.model_validate({name: info.context["scale"][name] for name in ("low", "high", "whole")})
        if not scale.holds(score):
            raise ValueError(f"the score must be {scale.describe()}; got {score}")
    return score


# pydantic would take `true` for 1.
Number = Annotated[float, BeforeValidator(_no_truth_value)]
Whole = Annotated[int, BeforeValidator(_no_truth_value)]

# A number that the prompt's scale allows: inside it, and whole where only whole numbers are legal.
OnScale = Annotated[Number, AfterValidator(_on_scale)]


class Rating(BaseModel):
    """A score with its reason."""

    reasoning: str
    score: OnScale


class Redundancy(BaseModel):
    """The id of the criterion that measures the same thing as the candidate, or `none`."""

    reasoning: str
    same_as: str

    @field_validator("same_as")
    @classmethod
    def _one_of_them(cls, same_as: str, info: ValidationInfo) -> str:
        known = [NONE, *(other["id"] for other in info.context["others"])] if info.context else [same_as]
        if same_as not in known:
            raise ValueError(f"one of {', '.join(known)} was expected; got {same_as!r}")
        return same_as

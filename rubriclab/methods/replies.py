"""What the reply forms of several methods share: scores that are numbers on the prompt's scale."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationInfo

from rubriclab.data.scale import Scale


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

# A number that the prompt's scale allows: inside it, and whole where only whole numbers are legal.
OnScale = Annotated[Number, AfterValidator(_on_scale)]


class Rating(BaseModel):
    """A score with its reason."""

    reasoning: str
    score: OnScale

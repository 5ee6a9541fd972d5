"""The reply models of the prompts that read a paper; reasoning comes first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ValidationError, ValidationInfo, model_validator

from rubriclab.bounds import LONGEST_WORDING
from rubriclab.data.aspect import Words
from rubriclab.data.fields import LONGEST_NAME
from rubriclab.methods.replies import NewName, Whole, Wording, at_most, keep_valid
from rubriclab.pydantic_errors import first_fault

LONGEST_QUOTATION = 3_000


def _asked_aspects(names: list[str], info: ValidationInfo) -> list[str]:
    """Return the aspects as the prompt names them, each once."""
    asked = {aspect["name"].casefold(): aspect["name"] for aspect in (info.context or {}).get("aspects", ())}
    unknown = [name for name in names if name.strip().casefold() not in asked]
    if unknown:
        expected = ", ".join(asked.values()) or "an empty list"
        raise ValueError(f"{unknown[0]!r:.60} is none of the qualities asked about; expected {expected}")
    return list(dict.fromkeys(asked[name.strip().casefold()] for name in names))


class QuotedFinding(BaseModel):
    """A finding with the passage that it rests on."""

    page: Whole
    quotation: Annotated[Words, at_most(LONGEST_QUOTATION)]
    claim: Wording
    aspects: Annotated[list[str], AfterValidator(_asked_aspects)]
    benchmarks: list[NewName]


class QuotedFindings(BaseModel):
    """The findings of some pages, after what they report about raters; there may be none."""

    reasoning: Annotated[str, at_most(LONGEST_WORDING)]
    findings: list[QuotedFinding]


class UsableFindings(QuotedFindings):
    """The same, where entries that cannot be used are left out of a reply that failed twice.

    Attributes:
        entries: all entries, also those that cannot be used.
    """

    reasoning: str = ""
    findings: Annotated[list[QuotedFinding], keep_valid(())]
    entries: list[Any] = []

    @model_validator(mode="before")
    @classmethod
    def _keep_entries(cls, reply: Any) -> Any:
        return {**reply, "entries": reply.get("findings")} if isinstance(reply, dict) else reply


def unusable_entries(reply: QuotedFindings, context: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the entries that were left out of a reply, each with its fault.

    Args:
        context: the fields of the prompt.
    """
    for entry in reply.entries if isinstance(reply, UsableFindings) else ():
        given = entry if isinstance(entry, dict) else {}
        try:
            QuotedFinding.model_validate(given, context=context)
        except ValidationError as error:
            yield given, first_fault(error)


class ReadCitation(BaseModel):
    """What the first pages of a paper state about how it is cited; empty where they do not."""

    title: Annotated[str, at_most(LONGEST_NAME)]
    authors: list[Annotated[str, at_most(LONGEST_NAME)]]
    year: Whole | None
    venue: Annotated[str, at_most(LONGEST_NAME)]

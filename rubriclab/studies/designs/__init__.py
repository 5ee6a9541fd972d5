"""What a study does with each of its cases: the designs by name, as `study.toml` names them."""

from __future__ import annotations

from collections.abc import Mapping

from rubriclab.errors import SettingsError
from rubriclab.studies.designs.agreement import AGREEMENT
from rubriclab.studies.designs.bands import BANDS
from rubriclab.studies.designs.carrying import CARRYING
from rubriclab.studies.designs.crossed import CROSSED
from rubriclab.studies.designs.decisions import DECISIONS
from rubriclab.studies.designs.design import Design
from rubriclab.studies.designs.discrimination import DISCRIMINATION
from rubriclab.studies.designs.interrater import CONCORDANCE
from rubriclab.studies.designs.repeats import REPEATS
from rubriclab.studies.designs.rephrased import REPHRASED
from rubriclab.studies.designs.rounds import ROUNDS
from rubriclab.studies.designs.transfer import TRANSFER

DESIGNS: Mapping[str, Design] = {
    design.name: design
    for design in (
        AGREEMENT,
        BANDS,
        CARRYING,
        CONCORDANCE,
        CROSSED,
        DECISIONS,
        DISCRIMINATION,
        REPEATS,
        REPHRASED,
        ROUNDS,
        TRANSFER,
    )
}


def design_named(name: str) -> Design:
    """Return the design of this name.

    Raises:
        SettingsError: if there is none.
    """
    if name not in DESIGNS:
        raise SettingsError(f"There is no design {name!r} for a study.", f"There are: {', '.join(DESIGNS)}.")
    return DESIGNS[name]

"""What a study does with each of its cases: the designs by name, as `study.toml` names them."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.runner.designs.agreement import AGREEMENT
from experiments.runner.designs.bands import BANDS
from experiments.runner.designs.carrying import CARRYING
from experiments.runner.designs.crossed import CROSSED
from experiments.runner.designs.decisions import DECISIONS
from experiments.runner.designs.design import Design
from experiments.runner.designs.discrimination import DISCRIMINATION
from experiments.runner.designs.interrater import CONCORDANCE
from experiments.runner.designs.repeats import REPEATS
from experiments.runner.designs.rephrased import REPHRASED
from experiments.runner.designs.rounds import ROUNDS
from experiments.runner.designs.transfer import TRANSFER
from rubriclab import SettingsError

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

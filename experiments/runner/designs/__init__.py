"""The designs of studies by name, as `study.toml` names them."""

from __future__ import annotations

from experiments.runner.designs.agreement_designs import AGREEMENT, BANDS, CROSSED, TRANSFER
from experiments.runner.designs.decisions import DECISIONS, DISCRIMINATION
from experiments.runner.designs.design import Design
from experiments.runner.designs.interrater import INTERRATER
from experiments.runner.designs.rounds import ROUNDS
from experiments.runner.designs.spread import REPEATS, REPHRASED
from rubriclab import SettingsError

DESIGNS = {
    "agreement": AGREEMENT,
    "bands": BANDS,
    "crossed": CROSSED,
    "decisions": DECISIONS,
    "discrimination": DISCRIMINATION,
    "interrater": INTERRATER,
    "repeats": REPEATS,
    "rephrased": REPHRASED,
    "rounds": ROUNDS,
    "transfer": TRANSFER,
}


def design_named(name: str) -> Design:
    """Return the design of this name."""
    if name not in DESIGNS:
        raise SettingsError(f"There is no design {name!r} for a study.", f"There are: {', '.join(DESIGNS)}.")
    return DESIGNS[name]

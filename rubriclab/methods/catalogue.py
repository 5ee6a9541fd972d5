"""All methods by name, and what may be part of a rubric beside them."""

from __future__ import annotations

from collections.abc import Mapping

from rubriclab.methods.baselines import ANALYZE_RATE, DIRECT, FEW_SHOT, GEVAL
from rubriclab.methods.checkeval import CHECKEVAL
from rubriclab.methods.dcr import DCR
from rubriclab.methods.hypoeval import HYPOEVAL
from rubriclab.methods.method import Method
from rubriclab.methods.names import PartName
from rubriclab.methods.seal import SEAL
from rubriclab.methods.seeval import SEEVAL
from rubriclab.methods.surface import SURFACE

METHODS: Mapping[PartName, Method] = {
    method.name: method
    for method in (HYPOEVAL, CHECKEVAL, SEEVAL, SEAL, DCR, DIRECT, FEW_SHOT, GEVAL, ANALYZE_RATE, SURFACE)
}

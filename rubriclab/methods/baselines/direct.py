"""`direct`: the judge scores by the aspect's definition, with its reason.

HypoEval's baseline (section 3), but without evaluation steps (its appendix B.2): those are what `geval` adds.
"""

from __future__ import annotations

from rubriclab.methods.baselines.baseline import by_definition
from rubriclab.methods.holistic import ScoreFormat, reasoned_once

DIRECT = by_definition("direct", ScoreFormat("direct/rate", lambda _: {}), shares_call=reasoned_once)

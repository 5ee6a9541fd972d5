"""The judges that every learned rubric is held against: they learn nothing from labels, or next to nothing."""

from rubriclab.methods.baselines.definition import ANALYZE_RATE, DIRECT
from rubriclab.methods.baselines.few_shot import FEW_SHOT
from rubriclab.methods.baselines.geval import GEVAL

__all__ = ["ANALYZE_RATE", "DIRECT", "FEW_SHOT", "GEVAL"]

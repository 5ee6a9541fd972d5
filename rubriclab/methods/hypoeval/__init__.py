"""HypoEval: hypotheses about what raters reward, learned from a few labels and literature, rated one by one."""

from rubriclab.methods.hypoeval.learn import Learned, learn
from rubriclab.methods.hypoeval.score import score
from rubriclab.methods.hypoeval.settings import HypoEvalSettings, hypoeval_settings

__all__ = ["HypoEvalSettings", "Learned", "hypoeval_settings", "learn", "score"]

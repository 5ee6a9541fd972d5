"""The papers' claims as studies that anyone can run: what they are, their cases, their arms, their results."""

from experiments.runner.study import Arm, Published, Study, load_study, studies

__all__ = ["Arm", "Published", "Study", "load_study", "studies"]

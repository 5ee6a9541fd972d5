"""What a design works with."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.runner.cases import Case, Material, material
from experiments.runner.sets import Sets
from experiments.runner.study import Study
from rubriclab import ChecklistError, DataError, Judge, JudgeError, RubriclabError
from rubriclab.research import Progress, silent


@dataclass(frozen=True)
class Bench:
    """A study with its texts and judges.

    Attributes:
        judges: in the order that the user named them; most designs ask the first alone.
        under_way: how many texts are scored at a time.
        say: what is told how far a case is.
    """

    study: Study
    sets: Sets
    judges: tuple[Judge, ...]
    under_way: int = 16
    on_progress: Progress = silent

    @property
    def judge(self) -> Judge:
        """The first judge."""
        return self.judges[0]

    def material(self, case: Case) -> Material:
        """Return the texts of a case."""
        return material(case, self.study, self.sets)


def no_figure(error: RubriclabError) -> str:
    """Return why an arm has no figure in a case, if that is no reason to end the study; else raise the error again."""
    if type(error) in (ChecklistError, DataError, JudgeError):
        return str(error)
    raise error

"""Figures of a case: every evaluator's agreement with people, the baselines', and the differences between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.runner.cases import Material
from experiments.runner.results import Basis, Gap, Row
from experiments.runner.study import BASELINES, Study
from rubriclab import Evaluator, Example, Result
from rubriclab.research import WORD_COUNT, best_feature, evaluate, feature_values
from rubriclab.stats import Interval, Level, difference

COEFFICIENTS = ("spearman", "pearson", "kendall")
COUNTS = ("n", "groups", "constant_groups")


def bases(study: Study, texts: Material) -> dict[str, Basis]:
    """Return how the paper takes correlations, and how we do: within groups, constant ones left out, if texts have
    rivals, else over all texts."""
    own: Level = "group" if texts.has_rivals else "dataset"
    return {
        "paper": Basis(level=study.level_of(texts.set) or own, constant=study.constant),
        "ours": Basis(level=own, constant="skip"),
    }


def baseline_evaluators(texts: Material) -> list[tuple[Evaluator, str]]:
    """Return the baselines with remarks: the word count, and the measure that follows the training labels best."""
    best = best_feature(texts.learned_from, texts.home.aspect.name) if texts.learned_from else None
    values = feature_values(texts.test, [WORD_COUNT, best.feature if best else WORD_COUNT])
    found = [(Evaluator(BASELINES[0], values[:, 0]), "")]
    if best:
        found.append(
            (Evaluator(BASELINES[1], best.sign * values[:, 1]), f"{'-' if best.sign < 0 else ''}{best.feature}")
        )
    return found


def agreement_row(study: Study, texts: Material, evaluator: Evaluator) -> Row:
    """Return an evaluator's agreement with the scores of the texts tested, by the paper's rule and by our own."""
    basis = bases(study, texts)
    paper = _result(texts, evaluator, basis["paper"])
    ours = _result(texts, evaluator, basis["ours"]) if basis["ours"] != basis["paper"] else None
    return Row(
        arm=evaluator.name,
        figures=_figures(paper),
        ours=_figures(ours) if ours else None,
        counts={
            "texts": len(texts.test),
            **{name: int(getattr(paper.agreement, name)) for name in COUNTS},
            "unscored": paper.unscored,
            "answers": paper.answers,
            "answers_missing": paper.answers_missing,
        },
    )


def gap(study: Study, texts: Material, first: Evaluator, second: Evaluator) -> Gap:
    """Return the difference of two evaluators in Spearman's correlation, resampled together, by the paper's rule."""
    basis, human = bases(study, texts)["paper"], human_scores(texts)
    found = difference(
        first.scores,
        second.scores,
        human,
        [example.group for example in texts.test],
        _systems(texts.test),
        level=basis.level,
        constant=basis.constant,
    )
    return Gap(first=first.name, second=second.name, measure="spearman", difference=found.spearman.rounded())


def human_scores(texts: Material) -> np.ndarray:
    """Return what people gave the texts tested, shape (texts,)."""
    return np.array([example.scores[texts.assignment.aspect.name] for example in texts.test], dtype=float)


def _systems(test: Sequence[Example]) -> list[str] | None:
    named = [example.system for example in test if example.system is not None]
    return named if len(named) == len(test) else None


def _result(texts: Material, evaluator: Evaluator, basis: Basis) -> Result:
    (found,) = evaluate(
        texts.test, [evaluator], texts.assignment.aspect.name, levels=[basis.level], constant=basis.constant
    )
    return found


def _figures(result: Result) -> dict[str, Interval]:
    return {name: getattr(result.agreement, name).rounded() for name in COEFFICIENTS}

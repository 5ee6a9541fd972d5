"""The figures of a case: the agreement of evaluators and baselines with people, shares, and differences."""

from __future__ import annotations

from typing import Any

from experiments.runner.cases import Material
from experiments.runner.results import Basis, Gap, Row
from experiments.runner.study import BASELINES, Study
from rubriclab.learning.baselines import best_feature, feature_values
from rubriclab.learning.evaluation import Evaluator, Result, measure_agreement
from rubriclab.models.text_features import WORD_COUNT
from rubriclab.stats.correlation import spearman_rows
from rubriclab.stats.intervals import Interval
from rubriclab.stats.score_agreement import Level, difference

COEFFICIENTS = ("spearman", "pearson", "kendall")
COUNTS = ("n", "groups", "constant_groups")


def bases(study: Study, texts: Material) -> dict[str, Basis]:
    """Return how the paper computes correlations, and how we do: within groups without the constant ones, or over all
    texts if there are no rivals."""
    own: Level = "group" if texts.has_rivals else "dataset"
    return {
        "paper": Basis(level=study.levels.get(texts.set, study.level) or own, constant=study.constant),
        "ours": Basis(level=own, constant="skip"),
    }


def baseline_evaluators(texts: Material) -> list[tuple[Evaluator, str]]:
    """Return the baselines with remarks: the word count, and the text feature that follows the training labels best."""
    best = best_feature(texts.learned_from, texts.assignment.aspect.name) if texts.learned_from else None
    values = feature_values(texts.test, [WORD_COUNT, best.feature if best else WORD_COUNT])
    found = [(Evaluator(BASELINES[0], values[:, 0]), "")]
    if best:
        note = f"{'-' if best.sign < 0 else ''}{best.feature}"
        found.append((Evaluator(BASELINES[1], best.sign * values[:, 1]), note))
    return found


def agreement_row(study: Study, texts: Material, evaluator: Evaluator, **about: Any) -> Row:
    """Return an evaluator's agreement with people, by the paper's rule and by our own; `about` are further fields."""
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
        **about,
    )


def gap(study: Study, texts: Material, first: Evaluator, second: Evaluator) -> Gap:
    """Return the difference of two evaluators in Spearman's correlation, by the paper's rule."""
    basis = bases(study, texts)["paper"]
    systems = [example.system for example in texts.test if example.system is not None]
    found = difference(
        first.scores,
        second.scores,
        [example.scores[texts.assignment.aspect.name] for example in texts.test],
        [example.group for example in texts.test],
        systems if len(systems) == len(texts.test) else None,
        level=basis.level,
        constant=basis.constant,
        coefficient=spearman_rows,
    )
    return Gap(first=first.name, second=second.name, measure="spearman", difference=found.interval.rounded())


def _result(texts: Material, evaluator: Evaluator, basis: Basis) -> Result:
    aspect = texts.assignment.aspect.name
    (found,) = measure_agreement(texts.test, [evaluator], aspect, levels=[basis.level], constant=basis.constant)
    return found


def _figures(result: Result) -> dict[str, Interval]:
    return {name: getattr(result.agreement, name).rounded() for name in COEFFICIENTS}

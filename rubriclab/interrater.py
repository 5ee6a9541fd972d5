"""How far several judges agree when each scores the same texts by one rubric.

Called inter-evaluator agreement by CheckEval (section 5.2), which reports Krippendorff's alpha and Fleiss' kappa but
leaves open what a unit is and how scores are made comparable. Its tables 10, 19 and 21 give checklists an alpha and a
kappa that differ by 0.0001 at most; on complete nominal data they differ by (1 - kappa) / n for n answers, which for
one score a text would show (three judges and 360 texts: 0.0003). So its units are the single yes/no answers, pooled
over texts and questions, and no binning is needed. For scores from 1 to 5 its alpha and kappa lie far apart and nothing
says which were binned, or how. Here therefore stand side by side:

- the answers to each criterion, and those to all of a kind pooled, each pair of text and criterion a unit. Pooling also
  rewards judges for knowing which criteria most texts meet, so pooled figures tend to lie above the single ones;
- among the questions, those whose answers are not all yes or no, by alpha for interval data: where a text is judged in
  parts, an answer can be the share of parts with the good one;
- the scores as they are, by alpha for interval and ordinal data; nominal figures on them would ask whether decimals
  coincide;
- the scores binned, by kappa: bins of equal width from one end of the rubric's scale to the other, as many as the scale
  has levels, so that whole scores on a scale of up to seven keep a bin each. A score on the border of two bins belongs
  to the upper one.

An answer that no reply gave, and one that a judge says does not apply, are left out, and counted apart. Intervals are
over the groups of texts that share an input, or over texts where there are no such groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.rubric import Rubric
from rubriclab.stats.correlation import FloatArray, IntArray, spearman_rows
from rubriclab.stats.folds import renumbered, units
from rubriclab.stats.interval import Interval
from rubriclab.stats.jackknife import estimate
from rubriclab.stats.levels import Unit
from rubriclab.stats.missing import floats
from rubriclab.stats.paired import paired_mean
from rubriclab.stats.reliability import fleiss_kappa, krippendorff_alpha

if TYPE_CHECKING:
    from rubriclab.scoring import Score

Figure = Literal[
    "alpha_interval",
    "alpha_ordinal",
    "alpha_nominal",
    "fleiss_kappa",
]
Reliability = Literal["unreliable", "tentative", "reliable"]
Kind = Literal["yes/no", "part-by-part", "graded"]
Figures = Mapping[Figure, Interval]

COMPUTED: Mapping[Figure, Callable[..., Interval]] = {
    "alpha_interval": partial(krippendorff_alpha, metric="interval"),
    "alpha_ordinal": partial(krippendorff_alpha, metric="ordinal"),
    "alpha_nominal": partial(krippendorff_alpha, metric="nominal"),
    "fleiss_kappa": fleiss_kappa,
}
SCORES: tuple[Figure, ...] = ("alpha_interval", "alpha_ordinal")
YES_NO: tuple[Figure, ...] = ("alpha_nominal", "fleiss_kappa")
PART_BY_PART: tuple[Figure, ...] = ("alpha_interval",)
GRADED: tuple[Figure, ...] = ("fleiss_kappa",)

# Bins are told apart at this many decimals: the mean of five ratings may miss a border by the last bits of its sum.
BORDER_DIGITS = 9
# Alpha from which conclusions are tentative, and from which data are reliable. Krippendorff 2004, "Reliability in
# content analysis", Human Communication Research 30(3).
TENTATIVE, RELIABLE = 0.667, 0.8


@dataclass(frozen=True, slots=True)
class JudgeScores:
    """One judge's scores: how many texts it scored and left unscored, their mean and standard deviation."""

    judge: str
    scored: int
    unscored: int
    mean: float | None
    deviation: float | None


@dataclass(frozen=True, slots=True)
class JudgePair:
    """Two judges, on the `n` texts that both scored; `difference` is the first's mean score less the second's."""

    first: str
    second: str
    n: int
    spearman: Interval
    difference: Interval

    @property
    def verdict(self) -> Literal["higher", "lower", "inconclusive"]:
        """How the first judge scores compared with the second, by the interval of the difference."""
        if self.difference.low is not None and self.difference.low > 0:
            return "higher"
        if self.difference.high is not None and self.difference.high < 0:
            return "lower"
        return "inconclusive"


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    """Agreement of the overall scores, by kappa of binned ones; it rests on `texts` with two scores or more."""

    texts: int
    missing: int
    figures: Figures

    @property
    def reliability(self) -> tuple[Reliability, Reliability] | None:
        """The reliability at both ends of alpha's interval; `None` without an interval."""
        alpha = self.figures["alpha_interval"]
        return None if alpha.low is None or alpha.high is None else (_reliability(alpha.low), _reliability(alpha.high))


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """Agreement on one criterion, or on `criteria` of a kind pooled.

    Attributes:
        id: the criterion's; the kind where several are pooled.
        answers: texts with two answers or more; where pooled, pairs of text and criterion.
        missing: answers that no reply gave.
        inapplicable: answers that the criterion cannot be asked of the text.
        figures: alpha on the answers themselves, kappas of graded criteria on binned ones.
    """

    id: str
    trait: str
    kind: Kind
    criteria: int
    answers: int
    missing: int
    inapplicable: int
    figures: Figures


@dataclass(frozen=True, slots=True)
class InterraterAgreement:
    """What several judges made of the same `texts` by one rubric.

    Attributes:
        bins: how many bins of equal width `scale` is cut into.
        groups: how many groups the texts belong to.
        unit: what intervals are over.
    """

    aspect: str
    scale: Scale
    bins: int
    texts: int
    groups: int
    unit: Unit
    judges: tuple[JudgeScores, ...]
    pairs: tuple[JudgePair, ...]
    scores: ScoreAgreement
    criteria: tuple[CriterionAgreement, ...]
    pooled: tuple[CriterionAgreement, ...]

    def to_row(self) -> dict[str, Any]:
        """Return all of it as one JSON object, with the verdicts that the summary states."""
        pairs = [{**asdict(pair), "verdict": pair.verdict} for pair in self.pairs]
        scores = {**asdict(self.scores), "reliability": self.scores.reliability}
        return asdict(self) | {"scale": self.scale.model_dump(mode="json"), "pairs": pairs, "scores": scores}


def interrater_agreement(
    rubric: Rubric,
    examples: Sequence[Example],
    scored: Mapping[str, Sequence[Score]],
) -> InterraterAgreement:
    """Return how far the judges agree: `scored` holds the scores of `examples`, in their order, by judge."""
    bins = len(rubric.scores_on.anchors())
    groups = [example.group for example in examples]
    cluster = units(groups)
    scores = {judge: floats(row.score for row in rows) for judge, rows in scored.items()}
    answers = _answers(rubric, scored)
    kinds = [[answer for answer in answers if answer.kind == kind] for kind in get_args(Kind)]
    return InterraterAgreement(
        aspect=rubric.aspect.name,
        scale=rubric.scores_on,
        bins=bins,
        texts=len(examples),
        groups=len(set(groups)),
        unit="groups" if 1 < len(set(groups)) < len(groups) else "texts",
        judges=tuple(_judge(judge, values) for judge, values in scores.items()),
        pairs=tuple(_pair(*names, scores, cluster) for names in combinations(scores, 2)),
        scores=_score_agreement(np.stack(list(scores.values())), rubric.scores_on, bins, cluster),
        criteria=tuple(_criterion(answer, rubric.scale, bins, cluster) for answer in answers),
        pooled=tuple(_criterion(_pooled(some), rubric.scale, bins, cluster) for some in kinds if len(some) > 1),
    )


def binned(scores: FloatArray, scale: Scale, bins: int) -> FloatArray:
    """Return the bin of each score, from 0, among `bins` of equal width; nan stays nan, and the ends take the rest."""
    place = np.round((scores - scale.low) / scale.width * bins, BORDER_DIGITS)
    return np.clip(np.floor(place), 0, bins - 1)


class _Answers(NamedTuple):
    """All judges' answers to one criterion, or to several that are pooled: judges x units, nan where there is none."""

    id: str
    trait: str
    kind: Kind
    criteria: int
    values: FloatArray
    inapplicable: int


def _answers(rubric: Rubric, scored: Mapping[str, Sequence[Score]]) -> list[_Answers]:
    known = {criterion.id: criterion for criterion in rubric.criteria}
    rated = [[{rating.id: rating for rating in score.criteria} for score in rows] for rows in scored.values()]
    # What the judges rated: where a method asks for all criteria as one, that is no criterion of the rubric.
    ids = dict.fromkeys(rating for rows in rated for row in rows for rating in row)
    answers = []
    for name in (*(name for name in known if name in ids), *(name for name in ids if name not in known)):
        ratings = [[row.get(name) for row in rows] for rows in rated]
        values = np.stack([floats(rating.score if rating else None for rating in rows) for rows in ratings])
        inapplicable = sum(r is not None and not r.applies for rows in ratings for r in rows)
        criterion = known.get(name)
        kind: Kind = "graded"
        if criterion and criterion.kind == "question":
            kind = "yes/no" if np.isin(values[~np.isnan(values)], (0, 1)).all() else "part-by-part"
        trait = criterion.trait if criterion else "all criteria as one"
        answers.append(_Answers(name, trait, kind, 1, values, inapplicable))
    return answers


def _pooled(answers: Sequence[_Answers]) -> _Answers:
    kind, values = answers[0].kind, np.concatenate([answer.values for answer in answers], axis=1)
    inapplicable = sum(answer.inapplicable for answer in answers)
    return _Answers(kind, "all of them pooled", kind, len(answers), values, inapplicable)


def _criterion(answers: _Answers, scale: Scale, bins: int, cluster: IntArray) -> CriterionAgreement:
    values = answers.values
    if answers.kind == "graded":
        in_bins = _figures(GRADED, binned(values, scale, bins), cluster)
        figures = _figures(["alpha_ordinal"], values, cluster) | in_bins
    else:
        figures = _figures(YES_NO if answers.kind == "yes/no" else PART_BY_PART, values, cluster)
    return CriterionAgreement(
        id=answers.id,
        trait=answers.trait,
        kind=answers.kind,
        criteria=answers.criteria,
        answers=_compared(values),
        missing=int(np.isnan(values).sum()) - answers.inapplicable,
        inapplicable=answers.inapplicable,
        figures=figures,
    )


def _score_agreement(table: FloatArray, scale: Scale, bins: int, cluster: IntArray) -> ScoreAgreement:
    return ScoreAgreement(
        texts=_compared(table),
        missing=int(np.isnan(table).sum()),
        figures=_figures(SCORES, table, cluster) | _figures(GRADED, binned(table, scale, bins), cluster),
    )


def _figures(names: Sequence[Figure], table: FloatArray, cluster: IntArray) -> dict[Figure, Interval]:
    """Return figures of judges x units answers, whose units are the texts, once or several times over."""
    clusters = np.tile(cluster, table.shape[1] // max(1, len(cluster)))
    return {name: COMPUTED[name](table, clusters=clusters) for name in names}


def _compared(table: FloatArray) -> int:
    return int(((~np.isnan(table)).sum(axis=0) >= 2).sum())


def _judge(judge: str, scores: FloatArray) -> JudgeScores:
    given = scores[~np.isnan(scores)]
    mean = float(given.mean()) if len(given) else None
    deviation = float(given.std(ddof=1)) if len(given) > 1 else None
    return JudgeScores(judge, len(given), len(scores) - len(given), mean, deviation)


def _reliability(alpha: float) -> Reliability:
    if alpha < TENTATIVE:
        return "unreliable"
    return "tentative" if alpha < RELIABLE else "reliable"


def _pair(first: str, second: str, scores: Mapping[str, FloatArray], cluster: IntArray) -> JudgePair:
    both = ~np.isnan(scores[first]) & ~np.isnan(scores[second])
    x, y, unit = scores[first][both], scores[second][both], renumbered(cluster[both])
    spearman = estimate(
        lambda counts: spearman_rows(x, y, np.take(counts, unit, axis=1)),
        int(unit.max(initial=-1)) + 1,
        elements=len(x),
        correlation=True,
    )
    return JudgePair(first, second, len(x), spearman, paired_mean(x - y, unit).interval)


def _check(examples: Sequence[Example], scored: Mapping[str, Sequence[Score]], bins: int | None) -> None:
    if len(scored) < 2:
        raise ValueError(f"scored: expected the scores of two judges or more, got {len(scored)}")
    if bins is not None and bins < 2:
        raise ValueError(f"bins: expected at least 2, got {bins}")
    ids = [example.id for example in examples]
    for judge, rows in scored.items():
        if [row.id for row in rows] != ids:
            raise ValueError(f"scored: expected a score of each text in order, which those of {judge} are not")

"""What can be done with a rubric on other texts, each as a rubric and as scores of texts that it was not fitted to.

- `reuse`: as it is; no label has a part in it.
- `recalibrate`: its criteria and their weights stay, and the map onto the scale is fitted anew.
- `reweight`: its criteria stay; what each weighs, and which of them counts at all, is found anew.
- `reselect`: the same with all criteria that were considered when it was learned.
- `relearn`: everything from scratch.

Scores of labelled texts are by rubrics fitted to other groups, every choice made anew for each part of the groups, as
in `rubriclab.learning.fitting`. All numbers in here are on the scale that criteria are asked on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rubriclab.aggregation import (
    DIGITS,
    Aggregation,
    Ask,
    Calibration,
    Term,
    combine,
    disagreement,
    raw_value,
    standardised,
)
from rubriclab.data.scale import Scale
from rubriclab.learning.calibration import as_judged, calibrate, chosen_kind, conformal
from rubriclab.learning.cross_validation import held_out_hardness
from rubriclab.learning.fitting import Fit, fit, held_out, significant
from rubriclab.learning.rating_matrix import BoolArray, RatingMatrix, candidate_table
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.single_method import Trained
from rubriclab.learning.standardise import centers_and_spreads
from rubriclab.rubric import Action, DroppedCriterion, Part, Rubric
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.folds import grouped_folds, units
from rubriclab.text_features.prior import usual_directions
from rubriclab.training_record import TrainingRecord
from rubriclab.transfer.rating_matrix import RatedTexts

# The cheapest first: in labels' share of the result, and in calls.
ACTIONS: tuple[Action, ...] = ("reuse", "recalibrate", "reweight", "reselect", "relearn")

# Degrees of freedom that a new map costs where weights were not found by the same labels: its steepness.
SPENT = 1

LEFT = "not chosen by the labels that the rubric was carried over with"


@dataclass(frozen=True, eq=False)
class LabelledTarget:
    """A rubric on other texts that have labels.

    Attributes:
        rubric: it asks of them what it asked at home.
        rated: the texts by its criteria.
        aspect: whose labels these are.
        onto: the labels' scale.
        settings: how numbers are fitted, as when the rubric was learned.
    """

    rubric: Rubric
    rated: RatedTexts
    aspect: str
    onto: Scale
    settings: JointSettings
    seed: int

    @cached_property
    def table(self) -> RatingMatrix:
        """The texts by the rubric's criteria as numbers, with the labels moved to the scale that these are asked on."""
        return self.table_of(self.rated)

    def table_of(self, rated: RatedTexts) -> RatingMatrix:
        """Return the same for the texts by other criteria."""
        labels = [self.onto.moved_to(self.rubric.scale, text.scores[self.aspect]) for text in rated.examples]
        return candidate_table(
            rated.candidates,
            rated.values,
            np.array(labels, dtype=float),
            texts=[(text.id, text.group) for text in rated.examples],
            # All have been asked already; roughly, the criteria of a method share a call.
            bundles=["" if each.criterion.kind == "measure" else each.method for each in rated.candidates],
            scale=self.rubric.scale,
            usual=self.usual,
        )

    @property
    def usual(self) -> Mapping[str, float]:
        """Which way each surface measure usually goes for the rubric's aspect."""
        return usual_directions(self.rubric.aspect.name, self.rubric.aspect.definition, self.rubric.task)

    @property
    def moved(self) -> Scale | None:
        """The labels' scale, where it is not the one that criteria are asked on."""
        return None if self.onto.same_ends(self.rubric.scale) else self.onto


@dataclass(frozen=True, eq=False)
class AdaptedRubric:
    """One action on labelled texts; arrays of shape (texts,), NaN where there is no score.

    Attributes:
        rubric: what it makes of all labels.
        scores: of each text by what the labels of other groups make.
        raw: the same without what labels say of the scores' level, so that texts of different parts can be compared.
        lenient: scores among whose criteria are some that were made from the text's own label; `None` where there is no
            such criterion. As far as they are too near to the label, `scores` are too far: without these criteria a
            rubric is poorer than one that was made from as many other labels.
    """

    action: Action
    rubric: Rubric
    scores: FloatArray
    raw: FloatArray
    lenient: FloatArray | None = None

    def squares(self, labels: FloatArray) -> FloatArray:
        """Return the squared errors to be expected of other texts: between those of the strict and the lenient scores.

        Measured at home with 30 labels (20 aspects, offline judge), strict scores correlated with labels by 0.42,
        lenient ones by 0.53, and scores of new texts by 0.48.
        """
        strict: FloatArray = np.square(self.scores - labels)
        return strict if self.lenient is None else (strict + np.square(self.lenient - labels)) / 2


def reused(place: LabelledTarget) -> AdaptedRubric:
    """Return the rubric as it is, its scores moved end to end where the labels have another scale."""
    rubric = place.rubric
    scores = floats(rubric.scores_on.moved_to(rubric.scale, each) for each in place.rated.scores.tolist())
    if not rubric.scores_on.same_ends(place.onto):
        own = rubric.aggregation or plain_combination(place)
        rubric = _with(rubric, own.model_copy(update={"onto": place.moved}))
    return AdaptedRubric("reuse", rubric, scores, scores)


def recalibrated(place: LabelledTarget) -> AdaptedRubric:
    """Return the rubric with a new map onto the scale.

    A rubric that does not combine its criteria by learned weights gets the combination that its own weights amount to.
    """
    own = place.rubric.aggregation or plain_combination(place)
    raw, table = raw_values(own, place.rated), place.table
    there, fold = ~np.isnan(raw), grouped_folds(table.groups, place.settings.folds, place.seed)
    scores = np.full(len(raw), np.nan)
    for number in np.unique(fold[there]):
        inside, others = fold == number, (fold != number) & there
        if others.any():
            scores[inside] = _map(raw, others, place).apply(raw[inside])
    scores = np.clip(scores, table.scale.low, table.scale.high)
    found = own.model_copy(update={"calibration": _map(raw, there, place)})
    whole = _finished(found, scores, hardness_of(own, place.rated), place)
    # A map that is level everywhere leaves no order.
    level = np.ptp(found.calibration.apply(raw[there])) == 0 if there.any() else True
    return AdaptedRubric(
        "recalibrate", _with(place.rubric, whole), scores, np.where(there, 0.0, np.nan) if level else raw
    )


def reweighted(
    place: LabelledTarget, rated: RatedTexts | None = None, parts: Sequence[Part] = ()
) -> AdaptedRubric | None:
    """Return a rubric of those criteria that the labels choose, with the weights that they give them.

    `None` where no criterion tells any two texts apart.

    Args:
        rated: the texts by all criteria to choose from, those of `parts`; by default those of the rubric.
    """
    table, rated = (place.table_of(rated), rated) if rated else (place.table, place.rated)
    found = fit(table, place.settings, seed=place.seed)
    if not found.columns:
        return None
    apart = held_out(table, place.settings, seed=place.seed)
    ids = [candidate.criterion.id for candidate in rated.candidates]
    aggregation = Aggregation(
        ask=_ask(place.rubric),
        terms=_terms(found, ids),
        calibration=found.calibration,
    )
    whole = _finished(aggregation, apart.scores, held_out_hardness(apart, table), place)
    chosen = _only(parts or place.rubric.parts, {ids[column] for column in found.columns})
    rubric = _with(place.rubric.model_copy(update={"parts": chosen}), whole)
    return AdaptedRubric("reselect" if parts else "reweight", rubric, apart.scores, apart.raw)


def relearned(place: LabelledTarget, trained: Trained) -> AdaptedRubric:
    """Return the rubric that a training on the same labels gave, by what its record says of each text unseen."""
    if trained.record is None:
        raise ValueError("expected a training of several methods, which keeps a record, got none")
    order = {text.id: row for row, text in enumerate(trained.record.texts)}
    rows = [order[text.id] for text in place.rated.examples]
    predicted = floats(trained.record.texts[row].predicted for row in rows)
    scores, lenient = (_moved(each, place) for each in (predicted, _lenient(place, trained.record, rows)))
    raw = scores - other_means(place.table, place.settings, place.seed)
    # Where whole trainings were left out, nobody has seen a text's own label.
    return AdaptedRubric("relearn", trained.rubric, scores, raw, None if place.settings.relearned else lenient)


def _moved(scores: FloatArray, place: LabelledTarget) -> FloatArray:
    """Return scores on the labels' scale as they are on the one that criteria are asked on."""
    return np.array([place.onto.moved_to(place.rubric.scale, score) for score in scores.tolist()], dtype=float)


def _lenient(place: LabelledTarget, record: TrainingRecord, rows: Sequence[int]) -> FloatArray:
    """Return scores of a training's texts by fits to the other folds, whatever the criteria were made from."""
    table = candidate_table(
        [each.model_copy(update={"made_from": ()}) for each in record.candidates],
        record.matrix,
        np.array([text.label for text in record.texts], dtype=float),
        texts=[(text.id, text.group) for text in record.texts],
        bundles=("",) * len(record.candidates),
        scale=place.onto,
        usual=place.usual,
    )
    found: FloatArray = held_out(table, place.settings, seed=place.seed).scores[list(rows)]
    return found


def other_means(table: RatingMatrix, settings: JointSettings, seed: int) -> FloatArray:
    """Return for each text the mean label of the texts that training did not leave out with it."""
    fold = grouped_folds(table.groups, settings.relearned or settings.folds, seed)
    means = np.full(len(fold), np.nan)
    for number in np.unique(fold):
        if (others := fold != number).any():
            means[fold == number] = table.labels[others].mean()
    return means


def plain_combination(place: LabelledTarget) -> Aggregation:
    """Return the mean of the criteria, each by its own weight, in the form of a combination.

    Centers and spreads are those of the texts at hand; a criterion that says the same of all of them has the spread of
    one point.
    """
    rated, table = place.rated, place.table
    own = np.array([candidate.criterion.weight for candidate in rated.candidates], dtype=float)
    centers, spreads = centers_and_spreads(table.values)
    spreads = significant(np.where(spreads > 0, spreads, np.where(table.unit, 1 / table.scale.width, 1.0)))
    centers = significant(centers)
    sizes = own * spreads * np.where(table.unit, table.scale.width, 1.0)
    weights = (sizes / sizes.sum()).round(DIGITS)
    calibration = as_judged(weights, centers, spreads, table.unit, table.scale)
    if calibration is None:
        raise ValueError("expected criteria with positive weights, got none")
    terms = tuple(
        Term(criterion=candidate.criterion.id, weight=w, center=c, spread=s, low=w, high=w, selected=1.0)
        for candidate, w, c, s in zip(
            rated.candidates, weights.tolist(), centers.tolist(), spreads.tolist(), strict=True
        )
    )
    return Aggregation(ask=_ask(place.rubric), terms=terms, calibration=calibration)


def raw_values(aggregation: Aggregation, rated: RatedTexts) -> FloatArray:
    """Return each text's weighted sum of standardised scores, NaN where too much of it is missing."""
    return floats(raw_value(aggregation, rated.answers(row)) for row in range(len(rated.examples)))


def applied(rubric: Rubric, rated: RatedTexts) -> FloatArray:
    """Return the score of each text by the rubric's combination, on the scale that criteria are asked on.

    Raises:
        ValueError: if the rubric has no combination.
    """
    if rubric.aggregation is None:
        raise ValueError("expected a rubric with a combination, got one without")
    here = rubric.aggregation.model_copy(update={"onto": None})
    return floats(combine(here, rated.answers(row), rubric.scale).score for row in range(len(rated.examples)))


def _with(rubric: Rubric, aggregation: Aggregation) -> Rubric:
    """Return the rubric with another combination, checked as a new one is."""
    return Rubric.model_validate({**dict(rubric), "aggregation": aggregation})


def _ask(rubric: Rubric) -> Ask:
    return rubric.aggregation.ask if rubric.aggregation else "by method"


def _finished(aggregation: Aggregation, scores: FloatArray, hardness: FloatArray, place: LabelledTarget) -> Aggregation:
    """Return the combination with what intervals are made of, on the labels' scale."""
    errors = conformal(scores, place.table.labels, hardness, float(place.settings.confidence))
    return aggregation.model_copy(update={"conformal": errors, "onto": place.moved})


def _map(raw: FloatArray, chosen: BoolArray, place: LabelledTarget) -> Calibration:
    """Return the map onto the scale that suits the chosen texts best."""
    table, settings = place.table.rows(chosen), place.settings
    kind = settings.calibration
    if kind in ("chosen", "none"):
        fold, unit = grouped_folds(table.groups, settings.folds, place.seed), units(table.groups)
        kind = chosen_kind(raw[chosen], table.labels, unit, fold, judged=None, scale=table.scale)
    return calibrate("isotonic" if kind == "isotonic" else "linear", raw[chosen], table.labels, None, spent=SPENT)


def _terms(found: Fit, ids: Sequence[str]) -> tuple[Term, ...]:
    columns = (found.weights, found.centers, found.spreads, found.low, found.high)
    rows = zip(found.columns, *(column.tolist() for column in columns), strict=True)
    return tuple(
        Term(
            criterion=ids[place],
            weight=weight,
            center=center,
            spread=spread,
            low=round(least, DIGITS),
            high=round(most, DIGITS),
            selected=1.0,
        )
        for place, weight, center, spread, least, most in rows
    )


def _only(parts: Sequence[Part], kept: Collection[str]) -> tuple[Part, ...]:
    """Return the parts with the criteria that are kept, and the others among what they have dropped."""
    found = []
    for part in parts:
        own = tuple(criterion for criterion in part.criteria if criterion.id in kept)
        left = (criterion for criterion in part.criteria if criterion.id not in kept)
        dropped = (*part.dropped, *(DroppedCriterion(criterion=each, reason=LEFT) for each in left))
        if own:
            found.append(part.model_copy(update={"criteria": own, "dropped": dropped}))
    return tuple(found)


def hardness_of(aggregation: Aggregation, rated: RatedTexts) -> FloatArray:
    """Return how far the criteria of a combination disagree about each text."""
    rows = [standardised(aggregation, rated.answers(row)) for row in range(len(rated.examples))]
    z = np.array([[row.get(term.criterion, np.nan) for term in aggregation.terms] for row in rows], dtype=float)
    return disagreement(np.array([term.weight for term in aggregation.terms]), z)


def floats(values: Iterable[float | None]) -> FloatArray:
    """Return numbers, NaN for those that are missing."""
    return np.array([np.nan if value is None else value for value in values], dtype=float)

"""More hypotheses from labelled texts that the present ones rate wrongly, where another step had the texts rated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.judges.judge import Judge
from rubriclab.methods.deduplication import find_redundant
from rubriclab.methods.hypoeval.bank import is_wrong, tolerance, utility
from rubriclab.methods.hypoeval.propose import Prediction, ProposalContext, propose
from rubriclab.methods.hypoeval.settings import HypoEvalSettings
from rubriclab.methods.method import TrainingInput
from rubriclab.rubric import Criterion, DroppedCriterion, Part, by_id

# Share of the best hypotheses that must miss a text's label for it to count as wrong.
WRONG_SHARE = 0.5


async def extend(
    part: Part,
    ratings: Mapping[str, Mapping[str, float]],
    training_input: TrainingInput,
    settings: HypoEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
) -> tuple[Part, tuple[str, ...]]:
    """Return a part with hypotheses from the texts whose labels those of `part` miss most, and notes for the user.

    Args:
        ratings: by text, the scores by the hypotheses.
    """
    assignment = training_input.assignment
    wrong = _wrong(part.criteria, ratings, training_input, settings)
    if "labels" not in settings.sources or not wrong:
        return part.model_copy(update={"criteria": (), "dropped": ()}), ()
    texts = tuple(sorted((each for each in training_input.shown if each.id in wrong), key=lambda each: each.id))
    close = tolerance(settings.theta, assignment.scale)
    proposed, failure = await propose(
        settings.new_hypotheses,
        ProposalContext(texts, (), part.criteria, wrong, close),
        assignment,
        generator,
    )
    taken = len(part.criteria) + len(part.dropped)
    new = tuple(each.model_copy(update={"id": f"h{taken + n:02d}"}) for n, each in enumerate(proposed, 1))
    # Hypotheses with ratings are preferred to new ones.
    tiers = [*([each] for each in part.criteria), new]
    redundant, notes = await find_redundant(tiers, "hypothesis", assignment, judge)
    kept = tuple(each for each in new if each.id not in redundant)
    dropped = tuple(DroppedCriterion(criterion=each, reason=redundant[each.id]) for each in new if each.id in redundant)
    failures = (failure,) if failure else ()
    return part.model_copy(update={"criteria": kept, "dropped": dropped}), (*failures, *notes)


def predicted(
    criteria: Sequence[Criterion], scores: Mapping[str, float | None], label: float, theta: float, scale: Scale
) -> tuple[Prediction, ...]:
    """Return the predictions of a text's label by those of the hypotheses that have a score of the text."""
    predictions = []
    for criterion in by_id(criteria):
        if (score := scores.get(criterion.id)) is not None:
            off: Literal["too high", "too low"] = "too high" if score > label else "too low"
            predictions.append(
                Prediction(criterion.id, score, off if is_wrong(score, label, theta, scale) else "close")
            )
    return tuple(predictions)


def _wrong(
    criteria: Sequence[Criterion],
    ratings: Mapping[str, Mapping[str, float]],
    training_input: TrainingInput,
    settings: HypoEvalSettings,
) -> dict[str, tuple[Prediction, ...]]:
    """Return the predictions for the texts whose labels most of the `k` best hypotheses miss, at most `wrong_bank`.

    The texts are of at most half of the groups, since the labels of these groups cannot test what is proposed from
    them.
    """
    scale, aspect = training_input.assignment.scale, training_input.assignment.aspect.name
    labels = {example.id: example.scores[aspect] for example in training_input.shown}

    def accuracy(criterion: Criterion) -> float:
        gains = [
            utility(scores[criterion.id], labels[name], scale)
            for name, scores in sorted(ratings.items())
            if criterion.id in scores
        ]
        return sum(gains) / len(gains) if gains else 0.0

    best = sorted(criteria, key=lambda each: (-accuracy(each), each.id))[: settings.k]
    found = {name: predicted(best, ratings.get(name, {}), labels[name], settings.theta, scale) for name in labels}
    missed = {name: sum(each.verdict != "close" for each in predictions) for name, predictions in found.items()}
    wrong = [
        example
        for example in training_input.shown
        if missed[example.id] >= max(1, WRONG_SHARE * len(found[example.id]))
    ]
    sizes = Counter(example.group for example in wrong)
    half = max(1, len({example.group for example in training_input.shown}) // 2)
    groups = sorted(sizes, key=lambda group: (-sizes[group], group))[:half]
    inside: list[Example] = sorted(
        (example for example in wrong if example.group in groups), key=lambda each: (-missed[each.id], each.id)
    )
    return {example.id: found[example.id] for example in inside[: settings.wrong_bank]}

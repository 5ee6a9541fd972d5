"""Text features as criteria: which ones are taken, what they find, and that nobody is asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypoeval_scripts import ASPECT, assignment, example
from scipy.stats import pearsonr

from rubriclab.errors import DataError
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.holistic import TEXT_FEATURES, TextFeatureSettings
from rubriclab.methods.method import Learned, TrainingInput
from rubriclab.models.text_features import CATALOGUE, Features

SOURCE = "A dog barked at the mill. The miller came out, and the dog ran home to its barn."


def text(number: int, score: float, **fields):
    words = " ".join(["The dog barked", "at the mill", "and ran home", "to its barn"][: number % 4 + 1])
    told = {"source": SOURCE, "group": f"g{number % 4}", **fields}
    return replace(example(number, score), output=f"{words}. It was {number} o'clock.", **told)


TEXTS = tuple(text(number, 1 + number % 5) for number in range(12))


def nobody() -> FakeJudge:
    def refuse(prompt):
        raise AssertionError(f"asked {prompt.name}")

    return FakeJudge(refuse)


async def learned(texts=TEXTS) -> Learned:
    return await TEXT_FEATURES.learn(  # type: ignore[call-arg]
        TrainingInput(tuple(texts), assignment()), TextFeatureSettings(), judge=nobody(), generator=nobody(), seed=1
    )


async def test_every_measure_that_is_defined_and_varies_becomes_a_criterion_and_no_other():
    found = await learned()
    rows = [Features(text.output, text.source, text.context) for text in TEXTS]
    values = {feature.name: [row[feature.name] for row in rows] for feature in CATALOGUE}
    expected = [name for name, each in values.items() if not np.isnan(each).any() and len(set(np.round(each, 6))) > 1]
    assert list(found.candidates) == [criterion.id for criterion in found.part.criteria] == expected
    assert "words_from_source" in expected
    assert "context_covered" not in expected


async def test_ratings_are_the_measures_and_say_their_unit():
    found = await learned()
    column = found.candidates.index("words")
    assert found.examples == tuple(sorted(t.id for t in TEXTS))
    assert found.matrix[:, column].tolist() == [Features(t.output, t.source)["words"] for t in TEXTS]
    assert found.ratings[0][column].reason == f"Measured: {found.matrix[0, column]:g} (words)."


async def test_a_criterion_says_what_is_counted_and_how_it_tracks_the_labels():
    found = await learned()
    criterion = next(each for each in found.part.criteria if each.id == "words")
    r = pearsonr(found.matrix[:, found.candidates.index("words")], [t.scores[ASPECT] for t in TEXTS]).statistic
    assert (criterion.kind, criterion.trait) == ("feature", "number of words")
    assert criterion.statement == "Counted, not judged: number of words (words)."
    assert criterion.evidence.origin == "definition"
    assert criterion.evidence.pearson == pytest.approx(r, abs=1e-6)
    assert (criterion.evidence.judged, criterion.evidence.missing) == (12, 0)


async def test_it_has_no_score_of_the_whole():
    found = await learned()
    assert np.isnan(found.scores).all()
    assert np.isnan(found.reselected).all()
    assert not found.optimistic
    value, ratings = await TEXT_FEATURES.score(TEXTS[3], found.part, assignment(), nobody())
    assert value is None
    assert ratings == found.ratings[found.examples.index(TEXTS[3].id)]


async def test_what_cannot_be_measured_has_no_value_and_says_what_it_lacks():
    part = (await learned()).part
    bare = replace(TEXTS[0], source=None)
    _, ratings = await TEXT_FEATURES.score(bare, part, assignment(), nobody())
    rated = next(each for each in ratings if each.criterion == "words_from_source")
    assert (rated.score, rated.applies) == (None, False)
    assert rated.reason == "Cannot be measured: it needs a source, and there is none."
    assert next(each for each in ratings if each.criterion == "words").score == Features(bare.output)["words"]


async def test_a_measure_that_is_not_known_is_an_error_that_names_it():
    part = (await learned()).part
    strange = part.model_copy(update={"criteria": (part.criteria[0].model_copy(update={"id": "sparkle"}),)})
    with pytest.raises(DataError, match="does not have: 'sparkle'"):
        await TEXT_FEATURES.score(TEXTS[0], strange, assignment(), nobody())

"""Progress, consistency and agreement of raters."""

from __future__ import annotations

import pytest
from label_samples import judged, texts

from rubriclab.models.judgment import (
    Consistency,
    History,
    consistency_of,
    deal,
    progress_of,
    rater_agreement,
)
from rubriclab.stats.reliability import krippendorff_alpha


def test_time_left_is_the_median_of_the_own_answers() -> None:
    items = deal(texts(3, 3), "anna")
    keys = [item.text for item in items if not item.again]
    history = History(judged("anna", key, value=3, seconds=seconds) for key, seconds in zip(keys, (2, 4), strict=False))
    assert progress_of(items, history.of("anna")).seconds_left is None
    history.add(judged("anna", keys[2], value=3, seconds=900))
    history.add(judged("anna", keys[3], kind="skipped"))
    progress = progress_of(items, history.of("anna"))
    assert (progress.done, progress.skipped, progress.total, progress.seconds_left) == (3, 1, 10, 4 * 7)


def test_consistency_compares_second_with_first_ratings() -> None:
    history = History(
        [
            judged("anna", "a", value=3),
            judged("anna", "a", value=4, again=True),
            judged("anna", "b", value=2),
            judged("anna", "b", value=2, again=True),
            judged("anna", "c", value=1, again=True),
            judged("anna", "d", value=1),
            judged("anna", "d", again=True),
        ]
    )
    assert consistency_of(history.of("anna")) == Consistency(repeats=2, same=0.5, difference=0.5)
    assert consistency_of(history.of("ben")) is None


def test_agreement_is_alpha_of_first_ratings_over_groups() -> None:
    own = texts(6, 2)
    values = {"anna": [1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 1, 2], "ben": [1, 3, 3, 4, 4, 5, 4, 2, 2, 1, 2, 2]}
    history = History(
        judged(rater, text.key, value=value)
        for rater, numbers in values.items()
        for text, value in zip(own, numbers, strict=True)
    )
    history.add(judged("anna", own[0].key, value=5, again=True))
    history.add(judged("cleo", "a text of another file", value=5))
    found = rater_agreement(history, own)
    clusters = [number // 2 for number in range(12)]
    expected = krippendorff_alpha(list(values.values()), "interval", clusters)
    assert (found.raters, found.units) == (2, 12)
    assert found.alpha.value == pytest.approx(expected.value)
    assert found.alpha.low < found.alpha.value < found.alpha.high


def test_agreement_needs_two_raters() -> None:
    own = texts(2, 2)
    assert rater_agreement(History([judged("anna", own[0].key, value=1)]), own) is None
    assert rater_agreement(History(), own) is None


def test_consistency_and_agreement_leave_out_other_files() -> None:
    own = texts(3, 2)
    history = History()
    for rater in ("anna", "ben"):
        history.add(judged(rater, "a text of another file", value=3))
        history.add(judged(rater, "a text of another file", value=3, again=True))
        history.add(judged(rater, own[0].key, value=3))
    assert progress_of(deal(own, "anna"), history.of("anna")).consistency is None
    assert rater_agreement(history, own).units == 1

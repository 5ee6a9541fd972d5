"""What criteria are called in a rubric of several methods."""

from __future__ import annotations

from checkeval_scripts import question
from holistic_scripts import whole
from hypoeval_scripts import criterion
from hypothesis import given, strategies as st

from rubriclab.learning.candidates import all_criteria, rename_criteria, unique_names
from rubriclab.models.rubric import (
    Criterion,
    DroppedCriterion,
    Evidence,
    Part,
)


def part(method, *criteria: Criterion, dropped: tuple[tuple[Criterion, str], ...] = ()) -> Part:
    left = tuple(DroppedCriterion(criterion=each, reason=reason) for each, reason in dropped)
    return Part(method=method, settings={}, criteria=criteria, dropped=left)


def measure(name: str) -> Criterion:
    evidence = Evidence(origin="definition")
    return Criterion(id=name, kind="feature", trait="trait", statement="Counted.", evidence=evidence)


def test_ids_that_nobody_else_has_stay():
    parts = [part("hypoeval", criterion("h1")), part("checkeval", question("q1"), question("q2", seed="q1"))]
    assert unique_names(parts) == [{"h1": "h1"}, {"q1": "q1", "q2": "q2"}]
    assert rename_criteria(parts[1], {"q1": "q1", "q2": "q2"}) is parts[1]


def test_a_taken_id_gets_the_name_of_its_method_before_it():
    parts = [part("hypoeval", criterion("x")), part("checkeval", question("x"), dropped=((question("y"), "no"),))]
    assert unique_names(parts) == [{"x": "x"}, {"x": "checkeval.x", "y": "y"}]


def test_the_score_that_a_method_keeps_is_called_after_it():
    explained = part("seeval", whole(id="e2"), dropped=((whole(id="e1"), "e2 tracks the labels better"),))
    assert unique_names([explained, part("direct", whole())]) == [{"e2": "seeval", "e1": "e1"}, {"score": "direct"}]
    assert unique_names([part("hypoeval", criterion("direct")), part("direct", whole())])[1] == {
        "score": "direct.score"
    }


def test_a_measure_keeps_its_name_whoever_comes_first():
    parts = [part("hypoeval", criterion("words")), part("text_features", measure("words"))]
    assert unique_names(parts) == [{"words": "hypoeval.words"}, {"words": "words"}]


def test_a_renamed_part_speaks_of_its_criteria_by_their_new_names():
    before = part(
        "checkeval",
        question("a1"),
        question("a1-e1", seed="a1"),
        dropped=(
            (question("b1"), "answers as a1 does (correlation 0.97)"),
            (question("b2", seed="b1"), "says what a1-e1 says: a10 and xa1 are others."),
        ),
    )
    after = rename_criteria(before, {"a1": "checkeval.a1", "a1-e1": "a1-e1", "b1": "b1", "b2": "b2"})
    assert [each.id for each in all_criteria(after)] == ["checkeval.a1", "a1-e1", "b1", "b2"]
    assert [each.question.seed for each in all_criteria(after) if each.question] == [
        None,
        "checkeval.a1",
        None,
        "b1",
    ]
    assert [each.reason for each in after.dropped] == [
        "answers as checkeval.a1 does (correlation 0.97)",
        "says what a1-e1 says: a10 and xa1 are others.",
    ]
    assert [each.statement for each in all_criteria(after)] == [each.statement for each in all_criteria(before)]


def test_the_explanation_kept_is_named_in_the_reasons_too():
    before = part("seeval", whole(id="e2"), dropped=((whole(id="e1"), "e2 tracks the labels better"),))
    (left,) = rename_criteria(before, unique_names([before])[0]).dropped
    assert (left.criterion.id, left.reason) == ("e1", "seeval tracks the labels better")


NAMES = st.lists(st.sampled_from(["x", "y", "score", "direct", "hypoeval", "hypoeval.x", "checkeval.x"]), unique=True)


@given(first=NAMES, second=NAMES, third=st.lists(st.sampled_from(["x", "y", "direct"]), unique=True))
def test_no_name_is_ever_given_twice(first, second, third):
    parts = [
        part(method, *map(make, names))
        for method, make, names in (
            ("hypoeval", criterion, first),
            ("checkeval", question, second),
            ("direct", lambda name: whole(id=name), ["score"]),
            ("text_features", measure, third),
        )
        if names
    ]
    named = [rename_criteria(each, names) for each, names in zip(parts, unique_names(parts), strict=True)]
    ids = [each.id for part in named for each in all_criteria(part)]
    assert len(set(ids)) == len(ids)
    assert [each.statement for part in named for each in part.criteria] == [
        each.statement for part in parts for each in part.criteria
    ]

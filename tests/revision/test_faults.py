"""What a judge found wrong with a text."""

import pytest
from checkeval_scripts import question
from holistic_scripts import whole
from hypoeval_scripts import assignment, criterion

from rubriclab.errors import SettingsError
from rubriclab.learning.rewriting import require_reasons, text_faults
from rubriclab.learning.scoring import CriterionScore, Score
from rubriclab.methods.method import UnitVerdict
from rubriclab.models.rubric import Part, Rubric
from rubriclab.models.text import Units

OUTPUT = "First one. Second one. Third one."


def rubric(*criteria, method="hypoeval", settings=None, units=None):
    """Return a rubric of one part, on a scale from 1 to 5."""
    part = Part(method=method, settings=settings or {}, criteria=criteria, units=units)
    return of_parts(part)


def of_parts(*parts):
    given = assignment()
    return Rubric(task="summarization", aspect=given.aspect, scale=given.scale, parts=parts)


def scored(*criteria):
    return Score("t", "coherence", 3.0, criteria, None, "r@1", "fake")


def found(given, *criteria, good_from=0.75, output=OUTPUT):
    return text_faults(given, scored(*criteria), output, good_from)


def test_a_hypothesis_scored_low_is_a_fault_of_the_whole_that_aims_at_its_highest_level():
    (fault,) = found(rubric(criterion("order")), CriterionScore("order", 3, "It jumps."))
    best = max(criterion("order").levels, key=lambda level: level.score)
    assert (fault.criterion, fault.asks, fault.aim) == ("order", criterion("order").statement, best.description)
    assert (fault.sentences, fault.reason) == ((), "It jumps.")


@pytest.mark.parametrize(("score", "good_from", "is_fault"), [(4, 0.75, False), (3.9, 0.75, True), (4.9, 1, True)])
def test_from_which_share_of_the_scale_a_score_is_good_can_be_set(score, good_from, is_fault):
    assert bool(found(rubric(criterion("a")), CriterionScore("a", score, ""), good_from=good_from)) == is_fault


@pytest.mark.parametrize("better", ["yes", "no"])
def test_the_bad_answer_to_a_question_is_a_fault_that_aims_at_the_better_one(better):
    given = rubric(question("q1", better=better), question("q2"), method="checkeval")
    (fault,) = found(given, CriterionScore("q1", 0.0, "It does not."), CriterionScore("q2", 1.0, "It does."))
    assert (fault.asks, fault.aim, fault.reason) == (question("q1").statement, better, "It does not.")


def test_what_has_no_score_or_does_not_apply_is_no_fault():
    given = rubric(question("q1"), question("q2"), method="checkeval")
    assert not found(given, CriterionScore("q1", None, "no reply"), CriterionScore("q2", None, "", applies=False))


def test_failing_units_name_their_sentences_counted_from_one():
    given = rubric(whole(), method="dcr", units=Units(kind="sentence", beside=("source",)))
    verdicts = tuple(
        UnitVerdict(words, (place,), value, reason)
        for place, (words, value, reason) in enumerate(
            [("First one.", 0.0, "Not said."), ("Second one.", 1.0, "Said."), ("Third one.", None, "no reply")]
        )
    )
    (fault,) = found(given, CriterionScore("score", 2.0, "", units=verdicts))
    assert (fault.sentences, fault.reason, fault.aim) == ((1,), "Not said.", assignment().aspect.definition)


def test_a_failing_pair_names_both_of_its_sentences():
    given = rubric(question("q1"), method="seal", units=Units(kind="sentence pair"))
    verdict = UnitVerdict("Second one. Third one.", (1, 2), 0.0, "No link.")
    (fault,) = found(given, CriterionScore("q1", 0.5, "", units=(verdict,)))
    assert fault.sentences == (2, 3)


def test_a_unit_that_is_the_whole_text_names_none_of_its_sentences():
    given = rubric(question("q1"), method="seal", units=Units(kind="response"))
    verdict = UnitVerdict(OUTPUT, (), 0.0, "Off the point.")
    assert found(given, CriterionScore("q1", 0.0, "", units=(verdict,)))[0].sentences == ()
    only = UnitVerdict("First one.", (0,), 0.0, "Off the point.")
    assert found(given, CriterionScore("q1", 0.0, "", units=(only,)), output="First one.")[0].sentences == (1,)


def test_of_several_facts_in_a_sentence_the_reason_says_which_is_meant():
    given = rubric(question("q1"), method="seal", units=Units(kind="fact", beside=("source",)))
    verdicts = (UnitVerdict("It is red.", (0,), 0.0, "It is blue."), UnitVerdict("It is big.", (0,), 1.0, "Yes."))
    (fault,) = found(given, CriterionScore("q1", 0.5, "", units=verdicts))
    assert fault.reason == "“It is red.”: It is blue."


def test_a_unit_that_stands_nowhere_in_the_text_is_named_with_its_reason():
    given = rubric(whole(), method="dcr", units=Units(kind="sentence", beside=("reference",)))
    verdicts = (UnitVerdict("It ends in May.", (), 0.0, "Not told."), UnitVerdict(OUTPUT, (), 0.0, "Wrong."))
    faults = found(given, CriterionScore("score", 1.0, "", units=verdicts))
    assert [fault.reason for fault in faults] == ["“It ends in May.”: Not told.", "Wrong."]
    assert [fault.sentences for fault in faults] == [(), ()]


def test_a_unit_rated_on_a_scale_fails_below_the_same_share_as_a_text():
    given = rubric(question("q1"), method="seal", units=Units(kind="sentence"))
    verdicts = tuple(UnitVerdict("s", (place,), value, "r") for place, value in enumerate([0.7, 0.8, 1.0]))
    assert [fault.sentences for fault in found(given, CriterionScore("q1", 0.8, "", units=verdicts))] == [(1,)]


def test_criteria_that_were_rated_as_one_are_one_fault_of_the_aspect():
    given = rubric(criterion("a"), criterion("b"))
    (fault,) = found(given, CriterionScore("overall", 2, "Weak."))
    assert (fault.criterion, fault.asks) == ("coherence", assignment().aspect.definition)
    assert all(name.levels[-1].description in fault.aim for name in (criterion("a"), criterion("b")))


def test_every_part_of_a_rubric_finds_its_own_faults():
    given = of_parts(
        Part(method="hypoeval", settings={}, criteria=(criterion("a"),)),
        Part(method="checkeval", settings={}, criteria=(question("q1"),)),
    )
    rated = (CriterionScore("a", 1, "Low."), CriterionScore("q1", 0.0, "No."))
    assert [fault.reason for fault in found(given, *rated)] == ["Low.", "No."]


def test_scores_without_reasons_are_nothing_to_rewrite_by():
    weighted = Part(method="direct", settings={"scoring": "weighted"}, criteria=(whole(),))
    with pytest.raises(
        SettingsError, match=r"r@1 scores by probabilities.*settings=\{'direct': \{'scoring': 'once'\}\}"
    ):
        require_reasons(of_parts(weighted), "r@1")
    both = of_parts(weighted, Part(method="hypoeval", settings={}, criteria=(criterion("a"),)))
    require_reasons(both, "r@1")
    rated = (CriterionScore("score", 1, "Probability-weighted: 1: 99%."), CriterionScore("a", 1, "Low."))
    assert [fault.reason for fault in found(both, *rated)] == ["Low."]

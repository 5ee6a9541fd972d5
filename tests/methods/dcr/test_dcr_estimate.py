"""DCR's estimate: never less than what is then asked."""

from dataclasses import replace

import pytest
from dcr_scripts import CONVERTED, checklist, evaluation, part, scripted, sentences, text
from holistic_scripts import spent, within
from hypoeval_scripts import ASPECT, assignment

from rubriclab.errors import ChecklistError, DataError
from rubriclab.methods.dcr import DCR, DCRSettings
from rubriclab.methods.dcr.evaluate import LONGEST, PER_REASON
from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.method import TrainingInput, silent

CHOICES = [
    {},
    {"verdict": "with the reason"},
    {"ask": "one by one"},
    {"most_per_call": 3},
    {"level": "paragraph"},
    {"direction": "both"},
    {"direction": "both", "level": "paragraph", "verdict": "with the reason"},
]
TEXTS = tuple(
    replace(text(sentences(n)), id=f"t{n}", group=f"g{n}", scores={ASPECT: 1.0 + n % 5}) for n in (1, 2, 7, 50)
)


def wordy(prompt):
    """Reply with reasons as long as a reply may be."""
    told, whole = evaluation(prompt), LONGEST + PER_REASON * len(prompt.fields["sentences"])
    for entry in told["sentences"]:
        entry["reason"] = "word " * (whole // len(told["sentences"]) - 2) + "consistent."
    return told


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
async def test_learning_never_asks_more_than_was_told(chosen):
    training_input, settings = (
        TrainingInput(TEXTS, assignment(), checklist=checklist()),
        DCRSettings(**CONVERTED | chosen),
    )
    for_judge, for_generator = DCR.learning_at_most(training_input, settings)
    for judge in (scripted(), scripted(evaluate=wordy)):
        await DCR.learn(training_input, settings, judge=judge, generator=judge, seed=1, on_progress=silent)
        assert within(judge, for_judge), (spent(judge), for_judge)
        assert spent(judge).calls == for_judge.calls
    assert for_generator == CallEstimate()


@pytest.mark.parametrize(("chosen", "calls"), list(zip(CHOICES, (4, 2, 100, 34, 2, 6, 2), strict=True)), ids=str)
async def test_scoring_asks_no_more_than_was_told(chosen, calls):
    judge = scripted()
    most = DCR.scoring_at_most(TEXTS[3], part(**chosen), assignment())
    await DCR.score(TEXTS[3], part(**chosen), assignment(), judge)
    assert within(judge, most)
    assert spent(judge).calls == most.calls == calls


def test_a_text_that_cannot_be_compared_takes_nothing():
    for example in (text("A claim.", source=None), text("")):
        assert DCR.scoring_at_most(example, part(), assignment()) == CallEstimate()


def test_what_learning_would_refuse_has_no_estimate():
    with pytest.raises(ChecklistError):
        DCR.learning_at_most(TrainingInput(TEXTS, assignment()), DCRSettings())
    bare = tuple(replace(each, source=None) for each in TEXTS)
    with pytest.raises(DataError):
        DCR.learning_at_most(TrainingInput(bare, assignment(), checklist=checklist()), DCRSettings())
    nothing = DCR.learning_at_most(TrainingInput((), assignment(), checklist=checklist()), DCRSettings())
    assert nothing == (CallEstimate(), CallEstimate())

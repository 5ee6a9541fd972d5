"""What DCR makes of a checklist, and what labelled texts say of it."""

from dataclasses import replace

import pytest
from dcr_scripts import CHECKS, CONVERTED, checklist, of_kind, scripted, sentences, text
from hypoeval_scripts import ASPECT, assignment

from rubriclab.errors import ChecklistError, DataError
from rubriclab.methods.dcr import DCRSettings, learn, listed_checks
from rubriclab.methods.method import TrainingInput
from rubriclab.models.text import Units


def labelled(bad=(0, 1, 2, 3), **fields):
    """Return texts of four sentences, of which so many are false, with labels that fall as these rise."""
    return tuple(
        replace(
            text(sentences(4, bad=range(1, wrong + 1)), **fields),
            id=f"t{at}",
            group=f"g{at % 2}",
            scores={ASPECT: 5.0 - wrong},
        )
        for at, wrong in enumerate(bad)
    )


async def run(texts=(), given=None, judge=None, on_progress=None, **chosen):
    training_input = TrainingInput(tuple(texts), assignment(), checklist=given or checklist())
    judge = judge or scripted()
    told = {"on_progress": on_progress} if on_progress else {}
    return await learn(training_input, DCRSettings(**CONVERTED | chosen), judge=judge, generator=judge, seed=1, **told)


async def test_the_criterion_lists_the_checks_and_which_answer_is_good():
    learned = await run()
    (criterion,) = learned.part.criteria
    assert criterion.kind == "score"
    assert criterion.trait == ASPECT
    assert criterion.statement == (
        "Each sentence of the summary is held against the source text by these checks:\n"
        f"- {CHECKS[0]}\n- {CHECKS[1]} (No is the good answer.)"
    )
    assert listed_checks(criterion) == [CHECKS[0], f"{CHECKS[1]} (No is the good answer.)"]
    assert learned.part.units == Units(kind="sentence", beside=("source",))
    assert learned.part.settings == DCRSettings(**CONVERTED).model_dump(mode="json")


async def test_without_labels_nothing_is_asked():
    judge = scripted()
    learned = await run(judge=judge)
    assert judge.prompts == []
    assert (learned.examples, learned.matrix.shape, learned.optimistic) == ((), (0, 1), False)
    assert learned.part.criteria[0].evidence.judged == 0


async def test_labelled_texts_are_evidence_and_decide_nothing():
    texts = labelled()
    learned = await run(texts)
    evidence = learned.part.criteria[0].evidence
    assert (evidence.judged, evidence.missing, evidence.pearson) == (4, 0, 1.0)
    assert learned.scores.tolist() == [5, 4, 3, 2]
    assert not learned.optimistic
    turned = [replace(each, scores={ASPECT: 6.0 - each.scores[ASPECT]}) for each in texts]
    other = await run(turned)
    assert other.part.criteria[0].evidence.pearson == -1.0
    assert other.part.criteria[0].statement == learned.part.criteria[0].statement
    assert other.scores.tolist() == learned.scores.tolist()


async def test_a_text_without_what_it_is_held_against_is_missing_and_costs_nothing():
    texts = (*labelled((0, 1, 2)), *(replace(each, id="x", source=None) for each in labelled((3,))))
    judge = scripted()
    learned = await run(texts, judge=judge)
    evidence = learned.part.criteria[0].evidence
    assert (evidence.judged, evidence.missing) == (3, 1)
    assert len(of_kind(judge, "evaluate")) == 3


@pytest.mark.parametrize("material", ["source", "context", "reference"])
async def test_where_no_text_has_it_learning_fails_before_anything_is_asked(material):
    judge, beside = scripted(), checklist({"kind": "sentence", "beside": [material]})
    bare = [replace(each, source=None) for each in labelled()]
    with pytest.raises(DataError, match=f"None of the 4 labelled texts can be held against its .*field '{material}'"):
        await run(bare, beside, judge)
    assert judge.prompts == []
    there = [replace(each, **{material: "Ann met Bo."}) for each in bare]
    assert (await run(there, beside)).part.units.beside == (material,)


@pytest.mark.parametrize(
    ("units", "came"),
    [
        (None, "come without units: nothing says what sentences are held against"),
        ({"kind": "sentence pair", "beside": ["source"]}, "are for a sentence pair beside source, which"),
        ({"kind": "fact", "beside": ["source", "reference"]}, "are for a fact beside source and reference, which"),
        ({"kind": "sentence"}, "are for a sentence beside nothing, which"),
        ({"kind": "sentence", "beside": ["source", "context"]}, "sentence beside source and context, which"),
        (
            {"kind": "sentence", "beside": ["source"], "weights": "judge"},
            "sentence beside source, with weights from the judge",
        ),
    ],
    ids=str,
)
async def test_a_checklist_for_something_else_is_refused_with_what_was_expected(units, came):
    given = checklist().model_copy(update={"units": Units.model_validate(units) if units else None})
    with pytest.raises(ChecklistError, match=came) as raised:
        await run(labelled(), given)
    assert '"units": {"kind": "sentence", "beside": ["source"]}' in raised.value.hint

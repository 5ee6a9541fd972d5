"""Rewriting by the offline judge: sentences that fail give way to sentences that are shown, the others stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubriclab.checklist import load_checklist
from rubriclab.data import Assignment, Example, Scale, find_aspect, read, task_words
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.methods.dcr import DCRSettings
from rubriclab.methods.dcr.evaluate import make_criterion
from rubriclab.revision.faults import TextFault
from rubriclab.revision.improve import ImproveSettings, improve_stream
from rubriclab.revision.record import Improvement
from rubriclab.revision.rewrite import RewriteDraft, rewrite, rewrite_prompt
from rubriclab.rubric import Part, Rubric
from rubriclab.sentences import split_sentences

SAMPLE = Path(__file__).resolve().parents[3] / "experiments" / "sample"
JUDGE = EmbeddedJudge()
SOURCE = (
    "The council will close the Harrow bridge on 3 November. Its cables are rusty, and repairs would cost 1.4 million "
    "crowns. Buses may cross until then."
)
FIRST, WRONG, ELSEWHERE = (
    "The bridge closes on 3 November.",
    "Repairs of the rusty cables cost 6.8 million crowns.",
    "Seagulls drink salty water.",
)


def consistency() -> Rubric:
    aspect, scale = find_aspect("summarization", "consistency"), Scale(low=1, high=5, whole=True)
    checks = load_checklist("summarization", "consistency", folder="comparisons")
    criterion = make_criterion(checks, "source", Assignment(task_words("summarization"), aspect, scale))
    settings = DCRSettings().model_dump(mode="json")
    part = Part(method="dcr", settings=settings, criteria=(criterion,), units=checks.units)
    return Rubric(task="summarization", aspect=aspect, scale=scale, parts=(part,))


def fault(*sentences: int, asks: str = "Is each sentence borne out?") -> TextFault:
    return TextFault("support", asks, "yes", sentences, "It is not.")


async def rewritten(
    output: str, *faults: TextFault, source: str = SOURCE, sample: int = 0, aspect: str = "consistency"
) -> RewriteDraft:
    text = Example(id="t", output=output, group="g", source=source)
    rubric = consistency().model_copy(update={"aspect": find_aspect("summarization", aspect)})
    free = any(not each.sentences for each in faults)
    return await rewrite(JUDGE, rewrite_prompt(rubric, text, faults, sample, any_sentence=free), output)


async def test_a_failing_sentence_gives_way_to_the_nearest_one_that_is_shown() -> None:
    draft = await rewritten(f"{FIRST}  {WRONG}", fault(2))
    assert draft.output == f"{FIRST}  {split_sentences(SOURCE)[1]}"
    assert draft.changes[0].reasoning.startswith("Measured, not read: ")


@pytest.mark.parametrize(
    ("output", "failing"),
    [(f"{FIRST} {ELSEWHERE}", 2), (f"{WRONG.replace('6.8', '1.4')} {WRONG}", 2)],
    ids=["nothing is near", "the text has it already"],
)
async def test_where_no_other_sentence_will_do_the_failing_one_goes(output: str, failing: int) -> None:
    draft = await rewritten(output, fault(failing))
    assert split_sentences(draft.output) == (split_sentences(output)[0],)


async def test_the_last_sentence_is_never_taken_away() -> None:
    assert (await rewritten(ELSEWHERE, fault(1))).unusable == "the rewriting changes no sentence"
    two = await rewritten(f"{ELSEWHERE} Dogs bark loudly.", fault(1, 2))
    assert len(split_sentences(two.output)) == 1


async def test_two_failing_sentences_do_not_become_the_same_one() -> None:
    draft = await rewritten(f"{WRONG} {WRONG.replace('6.8', '5')}", fault(1, 2))
    assert split_sentences(draft.output) == (split_sentences(SOURCE)[1],)


async def test_what_is_put_in_is_written_as_the_text_is() -> None:
    draft = await rewritten("the bridge closes on 3 november . repairs of the rusty cables cost 9 crowns .", fault(2))
    assert draft.output.endswith("november . its cables are rusty , and repairs would cost 1.4 million crowns .")
    cased = await rewritten(f"{FIRST} {WRONG}", fault(2), source="its cables are rusty , repairs cost little .")
    assert cased.output == f"{FIRST} Its cables are rusty, repairs cost little."


async def test_another_sample_may_choose_another_sentence() -> None:
    source = " ".join(f"Repairs of the rusty cables cost {number} million crowns." for number in range(2, 9))
    seen = {(await rewritten(f"{FIRST} {WRONG}", fault(2), source=source, sample=n)).output for n in range(6)}
    assert len(seen) > 1


async def test_a_fault_of_the_whole_text_changes_one_sentence_by_which_it_measures_better() -> None:
    asked = fault(asks="Is the text free of repeated sentences and redundant words?")
    draft = await rewritten(f"{FIRST} {ELSEWHERE} {FIRST}", asked, source="", aspect="coherence")
    assert len(draft.changes) == 1
    assert sorted(split_sentences(draft.output)) == sorted((FIRST, ELSEWHERE))


async def test_where_nothing_can_be_gained_nothing_is_changed() -> None:
    draft = await rewritten("A word.", fault(asks="Does it have enough words?"), source="")
    assert draft.changes == ()


# The shipped sample


async def improved(file: str) -> list[tuple[Example, Improvement]]:
    rubric, rows = consistency(), [row for row in read(SAMPLE / file) if isinstance(row, Example)]
    rounds = ImproveSettings(rounds=3)
    found = [each async for each in improve_stream(rubric, rows, JUDGE, "consistency@1", settings=rounds)]
    return list(zip(rows, found, strict=True))


@pytest.mark.parametrize("file", ["labelled.jsonl", "heldout.jsonl"])
async def test_damaged_texts_of_the_sample_gain_consistency_and_sound_ones_are_mostly_found_sound(file: str) -> None:
    rose, sound = [], []
    for text, done in await improved(file):
        assert done.before is not None
        assert done.after is not None
        units = done.before.criteria[0].units
        if "swapped_facts" in (text.system or "") or "off_topic" in (text.system or ""):
            rose.append((done.after.score or 0) > (done.before.score or 0))
        else:
            sound += [unit.value == 1 for unit in units]
        passed = [unit.unit for unit in units if unit.value == 1]
        assert [each for each in split_sentences(done.output or "") if each in passed] == passed
    assert sum(rose) >= 0.8 * len(rose) > 0
    assert sum(sound) >= 0.9 * len(sound) > 0

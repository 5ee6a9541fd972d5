"""Candidates of several methods: what each method found, side by side, and how it is named."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from candidate_plans import TEXTS, found_by, plan, plans
from hypothesis import given, strategies as st
from scripted_judge import Scripted, assignment, criterion, jointly, part_of, question, scripted, whole

from rubriclab.errors import DataError, JudgeError, JudgeUnavailable, SettingsError
from rubriclab.judges.judge import FakeJudge
from rubriclab.learning.candidates import (
    NOT_RATED_REASON,
    Candidates,
    all_criteria,
    rename_criteria,
    unique_ids,
    usable_form,
)
from rubriclab.methods.method import ignore_progress
from rubriclab.models.base import digest
from rubriclab.models.rubric import Criterion, DroppedCriterion, Evidence, Part
from rubriclab.models.text import sort_by_content

EVERY = ("hypoeval", "checkeval", "seeval", "seal", "direct", "few_shot", "analyze_rate", "text_features")


@pytest.fixture(scope="module")
def everything_found() -> Candidates:
    return asyncio.run(found_by(*plans(*EVERY)))


def columns(found: Candidates, method: str) -> list[int]:
    return [place for place, each in enumerate(found.candidates) if each.method == method]


@pytest.mark.parametrize("name", ["hypoeval", "checkeval", "seal", "text_features"])
async def test_everything_that_a_method_had_rated_is_a_candidate_with_its_scores_and_reasons(name):
    found, given, judge = await found_by(*plans("direct", name)), plan(name), scripted()
    learned = await given.method.learn(
        given.training_input, given.settings, judge=judge, generator=judge, seed=1, on_progress=ignore_progress
    )
    own = columns(found, name)
    assert [found.ids[place] for place in own] == list(learned.candidates)
    for text, row in zip(found.examples, found.cells, strict=True):
        rated = learned.ratings[learned.examples.index(text.id)]
        cells = [row[place] for place in own]
        assert [(c.score, c.reason, c.applies) for c in cells] == [(r.score, r.reason, r.applies) for r in rated]


async def test_nothing_is_asked_twice():
    judge = scripted()
    await found_by(*plans(*EVERY), judge=judge)
    asked = Counter(digest([p.name, p.fields, p.sample, p.temperature]) for p in judge.prompts if p.repair is None)
    assert set(asked.values()) == {1}


async def test_the_order_of_the_texts_does_not_matter(everything_found):
    first, again = everything_found, await found_by(*plans(*EVERY, texts=TEXTS[::-1]))
    assert first.examples == sort_by_content(TEXTS) != TEXTS
    for field in ("examples", "candidates", "cells", "parts"):
        assert getattr(first, field) == getattr(again, field)


async def test_a_failed_rating_is_missing_with_its_reason():
    def script(prompt, usual=Scripted()):  # noqa: B008
        if prompt.name == "direct/rate" and prompt.fields["output"] == TEXTS[2].output:
            raise JudgeUnavailable("too busy")
        return usual(prompt)

    found = await found_by(*plans("direct", "text_features"), judge=FakeJudge(script))
    row = found.cells[found.examples.index(TEXTS[2])]
    assert row[0].score is None
    assert "too busy" in row[0].reason
    assert row[0].applies
    assert np.isnan(found.table(assignment(), "by method").values[:, 0]).sum() == 1


async def test_texts_shown_beside_others_have_no_score_and_count_as_seen():
    found = await found_by(*plans("direct", "few_shot"))
    place = found.ids.index("few_shot")
    shown = found.candidates[place].made_from
    assert len(shown) == 3
    for text, row in zip(found.examples, found.cells, strict=True):
        assert (row[place].reason == NOT_RATED_REASON) == (row[place].score is None) == (text.id in shown)


async def test_an_explanation_that_never_comes_is_left_out_with_the_reason_and_ends_learning_by_it_alone():
    found = await found_by(*plans("hypoeval", "seeval", "direct"), judge=scripted(explain=lambda _: "nothing of use"))
    assert {each.method for each in found.candidates} == {"hypoeval", "direct"}
    (note,) = (note for note in found.notes if "seeval" in note)
    assert note.startswith("seeval is left out: No explanation could be obtained: ")
    with pytest.raises(JudgeError, match="No explanation could be obtained"):
        await found_by(*plans("seeval"), judge=scripted(explain=lambda _: "nothing of use"))


class Watched(Scripted):
    """Remembers for every wording which texts had been shown with their scores to whoever worded it."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: dict[str, set[str]] = defaultdict(set)

    def __call__(self, prompt: Any) -> Any:
        said = super().__call__(prompt)
        fields = prompt.fields
        texts = {each["output"] for each in (*fields.get("observations", ()), *fields.get("texts", ()))}
        if prompt.name in ("hypoeval/propose", "hypoeval/refine"):
            before = set().union(*(self.shown[each["statement"]] for each in fields.get("hypotheses", ())))
            self._remember((each["statement"] for each in said["hypotheses"]), texts | before)
        elif prompt.name == "seeval/refine":
            self._remember([said["explanation"]], texts)
        elif prompt.name == "seal/propose":
            self._remember((each["question"] for each in said["sub_dimensions"]), texts)
        return said

    def _remember(self, statements: Any, texts: set[str]) -> None:
        for statement in statements:
            self.shown[statement] |= texts


async def test_a_candidate_knows_every_text_that_its_makers_were_shown():
    watched = Watched()
    found = await found_by(*plans("hypoeval", "seeval", "seal"), judge=FakeJudge(watched))
    outputs = {text.id: text.output for text in TEXTS}
    told = {each.criterion.statement: {outputs[name] for name in each.made_from} for each in found.candidates}
    assert told == {statement: watched.shown[statement] for statement in told}
    assert {each.method for each in found.candidates if each.made_from} >= {"hypoeval", "seal"}
    dropped = [each.criterion for part in found.parts for each in part.dropped]
    assert all({outputs[i] for i in c.evidence.examples} == watched.shown[c.statement] for c in dropped)


def test_a_candidate_counts_as_seen_by_all_texts_of_the_groups_that_it_was_made_from(everything_found):
    found = everything_found
    table = found.table(assignment(), "by method")
    group = {text.id: text.group for text in TEXTS}
    for place, candidate in enumerate(found.candidates):
        groups = {group[name] for name in candidate.made_from}
        assert table.is_from_own_group[:, place].tolist() == [text.group in groups for text in found.examples]
    assert table.is_from_own_group.any()
    assert not table.is_from_own_group[:, columns(found, "checkeval") + columns(found, "text_features")].any()


def test_ratings_of_joint_calls_count_in_one_call_if_there_are_any(everything_found):
    joint = tuple(reversed(everything_found.cells))
    both = replace(everything_found, joint_ratings=joint)
    assert (both.cells_for("in one call"), both.cells_for("by method")) == (joint, everything_found.cells)
    assert replace(both, joint_ratings=()).cells_for("in one call") == everything_found.cells


def test_the_table_holds_scores_labels_groups_and_what_kind_each_score_is_of(everything_found):
    found = everything_found
    table = found.table(assignment(), "by method")
    assert table.values.shape == table.is_from_own_group.shape == (len(TEXTS), len(found.ids))
    assert table.labels.tolist() == [text.scores[assignment().aspect.name] for text in found.examples]
    groups = [text.group for text in found.examples]
    assert [[a == b for b in table.groups] for a in table.groups] == [[a == b for b in groups] for a in groups]
    assert table.methods == tuple(candidate.method for candidate in found.candidates)
    assert table.scale == assignment().scale
    of = np.array(table.methods)
    assert (table.is_question == np.isin(of, ["checkeval", "seal"])).all()
    assert (table.is_feature == (of == "text_features")).all()
    shares, points = table.values[:, table.is_question], table.values[:, ~table.is_question & ~table.is_feature]
    assert 0 <= np.nanmin(shares) <= np.nanmax(shares) <= 1
    assert 1 <= np.nanmin(points) <= np.nanmax(points) <= 5


async def test_plans_that_give_no_common_candidates_are_refused():
    with pytest.raises(DataError, match="labelled texts; got none"):
        await found_by(*plans("direct", texts=()))
    with pytest.raises(SettingsError, match=r"hypoeval\.ask is 'concatenated'.*Set"):
        await found_by(plan("hypoeval", ask="concatenated"), plan("direct"))


def part(method, *criteria: Criterion, dropped: tuple[tuple[Criterion, str], ...] = ()) -> Part:
    left = tuple(DroppedCriterion(criterion=each, reason=reason) for each, reason in dropped)
    return Part(method=method, settings={}, criteria=criteria, dropped=left)


def measure(name: str) -> Criterion:
    evidence = Evidence(origin="definition")
    return Criterion(id=name, kind="feature", trait="trait", statement="Counted.", evidence=evidence)


def test_the_score_that_a_method_keeps_is_called_after_it():
    explained = part("seeval", whole(id="e2"), dropped=((whole(id="e1"), "e2 tracks the labels better"),))
    assert unique_ids([explained, part("direct", whole())]) == [{"e2": "seeval", "e1": "e1"}, {"score": "direct"}]
    assert unique_ids([part("hypoeval", criterion("direct")), part("direct", whole())])[1] == {"score": "direct.score"}


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
    assert [each.question.seed for each in all_criteria(after) if each.question] == [None, "checkeval.a1", None, "b1"]
    assert [each.reason for each in after.dropped] == [
        "answers as checkeval.a1 does (correlation 0.97)",
        "says what a1-e1 says: a10 and xa1 are others.",
    ]
    assert [each.statement for each in all_criteria(after)] == [each.statement for each in all_criteria(before)]


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
    named = [rename_criteria(each, names) for each, names in zip(parts, unique_ids(parts), strict=True)]
    ids = [each.id for part in named for each in all_criteria(part)]
    assert len(set(ids)) == len(ids)
    assert [each.statement for part in named for each in part.criteria] == [
        each.statement for part in parts for each in part.criteria
    ]


async def test_equal_scores_are_tried_in_two_simpler_forms_with_five_calls_more():
    judge = jointly(lambda reply: {name: {"reason": "Fine.", "score": 3} for name in reply})
    hypotheses = part_of("hypoeval", *(criterion(f"h{number}") for number in range(6)))
    found = await usable_form(TEXTS, [hypotheses], assignment(), judge, 6)
    assert (found.form, len(found.ratings)) == (None, 5)
    assert [len(prompt.fields["criteria"]) for prompt in judge.prompts] == [6] * 5 + [3] * 2 + [1] * 3
    assert found.note.startswith("asked about 6 criteria at once, the judge gave every text the same value")
    judge = jointly(lambda reply: reply)
    assert (await usable_form(TEXTS, [hypotheses], assignment(), judge, 6)).note == ""
    assert len(judge.prompts) == 5


async def test_a_judge_without_a_usable_reply_is_asked_once_in_each_of_five_simpler_forms():
    judge = FakeJudge(lambda _: "A fine text.")
    hypotheses = part_of("hypoeval", *(criterion(f"h{number}") for number in range(22)))
    with pytest.raises(JudgeError, match="no usable rating of 5 texts in any form"):
        await usable_form(TEXTS, [hypotheses], assignment(), judge, 22)
    assert [len(prompt.fields["criteria"]) for prompt in judge.prompts] == [22] * 5 + [7, 4, 2, 1, 1]

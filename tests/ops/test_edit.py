"""A rubric that a person edits: what is asked, what is saved, and what is kept by edits, packs and transfers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from edit_samples import EFFORT, SETTINGS, assignment, candidates, examples, provenance

from rubriclab import Lab, SettingsError
from rubriclab.learning.train import JointResults
from rubriclab.models.aggregation import weight_bounds
from rubriclab.models.evaluation import CALIBRATED, DIRECT, WHOLE
from rubriclab.ops.edit import EditResult
from rubriclab.store.store import open_store

TEXTS = len(examples())
WHO = {"author": "anna", "because": "it counts links twice"}
STATEMENT = "Each sentence follows from the one before it."
QUESTION = "Does a sentence contradict another one? (better: no)"


@pytest.fixture(scope="module")
def read_only(planted_store: Any) -> Lab:
    """The planted store, for previews of edits without calls, which save nothing."""
    return Lab(planted_store, progress=None)


def weights(result: EditResult) -> dict[str, float]:
    return {term.criterion: term.weight for term in result.rubric.aggregation.terms}


@pytest.mark.parametrize(
    ("changes", "rated", "calls"),
    [
        ({"drop": ("length", "dates")}, (), 0),
        (
            {
                "reword": {"links": "Its sentences are linked."},
                "merge": {"detail,theory": "It gives details of one theory."},
                "add": (STATEMENT, QUESTION),
                "drop": "dates",
            },
            ("links.2", "detail+theory", "a01", "a02"),
            2 * TEXTS,
        ),
    ],
)
def test_an_edit_asks_for_the_new_criteria_only_and_the_others_keep_their_ratings(
    changes: dict[str, Any], rated: tuple[str, ...], calls: int, planted_lab: Lab
) -> None:
    lab = planted_lab
    before = lab.training_record("planted")
    bound = lab.dry_run("edit", "planted", **changes)
    assert sum(role.calls for role in bound.roles.values()) == calls
    result = lab.edit("planted", **changes, **WHO)
    assert result.effort.calls == calls
    after = lab.training_record(result.saved)
    old, new = (
        {each.criterion.id: [row[place] for row in record.cells] for place, each in enumerate(record.candidates)}
        for record in (before, after)
    )
    assert set(new) - set(old) == set(rated)
    assert {name: new[name] for name in old} == old
    assert all(cell.score is not None for name in rated for cell in new[name])
    assert {each.criterion.id for each in after.candidates if each.kept} == set(weights(result))
    removed = {each.criterion.id for each in after.candidates if each.by_hand == "removed"}
    changed = {change for each in result.saved.provenance.edit.changes for change in each.criteria}
    assert removed == changed - set(weights(result))


def test_a_new_definition_asks_for_every_criterion_also_beside_a_new_wording(planted_lab: Lab) -> None:
    changes = {"definition": "How well its parts fit.", "reword": {"links": STATEMENT}, "drop": ("dates", "length")}
    result = planted_lab.edit("planted", **changes, **WHO)
    assert result.effort.calls == len(result.rubric.parts) * TEXTS
    assert result.rubric.aspect.definition == "How well its parts fit."
    record = planted_lab.training_record(result.saved)
    kept = {each.criterion.id for each in record.candidates}
    assert kept == {"order", "theory", "detail", "names", "links.2", "direct"}
    assert not any(cell.reason == "planted" for row in record.cells for cell in row)


def test_the_child_names_its_parent_who_changed_what_and_why_and_what_that_did(planted_lab: Lab) -> None:
    result = planted_lab.edit("planted", drop="links", pin={"order": 0.25}, **WHO)
    child = planted_lab.load("planted")
    assert (child.ref, child.parent) == ("planted@2", "planted@1")
    edit = child.provenance.edit
    assert (edit.author, edit.because, edit.labels, edit.folds) == ("anna", "it counts links twice", TEXTS, 3)
    assert [(change.action, change.criteria, change.after) for change in edit.changes] == [
        ("drop", ("links",), None),
        ("pin", ("order",), "0.25"),
    ]
    assert edit.difference == result.effect.difference
    reasons = {entry.criterion.id: entry.reason for part in child.rubric.parts for entry in part.dropped}
    assert reasons["links"] == "dropped by anna: it counts links twice"
    validation = child.provenance.validation
    assert validation.evaluators[0].pearson.value == pytest.approx(edit.after.value, abs=1e-6)
    # The parent's figures are those of its learning: the edit uses the same folds and the same procedure.
    assert edit.before.value == pytest.approx(result.effect.recorded.value, abs=1e-6)


def test_an_edited_rubric_is_compared_with_the_judge_asked_directly(planted: Any, planted_lab: Lab) -> None:
    lab, made = planted_lab, candidates()
    joint = replace(made, joint_ratings=tuple((*row[:-1], row[0]) for row in made.cells))
    results = JointResults(joint, assignment(), SETTINGS.model_copy(update={"ask": "in one call"}))
    rubric, learned = results.rubric(), results.validation
    with open_store(planted.folder / "store.db") as store:
        origin = provenance("embedded", validation=learned)
        parent = store.save("joined", rubric, origin, EFFORT, training=results.record(rubric))
    one = lab.edit(parent, drop="links", **WHO).saved
    for version in (one, lab.edit(one, drop="direct", **WHO).saved):
        found = version.provenance.validation
        own, of_parent = ([e for e in each.evaluators if e.name in (DIRECT, CALIBRATED)] for each in (found, learned))
        assert own == of_parent
        assert all(map(found.verdict_against, (DIRECT, CALIBRATED)))
        assert (found.verdict_against(WHOLE) is None) == ("direct" not in version.rubric.terms)
    defined = lab.edit(parent, definition="How well its parts fit.", **WHO).saved
    assert defined.lacks_direct
    assert not defined.evaluation_prevails(compared_with_direct=False)


def test_limits_are_kept_by_later_edits_and_packs_until_they_are_lifted(planted_lab: Lab, tmp_path: Any) -> None:
    lab, limits = planted_lab, {"links": (0.3, 0.3), "names": (0.0, 0.1)}
    first = lab.edit("planted", pin={"links": 0.3}, bound={"names": (0, 0.1)}, **WHO)
    assert weight_bounds(first.rubric.aggregation) == limits
    second = lab.edit(first.saved, drop="dates", **WHO)
    assert weight_bounds(second.rubric.aggregation) == limits
    assert weights(second)["links"] == pytest.approx(0.3, abs=1e-6)
    assert weights(second)["names"] <= 0.1 + 1e-6

    lab.export(second.saved, tmp_path / "pack.json")
    imported = lab.import_(tmp_path / "pack.json", "imported")
    assert imported.rubric == second.saved.rubric
    assert imported.provenance.edit == second.saved.provenance.edit
    assert "dates" in {entry.criterion.id for part in imported.rubric.parts for entry in part.dropped}

    lifted = lab.edit(second.saved, bound={"links": "free", "names": None}, preview=True)
    assert weight_bounds(lifted.rubric.aggregation) == {}
    assert weights(lifted)["names"] > 0.11


def test_new_answers_come_from_the_judge_of_the_kept_ratings_only(read_only: Lab) -> None:
    with pytest.raises(SettingsError, match=r"kept ratings of planted@1 are by embedded; ratings by openai/fake"):
        read_only.edit("planted", add=STATEMENT, judge="openai/fake", preview=True)
    # Without new answers the judge does not matter.
    assert read_only.edit("planted", drop="links", judge="openai/fake", preview=True).effort.calls == 0


def test_other_labelled_texts_are_rated_by_every_criterion_and_known_ones_are_not(
    planted_lab: Lab, tmp_path: Any
) -> None:
    rows = [
        {"id": each.id, "group": each.group, "output": each.output, "source": each.source, "scores": dict(each.scores)}
        for each in examples()[4:]
    ]
    known = planted_lab.edit("planted", drop="links", labels=rows, preview=True)
    assert (known.effort.calls, known.effect.n) == (0, TEXTS - 4)
    new = [{**row, "id": f"n{place}", "output": f"{row['output']} The end."} for place, row in enumerate(rows[:2])]
    mixed = planted_lab.edit("planted", drop="links", labels=[*rows, *new], preview=True)
    assert (mixed.effort.calls, mixed.effect.n) == (len(mixed.rubric.parts) * len(new), TEXTS - 2)


def test_an_equal_rubric_gets_no_new_version_and_any_name_gets_a_next_one(planted_lab: Lab) -> None:
    lab = planted_lab
    assert lab.edit("planted", bound={"links": "free"}, **WHO).saved.ref == "planted@1"
    other = lab.edit("planted", drop="dates", **WHO, name="shorter").saved
    assert (other.ref, other.parent) == ("shorter@1", "planted@1")
    assert lab.edit("planted", drop="links", **WHO, name="shorter").saved.ref == "shorter@2"
    assert lab.edit(other, drop="links", **WHO, name="planted").saved.ref == "planted@2"

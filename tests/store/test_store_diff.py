"""What is said to have changed between two versions."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import Any

from hypothesis import given, settings, strategies as st
from store_samples import criterion, provenance, rubric, version_of

from rubriclab.models.aggregation import Aggregation, Calibration, Term
from rubriclab.models.evaluation import TrainingAgreement
from rubriclab.models.rubric import Criterion, FieldChange, Level, Part, Question, Rubric
from rubriclab.models.text import Aspect, Scale, Units
from rubriclab.models.version import EditOrigin, Version
from rubriclab.stats.intervals import Interval
from rubriclab.store.diff import compare

LINKS = "Each sentence of the summary follows from the one before it, so that the reader is led along."
FACTS = "Names, places and figures in the summary are those of the article, with none made up."
BRIEF = "The summary is short and leaves the side issues of the article out."


def version(of: Rubric, number: int = 1, **fields: Any) -> Version:
    return version_of(of, provenance(**fields), number)


def levelled(statement: str, *descriptions: str, **fields: Any) -> Criterion:
    levels = tuple(Level(score=score, description=text) for score, text in enumerate(descriptions, 1))
    return criterion(statement, levels=levels, **fields)


def asked(statement: str, **made: Any) -> Criterion:
    question = Question(**({"origin": "seed"} | made))
    return criterion(statement, kind="question", levels=(), question=question)


def test_a_version_does_not_differ_from_itself() -> None:
    difference = compare(version(rubric()), version(rubric()))
    assert difference.same
    assert (difference.fields, difference.added, difference.removed, difference.changed) == ((), (), (), ())
    assert difference.unchanged == 1
    assert all(change.before == change.after for change in difference.agreement)


def test_criteria_are_matched_by_wording_and_not_by_id() -> None:
    before = rubric(criterion(LINKS, id="a"), criterion(FACTS, id="b"))
    after = rubric(criterion(FACTS, id="a"), criterion(LINKS, id="c"))
    difference = compare(version(before), version(after, 2))
    assert not difference.same
    assert (difference.added, difference.removed, difference.changed, difference.unchanged) == ((), (), (), 2)
    assert (difference.before, difference.after) == ("news@1", "news@2")


def test_changed_wording_and_weight_are_told_field_by_field() -> None:
    before = levelled(LINKS, "The sentences are loose.", "The sentences are tight.", weight=1.0)
    after = levelled(LINKS.replace("led", "taken"), "The sentences are loose.", "They are tight.", weight=0.5)
    (change,) = compare(version(rubric(before)), version(rubric(after))).changed
    assert change.changes == (
        FieldChange("statement", LINKS, LINKS.replace("led", "taken")),
        FieldChange("weight", 1.0, 0.5),
        FieldChange("level 2", "The sentences are tight.", "They are tight."),
    )
    assert 75 <= change.similarity < 100


def test_changes_of_what_is_judged_and_how_it_was_learned_are_told() -> None:
    units = Units(kind="sentence", beside=("source", "context"), weights="judge")
    part = Part(method="hypoeval", settings={"k": 10, "rounds": 2}, criteria=(criterion(),), units=units)
    after = rubric(
        aspect=Aspect(name="fluency", definition="How well it reads."),
        scale=Scale(low=0, high=1, whole=False),
        parts=(part,),
    )
    difference = compare(
        version(rubric()),
        version(after, judge="gpt-4o", seed=2, settings={"hypoeval": {"k": 5, "rounds": 2}}, examples=("b", "c")),
    )
    fields = {change.field: (change.before, change.after) for change in difference.fields}
    assert fields == {
        "aspect": ("coherence", "fluency"),
        "definition": ("How well the sentences hang together.", "How well it reads."),
        "scale": ("1 (lowest) to 5 (highest), whole numbers only", "0 (lowest) to 1 (highest), decimals allowed"),
        "units": (None, "sentence"),
        "units beside": (None, "source, context"),
        "weights set by": (None, "judge"),
        "judge": ("embedded", "gpt-4o"),
        "seed": (42, 2),
        "hypoeval.k": (10, 5),
        "hypoeval.alpha": (0.5, None),
        "hypoeval.rounds": (None, 2),
    }
    assert (difference.examples_added, difference.examples_removed) == (("c",), ("a",))


def test_agreement_is_set_side_by_side() -> None:
    better = Interval(0.6, 0.5, 0.7)
    agreement = TrainingAgreement(n=20, spearman=better, pearson=better, kendall=better, reselected=better)
    difference = compare(version(rubric()), version(rubric(), agreement=agreement))
    told = {change.statistic: (change.before, change.after) for change in difference.agreement}
    assert told["spearman"] == (Interval(0.4, 0.1, 0.7), better)
    assert difference.fields == (FieldChange("training texts", 30, 20),)
    assert difference.optimistic
    unknown = compare(version(rubric(), agreement=None), version(rubric(), agreement=None))
    assert unknown.agreement == ()


def test_what_had_no_part_in_the_rubrics_was_not_re_selected() -> None:
    value = Interval(0.6, 0.5, 0.7)
    found = TrainingAgreement(n=30, optimistic=False, spearman=value, pearson=value, kendall=value, reselected=value)
    honest = compare(version(rubric(), agreement=found), version(rubric(), agreement=None))
    assert [change.statistic for change in honest.agreement] == ["spearman", "pearson", "kendall"]
    assert not honest.optimistic
    mixed = compare(version(rubric(), agreement=found), version(rubric()))
    assert [change.statistic for change in mixed.agreement] == ["spearman", "pearson", "kendall", "reselected"]
    assert mixed.optimistic


def test_what_sub_dimensions_mean_is_compared() -> None:
    before, after = (
        rubric(parts=(Part(method="checkeval", settings={}, criteria=(asked("Is it?"),), dimensions=meaning),))
        for meaning in ({"links": "Joined.", "order": "In order."}, {"links": "Well joined."})
    )
    assert compare(version(before), version(after)).fields == (
        FieldChange("sub-dimension links", "Joined.", "Well joined."),
        FieldChange("sub-dimension order", "In order.", None),
    )


def weighted(number: int, parent: str | None = None, **weights: float) -> Version:
    usual: dict[str, Any] = {"center": 3, "spread": 1, "low": 0, "high": 1, "selected": 1}
    terms = tuple(Term(criterion=name, weight=weight, **usual) for name, weight in weights.items())
    combined = Aggregation(terms=terms, calibration=Calibration(kind="linear", x=(0, 1), y=(3, 4)))
    criteria = [criterion({"b": FACTS, "y": BRIEF}.get(name, LINKS), id=name) for name in weights]
    edit = EditOrigin(author="anna", because="it repeats", changes=())
    return replace(version(rubric(*criteria, aggregation=combined), number, edit=edit), parent=parent)


def test_weights_are_paired_by_criterion_and_only_a_childs_edit_is_told() -> None:
    found = compare(weighted(1, a=0.75, b=0.25), weighted(2, "news@1", x=0.5, y=0.5))
    kept, added, removed = ("a", "x", LINKS, 0.75, 0.5), (None, "y", BRIEF, None, 0.5), ("b", None, FACTS, 0.25, None)
    assert [astuple(each) for each in found.weights] == [kept, added, removed]
    assert found.edit
    assert compare(weighted(1, a=1.0), weighted(2, a=1.0)).edit is None


STATEMENTS = st.lists(st.sampled_from([LINKS, FACTS, BRIEF, LINKS + " Always.", "x", "y"]), min_size=1, max_size=6)


@given(before=STATEMENTS, after=STATEMENTS)
@settings(deadline=None, max_examples=50)
def test_every_criterion_is_told_of_exactly_once(before: list[str], after: list[str]) -> None:
    old, new = rubric(*map(criterion, before)), rubric(*map(criterion, after))
    there, back = compare(version(old), version(new)), compare(version(new), version(old))
    kept = there.unchanged + len(there.changed)
    assert kept + len(there.removed) == len(before)
    assert kept + len(there.added) == len(after)
    assert (len(there.added), len(there.removed)) == (len(back.removed), len(back.added))

"""What the edits of a rubric mean, and which are refused."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from rubriclab.errors import SettingsError
from rubriclab.ops.edits import Edit, RatedRubric, check_bounds, plan_edits

REF = "planted@1"


def test_every_change_is_recorded_with_the_criteria_it_concerns_and_the_wording_before_and_after(
    rated: RatedRubric,
) -> None:
    edits = Edit(
        drop=("length",),
        reword={"links": "Sentences are linked."},
        merge=((("theory", "detail"), "It is about one theory."),),
        add=("Sum: it says what follows.", "Is it dull? (better: no)"),
        bound={"links": (0.2, 0.2), "names": (0, 0.3)},
        definition="How well it holds together.",
    )
    plan = plan_edits(rated.rubric, REF, edits)
    assert plan.added == ("links.2", "theory+detail", "a01", "a02")
    assert {name: plan.removed[name].partition(":")[0] for name in plan.removed} == {
        "length": "dropped",
        "links": "reworded",
        "theory": "merged",
        "detail": "merged",
    }
    assert plan.bounds == {"links.2": (0.2, 0.2), "names": (0, 0.3)}
    assert plan.redefined
    assert [(change.action, change.criteria, change.result, change.after) for change in plan.changes] == [
        ("drop", ("length",), None, None),
        ("reword", ("links",), "links.2", "Sentences are linked."),
        ("merge", ("theory", "detail"), "theory+detail", "It is about one theory."),
        ("add", (), "a01", "Sum: it says what follows."),
        ("add", (), "a02", "Is it dull?"),
        ("definition", (), None, "How well it holds together."),
        ("pin", ("links.2",), None, "0.2"),
        ("bound", ("names",), None, "0:0.3"),
    ]
    assert plan.changes[1].before == "Scores for coherence rise with links."
    new = {each.criterion.id: each for each in plan.new}
    assert (new["a01"].method, new["a01"].criterion.kind, new["a01"].criterion.trait) == (
        "hypoeval",
        "hypothesis",
        "Sum",
    )
    assert new["a02"].criterion.question
    assert (new["a02"].method, new["a02"].criterion.question.better) == ("checkeval", "no")
    assert new["links.2"].criterion.levels == rated.rubric.criteria[0].levels
    assert plan.dropped == ("length",)


def test_a_limit_stays_with_a_reworded_criterion_and_not_with_a_merged_one(rated: RatedRubric) -> None:
    limited = plan_edits(rated.rubric, REF, Edit(reword={"links": "Linked."}, bound={"links": (0.1, 0.4)}))
    assert limited.bounds == {"links.2": (0.1, 0.4)}
    merged = plan_edits(rated.rubric, REF, Edit(merge=((("links", "order"), "Linked."),), bound={"names": (0.1, 0.4)}))
    assert merged.bounds == {"names": (0.1, 0.4)}


@pytest.mark.parametrize(
    ("edits", "error"),
    [
        (
            Edit(),
            r"Give at least one of `drop`, `reword`, `merge`, `add`, `pin`, `bound`, `threshold` and `definition`",
        ),
        (Edit(drop=("link",)), r"planted@1 has no criterion 'link'\. Did you mean 'links'\? It has: links, order"),
        (Edit(bound={"nams": (0, 1)}), r"no criterion 'nams'\. Did you mean 'names'\?"),
        (Edit(drop=("links", "links")), "links is changed twice"),
        (Edit(drop=("links",), reword={"links": "x"}), "links is changed twice"),
        (Edit(merge=((("links",), "x"),)), r"`merge` joins two criteria or more, got one"),
        (Edit(merge=((("links", "names"), "x"),)), "links and names are criteria of different methods, checkeval and"),
        (Edit(add=(" \n",)), "Expected the wording of a criterion or a definition, got an empty text"),
        (Edit(bound={"links": (0.4, 0.2)}), r"weight of links cannot be 0\.4:0\.2: the lowest is above"),
        (Edit(bound={"links": (1.5, 1.5)}), r"cannot be 1\.5: "),
        (
            Edit(bound={"links": (0.6, 0.6), "order": (0.5, 0.5)}),
            r"sum to 1, but .* sum to at least 1\.1: links 0\.6",
        ),
        (Edit(drop=("links",), bound={"links": (0, 0.2)}), "links is dropped by this edit, so its weight cannot be"),
        (Edit(reword={"links": "Scores for coherence rise with links."}), "links has this wording already"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(rated: RatedRubric, edits: Edit, error: str) -> None:
    with pytest.raises(SettingsError, match=error):
        plan_edits(rated.rubric, REF, edits)


def test_a_rubric_without_criteria_or_with_its_own_definition_is_refused(rated: RatedRubric) -> None:
    everything = tuple(criterion.id for criterion in rated.rubric.criteria)
    with pytest.raises(SettingsError, match="No criterion of planted@1 would be left"):
        plan_edits(rated.rubric, REF, Edit(drop=everything))
    with pytest.raises(SettingsError, match="coherence has this definition already"):
        plan_edits(rated.rubric, REF, Edit(definition=rated.rubric.aspect.definition))


def test_dropping_what_the_limits_of_the_others_need_is_refused(rated: RatedRubric) -> None:
    terms = rated.rubric.aggregation.terms
    limited = tuple(
        term.model_copy(update={"bounds": (0.0, term.weight)} if term.criterion in ("links", "order") else {})
        for term in terms
    )
    aggregation = rated.rubric.aggregation.model_copy(update={"terms": limited})
    rubric = rated.rubric.model_copy(update={"aggregation": aggregation})
    others = tuple(term.criterion for term in terms if term.criterion not in ("links", "order"))
    with pytest.raises(SettingsError, match=r"within these limits they sum to at most 0\.\d+: links 0:0\.\d+"):
        plan_edits(rubric, REF, Edit(drop=others))


SHARES = st.floats(0, 1)


@given(st.lists(st.tuples(SHARES, SHARES).map(sorted), max_size=5), st.integers(0, 3))
def test_limits_are_accepted_exactly_if_some_weights_meet_them(limits: list[list[float]], free: int) -> None:
    bounds = {f"c{place}": (low, high) for place, (low, high) in enumerate(limits)}
    least, most = sum(low for low, _ in limits), sum(high for _, high in limits) + free
    if least > 1 + 1e-6 or most < 1 - 1e-6:
        with pytest.raises(SettingsError, match="Widen the limits"):
            check_bounds(bounds, len(limits) + free)
    elif least < 1 - 1e-6 and most > 1 + 1e-6:
        check_bounds(bounds, len(limits) + free)

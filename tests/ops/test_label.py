"""Labelling: the order of texts, judgments and their agreement, the rows for learning, and what to label next."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count, groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from planning_samples import rated, trained

from rubriclab import Lab
from rubriclab.data.annotations import PairwiseComparison
from rubriclab.data.check import training_examples
from rubriclab.data.readers import from_rows
from rubriclab.data.write import write_rows
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.judgment import (
    History,
    HumanJudgment,
    LabelQuestion,
    TextToJudge,
    arrange_items,
    check_rater_name,
    rater_agreement,
)
from rubriclab.models.text import Example, find_aspect, parse_scale, task_words
from rubriclab.ops.inputs import rows_of
from rubriclab.ops.label import LabelText, Submission, label_question, labelled_rows, prepare_labeling
from rubriclab.ops.options import LabelOptions, LearnOptions
from rubriclab.ops.plan import select_texts
from rubriclab.ops.workspace import Workspace
from rubriclab.stats.rater_agreement import krippendorff_alpha

NUMBERS = count()


def question(scale: str = "1:5:whole") -> LabelQuestion:
    return LabelQuestion(task_words("summarization"), find_aspect("summarization", "coherence"), parse_scale(scale))


def texts(groups: int = 5, rivals: int = 3) -> tuple[TextToJudge, ...]:
    return tuple(
        TextToJudge(Example(f"g{group}-s{rival}", f"Output {rival} of {group}.", f"g{group}", f"Source {group}."))
        for group in range(groups)
        for rival in range(rivals)
    )


def judged(rater: str, key: str, value: float | None = None, **others: Any) -> HumanJudgment:
    kind = "cannot judge" if value is None else "rating"
    fields = {
        "id": f"judgment-{next(NUMBERS)}",
        "question": question().digest,
        "aspect": "coherence",
        "rater": rater,
        "kind": kind,
        "text": key,
        "value": value,
        "created": datetime.now(UTC),
        **others,
    }
    return HumanJudgment(**fields)


def withdrawn(judgment: HumanJudgment) -> HumanJudgment:
    kept: dict[str, Any] = {"again": judgment.again, "kind": "withdrawal", "withdraws": judgment.id}
    return judged(judgment.rater, judgment.text, **kept)


SIZES = st.tuples(st.integers(1, 12), st.integers(1, 9))
NAMES = st.text(min_size=1, max_size=20)


@given(SIZES, NAMES)
def test_every_text_comes_once_and_a_tenth_twice(size: tuple[int, int], rater: str) -> None:
    own = texts(*size)
    items = arrange_items(own, rater)
    first = [item.text for item in items if not item.again]
    again = [item.text for item in items if item.again]
    assert sorted(first) == sorted(text.key for text in own)
    assert len(again) == len(set(again)) == (len(own) + 5) // 10
    assert arrange_items(own, rater) == items


@given(st.integers(6, 60), NAMES)
def test_a_repeat_comes_at_least_three_items_after_the_first_time(count: int, rater: str) -> None:
    items = arrange_items(texts(count, 1), rater)
    place = {item.text: number for number, item in enumerate(items) if not item.again}
    distances = [number - place[item.text] for number, item in enumerate(items) if item.again]
    assert distances
    assert min(distances) >= (6 if count >= 20 and count % 10 == 0 else 3)


@given(NAMES)
def test_rivals_come_one_after_the_other(rater: str) -> None:
    own = texts(6, 4)
    group = {text.key: text.example.group for text in own}
    in_order = [group[item.text] for item in arrange_items(own, rater) if not item.again]
    assert [name for name, _ in groupby(in_order)] == list(dict.fromkeys(in_order))


def test_raters_get_different_orders_and_repeats() -> None:
    own = texts(10, 3)
    assert len({arrange_items(own, rater) for rater in ("anna", "ben", "cleo")}) == 3
    orders = [arrange_items(own, rater) for rater in ("anna", "ben", "cleo")]
    repeats = [frozenset(item.text for item in order if item.again) for order in orders]
    assert len(set(repeats)) == 3


def test_the_latest_judgment_of_each_rater_and_repeat_applies_and_a_withdrawal_restores_the_one_before() -> None:
    one, two = judged("anna", "a", value=3), judged("anna", "a", value=4)
    others = [judged("ben", "a", value=2), judged("anna", "a", value=5, again=True)]
    history = History([one, *others, two])
    assert [(each.rater, each.again, each.value) for each in history.current_judgments()] == [
        ("anna", False, 4),
        ("anna", True, 5),
        ("ben", False, 2),
    ]
    for other in others:
        history.add(withdrawn(other))
    assert history.current_by_item("anna") == {("a", False): two}
    assert history.latest("anna", history.current_by_item("anna")) == two
    history.add(withdrawn(two))
    assert history.current_by_item("anna") == {("a", False): one}
    assert history.latest("anna", history.current_by_item("anna")) == one
    history.add(withdrawn(one))
    assert history.current_by_item("anna") == {}
    assert history.latest("anna", history.current_by_item("anna")) is None
    assert history.raters == ()


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 5) | st.none()), max_size=12))
def test_undoing_everything_leaves_nothing_and_each_step_is_exact(steps: list[tuple[str, int | None]]) -> None:
    """`None` undoes; a list of values for each text is the reference."""
    history, stack = History(), list[tuple[str, int]]()
    for key, value in steps:
        if value is not None:
            history.add(judged("anna", key, value=value))
            stack.append((key, value))
        elif latest := history.latest("anna", history.current_by_item("anna")):
            history.add(withdrawn(latest))
            stack.pop()
        assert {item[0]: judgment.value for item, judgment in history.current_by_item("anna").items()} == dict(stack)


@pytest.mark.parametrize("name", ["", "  ", None, 3, "a\nb", "a\x00b", "\u202eanna", "x" * 61, "\ud800"])
def test_a_rater_needs_a_name_that_can_be_shown(name: object) -> None:
    with pytest.raises(SettingsError):
        check_rater_name(name)
    for usable in ("anna", "Анна", "李", "O'Neil <x>", "<script>alert(1)</script>"):
        assert check_rater_name(f" {usable}\t") == usable


@pytest.mark.parametrize("size", [(6, 2), (1, 12)])
def test_agreement_is_alpha_of_first_ratings_over_groups_or_the_texts_of_one_as_in_check(size: tuple[int, int]) -> None:
    own = texts(*size)
    values = {"anna": [1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 1, 2], "ben": [1, 3, 3, 4, 4, 5, 4, 2, 2, 1, 2, 2]}
    history = History(
        judged(rater, text.key, value=value)
        for rater, numbers in values.items()
        for text, value in zip(own, numbers, strict=True)
    )
    history.add(judged("anna", own[0].key, value=5, again=True))
    history.add(judged("cleo", "a text of another file", value=5))
    found = rater_agreement(history, own)
    expected = krippendorff_alpha(list(values.values()), "interval", [each.example.group for each in own])
    assert (found.raters, found.units) == (2, 12)
    assert found.alpha.low < found.alpha.value < found.alpha.high
    label_texts = [
        LabelText(each.example, {"output": each.example.output, "group": each.example.group}) for each in own
    ]
    (checked,) = (
        Lab(progress=None).check([*labelled_rows(label_texts, history, question())], aspect="coherence").aspects
    )
    assert checked.agreement == found.alpha.rounded() == expected.rounded()


def text(**fields: Any) -> LabelText:
    (example,) = from_rows([{"id": "a", "output": "One.", **fields}])
    assert isinstance(example, Example)
    return LabelText(example, {})


def test_labels_of_others_stay_and_count_in_the_mean_and_texts_without_any_are_left_out() -> None:
    by_name, listed, scored, unlabelled, refused = own = [
        text(
            scores={"coherence": 2, "fluency": 5},
            annotations={"coherence": {"ben": 1, "cleo": 3}, "fluency": [5, 5]},
            reasons={"coherence": "short"},
        ),
        text(id="b", annotations={"coherence": [1, 2]}),
        text(id="c", scores={"coherence": 2}),
        text(id="d"),
        text(id="e", scores={"coherence": 2}),
    ]
    judgments = [
        judged("anna", by_name.key, 5, reason="clear"),
        judged("anna", listed.key, 3),
        judged("anna", scored.key, 4),
        judged("anna", unlabelled.key, None),
        judged("anna", refused.key, None, reason="unclear"),
    ]
    rows = {row["id"]: row for row in labelled_rows(own, History(judgments), question())}
    assert {name: row.get("annotations") for name, row in rows.items()} == {
        "a": {"coherence": {"ben": 1, "cleo": 3, "anna": 5}, "fluency": [5, 5]},
        "b": {"coherence": {"earlier 1": 1, "earlier 2": 2, "anna": 3}},
        "c": {"coherence": {"earlier": 2, "anna": 4}},
        "e": None,
    }
    assert rows["a"]["scores"] == {"coherence": 3, "fluency": 5}
    assert [rows[name]["scores"]["coherence"] for name in "bce"] == [2, 3, 2]
    assert rows["a"]["reasons"] == {"coherence": {"earlier": "short", "anna": "clear"}}
    assert rows["e"]["reasons"] == {"coherence": {"anna": "unclear"}}


VERDICTS = [{"scores": {"x": word}} for word in ("pass", "fail")]
RATED = [{"annotations": {"x": {"anna": "pass", "ben": "fail"}}}]


@pytest.mark.parametrize(
    ("given", "scale", "described", "learn_scale"),
    [
        ([*VERDICTS, *RATED], None, "'fail' (0) or 'pass' (1)", "0:1"),
        (VERDICTS, "0:1", "'fail' (0) or 'pass' (1)", "0:1"),
        ([{"scores": {"x": "poor"}}], "poor:usable", "'poor' (0) or 'usable' (1)", "0:1"),
        ([], "poor:usable", "'poor' (0) or 'usable' (1)", "0:1"),
        ([], None, "1 (lowest) to 5 (highest), whole numbers only", "1:5"),
        ([{"scores": {"x": 2}}], None, "1 (lowest) to 5 (highest), whole numbers only", "1:5"),
        ([{"scores": {"x": 0}}, {"scores": {"x": 9}}], None, "0 (lowest) to 9 (highest), whole numbers only", "0:9"),
        ([{"scores": {"x": 0}}, {"scores": {"x": 1}}], None, "0 (lowest) to 1 (highest), whole numbers only", "0:1"),
        ([{"scores": {"x": 0.5}}], "0:1:any", "0 (lowest) to 1 (highest), decimals allowed", "0:1:any"),
    ],
)
def test_the_scale_fits_the_labels_that_are_there_which_stay_as_they_are_written(
    tmp_path: Path, given: list[dict[str, Any]], scale: str | None, described: str, learn_scale: str
) -> None:
    options = LabelOptions(task="summary", aspect="x", definition="d", scale=scale)
    rows = [{"output": f"Text {number}.", **row} for number, row in enumerate([*given * 6, {}])]
    with Workspace(tmp_path / "store.db") as workspace:
        labeling = prepare_labeling(workspace, rows, options)
    found = labeling.result()
    assert labeling.question.scale.describe() == described
    levels = "poor=0,usable=1" if scale == "poor:usable" else None
    assert (found.learn["scale"], found.learn.get("levels")) == (learn_scale, levels)
    tables = [{name: row[name] for name in ("scores", "annotations") if name in row} for row in found.to_rows()]
    assert (repr(tables), found.unlabelled) == (repr(given * 6), 1)
    if len(tables) >= 10:
        training_examples(from_rows(found.to_rows()), "x", found.learn["scale"])


@pytest.mark.parametrize(("words", "scale"), [(("pass", "fail"), "1:5"), ((7, 2), "1:5"), ((7, 2), "fail:pass")])
def test_labels_outside_the_scale_are_refused(words: tuple[Any, Any], scale: str) -> None:
    examples = [text(scores={"x": word}).example for word in words]
    with pytest.raises(DataError, match="The file has labels that are not on the scale"):
        label_question(LabelOptions(task="summary", aspect="x", definition="d", scale=scale), examples)


def test_labelled_rows_have_the_columns_of_the_file_and_are_learned_from_together_with_it(tmp_path: Path) -> None:
    columns = "output=Antwort,source=Frage,scores.x=Note,annotations.x.anna=Anna"
    old = [{"Antwort": f"Alt {n}.", "Frage": f"Was {n}?", "Note": n % 3, "Anna": n % 3} for n in range(12)]
    write_rows(old, tmp_path / "old.csv")
    options = LabelOptions(task="summary", aspect="x", definition="d", scale="0:5", mapping=columns)
    fresh = [{"Antwort": f"Neu {n}.", "Frage": f"Was {n}?"} for n in range(3)]
    with Workspace(tmp_path / "store.db") as workspace:
        labeling = prepare_labeling(workspace, fresh, options)
        for value in (4, 5, 5):
            item = labeling.shown_item("ben", labeling.next_position("ben") or 0).name
            labeling.store_decision("ben", Submission(id=f"judgment-{item}", item=item, kind="rating", value=value))
        found = labeling.result()
    assert found.learn["map"] == columns
    assert {tuple(row) for row in found.rows} == {("id", "group", "Frage", "Antwort", "annotations", "Note", "Anna")}
    assert sorted(row["Note"] for row in found.rows) == [4, 5, 5]
    assert (found.labelled, found.unlabelled) == (3, 0)
    reading = LearnOptions(task="summary", aspect="x", mapping=columns)
    for ending in ("csv", "jsonl"):
        new = tmp_path / f"new.{ending}"
        write_rows(found.rows, new)
        rows = rows_of([tmp_path / "old.csv", new], reading)
        assert len(training_examples(rows, "x", "0:5").examples) == 15
        assert rows.where == f"{tmp_path / 'old.csv'}, {new}"


def test_comparisons_of_the_file_stay() -> None:
    own, other = text(), text(id="b", output="Two.")
    former = [PairwiseComparison("a", "b", tie=True, rater="ben")]
    rows = list(labelled_rows([own, other], History(), question(), former))
    assert [row["id"] for row in rows[:2]] == ["a", "b"]
    assert rows[2] == {"preferred": "a", "over": "b", "tie": True, "rater": "ben"}


RUBRIC, RECORD = trained()
POOL = [rated(number) for number in range(20)]


def test_groups_without_labels_come_first_whole_and_farthest_from_what_is_labelled() -> None:
    pool = np.array([[0.0, 0], [9, 9], [2, 2], [3, 3], [4, 0], [1, 1]])
    groups = ["known", "known", "near", "near", "far", "near"]
    labelled, labelled_groups = np.array([[0.0, 0], [0.2, 0]]), ["known", "known"]
    rows = select_texts(pool, groups, labelled, labelled_groups, np.array([0.9, 0.1]))
    assert rows == [4, 3, 2, 5, 1, 0]
    assert select_texts(pool, groups, labelled, labelled_groups, np.array([0.1, 0.9])) == [3, 2, 5, 4, 1, 0]


def test_a_group_like_one_just_selected_waits() -> None:
    pool = np.array([[5.0], [5.1], [-3.0]])
    rows = select_texts(pool, ["a", "b", "c"], np.array([[0.0]]), ["known"], np.array([1.0]))
    assert rows == [1, 2, 0]

"""`Lab`: what Python offers beside the commands."""

from __future__ import annotations

import asyncio
import inspect
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT_ROWS, LABELLED, LABELLED_ROWS as ALL_LABELLED_ROWS

import rubriclab
from rubriclab import Lab, NotInStore, SettingsError, Version
from rubriclab.errors import DataError, UserError
from rubriclab.models.evaluation import MAX_POINTS
from rubriclab.ops.options import LearnOptions
from rubriclab.ops.scores import Scores

ROWS, LABELLED_ROWS = HELDOUT_ROWS[:12], ALL_LABELLED_ROWS[:12]
LEARN: dict[str, Any] = {"task": "summarization", "aspect": "coherence", "methods": "hypoeval"}
TWINS = {name: f"{name.removesuffix('_')}_async" for name in dir(Lab)}
PAIRS = [(name, twin) for name, twin in TWINS.items() if twin in TWINS]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab") / "store.db"


@pytest.fixture(scope="module")
def rubric(store: Path) -> Version:
    return Lab(store, progress=None).learn(LABELLED, **LEARN, name="news")


@pytest.fixture
def lab(store: Path, rubric: Version) -> Iterator[Lab]:
    with Lab(store, progress=None) as opened:
        yield opened


# The interface


def test_every_operation_has_an_asynchronous_twin_with_the_same_arguments() -> None:
    names = {name for name, _ in PAIRS}
    commands = {"learn", "score", "evaluate", "gate", "report", "transfer", "drift", "plan", "improve", "agree", "lint"}
    assert commands | {"versions", "load", "tag", "diff", "export", "import_", "trust", "verify", "dry_run"} <= names
    for name, twin in PAIRS:
        here, there = inspect.signature(getattr(Lab, name)), inspect.signature(getattr(Lab, twin))
        assert {*here.parameters} - {"stream"} == {*there.parameters}
        assert inspect.iscoroutinefunction(getattr(Lab, twin))
        assert getattr(Lab, name).__name__ == name
        assert getattr(Lab, name).__doc__


def test_options_stand_in_the_signature_and_in_the_documentation() -> None:
    parameters = inspect.signature(Lab.learn).parameters
    assert parameters["seed"].default == 42
    assert parameters["task"].default is inspect.Parameter.empty
    assert parameters["delimiter"].annotation == "str | None"
    assert "Validator" not in str(inspect.signature(Lab.learn))
    for name in LearnOptions.model_fields:
        assert f"{name}: " in str(Lab.learn.__doc__)
        assert LearnOptions.model_fields[name].description


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"tusk": "story"}, "There is no option `tusk` here. Did you mean `task`? The known ones are: "),
        ({"seed": -1}, "`seed`: expected a number of at least 0, got -1."),
        ({"criteria": 0}, "`criteria`: expected a number of at least 1, got 0."),
        ({"scale": "five"}, "The scale 'five' is not understood;"),
        ({"methods": "unheard"}, "`methods`: there is no method 'unheard'."),
        ({"criteria": 3}, '`criteria` is for rubrics of several methods: `methods="hypoeval"` alone'),
    ],
)
def test_a_faulty_option_is_told_by_its_name_in_python(lab: Lab, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SettingsError) as caught:
        lab.learn(LABELLED, **{**LEARN, **options})
    assert str(caught.value).startswith(complaint)


# Data and rubrics


def test_a_rubric_may_be_a_reference_a_version_or_a_rubric(lab: Lab, rubric: Version) -> None:
    by_ref, by_version = lab.score(ROWS, "news@1"), lab.score(ROWS, rubric)
    by_rubric = Lab(lab._store, "embedded", progress=None).score(ROWS, rubric.rubric)
    assert by_ref.values == by_version.values == by_rubric.values
    assert (by_version.rubric, by_rubric.rubric) == ("news@1", "unsaved")
    with pytest.raises(NotInStore, match="The store holds no rubric 'old'"):
        lab.score(ROWS, "old")


def test_columns_may_be_mapped_for_everything_a_lab_does(store: Path, rubric: Version) -> None:
    renamed = [{"summary": row["output"], "article": row["source"]} for row in ROWS]
    lab = Lab(store, mapping={"output": "summary", "source": "article"}, progress=None)
    assert len(lab.score(renamed, "news")) == len(ROWS)
    other = lab.score(renamed, "news", mapping="output=article,source=summary")
    assert other.values != lab.score(renamed, "news").values


def test_texts_that_are_given_directly_need_no_mapping(store: Path, rubric: Version) -> None:
    with Lab(store, mapping={"output": "body", "source": "article", "id": "Nr"}) as mapped:
        row = {"output": "A text.", "source": "An article."}
        (score,) = mapped.score([row], rubric)
        assert score.score is not None
        with mapped.scorer(rubric) as scorer:
            assert scorer("A text.", source="An article.").score == score.score
        assert mapped.score([{"body": "A text.", "article": "An article.", "Nr": 1}], rubric)[0].score == score.score
        with pytest.raises(SettingsError, match=r"the field 'source'"):
            mapped.score(["A text."], rubric)


def test_without_a_rubric_scores_are_unvalidated(lab: Lab) -> None:
    scores = lab.score(ROWS, task="summarization", aspect="coherence", scale=(0, 10))
    assert scores.rubric == "unvalidated"
    assert all(0 <= score.score <= 10 for score in scores if score.score is not None)


def test_notes_go_to_whom_the_lab_is_told(store: Path, rubric: Version) -> None:
    texts: list[str] = []
    Lab(store, notify=texts.append, progress=None).evaluate([*ROWS, {"id": "faulty"}], "news")
    assert any(text.startswith("left out: rows:13: field 'output': got nothing") for text in texts)


def test_the_verdict_on_most_texts_that_a_rubric_never_saw_is_kept_with_it(lab: Lab, rubric: Version) -> None:
    before = lab.load("news").evaluation
    lab.evaluate(LABELLED, "news", include_training=True)
    other = replace(rubric, provenance=rubric.provenance.model_copy(update={"seed": 7}), provenance_digest="sha256:7")
    lab.evaluate(ROWS, [other])
    assert lab.load("news").evaluation == before
    evaluation = lab.evaluate(ROWS, "news")
    kept = lab.load("news").evaluation
    assert (kept.n, kept.groups, kept.judge) == (12, len({row["source"] for row in ROWS}), "embedded")
    found = evaluation.summaries["coherence"]
    assert kept.verdict == found.evaluators[0].deciding_comparison.verdict
    assert kept.errors == found.errors["news@1"]
    many = replace(evaluation.scored[0], texts=evaluation.examples * 200, scores=evaluation.scores["news@1"] * 200)
    assert (len(kept.points), len(many.points), {*many.points}) == (kept.n, MAX_POINTS, {*kept.points})
    assert kept.order == found.evaluators[0].result.agreement.pearson
    lab.evaluate(ROWS[:8], "news")
    assert lab.load("news").evaluation == kept


def test_learning_says_its_stage_and_how_many_calls_are_left(tmp_path: Path) -> None:
    told = list[str]()
    lab = Lab(tmp_path / "store.db", progress=lambda text, _share: told.append(text))
    lab.learn(LABELLED_ROWS, task="summarization", aspect="coherence", name="news")
    assert {text.partition(":")[0] for text in told} >= {"hypoeval", "checkeval", "seeval", "direct"}
    left = [(int(n), int(of)) for n, of in re.findall(r"; about (\d+) of (\d+) calls left", "\n".join(told))]
    assert len(left) == len(told)
    assert [n for n, _ in left] == sorted((n for n, _ in left), reverse=True)
    assert len({of for _, of in left}) == 1
    assert left[0][0] == left[0][1]
    assert left[-1][0] < left[0][1] / 10


def test_a_cap_holds_for_everything_that_a_lab_does(store: Path, rubric: Version, server: Any) -> None:
    lab = Lab(store, "openai/fake", max_calls=3, attempts=1, concurrency=1, progress=None)
    with pytest.raises(rubriclab.BudgetReached):
        lab.score(ROWS[:2], "news")
    with pytest.raises(rubriclab.BudgetReached):
        lab.score(ROWS[2:4], "news")
    assert server.requests.total() == 3


# Scores


def test_scores_are_a_sequence_with_rows_a_mean_and_a_frame(lab: Lab) -> None:
    scores = lab.score([*ROWS, {"id": "faulty"}], "news")
    assert (len(scores), scores[0].id, len(scores[:3]), len(list(scores))) == (13, ROWS[0]["id"], 3, 13)
    numbers = [value for value in scores.values if value is not None]
    assert scores.mean == pytest.approx(sum(numbers) / 12)
    assert [score.id for score in scores.unscored] == ["faulty"]
    assert math.isnan(scores[12:].mean)
    assert scores.to_rows() == [
        {**row, **score.to_row(), "addresses_judge": False} for row, score in zip([*ROWS, {}], scores, strict=True)
    ]
    frame = scores.to_frame()
    assert list(frame.columns)[:5] == ["id", "score", "low", "high", "unscored"]
    assert frame["score"].isna().sum() == 1
    assert {criterion.id for criterion in scores[0].criteria} <= set(frame.columns)


# Streams and loops


def test_a_stream_yields_scores_and_is_ended_by_the_lab(store: Path, rubric: Version) -> None:
    with Lab(store, progress=None) as lab:
        stream = lab.score((row for row in ROWS), "news", stream=True)
        first = next(stream)
        assert first.id == ROWS[0]["id"]
    with pytest.raises(StopIteration):
        next(stream)


async def test_everything_works_while_a_loop_is_running(lab: Lab) -> None:
    plain = lab.score(ROWS, "news")
    assert (await lab.score_async(ROWS, "news")).values == plain.values
    assert [score.score for score in lab.score(ROWS, "news", stream=True)] == list(plain.values)
    assert [score.score async for score in lab.score_stream_async(ROWS, "news")] == list(plain.values)
    together = await asyncio.gather(*(lab.score_async(ROWS[:number], "news") for number in (3, 5)))
    assert [len(scores) for scores in together] == [3, 5]
    assert (await lab.load_async("news")).ref == "news@1"
    assert isinstance(plain, Scores)


# Faulty arguments


def test_words_for_two_levels_are_refused_on_another_scale_by_learning_and_evaluation(lab: Lab) -> None:
    rows = [{**row, "scores": {"coherence": ("fail", "pass")[number % 2]}} for number, row in enumerate(LABELLED_ROWS)]
    with pytest.raises(DataError, match="but some are words for verdicts: 'fail', 'pass'"):
        lab.learn(rows, **LEARN, scale=(1, 5))
    with pytest.raises(DataError, match="labels of 'coherence' are not on the scale of news@1"):
        lab.evaluate(rows, "news", include_training=True)
    learned = [lab.learn(rows, **LEARN, scale=scale).rubric for scale in (None, "fail:pass", ("fail", "pass"))]
    assert learned[0] == learned[1] == learned[2]


def test_numbers_on_another_scale_are_refused_and_replace_no_stored_verdict(lab: Lab) -> None:
    lab.evaluate(ROWS, "news")
    before = lab.load("news").evaluation
    rows = [{**row, "scores": {"coherence": 20 * row["scores"]["coherence"]}, "annotations": None} for row in ROWS]
    for refused in (lambda: lab.evaluate(rows, "news"), lambda: lab.compare(rows, rows, "news")):
        with pytest.raises(DataError, match=r"news@1, 1 \(lowest\) to 5 .*: 12 of 12, such as \d\d"):
            refused()
    assert lab.load("news").evaluation == before


NOT_A_RUBRIC: list[Any] = [3, True, b"x", ["news", None]]


@pytest.mark.parametrize("rubric", NOT_A_RUBRIC, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("operation", ["score", "evaluate", "agree", "plan", "improve", "transfer", "drift"])
def test_what_is_no_rubric_is_refused_by_every_operation(lab: Lab, operation: str, rubric: Any) -> None:
    arguments = (rubric, ROWS) if operation == "transfer" else (ROWS, rubric)
    options = {"judges": ["embedded", "recorded:none"]} if operation in ("agree", "drift") else {}
    with pytest.raises(UserError, match=r"Expected .*got .*Give a version, or a text: NAME"):
        getattr(lab, operation)(*arguments, **options)


@pytest.mark.parametrize("data", [None, 3, b"x", {}, [], "none.jsonl"])
def test_data_without_rows_is_refused_by_every_operation(lab: Lab, data: Any) -> None:
    for call in (
        lambda: lab.learn(data, **LEARN),
        lambda: lab.score(data, "news"),
        lambda: list(lab.score(data, "news", stream=True)),
        lambda: lab.evaluate(data, "news"),
        lambda: lab.agree(data, "news", judges=["embedded", "recorded:none"]),
        lambda: lab.transfer("news", data),
        lambda: lab.drift(data, "news", "news@1"),
        lambda: lab.plan(data, "news"),
        lambda: lab.improve(data, "news"),
        lambda: lab.dry_run("score", data, "news"),
    ):
        with pytest.raises(UserError):
            call()


@pytest.mark.parametrize("path", ["/no/such/folder/file", "/", 3, [None]], ids=str)
def test_a_path_that_cannot_be_written_is_refused(lab: Lab, path: Any) -> None:
    for method in (lab.report, lab.export):
        with pytest.raises(SettingsError, match=r"cannot be written: .*Give the path of another file\."):
            method("news", path)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("scor",), "There is no operation the text 'scor' to estimate. Did you mean 'score'? Expected one of"),
        (("score",), "score: missing a required argument: 'data'. Expected lab.dry_run('score', data, rubric, ...)."),
        (("score", ROWS, "news", 3), "score: too many positional arguments. Expected lab.dry_run('score'"),
    ],
)
def test_a_faulty_dry_run_says_what_was_expected(lab: Lab, arguments: tuple[Any, ...], complaint: str) -> None:
    with pytest.raises(SettingsError) as caught:
        lab.dry_run(*arguments)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(
    "options",
    [{"store": 3}, {"record": [1]}, {"progress": "x"}, {"notify": "x"}, {"settings": [1]}, {"price": (1,)}, {"no": 1}],
    ids=str,
)
def test_a_lab_with_a_faulty_argument_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        Lab(**options)

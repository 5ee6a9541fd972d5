"""Labels of two levels: typed booleans and words for verdicts, from every kind of source."""

import json
import pickle
from pathlib import Path

import pandas as pd
import pytest

from rubriclab.data.check import training_examples
from rubriclab.data.mapping import ReadingOptions
from rubriclab.data.readers import from_rows, read
from rubriclab.errors import DataError
from rubriclab.models.cells import WordScore
from rubriclab.models.text import Scale

PAIRS = [
    ("false", "true"),
    ("fail", "pass"),
    ("no", "yes"),
    ("👎", "👍"),
    ("thumbs_down", "thumbs_up"),
]


def rows_with(values: list[object]) -> list[dict[str, object]]:
    return [{"output": f"text {n}", "scores.ok": value} for n, value in enumerate(values)]


def json_lines(values: list[object]) -> list[bytes]:
    return [json.dumps(row).encode() for row in rows_with(values)]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1])
def test_words_for_verdicts_are_two_levels_with_these_names(pair: tuple[str, str]) -> None:
    worse, better = pair
    training = training_examples(read(json_lines([better, worse.upper()] * 6)), "ok")
    assert training.scale == Scale(low=0, high=1, whole=False, names=pair)
    assert [example.scores["ok"] for example in training.examples] == [1.0, 0.0] * 6
    assert f"two levels, {worse!r} and {better!r}: scores are probabilities of {better!r}" in training.notes


@pytest.mark.parametrize("kind", ["json", "frame", "parquet", "xlsx", "csv"])
def test_booleans_of_every_source_are_labels(tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame(rows_with([True, False, False] * 4))
    path = tmp_path / f"labels.{kind}"
    match kind:
        case "frame":
            rows = from_rows(frame)
        case "json":
            rows = read(json_lines([True, False, False] * 4))
        case "parquet":
            frame.to_parquet(path)
            rows = read(path)
        case "xlsx":
            frame.to_excel(path, index=False)
            rows = read(path)
        case _:
            frame.to_csv(path, index=False)
            rows = read(path)
    training = training_examples(rows, "ok")
    assert [example.scores["ok"] for example in training.examples] == [1.0, 0.0, 0.0] * 4
    assert training.scale.names == ("false", "true")


def test_zero_and_one_are_two_levels_without_words() -> None:
    training = training_examples(read(json_lines([0, 1] * 6)), "ok")
    assert training.scale == Scale(low=0, high=1, whole=False, names=("0", "1"))


def test_raters_verdicts_are_two_levels_and_their_share_is_the_label() -> None:
    raters = [{"a": True, "b": True, "c": False}, {"a": False, "b": False, "c": False}]
    rows = [{"output": f"text {n}", "annotations": {"ok": raters[n % 2]}} for n in range(12)]
    training = training_examples(read([json.dumps(row).encode() for row in rows]), "ok")
    assert training.scale.names
    assert [round(example.scores["ok"], 2) for example in training.examples] == [0.67, 0.0] * 6


def test_own_words_are_levels_by_option() -> None:
    options = ReadingOptions.model_validate({"level_scores": "bad=0,good=1"})
    training = training_examples(read(json_lines(["good", "bad"] * 6), options), "ok")
    assert training.scale.names == ("bad", "good")


def test_good_and_bad_need_the_option() -> None:
    with pytest.raises(DataError, match="bad=1,good=2"):
        training_examples(read(json_lines(["good", "bad"] * 6)), "ok")


def test_words_for_verdicts_among_numbers_of_a_longer_scale_are_refused() -> None:
    with pytest.raises(DataError, match="words for verdicts: 'no', 'yes'") as refused:
        training_examples(read(json_lines([1, 5, 3, "yes", "no", 4] * 2)), "ok")
    assert "no=1,yes=2" in str(refused.value)


def test_a_scale_given_as_any_number_is_not_binary() -> None:
    assert not training_examples(read(json_lines([0, 1] * 6)), "ok", "0:1:any").scale.names


def test_answers_that_a_text_cannot_be_assessed_are_counted_and_no_labels() -> None:
    values: list[object] = [True, False] * 6 + ["cannot assess", "n/a"]
    training = training_examples(read(json_lines(values)), "ok")
    assert len(training.examples) == 12
    assert "answers that a text cannot be assessed, which are no labels: 2" in training.notes


def test_word_scores_survive_another_process() -> None:
    score = pickle.loads(pickle.dumps(WordScore(1.0, "pass", usual=True)))
    assert (score, score.word, score.usual) == (1.0, "pass", True)


def test_a_third_word_beside_yes_and_no_gets_a_proposal_for_all_three() -> None:
    with pytest.raises(DataError, match="no=1,partly=2,yes=3"):
        training_examples(read(json_lines(["yes", "no", "partly"] * 4)), "ok")

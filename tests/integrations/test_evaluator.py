"""The rows that evaluators make of a tool's inputs, outputs and metadata, and of what people said about texts in it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from rubriclab.errors import DataError, UserError
from rubriclab.integrations.evaluator import Annotation, row_of_text, rows_of_texts


@pytest.mark.parametrize(
    ("inputs", "metadata", "expected"),
    [
        ({"question": "Why?"}, {"source": "a ticket"}, {"source": "Why?"}),
        ({"question": "Why?"}, {"context": "Because."}, {"source": "Why?", "context": "Because."}),
        ({"context": "Because."}, {"source": "a ticket"}, {"context": "Because.", "source": "a ticket"}),
        ({"question": "Why?", "style": "short"}, {"source": "S"}, {"source": "S"}),
        ("Why?", {"source": "a ticket", "id": 7}, {"source": "Why?", "id": 7}),
        ({"question": "Why?", "reference": None}, {"source": None}, {"source": "Why?"}),
    ],
)
def test_inputs_come_before_metadata(inputs: Any, metadata: dict[str, Any], expected: dict[str, Any]) -> None:
    assert row_of_text(inputs, "a", None, metadata) == {**expected, "output": "a"}


def test_the_only_field_or_the_one_of_the_name_counts() -> None:
    given = {"output": "O", "reference": "R"}
    assert row_of_text({}, {"text": "So."}, {"answer": "R"}) == {"output": "So.", "reference": "R"}
    assert row_of_text({}, {"output": "O", "n": 2}, {"reference": "R", "n": 1}) == given
    assert row_of_text({}, "O", {"label": 4}) == {"output": "O"}


def test_several_fields_without_the_name_of_one_are_listed() -> None:
    with pytest.raises(DataError, match=r"'inputs' has several fields \(question, style\), and none"):
        row_of_text({"question": "Why?", "style": "short", "id": 7, "reference": None}, "a")
    with pytest.raises(DataError, match=r"'outputs' has several fields \(a, b\), and none of them is named 'output'"):
        row_of_text({}, {"a": "1", "b": "2"})


Row = Mapping[str, Any]


def rows_about(names: Iterable[str], given: list[Annotation]) -> list[dict[str, Any]]:
    """Return the rows of texts with these ids, without their output."""
    found = rows_of_texts(lambda: {"output": "A"}, [(name, {}) for name in names], given)
    return [{field: value for field, value in row.items() if field != "output"} for row in found]


WHY = "It answers the question and says why."


def test_comments_are_reasons_of_the_scores_of_their_rater_and_no_scores() -> None:
    given = [
        Annotation("a", "tone", 4.0, "anna"),
        Annotation("a", "comment", WHY, "anna"),
        Annotation("a", "comment", "fine", "ben"),
        Annotation("a", "tone", "good", "ben", "Polite."),
        Annotation("a", "length", 2.0, "ben"),
        Annotation("a", "why this tone?", "warm\nand short", "ben"),
        Annotation("b", "comment", "short", "anna"),
        Annotation("b", "comment", "shorter", None),
        Annotation("b", "tone", 3.0, "ben"),
    ]
    assert rows_about("abc", given) == [
        {
            "id": "a",
            "annotations": {"tone": {"anna": 4.0, "ben": "good"}, "length": {"ben": 2.0}},
            "reasons": {"tone": {"anna": WHY, "ben": "fine\nPolite.\nwarm\nand short"}, "length": {"ben": "fine"}},
        },
        {
            "id": "b",
            "annotations": {"tone": {"ben": 3.0}},
            "answers": {"comment": {"anna": "short", "unnamed-8": "shorter"}},
        },
        {"id": "c"},
    ]


def test_an_aspect_with_more_comments_than_words_for_levels_has_comments() -> None:
    said = ["none", "none", *(f"{WHY} {n}" for n in range(3))]
    given = [Annotation(str(n), "thoughts", text, "anna") for n, text in enumerate(said)]
    found = rows_about(map(str, range(5)), given)
    assert found == [{"id": str(n), "answers": {"thoughts": {"anna": text}}} for n, text in enumerate(said)]


def test_known_raters_keep_their_names_and_their_last_scores_beside_unknown_ones() -> None:
    given = [
        Annotation("a", "q", 1.0, "anna", "Early."),
        Annotation("a", "q", 5.0, "anna"),
        Annotation("a", "q", 4.0, None, "Late."),
        Annotation("a", "q", 3.0, None),
        Annotation("b", "q", 2.0, None, "One."),
        Annotation("b", "q", 2.0, None, "Two."),
    ]
    assert rows_about("ab", given) == [
        {
            "id": "a",
            "annotations": {"q": {"anna": 5.0, "unnamed-3": 4.0, "unnamed-4": 3.0}},
            "reasons": {"q": {"unnamed-3": "Late."}},
        },
        {
            "id": "b",
            "annotations": {"q": {"unnamed-5": 2.0, "unnamed-6": 2.0}},
            "reasons": {"q": {"unnamed-5": "One.", "unnamed-6": "Two."}},
        },
    ]


def test_texts_without_output_and_unclear_ones_that_nobody_scored_are_left_out() -> None:
    def row_of(outputs: list[str | None]) -> Row:
        if len(outputs) > 1:
            raise DataError("There are several outputs.", "Name one.")
        return {"output": outputs[0]}

    outputs_by_id: dict[str, list[str | None]] = {"good": ["A"], "failed": [None], "tool": ["A", "B"]}
    texts = [(text_id, {"outputs": outputs}) for text_id, outputs in outputs_by_id.items()]
    given = [Annotation("good", "x", 1.0, "anna"), Annotation("failed", "x", 1.0, "anna")]
    found = rows_of_texts(row_of, texts, given)
    assert [(row["id"], row["annotations"]) for row in found] == [("good", {"x": {"anna": 1.0}})]
    with pytest.raises(DataError, match=r"^tool: There are several outputs\."):
        rows_of_texts(row_of, texts, [Annotation("tool", "x", 1.0, "anna")])


@pytest.mark.parametrize(
    ("aspect", "words"),
    [("explanation_quality", ["Good", "Fair", "Poor"] * 13), ("justification", ["supported", "unsupported"] * 10)],
)
def test_words_for_levels_are_scores_under_a_name_of_comments(aspect: str, words: list[str]) -> None:
    given = [Annotation(str(n), aspect, word, "anna") for n, word in enumerate(words)]
    found = rows_about(map(str, range(len(words))), given)
    assert [row.get("annotations") for row in found] == [{aspect: {"anna": word}} for word in words]


@pytest.mark.parametrize(
    ("module", "name", "library", "extra"),
    [
        ("deepeval", "RubricMetric", "deepeval", "deepeval"),
        ("inspect_ai", "rubric_scorer", "inspect_ai", "inspect-ai"),
        ("langfuse", "LangfuseEvaluator", "langfuse", "langfuse"),
        ("langsmith", "LangSmithEvaluator", "langsmith", "langsmith"),
        ("mcp", "RubricTools", "mcp", "mcp"),
        ("mlflow", "MLflowScorer", "mlflow", "mlflow"),
        ("phoenix", "PhoenixEvaluator", "phoenix", "phoenix"),
        ("weave", "WeaveScorer", "weave", "weave"),
    ],
)
def test_the_error_names_the_extra_that_installs_a_library(
    module: str, name: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"rubriclab.integrations.{module}"
    for loaded in [each for each in sys.modules if each.partition(".")[0] == library or each.startswith(package)]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UserError, match=rf"pip install 'rubriclab\[{extra}\]'"):
        getattr(importlib.import_module(package), name)

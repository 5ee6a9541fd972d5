"""DeepEval, with its own `evaluate` and `assert_test`, without a network and without a key of OpenAI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pytest_projects import BAD, GOOD, TEXTS, UNSCORABLE, Parity, run_example

for name in ("DEEPEVAL_TELEMETRY_OPT_OUT", "DEEPEVAL_DISABLE_DOTENV", "DEEPEVAL_NO_INSPECT_PROMPT"):
    os.environ[name] = "1"
pytest.importorskip("deepeval", reason="needs DeepEval: run make test-integrations")

from deepeval import assert_test, evaluate  # noqa: E402
from deepeval.test_case import LLMTestCase, RetrievedContextData  # noqa: E402

from rubriclab.integrations.deepeval import RubricMetric, row_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def case(text: dict[str, Any], words: str = "") -> LLMTestCase:
    return LLMTestCase(name=text["id"], input=text["source"], actual_output=f"{text['output']}{words}")


def test_scores_are_those_of_the_command_and_no_text_is_asked_about_twice(store: Path, parity: Parity) -> None:
    with RubricMetric("remote@1", 3, store=store) as metric:
        results = evaluate([case(text) for text in TEXTS], [metric]).test_results
        own = {text["id"]: (metric.measure(case(text)), metric.result) for text in TEXTS}
    assert len(results) == len(TEXTS)
    parity.check("DeepEval", "deepeval", {name: score.score for name, (_, score) in own.items()})
    for result in results:
        (found,), row = result.metrics_data, parity.rows[result.name]
        assert found.score == (row["score"] - 1) / 4 == own[result.name][0]
        assert (found.threshold, found.success) == (0.5, row["score"] >= 3)
        assert (found.name, found.evaluation_model) == ("Rubric remote@1", "openai/fake")
        assert all(criterion["reason"] in found.reason for criterion in row["criteria"])


@pytest.mark.parametrize("run_async", [True, False])
def test_an_assertion_fails_with_the_score_and_the_reasons(store: Path, run_async: bool) -> None:
    with RubricMetric("remote", 3, store=store) as metric:
        assert_test(case(TEXTS[0], f" It is {GOOD}."), [metric], run_async=run_async)
        with pytest.raises(
            AssertionError, match=r"(?s)Rubric remote@1 \(score: .*threshold: 0.5.*That is how it reads"
        ):
            assert_test(case(TEXTS[0], f" It is {BAD}."), [metric], run_async=run_async)


def test_a_text_without_a_score_fails_with_the_reason_and_the_others_are_scored(store: Path) -> None:
    cases = [case(TEXTS[0], f" It is {GOOD}."), case(TEXTS[1], f" It is {UNSCORABLE}.")]
    with RubricMetric("remote", 3, store=store) as metric:
        good, bad = sorted(evaluate(cases, [metric]).test_results, key=lambda result: result.name != TEXTS[0]["id"])
        assert (good.success, bad.success, bad.metrics_data[0].score) == (True, False, None)
        assert "criteria without a usable rating" in bad.metrics_data[0].error
        assert metric.measure(cases[1]) is None
        assert metric.is_successful() is False
        with pytest.raises(AssertionError, match="criteria without a usable rating"):
            assert_test(cases[1], [metric])


def test_the_fields_of_a_test_case_are_those_of_a_row() -> None:
    found = row_of(
        LLMTestCase(
            input="I",
            actual_output="A",
            expected_output="E",
            context=["unused"],
            retrieval_context=["one", RetrievedContextData(context="two", source="page 2")],
        )
    )
    assert found == {"output": "A", "source": "I", "context": "one\n\npage 2: two", "reference": "E"}
    assert row_of(LLMTestCase(input="I", actual_output="", context=["c"]))["context"] == "c"


def test_the_example_of_the_documentation_works(store: Path) -> None:
    names = run_example("deepeval", "test_answers.py")
    names["test_answer"]()
    assert len(names["results"].test_results) == 1

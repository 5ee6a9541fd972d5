"""Texts without the source or context that all training texts had are not scored as if they had it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from commands import LABELLED, Commands

from rubriclab import Lab, SettingsError
from rubriclab.data.readers import read
from rubriclab.models.version import Provenance

DIRECT: dict[str, Any] = {
    "task": "support answer",
    "aspect": "helpfulness",
    "definition": "How well the answer solves the customer's problem.",
    "scale": (1, 5),
    "methods": "direct",
    "judge": "embedded",
}


@pytest.fixture(scope="module")
def answers() -> list[dict[str, Any]]:
    """Answers to questions in the column `Kundenfrage`."""
    rows = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()][:24]
    return [
        {"Kundenfrage": row["source"], "Antwort": row["output"], "Note": row["scores"]["coherence"], "Nr": row["id"]}
        for row in rows
    ]


@pytest.fixture(scope="module")
def lab(answers: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A store with a rubric learned from texts that all have a context."""
    lab = Lab(tmp_path_factory.mktemp("fields") / "store.db", progress=None)
    mapping = {"output": "Antwort", "context": "Kundenfrage", "scores.helpfulness": "Note"}
    lab.learn(answers, name="help", mapping=mapping, **DIRECT)
    return lab


@pytest.mark.parametrize("wrong", [{}, {"source": "Kundenfrage"}], ids=["dropped", "mapped to source"])
@pytest.mark.parametrize("operation", ["score", "compare", "evaluate", "explain"])
def test_a_field_that_all_training_texts_had_is_asked_for_with_its_column(
    lab: Lab, answers: list[dict[str, Any]], operation: str, wrong: dict[str, str]
) -> None:
    mapping = {"output": "Antwort", "scores.helpfulness": "Note", **wrong}
    calls: dict[str, Any] = {
        "score": lambda **options: lab.score(answers, "help", **options),
        "compare": lambda **options: lab.compare(answers, answers, "help", **options),
        "evaluate": lambda **options: lab.evaluate(answers, "help", include_training=True, **options),
        "explain": lambda **options: lab.explain("help", answers[:1], **options),
    }
    with pytest.raises(SettingsError, match="every text that help@1 was learned from had it") as error:
        calls[operation](mapping=mapping)
    assert "context=Kundenfrage" in str(error.value)
    calls[operation](mapping={"output": "Antwort", "scores.helpfulness": "Note", "context": "Kundenfrage"})


def test_the_mapping_that_is_proposed_for_scoring_gives_the_scores_of_the_right_mapping(
    lab: Lab, answers: list[dict[str, Any]], tmp_path: Path
) -> None:
    here = Commands(tmp_path, RUBRICLAB_STORE=str(lab._store))
    rows = ["Kundenfrage\tAntwort", *("\t".join(row[name] for name in ("Kundenfrage", "Antwort")) for row in answers)]
    (tmp_path / "new.tsv").write_text("\n".join(rows))
    refused = here("score", "new.tsv", "--rubric", "help", "-o", "scores.jsonl")
    assert refused.code == 2
    proposed = refused.error.rpartition("--map ")[2].strip(" .")
    assert proposed == "output=Antwort,context=Kundenfrage"
    assert here("score", "new.tsv", "--rubric", "help", "--map", proposed, "-o", "scores.jsonl").code == 0
    written = [json.loads(line)["score"] for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    right = lab.score(answers, "help", mapping={"output": "Antwort", "context": "Kundenfrage"})
    assert written == list(right.values)


def test_some_texts_without_the_field_are_scored_and_counted(
    lab: Lab, answers: list[dict[str, Any]], tmp_path: Path
) -> None:
    rows = [
        {"output": row["Antwort"], "context": row["Kundenfrage"] if n % 3 else None} for n, row in enumerate(answers)
    ]
    (tmp_path / "some.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    here = Commands(tmp_path, RUBRICLAB_STORE=str(lab._store))
    done = here("score", "some.jsonl", "--rubric", "help", "-o", "scores.jsonl")
    assert done.code == 0
    assert "some.jsonl: 8 of 24 texts have no context, and every text that help@1 was learned from had one" in done.err


def test_looking_ahead_skips_no_row_of_a_stream() -> None:
    rows = read(io.BytesIO(b"".join(b'{"output": "%d"}\n' % n for n in range(5))))
    assert [example.output for _, example in rows.look_ahead(lambda example: example.output == "2", 100)] == list("012")
    assert [row.output for row in rows if not isinstance(row, Exception)] == list("01234")


def test_a_provenance_without_the_fields_keeps_its_digest(lab: Lab) -> None:
    """Records of earlier versions lack the field."""
    known = lab.load("help").provenance
    assert known.text_fields == ("context",)
    earlier = {name: value for name, value in known.model_dump(mode="json").items() if name != "text_fields"}
    read_back = Provenance.model_validate(earlier)
    assert read_back.text_fields is None
    assert read_back.model_dump(mode="json") == earlier

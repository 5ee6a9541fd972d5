"""Proposed mappings, from the names and cells of columns."""

from __future__ import annotations

import pytest

from rubriclab.data.mapping_proposals import propose_mapping, propose_scores

LONG = "A text of several words that is longer than a name."


def test_columns_are_recognised_by_name_and_the_output_by_its_length() -> None:
    row = {"Nr.": "1", "Artikel": LONG, "Was sie schrieb": LONG * 2, "Modell": "m", "Kohärenz": "3,5"}
    expected = {"output": "Was sie schrieb", "source": "Artikel", "id": "Nr.", "system": "Modell"}
    assert propose_mapping([row]) == expected
    assert propose_mapping([row], "coherence") == {**expected, "scores.coherence": "Kohärenz"}


def test_a_compound_is_recognised_by_its_last_word() -> None:
    german = {"Nr.": "1", "Kundenfrage": LONG, "Antwort": LONG, "Musterantwort": LONG}
    expected = {"output": "Antwort", "reference": "Musterantwort", "id": "Nr.", "context": "Kundenfrage"}
    assert propose_mapping([german]) == expected
    english = {"customer question": LONG, "agent reply": LONG, "reply time": "12"}
    assert propose_mapping([english]) == {"output": "agent reply", "context": "customer question"}


def test_several_columns_of_an_aspect_are_its_raters() -> None:
    raters = {"coherence_anna": "4", "coherence_ben": "5", "Rater 1": "3"}
    found = propose_mapping([{"output": LONG, **raters}], "coherence")
    assert found == {"annotations.coherence.anna": "coherence_anna", "annotations.coherence.ben": "coherence_ben"}


def test_raters_with_the_words_of_the_main_verdict_and_the_version_are_proposed_beside_it() -> None:
    rows = [
        {"Antwort": f"{LONG} {n}", "Urteil": word, "Anna": word, "Ben": "" if n % 3 else "fail", "Version": "b1"}
        for n, word in enumerate(["pass", "fail"] * 8)
    ]
    rows[0] |= {"Urteil": "1", "Version": "b2"}
    expected = {"output": "Antwort", "system": "Version", "scores.x": "Urteil"}
    assert propose_mapping(rows, "x") == {**expected, "annotations.x.anna": "Anna"}
    rows[1] |= {"Ben": "pass"}
    assert propose_mapping(rows, "x") == {**expected, "annotations.x.anna": "Anna", "annotations.x.ben": "Ben"}


@pytest.mark.parametrize(("label", "mapped"), [("score", {}), ("scores.x", {}), ("mark", {"scores.x": "mark"})])
def test_numbered_columns_on_the_scale_of_the_label_are_proposed_as_its_raters(label: str, mapped: dict) -> None:
    rows = [{"doc": f"d{n // 3}", "output": LONG, label: 2 + n % 3, "a1": 1 + n % 5, "a2": 5} for n in range(15)]
    own = {} if mapped or label == "scores.x" else {"scores.x": label}
    raters = {"annotations.x.a1": "a1", "annotations.x.a2": "a2"}
    assert propose_mapping(rows, "x", mapped) == {"group": "doc", **own, **raters}
    for changed in ({"a2": 50}, {label: 7}, {"q1": 1, "q2": 2, "a1": "", "a2": ""}):  # another scale, and questions
        other = propose_mapping([{**row, **changed} for row in rows], "x", {"scores.x": label})
        assert other == {"group": "doc"}


MEASURED: dict[str, list[float]] = {
    "words": [10 * (n % 7) for n in range(20)],
    "rouge_l": [n % 3 / 10 for n in range(20)],
    "bleu-4": [n / 31 for n in range(20)],
    "latency": [n % 4 for n in range(20)],
    "sales": [n % 5 * 1000 for n in range(20)],
    "entropy": [n % 15 / 7 for n in range(20)],
}


@pytest.mark.parametrize("measured", MEASURED)
def test_columns_of_a_small_range_are_raters_and_measurements_are_no_scores(measured: str) -> None:
    rows = [{"output": LONG, "Anna": n % 5, "Ben": n % 4, measured: MEASURED[measured][n]} for n in range(20)]
    assert propose_mapping(rows, "x") == {"annotations.x.anna": "Anna", "annotations.x.ben": "Ben"}
    alone = [{"output": LONG, measured: cell} for cell in MEASURED[measured]]
    assert propose_mapping(alone, "x") == {}
    assert propose_mapping(alone, measured) == {f"scores.{measured}": measured}


@pytest.mark.parametrize("cells", [[1, 2, 3], ["major", "minor", "none"], [True, False, True]])
def test_a_column_named_like_the_aspect_holds_its_scores_whatever_the_others_hold(cells: list[object]) -> None:
    rows = [
        {"output": LONG, "rating": 3, "Answer Quality": cell, "answer_quality_bleu": 0.5, "system": "a"}
        for cell in cells
    ]
    assert propose_mapping(rows, "answer quality") == {"scores.answer quality": "Answer Quality"}


def test_a_table_with_a_row_for_each_rating_has_raters_and_aspects() -> None:
    rows = [
        {"text": f"{LONG} {n}", "dimension": aspect, "worker_id": rater, "rating": 3}
        for n in range(3)
        for aspect in ("tone", "style")
        for rater in (7, 8)
    ]
    expected = {"output": "text", "aspect": "dimension", "rater": "worker_id", "scores.tone": "rating"}
    assert propose_mapping(rows, "tone") == expected
    assert propose_mapping(rows, "clarity") == {k: v for k, v in expected.items() if k != "scores.tone"}


def test_a_form_with_a_question_for_each_text_gets_no_mapping_and_one_for_each_aspect_does() -> None:
    form = {"Timestamp": "2024/05/01 10:10:00 AM GMT+2", "How good? [Text 1]": "4", "How good? [Text 2]": "5"}
    assert propose_mapping([form], "good") == {}
    rated = {"Summary": LONG, "Rate it [Tone]": "4", "Rate it [Style]": "5"}
    assert propose_mapping([rated], "tone") == {"output": "Summary", "scores.tone": "Rate it [Tone]"}


@pytest.mark.parametrize("cells", [range(1, 31), [n / 31 for n in range(30)], [117 + 3 * n for n in range(30)]])
def test_numbers_that_all_differ_are_scores_only_if_they_are_named_so(cells: list[float]) -> None:
    def proposed(column: str) -> dict[str, str]:
        return propose_mapping([{"output": LONG, column: cell} for cell in cells], "coherence")

    assert proposed("seg_id") == proposed("latency") == {}
    assert proposed("rating") == {"scores.coherence": "rating"}
    assert proposed("coherence_mean") == {"scores.coherence": "coherence_mean"}
    rows = [{"output": LONG, "bleu": cell, "quality": n % 5} for n, cell in enumerate(cells)]
    assert propose_mapping(rows, "coherence") == {"scores.coherence": "quality"}


def test_an_aspect_that_has_mapped_scores_gets_no_other_columns() -> None:
    rows = [{"text": LONG, "Anna": n % 5, "Ben": n % 4, "share": n / 10} for n in range(9)]
    for field in ("scores.x", "annotations.x.anna"):
        assert propose_mapping(rows, "x", {field: "share"}) == {"output": "text"}
    assert "Anna" in propose_mapping(rows, "y", {"scores.x": "share"}).values()
    assert propose_scores(rows, "clarity", {"scores.clarty": "share"}) == "scores.clarity=share,output=text"


def test_repeated_values_are_no_ids_and_ids_are_no_texts() -> None:
    text = "Eine lange Antwort auf die Frage, in ganzen Worten."
    rows = [{"conversation_id": "c1", "Lfd. Nr.": number, "Antwort": text} for number in (1, 2)]
    assert propose_mapping(rows, "x") == {"output": "Antwort", "id": "Lfd. Nr."}

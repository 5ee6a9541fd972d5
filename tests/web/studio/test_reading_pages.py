"""The pages that read the store: rubrics, versions, comparisons and labelled texts by criteria."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import httpx
import pytest
from commands import HELDOUT
from sqlalchemy import create_engine, text
from studio_samples import READING_PAGES, WORDS, Client, rows, served

from rubriclab import Lab
from rubriclab.display import python_call
from rubriclab.report import wording
from rubriclab.report.wording import CallsPerText, estimate
from rubriclab.store.store import open_store


@pytest.fixture
def lab(learned: Path) -> Lab:
    return Lab(learned, progress=None, notify=lambda _text: None)


def words_of(page: httpx.Response) -> str:
    """Return what a page shows, on one line."""
    assert page.status_code == 200, page.text
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.text.partition("<main")[2])).split())


def ids_of(page: httpx.Response) -> list[str]:
    """Return the ids of the texts on a page, in its order."""
    assert page.status_code == 200, page.text
    return [unescape(each) for each in re.findall(r'<th scope="row"><a [^>]*>(.*?)</a>', page.text)]


def test_the_list_shows_the_newest_version_of_each_rubric_with_verdict_price_and_judge(reader: Client) -> None:
    page = reader.get("/")
    assert ids_of(page) == ["bare@1", "grown@4", "hostile@1", "news@1", "paid@1"]
    assert words_of(page).count("judge: embedded") == 4
    assert "5 rubrics: the newest" in words_of(page)
    assert re.search(r"news@1 weights: (whole text \d+ %, )?\d+ criteria \d+ %", words_of(page))
    assert ids_of(reader.get("/", search="ANNA 4.")) == ["grown@4"]
    assert "No rubric matches" in words_of(reader.get("/", search="nothing"))


def test_the_list_shows_the_verdict_on_other_texts_with_its_own_figures(
    store: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = {False: CallsPerText(1, 2_900), True: CallsPerText(1, 420)}
    monkeypatch.setattr(wording, "scoring_calls", lambda version: calls[version.rubric.asks_directly])
    monkeypatch.setattr(wording, "direct_calls", lambda _version: calls[True])
    own = Lab(store, progress=None, notify=lambda _text: None)
    own.learn(rows(), name="direct", methods="direct", task="summarization", aspect="coherence", scale=(1, 5))
    own.evaluate(HELDOUT, ["news", "direct"])
    own.evaluate(HELDOUT, "grown")
    evaluation = own.load("news").evaluation
    # The formula of text features decides here: the record is changed, so that the judge asked directly does.
    verdict = evaluation.verdict.model_copy(update={"against": "direct@1"})
    changes = {"verdict": verdict, "other": evaluation.other.model_copy(update={"asked_directly": True})}
    with open_store(store) as writable:
        writable.add_evaluation(own.load("news"), evaluation.model_copy(update=changes))
    with served(store, format_command=python_call) as studio:
        shown = {each: words_of(studio.get("/", search=f"{each}@")) for each in ("news", "direct", "grown", "bare")}
        both = words_of(studio.get("/", search="coherence"))
        direct_page = studio.get("/", search="direct@1").text
        page = words_of(studio.get("/news"))
        assert f"{evaluation.groups} groups, evaluated on" in words_of(studio.get("/news/versions"))
    figures = f"{estimate(evaluation.errors.absolute)} {estimate(evaluation.order)}"
    texts = f"{evaluation.n} other texts in {evaluation.file}, of {evaluation.groups} groups"
    advice = "use direct@1, at 14 % of the tokens, unless you need reasons by criterion at learning, which counts less"
    assert re.search(rf"{advice}: [a-z ,]+ {texts} {re.escape(figures)} 2,900 tokens 1 call", shown["news"])
    assert f"{estimate(evaluation.order)} {estimate(evaluation.other.order)} " in page
    assert f"Each dot is one of these {evaluation.n} texts." in page
    assert "1 baseline: the newest" in both
    assert "lab.evaluate(OTHER_LABELLED" in both
    assert "rubriclab evaluate" not in both + page
    direct = own.load("direct").evaluation
    own_figures = re.escape(f"{estimate(direct.error)} {estimate(direct.order)}")
    assert re.search(rf" news@1 .* direct@1 baseline: the judge asked directly [^–]*– {texts} {own_figures}", both)
    assert 'class="verdict"' not in direct_page
    assert "not compared with the judge asked directly" in shown["grown"]
    assert "not measured" in shown["bare"]


def test_the_list_gives_brier_scores_with_three_decimals(tmp_path: Path) -> None:
    own, ratings = Lab(tmp_path / "own.db", progress=None, notify=lambda _text: None), HELDOUT.parents[1] / "ratings"
    columns = {"scores.coherence": "coherence"}
    options = {"task": "summarization", "aspect": "coherence", "scale": "fail:pass", "methods": "direct"}
    own.learn(ratings / "verdicts-labelled.csv", judge="embedded", name="verdicts", mapping=columns, **options)
    own.evaluate(ratings / "verdicts-heldout.csv", "verdicts", mapping=columns)
    with served(tmp_path / "own.db") as studio:
        assert estimate(own.load("verdicts").evaluation.error, 3) in words_of(studio.get("/"))


def test_pages_of_the_texts_of_a_judge_asked_directly_name_the_judge_and_no_rubric(store: Path) -> None:
    own = Lab(store, progress=None, notify=lambda _text: None)
    own.learn(rows(), name="asked", methods="direct", task="summarization", aspect="coherence", scale=(1, 5))
    own.transfer("asked", HELDOUT, no_relearn=True, action="recalibrate", save=True)
    with served(store) as studio:
        for tab in ("texts", "disagreements"):
            news, asked = (words_of(studio.get(f"/{name}/{tab}")).lower() for name in ("news", "asked"))
            assert re.search("rubric (scores )?higher", news)
            assert re.search("judge (scores )?higher", asked)
            assert not re.search("(the|by|final) rubric|rubric learned", asked)


def test_a_version_is_found_by_name_number_or_tag_and_anything_else_is_not(reader: Client) -> None:
    for ref, number in (("grown", 4), ("grown@2", 2), ("grown@production", 2)):
        assert f"version {number}" in words_of(reader.get(f"/{ref}"))
    for path in ("/grown@9", "/other", "/grown@nothing/texts", "/grown@1/nothing", "/News!", "/grown/compare?with=no"):
        page = reader.get(path)
        assert page.status_code == 404, path
        assert 'role="alert"' in page.text
    assert reader.get("/grown/texts?page=x").status_code == 422


def test_a_comparison_is_with_the_parent_unless_another_version_is_named(reader: Client) -> None:
    assert "grown@2 to grown@4" in words_of(reader.get("/grown@4/compare"))
    other = words_of(reader.get("/grown@4/compare", **{"with": "grown@3"}))
    assert "grown@3 to grown@4" in other
    assert "A definition. Because 3." in other
    assert "A definition. Because 4." in other


def test_texts_are_sorted_by_any_column_with_missing_values_last(reader: Client, lab: Lab) -> None:
    record = lab.training_record("grown@1")
    labels = {text.id: text.label for text in record.texts}
    place = next(place for place, candidate in enumerate(record.candidates) if candidate.kept)
    scores = {text.id: row[place].score for text, row in zip(record.texts, record.cells, strict=True)}
    for column, values in (("label", labels), (f"c{place}", scores)):
        for order, sign in (("ascending", 1), ("descending", -1)):
            page = reader.get("/grown@1/texts", sort=column, order=order)
            expected = sorted(values, key=lambda name: (values[name] is None, sign * (values[name] or 0)))
            assert ids_of(page) == expected
            assert f'aria-sort="{order}"' in page.text


def test_a_version_without_a_record_says_so_and_a_deleted_record_is_shown_no_more(store: Path) -> None:
    with served(store) as client:
        assert client.get("/bare/texts").status_code == 404
        assert client.get("/bare").status_code == 200
        assert client.get("/grown@1/texts").status_code == 200
        engine = create_engine(f"sqlite:///{store}")
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM trainings WHERE name = 'grown'"))
        engine.dispose()
        gone = client.get("/grown@1/texts")
        assert (gone.status_code, 'role="alert"' in gone.text) == (404, True)


def test_words_of_a_rubric_text_or_editor_are_shown_as_text(reader: Client) -> None:
    for path in READING_PAGES:
        page = reader.get(path).text
        assert "<img" not in page
        assert "<script>" not in page
        assert 'onerror="' not in page
    assert WORDS in words_of(reader.get("/hostile/texts"))
    link = re.search(r'href="(/hostile@1/explain\?id=[^"]+)"', reader.get("/hostile/texts").text)
    assert link
    assert httpx.URL(unescape(link[1])).params["id"] == WORDS

"""The pages that read the store: rubrics, versions, comparisons and labelled texts by criteria."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from sqlalchemy import create_engine, text
from studio_samples import WORDS, Client, served

from rubriclab import Lab

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

ALL = ("/", "/hostile", "/hostile/versions", "/hostile/texts?every=true", "/hostile/compare?with=grown@1")


@pytest.fixture(scope="module")
def client(learned: Path) -> Iterator[Client]:
    """The studio over a store that no test changes."""
    with served(learned) as client:
        yield client


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


def test_the_list_shows_the_newest_version_of_each_rubric_with_verdict_price_and_judge(client: Client) -> None:
    page = client.get("/")
    assert ids_of(page) == ["bare@1", "grown@4", "hostile@1", "news@1", "paid@1"]
    assert words_of(page).count("per text embedded") == 4
    assert "5 of 5 rubrics" in words_of(page)
    assert ids_of(client.get("/", search="ANNA 4.")) == ["grown@4"]
    assert "No rubric matches" in words_of(client.get("/", search="nothing"))


def test_a_version_is_found_by_name_number_or_tag_and_anything_else_is_not(client: Client) -> None:
    for ref, number in (("grown", 4), ("grown@2", 2), ("grown@production", 2)):
        assert f"version {number}" in words_of(client.get(f"/{ref}"))
    for path in (
        "/grown@9",
        "/other",
        "/grown@nothing/texts",
        "/grown@1/nothing",
        "/News!",
        "/grown/compare?with=other",
    ):
        page = client.get(path)
        assert page.status_code == 404, path
        assert 'role="alert"' in page.text
    assert client.get("/grown/texts?page=x").status_code == 422


def test_a_comparison_is_with_the_parent_unless_another_version_is_named(client: Client) -> None:
    assert "grown@2 to grown@4" in words_of(client.get("/grown@4/compare"))
    other = words_of(client.get("/grown@4/compare", **{"with": "grown@3"}))
    assert "grown@3 to grown@4" in other
    assert "A definition. Because 3." in other
    assert "A definition. Because 4." in other


def test_texts_are_sorted_by_any_column_with_missing_values_last(client: Client, lab: Lab) -> None:
    record = lab.training_record("grown@1")
    labels = {text.id: text.label for text in record.texts}
    place = next(place for place, candidate in enumerate(record.candidates) if candidate.kept)
    scores = {text.id: row[place].score for text, row in zip(record.texts, record.cells, strict=True)}
    for column, values in (("label", labels), (f"c{place}", scores)):
        for order, sign in (("ascending", 1), ("descending", -1)):
            page = client.get("/grown@1/texts", sort=column, order=order)
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


def test_words_of_a_rubric_text_or_editor_are_shown_as_text(client: Client) -> None:
    for path in ALL:
        page = client.get(path).text
        assert "<img" not in page
        assert "<script>" not in page
        assert 'onerror="' not in page
    assert WORDS in words_of(client.get("/hostile/texts"))
    link = re.search(r'href="(/hostile@1/explain\?id=[^"]+)"', client.get("/hostile/texts").text)
    assert link
    assert httpx.URL(unescape(link[1])).params["id"] == WORDS


def test_search_and_sorting_change_the_page_in_place(client: Client, browser: Chrome, lab: Lab) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(f"{client.url}/grown@1/texts")
    browser.execute_script("window.stays = true")
    wait = WebDriverWait(browser, 10)
    browser.find_element(By.ID, "sort-label").click()
    wait.until(lambda page: page.find_elements(By.CSS_SELECTOR, '[aria-sort="ascending"] #sort-label:focus'))
    word = lab.training_record("grown@1").texts[0].id
    browser.find_element(By.NAME, "search").send_keys(word)
    wait.until(lambda page: "found among 18" in page.find_element(By.CSS_SELECTOR, '[role="status"]').text)
    assert "sort=label" in browser.current_url
    assert browser.execute_script("return window.stays")


def test_no_page_is_wider_than_a_phone(client: Client, browser: Chrome) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    width = 360
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    for path in (*ALL, "/grown", "/grown/texts", "/other"):
        browser.get(f"{client.url}{path}")
        # The browser takes a moment to apply the width to a new page.
        sizes = "return [window.innerWidth, document.documentElement.scrollWidth]"
        WebDriverWait(browser, 5).until(lambda page: page.execute_script(sizes)[0] == width, path)  # noqa: B023
        assert browser.execute_script(sizes)[1] <= width, path
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

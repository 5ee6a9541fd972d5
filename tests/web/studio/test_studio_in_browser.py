"""The working pages in a real browser: what was typed stays, errors are shown in place, and no content runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from selenium.webdriver.common.by import By
from studio_samples import HOSTILE, READING_PAGES, REF, SCRIPT, Client, rows
from web_samples import hurry, until

from rubriclab import Lab

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

TYPED = "Does it end well?"


def one(place: Chrome | WebElement, selector: str) -> WebElement:
    return place.find_element(By.CSS_SELECTOR, selector)


def nothing_ran(browser: Chrome) -> bool:
    faults = [entry["message"] for entry in browser.get_log("browser") if " 422 " not in entry["message"]]
    return browser.title != "run" and faults == []


def test_a_criterion_is_dropped_and_one_added_and_the_saved_version_is_opened(
    browser: Chrome, studio: Client, store: Path
) -> None:
    browser.get(f"{studio.url}/{REF}/edit")
    hurry(browser)
    until(browser, lambda: "labelled texts" in one(browser, "#effect [data-part=status]").text)
    dropped = one(browser, "[data-criterion]")
    name = dropped.get_attribute("data-criterion")
    one(dropped, "[name=drop]").click()
    until(browser, lambda: "Cross-validated Pearson changes by" in one(browser, "#lead[role=status]").text)
    one(browser, "#add").click()
    one(browser, "#added textarea").send_keys(TYPED)
    browser.refresh()
    until(browser, lambda: one(browser, "#added textarea").get_attribute("value") == TYPED)
    assert one(browser, "[name=drop]").is_selected()
    until(browser, lambda: "a01" in one(browser, "#shown").text)
    one(browser, ".save button.main").click()
    until(browser, lambda: "Give your name" in one(browser, "#fault").text)
    one(browser, "[name=author]").send_keys("anna")
    one(browser, "[name=because]").send_keys(HOSTILE)
    one(browser, ".save button.main").click()
    until(browser, lambda: browser.current_url == f"{studio.url}/news@2?saved=yes")
    assert one(browser, "main [role=status]").text == f"Saved as news@2. Compare with {REF}"
    edit = Lab(store).load("news@2").provenance.edit
    assert [(change.action, change.criteria, change.after) for change in edit.changes] == [
        ("drop", (name,), None),
        ("add", (), TYPED),
    ]
    assert (edit.author, edit.because) == ("anna", HOSTILE)
    assert nothing_ran(browser)


def test_a_pasted_text_is_explained_with_a_waterfall_on_a_phone_too(browser: Chrome, studio: Client) -> None:
    browser.set_window_size(500, 900)
    browser.get(f"{studio.url}/{REF}/explain")
    one(browser, "#explain button.main").click()
    assert "Paste the text" in one(browser, "#explain [data-part=fault]").text
    one(browser, "[name=output]").send_keys(SCRIPT)
    one(browser, "[name=source]").send_keys(rows()[0]["source"][:80])
    one(browser, "#explain button.main").click()
    until(browser, lambda: one(browser, "#shares tr:not(.ticks) .drawing svg").is_displayed())
    one(browser, "#nearest th a").click()
    until(browser, lambda: "The rubric was learned from this text" in one(browser, "#shown").text)
    assert nothing_ran(browser)


def test_the_edit_page_says_what_is_wrong_where_it_is_and_recovers_once_the_studio_is_back(
    browser: Chrome, studio: Client
) -> None:
    browser.set_window_size(1280, 900)
    browser.get(f"{studio.url}/{REF}/edit")
    hurry(browser)
    until(browser, lambda: "labelled texts" in one(browser, "#effect [data-part=status]").text)
    first = one(browser, "[data-criterion]")
    one(first, "[name=weight] [value=pin]").click()
    one(first, "[name=low]").send_keys("130")
    assert one(first, "[data-weight-fault]").text == "Give a weight from 0 to 100 %, not 130 %."
    assert one(first, "[name=low]").get_attribute("aria-invalid") == "true"
    one(first, "[name=weight] [value='']").click()
    browser.execute_script("window.given = window.fetch; window.fetch = () => Promise.reject(new TypeError('away'))")
    one(first, "[name=drop]").click()
    until(browser, lambda: "your changes are kept in this tab" in one(browser, "#effect [data-part=fault]").text)
    assert one(browser, "#shown").text == ""
    # A studio that was started again has another token.
    object.__setattr__(studio.access, "token", "another")
    browser.execute_script("window.fetch = window.given")
    until(browser, lambda: "Cross-validated Pearson changes by" in one(browser, "#lead").text)
    one(browser, "#discard").click()
    browser.switch_to.alert.dismiss()
    assert one(first, "[name=drop]").is_selected()


def test_search_and_sorting_change_the_page_in_place(browser: Chrome, reader: Client, learned: Path) -> None:
    browser.get(f"{reader.url}/grown@1/texts")
    browser.execute_script("window.stays = true")
    one(browser, "#sort-label").click()
    until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, '[aria-sort="ascending"] #sort-label:focus'))
    word = Lab(learned, progress=None).training_record("grown@1").texts[0].id
    one(browser, "[name=search]").send_keys(word)
    until(browser, lambda: "found among 12" in one(browser, "[role=status]").text)
    assert "sort=label" in browser.current_url
    assert browser.execute_script("return window.stays")


def test_no_page_with_long_words_is_wider_than_a_phone(browser: Chrome, reader: Client) -> None:
    width = 360
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    for path in READING_PAGES:
        browser.get(f"{reader.url}{path}")
        # The browser takes a moment to apply the width to a new page.
        until(browser, lambda: browser.execute_script("return window.innerWidth") == width)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, path
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

"""The labelling page in a real browser, by keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from label_pages import ROWS, label_page
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

HOSTILE = (
    '</p><script>document.title="hacked"</script><img src=x onerror="document.title=\'hacked\'"> shared words are here'
)


def press(browser: Chrome, *keys: str) -> None:
    """Press keys wherever the focus is."""
    ActionChains(browser).send_keys(*keys).perform()


def wait_for(browser: Chrome, position: str) -> None:
    """Wait until the page says how far the rater is."""
    WebDriverWait(browser, 20).until(lambda page: page.find_element(By.ID, "position").text == position)


def test_three_texts_are_rated_by_keyboard_and_a_hostile_text_runs_no_script(
    browser: Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    rows = [{**row, "output": HOSTILE, "source": HOSTILE} for row in ROWS[:3]]
    with label_page(tmp_path, rows) as page:
        browser.get(page.address)
        WebDriverWait(browser, 20).until(lambda page: page.find_element(By.ID, "name"))
        press(browser, "anna", Keys.ENTER)
        wait_for(browser, "0 of 3")
        assert browser.find_element(By.CSS_SELECTOR, "#texts .text").text == HOSTILE
        press(browser, "4")
        wait_for(browser, "1 of 3")
        press(browser, "r")
        press(browser, "It says 5 things", Keys.ENTER)
        press(browser, "2")
        wait_for(browser, "2 of 3")
        press(browser, "u")
        wait_for(browser, "1 of 3")
        press(browser, "1")
        wait_for(browser, "2 of 3")
        browser.refresh()
        wait_for(browser, "2 of 3")
        press(browser, "c")
        wait_for(browser, "3 of 3")
        assert browser.find_element(By.ID, "done").is_displayed()
        assert "hacked" not in browser.title
        assert browser.get_log("browser") == []
        assert sorted(row["annotations"]["coherence"]["anna"] for row in page.labeling.rows()) == [1, 4]

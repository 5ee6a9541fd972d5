"""The labelling page in a real browser, by keyboard alone."""

from __future__ import annotations

import json
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

from label_pages import ROWS, label_page
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from web_samples import hurry, until

HOSTILE = (
    '</p><script>document.title="hacked"</script><img src=x onerror="document.title=\'hacked\'"> shared words are here'
)


def press(browser: Chrome, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def wait_for(browser: Chrome, position: str) -> None:
    until(browser, lambda: browser.find_element(By.ID, "position").text == position)


def wait_for_status(browser: Chrome, words: str) -> None:
    until(browser, lambda: browser.find_element(By.ID, "status").get_attribute("textContent") == words)


def test_three_texts_are_rated_by_keyboard_and_a_hostile_text_runs_no_script(browser: Chrome, tmp_path: Path) -> None:
    rows = [{**row, "output": HOSTILE, "source": HOSTILE} for row in ROWS[:3]]
    with label_page(tmp_path, rows) as page:
        browser.get(page.address)
        until(browser, lambda: browser.find_elements(By.ID, "name"))
        press(browser, "anna", Keys.ENTER)
        wait_for(browser, "0 done, a few texts left")
        assert browser.find_element(By.CSS_SELECTOR, "#texts .text").text == HOSTILE
        press(browser, "9")
        wait_for_status(browser, "9 is not on the scale: 1 (lowest) to 5 (highest), whole numbers only.")
        assert not browser.find_elements(By.CSS_SELECTOR, "#buttons[open]")
        press(browser, "4")
        wait_for(browser, "1 done, a few texts left")
        browser.find_element(By.CSS_SELECTOR, "#buttons summary").click()
        press(browser, "r")
        press(browser, "It says 5 things", Keys.ENTER)
        press(browser, "2")
        wait_for(browser, "2 done, a few texts left")
        assert browser.find_elements(By.CSS_SELECTOR, "#buttons[open]"), "help that was unfolded stays"
        press(browser, "u")
        wait_for(browser, "1 done, a few texts left")
        press(browser, "1")
        wait_for(browser, "2 done, a few texts left")
        browser.refresh()
        wait_for(browser, "2 done, a few texts left")
        press(browser, "c")
        wait_for(browser, "3 of 3 texts")
        assert browser.find_element(By.ID, "done").is_displayed()
        assert "hacked" not in browser.title
        assert browser.get_log("browser") == []
        assert sorted(row["annotations"]["coherence"]["anna"] for row in page.labeling.result().rows) == [1, 4]


def test_no_answer_is_lost_while_the_store_fails_or_to_one_that_is_refused(browser: Chrome, tmp_path: Path) -> None:
    with label_page(tmp_path, ROWS[:3]) as page:
        browser.get(f"{page.address}/?rater=anna")
        wait_for(browser, "0 done, a few texts left")
        for number, item in enumerate(("of-another-file", page.get("/item").json()["shown"]["item"])):
            name = f"{number}{uuid.uuid4().hex}"
            submission = {"id": name, "item": item, "kind": "rating", "value": 3}
            kept = json.dumps({"path": "/judgments", "body": {"rater": "anna", "submission": submission}})
            key = f"rubriclab-label:{page.labeling.question.digest}:anna:{name}"
            browser.execute_script("localStorage.setItem(...arguments)", key, kept)
        browser.refresh()
        wait_for(browser, "1 done, a few texts left")
        hurry(browser)
        with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
            other.execute("ALTER TABLE human_judgments RENAME TO away")
            press(browser, "4")
            trouble = browser.find_element(By.ID, "error")
            until(browser, lambda: "is kept in this browser" in trouble.text)
            assert trouble.text.startswith("4 is waiting to be sent.")
            assert not any(each.is_enabled() for each in browser.find_elements(By.CSS_SELECTOR, "#controls button"))
            other.execute("ALTER TABLE away RENAME TO human_judgments")
        wait_for(browser, "2 done, a few texts left")
        assert all(each.is_enabled() for each in browser.find_elements(By.CSS_SELECTOR, "#controls button"))
        left = browser.execute_script("return Object.values(localStorage).filter(each => each.includes('submission'))")
        assert [json.loads(each)["body"]["submission"]["item"] for each in left] == ["of-another-file"]
        assert sorted(row["annotations"]["coherence"]["anna"] for row in page.labeling.result().rows) == [3, 4]


def test_skip_and_forward_keep_answers_and_the_end_says_what_was_skipped(browser: Chrome, tmp_path: Path) -> None:
    with label_page(tmp_path, ROWS[:3]) as page:
        browser.get(f"{page.address}/?rater=anna")
        wait_for(browser, "0 done, a few texts left")
        press(browser, "4")
        wait_for(browser, "1 done, a few texts left")
        press(browser, "b")
        wait_for_status(browser, "Summary 1, answered before")
        press(browser, "s")
        wait_for_status(browser, "Summary 2")
        press(browser, "s")
        wait_for_status(browser, "Summary 3")
        press(browser, "b")
        wait_for_status(browser, "Summary 2, skipped before")
        press(browser, "f")
        wait_for_status(browser, "Summary 3")
        press(browser, "r", "It is clear", Keys.ENTER)
        wait_for_status(browser, "Reason noted. Now press a score: it is kept with your answer.")
        press(browser, "2")
        wait_for(browser, "2 done, a few texts left")
        assert browser.switch_to.active_element.text == "1 skipped text is left"
        press(browser, "b")
        wait_for_status(browser, "Summary 3, answered before")
        assert [row["annotations"]["coherence"]["anna"] for row in page.labeling.result().rows].count(4) == 1

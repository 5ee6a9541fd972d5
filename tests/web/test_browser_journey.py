"""The whole way in a real browser and the real command line: rate, learn, edit, score."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from commands import LABELLED, Commands
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.expected_conditions import (
    element_to_be_clickable,
    text_to_be_present_in_element,
    url_contains,
)
from selenium.webdriver.support.wait import WebDriverWait

WAIT = 60
NAME = "summarization-coherence"
# Two texts of each of six groups.
ROWS = [
    json.loads(line) for number, line in enumerate(LABELLED.read_text("utf-8").splitlines()) if number % 6 in (0, 3)
]
SCORES = {" ".join(row["output"].split()): row["scores"]["coherence"] for row in ROWS}


@contextmanager
def page_of(rubriclab: Commands, *arguments: object) -> Iterator[str]:
    """Yield the address of the page that a command serves; Ctrl-C ends it."""
    started = rubriclab.start(*arguments, "--no-browser")
    try:
        yield started.address()
    finally:
        os.kill(started.pid, signal.SIGINT)
        done = started.wait()
    assert done.code == 0, done.err


def wait_for(browser: Chrome, selector: str) -> WebElement:
    """Return an element once it can be clicked."""
    return WebDriverWait(browser, WAIT).until(element_to_be_clickable((By.CSS_SELECTOR, selector)))


# One text in ten comes twice.
ITEMS = len(ROWS) + 1


def rate_everything(browser: Chrome, address: str, rater: str) -> int:
    """Rate every text on the page as its label says, one point lower if the rater is strict; return how many."""
    browser.get(address)
    name = wait_for(browser, "#name")
    name.clear()  # the page suggests the latest name
    name.send_keys(rater, Keys.ENTER)
    rated = 0
    while True:
        share = f"{100 * rated // ITEMS} %"
        WebDriverWait(browser, WAIT).until(lambda page: page.find_element(By.ID, "position").text == share)  # noqa: B023
        if browser.find_element(By.ID, "done").is_displayed():
            return rated
        text = " ".join(browser.find_element(By.CSS_SELECTOR, "#texts .text").text.split())
        score = round(SCORES[text]) - (rater == "ben")
        ActionChains(browser).send_keys(str(max(1, score))).perform()
        rated += 1


def test_two_raters_rate_learn_edit_and_score_in_the_browser(browser: Chrome, rubriclab: Commands) -> None:
    unlabelled = [{key: value for key, value in row.items() if key != "scores"} for row in ROWS]
    (rubriclab.folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in unlabelled))
    asked = ("--task", "summarization", "--aspect", "coherence", "--scale", "1:5")
    with page_of(rubriclab, "label", "texts.jsonl", *asked, "-o", "labelled.jsonl") as address:
        for rater in ("anna", "ben"):
            assert rate_everything(browser, address, rater) >= len(ROWS)
    rows = [json.loads(line) for line in (rubriclab.folder / "labelled.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == len(ROWS)
    assert [set(row["annotations"]["coherence"]) for row in rows] == [{"anna", "ben"}] * len(ROWS)
    assert rubriclab("learn", "labelled.jsonl", *asked, "--judge", "embedded").code == 0
    learned = json.loads(rubriclab("export", f"{NAME}@1").out)
    first, *others = (each["id"] for part in learned["rubric"]["parts"] for each in part["criteria"])
    assert others
    with page_of(rubriclab, "studio", NAME) as address:
        browser.get(f"{address}/{NAME}@1/edit")
        wait_for(browser, f'[data-criterion="{first}"] input[name="drop"]').click()
        WebDriverWait(browser, WAIT).until(text_to_be_present_in_element((By.ID, "lead"), "Pearson"))
        wait_for(browser, 'input[name="author"]').send_keys("anna")
        wait_for(browser, 'textarea[name="because"]').send_keys("counts length twice")
        wait_for(browser, ".save button.main").click()
        WebDriverWait(browser, WAIT).until(url_contains(f"/{NAME}@2"))
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    edited = rubriclab("export", f"{NAME}@2").out
    assert "counts length twice" in edited
    scored = rubriclab("score", "texts.jsonl", "--rubric", f"{NAME}@2", "--judge", "embedded").rows
    assert len(scored) == len(ROWS)
    for row in scored:
        assert 1 <= row["score"] <= 5
        assert first not in {each["id"] for each in row["criteria"]}

"""A real browser for the tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def _running_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no Chromium with chromedriver is installed (Debian: apt-get install chromium chromium-driver)")
    options = ChromeOptions()
    options.binary_location = binary
    profile: Path = tmp_path_factory.mktemp("browser")
    for argument in (
        "--headless=new",
        "--no-sandbox",  # the sandbox does not start as root
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-extensions",
        "--no-proxy-server",
        f"--user-data-dir={profile}",
        "--window-size=1280,900",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = Chrome(options=options, service=ChromeService(driver))
    browser.set_page_load_timeout(20)
    try:
        yield browser
    finally:
        browser.quit()


@pytest.fixture
def browser(_running_browser: Chrome) -> Iterator[Chrome]:
    """A headless Chromium, one for all tests of the session; each test begins at a blank page and without cookies.

    `browser.get_log("browser")` holds what pages wrote to the console, violations of the content policy among them.
    """
    _running_browser.get("about:blank")
    _running_browser.delete_all_cookies()
    _running_browser.set_window_size(1280, 900)
    _running_browser.get_log("browser")
    yield _running_browser
    _running_browser.get("about:blank")

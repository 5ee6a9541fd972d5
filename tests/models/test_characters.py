"""What is shown of a text, and whether it shows anything."""

from __future__ import annotations

import logging
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.cli.main import log_to_file, start_logging, stop_logging
from rubriclab.judges import limits
from rubriclab.judges.limits import LocalLimits
from rubriclab.models import waits
from rubriclab.models.characters import comma_list, comma_values, is_blank, one_line, plain
from rubriclab.models.waits import LONG_WAIT, REPEAT_AFTER, log_wait


@settings(deadline=None, max_examples=200)
@given(st.text(st.sampled_from([*map(chr, range(0x2100)), "\ud800", "\udfff"]), max_size=80))
def test_plain_text_holds_no_character_that_acts(text: str) -> None:
    shown = plain(text)
    acting = {c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} - {"\n", "\t"}
    assert not acting
    assert not any("\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069" for c in shown)
    shown.encode("utf-8")
    assert plain(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (same := "Naïve café, 日本語, שלום, emoji 👩‍🔬, a\ttab and\na line [bold]", same),
        ("\x1b[31m \u202e \udc80 \x9b", "\\x1b[31m \\u202e \\udc80 \\x9b"),
    ],
)
def test_acting_characters_are_spelled_out_and_others_shown_as_written(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_one_line_has_no_line_breaks() -> None:
    assert one_line(" a\r\n b\n\n\tc ") == "a b c"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\n",
        "\u200b\u200c\u200d\u2060\ufeff",
        "\u3164",
        "\u115f\u1160\uffa0",
        "\u2800\u2800",
        "\ufe0f\U000e0100",
        "\u0301\u0308",
        "\u00ad\u202e",
        "\U000e0041",
        "\x00\x1b",
    ],
)
def test_a_text_of_invisible_characters_is_blank(text: str) -> None:
    assert is_blank(text)
    assert is_blank(f" {text}\n")


@pytest.mark.parametrize("text", ["a", "\u200ba", "👩\u200d🔬", "e\u0301", "한", "。", "0", "\ue000", "नि"])
def test_a_text_with_a_visible_character_is_not_blank(text: str) -> None:
    assert not is_blank(text)


VALUES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]) | st.sampled_from(' ,"='), min_size=1)


@given(st.lists(VALUES.map(str.strip).filter(bool), min_size=1))
def test_values_with_commas_and_quotation_marks_come_back(values: list[str]) -> None:
    assert comma_values(comma_list(values)) == values


def test_spaces_around_values_do_not_count() -> None:
    assert comma_values(' a , "b, c" ,d\ne') == ["a", "b, c", "d e"]
    assert comma_values("") == []


LOG = logging.getLogger("rubriclab.test")


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "_last_warnings", {})


def test_long_wait_is_on_standard_error_and_in_the_log_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start_logging(0)
    log_to_file(tmp_path / "log", "score")
    try:
        log_wait(LOG, LONG_WAIT, "the rate limit")
        log_wait(LOG, LONG_WAIT, "the rate limit")
        log_wait(LOG, LONG_WAIT - 1, "the next attempt")
        log_wait(LOG, LONG_WAIT + 1, "the next attempt", " after attempt 2 failed: status 503")
    finally:
        stop_logging()
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "warning: waiting 5.0 s for the rate limit",
        "warning: waiting 6.0 s for the next attempt after attempt 2 failed: status 503",
    ]
    assert len(re.findall("waiting", (tmp_path / "log").read_text())) == 4


async def test_requests_that_wait_for_the_rate_limit_say_so_once_in_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 1000.0
    monkeypatch.setattr(waits.time, "monotonic", lambda: now)

    async def sleep(_seconds: float) -> None:
        pass

    own = LocalLimits(concurrency=9, requests_per_minute=1, clock=lambda: 0.0, sleep=sleep)
    for _ in range(5):
        await own.acquire(0)
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [record.name for record in caplog.records][:1] == [limits.__name__]
    assert told == ["waiting 60.0 s for the rate limit"]
    now += REPEAT_AFTER
    log_wait(LOG, LONG_WAIT, "the rate limit")
    assert caplog.records[-1].levelno == logging.WARNING

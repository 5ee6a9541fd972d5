"""Who may use a service."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubriclab.errors import SettingsError
from rubriclab.web.api import ENVIRONMENT_CALLER, TOKEN_VARIABLE, find_caller, read_tokens

FIRST, SECOND = "first-token-0123456789", "second/token+0123456789=="


def test_callers_are_known_by_the_names_of_their_tokens(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# of the team\n\nanna {FIRST}\n{SECOND}\n", "utf-8")
    tokens = read_tokens(file, {TOKEN_VARIABLE: "own-token-0123456789"})
    assert find_caller(tokens, [f"Bearer {FIRST}"]) == "anna"
    assert find_caller(tokens, [f"bearer {SECOND}"]) == "line 4"
    assert find_caller(tokens, ["Bearer own-token-0123456789"]) == ENVIRONMENT_CALLER
    unknown = ("", " ", f" {FIRST[:-1]}", f" {FIRST}x", " \udcff")
    for other in ("", FIRST, f"Basic {FIRST}", *(f"Bearer{token}" for token in unknown)):
        assert find_caller(tokens, [other]) is None
    assert FIRST not in repr(tokens)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("short", r"tokens, line 1: a token has 16 to 1000 characters, this one 5\. Make one with: openssl"),
        ('has-a-quote-"-0123456789', "consists of letters, digits"),
        ("anna and ben-0123456789-abcdef", "expected TOKEN or NAME TOKEN"),
        (f"anna {FIRST}\nben {FIRST}", "line 2: an earlier caller has this name or token"),
        (f"anna {FIRST}\nanna {SECOND}", "line 2: an earlier caller has this name or token"),
        ("# none", r"tokens has no token\. Write one token on each line"),
    ],
)
def test_a_faulty_file_is_refused_without_repeating_the_token(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "tokens").write_text(content, "utf-8")
    with pytest.raises(SettingsError, match=message) as caught:
        read_tokens(tmp_path / "tokens", {})
    assert content.rsplit(maxsplit=1)[-1] not in str(caught.value) or content == "# none"


def test_a_missing_file_and_a_short_token_of_the_environment_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"token_file.*gone cannot be used: No such file"):
        read_tokens(tmp_path / "gone", {})
    with pytest.raises(SettingsError, match=rf"{TOKEN_VARIABLE}: a token has 16 to 1000 characters, this one 3"):
        read_tokens(None, {TOKEN_VARIABLE: "abc"})

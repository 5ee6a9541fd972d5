"""The answer in a judge's words."""

import pytest
from hypothesis import given, strategies as st

from rubriclab.methods.questions import read_answer

READ = {
    "yes": "yes",
    "no": "no",
    "n/a": "n/a",
    "Yes": "yes",
    "**No**": "no",
    "`n/a`": "n/a",
    "“No.”": "no",
    "  yes \n": "yes",
    "[N/A]": "n/a",
    "NA": "n/a",
    "N.A.": "n/a",
    "n / a": "n/a",
    "Not applicable": "n/a",
    "not-applicable.": "n/a",
    "yes - because the names agree": "yes",
    "**Yes** – every sentence follows": "yes",
    "No: the ending is missing": "no",
    "yes (twice)": "yes",
    "Yes\n\nThe order is kept.": "yes",
    "n/a, since there is only one sentence": "n/a",
    "No, I know it is notable": "no",
    "No. No other person occurs": "no",
    "ｙｅｓ": "yes",
    "ＮＯ．": "no",
    "Yes\u200b": "yes",
    "\ufeffNo.": "no",
    "\u202ayes\u202c": "yes",
}

UNREAD = [
    "",
    "**",
    "I know it is notable",
    "yesterday",
    "yes and no",
    "yes or no",
    "yes - no",
    "No. Yes, it does.",
    "yes, n/a",
    "yes, or maybe not",
    "no, but partly",
    "it depends",
    "not",
    "yes?",
    "yeah",
    "true",
    "1",
    "no-one knows",
    "Yes. No, it does not.",
    "Yes. Overall no",
    "№",
    "yes\u200bno",
    "No. 5 is wrong",
    "no errors found",
    "yes because",
    "the answer is yes",
    "~~yes~~ no",
    "know",
    "applicable",
    *("maybe", "yes, partly", "unsure", "I don't know", "no, n/a", "y", "4", "ja", "oui"),
]


@pytest.mark.parametrize(("said", "meant"), READ.items())
def test_an_answer_is_read(said: str, meant: str):
    assert read_answer(said) == meant


@pytest.mark.parametrize("said", UNREAD)
def test_what_could_mean_something_else_is_no_answer(said: str):
    assert read_answer(said) is None


@given(st.text())
def test_any_text_is_read_or_left(said: str):
    assert read_answer(said) in {"yes", "no", "n/a", None}


@given(
    st.sampled_from(["yes", "no", "n/a", "not applicable", "na"]),
    st.sampled_from(["{}", "**{}**", "_{}_", '"{}"', "`{}`", "({})", "{}.", " {} ", "[{}]", "**{}.**"]),
    st.sampled_from([str.lower, str.upper, str.title]),
)
def test_case_and_decoration_do_not_change_an_answer(word: str, decoration: str, case):
    assert read_answer(decoration.format(case(word))) == read_answer(word)


@given(st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1, max_size=8), st.sampled_from(["yes", "no"]))
def test_an_answer_inside_a_word_is_none(letters: str, word: str):
    assert read_answer(word + letters) in {None, read_answer((word + letters).casefold())}
    assert read_answer(f"{letters}{word}") is None


@given(
    st.sampled_from(["yes", "no", "n/a"]), st.sampled_from(["yes", "no", "n/a"]), st.text(" abcdefg,.;:-", max_size=20)
)
def test_two_different_answers_are_none(one: str, other: str, between: str):
    read = read_answer(f"{one} {between} {other}")
    assert read in ({None, one} if one == other else {None})


@given(st.sampled_from(["yes", "no", "n/a"]), st.text("bcdfgh ,.", max_size=30))
def test_an_explanation_after_a_comma_does_not_change_an_answer(word: str, explanation: str):
    assert read_answer(f"{word}, {explanation}") == word

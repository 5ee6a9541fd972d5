"""DCR's templates, with the fields that the method really gives them."""

import re

from dcr_scripts import CHECKS, CONVERTED, SOURCE, part, text
from hypoeval_scripts import assignment

from rubriclab.methods.dcr import (
    DCRScoringSettings,
    Reason,
    SentenceVerdict,
    comparison_of,
    convert_prompt,
    evaluate_prompts,
    listed_checks,
)
from rubriclab.prompts import render
from rubriclab.prompts.prompt import Prompt

FENCE = re.compile(
    r"<<<(?P<label>[^>]+) (?P<tag>[0-9a-f]{16})>>>\n(?P<text>.*?)\n<<<end of (?P=label) (?P=tag)>>>", re.S
)
OUTPUT = "Ann met Bo. She spoke of snow."


def prompts(output=OUTPUT, source=SOURCE, **chosen) -> list[Prompt]:
    """Return the prompts of the evaluator for one text."""
    settings, own = DCRScoringSettings(**CONVERTED | chosen), assignment()
    compared = comparison_of(text(output, source), "source", own, settings)
    assert not isinstance(compared, str)
    return evaluate_prompts(compared, listed_checks(part("source").criteria[0]), own, settings)


def user(prompt: Prompt) -> str:
    return render(prompt)[1]["content"]


def blocks(prompt: Prompt) -> list[tuple[str, str]]:
    return [(match["label"], match["text"]) for match in FENCE.finditer(user(prompt))]


def test_the_evaluator_is_shown_both_texts_each_sentence_and_the_checks():
    (prompt,) = prompts()
    assert blocks(prompt) == [
        ("source text", SOURCE),
        ("summary", OUTPUT),
        ("sentence 1", "Ann met Bo."),
        ("sentence 2", "She spoke of snow."),
    ]
    assert f"\n- {CHECKS[0]}\n- {CHECKS[1]} (No is the good answer.)\n" in user(prompt)
    assert prompt.fields["checks"] == [CHECKS[0], f"{CHECKS[1]} (No is the good answer.)"]
    assert set(prompt.fields) == {
        *("words", "aspect", "scale", "reference", "label", "checks", "paragraph", "output"),
        *("sentences", "verdict"),
    }


def test_a_whole_text_is_shown_once_and_asked_about_as_one():
    (prompt,) = prompts(level="paragraph")
    assert [label for label, _ in blocks(prompt)] == ["source text", "summary"]
    assert 'a single entry, under "sentence 1"' in user(prompt)
    assert "each sentence by itself" not in user(prompt)


def test_a_verdict_is_asked_for_only_where_no_second_call_gives_it():
    for level in ("sentence", "paragraph"):
        (asked,), (not_asked,) = prompts(level=level, verdict="with the reason"), prompts(level=level)
        assert [each.reply.asked[0].form for each in (asked, not_asked)] == [SentenceVerdict, Reason]
        assert "Last comes `consistent`" in user(asked)
        assert "`consistent`" not in user(not_asked)
        assert "End the reason with the finding in plain words" in user(not_asked)


def test_the_converter_sees_nothing_but_reasons():
    prompt = convert_prompt({1: "Consistent.", 3: "It is not."})
    assert prompt.fields == {"reasons": [{"id": 1, "text": "Consistent."}, {"id": 3, "text": "It is not."}]}
    assert blocks(prompt) == [("report 1", "Consistent."), ("report 3", "It is not.")]
    assert "Here are 2 reports" in user(prompt)
    assert "Here is one report" in user(convert_prompt({7: "Consistent."}))

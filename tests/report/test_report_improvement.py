"""What became of rewritten texts, as a terminal shows it."""

from __future__ import annotations

from typing import Any

import pytest
from report_samples import printed

from rubriclab.data.example import Example
from rubriclab.provenance import Effort
from rubriclab.report.revision import improvement_view, rewriting_view
from rubriclab.revision import Improvement, RevisionRound, RevisionSummary, ScoreGain, SentenceEdit, TextFault
from rubriclab.scoring import Score
from rubriclab.stats import IntervalEstimate

HOSTILE = "[red]not markup[/red] \x1b[31mred\x1b]8;;http://x.example\x07 \u202eright\u2066 :smile: \x00"
RARE = {"no sentence at fault": 2, "unscored": 1, "unscored by the second judge": 3}
NO_GAIN = ScoreGain("h02 links", 3, 4.0, 4.0, IntervalEstimate(0.0, 0.0, 0.0))


def gain(name: str, before: float, after: float) -> ScoreGain:
    rise = after - before
    return ScoreGain(name, 3, before, after, IntervalEstimate(rise, rise - 0.1, rise + 0.1))


def found(**fields: Any) -> RevisionSummary:
    """Return what came of four texts, with a second judge unless `fields` say otherwise."""
    outcomes = {"improved": 1, "without fault": 1, "rejected by the judge": 0, "rejected by the second judge": 1}
    given: dict[str, Any] = {
        "rubric": "news@1",
        "texts": 4,
        "outcomes": {**outcomes, "no usable rewriting": 0, **RARE},
        "sentences": 12,
        "changed": 2,
        "judge": gain("embedded", 3, 4),
        "second_judge_before_veto": gain("openai/second", 3.2, 3.0),
        "second_judge_after_veto": gain("openai/second", 3.2, 3.4),
        "criteria": (gain("h01 order", 2, 4), NO_GAIN),
        "first_rewritings": {"higher": 1, "equal": 0, "lower": 1, "unclear": 0},
        **fields,
    }
    return RevisionSummary(**given)


def seen(summary: RevisionSummary) -> str:
    return " ".join(printed(improvement_view(summary, Effort(calls=7)), width=140).split())


def text(name: str = "t1", words: str = "It is wrong.") -> Improvement:
    """Return a text with a round that was refused and one that was taken."""
    scores = [Score(name, "coherence", value, (), None, "news@1", "embedded") for value in (2.0, 4.5)]
    change = SentenceEdit(2, words, "It is right.", words)
    faults = (TextFault(words, "asks", "aim", (2,), words), TextFault("order", "asks", "aim", (), words))
    rounds = (
        RevisionRound(1, faults, (change,), 2.0, None, None, "rejected by the judge", "the judge: 2 to 2"),
        RevisionRound(2, faults, (change,), 4.5, None, None, None, "the judge: 2 to 4.5"),
    )
    example = Example(id=name, output=words, group="g")
    given = (name, example, "It is right.", "news@1", "embedded", "embedded", None, *scores)
    return Improvement(*given, rounds=rounds)


def test_the_summary_counts_texts_and_shows_both_gains_with_their_intervals() -> None:
    shown = seen(found())
    assert "news@1: 4 texts" in shown
    assert "already without fault 1 improved 1 unchanged 1: 1 rejected by the second judge" in shown
    assert "at fault as a whole only, so left 2 unscored 1 unscored by the second judge 3" in shown
    assert "sentences changed 2 of 12" in shown
    assert "openai/second: second judge, before its veto 3 3.20 3.00 -0.20 [-0.30, -0.10]" in shown
    assert "openai/second: second judge, after its veto (selected) 3 3.20 3.40 0.20 [0.10, 0.30]" in shown
    assert "embedded: judge (selected) 3 3.00 4.00 1.00 [0.90, 1.10]" in shown
    assert "7 calls" in shown


def test_it_says_whose_gain_is_to_be_trusted() -> None:
    assert "The judge's own gain flatters" in seen(found())
    assert "The gain to trust is the second judge's before its veto" in seen(found())
    counted = "the second judge scores 1 higher than the text before, 0 equal and 1 lower"
    assert f"Of 2 such first rewritings {counted}." in seen(found())
    unclear = found(first_rewritings={"higher": 1, "equal": 0, "lower": 1, "unclear": 4})
    assert f"Of 6 such first rewritings {counted}; of 4 it cannot be told." in seen(unclear)
    nobody = dict.fromkeys(("higher", "equal", "lower", "unclear"), 0)
    alone = seen(found(second_judge_before_veto=None, second_judge_after_veto=None, first_rewritings=nobody))
    assert "The judge's own gain flatters" in alone
    assert "(--second-judge) gives a gain to trust" in alone
    assert "The gain to trust is" not in alone


@pytest.mark.parametrize(
    ("criteria", "shown"),
    [((gain("h01 order", 2, 4), NO_GAIN), True), ((NO_GAIN, NO_GAIN), False), ((gain("score x", 3, 4),), False)],
)
def test_criteria_are_shown_where_they_tell_more_than_the_score(
    criteria: tuple[ScoreGain, ...], *, shown: bool
) -> None:
    view = seen(found(criteria=criteria))
    assert ("Criteria by the judge; 1 more without a change" in view) == shown
    assert "h02 links" not in view


def test_a_text_is_shown_round_by_round_with_what_changed_and_why() -> None:
    shown = printed(rewriting_view(text()))
    lines = [line.strip() for line in shown.splitlines()]
    assert lines[:3] == ["t1", "judge embedded: 2 to 4.5", "round 1, not taken; the judge: 2 to 2"]
    assert "round 2, taken; the judge: 2 to 4.5" in lines
    assert "2. It is [-wrong.-]{+right.+}" in lines
    assert "the whole: order: It is wrong." in lines
    assert "writer: It is wrong." in lines


def test_nothing_from_outside_acts_on_a_terminal() -> None:
    figures = found(judge=gain(HOSTILE, 1, 2), criteria=(gain(HOSTILE, 1, 2), NO_GAIN))
    for view in (rewriting_view(text(HOSTILE, HOSTILE)), improvement_view(figures, Effort())):
        shown = printed(view, width=300)
        assert not {"\x1b", "\x07", "\u202e", "\u2066", "\x00"} & set(shown)
        assert "[red]not markup[/red]" in shown
        assert ":smile:" in shown

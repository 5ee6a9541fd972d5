"""What `learn` says and `show` tells of each method's rubric."""

from __future__ import annotations

import json

import pytest
from commands import LABELLED, Commands

LEARN = ("learn", LABELLED, "--task", "summarization", "--aspect", "coherence", "--scale", "1:5", "--judge", "embedded")
OWN = {
    "checkeval": "cross-validated over groups",
    "seeval": "cross-validated over groups",
    "direct": "on the 36 training texts, whose labels were not used",
    "few_shot": "on the 33 training texts, whose labels were not used",
    "geval": "on the 36 training texts, whose labels were not used",
    "analyze_rate": "on the 36 training texts, whose labels were not used",
}


@pytest.mark.parametrize("method", OWN)
def test_a_summary_says_what_was_learned_and_what_its_figure_means(rubriclab: Commands, method: str) -> None:
    done = rubriclab(*LEARN, "--method", method, "--name", "news")
    first, *_, second = done.out.splitlines()
    criteria = json.loads(rubriclab("show", "news", "--json").out)["rubric"]["parts"][0]["criteria"]
    if method == "checkeval":
        traits = {criterion["trait"] for criterion in criteria}
        assert first == f"news@1: {len(criteria)} questions in {len(traits)} sub-dimensions"
    else:
        assert first == "news@1: 1 score of the whole aspect"
    assert second.startswith("Spearman 0.")
    assert second.endswith(OWN[method])
    shown = " ".join(rubriclab("show", "news").out.split())
    assert ("optimistic" in shown) == ("optimistic" in second)
    for criterion in criteria:
        statement = " ".join(criterion["statement"].split())
        assert shown.count(statement) == 1


def test_a_method_that_tracks_nothing_is_warned_of_as_one(rubriclab: Commands) -> None:
    rows = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
    same = [
        {**row, "output": "The same words.", "source": None, "scores": {"coherence": 1 + number % 2}}
        for number, row in enumerate(rows)
    ]
    (rubriclab.folder / "rows.jsonl").write_text("\n".join(map(json.dumps, same)) + "\n", "utf-8")
    done = rubriclab("learn", "rows.jsonl", *LEARN[2:], "--method", "direct")
    assert done.code == 0
    assert "warning: it does not track the labels; the scores of this rubric mean nothing" in done.err

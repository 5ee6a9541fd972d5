"""Each method through the command line with the judge that needs no server."""

from __future__ import annotations

from commands import Commands
from flow_server import TASK, texts
from method_flows import LEARNED_FROM, SCORED, every_method, some_texts


@every_method
def test_it_learns_shows_scores_and_evaluates_offline(method: str, rubriclab: Commands) -> None:
    # What ships for DCR holds summaries against their sources.
    aspect = "consistency" if method == "dcr" else "coherence"
    task = (*TASK, "--aspect", aspect, "--method", method, "--judge", "embedded")
    learn = ("learn", texts(rubriclab.folder, LEARNED_FROM), *task, "--json")
    done = rubriclab(*learn).json
    assert (done["rubric"], done["new"], done["calls"]["failed"]) == ("news@1", True, 0)
    assert done["agreement"]["spearman"]["value"] > 0.15
    assert f"method {method}" in " ".join(rubriclab("show", "news").out.split())
    scored = rubriclab("score", "-", "--rubric", "news", stdin=some_texts())
    assert [row["unscored"] for row in scored.rows] == [None] * SCORED
    assert len({row["score"] for row in scored.rows}) > 1
    evaluated = rubriclab("evaluate", "-", "--rubric", "news", "--level", "dataset", "--json", stdin=some_texts())
    ours = evaluated.json["results"][0]
    assert (ours["evaluator"], ours["n"], ours["unscored"]) == ("news@1", SCORED, 0)
    again = rubriclab(*learn).json
    assert (again["new"], again["digest"]) == (False, done["digest"])

"""A paper taken apart, then learned from: which findings a version used, and whose raters were left out."""

from __future__ import annotations

from pathlib import Path

from flow_server import HYPOEVAL, ONE_ROUND, commands_at, texts
from paper_samples import write_paper
from server import RunningServer

ADD = ("literature", "add", "paper.txt", "--task", "summarization", "--folder", "found")


def test_a_version_says_which_findings_it_used_and_whose_raters_were_left_out(
    server: RunningServer, tmp_path: Path
) -> None:
    commands = commands_at(server, tmp_path)
    write_paper(tmp_path)
    assert commands(*ADD).code == 0
    learn = ("learn", texts(tmp_path, 12), *HYPOEVAL, *ONE_ROUND, "--literature", "found", "--literature-without")
    done = commands(*learn, "Summ Eval")
    assert done.code == 0, done.err
    assert "leaves nothing out" not in done.err
    version = commands("show", "news", "--json").json
    (part,) = version["rubric"]["parts"]
    criteria = [*part["criteria"], *(each["criterion"] for each in part["dropped"])]
    assert {finding for each in criteria for finding in each["evidence"]["findings"]} == {"paper-1"}
    assert version["provenance"]["literature_without"] == ["summeval"]
    assert "findings left out about the raters of summeval" in " ".join(commands("show", "news").out.split())
    leaves = "leaves nothing out: no finding for summarization is about the raters of"
    asked = len(server.bodies)
    refused = commands(*learn, "SumEval")
    assert (refused.code, refused.out) == (2, "")
    assert refused.error == (
        f"--literature-without sumeval {leaves} sumeval; there are some about summeval. Did you mean 'summeval'? If "
        "not, leave out the name 'sumeval'."
    )
    said = " ".join(commands(*learn, "hanna", "--dry-run").err.split())
    assert f"--literature-without hanna {leaves} hanna; there are some about summeval" in said
    assert len(server.bodies) == asked

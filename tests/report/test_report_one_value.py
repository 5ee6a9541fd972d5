"""Every page and command gives one rubric the same verdict, agreement and error."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from commands import Commands
from joint_samples import joint_record, joint_version
from pages import Page
from report_samples import words_of

from rubriclab.report.rubrics import learned_view, overview, verdict
from rubriclab.report.wording import estimate
from rubriclab.store.store import open_store
from rubriclab.web.studio.pages import summary

AGREEMENT, ERROR = (
    "0.66 [0.47, 0.81]",
    "mean absolute error 0.35 [0.25, 0.45] points, bias +0.02, 93 % within one point",
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What each page and command shows of one rubric."""
    commands = Commands(tmp_path_factory.mktemp("shown"), RUBRICLAB_STORE="store.db")
    one = joint_version()
    with open_store(commands.folder / "store.db") as store:
        store.save("news", one.rubric, one.provenance, one.effort, training=joint_record())
    studio = summary(one)
    assert studio.agreement
    asked = (("list",), ("log", "news"), ("show", "news"), ("show", "news", "--evidence"), ("gate", "news"))
    printed = {" ".join(arguments): " ".join(commands(*arguments).out.split()) for arguments in asked}
    row = (studio.verdict, studio.comparisons, estimate(studio.agreement), studio.errors)
    return printed | {
        "learn": words_of(learned_view(one), 200),
        "report": Page(commands("report", "news").out).reading.replace("−", "-"),
        "page of the studio": words_of(overview(one), 200),
        "list of the studio": " ".join(row),
    }


def test_every_page_and_command_has_one_verdict_one_agreement_and_one_error(shown: Mapping[str, str]) -> None:
    sentence = verdict(joint_version()).partition(" ")[2]
    for name, words in shown.items():
        assert sentence in words, name
        assert AGREEMENT in words or re.search(r"this rubric 0\.66 0\.35", words), name
        assert set(re.findall(r"scores reach Pearson (\S+ \[[^]]+\])", words)) <= {AGREEMENT}, name
        assert set(re.findall(r"on held-out labels (\S+ \[[^]]+\])", words)) <= {AGREEMENT}, name
        assert ERROR in words or name == "list", name

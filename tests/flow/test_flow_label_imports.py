"""Labels of another tool, as a user brings them in: `check`, the options that it proposes, the command it prints."""

from __future__ import annotations

import re
import shlex
import shutil

from commands import CHECKOUT, Commands

EXPORT = CHECKOUT / "tests" / "data" / "exports" / "label-studio.json"


def test_what_check_prints_learns_a_rubric(rubriclab: Commands) -> None:
    shutil.copy(EXPORT, rubriclab.folder)
    asked = ["check", EXPORT.name, "--task", "summarization", "--aspect", "coherence"]
    first = rubriclab(*asked)
    assert first.code == 2
    (proposed,) = re.findall(r"^columns that look like fields: (.*)$", first.out, re.MULTILINE)
    asked += shlex.split(proposed)
    words = rubriclab(*asked)
    assert words.code == 2
    assert "if the words are levels or missing values, add --levels" in " ".join(words.out.split())
    checked = rubriclab(*asked, "--levels", "excellent=5,good=4,okay=3,bad=2,very bad=1")
    assert checked.code == 0, checked.out
    assert re.search(r"^coherence .* 2: ", checked.out, re.MULTILINE), "two raters"
    (following,) = re.findall(r"^next: rubriclab (.*)$", checked.out, re.MULTILINE)
    learned = rubriclab(*shlex.split(following), "--method", "direct", "--judge", "embedded", "--name", "imported")
    assert learned.code == 0, learned.err

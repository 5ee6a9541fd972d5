"""No pattern of the offline judge is fitted to the files that ship."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import rubriclab
from rubriclab.methods.sources import load_checklist, shipped_checklists

PACKAGE = Path(rubriclab.__file__).parent
FOLDERS_SHIPPED = ("checklists", "units")
# Words of a regular expression or of a list of words, with what makes a phrase of alternatives taken out.
_SYNTAX = re.compile(r"\(\?[:!=<]*|\\b|\\w\+?|[()?*+^$]")


def strings(path: Path) -> list[str]:
    """Return the string constants of a module that are not its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
    ]


def phrases(text: str) -> set[str]:
    """Return the alternatives of three words or more that a pattern holds literally, without word lists."""
    pieces = (" ".join(piece.split()) for piece in re.split(r"\||\.\*|\[.*?\]", _SYNTAX.sub("|", text)))
    return {piece.lower() for piece in pieces if 3 <= len(piece.split()) <= 8 and re.fullmatch(r"[\w' -]+", piece)}


def shipped_texts() -> dict[tuple[str, ...], str]:
    """Return the questions of each shipped file, joined."""
    return {
        (folder, *names): " ".join(q.text.lower() for q in load_checklist(*names, folder=folder).questions)  # type: ignore[arg-type]
        for folder in FOLDERS_SHIPPED
        for names in shipped_checklists(folder)  # type: ignore[arg-type]
    }


@pytest.mark.parametrize("module", ["judges/embedded.py", "models/text_features.py"])
def test_no_phrase_of_a_pattern_occurs_in_exactly_one_shipped_file(module: str) -> None:
    shipped = shipped_texts()
    for phrase in set().union(*map(phrases, strings(PACKAGE / module))):
        files = [names for names, text in shipped.items() if re.search(rf"\b{re.escape(phrase)}\b", text)]
        assert len(files) != 1, (phrase, files)

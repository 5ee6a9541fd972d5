"""The documentation: every command and Python example in it runs, and every link leads somewhere."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from commands import CHECKOUT, Commands

from rubriclab.cli.config import Config, defaults_from
from rubriclab.cli.main import cli, every_command

README = CHECKOUT / "README.md"
PAGES = [README, CHECKOUT / "CONTRIBUTING.md", CHECKOUT / "SECURITY.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if page.exists()]
ALL_TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)
SAMPLE = "experiments/sample"
LEARN = ("learn", f"{SAMPLE}/labelled.jsonl", "--task", "summarization", "--aspect", "coherence", "--scale", "1:5")


def blocks(page: Path, language: str) -> list[str]:
    """Return the code blocks of one language on a page, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the pages assume: the sample, a store and two versions of `news-coherence`.

    The first one is also stored under the names that the demonstration and the tour give to theirs.
    """
    folder = tmp_path_factory.mktemp("docs")
    for name in ("experiments", "stores"):
        (folder / name).symlink_to(CHECKOUT / name)
    rubriclab = Commands(folder, RUBRICLAB_STORE="rubrics.db", RUBRICLAB_JUDGE="embedded")
    for more in ((), ("--text-features", "include")):
        done = rubriclab(*LEARN, "--name", "news-coherence", *more)
        assert done.code == 0, done.err
    assert rubriclab(*LEARN, "--name", "news-coherence-offline").code == 0
    assert rubriclab("export", "news-coherence@1", "-o", "pack.json").code == 0
    assert rubriclab("import", "pack.json", "--as", "tour").code == 0
    return folder


@pytest.fixture
def folder(learned: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(learned, tmp_path / "page", symlinks=True, ignore=shutil.ignore_patterns(".*")))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "bash") or blocks(page, "python")], ids=name_of
)
def test_every_example_of_a_page_works_in_the_order_given(page: Path, folder: Path) -> None:
    """A block of text after commands is an excerpt of what they print."""
    rubriclab = Commands(folder, RUBRICLAB_STORE="rubrics.db", RUBRICLAB_JUDGE="embedded")
    printed = ""
    for language, code in re.findall(
        r"^```(bash|python|text)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    ):
        if language == "text":
            missing = [line for line in code.splitlines() if line.strip() not in printed]
            assert not missing, f"{missing} is not in:\n{printed}"
            continue
        if language == "python":
            done = rubriclab.python(code)
            assert done.code == 0, f"{code}\n{done.err}"
            continue
        printed = ""
        for line in code.splitlines():
            command, _, fallback = line.partition(" || ")
            name, *arguments = shlex.split(command)
            assert name == "rubriclab", line
            result = rubriclab(*arguments)
            assert result.code in ((0, 1, 3) if fallback else (0,)), f"{line}\n{result.err}"
            printed += result.out + result.err


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text("utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


def test_every_link_of_the_file_for_assistants_leads_to_a_file() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", (CHECKOUT / "llms.txt").read_text("utf-8"))
    assert "docs/integrations/mcp.md" in targets
    assert [target for target in targets if not (CHECKOUT / target).is_file()] == []


def test_the_file_for_assistants_names_every_page_of_the_documentation_once() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", (CHECKOUT / "llms.txt").read_text("utf-8"))
    pages = [path for folder in ("docs", "docs/integrations") for path in (CHECKOUT / folder).glob("*.md")]
    assert [page.name for page in pages if targets.count(str(page.relative_to(CHECKOUT))) != 1] == []
    assert len(targets) == len(set(targets))


@pytest.mark.parametrize("command", sorted(every_command()))
def test_every_command_is_documented(command: str) -> None:
    assert re.search(rf"rubriclab {command}\b", ALL_TEXT), f"`rubriclab {command}` is missing"


def test_every_option_that_the_documentation_names_exists() -> None:
    options = {name for command in (cli, *every_command().values()) for param in command.params for name in param.opts}
    lines = [line for line in re.findall(r"rubriclab [^`\n]*", ALL_TEXT) if "pip install" not in line]
    named = set(re.findall(r"--[a-z][a-z-]+", "\n".join(lines)))
    assert named <= options | {"--help"}


def test_the_configuration_shown_is_accepted(tmp_path: Path) -> None:
    (shown,) = blocks(CHECKOUT / "docs" / "models.md", "toml")
    file = tmp_path / "rubriclab.toml"
    file.write_text(shown, "utf-8")
    params = {name: command.params for name, command in every_command().items()}
    defaults = defaults_from(Config(file, True, file.read_bytes()), params)
    assert defaults["learn"]["judge"]() == tomllib.loads(shown)["judge"]


def test_the_readme_is_a_page_and_not_a_manual() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 160


def test_the_architecture_page_names_every_top_level_module() -> None:
    page = (CHECKOUT / "docs" / "architecture.md").read_text("utf-8")
    modules = [path.name for path in (CHECKOUT / "rubriclab").glob("*.py") if path.name != "__init__.py"]
    assert [name for name in modules if name not in page] == []

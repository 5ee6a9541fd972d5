"""The documentation: its examples run or are parsed, as their languages say, and every link leads somewhere.

| language | what happens here |
|---|---|
| `bash`, `python` | runs, in the order given, in a folder with the sample and a learned rubric |
| `text` | is an excerpt of what the commands of the `bash` block before it print |
| `sh` | each command is parsed as the program that it starts parses it; nothing runs |
| `json`, `toml`, `yaml` | is read; a block with `file=` is a file of the folder in which the examples after it run |
| others with `file=` | are run by a test of their own |
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from commands import CHECKOUT, Commands
from documentation import PAGES, Example, examples
from shown_commands import parse

from rubriclab.cli.config import Config, defaults_from
from rubriclab.cli.main import cli, every_command

# Programs whose commands are not parsed, with the reason.
UNPARSED = {
    "export": "part of the shell",
    "curl": "asks a service that runs; the tests of the service ask it in Python",
    "git": "changes the reader's own settings",
    "podman": "builds an image from the network",
    ".llama-cpp/llama-server": "not installed; tests/integrations/test_llama_cpp.py runs it",
    "inspect": "not installed; tests/integrations/test_inspect_ai.py runs the task of the page",
    "promptfoo": "not installed; tests/integrations/test_promptfoo.py runs both files of the page",
}
# First lines of blocks that are neither run nor parsed, with the reason.
UNTRIED = {
    "--map annotations.quality.anna=Anna,annotations.quality.ben=Ben": "an option of several commands",
    "=========================== Texts scored by rubrics ============================": "needs a language model",
}
READERS: dict[str, Callable[[str], object]] = {
    # One value, or one in each line.
    "json": lambda text: json.loads(text) if text.startswith("{\n") else [*map(json.loads, text.splitlines())],
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}
README = CHECKOUT / "README.md"
EXAMPLES = [example for page in PAGES for example in examples(page)]
SAMPLE = "experiments/sample"
LEARN = ("learn", f"{SAMPLE}/labelled.jsonl", "--task", "summarization", "--aspect", "coherence", "--scale", "1:5")


def tried(page: Path) -> list[Example]:
    """Return the examples of a page that run here."""
    found = [each for each in examples(page) if not each.file and each.content.splitlines()[0] not in UNTRIED]
    return [each for each in found if each.language in ("bash", "python", "text")]


def name_of(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the pages assume: the sample, a store, two versions of `news-coherence`, and the tour's."""
    folder = tmp_path_factory.mktemp("docs")
    for name, shipped in (("experiments", "experiments"), ("stores", "stores"), ("my-findings", "literature")):
        (folder / name).symlink_to(CHECKOUT / shipped)
    rubriclab = Commands(folder, RUBRICLAB_STORE="rubrics.db", RUBRICLAB_JUDGE="embedded")
    for more in ((), ("--text-features", "include")):
        done = rubriclab(*LEARN, "--name", "news-coherence", *more)
        assert done.code == 0, done.err
    assert rubriclab(*LEARN, "--name", "tour").code == 0
    assert rubriclab("export", "news-coherence@1", "-o", "pack.json").code == 0
    return folder


@pytest.fixture
def folder(learned: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(learned, tmp_path / "page", symlinks=True, ignore=shutil.ignore_patterns(".*")))


@pytest.mark.parametrize("page", [page for page in PAGES if tried(page)], ids=name_of)
def test_every_example_of_a_page_works_in_the_order_given(page: Path, folder: Path) -> None:
    rubriclab = Commands(folder, RUBRICLAB_STORE="rubrics.db", RUBRICLAB_JUDGE="embedded")
    for example in examples(page):
        if example.file and example.language in READERS:
            (folder / example.file).write_text(example.content, "utf-8")
    printed = ""
    for example in tried(page):
        if example.language == "text":
            missing = [line for line in example.content.splitlines() if line.strip() not in printed]
            assert not missing, f"{missing} is not in:\n{printed}"
            continue
        if example.language == "python":
            done = rubriclab.python(example.content)
            assert done.code == 0, f"{example}\n{done.err}"
            continue
        printed = ""
        for line in example.content.replace("\\\n", " ").splitlines():
            command, _, fallback = line.partition(" || ")
            name, *arguments = shlex.split(command)
            assert name == "rubriclab", line
            result = rubriclab(*arguments)
            assert result.code in ((0, 1, 3) if fallback else (0,)), f"{line}\n{result.err}"
            printed += result.out + result.err


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_fence_of_a_page_names_a_language_that_is_tried(page: Path) -> None:
    fences = [line for line in page.read_text("utf-8").splitlines() if line.lstrip().startswith("```")]
    assert len(fences) == 2 * len(examples(page)), "a fence is indented, or has more than a language and file=NAME"
    known = {"bash", "python", "text", "sh", *READERS}
    assert [str(each) for each in examples(page) if each.language not in known and not each.file] == []


def test_every_shell_command_is_accepted_by_the_parser_of_its_program() -> None:
    refused = []
    for example in EXAMPLES:
        if example.language != "sh" or example.content.splitlines()[0] in UNTRIED:
            continue
        for words in example.commands():
            if words[0] in UNPARSED:
                continue
            try:
                parse(words)
            except ValueError as error:
                refused.append(f"{example}: {error}")
    assert refused == []


def test_every_example_in_a_language_of_data_can_be_read() -> None:
    assert [READERS[each.language](each.content) for each in EXAMPLES if each.language in READERS]


def test_every_example_that_is_a_program_compiles_and_is_run_by_a_test_of_its_own() -> None:
    tests = [path.read_text("utf-8") for path in (CHECKOUT / "tests").rglob("test_*.py") if path != Path(__file__)]
    for example in EXAMPLES:
        if example.file and example.language not in READERS:
            page = example.page
            runs = re.compile(
                rf'run_example\("{page.stem}"|example_files\((?s:.*){page.name}|{page.name}(?s:.*)example_files\('
            )
            assert any(map(runs.search, tests)), str(example)
            if example.language == "python":
                compile(example.content, str(example), "exec")


def test_no_exception_is_left_that_nothing_needs() -> None:
    programs = {words[0] for each in EXAMPLES if each.language == "sh" for words in each.commands()}
    assert {*UNPARSED} - programs == set()
    assert {*UNTRIED} - {each.content.splitlines()[0] for each in EXAMPLES} == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text("utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


def test_the_file_for_assistants_names_every_page_of_the_documentation_once_and_leads_to_files() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", (CHECKOUT / "llms.txt").read_text("utf-8"))
    assert [target for target in targets if not (CHECKOUT / target).is_file()] == []
    pages = [path for folder in ("docs", "docs/integrations") for path in (CHECKOUT / folder).glob("*.md")]
    assert [page.name for page in pages if targets.count(str(page.relative_to(CHECKOUT))) != 1] == []
    assert len(targets) == len(set(targets))


def test_every_option_that_a_sentence_gives_to_a_command_is_one_of_that_command() -> None:
    commands = every_command()
    names = re.compile(rf"(?:^|\s)({'|'.join(sorted(commands, key=len, reverse=True))})(?=\s|$)")
    wrong = []
    for page in PAGES:
        prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        for shown in re.findall(r"`rubriclab\s([^`]*--[^`]*)`", prose):
            found = names.search(shown)
            before, after = (shown[: found.start()], shown[found.end() :]) if found else (shown, "")
            for command, part in ((cli, before), (commands[found[1]] if found else cli, after)):
                known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
                named = set(re.findall(r"(?<!\S)--[a-z-]+", part))
                wrong += [f"{page.name}: {shown}: {name}" for name in named - known - {"--help"}]
    assert wrong == []


def test_the_configuration_shown_is_accepted(tmp_path: Path) -> None:
    (shown,) = (each.content for each in examples(CHECKOUT / "docs" / "models.md") if each.language == "toml")
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

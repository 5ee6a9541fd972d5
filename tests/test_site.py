"""What the documentation site is made of. `make site` builds it, with every warning an error, and checks its links."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import click
import pytest
from commands import CHECKOUT

import rubriclab
from docs.site import check, navigation, reference
from rubriclab.cli.main import every_command
from rubriclab.methods.catalogue import METHODS

COMMANDS = reference.command_reference()


def test_every_page_has_one_place_in_the_navigation() -> None:
    places = Counter(page for entries in navigation.pages().values() for _, page in entries)
    written = [path for pattern in ("*.md", "docs/**/*.md") for path in CHECKOUT.glob(pattern)]
    expected = {path.relative_to(CHECKOUT).with_suffix("").as_posix() for path in written} - {navigation.HOME}
    assert expected - {*places} == set()
    assert {page: count for page, count in places.items() if count > 1} == {}


def test_a_page_that_the_navigation_names_and_nobody_wrote_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(navigation, "SECTIONS", {"Start": (("Missing", "docs/missing"),)})
    with pytest.raises(ValueError, match=r"docs/missing\.md, which does not exist"):
        navigation.pages()


@pytest.mark.parametrize("name", sorted(every_command()))
def test_the_reference_has_every_command_with_all_its_options(name: str) -> None:
    (section,) = re.findall(rf"^### rubriclab {name}\n(.*?)(?=^##|\Z)", COMMANDS, re.DOTALL | re.MULTILINE)
    options = [each for each in every_command()[name].params if isinstance(each, click.Option) and not each.hidden]
    assert [each.opts[0] for each in options if not re.search(rf"^- `.*{each.opts[0]}\b", section, re.MULTILINE)] == []
    assert f"rubriclab {name}" in section


def test_the_reference_has_every_method_with_all_its_settings() -> None:
    written = reference.method_reference()
    for name in METHODS:
        section = written.split(f"## {name}\n")[1].split("\n## ")[0]
        assert METHODS[name].note[1:] in section
        assert [each for each in METHODS[name].settings.model_fields if f"- `{each}` (default" not in section] == []


def test_every_public_name_is_on_one_page_of_the_reference() -> None:
    pages = {each.rpartition("/")[2] for each in reference.GENERATED} - {"commands", "methods"}
    listed = Counter(name for page in pages for names in reference.names_on(page).values() for name in names)
    public = [f"rubriclab.{name}" for name in rubriclab.__all__]
    assert listed == Counter(public)
    written = "\n".join(reference.python_reference(page) for page in pages)
    assert [name for name in public if f":: {name}\n" not in written] == []


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "a.html").write_text('<h1 id="top">A</h1><a href="folder/b.html#here">B</a>', "utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "b.html").write_text('<p id="here"><a href="../a.html#top">A</a>', "utf-8")
    return tmp_path


def test_a_site_whose_links_lead_somewhere_has_no_faults(site: Path) -> None:
    assert check.faults(check.read_pages(site)) == []


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ('<a href="missing.html">', "missing.html leads nowhere"),
        ('<a href="folder/b.html#there">', "folder/b.html#there leads nowhere"),
        ('<a href="#nothing">', "#nothing leads nowhere"),
        ('<script src="https://cdn.example.org/a.js"></script>', "loads https://cdn.example.org/a.js"),
        ('<link rel="stylesheet" href="//fonts.example.org/a.css">', "loads //fonts.example.org/a.css"),
    ],
)
def test_a_link_that_leads_nowhere_and_a_file_of_another_host_are_faults(site: Path, html: str, fault: str) -> None:
    (site / "c.html").write_text(html, "utf-8")
    (found,) = check.faults(check.read_pages(site))
    assert found.endswith(fault)

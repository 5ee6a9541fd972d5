"""Checks a built site: `python docs/site/check.py FOLDER` fails if a link is broken or another host is loaded from."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches without being asked.
LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}


@dataclass
class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    anchors: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if not value:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            if name in ("href", "src"):
                self.links.add(value)
            if (tag, name) in LOADED:
                self.loaded.add(value)


def read_pages(folder: Path) -> dict[Path, Page]:
    """Return every page of a site by its file."""
    found = {}
    for file in sorted(folder.rglob("*.html")):
        found[file.resolve()] = page = Page()
        page.feed(file.read_text("utf-8"))
    return found


def faults(pages: Mapping[Path, Page]) -> list[str]:
    """Return a line for every link that leads nowhere and everything that is loaded from another host."""
    found = []
    for file, page in pages.items():
        found += [f"{file}: loads {address}" for address in sorted(page.loaded) if urlsplit(address).netloc]
        found += [f"{file}: {link} leads nowhere" for link in sorted(page.links) if not _leads(file, link, pages)]
    return found


def _leads(file: Path, link: str, pages: Mapping[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True  # another host, not asked
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not target.is_file():
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].anchors


def faults_for_assistants(folder: Path) -> list[str]:
    """Return a line for every link of llms.txt that leads nowhere."""
    links = re.findall(r"\]\(([^)]+)\)", (folder / "llms.txt").read_text("utf-8"))
    return [f"llms.txt: {link} leads nowhere" for link in links if not (folder / link).is_file()]


if __name__ == "__main__":
    site = read_pages(Path(sys.argv[1]))
    if wrong := [*faults(site), *faults_for_assistants(Path(sys.argv[1]))]:
        sys.exit("\n".join(wrong))
    print(f"{len(site)} pages, {sum(len(page.links) for page in site.values())} links")

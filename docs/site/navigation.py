"""The navigation of the documentation site: its sections, and the pages of each, in order."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
HOME = "README"

# A pattern stands for all its pages that no other section names.
SECTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "Start": (("Tutorial", "docs/tutorial"), ("Concepts", "docs/concepts"), ("Gallery", "docs/gallery")),
    "Tasks": (
        ("Prepare labelled data", "docs/data"),
        ("Have people rate texts", "docs/label"),
        ("Choose a judge", "docs/models"),
        ("Learn a rubric", "docs/learn"),
        ("Score texts", "docs/score"),
        ("Measure agreement", "docs/evaluate"),
        ("Inspect rubrics in a browser", "docs/studio"),
        ("Compare outputs, watch a judge", "docs/compare"),
        ("Use a rubric on other texts", "docs/transfer"),
        ("Decide what to label next", "docs/plan"),
        ("Rewrite texts", "docs/improve"),
        ("Take findings from papers", "docs/literature"),
        ("Change a rubric by hand", "docs/edit"),
        ("Store and share versions", "docs/store"),
        ("Watch a long command", "docs/watch"),
        ("Score on many machines", "docs/cluster"),
        ("Use Python", "docs/python"),
        ("Use scripts", "docs/scripts"),
        ("", "docs/*"),
    ),
    "Integrations": (("", "docs/integrations/*"),),
    "Reference": (
        ("Commands", "docs/reference/commands"),
        ("Python: Lab", "docs/reference/lab"),
        ("Python: data and rubrics", "docs/reference/data"),
        ("Methods", "docs/reference/methods"),
        ("Python: judges and methods", "docs/reference/extensions"),
        ("Python: errors", "docs/reference/errors"),
    ),
    "Research": (
        ("Methods and papers", "docs/methods"),
        ("Cite and rebuild a rubric", "docs/cite"),
        ("What was measured", "docs/measurements"),
        ("Findings from the literature", "literature/README"),
        ("Checklists and packs", "stores/README"),
        ("Experiments", "experiments/README"),
        ("", "experiments/*/README"),
        ("", "experiments/studies/*/README"),
    ),
    "Project": (
        ("Architecture", "docs/architecture"),
        ("Releases", "docs/releases"),
        ("Decisions", "docs/decisions/README"),
        ("", "docs/decisions/*"),
        ("Contributing", "CONTRIBUTING"),
        ("Security", "SECURITY"),
        ("Changelog", "CHANGELOG"),
    ),
}


def pages() -> dict[str, list[tuple[str, str]]]:
    """Return the title and the page of every entry by section; an empty title stands for the page's own.

    Raises:
        ValueError: if a page that is named does not exist.
    """
    taken = {HOME, *(page for entries in SECTIONS.values() for _, page in entries)}
    found: dict[str, list[tuple[str, str]]] = {}
    for section, entries in SECTIONS.items():
        for title, page in entries:
            matches = sorted(
                path.relative_to(CHECKOUT).with_suffix("").as_posix() for path in CHECKOUT.glob(f"{page}.md")
            )
            if not matches:
                raise ValueError(f"the navigation names {page}.md, which does not exist: mend docs/site/navigation.py")
            new = [match for match in matches if "*" not in page or match not in taken]
            found.setdefault(section, []).extend((title, match) for match in new)
    return found


def toctrees() -> str:
    """Return the navigation as MyST directives, which show nothing on the page that they end."""
    blocks = []
    for section, entries in pages().items():
        lines = [f"{title} </{page}>" if title else f"/{page}" for title, page in entries]
        blocks.append("\n".join(("```{toctree}", ":hidden:", f":caption: {section}", "", *lines, "```")))
    return "\n\n".join(blocks)

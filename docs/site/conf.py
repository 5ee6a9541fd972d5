"""Sphinx builds the documentation site from the Markdown pages of the checkout: `make site`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.util.inspect import signature as signature_of, stringify_signature

sys.path.insert(0, str(Path(__file__).parent))
import gallery
import navigation
import reference

import rubriclab

project = "rubriclab"
author = "The rubriclab authors"
copyright = author  # noqa: A001
release = version = rubriclab.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = navigation.HOME
include_patterns = ["*.md", "docs/**.md", "literature/README.md", "stores/README.md", "experiments/**README.md"]
exclude_patterns = [".*", "build", "dist", "demo", "rubriclab", "tests"]

myst_heading_anchors = 4
myst_fence_as_directive: list[str] = []
default_role = "code"
add_module_names = False
python_maximum_signature_line_length = 88
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"WholeNumber": "int", "Number": "float"}

html_theme = "furo"
html_title = f"rubriclab {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["../../build/extra"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False


def fill(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the generated part of a page, and the navigation to the home page."""
    text = reference.filled(page, source[0])
    if page == "docs/gallery":
        text = text.replace(reference.MARK, gallery.previews())
    if page == navigation.HOME:
        text = f"{text}\n\n{navigation.toctrees()}\n"
    source[0] = text


class Default:
    """A default that is made by a function, as a signature shows it."""

    def __repr__(self) -> str:
        return "..."


def signature(
    app: Sphinx, kind: str, name: str, value: Any, options: Any, arguments: str | None, returned: str | None
) -> tuple[str, str | None] | None:
    """Leave out the signature of a model, whose fields are listed below it, and the functions that make defaults."""
    if kind == "class" and isinstance(value, type) and issubclass(value, BaseModel):
        return "", ""
    if "<" not in (arguments or ""):
        return None
    found = signature_of(value, bound_method=kind == "method", type_aliases=autodoc_type_aliases)
    parameters = [
        each.replace(default=Default()) if each.default is not each.empty and "<" in repr(each.default) else each
        for each in found.parameters.values()
    ]
    plain = found.replace(parameters=parameters, return_annotation=found.empty)
    return stringify_signature(plain, unqualified_typehints=True), returned


# `Attributes` become a list, since the attributes have entries of their own.
DOCSTRINGS = Config(napoleon_custom_sections=[(title, "params_style") for title in ("Options", "Attributes")])


def docstring(app: Sphinx, kind: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Turn a docstring into reStructuredText: its sections, and `|x|`, which is a number in it and no substitution."""
    # The text of an attribute has no sections; what comes before its first colon would be taken for a type.
    if kind not in ("attribute", "property", "data"):
        lines[:] = GoogleDocstring(list(lines), DOCSTRINGS, app, kind, name, value, options).lines()
    lines[:] = [line if "`" in line else line.replace("|", r"\|") for line in lines]


def skip(app: Sphinx, kind: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out the asynchronous form of each method, which has the same documentation."""
    return True if name.endswith("_async") or name.startswith("model_") else None


def write_llms(app: Sphinx, error: Exception | None) -> None:
    """Write llms.txt, the file for assistants, with links to the pages of the site."""
    if error is None:
        text = (navigation.CHECKOUT / "llms.txt").read_text("utf-8")
        (Path(app.outdir) / "llms.txt").write_text(text.replace(".md)", ".html)"), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", fill)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-skip-member", skip)
    app.connect("build-finished", write_llms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

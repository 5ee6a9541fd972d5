"""What all pages share: how templates are found and filled, and what becomes of text from outside."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rubriclab.characters import plain
from rubriclab.data.scale import show
from rubriclab.report import charts, describe, plots, training, verdicts, wording
from rubriclab.report.grouping import omissions, sub_dimensions

if TYPE_CHECKING:
    from rubriclab.store.version import Version

TEMPLATES = Path(__file__).parents[1] / "templates"
LONG_EXCERPT = 1500
TITLE = 60
_NEGATIVE = re.compile(r"(?<![\w-])-(?=\d)")


def render(template: str, **values: Any) -> str:
    """Return a page."""
    return _environment().get_template(template).render(**values)


def typeset(figures: str) -> str:
    """Return figures with a true minus sign; a hyphen inside a name stays one."""
    return _NEGATIVE.sub("\N{MINUS SIGN}", figures)


def provenance_rows(version: Version, judges: Iterable[str]) -> list[tuple[str, str]]:
    """Return what a version was made of and by, and which `judges` have scored with it here."""
    made = version.provenance
    rows = [
        ("Scored here by", ", ".join(sorted(set(judges)))),
        ("Calibrated for", wording.asked_at(made.judge, made.judge_address)),
        ("Origin", describe.version_origin(version) if version.imported else ""),
        ("Carried over", describe.carried_over(made)),
        ("Generator", wording.asked_at(made.generator, made.generator_address)),
        ("Reported as", ", ".join(made.model_versions)),
        (describe.labels_title(made).capitalize(), describe.labels(made)),
        ("Seed", str(made.seed)),
        ("Created", wording.moment(version.created)),
        ("Took", wording.effort(version.effort)),
        ("By stage", wording.stages(version.effort)),
        ("Parent", version.parent or ""),
        ("Rubric digest", version.digest),
        ("Provenance digest", version.provenance_digest),
        ("Data digest", made.data),
        ("Prompts digest", made.prompts),
        ("rubriclab", made.version),
    ]
    return [(name, value) for name, value in rows if value]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )
    environment.filters.update(excerpt=wording.excerpt, show=show, typeset=typeset)
    environment.globals.update(
        axis=charts.correlation_axis,
        charts=charts,
        describe=describe,
        long_excerpt=LONG_EXCERPT,
        omissions=omissions,
        plots=plots,
        provenance_rows=provenance_rows,
        sub_dimensions=sub_dimensions,
        title_length=TITLE,
        training=training,
        verdicts=verdicts,
        wording=wording,
    )
    return environment


def _plain(value: Any) -> Any:
    """Return what a template shows; text is cut, and loses the characters that could turn what stands around it."""
    return plain(wording.cut(value)) if isinstance(value, str) and not isinstance(value, Markup) else value

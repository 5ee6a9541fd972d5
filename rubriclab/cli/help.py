"""Help in sections: options by what they are about, and commands by what they are for, each with its whole sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import click

# Whether a configuration file that was found in the working folder may set an option: `always` for how input is read
# and how results are shown, `never` for what a command changes in the store, or else once the user has confirmed it.
FromFound = Literal["always", "confirmed", "never"]


class SectionOption(click.Option):
    """An option that help lists under the heading `section`; an empty one is the command's own.

    Attributes:
        from_found: whether a configuration file that was found in the working folder may set it.
    """

    def __init__(self, *args: Any, section: str = "", from_found: FromFound = "confirmed", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.section = section
        self.from_found = from_found


class SectionCommand(click.Command):
    """A command whose help lists its own options first and then the shared ones by section.

    It begins once its outputs have been checked and the log file is open.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Check the outputs, open the log file and run the command."""
        from rubriclab.cli.logs import log_to_file
        from rubriclab.cli.places import check_outputs

        check_outputs(ctx)
        if file := ctx.find_root().params.get("log_file"):
            log_to_file(Path(file), str(ctx.info_name))
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options with a heading for each section."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            # The text above the options describes the arguments; newer versions of click list them here too.
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                title = getattr(param, "section", "") or "Options"
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class SectionGroup(click.Group):
    """A group whose help lists its commands by section, each with the first sentence of its help."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.sections: dict[str, list[str]] = {}
        """The names of the commands by section, in the order of help."""

    def add_section(self, title: str, commands: Sequence[click.Command]) -> None:
        """Add commands that help lists under `title`, in this order."""
        for added in commands:
            self.add_command(added)
            self.sections.setdefault(title, []).append(str(added.name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with a heading for each section."""
        shown = set(self.list_commands(ctx))
        for title, names in self.sections.items():
            with formatter.section(title):
                formatter.write_dl(list(self._lines(name for name in names if name in shown)))

    def _lines(self, names: Iterable[str]) -> Iterable[tuple[str, str]]:
        for name in names:
            text = " ".join((self.commands[name].help or "").split())
            yield name, f"{text.split('. ')[0].removesuffix('.')}."


def command(name: str | None = None) -> Callable[[Callable[..., Any]], SectionCommand]:
    """Return a decorator that makes a function a command with options in sections."""
    return click.command(name, cls=SectionCommand)

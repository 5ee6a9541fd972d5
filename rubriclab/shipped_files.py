"""Where the reviewed content lies that ships with the code: the folders `stores` and `literature`.

People read and review them at the top of the repository. A wheel carries copies under `rubriclab/_content/`, so that
nothing else lands beside the package in somebody's site-packages.
"""

from __future__ import annotations

from pathlib import Path

from rubriclab.errors import UserError

_PACKAGE = Path(__file__).resolve().parent


def content_path(*parts: str, package: Path = _PACKAGE) -> Path:
    """Return the path of a shipped file or folder, such as `content_path("literature", "story.json")`.

    The folder itself (`parts[0]`) must exist; what lies inside it may not, since an unknown task has no file.

    Raises:
        UserError: if neither the installed package nor a checkout around it has the folder.
    """
    folder = parts[0]
    for root in _roots(package):
        if (root / folder).is_dir():
            return root.joinpath(*parts)
    raise UserError(
        f"The shipped folder {folder!r} is missing: neither {package / '_content' / folder} "
        f"nor a checkout's own {folder!r} exists.",
        "Reinstall rubriclab, or run it from a complete checkout.",
    )


def _roots(package: Path) -> tuple[Path, ...]:
    checkout = package.parent
    # Beside an installed package a folder of this name is somebody else's, so a checkout must show itself.
    is_checkout = (checkout / "pyproject.toml").is_file()
    return (package / "_content", checkout) if is_checkout else (package / "_content",)

"""Where the reviewed content lies that ships with the code: the folders `stores`, `literature` and `sample`.

People read and review them outside the package. A wheel carries copies under `rubriclab/_content/`, so that nothing
else lands beside the package in somebody's site-packages.
"""

from __future__ import annotations

from pathlib import Path

from rubriclab.errors import UserError

_PACKAGE = Path(__file__).resolve().parent
# Where a folder of another path is in a checkout.
_IN_CHECKOUT = {"sample": Path("experiments", "sample")}


def content_path(*parts: str, package: Path = _PACKAGE) -> Path:
    """Return the path of a shipped file or folder, such as `content_path("literature", "story.json")`.

    The folder itself (`parts[0]`) must exist; what lies inside it may not, since an unknown task has no file.

    Raises:
        UserError: if neither the installed package nor a checkout around it has the folder.
    """
    folder, *inner = parts
    for place in _places(folder, package):
        if place.is_dir():
            return place.joinpath(*inner)
    raise UserError(
        f"The shipped folder {folder!r} is missing: neither {package / '_content' / folder} "
        f"nor a checkout's own {folder!r} exists.",
        "Reinstall rubriclab, or run it from a complete checkout.",
    )


def _places(folder: str, package: Path) -> tuple[Path, ...]:
    installed, checkout = package / "_content" / folder, package.parent
    # Beside an installed package a folder of this name is somebody else's, so a checkout must show itself.
    is_checkout = (checkout / "pyproject.toml").is_file()
    return (installed, checkout / _IN_CHECKOUT.get(folder, folder)) if is_checkout else (installed,)

"""The included sample, and copies of the package's content in the user's folders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rubriclab.errors import SettingsError
from rubriclab.models.base import content_path

README, LABELLED, HELDOUT, UNLABELLED = "README.md", "labelled.jsonl", "heldout.jsonl", "unlabelled.jsonl"
RECORDING, VERDICTS, HELDOUT_VERDICTS = "recording.jsonl", "verdicts-labelled.csv", "verdicts-heldout.csv"
SAMPLE_FILES = (README, LABELLED, HELDOUT, UNLABELLED)
DEMO_FILES = (README, LABELLED, HELDOUT, VERDICTS, HELDOUT_VERDICTS, RECORDING)


@dataclass(frozen=True)
class SampleFiles:
    """The files of the sample in a folder. Its labels are constructed: they are not human ratings."""

    readme: Path
    labelled: Path
    heldout: Path
    unlabelled: Path


def write_sample(folder: str | Path) -> SampleFiles:
    """Write the sample to `folder`, which must be new, empty, or hold the sample already; return the files."""
    return SampleFiles(*write_content("sample", SAMPLE_FILES, Path(folder)))


def write_content(name: str, files: Iterable[str], folder: Path) -> list[Path]:
    """Copy files of the package's content `name` to `folder`; SettingsError if it holds anything but these files."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file, and a folder is needed for the {name}.", "Name another folder.")
    contents = {folder / file: content_path(name, file).read_bytes() for file in files}
    is_empty = not folder.exists() or not any(folder.iterdir())
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        if is_empty:
            path.write_bytes(content)
        elif not path.is_file() or path.read_bytes() != content:
            problem = f"its {path.name} differs" if path.exists() else f"no {path.name}"
            message = f"Expected an empty folder or the unchanged {name}; {folder} has files, but {problem}."
            raise SettingsError(message, "Name another folder; nothing was written.")
    return list(contents)

"""The shipped sample: short summaries with constructed labels, to try rubriclab without data and without a key."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rubriclab.documents import content_path
from rubriclab.errors import SettingsError

README, LABELLED, HELDOUT, UNLABELLED, RECORDING = FILES = (
    "README.md",
    "labelled.jsonl",
    "heldout.jsonl",
    "unlabelled.jsonl",
    "recording.jsonl",
)


@dataclass(frozen=True)
class SampleFiles:
    """The files of the sample in a folder. Its labels are constructed: they are not human ratings.

    Attributes:
        readme: how texts and labels were made.
        labelled: 36 labelled summaries of 6 texts.
        heldout: 72 labelled summaries of 12 other texts.
        unlabelled: the first 24 held-out summaries, without labels.
        recording: a language model's answers to the commands of `rubriclab demo`, for the judge `recorded:PATH`.
    """

    readme: Path
    labelled: Path
    heldout: Path
    unlabelled: Path
    recording: Path


def write_sample(folder: str | Path) -> SampleFiles:
    """Write the sample to `folder`, which is new, empty or already has it, and return its files.

    Raises:
        SettingsError: if `folder` is a file, or has other files but not the sample.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file, and the sample needs a folder.", "Name another folder.")
    paths = [folder / name for name in FILES]
    contents = [content_path("sample", name).read_bytes() for name in FILES]
    if folder.exists() and any(folder.iterdir()):
        for path, content in zip(paths, contents, strict=True):
            if not path.is_file() or path.read_bytes() != content:
                problem = "differs from that of the sample" if path.exists() else "is missing"
                raise SettingsError(
                    f"The folder {folder} has other files: it is not empty, and its {path.name} {problem}.",
                    "Name another folder; nothing was written.",
                )
    else:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
    return SampleFiles(*paths)

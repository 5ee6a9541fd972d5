"""Records a language model's answers to the commands of `rubriclab demo`, with about 290 requests::

python -m experiments demo --record gpt-4o-mini
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rubriclab.cli.demo import commands, run_in
from rubriclab.services.sample import write_sample
from rubriclab.shipped_files import content_path


def record(judge: Sequence[str]) -> int:
    """Add the answers of a language model to the sample's recording; return the exit code."""
    with TemporaryDirectory() as folder:
        write_sample(folder)
        return run_in(Path(folder), commands((*judge, "--record", str(content_path("sample", "recording.jsonl")))))

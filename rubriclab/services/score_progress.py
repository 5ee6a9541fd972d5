"""How far scoring into a file has come, recorded beside it, so that continuing it need not compare all rows again.

The record `NAME.progress` is lines of JSON: first what is scored and the digest of the texts, then a checkpoint for
every `ROWS` rows. A checkpoint is written after its rows, at once, and holds the digest of their bytes, so that neither
a kill nor a change of any of the files makes it count for rows that it is not of. Scoring that comes to its end removes
the record.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Thread

from pydantic import ValidationError

from rubriclab.base_models import Count, FrozenModel
from rubriclab.data.reading import ReadingOptions
from rubriclab.data.tables import table_kind
from rubriclab.digest import digest
from rubriclab.scoring.score import limits_of
from rubriclab.services.score import Scoring

# Rows between two checkpoints.
ROWS = 10_000
# Bytes read at once.
BLOCK = 2**20


class Beginning(FrozenModel):
    """The digests of what is scored, and how, and of the file of texts."""

    run: str
    texts: str


class Checkpoint(FrozenModel):
    """What was written, up to a row.

    Attributes:
        line: of this row in the texts.
        end: bytes of the file of scores.
        digest: of the bytes since the checkpoint before.
        values: the scores since the checkpoint before.
        unscored_by_reason: texts without a score.
        reason: why the latest text that was judged has none.
    """

    line: Count
    end: Count
    digest: str
    values: tuple[float, ...]
    rows: Count
    unscored: Count
    unscored_by_reason: dict[str, int]
    abstained: Count
    addresses_judge: Count
    answers: Count
    answers_missing: Count
    reason: str | None


@dataclass(frozen=True, slots=True)
class Progress:
    """The rows of a file of scores that are known to be of the texts as they are.

    Attributes:
        last: the last checkpoint.
        values: all scores.
        size: the bytes of the record that hold.
    """

    last: Checkpoint
    values: array[float]
    size: int

    def restore(self, scoring: Scoring) -> None:
        """Count these rows."""
        counts, last = scoring.counts, self.last
        counts.rows, counts.unscored, counts.abstained = last.rows, last.unscored, last.abstained
        counts.addresses_judge = last.addresses_judge
        counts.answers, counts.answers_missing, counts.reason = last.answers, last.answers_missing, last.reason
        scoring.summary.values = self.values
        scoring.summary.unscored = Counter(last.unscored_by_reason)


class ProgressRecord:
    """Reads the record of an earlier run, and writes one while rows are written.

    It has no effect where scoring cannot be continued. What cannot be written only costs time when scoring is
    continued, and is no error.

    Args:
        texts: the path of the texts, or `-`.
        output: the path of the scores, or `-`.
    """

    def __init__(self, scoring: Scoring, texts: str, output: str) -> None:
        self._scoring, self._texts, self._output = scoring, Path(texts), Path(output)
        # Not `with_name`: a path such as "." has no name, and is refused where it is opened.
        self._path = Path(f"{self._output}.progress")
        self._active = _can_be_continued(scoring, texts, output)
        self._unchanged = _state(self._texts) if self._active else None
        self._digesting: Thread | None = None
        self._digest: str | None = None
        self._begun = False
        self._rows = self._values = self._end = 0

    def read(self) -> Progress | None:
        """Return how far the scores are of this scoring and these texts; `None` if that is not recorded."""
        if not self._active:
            return None
        with suppress(OSError, ValidationError), self._path.open("rb") as record:
            first = record.readline()
            if Beginning.model_validate_json(first) == Beginning(run=_run(self._scoring), texts=digest_of(self._texts)):
                return self._go_on(_last(_checkpoints(record), self._output, len(first)))
        return None

    def add(self, line: int) -> None:
        """Note that the row in this line of the texts has been written, as all rows before it."""
        if self._active and line and self._scoring.counts.rows - self._rows >= ROWS:
            try:
                self._write(line)
            except OSError:
                self._active = False

    def remove(self) -> None:
        """Remove the record, also that of an earlier run: all rows are written."""
        if self._active:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _go_on(self, progress: Progress | None) -> Progress | None:
        """Let further checkpoints follow those that hold."""
        if progress:
            os.truncate(self._path, progress.size)
            self._begun, self._rows, self._end = True, progress.last.rows, progress.last.end
            self._values = len(progress.values)
        return progress

    def _write(self, line: int) -> None:
        if not self._begun and not self._begin():
            return
        counts, summary = self._scoring.counts, self._scoring.summary
        end = self._output.stat().st_size
        checkpoint = Checkpoint(
            line=line,
            end=end,
            digest=digest_of(self._output, self._end, end),
            values=tuple(summary.values[self._values :]),
            rows=counts.rows,
            unscored=counts.unscored,
            unscored_by_reason=dict(summary.unscored),
            abstained=counts.abstained,
            addresses_judge=counts.addresses_judge,
            answers=counts.answers,
            answers_missing=counts.answers_missing,
            reason=counts.reason,
        )
        with self._path.open("ab", buffering=0) as record:
            record.write(_line(checkpoint))
        self._rows, self._values, self._end = counts.rows, len(summary.values), end

    def _begin(self) -> bool:
        """Return whether the first line is written.

        The texts are read in a thread, since requests are under way; what changed meanwhile is not recorded.
        """
        if self._digesting is None:
            self._digesting = Thread(target=self._digest_texts, daemon=True)
            self._digesting.start()
        if self._digesting.is_alive():
            return False
        self._active = self._digest is not None and _state(self._texts) == self._unchanged
        if self._active and self._digest:
            self._path.write_bytes(_line(Beginning(run=_run(self._scoring), texts=self._digest)))
            self._begun = True
        return self._begun

    def _digest_texts(self) -> None:
        with suppress(OSError):
            self._digest = digest_of(self._texts)


def digest_of(path: Path, start: int = 0, end: int | None = None) -> str:
    """Return the digest of the bytes of a file from `start` to `end`, or to its end.

    Raises:
        OSError: if it cannot be read.
    """
    # Twice as fast as BLAKE2 where the processor has instructions for it.
    found, left = sha256(), end if end is None else end - start
    with path.open("rb") as file:
        file.seek(start)
        while block := file.read(BLOCK if left is None else min(BLOCK, left)):
            found.update(block)
            left = None if left is None else left - len(block)
    return found.hexdigest()


def _can_be_continued(scoring: Scoring, texts: str, output: str) -> bool:
    if output == "-" or table_kind(output) or not Path(texts).is_file():
        return False
    return scoring.version is not None and not limits_of(scoring.rubric, scoring.rivals)


def _run(scoring: Scoring) -> str:
    """Return the digest of all that a row of scores depends on, besides its text."""
    options = scoring.options.model_dump(mode="json", include={*ReadingOptions.model_fields, "abstain_above"})
    version = scoring.version.digest if scoring.version else None
    return digest([scoring.name, version, scoring.choice.spec, options])


def _state(path: Path) -> tuple[int, int, int]:
    state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns


def _line(content: FrozenModel) -> bytes:
    return content.model_dump_json().encode() + b"\n"


def _checkpoints(record: Iterable[bytes]) -> Iterator[tuple[Checkpoint, int]]:
    """Yield the complete checkpoints of a record with their length in bytes."""
    with suppress(ValidationError):
        for line in record:
            if line.endswith(b"\n"):
                yield Checkpoint.model_validate_json(line), len(line)


def _last(checkpoints: Iterator[tuple[Checkpoint, int]], output: Path, size: int) -> Progress | None:
    """Return the progress up to the last checkpoint before the first that the file of scores disagrees with."""
    last: Checkpoint | None = None
    values: array[float] = array("d")
    for checkpoint, length in checkpoints:
        if digest_of(output, last.end if last else 0, checkpoint.end) != checkpoint.digest:
            break
        last, size = checkpoint, size + length
        values.extend(checkpoint.values)
    return Progress(last, values, size) if last else None

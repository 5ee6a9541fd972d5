"""Training records that the studio's pages share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rubriclab.errors import StoreUnavailable
from rubriclab.models.version import TrainingRecord, Version
from rubriclab.ops import versions
from rubriclab.ops.workspace import Workspace
from rubriclab.web.studio.studio import Records


def test_a_record_that_could_not_be_read_is_read_again_and_then_kept(store: Path) -> None:
    attempts = list[str]()

    def texts(version: Version, record: TrainingRecord) -> int:
        attempts.append(version.ref)
        if len(attempts) == 1:
            raise StoreUnavailable("locked")
        return len(record.texts)

    with Workspace(store) as reading, ThreadPoolExecutor(1) as background:
        records, version = Records(reading, texts, background), versions.load(reading, "news")
        with pytest.raises(StoreUnavailable):
            records.get(version)
        assert records.get(version) == records.get(version) > 0
    assert len(attempts) == 2

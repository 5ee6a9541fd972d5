"""How a Ray cluster is started, with a stand-in for Ray; `test_ray_scoring` has the real one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import rubriclab
from rubriclab.services.score_ray import _cluster


def test_a_cluster_is_started_outside_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray puts the folder that it is started in first on the path of its workers."""
    started_in: list[Path] = []
    ray = SimpleNamespace(
        is_initialized=lambda: False, init=lambda **_settings: started_in.append(Path.cwd()), shutdown=lambda: None
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_BACKEND_LOG_LEVEL"):
        monkeypatch.setenv(name, "0")
    monkeypatch.chdir(tmp_path)
    with _cluster(None, 2):
        assert Path.cwd() == tmp_path
    assert started_in == [Path(rubriclab.__file__).parents[1]]

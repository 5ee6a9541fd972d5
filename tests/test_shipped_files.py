"""The locator of shipped content: the wheel's copy first, then a checkout, never somebody else's folder."""

from pathlib import Path

import pytest

from rubriclab.errors import UserError
from rubriclab.models.base import content_path


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "site" / "rubriclab"
    folder.mkdir(parents=True)
    return folder


def test_the_copy_inside_a_wheel_comes_first(package: Path) -> None:
    inside = package / "_content" / "stores"
    inside.mkdir(parents=True)
    (package.parent / "stores").mkdir()
    (package.parent / "pyproject.toml").touch()
    assert content_path("stores", "aspects.json", package=package) == inside / "aspects.json"


def test_a_checkout_serves_where_no_wheel_was_built(package: Path) -> None:
    (package.parent / "stores").mkdir()
    (package.parent / "pyproject.toml").touch()
    assert content_path("stores", package=package) == package.parent / "stores"


def test_a_folder_beside_an_installed_package_is_not_taken_for_ours(package: Path) -> None:
    (package.parent / "stores").mkdir()
    with pytest.raises(UserError, match="'stores' is missing"):
        content_path("stores", package=package)


def test_missing_content_says_where_it_was_looked_for_and_what_to_do(package: Path) -> None:
    with pytest.raises(UserError) as caught:
        content_path("literature", "story.json", package=package)
    assert str(package / "_content" / "literature") in caught.value.message
    assert caught.value.hint is not None
    assert "Reinstall" in caught.value.hint

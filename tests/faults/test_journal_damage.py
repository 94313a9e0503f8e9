"""A journal that was damaged anywhere: no traceback, a report by doctor, and a way out."""

from pathlib import Path

import pytest

from faults.journal_damage import make_project, trial


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("sound") / "project")


@pytest.mark.parametrize("seed", range(6))
def test_no_damage_of_the_journal_bricks_a_project(project: Path, tmp_path: Path, seed: int) -> None:
    assert trial(project, tmp_path, seed) == []


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(100, 140))
def test_no_damage_of_the_journal_bricks_a_project_of_many(project: Path, tmp_path: Path, seed: int) -> None:
    assert trial(project, tmp_path, seed) == []

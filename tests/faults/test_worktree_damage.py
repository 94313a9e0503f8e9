"""A worktree whose files of git's were damaged: the run continues or says what to type, and nothing is lost."""

from pathlib import Path

import pytest

from faults.worktree_damage import KINDS, Place, trial

NAMES = (".git", "HEAD", "commondir", "gitdir", "index", "logs/HEAD", "weft-recorded")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("sound") / "project").make()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_no_damaged_file_of_a_worktree_bricks_its_slice(
    original: Place, tmp_path: Path, name: str, kind: str
) -> None:
    # What is in place of `.git` may be a repository that the step has made: a person looks at it first.
    # Without `.git`, another directory may have taken the place of the worktree.
    is_ours = name != ".git" or kind not in {"directory", "missing"}
    assert trial(original, tmp_path, name, kind, must_overcome=is_ours) == []

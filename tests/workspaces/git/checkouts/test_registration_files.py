"""Registrations written without git, compared with those of `git worktree add`."""

from pathlib import Path

import pytest

from weft.workspaces.git.base.program import Git
from weft.workspaces.git.checkouts.registration_files import write_registration
from weft.workspaces.git.checkouts.registrations import Registrations
from workspaces.git.repositories import repository

BRANCH = "refs/heads/work"


@pytest.fixture
def git(tmp_path: Path) -> Git:
    git = repository(tmp_path / "top")
    git.do("branch", "work")
    return git


def register(git: Git, place: Path, branch: str | None = BRANCH) -> bool:
    commit = git.line("rev-parse", "HEAD")
    head = commit if branch is None else f"ref: {branch}"
    return write_registration(git, git.common, place, head, commit)


def contents(entry: Path) -> dict[str, str]:
    """The files of an entry; the date of its reflog is left out."""
    files = {
        str(file.relative_to(entry)): file.read_text() for file in sorted(entry.rglob("*")) if file.is_file()
    }
    return files | {"logs/HEAD": files["logs/HEAD"].rpartition("> ")[0]}


@pytest.mark.parametrize("branch", [BRANCH, None], ids=["branch", "detached"])
def test_an_entry_has_the_files_that_git_writes(git: Git, tmp_path: Path, branch: str | None) -> None:
    place = tmp_path / "trees" / "w"
    revision = ("--detach", str(place), "HEAD") if branch is None else (str(place), "work")
    options = ("--quiet", "--no-checkout", "--lock", "--reason", "Weft is making it")
    git.do("-c", "core.logAllRefUpdates=true", "worktree", "add", *options, *revision)
    entry = git.common / "worktrees" / "w"
    expected, link = contents(entry), (place / ".git").read_text()
    git.do("worktree", "remove", "--force", "--force", str(place))
    assert register(git, place, branch)
    assert contents(entry) == expected
    assert (place / ".git").read_text() == link
    (listed,) = Registrations(git, git.common).listed()[1:]
    assert (listed.path, listed.branch, listed.locked) == (place, branch, "Weft is making it")
    git.at(place).do("read-tree", "--reset", "-u", "HEAD")
    assert (place / "README").read_text() == "hello\n"
    git.do("worktree", "repair")


def test_a_name_in_use_gets_a_number(git: Git, tmp_path: Path) -> None:
    assert register(git, tmp_path / "one" / "w", None)
    assert register(git, tmp_path / "two" / "w", None)
    assert sorted(path.name for path in (git.common / "worktrees").iterdir()) == ["w", "w1"]
    assert len(Registrations(git, git.common).listed()) == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.sparseCheckout", "true"),
        ("worktree.useRelativePaths", "true"),
        ("extensions.worktreeConfig", "true"),
        ("extensions.partialClone", "origin"),
        ("core.sharedRepository", "group"),
        ("user.name", ""),
    ],
)
def test_a_repository_that_needs_other_files_is_left_to_git(
    git: Git, tmp_path: Path, key: str, value: str
) -> None:
    git.do("config", key, value)
    assert not register(git, tmp_path / "w")
    assert not (git.common / "worktrees").exists()


@pytest.mark.parametrize("name", ["a b", "ä", "a..b", "a.lock", ".a", "a~b"])
def test_a_name_that_git_would_change_is_left_to_git(git: Git, tmp_path: Path, name: str) -> None:
    assert not register(git, tmp_path / name)
    Registrations(git, git.common).add(tmp_path / name, branch=BRANCH, commit=git.line("rev-parse", "HEAD"))
    (listed,) = Registrations(git, git.common).listed()[1:]
    assert listed.path == tmp_path / name

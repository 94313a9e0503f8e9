"""`.weft`: what comes with a clone leads nowhere else, and what Weft keeps is the user's alone."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.running import Project

PLAN = """
subplans:
  - {id: a, steps: [{id: one, run: "echo text; echo text >&2; seq 100000"}]}
"""
LINKS = (
    *("coordinator.log", "coordinator.lock", "weft.db", "weft.db-wal", "notify.log", ".gitignore"),
    *("run", "runs", "workspaces", "worktrees"),
    *("worktrees/tried", "runs/some", "workspaces/tried", "run/a.status.json"),
)
SECRET = "a key of the user"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project").plan(PLAN)


@pytest.fixture(params=[0o000, 0o022], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def entries(folder: Path) -> Iterator[Path]:
    """All that Weft keeps; what is in workspaces is the work's."""
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and path.name != "workspaces":
            yield from entries(path)


@pytest.mark.usefixtures("umask")
def test_all_of_it_belongs_to_the_user_alone_whatever_the_umask(project: Project) -> None:
    assert project.process("run").returncode == 0
    modes = {
        str(path.relative_to(project.root)): oct(stat.S_IMODE(path.lstat().st_mode))
        for path in (project.root / ".weft", *entries(project.root / ".weft"))
    }
    wrong = {
        name: mode
        for name, mode in modes.items()
        if mode != ("0o700" if (project.root / name).is_dir() else "0o600")
    }
    assert len(modes) > 10
    assert wrong == {}


def test_a_directory_that_a_clone_made_readable_is_closed(project: Project) -> None:
    (project.root / ".weft").mkdir(mode=0o755)
    assert project.weft("run").exit_code == 0
    assert stat.S_IMODE((project.root / ".weft").stat().st_mode) == 0o700


@pytest.mark.parametrize("name", LINKS)
def test_a_link_in_it_is_refused_with_what_to_type(project: Project, name: str) -> None:
    outside = project.outside / "target"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    link = project.root / ".weft" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside / "secret" if "." in name else outside)
    done = project.weft("run")
    assert done.exit_code == 2, done.output
    assert f"{link} is a symbolic link" in done.output
    assert f"type: rm {link}" in done.output
    assert (outside / "secret").read_text() == SECRET
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert project.marks() == []


def test_a_log_of_the_background_that_is_a_link_is_refused(project: Project) -> None:
    (project.outside / "secret").write_text(SECRET)
    (project.root / ".weft").mkdir()
    (project.root / ".weft/coordinator.log").symlink_to(project.outside / "secret")
    done = project.process("start")
    assert (done.returncode, "coordinator.log is a symbolic link" in done.stderr) == (2, True)
    assert (project.outside / "secret").read_text() == SECRET


@pytest.mark.parametrize("command", ["run", "status", "logs", "doctor"])
def test_the_directory_itself_is_no_link(project: Project, command: str, tmp_path: Path) -> None:
    other = Project(tmp_path / "other").plan(PLAN)
    assert other.weft("run").exit_code == 0
    before = sorted(entries(other.root / ".weft"))
    (project.root / ".weft").symlink_to(other.root / ".weft")
    done = project.weft(command)
    assert "/.weft" in done.output
    assert "is a symbolic link" in done.output
    assert done.exit_code == {"doctor": 1}.get(command, 2)
    assert sorted(entries(other.root / ".weft")) == before


def test_configuration_that_is_a_link_is_read(project: Project) -> None:
    (project.root / "shared.yaml").write_text("max_parallel: 7\n")
    (project.root / ".weft").mkdir()
    (project.root / ".weft/config.yaml").symlink_to("../shared.yaml")
    assert "7" in project.weft("config", "max_parallel").output
    assert project.weft("run").exit_code == 0

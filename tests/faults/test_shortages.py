"""A machine that runs short: a message says what to do, nothing is lost, and the run continues later."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.privileges import open_to_all
from faults.shortages import PLAN, Done, Project, is_possible, with_disk

NO_USER = not is_possible("setpriv", "--version") and not is_possible("unshare", "--user", "true")
NO_DISK = not (is_possible("unshare", "--mount", "true") or is_possible("unshare", "-Urm", "true"))
NO_PROCESS = "the system starts no further process or thread for this user; end some processes"


@pytest.fixture
def for_all() -> Iterator[Path]:
    """A directory to which another user can go: git asks for the rights of the user, and not of the process."""
    with open_to_all() as folder:
        yield folder


def check(done: Done) -> None:
    """It failed as a machine fails, not as a program with a bug does."""
    text = done.stdout + done.stderr
    assert "Traceback" not in text
    assert done.returncode == 1, text


@pytest.mark.skipif(NO_USER, reason="no other user can be had")
@pytest.mark.parametrize(("isolation", "nproc"), [("worktree", 1), ("worktree", 3), ("dir", 2)])
def test_no_process_or_thread_can_be_started(for_all: Path, isolation: str, nproc: int) -> None:
    project = Project(for_all / "project", isolation)
    done = project.weft_as_another_user("run", nproc=nproc)
    check(done)
    assert NO_PROCESS in done.stderr
    continued = project.weft_as_another_user("run", nproc=1000)
    assert continued.returncode == 0, continued.stderr
    assert isolation == "dir" or project.is_whole()


@pytest.mark.skipif(NO_USER, reason="no other user can be had")
@pytest.mark.parametrize("nproc", [2, 4])
def test_a_coordinator_in_the_background_has_no_room(tmp_path: Path, nproc: int) -> None:
    project = Project(tmp_path / "project", "dir")
    done = project.weft_as_another_user("start", nproc=nproc)
    check(done)
    assert NO_PROCESS in done.stderr
    assert project.weft_as_another_user("run", nproc=1000).returncode == 0


@pytest.mark.parametrize("nofile", [7, 14])
def test_few_files_can_be_open(tmp_path: Path, nofile: int) -> None:
    project = Project(tmp_path / "project")
    check(project.weft("run", nofile=nofile))
    for command in ("check", "status", "doctor", "diff"):
        assert project.weft(command, nofile=nofile).returncode in {0, 1, 2}
    assert project.weft("run").returncode == 0
    assert project.is_whole()


def test_the_journal_says_that_too_many_files_are_open(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", "dir")
    done = project.weft("run", nofile=6)
    check(done)
    assert "Too many open files; raise the limit of open files (ulimit -n 1024)" in done.stderr


@pytest.mark.parametrize("fsize", [0, 20_000, 100_000])
def test_files_may_not_grow(tmp_path: Path, fsize: int) -> None:
    project = Project(tmp_path / "project")
    check(project.weft("run", fsize=fsize))
    assert project.weft("run").returncode == 0
    assert project.is_whole()


@pytest.mark.parametrize("megabytes", [60, 90])
def test_memory_is_short(tmp_path: Path, megabytes: int) -> None:
    project = Project(tmp_path / "project", "dir")
    done = project.weft("check", **{"as": megabytes << 20})
    assert done.returncode in {0, 1}, done.stderr
    assert "please report" not in done.stderr


DISK = f"""
git init -q -b main && git config user.name A && git config user.email a@b.c
echo /weft.yaml > .git/info/exclude; echo /fill >> .git/info/exclude
git commit -q --allow-empty -m start
cat > weft.yaml <<'END'
{PLAN}
END
"""
FILL = "dd if=/dev/zero of=fill bs=1024 count=$(($(df -k --output=avail . | tail -1) - {free})) 2>/dev/null; "


@pytest.mark.skipif(NO_DISK, reason="no disk of its own can be had")
@pytest.mark.parametrize("free", [0, 64, 160])
def test_the_disk_is_full(tmp_path: Path, free: int) -> None:
    script = f"""{DISK}
        export TMPDIR=$PWD; {FILL.format(free=free)}
        $WEFT run > said 2>&1; echo "code $?"; cat said
        rm fill; $WEFT run 2>&1; echo "then $?"
        cat a b c; git status --porcelain"""
    done = with_disk(tmp_path, script, size="6m")
    assert "Traceback" not in done.stdout
    assert "code 1\n" in done.stdout, done.stdout + done.stderr
    assert "then 0\na\na\na\n" in done.stdout, done.stdout


@pytest.mark.skipif(NO_DISK, reason="no disk of its own can be had")
def test_the_disk_can_only_be_read(tmp_path: Path) -> None:
    here = shlex.quote(str(tmp_path))
    script = f"""{DISK}
        mount -o remount,ro {here}
        for command in run start init "doctor --fix" "clean --yes" merge check status; do
            $WEFT $command 2>&1; echo "code $?"
        done
        mount -o remount,rw {here}; $WEFT run 2>&1; echo "then $?" """
    done = with_disk(tmp_path, script, size="6m")
    codes = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("code ")]
    assert "Traceback" not in done.stdout
    assert len(codes) == 8
    assert set(codes) <= {"0", "1", "2"}, done.stdout
    assert "Read-only file system" in done.stdout or "read-only file system" in done.stdout
    assert "then 0\n" in done.stdout, done.stdout

"""The file that holds what the user has approved."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from weft.app.project.approval_file import Approval, ApprovalFile
from weft.errors import InputError, WeftError

SHOWN = "~/.local/state/weft/approved.json"
WRITER = """
import os, sys
from weft.app.project.approval_file import Approval, ApprovalFile

print(flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    one = Approval(project=f"{sys.argv[1]}{number}", hash="h", at="t", commands=())
    ApprovalFile(os.environ).change(lambda known: (*known, one))
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / ".local" / "state" / "weft" / "approved.json"


def approval(project: str = "/p") -> Approval:
    return Approval(project=project, hash="h", at="t", commands=(("setup", ["a", {"b": "c"}]),))


def add(environ: dict[str, str], *added: Approval) -> None:
    ApprovalFile(environ).change(lambda known: (*known, *added))


def test_where_there_is_none_nothing_is_approved(environ: dict[str, str], file: Path) -> None:
    assert ApprovalFile(environ).read() == ()
    assert not file.parent.exists()


def test_what_was_added_is_there_and_what_was_there_stays(environ: dict[str, str]) -> None:
    add(environ, approval("/a"))
    add(environ, approval("/b"))
    assert ApprovalFile(environ).read() == (approval("/a"), approval("/b"))


def test_other_users_can_neither_read_nor_write_it_whatever_the_mask(
    environ: dict[str, str], file: Path
) -> None:
    before = os.umask(0)
    try:
        add(environ, approval())
        add(environ, approval())
    finally:
        os.umask(before)
    modes = [
        stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, file.with_name("approved.lock"))
    ]
    assert modes == [0o600, 0o700, 0o600]


def test_it_is_where_the_standard_says(tmp_path: Path, environ: dict[str, str]) -> None:
    environ["XDG_STATE_HOME"] = str(tmp_path / "state")
    add(environ, approval())
    assert (tmp_path / "state" / "weft" / "approved.json").exists()
    assert ApprovalFile({**environ, "XDG_STATE_HOME": "state"}).read() == ()


def test_behind_a_symbolic_link_the_file_is_replaced(environ: dict[str, str], file: Path) -> None:
    file.parent.mkdir(parents=True)
    real = file.with_name("real.json")
    file.symlink_to(real)
    add(environ, approval())
    assert file.is_symlink()
    assert ApprovalFile(environ).read() == (approval(),)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_what_others_may_write_proves_nothing(environ: dict[str, str], file: Path, mode: int) -> None:
    add(environ, approval())
    file.chmod(mode)
    with pytest.raises(InputError) as caught:
        ApprovalFile(environ).read()
    assert str(caught.value) == (
        f"others may write {SHOWN}, so it is not trusted; if its content is yours, type: chmod 600 {SHOWN}"
    )
    with pytest.raises(InputError, match="others may write"):
        add(environ, approval("/b"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_what_belongs_to_another_user_proves_nothing(environ: dict[str, str], file: Path) -> None:
    add(environ, approval())
    os.chown(file, 12345, -1)
    with pytest.raises(InputError, match=r"approved\.json belongs to another user"):
        ApprovalFile(environ).read()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{]",
        b"\xff",
        b"[]",
        b'{"weft": 1}',
        b'{"weft": 1, "approved": [{}]}',
        b'{"weft": 1, "approved": [{"project": 1, "hash": "h", "at": "t", "commands": []}]}',
        b'{"weft": 1, "approved": [], "more": 1}',
    ],
)
def test_a_damaged_file_approves_nothing_and_is_not_overwritten(
    environ: dict[str, str], file: Path, content: bytes
) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        ApprovalFile(environ).read()
    assert str(caught.value).startswith(f"{SHOWN} is damaged (")
    assert str(caught.value).endswith("); move it away, and approve again what you need")
    with pytest.raises(InputError, match="is damaged"):
        add(environ, approval())
    assert file.read_bytes() == content


def test_a_file_of_another_version_is_reported(environ: dict[str, str], file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text('{"weft": 2, "approved": []}')
    with pytest.raises(InputError, match=r"approved\.json was written by another version of Weft \(2\)$"):
        ApprovalFile(environ).read()


def test_what_cannot_be_read_is_an_error_and_no_verdict(environ: dict[str, str], file: Path) -> None:
    file.mkdir(parents=True)
    with pytest.raises(
        InputError, match=r"^cannot read ~/\.local/state/weft/approved\.json: is a directory$"
    ):
        ApprovalFile(environ).read()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_an_error_and_no_verdict(environ: dict[str, str], file: Path) -> None:
    add(environ, approval())
    file.chmod(0)
    with pytest.raises(InputError, match="permission denied"):
        ApprovalFile(environ).read()


def test_where_no_folder_can_be_made_that_is_reported(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / ".local").write_text("")
    with pytest.raises(
        WeftError, match=r"^cannot write ~/\.local/state/weft/approved\.json: not a directory$"
    ):
        add(environ, approval())


def test_where_it_cannot_be_written_that_is_reported_and_nothing_is_lost(
    environ: dict[str, str], file: Path
) -> None:
    add(environ, approval())
    file.rename(file.with_name("kept.json"))
    file.symlink_to(file.with_name("gone") / "x.json")
    with pytest.raises(WeftError, match=r"^cannot write ~/\.local/state/weft/approved\.json: no such file"):
        add(environ, approval("/b"))
    assert list(file.parent.glob(".weft-*")) == []


def test_processes_that_approve_at_once_lose_nothing(environ: dict[str, str]) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, name, "20"],
            env={**os.environ, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "abc"
    ]
    for writer in writers:  # all stand at the line
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    expected = {f"{name}{number}" for name in "abc" for number in range(20)}
    assert sorted(item.project for item in ApprovalFile(environ).read()) == sorted(expected)

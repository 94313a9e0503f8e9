"""How `weft ui` starts: ports that are in use, several servers, and machines without a browser."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from web.servers import ENVIRONMENT, running_ui
from weft.interpreter import isolated_python


@contextmanager
def taken_port() -> Iterator[int]:
    """A port that is in use, before one that is probably free."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        yield int(sock.getsockname()[1])


@contextmanager
def started(project: Path, *options: str, **environ: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [*isolated_python("weft"), "-C", str(project), "ui", *options],
        env=ENVIRONMENT | environ, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_if_the_port_is_in_use_the_next_one_is_used_and_said(tmp_path: Path) -> None:
    with taken_port() as port, started(tmp_path, "--no-open", "--port", str(port)) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        words = process.stderr.readline().split()
        assert words[:6] == ["port", str(port), "is", "in", "use;", "using"]
        assert process.stdout.readline().startswith(f"http://127.0.0.1:{words[6]}/?token=")


def test_two_servers_of_a_project_let_in_their_own_visitors_only(tmp_path: Path) -> None:
    with running_ui(tmp_path) as first, running_ui(tmp_path) as second:
        assert first.get("runs").status == second.get("runs").status == 200
        assert first.request("GET", "/api/v1/runs", headers=second.bearer).status == 401


def test_without_a_browser_the_address_is_to_be_opened_by_hand(tmp_path: Path) -> None:
    with started(tmp_path, "--port", "0", PATH="", DISPLAY="", WAYLAND_DISPLAY="", BROWSER="") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "no browser was found; open the address above\n"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--host", "192.0.2.77"], "set a passphrase of at least 12 characters"),
        (["--port", "70000"], "70000 is not in the range"),
    ],
)
def test_an_address_that_cannot_be_used_is_an_error(tmp_path: Path, options: list[str], reason: str) -> None:
    with started(tmp_path, "--no-open", *options) as process:
        assert process.wait(60) == 2
        assert process.stderr is not None
        assert reason in process.stderr.read()

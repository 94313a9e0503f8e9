"""`weft ui --ssh`: through a real sshd on this machine, with keys and settings of its own."""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec import Struct

from web.servers import ENVIRONMENT, Server
from weft.errors import InputError
from weft.interpreter import isolated_python
from weft.web.server.remote import ssh_command

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or ""
needs_sshd = pytest.mark.skipif(
    not SSHD or shutil.which("ssh") is None,
    reason="ssh or sshd is not installed: apt-get install openssh-server",
)


def words_there(remote: str) -> str:
    return ssh_command(remote, 8_000, 20_001, read_only=False)[-1]


@pytest.mark.parametrize(
    ("remote", "folder"),
    [
        ("box", ""),
        ("box:src/app", "-C src/app "),
        ("box:~", ""),
        ("box:~/a b", "-C 'a b' "),
        ("box:/x", "-C /x "),
    ],
)
def test_the_directory_there_is_that_after_the_colon(remote: str, folder: str) -> None:
    assert words_there(remote).startswith(f"weft {folder}ui --child")


@pytest.mark.parametrize("remote", ["", ":src", "-oProxyCommand=x"])
def test_a_host_is_never_an_option_of_ssh(remote: str) -> None:
    with pytest.raises(InputError, match="must be a host"):
        ssh_command(remote, 8_000, 20_001, read_only=False)


class Machine(Struct):
    """Another machine, which is this one behind sshd; `ssh box` leads to it."""

    folder: Path
    environ: dict[str, str]

    def command(self, remote: str) -> list[str]:
        return [*isolated_python("weft"), "ui", "--ssh", remote, "--no-open", "--json"]

    @contextmanager
    def shown(self, remote: str) -> Iterator[Server]:
        process = subprocess.Popen(
            self.command(remote),
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            url = urlsplit(json.loads(process.stdout.readline())["data"]["url"])
            yield Server(process, url.port or 0, parse_qs(url.query)["token"][0])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
            process.stdout.close()

    def servers(self) -> list[int]:
        """Returns the servers that run there."""
        there: list[int] = []
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = place.read_bytes().split(b"\0")
            except OSError:
                continue
            if (
                b"--child" in words
                and os.fsencode(self.folder / "project") in words
                and b"ssh" not in words[0]
            ):
                there.append(int(place.parent.name))
        return there


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    port = free_port()
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    (tmp_path / "bin").mkdir()
    # The programs by the names that a person types: the Weft there, and an ssh with the settings of this test.
    weft = shlex.join(isolated_python("weft"))
    for name, line in {"weft": weft, "ssh": f"{shutil.which('ssh')} -F {tmp_path}/config"}.items():
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec {line} "$@"\n')
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/key.pub\n"
        f"PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n"
        f"SetEnv PATH={tmp_path}/bin:/usr/bin:/bin\n"
    )
    (tmp_path / "config").write_text(
        f"Host box\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {tmp_path}/key\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {tmp_path}/known\n  StrictHostKeyChecking accept-new\n  LogLevel ERROR\n"
    )
    (tmp_path / "project").mkdir()
    Path("/run/sshd").mkdir(exist_ok=True)  # sshd gives up its rights in there
    sshd = subprocess.Popen([SSHD, "-D", "-e", "-f", tmp_path / "sshd_config"], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_listening(port))
        path = f"{tmp_path}/bin:{ENVIRONMENT.get('PATH', '')}"
        yield Machine(tmp_path, ENVIRONMENT | {"PATH": path})
    finally:
        sshd.terminate()
        sshd.wait(30)


def is_listening(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@needs_sshd
def test_the_project_there_is_shown_here(machine: Machine) -> None:
    with machine.shown(f"box:{machine.folder}/project") as server:
        assert server.get("info").data["project"] == "project"
        host = {"Host": "127.0.0.1:1"}
        assert server.request("GET", "/api/v1/info", headers=server.bearer | host).status == 403


@needs_sshd
def test_a_page_through_ssh_has_a_session(machine: Machine) -> None:
    with machine.shown(f"box:{machine.folder}/project") as server:
        reply = server.request("GET", f"/?token={server.token}")
        assert (reply.status, reply.headers["location"]) == (303, "/")
        cookie = {"Cookie": reply.headers["set-cookie"].partition(";")[0]}
        assert server.request("GET", "/api/v1/runs", headers=cookie).status == 200


@needs_sshd
@pytest.mark.parametrize("ends_by", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_there_when_the_command_here_has_ended(
    machine: Machine, ends_by: signal.Signals
) -> None:
    with machine.shown(f"box:{machine.folder}/project") as server:
        assert machine.servers()
        server.process.send_signal(ends_by)
        server.process.wait(30)
        wait_until(lambda: not machine.servers())


@needs_sshd
def test_what_weft_there_refuses_is_said_here(machine: Machine) -> None:
    done = subprocess.run(
        machine.command(f"box:{machine.folder}/nowhere"),
        env=machine.environ, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "nowhere' does not exist" in done.stderr
    assert "Fatal" not in done.stderr

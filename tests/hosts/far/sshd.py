"""A real sshd on a port of its own, with keys and configuration in the directory of the test."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hosts.far.boxes import PROGRAMS, Box
from hosts.places import is_alive, pids, proc
from weft.hosts.carriers.bootstrap import FarPlace
from weft.hosts.carriers.ssh import SshCarrier

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
_PRIVILEGES = Path("/run/sshd")


def why_not() -> str:
    """Why no sshd can be started here; empty if it can."""
    if SSHD is None or shutil.which("ssh") is None:
        return "there is no sshd or no ssh here (apt install openssh-server)"
    if os.geteuid() == 0 and not _PRIVILEGES.is_dir():
        return f"sshd of root needs the directory {_PRIVILEGES}"
    return ""


def require_sshd() -> None:
    if reason := why_not():
        pytest.skip(reason)


class Sshd:
    """`box3`, as the client's configuration calls it."""

    def __init__(self, root: Path, box: Box) -> None:
        self.root = root / "ssh"
        self.root.mkdir(mode=0o700)
        self.box = box
        self.port = _free_port()
        for name in ("host", "user"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.root / name)]
            subprocess.run(command, check=True)
        shutil.copy(self.root / "user.pub", self.root / "authorized")
        self.known_hosts = self.root / "known_hosts"
        self.know(self.root / "host.pub")
        self._configure()
        # Made before there is an event loop, as in a run: they look for the program.
        self._carriers = [self._make_carrier() for _ in range(5)]
        self.pid = 0
        self.start()

    def _configure(self) -> None:
        (self.root / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {self.root}/host\nPidFile none\n"
            f"AuthorizedKeysFile {self.root}/authorized\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
            f"KbdInteractiveAuthentication no\nSetEnv HOME={self.box.home} PATH={PROGRAMS} SHELL=/bin/sh\n"
        )
        user = pwd.getpwuid(os.geteuid()).pw_name
        (self.root / "config").write_text(
            f"Host box3\n  HostName 127.0.0.1\n  Port {self.port}\n  User {user}\n  IdentitiesOnly yes\n"
            f"  IdentityFile {self.root}/user\n  UserKnownHostsFile {self.known_hosts}\n"
            "  GlobalKnownHostsFile none\n"
        )

    def know(self, key: Path | None) -> None:
        """Lets the client know this host key alone."""
        line = "" if key is None else f"[127.0.0.1]:{self.port} {key.read_text()}"
        self.known_hosts.write_text(line)

    def start(self) -> None:
        assert SSHD is not None
        with (self.root / "log").open("ab") as log:
            process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(self.root / "sshd_config")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"]},
            )
        self.pid = process.pid
        self._process = process
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except ConnectionRefusedError:
                assert process.poll() is None, (self.root / "log").read_text()
                os.sched_yield()
            else:
                return

    def connections(self) -> list[int]:
        """The processes of sshd that serve a connection."""
        return [pid for pid in pids() if _descends(pid, self.pid) and b"sshd" in proc(pid, "comm")]

    def cut(self) -> None:
        """Ends all connections."""
        for pid in self.connections():
            _kill(pid)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def clean(self) -> None:
        self.cut()
        self.stop()

    def carrier(self) -> SshCarrier:
        return self._carriers.pop()

    def _make_carrier(self) -> SshCarrier:
        place = FarPlace(host="near", python=sys.executable, login=True)
        return SshCarrier("box3", place, os.environ, options=("-F", str(self.root / "config")))


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _descends(pid: int, ancestor: int) -> bool:
    while pid > 1 and is_alive(pid):
        pid = int(proc(pid, "stat").rpartition(b") ")[2].split()[1] or 0)
        if pid == ancestor:
            return True
    return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])

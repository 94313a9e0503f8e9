"""A laboratory: machines of a network on this one, as network namespaces with addresses of their own.

Each machine has a directory, which its programs use as home, a name, an address, and a cable that can be cut.
The machines and this one are connected by a bridge. Nothing leaves it, and everything goes with the laboratory,
however it ends. It needs the right to make namespaces, `ip` (iproute2), `unshare` and, for ssh, an `sshd`.
"""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

SSHD = "/usr/sbin/sshd"
_PORT = 2022
_PATIENCE = 20.0


class NoLabError(Exception):
    """The machines cannot be made here, for the reason in the message."""


class Machine:
    """One machine of the laboratory."""

    def __init__(self, lab: "Lab", name: str, number: int) -> None:
        self.name = name
        self.address = f"{lab.network}.{number + 1}"
        self.home = lab.directory / name
        self.port = _PORT
        self._lab = lab
        self._space = f"{lab.name}-{number}"
        self._cable = f"{lab.name}c{number}"
        self._started: list[subprocess.Popen[bytes]] = []

    # --- its life ---

    def make(self) -> None:
        self.home.mkdir(mode=0o700)
        _ip("netns", "add", self._space)
        _ip("link", "add", self._cable, "type", "veth", "peer", "name", "eth0", "netns", self._space)
        _ip("link", "set", self._cable, "master", self._lab.bridge, "up")
        for command in (
            f"addr add {self.address}/24 dev eth0",
            "link set eth0 up",
            "link set lo up",
        ):
            _ip("-n", self._space, *command.split())

    def remove(self) -> None:
        self.kill()
        with suppress(subprocess.CalledProcessError):
            _ip("netns", "del", self._space)
        with suppress(subprocess.CalledProcessError):
            _ip("link", "del", self._cable)

    def cut(self) -> None:
        """Pulls the cable."""
        _ip("link", "set", self._cable, "down")

    def connect(self) -> None:
        """Plugs the cable in again."""
        _ip("link", "set", self._cable, "up")

    def processes(self) -> list[int]:
        listed = subprocess.run(
            ("ip", "netns", "pids", self._space), check=False, capture_output=True, text=True
        )
        return [int(pid) for pid in listed.stdout.split()]

    def signal_all(self, number: int) -> None:
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """Ends everything that runs there, as if the power had failed."""
        while self.processes():
            self.signal_all(signal.SIGKILL)
            for process in self._started:
                process.poll()
        for process in self._started:
            process.wait()
        self._started.clear()

    # --- programs ---

    def environment(self) -> dict[str, str]:
        kept = ("LANG", "LC_ALL", "PATH", "TZ")
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "HOME": str(self.home),
            "USER": "root",
            "SHELL": "/bin/sh",
        }

    def command(self, *argv: str) -> tuple[str, ...]:
        """Returns the command that runs a program there, with the name of the machine."""
        script = f'hostname {self.name} && exec "$@"'
        return ("ip", "netns", "exec", self._space, "unshare", "--uts", "sh", "-c", script, "sh", *argv)

    def start(
        self, *argv: str, log: str = "programs.log", env: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        """Starts a program there."""
        with (self.home / log).open("ab") as output:
            process = subprocess.Popen(
                self.command(*argv),
                cwd=self.home,
                env={**self.environment(), **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def start_sshd(self) -> None:
        """Starts an sshd with keys and a configuration of its own. `Lab.start_sshd` does that on all machines."""
        if not Path(SSHD).exists():
            raise NoLabError(f"there is no {SSHD}; install openssh-server")
        Path("/run/sshd").mkdir(exist_ok=True)
        folder = self.home / "sshd"
        if not folder.exists():
            folder.mkdir(mode=0o700)
            _quietly("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "host_key"))
            configuration = {
                "ListenAddress": f"{self.address}:{_PORT}",
                "HostKey": folder / "host_key",
                "AuthorizedKeysFile": self._lab.directory / "key.pub",
                "PidFile": folder / "pid",
                "StrictModes": "no",
                "UsePAM": "no",
                "PasswordAuthentication": "no",
                "PermitRootLogin": "prohibit-password",
                "SetEnv": f"HOME={self.home}",
                "Subsystem": "sftp internal-sftp",
            }
            lines = "".join(f"{key} {value}\n" for key, value in configuration.items())
            (folder / "config").write_text(lines)
        self.start(SSHD, "-D", "-e", "-f", str(folder / "config"), log="sshd.log")
        self.await_port(_PORT)

    def await_port(self, port: int) -> None:
        """Waits until something there listens."""
        script = f"import socket; socket.create_connection(('{self.address}', {port}), 1).close()"
        until = time.monotonic() + _PATIENCE
        while subprocess.run(("python3", "-c", script), check=False, capture_output=True).returncode:
            if time.monotonic() > until:
                raise NoLabError(f"nothing listens on port {port} of {self.name}")
            time.sleep(0.1)


class Lab:
    """The machines, and the network between them."""

    def __init__(self, directory: Path, names: Sequence[str]) -> None:
        self.directory = directory
        self.name = f"wl{os.urandom(3).hex()}"
        self.bridge = f"{self.name}b"
        self.network = f"10.{random.randrange(64, 128)}.{random.randrange(256)}"
        self.address = f"{self.network}.1"
        """The address of this machine."""
        self.machines = {name: Machine(self, name, number) for number, name in enumerate(names, 1)}

    @property
    def ssh_config(self) -> Path:
        return self.directory / "ssh_config"

    def make(self) -> None:
        if shutil.which("ip") is None or shutil.which("unshare") is None:
            raise NoLabError("there is no `ip` or `unshare`; install iproute2 and util-linux")
        try:
            _ip("link", "add", self.bridge, "type", "bridge")
            _ip("addr", "add", f"{self.address}/24", "dev", self.bridge)
            _ip("link", "set", self.bridge, "up")
            for machine in self.machines.values():
                machine.make()
        except subprocess.CalledProcessError as error:
            raise NoLabError(
                f"network namespaces cannot be made here: {error.stderr.decode().strip()}"
            ) from None
        _quietly("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.directory / "key"))

    def remove(self) -> None:
        for machine in self.machines.values():
            machine.remove()
        with suppress(subprocess.CalledProcessError):
            _ip("link", "del", self.bridge)

    def start_sshd(self) -> None:
        """Starts an sshd on each machine, and writes the configuration with which `ssh NAME` reaches it."""
        for machine in self.machines.values():
            machine.start_sshd()
        known_hosts, config = (
            self.directory / "known_hosts",
            [
                f"IdentityFile {self.directory / 'key'}",
                f"UserKnownHostsFile {self.directory / 'known_hosts'}",
                "IdentitiesOnly yes",
                "StrictHostKeyChecking yes",
            ],
        )
        known_hosts.write_text("".join(self._known_hosts()))
        for machine in self.machines.values():
            config += [
                f"Host {machine.name}",
                f"  HostName {machine.address}",
                f"  Port {machine.port}",
                "  User root",
            ]
        self.ssh_config.write_text("".join(f"{line}\n" for line in config))

    def _known_hosts(self) -> Iterator[str]:
        for machine in self.machines.values():
            key = (machine.home / "sshd" / "host_key.pub").read_text().split()
            yield f"[{machine.address}]:{machine.port} {key[0]} {key[1]}\n"


@contextmanager
def laboratory(directory: Path, *names: str) -> Generator[Lab]:
    """Makes machines with these names, whose homes are below the directory. Raises `NoLabError`."""
    lab = Lab(directory, names)
    try:
        lab.make()
        yield lab
    finally:
        lab.remove()


def _ip(*arguments: str) -> None:
    subprocess.run(("ip", *arguments), check=True, capture_output=True)


def _quietly(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)

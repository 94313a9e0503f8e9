"""Test whether sandboxes work on this machine: bubblewrap is installed, and the kernel permits it.

Only a trial shows it, because kernels, security modules and containers may each forbid it. Bubblewrap seldom
reports the reason, so Weft reads the usual settings of the system.
"""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from weft.runtime.sandbox.call import PathAccess, SandboxCall, SandboxPath, bwrap_argv
from weft.runtime.sandbox.view import PRIVATE
from weft.search_path import find_program

PROGRAM = "bwrap"
INSTALL = "apt install bubblewrap"
_TRIAL = ("/bin/sh", "-c", ":")
_SWITCHES = {
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "kernel.unprivileged_userns_clone=1"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    "/proc/sys/user/max_user_namespaces": ("0", "user.max_user_namespaces=10000"),
}
"""Settings that forbid sandboxes, by file, and the command that allows them."""
_CONTAINERS = ("/.dockerenv", "/run/.containerenv")


class Probe(Struct, frozen=True, kw_only=True):
    program: str = ""
    """The path of bubblewrap."""
    version: str = ""
    trouble: str = ""
    """Why sandboxes do not work; empty if they do."""
    command: str = ""
    """The command or advice that fixes it."""


def probe(
    environ: Mapping[str, str], *, network: bool = True, platform: str = sys.platform, root: Path = Path("/")
) -> Probe:
    """Tries a sandbox, without a network if so requested. `root` is the directory of the system's settings."""
    if platform != "linux":
        return Probe(
            trouble="bubblewrap works on Linux only", command="run Weft in a virtual machine with Linux"
        )
    program = find_program(PROGRAM, environ)
    if program is None:
        return Probe(trouble="bubblewrap is not installed: there is no program `bwrap`", command=INSTALL)
    reply = _run((program, "--version"))
    version = reply.stdout.strip()
    places = tuple(SandboxPath(str(place), PathAccess.SCRATCH) for place in PRIVATE if place.is_dir())
    tried = _run(bwrap_argv(SandboxCall(program=program, places=places, network=network, cwd="/"), _TRIAL))
    if tried.returncode == 0:
        return Probe(program=program, version=version)
    why = tried.stderr.strip() or f"exit code {tried.returncode}"
    return Probe(
        program=program,
        version=version,
        trouble=f"bubblewrap cannot create a sandbox here: {why}",
        command=_advice(lambda file: _content(root, file)),
    )


def _run(argv: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603 - an argv of our own
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )


def _content(root: Path, file: str) -> str | None:
    try:
        return (root / file.lstrip("/")).read_text().strip()
    except OSError:
        return None


def _advice(content: Callable[[str], str | None]) -> str:
    for file, (wrong, setting) in _SWITCHES.items():
        if content(file) == wrong:
            return f"sysctl -w {setting}"
    if any(content(file) is not None for file in _CONTAINERS):
        return "allow the container to create namespaces, as `docker run --privileged` does"
    return "bwrap --unshare-user --unshare-pid --ro-bind / / --proc /proc true"

"""Whether there can be sandboxes, and what helps if not."""

from pathlib import Path

import pytest

from weft.runtime.sandbox.probe import Probe, probe


def fake(tmp_path: Path, script: str) -> dict[str, str]:
    program = tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": str(program.parent)}


def test_elsewhere_than_on_linux_there_are_none() -> None:
    assert probe({}, platform="darwin").trouble == "bubblewrap works on Linux only"


def test_a_program_that_is_missing_is_to_be_installed(tmp_path: Path) -> None:
    replies = probe({"PATH": str(tmp_path)})
    assert (replies.program, replies.command) == ("", "apt install bubblewrap")
    assert replies.trouble == "bubblewrap is not installed: there is no program `bwrap`"


def test_one_that_works_is_named_with_its_version(tmp_path: Path) -> None:
    environ = fake(tmp_path, "echo bubblewrap 1.2")
    assert probe(environ) == Probe(program=f"{environ['PATH']}/bwrap", version="bubblewrap 1.2")


def test_the_trial_is_without_a_network_if_that_is_wanted(tmp_path: Path) -> None:
    environ = fake(tmp_path, 'case "$*" in *--unshare-net*) echo no net >&2; exit 1;; esac')
    assert probe(environ).trouble == ""
    assert probe(environ, network=False).trouble == "bubblewrap cannot create a sandbox here: no net"


@pytest.mark.parametrize(
    ("file", "content", "command"),
    [
        ("proc/sys/kernel/unprivileged_userns_clone", "0\n", "sysctl -w kernel.unprivileged_userns_clone=1"),
        (
            "proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1\n",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("proc/sys/user/max_user_namespaces", "0\n", "sysctl -w user.max_user_namespaces=10000"),
        (".dockerenv", "", "allow the container to create namespaces, as `docker run --privileged` does"),
        ("other", "", "bwrap --unshare-user --unshare-pid --ro-bind / / --proc /proc true"),
    ],
)  # fmt: skip
def test_what_is_in_the_way_is_said(tmp_path: Path, file: str, content: str, command: str) -> None:
    there = tmp_path / "root" / file
    there.parent.mkdir(parents=True)
    there.write_text(content)
    replies = probe(fake(tmp_path, "exit 3"), root=tmp_path / "root")
    assert (replies.trouble, replies.command) == (
        "bubblewrap cannot create a sandbox here: exit code 3",
        command,
    )

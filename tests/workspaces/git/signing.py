"""Keys that sign commits, and programs that do not."""

import subprocess
from pathlib import Path

from weft.workspaces.git.base.program import Git


def sign_with_ssh(git: Git, folder: Path) -> None:
    """Makes a key and has git sign with it, and trust it."""
    key = folder / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", str(key)],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    signers = folder / "signers"
    signers.write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    for name, value in {
        "commit.gpgSign": "true",
        "gpg.format": "ssh",
        "user.signingKey": str(key.with_suffix(".pub")),
        "gpg.ssh.allowedSignersFile": str(signers),
    }.items():
        git.do("config", name, value)


def sign_with(git: Git, program: Path, script: str) -> None:
    """Has git sign with a program that the user has set: one that a repository names is run only to sign work."""
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    for name, value in {
        "commit.gpgSign": "true",
        "gpg.format": "openpgp",
        "gpg.program": str(program),
    }.items():
        git.do("config", "--global", name, value)


def signatures(git: Git, revisions: str) -> dict[str, str]:
    """What git says of the signature of each commit, by its subject: G is good, N is none."""
    lines = git.line("log", "--format=%s%x00%G?", revisions).splitlines()
    return dict(line.split("\0") for line in lines)

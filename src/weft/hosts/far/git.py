"""git on this machine, with a fixed configuration."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from .errors import FarProblemError

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.safecrlf=false",
    "advice.addEmbeddedRepo=false",
)
_OPTIONS = [part for setting in _SETTINGS for part in ("-c", setting)]
_ENVIRONMENT = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
_LONGEST = 3600.0


def run_git(  # noqa: PLR0913 - what a process needs
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    directory: Path | None = None,
    text: str | None = None,
    source: IO[bytes] | None = None,
    target: IO[bytes] | None = None,
    seconds: float = _LONGEST,
) -> str:
    """Runs git and returns its output. Raises `FarProblemError`.

    Standard input is `text`, or else the file `source`; standard output goes to the file `target` if there is one.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        process = subprocess.Popen(  # noqa: S603 - an argv of our own
            ["git", *_OPTIONS, *command],  # noqa: S607 - the git of this machine
            env={**inherited, **_ENVIRONMENT, **(env or {})},
            cwd=directory,
            stdin=subprocess.PIPE if text is not None else source or subprocess.DEVNULL,
            stdout=target or subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            out, err = _communicate(process, None if text is None else _encode(text), seconds)
    except FileNotFoundError as error:
        raise FarProblemError("git is not installed on this machine", kind="machine") from error
    except OSError as error:
        raise FarProblemError(f"git cannot be started: {error.strerror}", kind="machine") from error
    except subprocess.TimeoutExpired as error:
        raise FarProblemError(
            f"`git {_verb(command)}` took longer than {seconds:g} s", kind="machine"
        ) from error
    if process.returncode:
        reason = " ".join(err.decode("utf-8", "replace").split())[:2000]
        raise FarProblemError(f"`git {_verb(command)}` failed: {reason or process.returncode}", kind="git")
    return out.decode("utf-8", "surrogateescape")


def _communicate(
    process: "subprocess.Popen[bytes]", text: bytes | None, seconds: float
) -> tuple[bytes, bytes]:
    try:
        out, err = process.communicate(text, timeout=seconds)
    except BaseException:
        process.kill()
        raise
    return out or b"", err


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _verb(command: Sequence[str]) -> str:
    return next((word for word in command if not word.startswith("-") and "/" not in word), "")


def has_commit(git_dir: Path, commit: str) -> bool:
    """Returns whether a commit exists there."""
    try:
        run_git(["--git-dir", str(git_dir), "cat-file", "-e", f"{commit}^{{commit}}"])
    except FarProblemError:
        return False
    return True


def configuration(place: Path, object_format: str, identity: Mapping[str, str], *, sparse: bool) -> str:
    """Returns the configuration of the git directory of a workspace."""
    is_long = object_format != "sha1"
    lines = [
        "[core]",
        f"\trepositoryformatversion = {int(is_long)}",
        "\tbare = false",
        f'\tworktree = "{_quoted(str(place))}"',
        "\tlogallrefupdates = true",
        *(("\tsparseCheckout = true", "\tsparseCheckoutCone = true") if sparse else ()),
        "[gc]",
        "\tauto = 0",
        *((("[extensions]"), f"\tobjectFormat = {object_format}") if is_long else ()),
        "[user]",
        *(f'\t{key} = "{_quoted(value)}"' for key, value in identity.items()),
    ]
    return "".join(f"{line}\n" for line in lines)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def ignore_pattern(name: str) -> str:
    """Returns the pattern that makes git ignore exactly this file."""
    escaped = "".join(f"\\{letter}" if letter in "\\*?[]!# " else letter for letter in name)
    return f"/{escaped}"

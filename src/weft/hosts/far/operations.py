"""The operations that a coordinator can call, by name."""

import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.hosts.supervisor.log import boot
from weft.search_path import find_program

from .calls import Operation
from .context import NO_RUN, FarContext
from .pull import pull
from .remains import list_remains, remove_run

_Answer = tuple[dict[str, Any], Path | None]


def hello(context: FarContext, arguments: dict[str, Any], payload: Path | None) -> _Answer:  # noqa: ARG001
    """Returns what the coordinator needs to know of this machine; creates the directories of the run."""
    identity = "" if context.run == NO_RUN else context.make()
    return probe_machine(context, arguments.get("programs", ())) | {
        "identity": identity,
        "run_directory": str(context.run_directory),
    }, None


def probe_machine(context: FarContext, programs: Sequence[str]) -> dict[str, Any]:
    above = next(each for each in (context.directory, *context.directory.parents) if each.exists())
    return {
        "node": context.node,
        "user": _user(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "git": _git_version(),
        "sandbox": find_program("bwrap", os.environ) is not None,
        "free": shutil.disk_usage(above).free,
        "cpus": os.cpu_count(),
        "clock": time.time(),
        "boot": boot(),
        "directory": str(context.directory),
        "programs": {name: find_program(name, os.environ) for name in programs},
    }


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # in a container, a user may have a number only
        return str(os.geteuid())


def _git_version() -> str | None:
    git = find_program("git", os.environ)
    if git is None:
        return None
    answer = subprocess.run([git, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    return answer.stdout.removeprefix("git version ").strip() or None


def _on_workspaces(name: str) -> Operation:
    def operate(context: FarContext, arguments: dict[str, Any], payload: Path | None) -> _Answer:
        # Only here: a machine that only runs commands never needs git and archives.
        from .workspaces import FarWorkspaces  # noqa: PLC0415

        workspaces = FarWorkspaces(context.directory, context.run_directory)
        with context.lock(f"work.{arguments['name']}" if "name" in arguments else "work"):
            return workspaces.operations()[name](arguments, payload)

    return operate


_OF_WORKSPACES = ("have", "put", "files", "accept", "take", "remove", "list")

OPERATIONS: dict[str, Operation] = {
    "hello": hello,
    "pull": pull,
    "remains": list_remains,
    "remove_run": remove_run,
    **{f"work.{name}": _on_workspaces(f"work.{name}") for name in _OF_WORKSPACES},
}
"""What a coordinator can call."""

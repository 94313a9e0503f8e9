"""Where a Chromium is, and how it starts."""

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache

FLAGS = (
    "--no-sandbox",  # a container seldom lets it make one, and it shows only our own pages
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")


@cache
def find_chromium() -> str | None:
    """Returns `WEFT_CHROMIUM`, or a Chromium in PATH, or Debian's, which is installed where that is allowed."""
    return os.environ.get("WEFT_CHROMIUM") or _in_path() or (_install() and _in_path()) or None


def _in_path(which: Callable[[str], str | None] = shutil.which) -> str | None:
    return next(filter(None, map(which, NAMES)), None)


def _install() -> bool:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    commands = (["apt-get", "update", "-qq"], ["apt-get", "install", "-qq", "-y", "chromium"])
    return all(
        subprocess.run(command, capture_output=True, timeout=300, check=False).returncode == 0
        for command in commands
    )

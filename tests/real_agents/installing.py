"""Installs coding agents, each in a folder of its own: `python installing.py [NAME…]`, all of them without a name.

Versions and hashes are in requirements/agents: a `package-lock.json` is for npm, a `.lock` for PyPI. The folders
are in $WEFT_AGENTS_CACHE, by default weft-agents in the user's caches. What is there is not installed again; a
stamp comes last, so what was cut off is begun anew. What cannot be installed is told with the reason, and is no
error: the tests of that agent are skipped, and say the same.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from time import monotonic

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "agents"
AGENTS = tuple(
    sorted(file.stem for file in REQUIREMENTS.iterdir() if file.is_dir() or file.suffix == ".lock")
)
PYTHONS = {"aider": ((3, 11), (3, 12)), "mini-swe-agent": ((3, 11), (3, 14)), "vibe": ((3, 12), (3, 14))}
"""The oldest and the newest that each can do with."""
NPM = (
    *("npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--prefer-offline"),
    *("--loglevel=error", "--fetch-timeout=60000", "--fetch-retries=1"),
)
AT_ONCE = 3
PATIENCE = 600
"""Seconds for one command."""
_WRONG = 2


class NotInstalledError(Exception):
    """The reason, for people."""


def cache() -> Path:
    usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("WEFT_AGENTS_CACHE") or Path(usual) / "weft-agents").absolute()


def programs_of(agent: str) -> Path:
    """Where its commands are."""
    return cache() / agent / ("node_modules/.bin" if _is_from_npm(agent) else "venv/bin")


def why_not(agent: str) -> str:
    """Why it is not there; nothing if it is."""
    if _is_there(agent):
        return ""
    text = cache() / f"{agent}.why"
    reason = text.read_text(encoding="utf-8") if text.exists() else "nobody has tried; type: make test-agents"
    return f"{agent} could not be installed: {reason}"


def main(names: Sequence[str]) -> int:
    unknown = sorted({*names} - {*AGENTS})
    if unknown:
        sys.stderr.write(f"error: there is no agent {', '.join(unknown)}; there are {', '.join(AGENTS)}\n")
        return _WRONG
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for item in pool.map(_installed, names or AGENTS):
            sys.stdout.write(f"{item}\n")
            sys.stdout.flush()
    return 0


# --- one ---


def _installed(agent: str) -> str:
    """What became of it, in a line."""
    folder, why = cache() / agent, cache() / f"{agent}.why"
    folder.parent.mkdir(parents=True, exist_ok=True)
    began = monotonic()
    with (cache() / f"{agent}.busy").open("w") as busy:
        fcntl.flock(busy, fcntl.LOCK_EX)  # two who want the same
        if _is_there(agent):
            return f"{agent}: installed, in {folder}"
        why.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _install(agent, folder)
        except (NotInstalledError, OSError) as error:
            why.write_text(str(error), encoding="utf-8")
            return f"{agent}: COULD NOT BE INSTALLED, its tests are skipped: {error}"
        (folder / "ready").write_text(_digest(agent), encoding="utf-8")
    return f"{agent}: installed in {monotonic() - began:.0f} s, in {folder}"


def _install(agent: str, folder: Path) -> None:
    if _is_from_npm(agent):
        if shutil.which("npm") is None:
            raise NotInstalledError("npm is not on this machine; it comes with Node.js 20 or later")
        shutil.copytree(REQUIREMENTS / agent, folder)
        _run(NPM, folder)
    else:
        folder.mkdir()
        uv = str(Path(sys.executable).with_name("uv"))
        _run((uv, "venv", "--quiet", "--python", _python(agent), "venv"), folder)
        lock = str(REQUIREMENTS / f"{agent}.lock")
        into = ("--python", str(folder / "venv" / "bin" / "python"))
        _run((uv, "pip", "install", "--quiet", *into, "--require-hashes", "--requirements", lock), folder)


def _is_from_npm(agent: str) -> bool:
    return (REQUIREMENTS / agent).is_dir()


def _is_there(agent: str) -> bool:
    stamp = cache() / agent / "ready"
    return stamp.exists() and stamp.read_text(encoding="utf-8") == _digest(agent)


def _digest(agent: str) -> str:
    """Of what it is installed from."""
    place = REQUIREMENTS / agent
    files = sorted(place.iterdir()) if _is_from_npm(agent) else [REQUIREMENTS / f"{agent}.lock"]
    return blake2b(b"\0".join(file.read_bytes() for file in files), digest_size=16).hexdigest()


def _run(command: Sequence[str], folder: Path) -> None:
    """In a group of its own, so that it can be ended with all that it has started."""
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            entry, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise NotInstalledError(f"{command[0]} was not done after {PATIENCE} s") from None
    if process.returncode:
        raise NotInstalledError(
            " ".join(entry.split())[:500] or f"{command[0]} ended with {process.returncode}"
        )


# --- Python ---


def _python(agent: str) -> str:
    oldest, newest = PYTHONS[agent]
    for python in _pythons():
        if oldest <= _version(python) <= newest:
            return python
    raise NotInstalledError(
        f"it needs Python {oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]}; none is here"
    )


def _pythons() -> list[str]:
    """This one, those that can be called, and those of pyenv."""
    named = [shutil.which(f"python3.{minor}") for minor in range(11, 15)]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    return [sys.executable, *filter(None, named), *map(str, sorted(pyenv.glob("3.*/bin/python3")))]


def _version(python: str) -> tuple[int, int]:
    """(0, 0) of what is no Python that works."""
    asked = [python, "-c", "import sys; print(*sys.version_info[:2])"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    major, _, minor = done.stdout.strip().partition(" ")
    return (int(major), int(minor)) if done.returncode == 0 else (0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Real projects, runs and servers for the tests of the page."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
WEFT = ROOT / ".venv" / "bin" / "weft"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "GIT_"))},
    "XDG_CONFIG_HOME": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "NO_PROXY": "127.0.0.1",
}

HOSTILE = "<img src=x onerror=document.title='owned'> \x1b[31mred\x1b[0m \u202egnp.exe"
"""A line that would do something if the page took it for markup, or showed its marks of direction."""

NOTES = """\
weft: 1
plan: notes
goal: A notes tool in a few files.
max_parallel: 3
failure_mode: continue_on_error
subplans:
  - id: store
    subplans:
      - id: model
        steps: [{id: code, run: "echo class Note > model.py && cat hostile.txt"}]
      - id: disk
        depends_on: [model]
        steps: [{id: code, run: "echo saved > disk.py"}]
  - id: cli
    steps: [{id: code, run: "echo one; echo 'error: no such option'; exit 3"}]
  - id: docs
    depends_on: [cli]
    steps: [{id: code, run: "echo docs > docs.md"}]
"""


def weft(project: Path, *arguments: str) -> str:
    """Runs a command in the project and returns its output; its exit status does not matter."""
    done = subprocess.run(
        [WEFT, *arguments],
        cwd=project,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.stdout + done.stderr


def make_project(place: Path, plan: str) -> Path:
    place.mkdir(parents=True)
    (place / "weft.yaml").write_text(plan)
    (place / "hostile.txt").write_text(HOSTILE + "\n")
    who = ("-c", "user.name=You", "-c", "user.email=you@localhost")
    for command in ("init --quiet --initial-branch main", "add .", "commit --quiet --message Plan"):
        subprocess.run(["git", *who, *command.split()], cwd=place, env=ENVIRONMENT, check=True)
    return place


def status(project: Path) -> dict[str, Any]:
    return json.loads(weft(project, "status", "--json"))["data"]


def wait_for(condition: Any, what: str, seconds: float = 60) -> None:
    """Waits until a condition of another process holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)


@contextmanager
def server(project: Path, *options: str, passphrase: str = "") -> Iterator[str]:
    """Runs `weft ui`, and yields its address with the token."""
    environment = {**ENVIRONMENT, **({"WEFT_UI_PASSPHRASE": passphrase} if passphrase else {})}
    process = subprocess.Popen(
        [WEFT, "ui", "--no-open", "--port", "0", *options],
        cwd=project, env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def background_run(project: Path) -> Iterator[None]:
    """Starts a run in the background; nothing of it is left afterwards."""
    weft(project, "start")
    try:
        yield
    finally:
        weft(project, "stop", "--now")


def coordinator(project: Path) -> int:
    """Returns the process of the run."""
    return int(status(project)["coordinator"]["pid"])


def kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)

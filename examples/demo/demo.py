"""`make demo`: two agents and a plan of seven slices in a small repository, with no key and no network.

A test fails, and its output goes back to the agent, which fixes the bug. Two slices change the same line, and one
of them is held for you. The budget has nothing left for the last slice. All else lands on main, and the tests of
main pass. If anything goes differently, the demo fails.

The models are scripted. They are threads of this process, so they end with it, however it ends. With `--quick`
they need no time to think.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import yaml

from weft.testing.models.script import ScriptRule, rules_of
from weft.testing.models.server import ModelServer

HERE, PROGRAMS = Path(__file__).parent, Path(sys.executable).parent
WEFT = (sys.executable, "-m", "weft")
LOG = ("git", "log", "--format=%h %s", "--first-parent")
TESTS = ("python3", "-m", "unittest")
STOPPED, NOTHING_LEFT = 130, 3

COMPLETED = [
    "quantities/mass",
    "quantities/temperature",
    "quantities/speed",
    "program/equation",
    "program/list",
]
HELD, TOO_DEAR = "program/digits", "manual"
FIXED = "Fixed temperature.py"
"""The answer of the model to the output of the failed test."""
LANDED = ["Merge program/list", "Merge program/equation", "Merge quantities", "Lengths"]

Environment = Mapping[str, str]


def main(argv: Sequence[str]) -> int:
    place = Path(tempfile.mkdtemp(prefix="weft-demo-"))
    with ModelServer(script(quick="--quick" in argv)) as models:
        env = environment(models.url)
        make_repository(place, env)
        say(f"A small repository, with a plan of seven slices in it: {place}", "", "$ weft run")
        code = in_foreground([*WEFT, "run"], place, env)
        said = [asked.text for asked in models.requests()]
    if code == STOPPED:
        return code
    wrong = [f"the exit code of `weft run` is {code}"]
    if code == NOTHING_LEFT:
        is_fixed = any(text.startswith(FIXED) for text in said)
        wrong = [*shown(place, env), *surprises(place, env), *([] if is_fixed else ["nothing was fixed"])]
    say(*([f"error: the demo went differently: {one}" for one in wrong] or ending(place)))
    return 1 if wrong else 0


def say(*lines: str) -> None:
    print("", *lines, sep="\n", flush=True)


# --- the stage ---


def script(*, quick: bool) -> list[ScriptRule]:
    rules = rules_of(yaml.safe_load((HERE / "models.yaml").read_text(encoding="utf-8")))
    pace = 0 if quick else 1
    return [
        rule._replace(steps=tuple(step._replace(delay=step.delay * pace) for step in rule.steps))
        for rule in rules
    ]


def environment(url: str) -> dict[str, str]:
    """Returns our environment without variables that would change what the agents, git or Weft do."""
    foreign = ("WEFT_", "GIT_", "OPENAI_", "ANTHROPIC_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return env | {
        "OPENAI_BASE_URL": f"{url}/s/coder/v1",
        "ANTHROPIC_BASE_URL": f"{url}/s/reviewer",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "XDG_CONFIG_HOME": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "PATH": f"{PROGRAMS}{os.pathsep}{env['PATH']}",
    }


def make_repository(place: Path, env: Environment) -> None:
    shutil.copytree(HERE / "project", place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    who = ("-c", "user.name=You", "-c", "user.email=you@localhost")
    for command in ("init --quiet --initial-branch main", "add .", "commit --quiet --message Lengths"):
        subprocess.run(["git", *who, *command.split()], cwd=place, env=env, check=True)


def in_foreground(command: Sequence[str], place: Path, env: Environment) -> int:
    """Runs the command on this terminal. It gets Ctrl-C from the terminal; SIGTERM is passed on to it."""
    started: list[subprocess.Popen[bytes]] = []
    is_unwanted = Event()

    def end(*_: object) -> None:
        is_unwanted.set()
        for process in started:
            process.terminate()

    with handling({signal.SIGINT: lambda *_: None, signal.SIGTERM: end}):
        started.append(subprocess.Popen(command, cwd=place, env=env))
        if is_unwanted.is_set():
            end()
        return started[0].wait()


@contextmanager
def handling(ways: Mapping[signal.Signals, Callable[..., None]]) -> Generator[None]:
    before = {number: signal.signal(number, way) for number, way in ways.items()}
    try:
        yield
    finally:
        for number, way in before.items():
            signal.signal(number, way)


# --- the end ---


def shown(place: Path, env: Environment) -> Iterator[str]:
    """Shows main, and yields what is wrong with it."""
    log = subprocess.run(LOG, cwd=place, env=env, check=True, capture_output=True, text=True).stdout
    say("$ git log --oneline --first-parent", log.rstrip(), "", f"$ {' '.join(TESTS)}")
    if [line.partition(" ")[2] for line in log.splitlines()] != LANDED:
        yield "something else landed"
    if subprocess.run(TESTS, cwd=place, env=env, check=False).returncode:
        yield "the tests fail on main"


def surprises(place: Path, env: Environment) -> Iterator[str]:
    told = subprocess.run([*WEFT, "status", "--json"], cwd=place, env=env, check=True, capture_output=True)
    run: dict[str, Any] = json.loads(told.stdout)["data"]
    rows = {row["path"]: row for row in run["subplans"]}
    if not all(rows[path]["state"] == "completed" for path in COMPLETED):
        yield "not all slices are completed that should be"
    if rows[HELD]["landing"] != "conflict":
        yield f"{HELD} is not held"
    if rows[TOO_DEAR]["reason"] != "budget" or rows[TOO_DEAR]["cost_usd"]:
        yield f"the budget does not hold {TOO_DEAR} back"
    if not 0 < run["cost"]["usd"] <= run["cost"]["ceiling_usd"]:
        yield f"${run['cost']['usd']} was spent"


def ending(place: Path) -> list[str]:
    return [
        "Five slices landed, and main is green. One is held for you, and one was not started,",
        "as it may cost more than was left. Look around, and settle the conflict if you like:",
        "",
        f"  cd {place} && PATH={PROGRAMS}:$PATH",
        "  weft status",
        "  weft logs quantities/temperature   the test that failed, and the fix",
        f"  weft diff {HELD}           what the slice that is held has changed",
        "  weft merge --list                  why it is held, and what to type",
        "",
        "The models have ended with the demo, so `weft run` would find none there. To see all of it, with the",
        "logs, changes, timeline and costs:",
        "",
        "  weft ui                            in a browser; Ctrl-C ends it",
        "  weft report                        as one HTML file, to keep or to send",
    ]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(STOPPED)

"""What a plan looks like that was disturbed, beside one that was not."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from msgspec import Struct

from e2e.projects import Project
from e2e.rich import PLAN

SCRIPT = Path(__file__).with_name("crash_driver.py")


class Traces(Struct, frozen=True):
    """All that must be the same, whatever happened on the way."""

    state: str
    states: dict[str, str]
    result: dict[str, str]
    steps: dict[str, int]
    """How often each step has run in each attempt."""


def named(subplan: str, step: str, attempt: object) -> str:
    """What Weft does itself counts its tries as attempts."""
    return f"{subplan} {step}" if step.startswith("@") else f"{subplan} {step} {attempt}"


def traces(project: Project) -> Traces:
    steps = Counter(named(*mark.split()[:3]) for mark in project.marks())
    story = project.story()
    return Traces(story.state, story.states(), project.result(), dict(steps))


class Driver:
    """A process that forks runs that are killed."""

    def __init__(self) -> None:
        env = os.environ | {"PYTHONPATH": str(SCRIPT.parents[1])}
        self._process = subprocess.Popen(
            [sys.executable, str(SCRIPT)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
        )  # fmt: skip

    def run(self, project: Project, victim: str, point: str, number: int) -> str:
        """`killed` or `ended`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{project.root} {victim} {point} {number}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def close(self) -> str:
        """What it had to complain about."""
        return self._process.communicate()[1]


def undisturbed(root: Path, plan: str = PLAN) -> Traces:
    project = Project(root).plan(plan)
    project.run()
    lines = traces(project)
    project.end()
    return lines

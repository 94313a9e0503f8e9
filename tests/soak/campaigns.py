"""The campaigns of `make soak`: what a trial of each does, from its seed, and what it finds violated."""

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import seed as seeded
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import run_state_machine_as_test
from msgspec import Struct

from e2e.crashes import Driver, undisturbed
from e2e.kills import Traces, check_losses, made, traces
from e2e.night_verdict import violations
from e2e.nights import make_night
from e2e.projects import Project
from e2e.rich import SMALL
from e2e.test_faults import Nth, check_repeats, complaint_of, from_now_on, is_full
from faults import journal_damage, shortages, worktree_damage
from fuzz.targets import TARGETS
from fuzz.trials import HEALTH, run_trials
from store.faulty_vfs import faulty_disk
from weft.store.sqlite import SqliteJournal
from workspaces.killing import killer
from workspaces.test_worktrees_machine import LONG, Machine

TESTS = Path(__file__).parents[1]
TRIALS_OF_A_TARGET = 40
HOSTILE = ("attacks", "plan/templates", "plan/test_sandbox.py", "test_safe_files.py")
POINTS_OF_GIT = ("git.before", "git.after", "append.after", "obey.after", "send.before", "forward.before")
VICTIMS = ("coordinator", "coordinator", "both", "machine", "supervisor")
SQLITE_FULL = 13


class Trial(Struct, frozen=True):
    count: int
    """How many attempts were in it."""
    problems: list[str]


Campaign = Callable[[int, Path], Trial]
"""Takes a seed and a new directory."""


# --- nights ---


def spend_night(slices: int, seed: int, folder: Path) -> Trial:
    """A run of many slices that is killed, paused, limited and in conflict."""
    night = make_night(folder / "project", seed, slices)
    night.run()
    return Trial(len(night.done), [str(problem) for problem in violations(night)])


# --- kill ---


def random_plan(choice: random.Random) -> str:
    """Groups of slices that write what they see of others, in worktrees or in clones."""
    isolation = choice.choice(["worktree", "clone"])
    merge = f"merge: {{mode: auto, batch: {choice.choice([1, 4])}}}"
    settings = f"base: start\ntarget: main\ninfra_retries: 10\nmax_parallel: 4\n{merge}"
    lines = [f"isolation: {isolation}\n{settings}\nsubplans:"]
    names: list[str] = []
    for group in range(choice.randint(1, 3)):
        lines.append(f"  - id: g{group}\n    subplans:")
        for _ in range(choice.randint(1, 3)):
            name = f"s{len(names)}"
            needs = choice.sample(names, min(len(names), choice.choice([0, 1, 1, 2])))
            reads = " ".join(need.rpartition("/")[2] for need in needs) or "README"
            verify = f"verify: cat {name}, " if choice.random() < 1 / 2 else ""
            lines.append(
                f"      - {{id: {name}, {verify}depends_on: [{', '.join(f'/{need}' for need in needs)}], steps: "
                f"[{{id: x, run: MARK; cat {reads} > {name}}}, {{id: y, run: MARK; echo more >> {name}}}]}}"
            )
            names.append(f"g{group}/{name}")
    return "\n".join(lines) + "\n"


def kill_runs(seed: int, folder: Path) -> Trial:
    """A random plan, up to three kills at random points, and a resume: the undisturbed tree is reached."""
    choice = random.Random(seed)
    plan = random_plan(choice)
    whole = _whole(folder / "whole", plan)
    repository = made(folder / "project", plan)
    driver = Driver()
    kills = [
        (choice.choice(VICTIMS), choice.choice(POINTS_OF_GIT), choice.choice([1, 2, 5, 9, 17, 40, 70]))
        for _ in range(choice.randint(1, 3))
    ]
    for victim, point, number in kills:
        driver.run(repository, victim, point, number)
    complaint = driver.close()
    problems = [f"the run complains: {complaint}"] if complaint else []
    return Trial(len(kills), problems + _violated(partial(check_losses, repository, whole)))


def _whole(root: Path, plan: str) -> Traces:
    repository = made(root, plan)
    repository.run()
    lines = traces(repository)
    repository.end()
    return lines


def _violated(check: Callable[[], object]) -> list[str]:
    try:
        check()
    except Exception as error:
        return [f"{type(error).__name__}: {error}"[:3000]]
    return []


# --- git ---


def kill_git(seed: int, folder: Path) -> Trial:
    """Commands of git are killed while people commit, leave dirt, switch and remove: nothing is lost."""

    class Seeded(Machine):
        pass

    machine = seeded(seed)(Seeded)
    examples = 5
    few = hypothesis_settings(
        LONG, max_examples=examples, derandomize=False, database=None, deadline=None,
        suppress_health_check=HEALTH,
    )  # fmt: skip

    def check() -> None:
        with killer(folder / "bin") as item:
            machine.killer = item
            run_state_machine_as_test(machine, settings=few)

    return Trial(examples, _violated(check))


# --- faults ---


def meet_fault(seed: int, folder: Path) -> Trial:
    """The n-th call of the disk or of SQLite fails, processes run short, or a file is damaged."""
    choice = random.Random(seed)
    faults: list[Callable[[random.Random, Path], list[str]]] = [
        _damage_journal, _damage_worktree, _fill_disk, _fail_journal, _run_short,
    ]  # fmt: skip
    return Trial(1, choice.choice(faults)(choice, folder))


def _damage_journal(choice: random.Random, folder: Path) -> list[str]:
    return journal_damage.trial(
        journal_damage.make_project(folder / "sound"), folder, choice.randrange(10**6)
    )


def _damage_worktree(choice: random.Random, folder: Path) -> list[str]:
    place = worktree_damage.Place(folder / "sound").make()
    name, kind = choice.choice(list(worktree_damage.trials(place)))
    return worktree_damage.trial(place, folder, name, kind)


def _fill_disk(choice: random.Random, folder: Path) -> list[str]:
    whole = undisturbed(folder / "whole", SMALL)
    project = Project(folder / "project").plan(SMALL)
    call = choice.choice(["fsync", "rename", "replace"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, call, Nth(choice.randint(1, 40), is_full).of(getattr(os, call)))
        complaint = complaint_of(project)

    def check() -> None:
        assert complaint == "" or "no space left on device" in complaint, complaint
        project.run()
        check_repeats(project, whole, "infra")
        project.end()

    return _violated(check)


def _fail_journal(choice: random.Random, folder: Path) -> list[str]:
    whole = undisturbed(folder / "whole", SMALL)
    project = Project(folder / "project").plan(SMALL)
    with faulty_disk() as disk, pytest.MonkeyPatch.context() as patch:
        nth = Nth(choice.randint(1, 40), partial(from_now_on, disk, SQLITE_FULL))
        patch.setattr(SqliteJournal, "append", nth.of(SqliteJournal.append))
        complaint_of(project)

    def check() -> None:
        project.run()
        check_repeats(project, whole)
        project.end()

    return _violated(check)


def _run_short(choice: random.Random, folder: Path) -> list[str]:
    project = shortages.Project(folder / "project", choice.choice(["worktree", "clone"]))
    limit: dict[str, int] = choice.choice(
        [{"nofile": choice.randint(6, 40)}, {"fsize": choice.choice([0, 4_000, 50_000, 200_000])}]
    )
    command = choice.choice(["run", "start"])
    done = project.weft(command, **limit)
    if command == "start":
        with suppress(subprocess.TimeoutExpired):
            project.weft("stop")
    text = done.stdout + done.stderr
    problems = [f"{limit}: {text}"] if done.returncode not in {0, 1, 4} or "Traceback" in text else []
    again = project.weft("run")
    if again.returncode != 0 or not project.is_whole():
        problems.append(f"{limit}: the run does not continue: {again.stdout}{again.stderr}")
    return problems


# --- hostile ---


def attack(seed: int, folder: Path) -> Trial:
    """Attacks on the sandbox, hostile plans and quoting: the tests of them, with other random examples."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *HOSTILE, f"--hypothesis-seed={seed}", f"--randomly-seed={seed}",
         "-n2", "-pno:cacheprovider", f"--basetemp={folder / 'temporary'}"],
        cwd=TESTS, capture_output=True, text=True, check=False,
    )  # fmt: skip
    passed = re.search(r"(\d+) passed", done.stdout)
    problems = [] if done.returncode == 0 else [done.stdout[-6000:] + done.stderr[-2000:]]
    return Trial(int(passed[1]) if passed else 0, problems)


# --- fuzz ---


def fuzz(seed: int, folder: Path) -> Trial:
    """Trials of the target that the seed chooses."""
    outcome = run_trials(TARGETS[seed % len(TARGETS)], folder, seed, most=TRIALS_OF_A_TARGET)
    return Trial(outcome.trials, [outcome.violation] if outcome.violation else [])


def campaigns(slices: int) -> dict[str, Campaign]:
    return {
        "nights": partial(spend_night, slices),
        "kill": kill_runs,
        "git": kill_git,
        "faults": meet_fault,
        "hostile": attack,
        "fuzz": fuzz,
    }

"""What must hold after a night, judged from outside: by git, by the marks of steps, by the processes left.

Each check yields its violations as sentences. Only two things come from Weft itself: which executions the journal
explains, and the states of slices.
"""

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from e2e.nights import Night, Slice, groups_of, verify_line
from hosts.places import pids, proc
from stored_events import StoredEvent

EXPLAINED = frozenset({"worktree-dirty", "unmerged", "branch-without-worktree"})
"""What `weft doctor` reports about results that are held."""


def violations(night: Night) -> list[str]:
    if night.stuck:
        return [f"stuck:\n{night.stuck}"]
    checks = (twice, lost, moved, red, unverified, ceilings, unhealthy, left, errors)
    return [text for check in checks for text in check(night)]


def twice(night: Night) -> Iterator[str]:
    """A step runs again only if the journal has an end of the execution before, and is done once."""
    marks = Counter(tuple(line.split()[:3]) for line in night.repository.lines("marks"))
    jobs = Counter(line.split()[3] for line in night.repository.lines("marks") if line.startswith("begin"))
    messages = night.repository.story().of("step_finished")
    ends = Counter(_end(event) for event in messages if "earlier_run" not in event.data)
    for job, times in jobs.items():
        if times > 1:
            yield f"the execution {job} ran {times} times"
    for item in night.slices:
        for step in ("code", "test"):
            here = {
                outcome: times
                for (path, name, outcome), times in ends.items()
                if (path, name) == (item.path, step)
            }
            begun, ended = marks["begin", item.path, step], marks["end", item.path, step]
            unfinished = here.get("lost", 0) + here.get("stopped", 0) + here.get("cancelled", 0)
            if here.get("done", 0) > 1:
                yield f"{item.path}:{step} was done {here['done']} times"
            if begun > sum(here.values()):
                yield f"{item.path}:{step} began {begun} times, and the journal explains {here}"
            if ended > here.get("done", 0) + unfinished:
                yield f"{item.path}:{step} came to its end {ended} times, and the journal explains {here}"


def _end(event: StoredEvent) -> tuple[str, str, str]:
    return event.subplan, event.step, event.outcome


def lost(night: Night) -> Iterator[str]:
    """Each slice is completed, and its work is on a branch; what has landed is on the target."""
    for subject in night.repository.lost():
        yield f"no name leads to the commit {subject!r}"
    subplans, held = night.subplans(), {entry["subplan"] for entry in night.ask("merge", "--list")["held"]}
    target = set(night.repository.git("ls-tree", "--name-only", "main").splitlines())
    for item in night.slices:
        entry = subplans[item.path]
        if entry["state"] == "completed":
            yield from _lost_work(night, item, target, is_held=item.path in held)
        elif not _is_blocked(night, held, item.path):
            yield f"{item.path} is {entry['state']}: {entry['reason']} {entry['message']}"


def _lost_work(night: Night, one: Slice, target: set[str], *, is_held: bool) -> Iterator[str]:
    repository, files = night.repository, {f"coded-{one.name}", f"tested-{one.name}"}
    tip = repository.ask_git("ls-tree", "--name-only", repository.branch(one.path)).stdout.splitlines()
    if not files <= target | set(tip):
        yield f"the work of {one.path} is neither on main nor on its branch"
    if not is_held and night.lands_slices and not files <= target:
        yield f"{one.path} has not landed, and is not held"


def moved(night: Night) -> Iterator[str]:
    """What the journal says has landed, and what people have committed, stays on the target."""
    repository = night.repository
    on_main = set(repository.git("rev-list", "main").splitlines())
    for event in repository.story().of("merge", step="@land"):
        for move in event.data.get("moves", []):
            if event.outcome == "merged" and move["after"] not in on_main:
                yield f"{event.subplan} landed as {move['after']}, which is not on main"
    target = set(repository.git("ls-tree", "--name-only", "main").splitlines())
    for name in night.people:
        if name not in target:
            yield f"a person's file {name} is gone from main"


def _is_blocked(night: Night, held: set[str], path: str) -> bool:
    """Whether it, or what it needs, is held, for a person to settle."""
    needs = {item.path: item.needs for item in night.slices}
    return path in held or any(_is_blocked(night, held, need) for need in needs[path])


def red(night: Night) -> Iterator[str]:
    """Each commit of the target passes the verify of the plan, and of each group that it holds whole."""
    repository = night.repository
    with tempfile.TemporaryDirectory(dir=repository.outside) as folder:
        scratch = Path(folder) / "scratch"
        repository.git("clone", "--quiet", "--no-checkout", str(repository.root), str(scratch))
        for commit in repository.git("rev-list", "--first-parent", "main").splitlines():
            repository.git("checkout", "--quiet", "--detach", commit, at=scratch)
            for verify in ["verify", *_whole_groups(night, scratch)]:
                command = ["sh", str(repository.outside / verify)]
                environ = dict(repository.environ)
                done = subprocess.run(
                    command, cwd=scratch, env=environ, capture_output=True, text=True, check=False
                )
                if done.returncode != 0:
                    yield f"main is red at {commit[:7]} ({verify}): {done.stdout.strip()}"


def _whole_groups(night: Night, checkout: Path) -> Iterator[str]:
    """The verifies of groups of which the checkout has all slices."""
    plan = (night.repository.root / "weft.yaml").read_text()
    for name, members in groups_of(night.slices).items():
        has_verify = verify_line(name).replace("OUTSIDE", str(night.repository.outside)) in plan
        if has_verify and all((checkout / f"coded-{member.name}").exists() for member in members):
            yield f"verify-{name}"


def unverified(night: Night) -> Iterator[str]:
    """Weft has verified each tree that it moved the target to. Within a batch only the last one counts."""
    trees = set(night.repository.lines("verified"))
    for line in night.repository.git("reflog", "show", "--format=%h %T %s", "main").splitlines():
        commit, tree, subject = line.split(" ", 2)
        if tree not in trees and not subject.startswith("a person"):
            yield f"main was moved to {commit} ({subject}), whose tree was not verified"


def ceilings(night: Night) -> Iterator[str]:
    yield from night.overspent
    if night.spent() > night.cents:
        yield f"{night.spent()} cents were spent of {night.cents}"


def unhealthy(night: Night) -> Iterator[str]:
    repository = night.repository
    for finding in night.ask("doctor")["findings"]:
        if finding["state"] not in {"ok", "fixed"} and finding["check"] not in EXPLAINED:
            yield f"doctor: {finding['check']}: {finding['found']}"
    if repository.git("status", "--porcelain"):
        yield f"the checkout is not clean: {repository.git('status', '--porcelain')}"
    if (replay := repository.weft("replay")).returncode != 0:
        yield f"replay: {replay.stdout}{replay.stderr}"


def left(night: Night) -> Iterator[str]:
    """Processes with anything of the night in their environment or command line."""
    name = os.fsencode(night.repository.root)
    for pid in pids():
        command = proc(pid, "cmdline")
        if pid != os.getpid() and name in command + proc(pid, "environ"):
            yield f"process {pid} is left: {command.replace(bytes(1), b' ').decode()}"


def errors(night: Night) -> Iterator[str]:
    for arguments, answer in night.said:
        if answer.returncode not in {0, 1, 4} or "Traceback" in answer.stderr:
            yield f"weft {' '.join(arguments)} ended with {answer.returncode}: {answer.stderr.strip()}"
    log = night.repository.root / ".weft" / "coordinator.log"
    if "Traceback" in (text := log.read_text()):
        yield f"in coordinator.log: {text[text.index('Traceback') :][:3000]}"

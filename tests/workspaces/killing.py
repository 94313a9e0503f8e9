"""Runs an operation of a world in a process that is killed (-9) before, during or after its n-th git command.

The processes are forked from one that has imported all modules and has no threads, which is fast. Their `git` is a
script that counts its calls and kills the process that called it.

During a command: git may write only a limited number of bytes to a file, and beyond that the kernel kills it by a
signal that git does not handle. So it dies with its locks taken, as by SIGKILL, and always at the same point: with
an empty lock, or later, in the middle of a large file.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from weft.engine.messages.facts import RefMove
from weft.errors import WeftError
from weft.ports.workspaces import Breach, ClosedConflict, MergeResult
from weft.workspaces.git.base.child_records import can_lock
from workspaces.cloned_world import ClonedWorld
from workspaces.landing_world import LandingWorld
from workspaces.snapshots import digest
from workspaces.worlds import GROUPS, World

_GIT = """#!/bin/sh
read -r number < {folder}/number
number=$((number + 1))
echo $number > {folder}/number
printf '%s\0' "$@" > {folder}/command.$number
{before_each}
test $number = {before} && kill -9 $PPID && exit 1
if test $number = {within}
then
  (ulimit -c 0; ulimit -f {blocks}; exec {git} "$@")
  kill -9 $PPID
  exit 1
fi
{git} "$@"
code=$?
{after_each}
test $number = {after} && kill -9 $PPID
exit $code
"""
WITHIN = (0, 1)
"""How many blocks of 512 bytes git may write into a file when it is killed within."""
ALWAYS = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
"""So that a commit that is made again is the same."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    top: str
    """Where the world is."""
    what: str
    """A method of the world."""
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = {}
    clones: bool = False
    """Whether the steps of slices have clones."""


class Kill(msgspec.Struct, frozen=True):
    number: int = 0
    """Of the command; 0: none."""
    after: bool = False
    """Or before it."""
    blocks: int | None = None
    """Or within it."""


NOT = Kill()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    killed: bool = False
    commands: int = 0
    """Of git, as far as it came."""
    locking: tuple[int, ...] = ()
    """The numbers of those that can take a lock."""
    answer: str = ""
    """What the method gave back, besides moves, or the error that it raised."""
    moves: tuple[RefMove, ...] = ()


class Killer:
    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self._process = process
        self._folder = folder

    def do(self, wish: Wish, kill: Kill = NOT, *, copies: Path | None = None) -> Outcome:
        """`copies`: where each command leaves copies of the files as they are before and after it."""
        _write_git(self._folder, kill, Path(wish.top).parent, copies)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode((str(self._folder), wish)) + b"\n")
        self._process.stdin.flush()
        outcome = msgspec.json.decode(self._process.stdout.readline(), type=Outcome)
        numbers = range(1, int((self._folder / "number").read_text()) + 1)
        locking = tuple(number for number in numbers if can_lock(self._command(number)))
        return msgspec.structs.replace(outcome, commands=len(numbers), locking=locking)

    def kills_between_commands(self, wish: Wish) -> Iterator[Kill]:
        """Yields the first kill for each state in which a kill leaves the files.

        The process waits while a command runs, so a kill then leaves the files as they are. Most commands of git
        only read, so these states are few.
        """
        copies = self._folder / "copies"
        copies.mkdir()
        seen: set[bytes] = set()
        commands = self.do(wish, copies=copies).commands
        for number, after in product(range(1, commands + 1), (False, True)):
            left = digest(copies / _name_of(number, after=after))
            if left not in seen:
                seen.add(left)
                yield Kill(number=number, after=after)

    def _command(self, number: int) -> list[str]:
        """The arguments of the n-th git."""
        return (self._folder / f"command.{number}").read_text(errors="replace").split("\0")[:-1]


def _name_of(number: object, *, after: bool) -> str:
    """Returns the name of a copy of the files."""
    return f"{number}.{'after' if after else 'before'}"


def _write_git(folder: Path, kill: Kill, home: Path, copies: Path | None) -> None:
    when = "within" if kill.blocks is not None else "after" if kill.after else "before"
    numbers = {"before": "-", "within": "-", "after": "-", when: kill.number or "-"}
    script = folder / "git"
    before_each, after_each = (
        f"cp -a {home} {copies / _name_of('$number', after=after)}" if copies else ""
        for after in (False, True)
    )
    text = _GIT.format(
        folder=folder,
        git=shutil.which("git"),
        blocks=kill.blocks or 0,
        before_each=before_each,
        after_each=after_each,
        **numbers,
    )
    script.write_text(text)
    script.chmod(0o755)
    (folder / "number").write_text("0\n")


@contextmanager
def killer(folder: Path) -> Iterator[Killer]:
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(Path(__file__).parents[1]), *sys.path))},
    ) as process:
        yield Killer(process, folder)
        assert process.stdin is not None
        process.stdin.close()


# In the process that the others are forked from


def serve() -> None:
    for line in sys.stdin.buffer:
        folder, wish = msgspec.json.decode(line, type=tuple[str, Wish])
        outcome = _in_another_process(folder, wish, _world(wish.top, clones=wish.clones))
        sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
        sys.stdout.flush()


@cache
def _world(top: str, *, clones: bool) -> World:
    """It is always the same repository that is there, as it was at some time."""
    world = ClonedWorld if clones else LandingWorld
    return world(Path(top), groups=(*GROUPS, "left", "right"), environ=ALWAYS)


def _in_another_process(folder: str, wish: Wish, world: World) -> Outcome:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.write(writing, msgspec.json.encode(_done(folder, wish, world)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        answer = answers.read()
    os.waitpid(child, 0)
    return msgspec.json.decode(answer, type=Outcome) if answer else Outcome(killed=True)


def _done(folder: str, wish: Wish, world: World) -> Outcome:
    os.environ["PATH"] = world.git._environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    try:
        answer = getattr(world, wish.what)(*wish.arguments, **wish.options)
    except WeftError as error:
        return Outcome(answer=f"{type(error).__name__}: {error}")
    match answer:
        case MergeResult(moves=moves, verify_in=place):
            return Outcome(answer=str(place), moves=moves)
        case ClosedConflict(moves=moves, message=message) | Breach(moves=moves, message=message):
            return Outcome(answer=message, moves=moves)
        case list():
            return Outcome(moves=tuple(answer))
        case _:
            return Outcome(answer=str(answer))


if __name__ == "__main__":
    serve()

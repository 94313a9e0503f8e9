"""A step in a real sandbox attacks Weft's git outside; nothing outside of its own slice changes.

All attacks share one repository; each has a slice of its own.
"""

import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from attacks.table import ATTACKS, Attack
from runtime.sandbox.bubblewrap import need_sandboxes
from weft.errors import WeftError
from weft.plan.sandbox import Sandbox
from weft.runtime.sandbox.boxes import Boxes
from weft.runtime.sandbox.view import SandboxContext, StepNeeds
from weft.workspaces.git.base.program import Git
from workspaces.git.repositories import surroundings
from workspaces.worlds import NAMES, World, repository_in

pytestmark = pytest.mark.thorough
NAMED = [attack.name for attack in ATTACKS]
SECRET = "the user's own\n"
PRELUDE = """
exec 2>/dev/null
commit() { echo $B >> one; git add one; git commit -qm one; }
"""
PATIENCE = 6.0
"""Seconds that git may take for files which keep it waiting."""
LARGE = 1024 * 1024
"""Bytes above which the content of a file is not compared, only its size and time."""
SETTLED = 1_000_000_000
"""Nanoseconds after which a write would get another time than the write before it."""


class Scene:
    """A home with a project in it, in which a slice has worked that nothing may touch."""

    def __init__(self, root: Path, bwrap: str) -> None:
        self.home = root / "home"
        self.top = self.home / "project"
        self.top.mkdir(parents=True)
        (self.home / "victim").write_text(SECRET)
        repository_in(self.top, {"README": "hello\n", "src/a.py": "a\n"})
        slices = ("sibling", *NAMED)
        self.world = World(self.top, clones=slices, opened=False)
        self.world.git.do("config", "filter.users.clean", f"touch {self.home}/ran; cat")
        self.world.do("sibling", {"theirs": "1"})
        self.weft = self.top / ".weft"
        (self.weft / "weft.db").write_text("a journal")
        (self.top / ".git" / "weft" / "incoming").mkdir(parents=True)
        grounds = SandboxContext(homes=(self.home,), project=self.top, weft=self.weft, plan_dir=self.top)
        self.boxes = Boxes(program=bwrap, context=grounds)
        self._contents: dict[str, tuple[os.stat_result, bytes]] = {}

    def argv(self, name: str, script: str) -> tuple[tuple[str, ...], dict[str, str]]:
        home, output = self.weft / "homes" / name, self.weft / "output" / name
        for folder in (home, output):
            folder.mkdir(parents=True, exist_ok=True)
        (home / ".gitconfig").write_text("[user]\nname = A\nemail = a@b\n")
        needs = StepNeeds(
            workspace=self.world.place(name), home=home, output=output, programs=("sh",), search=os.defpath
        )
        command = ("/bin/sh", "-c", PRELUDE + script)
        (argv,) = self.boxes.around((command,), needs, Sandbox(use="bwrap", network=False))
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "G": str(self.top / ".git" / "worktrees" / name / "weft-clone" / "git"),
            "B": NAMES.head(name),
            "REPO": str(self.top),
            "HOME_OUT": str(self.home),
            "VICTIM": str(self.home / "victim"),
            "SIBLING": str(self.world.place("sibling")),
        }
        return argv, env

    def attack(self, name: str, script: str) -> None:
        argv, env = self.argv(name, script)
        subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)

    def outside(self, name: str) -> dict[str, object]:
        """All that is not the slice's own: kind, mode and content of each file, and where each ref leads."""
        git = self.top / ".git"
        own = [git / "worktrees" / name, self.world.place(name), git / "objects", git / "logs"]
        own += [self.weft / "homes", self.weft / "output", git / "weft" / "incoming", git / "refs"]
        files: dict[str, object] = {
            place: self._look(place, status)
            for place, status in _all_below(self.home, frozenset(map(str, own)))
        }
        refs = self.world.refs()
        mine = re.compile(rf"refs/(heads/weft|weft/\w+)/notes/{re.escape(name)}(/|$)")
        return files | {ref: commit for ref, commit in refs.items() if not mine.match(ref)}

    def objects(self) -> dict[str, object]:
        """The objects of the repository that are files of their own, with their content."""
        everything = _all_below(self.top / ".git" / "objects", frozenset())
        loose = ((place, status) for place, status in everything if len(Path(place).parent.name) == 2)
        return {place: self._look(place, status) for place, status in loose}

    def remove(self, name: str) -> None:
        """Removes what a slice left on disk, which every later look outside would read."""
        own = (self.world.place(name), self.top / ".git" / "worktrees" / name)
        for folder in (*own, self.weft / "homes" / name, self.weft / "output" / name):
            shutil.rmtree(folder, ignore_errors=True)

    def _look(self, place: str, status: os.stat_result) -> object:
        if stat.S_ISREG(status.st_mode):
            # Some attacks leave files of gigabytes. A write changes the time that no program can set.
            content = self._content(place, status) if status.st_size <= LARGE else status.st_ctime_ns
            return status.st_mode, status.st_size, content
        return status.st_mode, str(Path(place).readlink()) if stat.S_ISLNK(status.st_mode) else ""

    def _content(self, place: str, status: os.stat_result) -> bytes:
        """The content of a file, which is read again only if it may have changed since it was read."""
        seen, content = self._contents.get(place, (None, b""))
        if seen is not None and _identity(seen) == _identity(status):
            return content
        content = Path(place).read_bytes()
        if time.time_ns() - status.st_ctime_ns > SETTLED:
            self._contents[place] = status, content
        return content


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _all_below(top: Path, without: frozenset[str]) -> Iterator[tuple[str, os.stat_result]]:
    folders = [str(top)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder and entry.path in without:
                    continue
                yield entry.path, entry.stat(follow_symlinks=False)
                if is_folder:
                    folders.append(entry.path)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    root = tmp_path_factory.mktemp("attacks").resolve()
    scene = Scene(root, need_sandboxes())
    yield scene
    checked = scene.world.git.ask("fsck", "--strict", "--no-dangling")
    shutil.rmtree(root, ignore_errors=True)
    assert checked.exit_code == 0, checked.message


@pytest.mark.parametrize("attack", ATTACKS, ids=NAMED)
def test_nothing_outside_of_the_slice_changes(scene: Scene, attack: Attack) -> None:
    world, name = scene.world, attack.name
    world.prepare(name)
    world.workspaces.prove(name)
    before, objects = scene.outside(name), scene.objects()
    scene.attack(name, attack.script)
    if attack.error:
        if attack.name == "nested-head-fifo":
            world = World(scene.top, clones=("sibling", *NAMED), opened=False, patience=PATIENCE)
        with pytest.raises(WeftError, match=attack.error) as raised:
            world.record(name)
        # What was committed before is the slice's own work, if it could be taken in.
        assert world.tip(name) == world.base or "cannot be fetched" not in str(raised.value)
    else:
        world.record(name)
        world.workspaces.prove(name)
        files = world.files(world.tip(name))
        assert files.get("README", "hello\n") in {"hello\n", str(scene.home)}
        assert SECRET not in files.values()
        assert world.tip(name) != world.base or "echo $C > $G/$B" not in attack.script
    _look_as_people_do(world, name)
    assert scene.outside(name) == before
    assert scene.objects().items() >= objects.items()
    scene.remove(name)


def _look_as_people_do(world: World, name: str) -> None:
    """As `weft diff`, `weft doctor` and a person's own git do, outside; whatever they say, they run nothing."""
    place = world.place(name)
    env = {**surroundings(world.top.parent), "GIT_OPTIONAL_LOCKS": "0"}
    if name != "nested-head-fifo":  # it keeps git waiting
        Git(place, environ=env).ask("diff", "--stat", "HEAD")
    if name not in {
        "nested-head-fifo",
        "filter-of-the-user",
    }:  # git runs the filters that its user has set up
        subprocess.run(
            ("git", "status", "--short"), cwd=place, env=env, capture_output=True, check=False, timeout=60
        )


def test_there_are_at_least_sixty() -> None:
    assert len(set(NAMED)) == len(ATTACKS) >= 60


RACES = {
    "race-head": "while :; do ln -sfn $VICTIM $G/HEAD; rm -f $G/HEAD; echo ref: $B > $G/HEAD; done",
    "race-branch": "commit; cp $G/$B ~/b; while :; do ln -sfn $VICTIM $G/$B; rm -f $G/$B; cp ~/b $G/$B; done",
    "race-objects": "while :; do commit; mv $G/objects $G/o; ln -s $HOME_OUT $G/objects; rm $G/objects; "
    "mv $G/o $G/objects; done",
    "race-index": "while :; do ln -sfn $VICTIM $G/index; ln -sfn $VICTIM $G/index.lock; rm -f $G/index*; done",
    "race-refs": "while :; do mv $G/refs $G/r; ln -s $HOME_OUT $G/refs; rm $G/refs; mv $G/r $G/refs; done",
}


@pytest.mark.parametrize("name", RACES)
def test_a_race_while_work_is_taken_in_changes_nothing_outside(scene: Scene, name: str) -> None:
    world = World(scene.top, clones=("sibling", *NAMED, *RACES), opened=False)
    world.prepare(name)
    world.workspaces.prove(name)
    before = scene.outside(name)
    argv, env = scene.argv(name, f"touch started; {RACES[name]}")
    with subprocess.Popen(
        argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as step:
        try:
            while not (world.place(name) / "started").exists():
                assert step.poll() is None
            for number in range(8):
                _try_to_record(world, name, number)
        finally:
            step.kill()
            # The processes in the sandbox end after the sandbox itself. Each holds the pipe, so its end shows that
            # none is left that could write during the next race.
            assert step.stdout is not None
            step.stdout.read()
    assert scene.outside(name) == before
    assert world.tip("sibling") == world.git.line("rev-parse", "weft/notes/sibling")


def _try_to_record(world: World, name: str, number: int) -> None:
    """What comes of it depends on the race; what counts is what is outside."""
    world.workspaces.take_commits(name)  # as while the step runs
    try:
        world.record(name, step=f"step{number}")
    except (WeftError, OSError):
        return

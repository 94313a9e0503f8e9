"""Slices, a person and crashes in one repository, in any order: no work is lost, and nothing red lands."""

import os
import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from weft.engine.messages.facts import RefMove
from weft.errors import WeftError
from weft.ports.workspaces import HeldError, MergeResult
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.program import Git
from workspaces.cloned_world import ClonedWorld
from workspaces.faults import quick_folder
from workspaces.git.repositories import commit, surroundings
from workspaces.killing import ALWAYS, NOT, Kill, Killer, Wish, killer
from workspaces.landing_world import LandingWorld, files_in, is_green
from workspaces.worlds import NAMES, TARGET, repository_in

AFTER = {
    "left/a": (),
    "left/b": ("left/a",),
    "right/c": (),
    "right/d": ("left/a", "right/c"),
    "e": (),
    "f": ("e",),
}
"""The slices, and what they depend on."""
LINES = "".join(f"{number}\n" for number in range(9))
FILES = st.sampled_from(["lines", "new", "folder/new", "p", "q"])
TEXTS = st.sampled_from(["one\n", "two\n", f"first\n{LINES}", f"{LINES}last\n", "BAD\n"])
Draw = Callable[[st.SearchStrategy[Any]], Any]
Edits = list[tuple[str, str | None]]
EDITS: st.SearchStrategy[Edits] = st.one_of(
    st.sampled_from([[("p", "one\n")], [("q", "one\n")]]),
    st.lists(st.tuples(FILES, st.one_of(TEXTS, st.none(), FILES)), min_size=1, max_size=3),
)
COMMANDS = {
    "commit": ("commit", "--quiet", "--message", "agent"),
    "amend": ("commit", "--quiet", "--amend", "--allow-empty", "--message", "amended"),
    "reset": ("reset", "--quiet", "--hard", "HEAD~1"),
    "detach": ("switch", "--quiet", "--detach"),
}
GIT = st.sampled_from(["", "", "", *COMMANDS])
EXAMPLES = int(os.environ.get("WEFT_MACHINES") or (12 if os.environ.get("WEFT_EXAMPLES") == "gate" else 5))
LONG = settings(
    max_examples=EXAMPLES,
    stateful_step_count=50,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # to make a failure smaller would take minutes
)
WITH_CLONES = settings(LONG, max_examples=EXAMPLES if os.environ.get("WEFT_CLONES") == "all" else 2)
MINE = st.sampled_from(["mine", "yours", "lines"])


class Machine(RuleBasedStateMachine):
    killer: Killer
    has_clones = False

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        top = self.stack.enter_context(quick_folder()) / "repository"
        repository_in(top, {"lines": LINES, "mine": "mine\n", "yours": "yours\n"})
        for number in range(3):  # which an agent may reset away
            commit(Git(top, environ=surroundings(top.parent) | ALWAYS), {"yours": f"{number}\n"})
        world = ClonedWorld if self.has_clones else LandingWorld
        self.world: LandingWorld = world(top, groups=("", "left", "right"), environ=ALWAYS)
        self.world.git.do("branch", "side")
        self.kill = NOT
        self.prepared: set[str] = set()
        self.working: set[str] = set()
        """Slices in the middle of a step."""
        self.green: set[str] = set()
        """Subplans whose last step has passed."""
        self.merged: set[str] = set()
        self.landed: set[str] = set()
        self.brought_on: dict[str, dict[str, str]] = {"main": {}, "around": {}}
        """Where subplans were when they landed, or were merged."""
        self.made: set[str] = set()
        """Commits that may not be lost."""
        self.loose: dict[str, set[str]] = {path: set() for path in AFTER}
        """Commits made since a slice was last recorded: they may be known to its worktree alone."""
        self.dirt: dict[str, bytes] = {}
        self.told: set[tuple[str, str, str]] = set()
        self.explained = self.heads()
        self.judged = {self.world.target}

    def teardown(self) -> None:
        self.stack.close()

    # What is done

    def do(self, what: str, *arguments: str, **options: object) -> object:
        """With a crash before, if one is due: then it is done again."""
        kill, self.kill = self.kill, NOT
        if kill != NOT:
            wish = Wish(
                top=str(self.world.top),
                what=what,
                arguments=arguments,
                options=dict(options),
                clones=self.has_clones,
            )
            self.tell(self.killer.do(wish, kill).moves)
        answer = getattr(self.world, what)(*arguments, **options)
        moves = answer.moves if isinstance(answer, MergeResult) else answer
        self.tell(moves if isinstance(moves, (list, tuple)) else ())
        return answer

    def tell(self, moves: list[RefMove] | tuple[RefMove, ...]) -> None:
        self.told.update((move.ref, move.before, move.after) for move in moves)

    def heads(self) -> dict[str, str]:
        return self.world.refs("refs/heads")

    def person_moved(self) -> None:
        """Whatever has changed was not ours."""
        now = self.heads()
        for ref in {*now, *self.explained}:
            self.told.add((ref, self.explained.get(ref, ""), now.get(ref, "")))
        self.explained = now

    def tip(self, path: str) -> str:
        return self.heads().get(NAMES.head(path), "")

    def tip_explained(self, path: str) -> str:
        return self.explained.get(NAMES.head(path), "")

    def has_worktree(self, path: str) -> bool:
        return (self.world.place(path) / ".git").exists()

    # Slices

    def ready(self) -> list[str]:
        return sorted(path for path, after in AFTER.items() if self.merged.issuperset(after))

    @initialize(each=st.lists(EDITS, min_size=3, max_size=3))
    def slices_begin(self, each: list[Edits]) -> None:
        for path, edits in zip(("left/a", "right/c", "e"), each, strict=True):
            self.begin(path)
            self.work_in(path, edits)
            self.record(path)

    @rule(data=st.data(), anew=st.sampled_from([False, False, True]))
    def prepare(self, data: st.DataObject, anew: bool) -> None:
        new = set() if anew else set(self.ready()) - self.prepared
        self.begin(data.draw(st.sampled_from(sorted(new or self.ready()))))

    def begin(self, path: str) -> None:
        try:
            self.do("prepare", path, *AFTER[path])
        except (HeldError, WorkspaceError) as error:
            event(f"cannot begin: {str(error)[:40]}")
            self.follow(str(error))
            return
        self.made |= self.loose[path]
        self.loose[path] = set()
        self.prepared.add(path)
        self.working.discard(path)
        self.green.discard(path)

    @precondition(lambda self: self.prepared)
    @rule(data=st.data(), edits=EDITS, ends=st.sampled_from([True, True, False]), git=GIT)
    def work(self, data: st.DataObject, edits: Edits, ends: bool, git: str) -> None:
        """A step, or a part of one."""
        path = data.draw(st.sampled_from(sorted(self.prepared)))
        if not self.proven(path):
            return
        self.work_in(path, edits)
        if git:
            self.agent_uses_git(path, git)
        if ends:
            self.record(path)

    def work_in(self, path: str, edits: Edits) -> None:
        self.working.add(path)
        for file, what in edits:
            self.edit(self.world.place(path), file, what)

    def proven(self, path: str) -> bool:
        """Checks that a step may start, or that the workspace of a started step exists."""
        try:
            if path not in self.working:
                self.world.workspaces.prove(path)
        except WeftError as error:
            event(f"not proven: {str(error)[-40:]}")
            self.follow(str(error))
            return False
        return self.has_worktree(path)

    @staticmethod
    def edit(place: Path, file: str, what: str | None) -> None:
        """Write it, remove it, or give it the name of another."""
        (place / file).parent.mkdir(exist_ok=True)
        if what is None:
            (place / file).unlink(missing_ok=True)
        elif "\n" in what:
            (place / file).write_text(what)
        elif (place / file).exists():
            (place / what).parent.mkdir(exist_ok=True)
            (place / file).rename(place / what)

    def agent_uses_git(self, path: str, how: str) -> None:
        git = self.world.at(path)
        git.ask("add", "--all")
        git.ask(*COMMANDS[how])
        self.note_loose(path)
        before = self.tip_explained(path)
        self.person_moved()
        # What an agent moves is told at the end of the step, and from where the step began.
        self.told.add((NAMES.head(path), self.tip_explained(path), before))

    def note_loose(self, path: str) -> None:
        head = self.world.at(path).ask("rev-parse", "--verify", "--quiet", "HEAD")
        if head.exit_code == 0:
            self.loose[path].add(head.text)

    @precondition(lambda self: self.has_clones and self.working)
    @rule(data=st.data())
    def commits_are_taken(self, data: st.DataObject) -> None:
        """Takes commits while the step runs; the moves of its branch are reported at its end."""
        path = data.draw(st.sampled_from(sorted(self.working)))
        before = self.tip_explained(path)
        self.do("take_commits", path)
        self.person_moved()
        self.told.add((NAMES.head(path), self.tip_explained(path), before))

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def a_step_ends(self, data: st.DataObject) -> None:
        self.record(data.draw(st.sampled_from(sorted(self.working))))

    def record(self, path: str) -> None:
        self.working.discard(path)
        self.green.discard(path)
        is_there = self.has_worktree(path)
        try:
            self.do("record", path)
        except WorkspaceError as error:
            event(f"not recorded: {str(error)[-40:]}")
            self.follow(str(error))
            if is_there:
                self.made |= self.loose[path]
            return
        self.made |= {self.world.tip(path), *self.loose[path]}
        self.loose[path] = set()
        if is_green(self.files(self.world.tip(path))):
            self.green.add(path)

    # Merging

    @precondition(lambda self: self.green)
    @rule(data=st.data(), lands=st.booleans(), alone=st.booleans(), by=st.sampled_from(["message", "plan"]))
    def copy_in(self, data: st.DataObject, lands: bool, alone: bool, by: str) -> None:
        """Merge it, or land it; `alone`: only if nothing else comes along."""
        groups = {path.rpartition("/")[0] for path in self.merged} - {""}
        done = self.brought_on["main" if lands else "around"]
        new = {path for path in (*self.green, *groups) if done.get(path) != self.tip(path)}
        path = data.draw(st.sampled_from(sorted(new or {*self.green, *groups})))
        if lands:
            more = data.draw(st.lists(st.sampled_from(sorted(new or {path})), max_size=4))
            self.land(list(dict.fromkeys([path, *more])), alone=alone, by=by)
            return
        try:
            self.merge_verified(path)
        except HeldError as held:
            event(f"held: {str(held)[-40:]}")
            self.follow(str(held))
            if held.conflict:
                self.settle(path, NAMES.branch(path.rpartition("/")[0] if by == "message" else ""))

    def merge_verified(self, path: str) -> None:
        done = self.do("merge", path, verifies=True)
        assert isinstance(done, MergeResult)
        if done.verify_in is not None and not is_green(files_in(done.verify_in)):
            self.do("discard", path)
            event("red together")
            return
        if done.verify_in is not None:
            self.do("publish", path)
        event("merged")
        self.merged.add(path)
        self.brought_on["around"][path] = self.tip(path)

    def land(self, paths: list[str], *, alone: bool, by: str) -> None:
        """Several results at once, each as it is now; `alone`: only if nothing else comes along.

        What waits for others is named again, together with these.
        """
        others = sorted({*AFTER, "left", "right"} - self.landed - {*paths}) if alone else []
        try:
            self.do("land_queue", *paths, not_landed=others)
        except HeldError as held:
            event(f"held: {str(held)[-40:]}")
            self.follow(str(held))
            if held.conflict:
                self.settle(paths[0], "main" if by == "message" else NAMES.branch(""))
            if set(held.waits_for) - {*paths}:
                event("named again with what it waits for")
                self.land(list(dict.fromkeys([*held.waits_for, *paths])), alone=alone, by=by)
            return
        event(f"landed {len(paths)}")
        target = self.world.target
        for path in paths:
            tip = self.tip(path)
            if tip and self.world.git.says_yes("merge-base", "--is-ancestor", tip, target):
                self.landed.add(path)
                self.brought_on["main"][path] = tip

    def settle(self, path: str, other: str) -> None:
        """As the message says, but the person takes what is there, with the marks that git made."""
        git = self.world.at(path)
        if self.has_worktree(path):
            git.ask("merge", "--quiet", other)
            git.ask("add", "--all")
            git.ask("commit", "--quiet", "--message", "settled")
            if path in AFTER:
                self.note_loose(path)
            self.person_moved()

    # A person

    def follow(self, message: str) -> None:
        """A person does what a message says, if that is to have a branch back, or to go back to it."""
        gone, astray = (
            re.search(r"git (branch \S+ \w+)", message),
            re.search(r"git -C (\S+) (switch [^;]+)", message),
        )
        if gone:
            self.world.git.do(*gone[1].split())
        if astray:
            self.world.git.at(Path(astray[1])).ask(*astray[2].split())
        self.person_moved()

    @rule(data=st.data(), what=st.sampled_from(["commits", "changes", "cleans_up", "switches", "removes"]))
    def a_person(self, data: st.DataObject, what: str) -> None:
        getattr(self, f"person_{what}")(data.draw)

    def person_commits(self, draw: Draw) -> None:
        file, text = draw(MINE), draw(TEXTS.filter(lambda text: "BAD" not in text))
        (self.world.top / file).write_text(text)
        command = ("commit", "--quiet", "--allow-empty", "--message", "person", "--only", "--", file)
        self.world.git.do("add", "--intent-to-add", "--", file)
        self.world.git.do(*command)
        self.dirt.pop(file, None)
        self.person_moved()

    def person_changes(self, draw: Draw) -> None:
        file, text = draw(st.one_of(MINE, FILES)), draw(st.sampled_from(["dirty\n", "dirtier\n"]))
        place = self.world.top / file
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
        self.dirt[file] = text.encode()

    def person_cleans_up(self, _: Draw) -> None:
        self.world.git.do("reset", "--quiet", "--hard")
        self.world.git.do("clean", "--quiet", "--force", "-d")
        self.dirt = {}

    def person_switches(self, draw: Draw) -> None:
        branch = draw(st.sampled_from(["main", "main", "side", "weft/notes/left", "weft/notes/_plan"]))
        self.world.git.ask("switch", "--quiet", branch)

    def person_removes(self, draw: Draw) -> None:
        path, what = draw(st.sampled_from(sorted(self.prepared))), draw(st.sampled_from([0, 1, 2]))
        if what != 1:
            self.world.git.do("update-ref", "-d", NAMES.head(path))
            self.person_moved()
        if what != 0:
            shutil.rmtree(self.world.place(path), ignore_errors=True)

    @rule(number=st.integers(1, 24), after=st.booleans())
    def a_crash_is_due(self, number: int, after: bool) -> None:
        self.kill = Kill(number, after=after)

    # What must hold

    def files(self, commit: str) -> dict[str, bytes]:
        return {path: os.fsencode(text) for path, text in self.world.files(commit).items()}

    @invariant()
    def nothing_is_lost(self) -> None:
        ours = ("--not", TARGET, "--glob=refs/heads/weft/*", "--glob=refs/weft/*")
        lost = self.world.git.line("rev-list", *sorted(self.made), *ours)
        assert lost == ""

    @invariant()
    def what_a_person_has_not_committed_is_as_it_was(self) -> None:
        by_name = {file: (self.world.top / file).read_bytes() for file in self.dirt}
        assert by_name == self.dirt

    @invariant()
    def nothing_red_has_landed(self) -> None:
        target = self.world.target
        if target not in self.judged:
            assert is_green(self.files(target))
            self.judged.add(target)

    @invariant()
    def every_move_was_told(self) -> None:
        now = self.heads()
        for ref in {*now, *self.explained}:
            before, after = self.explained.get(ref, ""), now.get(ref, "")
            assert after in self.reached(ref, before), f"{ref} moved from {before} to {after}"
        self.explained = now

    def reached(self, ref: str, start: str) -> set[str]:
        result = {start}
        while True:
            more = {after for name, before, after in self.told if name == ref and before in result} - result
            if not more:
                return result
            result |= more


@pytest.mark.timeout(300)
def test_whatever_happens_nothing_is_lost_and_nothing_red_lands(tmp_path: Path) -> None:
    with killer(tmp_path / "bin") as item:
        Machine.killer = item
        run_state_machine_as_test(Machine, settings=LONG)


class ClonedMachine(Machine):
    has_clones = True


@pytest.mark.timeout(300)
def test_the_same_holds_where_steps_have_clones(tmp_path: Path) -> None:
    with killer(tmp_path / "bin") as item:
        Machine.killer = item
        run_state_machine_as_test(ClonedMachine, settings=WITH_CLONES)

"""Slices, a person and crashes in one repository, in any order: no work is lost, and nothing red lands."""

import os
import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
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
from weft.ports.workspaces import ClosedConflict, HeldError, MergeResult, OpenConflict
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
BY = st.sampled_from(["message", "plan", "agent"])
"""A person settles a conflict as the message says, or with the branch of the plan; an agent that of a slice."""
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
        self.numbers = count(1)
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
        self.mine: dict[str, dict[str, str]] = {}
        """By branch: what a person committed there since it began, and the file that came with each commit."""
        self.told: set[tuple[str, str, str]] = set()
        self.explained = self.heads()
        self.judged = {self.world.target}

    def teardown(self) -> None:
        self.stack.close()

    # What is done

    def do(self, what: str, *arguments: str | tuple[str, ...], **options: object) -> object:
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
        self.mine.pop(path, None)  # a slice that begins again has a new branch; the old one is kept
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
        mine = self.mine.get(path, {})  # without what the agent has undone
        self.mine[path] = {name: note for name, note in mine.items() if self.holds(name, "HEAD", git)}
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
    @rule(data=st.data(), lands=st.booleans(), alone=st.booleans(), by=BY)
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
            if held.conflict and (by != "agent" or not self.agent_settles(path)):
                self.settle(path, NAMES.branch(path.rpartition("/")[0] if by == "message" else ""))

    def agent_settles(self, path: str) -> bool:
        """Returns whether an agent resolved the conflict in the worktree of a slice."""
        if path not in AFTER or path in self.working:
            return False
        try:
            conflict = self.do("open_conflict", path)
        except WorkspaceError as error:
            event(f"not opened: {str(error)[-40:]}")
            return False
        assert isinstance(conflict, OpenConflict)
        for file in conflict.files:
            place = self.world.place(path) / file
            if place.is_file():
                place.write_text("settled\n")
            else:
                place.unlink(missing_ok=True)
            self.world.at(path).ask("add", "--all", "--", file)
        closed = self.do("close_conflict", path)
        assert isinstance(closed, ClosedConflict)
        self.made.add(self.tip(path))
        event(f"an agent settled it: {not closed.message}")
        return not closed.message

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
        self.a_person_s_work_has_landed()
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
            self.person_merges_there(git, path, other)

    def person_merges_there(self, git: Git, path: str, other: str) -> None:
        note = f"mine-{next(self.numbers)}"
        before = git.line("rev-parse", "HEAD")
        git.ask("merge", "--quiet", "--no-edit", other)
        (git.directory / note).write_text("a person was here\n")
        git.ask("add", "--all")
        is_committed = git.ask("commit", "--quiet", "--message", "settled").exit_code == 0
        if path in AFTER and self.has_worktree(path):
            self.note_loose(path)
        at = self.tip_explained(path)
        self.person_moved()
        is_on_branch = git.ask("symbolic-ref", "--quiet", "HEAD").text == NAMES.head(path)
        if is_committed and is_on_branch:
            # A commit in a clone is taken in later.
            self.told.add((NAMES.head(path), at, git.line("rev-parse", "HEAD")))
            commits = git.line("rev-list", "--first-parent", "HEAD", f"^{before}").splitlines()
            self.mine.setdefault(path, {}).update(dict.fromkeys(commits, note))

    @precondition(lambda self: self.merged)
    @rule(data=st.data(), other=st.sampled_from(["main", "", "left", "right", *AFTER]))
    def a_person_merges(self, data: st.DataObject, other: str) -> None:
        """Into the branch of a slice or a group, in its worktree or another; a fast-forward, or a merge."""
        groups = {path.rpartition("/")[0] for path in self.merged} - {""}
        path = data.draw(st.sampled_from(sorted({*self.merged, *groups})))
        branch = other if other == "main" else NAMES.branch(other)
        if not self.tip(path) or (path in self.working):
            return
        if self.has_worktree(path):
            if self.world.at(path).ask("status", "--porcelain").text == "":
                self.person_merges_there(self.world.at(path), path, branch)
            return
        place = self.world.top.parent / f"at-{next(self.numbers)}"
        added = self.world.git.ask("worktree", "add", "--quiet", str(place), NAMES.branch(path))
        if added.exit_code == 0:  # it is not checked out
            self.person_merges_there(self.world.git.at(place), path, branch)
            self.world.git.do("worktree", "remove", "--force", str(place))

    @precondition(lambda self: {"left/a", "left/b"} <= self.merged)
    @rule(without=st.sampled_from(["left/a", "left/b"]))
    def a_part_is_left_out(self, without: str) -> None:
        """As after a search for the part that breaks the verify of the group."""
        parts = ("left/a", "left/b")
        if without not in self.world.suspects("left", parts):
            return
        try:
            self.do("merge_without", "left", parts, without)
        except (HeldError, WorkspaceError) as error:
            event(f"not without: {str(error)[-40:]}")
            return
        event("merged without a part")
        self.brought_on["around"]["left"] = self.tip("left")

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
            self.mine.pop(path, None)
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

    def a_person_s_work_has_landed(self) -> None:
        """With each result that is reported as landed, all that a person committed on its branch."""
        target = self.world.target
        files = self.world.files(target)
        for path in self.world.landed:
            for name, note in self.mine.get(path, {}).items():
                assert self.holds(name, target, self.world.git), f"{name} of {path} has not landed"
                assert note in files, f"{note} of {path} has not landed"

    @staticmethod
    def holds(commit: str, head: str, git: Git) -> bool:
        return git.says_yes("merge-base", "--is-ancestor", commit, head)

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

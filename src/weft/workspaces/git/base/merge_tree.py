"""Merges that are computed and touch neither a ref nor a file: `git merge-tree` makes a tree of two commits.

It tells of a conflict twice. First come the entries of an index: up to three versions of each file that it could
not settle. Then come messages, of which each names a kind of conflict and files. The entries tell what there is to
choose from; the messages what happened. There are conflicts without any entry (a directory whose files went to
several others, while the other side added to it), so what the exit code calls a conflict is never taken for clean.

Where both sides put different things in one place, git sets one of them aside, as `place~name`. Here both are
one conflict, about the place.
"""

import os
import re
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import new
from itertools import islice
from pathlib import Path

from msgspec import Struct

from weft.plan.order.globs import matches
from weft.workspaces.git.base.commit_object import CommitDraft, SigningFailure, write_commit
from weft.workspaces.git.base.conflicts import Conflict, TreeVersion
from weft.workspaces.git.base.program import Git, GitError, GitOutput

_ENTRY = re.compile(r"(?P<mode>\d+) (?P<oid>[0-9a-f]+) (?P<stage>[123])\t(?P<place>.*)", re.DOTALL)
_KIND = re.compile(r"CONFLICT ?\((.*)\)")
_LINK = "160000"
_STAGES = ("base", "ours", "theirs")
_SHA1 = 40
"""The digits of an id; others are of SHA-256."""
_LATE = 4_102_444_800
"""When stand-ins are made: after all that is real, so that git comes to them first."""
_WITH_BASE = ("-c", "merge.conflictStyle=diff3")


class MergeTrial(Struct, frozen=True, kw_only=True):
    """What came of a merge."""

    tree: str
    """With marks in the files that are in conflict."""
    conflicts: tuple[Conflict, ...] = ()
    entries: tuple["ConflictEntry", ...] = ()
    """Those of an index, of what is in conflict."""


class ConflictEntry(Struct, frozen=True):
    stage: int
    """1: what both began with; 2: ours; 3: theirs."""
    version: TreeVersion
    place: str
    """In the tree of the trial."""


class _Message(Struct, frozen=True):
    kind: str
    places: tuple[str, ...]


class _Clash(Struct):
    """All that is about one place."""

    conflict: Conflict
    entries: Sequence[ConflictEntry]

    @property
    def places(self) -> set[str]:
        """Where the tree of the trial has it."""
        return {entry.place for entry in self.entries}


class _Choice(Struct, frozen=True):
    clash: _Clash
    version: TreeVersion | None
    """What is to be in place of the conflict."""

    @property
    def wants_room(self) -> bool:
        """Whether it is a file where a directory is now: then it has room only if nothing is left in that."""
        return self.version is not None and self.clash.conflict.path not in self.clash.places


class Ancestry(Struct, frozen=True, kw_only=True):
    """What the caller of a merge knows about its two commits, so that git need not look for it."""

    ours: str
    """The tree of our commit."""
    theirs: str
    """The tree of theirs."""
    shared: tuple[str, ...]
    """Commits that lead to both, such that all that lead to both lead to one of these."""


def try_merge(
    git: Git,
    ours: str,
    theirs: str,
    *,
    take: Sequence[str] = (),
    shows_base: bool = False,
    ancestry: Ancestry | None = None,
) -> MergeTrial:
    """Bring the commit `theirs` to the commit `ours`, in memory.

    Of the files that are in conflict, those that a glob of `take` means are as `theirs` has them, or has removed
    them. With `shows_base`, marks in files show what both began with, too. `git` is at the top of a checkout, as
    it names files from where it is; what `.gitattributes` say there about merging goes. Several threads may do
    this at once.

    To find what two commits have in common, git walks the history back to where the longer branch began, which
    may be thousands of commits ago. With an `ancestry` it need not.
    """
    if ancestry is not None and ancestry.shared:
        tree = _merged_stand_ins(git, ancestry)
        if tree:
            return MergeTrial(tree=tree)
    command = ("merge-tree", "--write-tree", "-z", ours, theirs)
    answer = git.ask(*(_WITH_BASE if shows_base else ()), *command)
    # For a name that it does not know, git gives the exit code of a conflict, and no tree.
    if answer.exit_code not in {0, 1} or not answer.out:
        raise GitError(command, answer.exit_code, _why_not(git, ours, theirs, answer))
    tree, *rest = os.fsdecode(answer.out).split("\0")
    if answer.exit_code == 0:
        return MergeTrial(tree=tree)
    clashes = _clashes(tree, rest)
    taken = [clash for clash in clashes if any(matches(glob, clash.conflict.path) for glob in take)]
    if taken:
        tree, taken = _with_theirs(git, tree, theirs, taken)
    settled = {clash.conflict.path for clash in taken}
    left = [clash for clash in clashes if clash.conflict.path not in settled]
    entries = tuple(entry for clash in left for entry in clash.entries)
    return MergeTrial(tree=tree, conflicts=tuple(clash.conflict for clash in left), entries=entries)


def _merged_stand_ins(git: Git, ancestry: Ancestry) -> str:
    """The tree of a clean merge of two commits that stand in for ours and theirs; empty if there is none.

    They have the same trees, and what is shared as their parents, so the merge is the same. They live in a
    temporary directory. Of a conflict nothing is taken from here: its marks would name the stand-ins.
    """
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        ours, theirs = (
            _stand_in(Path(folder), tree, ancestry.shared, name)
            for tree, name in ((ancestry.ours, "ours"), (ancestry.theirs, "theirs"))
        )
        env = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": folder}
        answer = git.ask("merge-tree", "--write-tree", "-z", ours, theirs, env=env)
    return os.fsdecode(answer.out).split("\0")[0] if answer.exit_code == 0 else ""


def _stand_in(objects: Path, tree: str, parents: Sequence[str], name: str) -> str:
    """Writes a commit into a directory of objects; its id."""
    person = f"{name} <{name}> {_LATE} +0000"
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    content = "\n".join((*lines, f"author {person}", f"committer {person}", "", name, "")).encode()
    data = b"commit %d\0%b" % (len(content), content)
    oid = new("sha1" if len(tree) == _SHA1 else "sha256", data, usedforsecurity=False).hexdigest()
    file = objects / oid[:2] / oid[2:]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(zlib.compress(data, 1))
    return oid


def commit_merge(  # noqa: PLR0913 - what a commit has, and how it is signed
    git: Git,
    tree: str,
    parents: Sequence[str],
    message: str,
    *,
    identity: Mapping[str, str],
    sign: SigningFailure = SigningFailure.REQUIRED,
    once: bool = False,
) -> str:
    """A new commit; nothing leads to it yet. `identity` is variables of git's that say who made it."""
    draft = CommitDraft(tree=tree, parents=parents, message=os.fsencode(message), env=identity)
    return write_commit(git, draft, sign=sign, once=once)


def message(subject: str, trailers: Mapping[str, str]) -> str:
    lines = [f"{key}: {' '.join(value.split())}" for key, value in trailers.items()]
    return "\n".join((" ".join(subject.split()), *([""] if lines else []), *lines, ""))


def _why_not(git: Git, ours: str, theirs: str, answer: GitOutput) -> str:
    if git.ask("merge-base", ours, theirs).exit_code == 1:
        return (
            f"{ours} and {theirs} have no commit in common, so there is no telling what either changed; "
            "was the history of one of them replaced?"
        )
    return answer.said


# What git tells


def _clashes(tree: str, fields: Sequence[str]) -> list[_Clash]:
    rest = iter(fields)
    entries = list(_entries(rest))
    messages = list(_messages(rest))
    meant = dict(_set_aside(messages))
    found: dict[str, list[ConflictEntry]] = {}
    for entry in entries:
        found.setdefault(meant.get(entry.place, entry.place), []).append(entry)
    # Of a message about nothing that has entries, the place alone is known.
    for said in messages:
        if not any(meant.get(place, place) in found for place in said.places):
            found[said.places[0]] = []
    kinds = _kinds(messages, meant)
    return [_clash(tree, path, kinds.get(path, []), parts) for path, parts in found.items()]


def _entries(fields: Iterator[str]) -> Iterator[ConflictEntry]:
    for field in fields:
        entry = _ENTRY.fullmatch(field)
        if entry is None:
            return
        yield ConflictEntry(int(entry["stage"]), TreeVersion(entry["mode"], entry["oid"]), entry["place"])


def _messages(fields: Iterator[str]) -> Iterator[_Message]:
    """Those about conflicts. After the last there may be advice about submodules, in lines of plain text."""
    for count in fields:
        if not count.isdecimal():
            return
        places = tuple(islice(fields, int(count)))
        kind = _KIND.fullmatch(next(fields))
        next(fields)  # the same in words, which change from one version to the next
        if kind:
            yield _Message(kind[1], places)


def _set_aside(messages: Iterable[_Message]) -> Iterator[tuple[str, str]]:
    """The places that are not those of a side, and what they stand for."""
    for said in messages:
        for place in said.places:
            yield from ((other, place) for other in said.places if other.startswith(f"{place}~"))


def _kinds(messages: Iterable[_Message], meant: Mapping[str, str]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for said in messages:
        for place in said.places:
            kinds.setdefault(meant.get(place, place), []).append(said.kind)
    return kinds


def _clash(tree: str, path: str, kinds: Sequence[str], entries: Sequence[ConflictEntry]) -> _Clash:
    versions = {_STAGES[entry.stage - 1]: entry.version for entry in entries}
    merged = f"{tree}:{path}" if any(entry.place == path for entry in entries) else ""
    conflict = Conflict(path=path, kind=_kind(kinds, versions), merged=merged, **versions)
    return _Clash(conflict, entries)


def _kind(kinds: Sequence[str], versions: Mapping[str, TreeVersion]) -> str:
    """The most telling word: git calls much a conflict of contents, besides what else it is."""
    if any(version.mode == _LINK for version in versions.values()):
        return "submodule"
    special = next((kind for kind in kinds if kind != "contents"), None)
    return special or ("content" if "base" in versions else "add/add")


# Files that are taken from one side


def _with_theirs(git: Git, tree: str, theirs: str, clashes: Sequence[_Clash]) -> tuple[str, list[_Clash]]:
    """The tree with `theirs` in place of what is in conflict, and the conflicts that this has settled."""
    versions = _versions(git, theirs)
    real = set(versions.values())
    choices = [_Choice(clash, _chosen(clash, versions)) for clash in clashes if clash.places]
    # Into what one side has renamed, git may have merged what the other did: that is nobody's version.
    choices = [choice for choice in choices if choice.version is None or choice.version in real]
    direct = [choice for choice in choices if not choice.wants_room]
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        git.do("read-tree", tree, env=index)
        tree = _put(git, index, direct, len(tree))
        waiting = (choice for choice in choices if choice.wants_room)
        free = [choice for choice in waiting if not _is_there(git, tree, choice.clash.conflict.path)]
        if free:
            tree = _put(git, index, free, len(tree))
    return tree, [choice.clash for choice in (*direct, *free)]


def _versions(git: Git, commit: str) -> dict[str, TreeVersion]:
    entries = (entry.split("\t", 1) for entry in git.fields("ls-tree", "-r", "-z", "--full-tree", commit))
    return {path: TreeVersion(*start.split(" ")[::2]) for start, path in entries}


def _chosen(clash: _Clash, versions: Mapping[str, TreeVersion]) -> TreeVersion | None:
    """What theirs has there. If ours has renamed the file, that is what theirs has under the old name."""
    return versions.get(clash.conflict.path, clash.conflict.theirs)


def _is_there(git: Git, tree: str, path: str) -> bool:
    return git.says_yes("rev-parse", "--quiet", "--verify", f"{tree}:{path}")


def _put(git: Git, index: Mapping[str, str], choices: Iterable[_Choice], length: int) -> str:
    """The tree with these settled; `length` is that of an object's id."""
    lines: list[str] = []
    for choice in choices:
        lines += (f"0 {'0' * length}\t{place}" for place in choice.clash.places)
        if choice.version is not None:
            lines.append(f"{choice.version.mode} {choice.version.oid}\t{choice.clash.conflict.path}")
    changes = "".join(f"{line}\0" for line in lines)
    git.do("update-index", "-z", "--index-info", stdin=os.fsencode(changes), env=index)
    return git.line("write-tree", env=index)

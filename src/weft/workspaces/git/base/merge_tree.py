"""Merges that are computed without touching a ref or a file: `git merge-tree` creates a tree from two commits.

It reports a conflict in two forms. First come index entries: up to three versions of each file that it could not
merge. Then come messages, each with a kind of conflict and the files concerned. The entries give the versions to
choose from, the messages the cause. Some conflicts have no entries, for example if one side moved the files of a
directory to several others while the other side added a file to it. Weft therefore trusts the exit code and never
treats such a merge as clean.

Where both sides put different objects at one path, git moves one of them aside, to `path~name`. Weft reports both
as one conflict at the path.
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
from weft.workspaces.git.base.refs import tree_of

_ENTRY = re.compile(r"(?P<mode>\d+) (?P<oid>[0-9a-f]+) (?P<stage>[123])\t(?P<place>.*)", re.DOTALL)
_KIND = re.compile(r"CONFLICT ?\((.*)\)")
_LINK = "160000"
_STAGES = ("base", "ours", "theirs")
_SHA1 = 40
"""The digits of a SHA-1 object id; other repositories use SHA-256."""
_LATE = 4_102_444_800
"""The date of stand-in commits: later than all real ones, so that git visits them first."""
_WITH_BASE = ("-c", "merge.conflictStyle=diff3")


class MergeTrial(Struct, frozen=True, kw_only=True):
    """The result of a computed merge."""

    tree: str
    """The merged tree; files in conflict have conflict markers."""
    conflicts: tuple[Conflict, ...] = ()
    entries: tuple["ConflictEntry", ...] = ()
    """The index entries of the files in conflict."""


class ConflictEntry(Struct, frozen=True):
    """One version of a file in conflict."""

    stage: int
    """1: the common ancestor; 2: ours; 3: theirs."""
    version: TreeVersion
    place: str
    """The path in the tree of the trial."""


class _Message(Struct, frozen=True):
    kind: str
    places: tuple[str, ...]


class _Clash(Struct):
    """A conflict with its index entries."""

    conflict: Conflict
    entries: Sequence[ConflictEntry]

    @property
    def places(self) -> set[str]:
        """The paths of its versions in the tree of the trial."""
        return {entry.place for entry in self.entries}


class _Choice(Struct, frozen=True):
    """The resolution of a conflict by one of its versions."""

    clash: _Clash
    version: TreeVersion | None
    """The version that replaces the conflict; None removes the file."""

    @property
    def wants_room(self) -> bool:
        """Whether the version is a file at the path of a directory. It fits only once that directory is empty."""
        return self.version is not None and self.clash.conflict.path not in self.clash.places


class Ancestry(Struct, frozen=True, kw_only=True):
    """What the caller knows about the two commits of a merge, so that git need not search for it."""

    ours: str
    """The tree of our commit."""
    theirs: str
    """The tree of theirs."""
    shared: tuple[str, ...]
    """Common ancestors, such that every common ancestor leads to one of these."""


def try_merge(
    git: Git,
    ours: str,
    theirs: str,
    *,
    take: Sequence[str] = (),
    shows_base: bool = False,
    ancestry: Ancestry | None = None,
) -> MergeTrial:
    """Merges the commit `theirs` into the commit `ours`, without touching refs or files.

    Files in conflict that match a glob of `take` get the version of `theirs`, or are removed if `theirs` removed
    them. With `shows_base`, conflict markers also show the common ancestor. `git` runs at the top of a checkout,
    because it reports paths relative to its directory and reads the merge attributes there. Several threads may
    call this at once.

    To find common ancestors, git walks the history back to where the longer branch started, which may be thousands
    of commits. With an `ancestry`, it need not.
    """
    if ancestry is not None and ancestry.shared:
        # Measured with 1,600 landings: without an ancestry git reads 5,000 commits for each merge, 180 ms of
        # CPU.
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
    resolved = [clash for clash in clashes if any(matches(glob, clash.conflict.path) for glob in take)]
    if resolved:
        tree, resolved = _with_theirs(git, tree, theirs, resolved)
    settled = {clash.conflict.path for clash in resolved}
    unresolved = [clash for clash in clashes if clash.conflict.path not in settled]
    entries = tuple(entry for clash in unresolved for entry in clash.entries)
    return MergeTrial(tree=tree, conflicts=tuple(clash.conflict for clash in unresolved), entries=entries)


def reapply(git: Git, commit: str, parent: str, onto: str) -> str:
    """Returns the tree of `onto` with the changes from `parent` to `commit`; empty if they do not apply."""
    trees = Ancestry(ours=tree_of(git, onto), theirs=tree_of(git, commit), shared=(parent,))
    return _merged_stand_ins(git, trees)


def _merged_stand_ins(git: Git, ancestry: Ancestry) -> str:
    """Returns the tree of a clean merge of two commits that stand in for ours and theirs; else empty.

    The stand-ins have the same trees and the shared ancestors as parents, so the merge is the same. They live in a
    temporary directory. A conflict is not taken from this merge, because its markers would name the stand-ins.
    """
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        ours, theirs = (
            _stand_in(Path(folder), tree, ancestry.shared, name)
            for tree, name in ((ancestry.ours, "ours"), (ancestry.theirs, "theirs"))
        )
        # git writes the merged tree to the repository itself; only the two stand-ins are in the temporary
        # directory, and no object that stays refers to them.
        env = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": folder}
        answer = git.ask("merge-tree", "--write-tree", "-z", ours, theirs, env=env)
    return os.fsdecode(answer.out).split("\0")[0] if answer.exit_code == 0 else ""


def _stand_in(objects: Path, tree: str, parents: Sequence[str], name: str) -> str:
    """Writes a commit to an object directory and returns its id."""
    # git walks commits by date, newest first. An early date here would make it visit the whole history before
    # it meets the stand-ins' parents.
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
    """Returns a new commit; no ref leads to it yet. `identity` holds git's variables for author and committer."""
    draft = CommitDraft(tree=tree, parents=parents, message=os.fsencode(message), env=identity)
    return write_commit(git, draft, sign=sign, once=once)


def message(subject: str, trailers: Mapping[str, str]) -> str:
    lines = [f"{key}: {' '.join(value.split())}" for key, value in trailers.items()]
    return "\n".join((" ".join(subject.split()), *([""] if lines else []), *lines, ""))


def _why_not(git: Git, ours: str, theirs: str, answer: GitOutput) -> str:
    # merge-tree gives the same exit code for unrelated histories as for other errors; merge-base has one for
    # exactly that.
    if git.ask("merge-base", ours, theirs).exit_code == 1:
        return (
            f"{ours} and {theirs} have no commit in common, so their changes cannot be compared; was the history "
            f"of one of them replaced?"
        )
    return answer.message


# The output of merge-tree


def _clashes(tree: str, fields: Sequence[str]) -> list[_Clash]:
    rest = iter(fields)
    entries = list(_entries(rest))
    messages = list(_messages(rest))
    path_by_place = dict(_set_aside(messages))
    entries_by_path: dict[str, list[ConflictEntry]] = {}
    for entry in entries:
        entries_by_path.setdefault(path_by_place.get(entry.place, entry.place), []).append(entry)
    # If none of a message's files has entries, only the path of the conflict is known.
    for message in messages:
        if not any(path_by_place.get(place, place) in entries_by_path for place in message.places):
            entries_by_path[message.places[0]] = []
    kinds = _kinds(messages, path_by_place)
    return [_clash(tree, path, kinds.get(path, []), parts) for path, parts in entries_by_path.items()]


def _entries(fields: Iterator[str]) -> Iterator[ConflictEntry]:
    for field in fields:
        entry = _ENTRY.fullmatch(field)
        if entry is None:
            return
        yield ConflictEntry(int(entry["stage"]), TreeVersion(entry["mode"], entry["oid"]), entry["place"])


def _messages(fields: Iterator[str]) -> Iterator[_Message]:
    """Yields the messages about conflicts. Plain-text advice about submodules may follow the last one."""
    for count in fields:
        if not count.isdecimal():
            return
        places = tuple(islice(fields, int(count)))
        kind = _KIND.fullmatch(next(fields))
        next(fields)  # the message text, which changes between versions of git
        if kind:
            yield _Message(kind[1], places)


def _set_aside(messages: Iterable[_Message]) -> Iterator[tuple[str, str]]:
    """Yields the places to which git moved a version aside, with the real path of each."""
    for message in messages:
        for place in message.places:
            yield from ((aside, place) for aside in message.places if aside.startswith(f"{place}~"))


def _kinds(messages: Iterable[_Message], path_by_place: Mapping[str, str]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for message in messages:
        for place in message.places:
            kinds.setdefault(path_by_place.get(place, place), []).append(message.kind)
    return kinds


def _clash(tree: str, path: str, kinds: Sequence[str], entries: Sequence[ConflictEntry]) -> _Clash:
    versions = {_STAGES[entry.stage - 1]: entry.version for entry in entries}
    merged = f"{tree}:{path}" if any(entry.place == path for entry in entries) else ""
    conflict = Conflict(path=path, kind=_kind(kinds, versions), merged=merged, **versions)
    return _Clash(conflict, entries)


def _kind(kinds: Sequence[str], versions: Mapping[str, TreeVersion]) -> str:
    """Returns the most specific kind. git reports many conflicts as `contents` in addition to their real kind."""
    if any(version.mode == _LINK for version in versions.values()):
        return "submodule"
    special = next((kind for kind in kinds if kind != "contents"), None)
    return special or ("content" if "base" in versions else "add/add")


# Files that are taken from one side


def _with_theirs(git: Git, tree: str, theirs: str, clashes: Sequence[_Clash]) -> tuple[str, list[_Clash]]:
    """Returns the tree with the versions of `theirs`, and the conflicts that this resolves."""
    # The tree of `theirs` is read as a whole, because git reports a merged blob as "theirs" where both sides
    # renamed.
    versions = _versions(git, theirs)
    real = set(versions.values())
    choices = [_Choice(clash, _choose_version(clash, versions)) for clash in clashes if clash.places]
    # For a renamed file, git may report a merged version that is on neither side; only real versions are used.
    choices = [choice for choice in choices if choice.version is None or choice.version in real]
    # Two passes: a file that replaces a directory fits only after the choices for the files in that directory
    # have removed them.
    direct = [choice for choice in choices if not choice.wants_room]
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        git.do("read-tree", tree, env=index)
        tree = _put(git, index, direct, len(tree))
        deferred = (choice for choice in choices if choice.wants_room)
        free = [choice for choice in deferred if not _is_there(git, tree, choice.clash.conflict.path)]
        if free:
            tree = _put(git, index, free, len(tree))
    return tree, [choice.clash for choice in (*direct, *free)]


def _versions(git: Git, commit: str) -> dict[str, TreeVersion]:
    entries = (entry.split("\t", 1) for entry in git.fields("ls-tree", "-r", "-z", "--full-tree", commit))
    return {path: TreeVersion(*start.split(" ")[::2]) for start, path in entries}


def _choose_version(clash: _Clash, versions: Mapping[str, TreeVersion]) -> TreeVersion | None:
    """Returns the version of theirs. If ours renamed the file, theirs still uses the old name."""
    return versions.get(clash.conflict.path, clash.conflict.theirs)


def _is_there(git: Git, tree: str, path: str) -> bool:
    return git.says_yes("rev-parse", "--quiet", "--verify", f"{tree}:{path}")


def _put(git: Git, index: Mapping[str, str], choices: Iterable[_Choice], length: int) -> str:
    """Returns the tree with these choices applied; `length` is the length of an object id."""
    lines: list[str] = []
    for choice in choices:
        # Mode 0 removes a path from the index.
        lines += (f"0 {'0' * length}\t{place}" for place in choice.clash.places)
        if choice.version is not None:
            lines.append(f"{choice.version.mode} {choice.version.oid}\t{choice.clash.conflict.path}")
    changes = "".join(f"{line}\0" for line in lines)
    git.do("update-index", "-z", "--index-info", stdin=os.fsencode(changes), env=index)
    return git.line("write-tree", env=index)

"""The git directory that the steps of a slice have for themselves, in the registration of its worktree.

<registration>/weft-clone/git     the clone: whatever works in the workspace can write all of it
<registration>/weft-clone/link    a file `.git` that leads there, to be mounted over the one of the workspace
<registration>/weft-clone/handed  the note of what was last handed out and taken in

No git of Weft's ever runs there: what is in the clone is read and written as files that may be anything.
"""

import os
import re
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from weft.ports.workspaces import CLONE
from weft.safe_files import Tree
from weft.workspaces.clone_files import (
    UntrustedError,
    exists,
    read_file,
    remove_file,
    write_file,
    write_from,
    write_locked,
)
from weft.workspaces.git.base.lock_files import Pause, is_stale
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.worktree_links import OPERATIONS, clone_of, text_of
from weft.workspaces.git.clones.foreign import alternate
from weft.workspaces.git.clones.loose_objects import is_oid

_NOTE = "handed"
_LINK = "link"
_SMALL = 64 * 1024
_LOG = 8 * 1024 * 1024
_PACKED = 64 * 1024 * 1024
_SYMBOLIC = b"ref:"
_COPIED = re.compile(
    r"user\.(name|email)|author\..*|committer\..*|i18n\..*|core\.(autocrlf|eol|filemode|symlinks|ignorecase"
    r"|precomposeunicode|protecthfs|protectntfs|abbrev|quotepath)|extensions\.objectformat"
)
"""What a clone has of the configuration of the repository."""
_OWN = {"core.bare": "false", "core.logallrefupdates": "true", "gc.auto": "0", "maintenance.auto": "false"}
_OF_MERGE = ("MERGE_MSG", "MERGE_MODE", "MERGE_HEAD")
_LOCKS = ("index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock")
_SPECIAL = re.compile(r'[\\"\n]')


class CloneState(Struct, frozen=True, kw_only=True):
    """Where a clone is."""

    ref: str
    """What is checked out: a branch, as a full ref, or a commit."""
    head: str
    """The commit of that; empty if there is none."""
    branch: str
    """The commit of the slice's own branch; empty if that is gone."""
    log_size: int
    log: str
    """A digest of the log of the head."""


class HandedState(Struct, frozen=True, kw_only=True):
    state: CloneState | None = None
    """Of the clone, when it was last taken in or handed out."""
    given: tuple[object, ...] = ()
    """Of the registration, when that was last handed out."""
    entered: tuple[str, ...] = ()
    """The commits that the branch in the repository was moved to since, while the step ran."""


# Making


def make_clone(git: Git, git_dir: Path, common: Path, refs: Mapping[str, str]) -> None:
    """`git` is at the top of the user's checkout; `refs` are some that the clone is to know, besides tags.

    What is in it yet is no head and no index: see `hand_out`.
    """
    if clone_of(git_dir) is not None:
        return
    aside = git_dir / f"{CLONE}.new"
    remove_file(Tree(git_dir), aside.name)
    place = aside / "git"
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (place / name).mkdir(parents=True)
    (place / "HEAD").write_text("ref: refs/heads/none\n")
    (place / "config").write_bytes(os.fsencode(_configuration(git, git_dir)))
    (place / "objects/info/alternates").write_bytes(os.fsencode(f"{alternate(common / 'objects')}\n"))
    for name, source in {"exclude": common / "info", "sparse-checkout": git_dir / "info"}.items():
        text = text_of(source / name)
        if text is not None:
            (place / "info" / name).write_bytes(os.fsencode(f"{text}\n"))
    (place / "packed-refs").write_bytes(os.fsencode(_packed(git, refs)))
    (aside / _LINK).write_bytes(os.fsencode(f"gitdir: {git_dir / CLONE / 'git'}\n"))
    aside.rename(git_dir / CLONE)


def _configuration(git: Git, git_dir: Path) -> str:
    settings = dict(_OWN)
    for entry in git.fields("config", "--local", "--list", "-z"):
        name, _, value = entry.partition("\n")
        if _COPIED.fullmatch(name):
            settings[name] = value
    if (git_dir / "info" / "sparse-checkout").exists():
        settings |= {"core.sparsecheckout": "true", "core.sparsecheckoutcone": "true"}
    version = "1" if "extensions.objectformat" in settings else "0"
    settings["core.repositoryformatversion"] = version
    lines: list[str] = []
    for name, value in settings.items():
        section, _, key = name.partition(".")
        lines.append(f'[{section}]\n\t{key} = "{_SPECIAL.sub(_escaped, value)}"\n')
    return "".join(lines)


def _escaped(match: "re.Match[str]") -> str:
    return "\\n" if match[0] == "\n" else f"\\{match[0]}"


def _packed(git: Git, refs: Mapping[str, str]) -> str:
    lines = git.line("for-each-ref", "--format=%(objectname) %(refname)", "refs/tags", "refs/remotes")
    own = [f"{commit} {ref}" for ref, commit in refs.items()]
    return "".join(f"{line}\n" for line in (*own, *lines.splitlines()))


# Reading


def read_state(place: Path, branch: str) -> CloneState:
    """Raises `UntrustedError` if the clone is not what it should be."""
    tree = Tree(place)
    text = (read_file(tree, "HEAD", most=_SMALL) or b"").strip()
    try:
        ref = text.removeprefix(_SYMBOLIC).strip().decode()
    except UnicodeDecodeError as error:
        raise UntrustedError("what is checked out there has an odd name") from error
    own = _commit_of(tree, branch)
    if not text.startswith(_SYMBOLIC):
        head = ref if is_oid(ref) else ""
    else:
        head = own if ref == branch else _commit_of(tree, ref)
    log = read_file(tree, "logs/HEAD", most=_LOG) or b""
    digest = blake2b(log, digest_size=16).hexdigest()
    return CloneState(ref=ref, head=head, branch=own, log_size=len(log), log=digest)


def read_branch(place: Path, branch: str) -> str:
    """The commit of a branch; empty if it is gone. Raises `UntrustedError`."""
    return _commit_of(Tree(place), branch)


def _commit_of(tree: Tree, ref: str) -> str:
    """A ref that leads to another is refused, whatever that is."""
    if not _is_ref(ref):
        raise UntrustedError(f"what is checked out there has an odd name: {ref[:80]!r}")
    text = read_file(tree, ref, most=_SMALL)
    if text is None:
        return _packed_commit(tree, ref)
    if text.startswith(_SYMBOLIC):
        raise UntrustedError(f"{ref} is a symbolic ref")
    oid = os.fsdecode(text.strip())
    if not is_oid(oid):
        raise UntrustedError(f"{ref} does not name a commit")
    return oid


def _packed_commit(tree: Tree, ref: str) -> str:
    packed = read_file(tree, "packed-refs", most=_PACKED) or b""
    wanted = b" " + os.fsencode(ref)
    for line in packed.split(b"\n"):
        if line.endswith(wanted):
            oid = os.fsdecode(line.removesuffix(wanted))
            if is_oid(oid):
                return oid
    return ""


def _is_ref(ref: str) -> bool:
    first, *parts = ref.split("/")
    is_plain = not {"", ".", ".."}.intersection(parts) and "\0" not in ref
    return first == "refs" and len(parts) > 1 and is_plain


def logged(place: Path, *, after: int = 0) -> list[str]:
    """The commits that its head was at, from so many bytes of the log on; lines that say nothing are left out."""
    log = read_file(Tree(place), "logs/HEAD", most=_LOG) or b""
    fields = (line.split(b" ", 2) for line in (log if len(log) < after else log[after:]).split(b"\n"))
    oids = [os.fsdecode(each[1]) for each in fields if len(each) > 2]  # noqa: PLR2004
    return [oid for oid in dict.fromkeys(oids) if is_oid(oid) and oid.strip("0")]


def unmerged_in_clone(place: Path, *, digits: int) -> frozenset[bytes]:
    """The files that the index of a clone has several versions of; `digits`: of the names of objects."""
    from weft.workspaces.git.base.index_file import unmerged  # noqa: PLC0415 - only for conflicts

    index = read_file(Tree(place), "index", most=_PACKED)
    return frozenset() if index is None else unmerged(index, digits=digits)


def holds_more(git_dir: Path, branch: str) -> bool:
    """Whether something was done in a clone since it was last taken in or handed out."""
    place, handed = clone_of(git_dir), handed_in(git_dir)
    if place is None or handed.state is None:
        return False
    try:
        return read_state(place, branch) != handed.state
    except UntrustedError:
        return True


# The note


def handed_in(git_dir: Path) -> HandedState:
    try:
        return msgspec.json.decode((git_dir / CLONE / _NOTE).read_bytes(), type=HandedState)
    except (OSError, msgspec.DecodeError):
        return HandedState()


def note_handed(git_dir: Path, handed: HandedState) -> None:
    note = git_dir / CLONE / _NOTE
    aside = note.with_name(f"{_NOTE}.new")
    aside.write_bytes(msgspec.json.encode(handed))
    aside.replace(note)


# Handing out


def hand_out(git: Git, git_dir: Path, branch: str, *, pause: Pause) -> None:
    """Bring a clone to where the registration is, unless it has moved since it was taken in.

    `git` is at the workspace.
    """
    place = clone_of(git_dir)
    if place is None:
        return
    handed = handed_in(git_dir)
    given = _given(git, git_dir)
    state = read_state(place, branch)
    _drop_locks(place, git.directory, branch, pause)
    if handed.state is not None and state != handed.state:
        return  # a step is at work there; the next look takes in what it did
    if handed.state == state and list(handed.given) == list(given):
        return
    ref, head = given[0], given[1]
    tree = Tree(place)
    _hand_head(tree, str(ref), str(head), branch)
    if (git_dir / "index").exists():
        write_locked(tree, "index", (git_dir / "index").read_bytes())
    _hand_operation(tree, git_dir)
    is_branch = ref == branch
    after = CloneState(
        ref=str(ref) if str(ref).startswith("refs/") else str(head),
        head=str(head),
        branch=str(head) if is_branch else state.branch,
        log_size=state.log_size,
        log=state.log,
    )
    note_handed(git_dir, HandedState(state=after, given=given))


def _given(git: Git, git_dir: Path) -> tuple[object, ...]:
    """What the registration has to give: its ref, its commit, its index, its unfinished merge."""
    text = text_of(git_dir / "HEAD") or ""
    ref = text.removeprefix("ref:").strip()
    head = git.ask("rev-parse", "--quiet", "--verify", "HEAD^{commit}").text
    try:
        status = (git_dir / "index").stat()
        index = f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"
    except FileNotFoundError:
        index = ""
    return ref, head, index, *(text_of(git_dir / name) or "" for name in _OF_MERGE)


def _hand_head(tree: Tree, ref: str, head: str, branch: str) -> None:
    if ref == branch and head:
        write_locked(tree, branch, f"{head}\n".encode())
    is_ref = ref.startswith("refs/")
    write_file(tree, "HEAD", os.fsencode(f"ref: {ref}\n" if is_ref else f"{head}\n"))


def quit_in_clone(git_dir: Path) -> None:
    """Whatever was begun there is not under way any more."""
    place = clone_of(git_dir)
    if place is not None:
        _quit(Tree(place))


def _quit(tree: Tree) -> None:
    for name in (*OPERATIONS, *_OF_MERGE, "sequencer", "AUTO_MERGE"):
        remove_file(tree, name.partition("/")[0])


def _hand_operation(tree: Tree, git_dir: Path) -> None:
    _quit(tree)
    if (git_dir / "MERGE_HEAD").exists():
        for name in _OF_MERGE:
            text = text_of(git_dir / name)
            if text is not None:
                write_file(tree, name, os.fsencode(f"{text}\n"))


def _drop_locks(place: Path, directory: Path, branch: str, pause: Pause) -> None:
    """Those that a git left that died."""
    tree = Tree(place)
    for name in (*_LOCKS, f"{branch}.lock"):
        if exists(tree, name) and is_stale(place / name, directory, pause=pause):
            remove_file(tree, name)


# The file `.git` of the workspace


def lead(directory: Path, git_dir: Path, *, to_clone: bool) -> None:
    """Where git finds its directory, for whatever works in the workspace without a sandbox."""
    place = clone_of(git_dir)
    wanted = git_dir if not to_clone or place is None else place
    text = os.fsencode(f"gitdir: {wanted}\n")
    tree = Tree(directory)
    if read_file(tree, ".git", most=_SMALL) != text:
        # A file that a dead process left in the workspace would count as work of the slice.
        write_from(Tree(git_dir), f"{CLONE}.link", tree, ".git", text)

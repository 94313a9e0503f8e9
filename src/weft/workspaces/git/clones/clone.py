"""The clone of a slice: a git directory for its steps, in the registration of its worktree.

<registration>/weft-clone/git     the clone; steps in the workspace can write all of it
<registration>/weft-clone/link    a file `.git` that leads there, to be mounted over the one of the workspace
<registration>/weft-clone/handed  a note of the state at the last exchange with the repository

Weft never runs git in a clone. It reads and writes the clone as files that it does not trust.
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
_COPIED = (
    r"user\.(name|email)|author\..*|committer\..*|i18n\..*|core\.(autocrlf|eol|filemode|symlinks|ignorecase"
    r"|precomposeunicode|protecthfs|protectntfs|abbrev|quotepath)|extensions\.objectformat"
)
"""The settings that a clone copies from the configuration of the repository."""
_OWN = {"core.bare": "false", "core.logallrefupdates": "true", "gc.auto": "0", "maintenance.auto": "false"}
_OF_MERGE = ("MERGE_MSG", "MERGE_MODE", "MERGE_HEAD")
_LOCKS = ("index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock")
_SPECIAL = re.compile(r'[\\"\n]')


class CloneState(Struct, frozen=True, kw_only=True):
    """The state of a clone."""

    ref: str
    """What is checked out: a branch, as a full ref, or a commit."""
    head: str
    """The commit that is checked out; empty if there is none."""
    branch: str
    """The commit of the slice's own branch; empty if the branch is gone."""
    log_size: int
    log: str
    """A digest of the reflog of HEAD."""


class ExchangeNote(Struct, frozen=True, kw_only=True):
    """The state at the last exchange between clone and repository."""

    state: CloneState | None = None
    """The clone's state after the exchange."""
    given: tuple[object, ...] = ()
    """The registration's state when it was last handed out."""
    entered: tuple[str, ...] = ()
    """The commits to which the repository's branch was moved since then, while the step ran."""


# Creation


def make_clone(git: Git, git_dir: Path, common: Path, refs: Mapping[str, str]) -> None:
    """Creates the clone unless it exists; `git` is at the top of the user's checkout.

    `refs` are refs that the clone has besides tags. HEAD and the index come later, from `hand_out`.
    """
    if clone_of(git_dir) is not None:
        return
    # A crash leaves at most this directory, which the next attempt removes.
    aside = git_dir / f"{CLONE}.new"
    remove_file(Tree(git_dir), aside.name)
    clone = aside / "git"
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (clone / name).mkdir(parents=True)
    # git takes a directory without HEAD for no repository; the real HEAD comes with the first hand-out.
    (clone / "HEAD").write_text("ref: refs/heads/none\n")
    (clone / "config").write_bytes(os.fsencode(_configuration(git, git_dir)))
    (clone / "objects/info/alternates").write_bytes(os.fsencode(f"{alternate(common / 'objects')}\n"))
    for name, source in {"exclude": common / "info", "sparse-checkout": git_dir / "info"}.items():
        text = text_of(source / name)
        if text is not None:
            (clone / "info" / name).write_bytes(os.fsencode(f"{text}\n"))
    (clone / "packed-refs").write_bytes(os.fsencode(_packed_refs(git, refs)))
    (aside / _LINK).write_bytes(os.fsencode(f"gitdir: {git_dir / CLONE / 'git'}\n"))
    # The rename makes the clone appear complete, or not at all.
    aside.rename(git_dir / CLONE)


def _configuration(git: Git, git_dir: Path) -> str:
    settings = dict(_OWN)
    for entry in git.fields("config", "--local", "--list", "-z"):
        name, _, value = entry.partition("\n")
        if re.fullmatch(_COPIED, name):
            settings[name] = value
    if (git_dir / "info" / "sparse-checkout").exists():
        settings |= {"core.sparsecheckout": "true", "core.sparsecheckoutcone": "true"}
    version = "1" if "extensions.objectformat" in settings else "0"
    settings["core.repositoryformatversion"] = version
    lines: list[str] = []
    for name, value in settings.items():
        section, _, key = name.partition(".")
        lines.append(f'[{section}]\n\t{key} = "{_SPECIAL.sub(_escape, value)}"\n')
    return "".join(lines)


def _escape(match: "re.Match[str]") -> str:
    return "\\n" if match[0] == "\n" else f"\\{match[0]}"


def _packed_refs(git: Git, refs: Mapping[str, str]) -> str:
    lines = git.line("for-each-ref", "--format=%(objectname) %(refname)", "refs/tags", "refs/remotes")
    own = [f"{commit} {ref}" for ref, commit in refs.items()]
    return "".join(f"{line}\n" for line in (*own, *lines.splitlines()))


# Reading


def read_state(place: Path, branch: str) -> CloneState:
    """Returns the state of a clone. Raises `UntrustedError` if the clone is malformed."""
    tree = Tree(place)
    text = (read_file(tree, "HEAD", most=_SMALL) or b"").strip()
    try:
        ref = text.removeprefix(_SYMBOLIC).strip().decode()
    except UnicodeDecodeError as error:
        raise UntrustedError("HEAD there has an invalid name") from error
    # Read once: a step may move the branch between two reads, and then head and branch would disagree.
    branch_commit = _commit_of(tree, branch)
    if not text.startswith(_SYMBOLIC):
        head = ref if is_oid(ref) else ""
    else:
        head = branch_commit if ref == branch else _commit_of(tree, ref)
    log = read_file(tree, "logs/HEAD", most=_LOG) or b""
    digest = blake2b(log, digest_size=16).hexdigest()
    return CloneState(ref=ref, head=head, branch=branch_commit, log_size=len(log), log=digest)


def read_branch(place: Path, branch: str) -> str:
    """Returns the commit of a branch; empty if the branch is gone. Raises `UntrustedError`."""
    return _commit_of(Tree(place), branch)


def _commit_of(tree: Tree, ref: str) -> str:
    """Returns the commit of a ref. Refuses symbolic refs, because a step could point them anywhere."""
    if not _is_ref(ref):
        raise UntrustedError(f"HEAD there has an invalid name: {ref[:80]!r}")
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
    suffix = b" " + os.fsencode(ref)
    for line in packed.split(b"\n"):
        if line.endswith(suffix):
            oid = os.fsdecode(line.removesuffix(suffix))
            if is_oid(oid):
                return oid
    return ""


def _is_ref(ref: str) -> bool:
    first, *parts = ref.split("/")
    is_plain = not {"", ".", ".."}.intersection(parts) and "\0" not in ref
    return first == "refs" and len(parts) > 1 and is_plain


def logged(place: Path, *, after: int = 0) -> list[str]:
    """Returns the commits in the reflog of HEAD after `after` bytes, without malformed lines."""
    log = read_file(Tree(place), "logs/HEAD", most=_LOG) or b""
    fields = (line.split(b" ", 2) for line in (log if len(log) < after else log[after:]).split(b"\n"))
    oids = [os.fsdecode(columns[1]) for columns in fields if len(columns) > 2]  # noqa: PLR2004
    return [oid for oid in dict.fromkeys(oids) if is_oid(oid) and oid.strip("0")]


def unmerged_in_clone(place: Path, *, digits: int) -> frozenset[bytes]:
    """Returns the paths in conflict in the clone's index; `digits` is the length of an object id."""
    from weft.workspaces.git.base.index_file import unmerged  # noqa: PLC0415 - only for conflicts

    index = read_file(Tree(place), "index", most=_PACKED)
    return frozenset() if index is None else unmerged(index, digits=digits)


def holds_more(git_dir: Path, branch: str) -> bool:
    """Returns whether a step has changed the clone since the last exchange."""
    place, exchange = clone_of(git_dir), read_exchange(git_dir)
    if place is None or exchange.state is None:
        return False
    try:
        return read_state(place, branch) != exchange.state
    except UntrustedError:
        return True


# The note


def read_exchange(git_dir: Path) -> ExchangeNote:
    """Returns the note of the last exchange."""
    try:
        return msgspec.json.decode((git_dir / CLONE / _NOTE).read_bytes(), type=ExchangeNote)
    except (OSError, msgspec.DecodeError):
        return ExchangeNote()


def write_exchange(git_dir: Path, exchange: ExchangeNote) -> None:
    """Replaces the note of the last exchange."""
    note = git_dir / CLONE / _NOTE
    aside = note.with_name(f"{_NOTE}.new")
    aside.write_bytes(msgspec.json.encode(exchange))
    aside.replace(note)


# From the registration to the clone


def hand_out(git: Git, git_dir: Path, branch: str, *, pause: Pause) -> None:
    """Brings the clone to the state of the registration, unless a step has moved it since the last exchange.

    `git` is in the workspace.
    """
    clone = clone_of(git_dir)
    if clone is None:
        return
    exchange = read_exchange(git_dir)
    registration_state = _registration_state(git, git_dir)
    state = read_state(clone, branch)
    _drop_locks(clone, git.directory, branch, pause)
    if exchange.state is not None and state != exchange.state:
        return  # a step works there; the next `take_in` gets its commits
    # Nothing has changed on either side since the last exchange.
    if exchange.state == state and list(exchange.given) == list(registration_state):
        return
    ref, head = registration_state[0], registration_state[1]
    tree = Tree(clone)
    # Head and branch before the index, and the note last. A crash in between leaves a clone that differs from
    # its note, which looks like work of a step; the next `take_in` finds nothing new in it and the exchange is
    # repeated.
    _hand_head(tree, str(ref), str(head), branch)
    if (git_dir / "index").exists():
        write_locked(tree, "index", (git_dir / "index").read_bytes())
    _hand_operation(tree, git_dir)
    is_branch = ref == branch
    # Computed instead of read back: a step that has started meanwhile may have changed the clone already, and
    # its changes must show up as a difference.
    after = CloneState(
        ref=str(ref) if str(ref).startswith("refs/") else str(head),
        head=str(head),
        branch=str(head) if is_branch else state.branch,
        log_size=state.log_size,
        log=state.log,
    )
    write_exchange(git_dir, ExchangeNote(state=after, given=registration_state))


def _registration_state(git: Git, git_dir: Path) -> tuple[object, ...]:
    """Returns the registration's ref, commit, index state and unfinished merge."""
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
    """Ends every unfinished operation in the clone."""
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
    """Removes lock files of dead gits."""
    tree = Tree(place)
    for name in (*_LOCKS, f"{branch}.lock"):
        if exists(tree, name) and is_stale(place / name, directory, pause=pause):
            remove_file(tree, name)


# The `.git` file of the workspace


def point_git_file(directory: Path, git_dir: Path, *, to_clone: bool) -> None:
    """Sets which git directory processes in the workspace use when they run without a sandbox."""
    clone = clone_of(git_dir)
    target = git_dir if not to_clone or clone is None else clone
    text = os.fsencode(f"gitdir: {target}\n")
    tree = Tree(directory)
    if read_file(tree, ".git", most=_SMALL) != text:
        # The temporary file is not in the workspace: after a crash it would count as work of the slice.
        write_from(Tree(git_dir), f"{CLONE}.link", tree, ".git", text)

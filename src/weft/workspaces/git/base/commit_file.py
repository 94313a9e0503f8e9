"""Commit objects written without a git process, in the form in which git stores a new object.

A commit is a few lines of text under its own hash, in a file of its own. Starting git for it costs many times as
much as writing it, and a slice makes three. The bytes, and so the id, are those of `git commit-tree`.

Everything that only git can decide is left to git, by returning None: names that git would change, an identity
that it would guess, dates in its many notations, and a repository with settings about how objects are stored. The
caller checks nothing; it asks here first, and git if there is no answer.
"""

import hashlib
import os
import re
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.settings import GitSettings

_SHA1 = 40
"""The digits of a SHA-1 object id; other repositories use SHA-256."""
_READ_ONLY = 0o444
_BEST_SPEED = 1
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# git removes these characters from both ends of a name, and angle brackets and newlines from within.
_EDGE = r"[^\x00-\x20.,:;<>\"\\']"
_PLAIN = re.compile(rf"{_EDGE}(?:[^\x00-\x1f<>]*{_EDGE})?")
_DATE = re.compile(r"[0-9]{9,11} [+-][0-9]{4}")
_PREFIX_CONDITION = re.compile(r"includeif\.gitdir(?:/i)?:.*/\.path", re.DOTALL)
"""The condition of an include that a checkout and its worktrees fulfil alike: a directory around both."""
_STORAGE = (
    *("core.sharedrepository", "core.fsync", "core.fsyncmethod", "core.fsyncobjectfiles"),
    "extensions.worktreeconfig",
)
"""Settings that decide how git stores an object, or that differ between worktrees."""


def write_commit_file(
    git: Git, tree: str, parents: Sequence[str], message: bytes, env: Mapping[str, str]
) -> str | None:
    """Writes an unsigned commit and returns its id; None if only git can write it.

    `env` has variables that name author, committer and dates; they precede git's environment and settings.
    """
    people = [_person(git, role, env) for role in ("AUTHOR", "COMMITTER")]
    oids = (tree, *parents)
    is_plain = all(map(_OID.fullmatch, oids)) and len(set(parents)) == len(parents) and b"\0" not in message
    if None in people or not is_plain or not has_common_settings(git):
        return None
    author, committer = people
    lines = (
        f"tree {tree}",
        *(f"parent {parent}" for parent in parents),
        f"author {author}",
        f"committer {committer}",
        "",
        "",
    )
    content = "\n".join(lines).encode() + message
    if not _is_text(content):
        return None
    return _store(
        git.common / "objects", b"commit %d\0%b" % (len(content), content), is_long=len(tree) != _SHA1
    )


def _is_text(content: bytes) -> bool:
    """Returns whether git keeps the bytes as they are: it replaces those that are not characters in UTF-8."""
    if content.isascii():
        return True
    try:
        return not any(_is_no_character(ord(character)) for character in content.decode())
    except UnicodeDecodeError:
        return False


def _is_no_character(code: int) -> bool:
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF  # noqa: PLR2004 - reserved in Unicode


def committer(git: Git) -> str | None:
    """Returns the committer and the present time, as commits and reflogs have them; None if only git can tell."""
    return _person(git, "COMMITTER", {})


def has_common_settings(git: Git) -> bool:
    """Returns whether files can be written as git does by default, with the settings of the user's checkout."""
    if git.is_of_clone:
        return False
    settings = git.root.settings
    return (
        git.common == git.root.common
        and not any(settings.value(key) is not None for key in _STORAGE)
        and all(map(_PREFIX_CONDITION.fullmatch, settings.keys("includeif.")))
    )


# People


def _person(git: Git, role: str, env: Mapping[str, str]) -> str | None:
    """Returns name, address and date as a commit has them; None if git would have to guess or change one."""
    settings = git.root.settings
    name, email = (_part(git, settings, role, part, env) for part in ("NAME", "EMAIL"))
    date = _date(_variable(git, f"GIT_{role}_DATE", env))
    if not (name and email and date and _PLAIN.fullmatch(name) and _PLAIN.fullmatch(email)):
        return None
    try:
        f"{name}{email}".encode()
    except UnicodeEncodeError:  # bytes that are not UTF-8
        return None
    return f"{name} <{email}> {date}"


def _part(git: Git, settings: GitSettings, role: str, part: str, env: Mapping[str, str]) -> str | None:
    variable = _variable(git, f"GIT_{role}_{part}", env)
    if variable is not None:
        return variable
    own = settings.value(f"{role.lower()}.{part.lower()}")
    return own if own is not None else settings.value(f"user.{part.lower()}")


def _variable(git: Git, name: str, env: Mapping[str, str]) -> str | None:
    return env.get(name, git.variable(name))


def _date(variable: str | None) -> str | None:
    """Returns a date in git's own notation, which is the present time without a variable."""
    if variable is not None:
        return variable if _DATE.fullmatch(variable) else None
    now = int(time.time())
    minutes = time.localtime(now).tm_gmtoff // 60
    hours, rest = divmod(abs(minutes), 60)
    return f"{now} {'-' if minutes < 0 else '+'}{hours:02}{rest:02}"


# The file


def _store(objects: Path, data: bytes, *, is_long: bool) -> str | None:
    """Writes an object under its id; None if the machine refuses it, so that git reports why."""
    oid = hashlib.new("sha256" if is_long else "sha1", data, usedforsecurity=False).hexdigest()
    file = objects / oid[:2] / oid[2:]
    try:
        if not os.path.lexists(file):
            file.parent.mkdir(exist_ok=True)
            if file.parent.is_symlink():  # a step may have put it there; git decides
                return None
            _publish(file, zlib.compress(data, _BEST_SPEED))
    except OSError:
        return None
    return oid


def _publish(file: Path, content: bytes) -> None:
    """Creates a file with its whole content, as git does: under another name first, as git's own leftovers."""
    with NamedTemporaryFile(dir=file.parent, prefix="tmp_obj_", delete=False) as temporary:
        try:
            temporary.write(content)
            temporary.flush()
            os.fchmod(temporary.fileno(), _READ_ONLY)
            Path(temporary.name).rename(file)
        except BaseException:
            Path(temporary.name).unlink(missing_ok=True)
            raise

"""The repository of a plan, the commit that its work starts from, and the branch on which results land.

This module checks both before a run creates anything, and raises errors that say what to type.
"""

import os
import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from weft.errors import InputError, WeftError
from weft.system_errors import describe, is_shortage
from weft.workspaces.git.base.damage import DOCTOR, broken_refs, remedy
from weft.workspaces.git.base.discovery import repository_around
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import checked_out, is_ref, loose_commit_of, resolved

OLDEST = (2, 38)
"""The first git that merges without a checkout, with `merge-tree --write-tree`."""

_VERSION = re.compile(r"git version (\d+)\.(\d+)")
_TRUST = re.compile(r"^\s*(git config .*safe\.directory .+)$", re.MULTILINE)
_HEADS = "refs/heads/"
_WORD = re.compile(r"[^\W_]")


class Repository(Struct, frozen=True, kw_only=True):
    """The repository of a plan."""

    git: Git
    """git at the top."""
    top: Path
    """The root of the checkout that contains the plan."""
    common: Path
    """The git directory that all checkouts share: the `.git` of the main checkout."""
    inside: Path
    """The plan's directory, relative to the top."""
    identity: Mapping[str, str]
    """Variables for git that name an author and a committer, where the user has configured none."""


class Ends(Struct, frozen=True, kw_only=True):
    """The target of a plan and the commit that its work starts from."""

    target: str
    """The short name of the branch on which results land."""
    target_ref: str
    base: str
    """The commit that work starts from."""


# The repository


def open_repository(folder: Path, *, environ: Mapping[str, str], sign: str | bool = "auto") -> Repository:
    """Returns the repository that contains a directory. Raises `InputError` if Weft cannot work there.

    `sign`: whether commits are signed; `auto` follows git's configuration.
    """
    git = Git(folder, environ=environ)
    _require_version(git)
    top, common, inside = _layout(git)
    signs = git.settings.is_true("commit.gpgsign") if isinstance(sign, str) else sign
    repository = Repository(
        git=git.at_top(top, signs=signs), top=top, common=common, inside=inside, identity=_identity(git)
    )
    _require_commit(repository)
    return repository


def _layout(git: Git) -> tuple[Path, Path, Path]:
    """Returns the top of the checkout, the shared git directory, and the way from the top to the directory."""
    is_checkout = ("--is-bare-repository", "--is-inside-work-tree")
    questions = (("--show-toplevel",), ("--path-format=absolute", "--git-common-dir"), ("--show-prefix",))
    # One process for all answers. Opening a repository is part of every command, and each start of git costs
    # milliseconds.
    answer = git.ask("rev-parse", *is_checkout, *chain.from_iterable(questions))
    lines = os.fsdecode(answer.out).split("\n")[:-1]
    if answer.exit_code or lines[:2] != ["false", "true"]:
        _require_checkout(git)
    if len(lines) != len(is_checkout) + len(questions):  # a path has a line break
        lines = ["", "", *(git.line("rev-parse", *question) for question in questions)]
    top, common, inside = map(Path, lines[2:])
    return top, common, inside


def version_in(output: str) -> tuple[int, int] | None:
    """Returns major and minor version from the output of `git version`."""
    match = _VERSION.match(output)
    return None if match is None else (int(match[1]), int(match[2]))


def _require_version(git: Git) -> None:
    try:
        output = git.line("version")
    except OSError as error:
        if error.filename == "git":
            raise InputError(
                f"slices work in git worktrees, but the program `git` cannot be started ({error.strerror}); "
                f"install git, or set `isolation: dir` in the plan"
            ) from None
        # A full disk or too many open files is no mistake in the input, and has another exit code.
        kind = WeftError if is_shortage(error) else InputError
        raise kind(f"cannot work in {git.directory}: {describe(error)}") from None
    version = version_in(output)
    if version is None:
        raise InputError(
            f"cannot determine the version of git: `git version` says {output!r}; install git 2.38 or newer"
        )
    if version < OLDEST:
        raise InputError(
            f"this is {output}, and Weft needs 2.38 or newer to merge without touching your files; "
            f"install a newer git, or set `isolation: dir` in the plan"
        )


def _require_checkout(git: Git) -> None:
    answer = git.ask("rev-parse", "--is-bare-repository", "--is-inside-work-tree")
    if answer.exit_code:
        raise InputError(_why_not(git.directory, answer.message))
    bare, in_checkout = (word == "true" for word in answer.text.split())
    if bare:
        raise InputError(
            f"{git.directory} is in a bare repository, which has no files to work on; change to one of its "
            f"worktrees (`git worktree list` names them), or clone it and run the plan in the clone"
        )
    if not in_checkout:
        raise InputError(
            f"{git.directory} is inside a git directory, not in a checkout; put the plan into the directory that "
            f"contains `.git`"
        )


def _why_not(folder: Path, message: str) -> str:
    words = _in_one_line(message)
    trust = _TRUST.search(message)
    if trust:
        return f"git does not trust the owner of {folder} ({words}); if you do, type: {trust[1]}"
    if "not a git repository (or any" not in message:
        return (
            f"git cannot read the repository of {folder} ({words}); fix that until `git status` works there"
        )
    place = repository_around(folder.absolute())
    if place is not None:
        return (
            f"{place / '.git'} is not a valid git repository ({words}); fix that until `git status` works in "
            f"{folder}"
        )
    return (
        f"{folder} is not in a git repository, but slices work in git worktrees; type `git init` and "
        f"commit your files, or set `isolation: dir` in the plan"
    )


def _require_commit(repository: Repository) -> None:
    git = repository.git
    head = checked_out(git)
    has_commit = (head is not None and loose_commit_of(git, head)) or _resolves(git, "HEAD")
    if not has_commit and not _branches(repository):
        raise InputError(
            f"the repository {repository.top} has no commit yet, so slices have nothing to start from; "
            f"type: git add . && git commit -m 'first commit'"
        )


def _identity(git: Git) -> dict[str, str]:
    """Returns a replacement identity for each role that `git commit` could not fill."""
    if _is_configured(git):
        return {}
    return {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        if git.ask("var", f"GIT_{role}_IDENT").exit_code
        for part, value in (("NAME", "Weft"), ("EMAIL", "weft@localhost"))
    }


def _is_configured(git: Git) -> bool:
    """Returns whether the configuration alone names the user, so that git need not be asked for each role."""
    keys = [f"{role}.{part}" for role in ("author", "committer") for part in ("name", "email")]
    variables = [
        f"GIT_{role}_{part}" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL", "DATE")
    ]
    if git.has_variable(*variables) or any(git.settings.value(key) is not None for key in keys):
        return False
    # git removes some characters from names, and refuses one of which nothing is left.
    return all(_WORD.search(git.settings.value(f"user.{part}") or "") for part in ("name", "email"))


# The ends


def resolve_ends(
    repository: Repository, *, base: str | None, target: str | None, prefix: str = "weft/"
) -> Ends:
    """Returns the target and the base from the plan's settings. Raises `InputError` if they are invalid."""
    git = repository.git
    base_ref = None if base is None else _ref_of(git, base)
    if target is not None:
        target_ref = _ref_of(git, target) or _refuse_target(repository, target)
    else:
        target_ref = base_ref or _checked_out(repository)
    short = target_ref.removeprefix(_HEADS)
    if short.startswith(prefix):
        raise InputError(
            f"{short!r} is one of Weft's own branches, which start with {prefix!r}; results cannot land there; "
            f"switch to a branch, or write `target: BRANCH` in the plan"
        )
    tip = _commit(repository, target_ref, f"the branch {short!r}")
    if base is not None and base_ref != target_ref:
        return Ends(target=short, target_ref=target_ref, base=_base(repository, base, base_ref))
    return Ends(target=short, target_ref=target_ref, base=tip)


def _ref_of(git: Git, name: str) -> str | None:
    """Returns the full ref of a local branch, with a symbolic ref resolved; None if there is none."""
    # A branch can be a symbolic ref to another, for example `master` to `main`. Landing by compare-and-swap
    # needs the ref that really moves.
    return resolved(git, _HEADS + name.removeprefix(_HEADS))


def _checked_out(repository: Repository) -> str:
    head = checked_out(repository.git)
    if head is None:
        raise InputError(
            f"no branch is checked out in {repository.top} (HEAD is detached), so results have no target; switch "
            f"to a branch, or write `target: BRANCH` in the plan"
        )
    short = head.removeprefix(_HEADS)
    ref = _ref_of(repository.git, short)
    if ref is None:
        raise InputError(
            f"the branch {short!r} is checked out in {repository.top} and has no commit yet, so nothing can land "
            f"there; create one (git commit), or write `target: BRANCH` in the plan"
        )
    return ref


def _base(repository: Repository, base: str, ref: str | None) -> str:
    if ref is not None:
        return _commit(repository, ref, f"the branch {base!r}")
    if not _resolves(repository.git, base):
        raise InputError(
            f"{base!r}, the `base` of the plan, is neither a branch nor a tag nor a commit of {repository.top}"
            f"{_nearest(repository, base)}"
        )
    return _commit(repository, base, f"{base!r} (the `base` of the plan)")


def _commit(repository: Repository, name: str, description: str) -> str:
    """Returns the commit that a name leads to; `description` names it in error messages."""
    git = repository.git
    loose = loose_commit_of(git, name) if name.startswith(_HEADS) else None
    if loose is not None:
        return loose
    answer = git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if not answer.exit_code:
        return answer.text
    leads_to = git.ask("rev-parse", "--verify", "--end-of-options", name)
    kind = leads_to if leads_to.exit_code else git.ask("cat-file", "-t", leads_to.text)
    if not kind.exit_code:
        raise InputError(f"{description} is a {kind.text} and not a commit; write `base: BRANCH` in the plan")
    raise InputError(
        f"git cannot read the commit of {description} in {repository.top} ({_in_one_line(kind.message)}); "
        f"if the name is right, something is damaged; type: {remedy(git, name)}"
    )


def _refuse_target(repository: Repository, target: str) -> NoReturn:
    git = repository.git
    subject = f"{target!r}, the `target` of the plan,"
    if is_ref(git, f"refs/tags/{target}"):
        raise InputError(
            f"{subject} is a tag, and results land on branches only; to create a branch from it, "
            f"type `git branch NAME {target}`, and write `target: NAME` in the plan"
        )
    if is_ref(git, f"refs/remotes/{target}"):
        local = target.partition("/")[2]
        hint = "" if _ref_of(git, local) else f" after you have typed: git branch --track {local} {target}"
        raise InputError(
            f"{subject} is a branch of a remote, and results land on local branches, from which you push; write "
            f"`target: {local}` in the plan{hint}"
        )
    nearest = _nearest(repository, target)
    if _resolves(git, target):
        raise InputError(
            f"{subject} is a commit, and results land on branches{nearest}; write `target: BRANCH` in the plan"
        )
    raise InputError(
        f"{subject} is no branch of {repository.top}{nearest}; to create it, type: git branch {target}"
    )


def _resolves(git: Git, name: str) -> bool:
    return not git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", name).exit_code


def _nearest(repository: Repository, name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for mistakes

    near = get_close_matches(name, _branches(repository), n=3)
    return f" (did you mean {' or '.join(repr(branch) for branch in near)}?)" if near else ""


def _branches(repository: Repository) -> list[str]:
    """Returns all local branches.

    Raises `InputError` if one cannot be read, because others may then be missing.
    """
    listed = repository.git.ask("for-each-ref", "--format=%(refname:lstrip=2)", _HEADS)
    if listed.exit_code or "broken ref" in listed.message:
        broken = broken_refs(repository.git, _HEADS)
        command = remedy(repository.git, broken[0]) if broken else DOCTOR
        raise InputError(
            f"git cannot read the branches of {repository.top} ({_in_one_line(listed.message)}); type: {command}"
        )
    return listed.text.splitlines()


def _in_one_line(message: str) -> str:
    return " ".join(message.split())

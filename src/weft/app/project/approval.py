"""Whether the user agrees to what a project's configuration would have us run, and to what it loosens.

A repository that was cloned can bring a `.weft/config.yaml`, and that can name programs, or undo what the user has
set more strictly. Before the first run, and whenever one of these is another than before, the user has to have
approved exactly them, in this place. The plan needs none: to run it is what the user asked for. Nor does the
user's own configuration.

The hash is of the commands alone, so that it is the same on each machine, and a script can approve what was looked
at elsewhere. An approval is for them in one directory: the same lines do other things in another repository.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from weft.app.project.approval_book import Approval, ApprovalBook
from weft.app.project.places import absolute, project_of
from weft.app.project.worktree_place import is_usual_place
from weft.errors import InputError
from weft.plan.language.commands import ConfiguredCommand, configured_commands
from weft.plan.relaxations import Loosening, loosenings
from weft.plan.settings import Layer


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """What a person is asked to agree to."""

    project: Path
    file: str
    """The configuration, as it is called when something is said about it."""
    commands: tuple[ConfiguredCommand, ...]
    """Commands, then settings that are looser than the user's."""
    is_approved: bool
    users: Mapping[str, str] = {}
    """What the user has set, by the keys of the settings that loosen it."""
    before: Approval | None = None
    """What was last approved there, if it was something else."""

    @property
    def hash(self) -> str:
        return commands_hash(self.commands)

    def changes(self) -> Iterator[tuple[str, ConfiguredCommand]]:
        """All of it, each with `+` if it is new, `-` if it has gone, else a blank."""
        before = () if self.before is None else self.before.commands
        yield from _changes([ConfiguredCommand(*one) for one in before], self.commands)


class NotApprovedError(InputError):
    """The project's configuration has commands that the user has not approved."""

    def __init__(self, request: ApprovalRequest) -> None:
        self.request = request
        super().__init__(f"{request.file} has commands that you have not approved")

    def lines(self) -> Iterator[str]:
        yield f"error: {said(self.request)}:"
        yield from change_lines(self.request)
        how = approve_command(self.request.project)
        yield f"nothing has been run; to approve this, type: {how} (in a script: {how} --hash {self.request.hash})"


def said(request: ApprovalRequest) -> str:
    """Why a person is asked."""
    if request.before is None:
        what = "loosens settings in a way" if request.users else "names commands"
        return f"{request.file} came with this project, and {what} that you have not approved"
    if request.users:
        return f"what {request.file} runs and loosens is not what you approved at {request.before.at}"
    return f"the commands that {request.file} names are not those that you approved at {request.before.at}"


def change_lines(request: ApprovalRequest) -> Iterator[str]:
    """Nothing is left out or cut: what is not seen cannot be agreed to."""
    for mark, command in request.changes():
        value = command.value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        users = request.users.get(command.path)
        yield f"  {mark} {command.path}: {text}" + ("" if users is None else f"  (you have set: {users})")


def approve_command(project: Path) -> str:
    from shlex import quote  # noqa: PLC0415 - only when somebody has to type it

    here = project_of(absolute(Path())).project
    return "weft config approve" if here == project else f"weft -C {quote(str(project))} config approve"


def commands_hash(commands: Sequence[ConfiguredCommand]) -> str:
    text = json.dumps([[one.path, one.value] for one in commands], separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def _changes(
    before: Sequence[ConfiguredCommand], now: Sequence[ConfiguredCommand]
) -> Iterator[tuple[str, ConfiguredCommand]]:
    was, is_now = ([f"{one.path}: {json.dumps(one.value)}" for one in some] for some in (before, now))
    for kind, a, b, c, d in SequenceMatcher(None, was, is_now, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from ((" ", one) for one in now[c:d])
        else:
            yield from (("-", one) for one in before[a:b])
            yield from (("+", one) for one in now[c:d])


# --- asking, and being told ---


def request_of(
    layer: Layer, project: Path, environ: Mapping[str, str], *, user: Layer | None = None
) -> ApprovalRequest | None:
    """What there is to approve in a project's configuration; None if there is nothing.

    `user`: what the user's own configuration sets.
    """
    if layer.document is None:
        return None
    loosened = (*loosenings(layer, user), *_of_worktrees(layer, user, project, environ))
    commands = (*configured_commands(layer.document.root), *(loosening.setting for loosening in loosened))
    if not commands:
        return None
    real = os.path.realpath(project)
    wanted = commands_hash(commands)
    here = [loosening for loosening in ApprovalBook(environ).read() if loosening.project == real]
    is_approved = any(loosening.hash == wanted for loosening in here)
    return ApprovalRequest(
        project=project,
        file=layer.document.file,
        commands=commands,
        is_approved=is_approved,
        users={loosening.setting.path: loosening.users for loosening in loosened},
        before=here[-1] if here and not is_approved else None,
    )


def _of_worktrees(
    layer: Layer, user: Layer | None, project: Path, environ: Mapping[str, str]
) -> Iterator[Loosening]:
    place = layer.values.get("worktrees")
    users = None if user is None else user.values.get("worktrees")
    if place is not None and place != users and not is_usual_place(place, project, environ):
        usual = "nothing; without approval worktrees are in the project or in your cache"
        yield Loosening(setting=ConfiguredCommand("worktrees", place), users=users or usual)


def require(
    layer: Layer | None, project: Path, environ: Mapping[str, str], *, user: Layer | None = None
) -> None:
    """Raises `NotApprovedError` if there is something in it that the user has not approved."""
    request = None if layer is None else request_of(layer, project, environ, user=user)
    if request is not None and not request.is_approved:
        raise NotApprovedError(request)


def approve(request: ApprovalRequest, environ: Mapping[str, str], *, at: datetime | None = None) -> None:
    """Exactly what was asked, whatever the file says by now."""
    approval = Approval(
        project=os.path.realpath(request.project),
        hash=request.hash,
        at=(at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        commands=tuple((one.path, one.value) for one in request.commands),
    )
    ApprovalBook(environ).change(lambda known: (*_without(known, approval.project, approval.hash), approval))


def revoke(project: Path, environ: Mapping[str, str]) -> int:
    """All that was approved for a project; how many times that was."""
    real = os.path.realpath(project)
    book = ApprovalBook(environ)
    found = sum(one.project == real for one in book.read())
    if found:
        book.change(lambda known: tuple(one for one in known if one.project != real))
    return found


def approvals(environ: Mapping[str, str]) -> tuple[Approval, ...]:
    return ApprovalBook(environ).read()


def _without(known: Sequence[Approval], project: str, content: str) -> Iterator[Approval]:
    """Each stands there once, the last one last."""
    return (one for one in known if (one.project, one.hash) != (project, content))

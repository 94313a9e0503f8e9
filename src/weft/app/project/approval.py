"""The user's approval of the commands in a project's configuration, and of the settings that it loosens.

A cloned repository can contain a `.weft/config.yaml` that names programs or loosens settings of the user. Before
the first run, and after each change of these, the user must approve exactly them, for this directory. The plan
needs no approval, because the user asked to run it, with one exception: the machines in its `hosts`, to which it
would send the repository. The user's own configuration needs none.

The hash covers the commands alone. It is the same on each machine, so a script can approve commands that a person
has read elsewhere. An approval is valid for one directory: the same lines do other things in another repository.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from weft.app.project.approval_file import Approval, ApprovalFile
from weft.app.project.places import absolute, project_of
from weft.app.project.worktree_place import is_usual_place
from weft.errors import InputError
from weft.plan.language.commands import ConfiguredCommand, configured_commands, configured_hosts
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.relaxations import Relaxation, find_relaxations
from weft.plan.settings import Layer


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """The commands and settings that the user is asked to approve."""

    project: Path
    file: str
    """The name of the configuration in messages."""
    commands: tuple[ConfiguredCommand, ...]
    """Commands, then settings that are looser than the user's."""
    is_approved: bool
    users: Mapping[str, str] = {}
    """The user's own values, by the keys of the settings that loosen them."""
    before: Approval | None = None
    """The last approval for the directory, if it was for something else."""
    plan: str = ""
    """The plan whose hosts these are, from the top of the project; empty for the project's configuration."""

    @property
    def hash(self) -> str:
        return commands_hash(self.commands)

    def changes(self) -> Iterator[tuple[str, ConfiguredCommand]]:
        """Yields all commands, each with `+` if it is new, `-` if it was removed, and a blank otherwise."""
        before = () if self.before is None else self.before.commands
        yield from _changes([ConfiguredCommand(*command) for command in before], self.commands)


class NotApprovedError(InputError):
    """The project's configuration has commands that the user has not approved."""

    def __init__(self, request: ApprovalRequest) -> None:
        self.request = request
        noun = "hosts" if request.plan else "commands"
        super().__init__(f"{request.file} has {noun} that you have not approved")

    def lines(self) -> Iterator[str]:
        yield f"error: {describe_request(self.request)}:"
        yield from change_lines(self.request)
        how = approve_command(self.request.project, self.request.plan)
        yield f"nothing has been run; to approve this, type: {how} (in a script: {how} --hash {self.request.hash})"


def describe_request(request: ApprovalRequest) -> str:
    """Returns the reason of the request as a sentence."""
    if request.plan:
        changed = "" if request.before is None else f"; they are not those of {request.before.at}"
        return f"{request.file} sends work to hosts that you have not approved{changed}"
    if request.before is None:
        action = "loosens settings in a way" if request.users else "names commands"
        return f"{request.file} came with this project, and {action} that you have not approved"
    if request.users:
        return f"what {request.file} runs and loosens is not what you approved at {request.before.at}"
    return f"the commands that {request.file} names are not those that you approved at {request.before.at}"


def change_lines(request: ApprovalRequest) -> Iterator[str]:
    """Yields one line for each command. No line is left out or cut: the user approves only what is visible."""
    for mark, command in request.changes():
        value = command.value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        users = request.users.get(command.path)
        yield f"  {mark} {command.path}: {text}" + ("" if users is None else f"  (you have set: {users})")


def approve_command(project: Path, plan: str = "") -> str:
    """Returns the command that approves a project's configuration, or the hosts of a plan in it."""
    from shlex import quote  # noqa: PLC0415 - only when the user has to type it

    here = absolute(Path())
    if project_of(here).project == project:
        command, plan = "weft config approve", plan and os.path.relpath(project / plan, here)
    else:
        command = f"weft -C {quote(str(project))} config approve"
    return f"{command} --plan {quote(plan)}" if plan else command


def commands_hash(commands: Sequence[ConfiguredCommand]) -> str:
    # The order counts: commands run in it. Positions do not, so that a comment in the file needs no new approval.
    text = json.dumps([[command.path, command.value] for command in commands], separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def _changes(
    old: Sequence[ConfiguredCommand], new: Sequence[ConfiguredCommand]
) -> Iterator[tuple[str, ConfiguredCommand]]:
    old_lines, new_lines = (
        [f"{command.path}: {json.dumps(command.value)}" for command in commands] for commands in (old, new)
    )
    # `autojunk` would treat lines that occur often as noise and could present a changed command as unchanged.
    matcher = SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            yield from ((" ", command) for command in new[new_start:new_end])
        else:
            yield from (("-", command) for command in old[old_start:old_end])
            yield from (("+", command) for command in new[new_start:new_end])


# --- requests and approvals ---


def request_of(
    layer: Layer, project: Path, environ: Mapping[str, str], *, user: Layer | None = None
) -> ApprovalRequest | None:
    """Returns what the user has to approve in a project's configuration; None if there is nothing.

    `user` is the layer of the user's own configuration.
    """
    if layer.document is None:
        return None
    loosened = (*find_relaxations(layer, user), *_of_worktrees(layer, user, project, environ))
    # Read from the document and not from the values, so that commands in keys which this plan does not use count
    # as well.
    commands = (*configured_commands(layer.document.root), *(loosening.setting for loosening in loosened))
    return _request(project, environ, layer.document.file, commands, loosened)


def request_of_hosts(
    plan: Plan, path: Path | None, project: Path, environ: Mapping[str, str]
) -> ApprovalRequest | None:
    """Returns the hosts of a plan that the user has to approve; None if there are none.

    `path` is that of the plan, None for standard input. The user's own hosts need no approval, in whatever file.
    """
    users = next((layer for layer in plan.scopes[ROOT].layers if layer.where == "user"), None)
    own: list[tuple[ConfiguredCommand, ...]] = []  # no set: the words of a command are a list
    if users is not None and users.document is not None:
        own = _by_host(configured_hosts(users.document.root))
    by_host = _by_host(configured_hosts(plan.document.root))
    commands = tuple(command for host in by_host if host not in own for command in host)
    shown = "-" if path is None else os.path.relpath(path, project)
    return _request(project, environ, plan.document.file, commands, plan=shown)


def _by_host(commands: Sequence[ConfiguredCommand]) -> list[tuple[ConfiguredCommand, ...]]:
    """Returns the commands of each host."""
    return [
        tuple(of_host) for _, of_host in groupby(commands, key=lambda command: command.path.split(".")[1])
    ]


def _request(
    project: Path,
    environ: Mapping[str, str],
    file: str,
    commands: tuple[ConfiguredCommand, ...],
    loosened: Sequence[Relaxation] = (),
    plan: str = "",
) -> ApprovalRequest | None:
    if not commands:
        return None
    # The real path: a link elsewhere must not carry an approval to another directory.
    real = os.path.realpath(project)
    current_hash = commands_hash(commands)
    approvals_here = [approval for approval in ApprovalFile(environ).read() if approval.project == real]
    is_approved = any(approval.hash == current_hash for approval in approvals_here)
    before = [approval for approval in approvals_here if approval.plan == plan and not is_approved]
    return ApprovalRequest(
        project=project,
        file=file,
        commands=commands,
        is_approved=is_approved,
        users={loosening.setting.path: loosening.users for loosening in loosened},
        before=before[-1] if before else None,
        plan=plan,
    )


def _of_worktrees(
    layer: Layer, user: Layer | None, project: Path, environ: Mapping[str, str]
) -> Iterator[Relaxation]:
    place = layer.values.get("worktrees")
    users = None if user is None else user.values.get("worktrees")
    if place is not None and place != users and not is_usual_place(place, project, environ):
        usual = "nothing; without approval worktrees are in the project or in your cache"
        yield Relaxation(setting=ConfiguredCommand("worktrees", place), users=users or usual)


def require(
    layer: Layer | None, project: Path, environ: Mapping[str, str], *, user: Layer | None = None
) -> None:
    """Raises `NotApprovedError` if the configuration has something that the user has not approved."""
    request = None if layer is None else request_of(layer, project, environ, user=user)
    if request is not None and not request.is_approved:
        raise NotApprovedError(request)


def require_hosts(plan: Plan, path: Path | None, project: Path, environ: Mapping[str, str]) -> None:
    """Raises `NotApprovedError` if a plan names hosts that the user has not approved."""
    request = request_of_hosts(plan, path, project, environ)
    if request is not None and not request.is_approved:
        raise NotApprovedError(request)


def approve(request: ApprovalRequest, environ: Mapping[str, str], *, at: datetime | None = None) -> None:
    """Records the approval of exactly this request, even if the file has changed since."""
    approval = Approval(
        project=os.path.realpath(request.project),
        hash=request.hash,
        at=(at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        commands=tuple((command.path, command.value) for command in request.commands),
        plan=request.plan,
    )
    ApprovalFile(environ).change(
        lambda recorded: (*_without(recorded, approval.project, approval.hash), approval)
    )


def revoke(project: Path, environ: Mapping[str, str]) -> int:
    """Removes all approvals for a project and returns their number."""
    real = os.path.realpath(project)
    approvals = ApprovalFile(environ)
    count = sum(approval.project == real for approval in approvals.read())
    if count:
        approvals.change(
            lambda recorded: tuple(approval for approval in recorded if approval.project != real)
        )
    return count


def approvals(environ: Mapping[str, str]) -> tuple[Approval, ...]:
    return ApprovalFile(environ).read()


def _without(recorded: Sequence[Approval], project: str, content: str) -> Iterator[Approval]:
    """Yields the other approvals, so that a repeated approval is listed once, at the end."""
    return (approval for approval in recorded if (approval.project, approval.hash) != (project, content))

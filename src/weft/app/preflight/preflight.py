"""The preflight: checks, before work starts, of everything that a plan needs of this machine and repository.

`weft check` reports all findings; `weft run` and `weft start` refuse to start for the same ones. A finding refuses
only if a run is certain to fail, and names the command to type. What cannot be judged is not guessed.
"""

import os
import posixpath
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from weft.app.agents.programs import missing_programs
from weft.app.isolation.sandboxes import trouble
from weft.app.preflight.findings import PreflightError, PreflightFinding, refusal, warning
from weft.app.preflight.imports import import_findings
from weft.app.preflight.plan_commands import planned_commands
from weft.app.preflight.programs import Files, program_findings
from weft.app.project.places import project_of
from weft.app.project.plan_agents import agents_of
from weft.app.project.plans import project_layer, user_layer
from weft.app.project.shell_words import required_program
from weft.plan.model import Plan
from weft.plan.settings import BRANCHED
from weft.search_path import find_program
from weft.workspaces.untracked_files import select_files

if TYPE_CHECKING:
    from weft.app.preflight.repository import RepositoryState

_VARIABLE = re.compile(r"\{\{-?\s*env\.([A-Za-z_]\w*)\s*(?:\|\s*raw\s*)?-?\}\}")


class Preflight(Struct, frozen=True, kw_only=True):
    findings: tuple[PreflightFinding, ...]
    state: "RepositoryState | None" = None
    """None if no slice works in a worktree."""

    @property
    def refusals(self) -> tuple[str, ...]:
        return tuple(finding.message for finding in self.findings if finding.refuses)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(finding.message for finding in self.findings if not finding.refuses)

    def notes(self) -> tuple[str, ...]:
        """The notes for the user at the start of a run: the warnings, and uncommitted files."""
        repository = None if self.state is None else self.state.repository
        if repository is None:
            return self.warnings
        from weft.workspaces.git.preflight import uncommitted  # noqa: PLC0415 - of no use without git

        return (*self.warnings, *uncommitted(repository))

    def require(self) -> Self:
        """Raises `PreflightError` with all refusals, if there are any."""
        if self.refusals:
            raise PreflightError(self.refusals)
        return self


def preflight(
    plan: Plan, folder: Path, environ: Mapping[str, str], *, done: Collection[str] = ()
) -> Preflight:
    """Returns the findings. `folder` holds the plan; `done` are the subplans that an earlier run has completed."""
    kinds = {
        plan.scopes[row].settings.isolation for row in range(len(plan.subplans)) if plan.outline.is_leaf(row)
    }
    # Each check needs only what the plan uses: a plan without worktrees starts no git.
    state = _repository_state(plan, folder, environ) if not BRANCHED.isdisjoint(kinds) else None
    findings = (
        *(() if state is None else state.findings),
        *_of_agents(plan, folder, environ, done),
        *program_findings(plan, folder, environ, files=_files(kinds, state, folder), done=done),
        *_of_variables(plan, environ, done),
        *_of_sandboxes(plan, environ),
        *_of_approval(plan, folder, environ),
        *_of_brought_files(plan, folder),
        *import_findings(plan, folder, environ),
        *_of_notifications(plan, project_of(folder).project, environ),
    )
    return Preflight(findings=findings, state=state)


def _repository_state(plan: Plan, folder: Path, environ: Mapping[str, str]) -> "RepositoryState":
    from weft.app.preflight.repository import examine_repository  # noqa: PLC0415 - of no use without git

    return examine_repository(plan, folder, environ)


def _files(kinds: Collection[str], state: "RepositoryState | None", folder: Path) -> Files:
    """Returns the judge of paths in workspaces. If slices have different kinds of workspaces, it accepts all."""
    if kinds and BRANCHED.issuperset(kinds):
        if state is None or state.repository is None or state.ends is None or _includes(state):
            return _nothing_is_wrong
        from weft.app.preflight.repository import files_of_commit  # noqa: PLC0415 - of no use without git

        return files_of_commit(state.repository, state.ends.base)
    if kinds == {"none"}:
        return _files_of(folder)
    return _always_missing if kinds == {"dir"} else _nothing_is_wrong


def _includes(state: "RepositoryState") -> bool:
    """Returns whether a file at the top of the repository brings more files into each worktree."""
    assert state.repository is not None
    return os.path.lexists(state.repository.top / ".worktreeinclude")


def _files_of(folder: Path) -> Files:
    def judge(path: str) -> str:
        place = folder / path
        if not place.exists():
            return f"is not in {folder}; write it, or write another command"
        if os.access(place, os.X_OK):
            return ""
        return f"is not executable; type: chmod +x {shlex.quote(str(place))}"

    return judge


def _nothing_is_wrong(_path: str) -> str:
    return ""


def _always_missing(path: str) -> str:
    name = posixpath.normpath(path)
    advice = f"is not in the directories that slices start with; write `copy: [{name}]` in the plan"
    return "" if name.startswith("..") else advice


# Agents


def _of_agents(
    plan: Plan, folder: Path, environ: Mapping[str, str], done: Collection[str]
) -> Iterator[PreflightFinding]:
    for missing in missing_programs(plan, environ, done=done):
        yield refusal("agent", f"{missing} (weft agents lists what is installed)")
    # Agents are yielded once per step; a message about each is enough.
    for agent in {agent.name: agent for agent in agents_of(plan)}.values():
        if agent.script is not None and not (folder / agent.script).exists():
            message = f"the agent {agent.name} plays the script {folder / agent.script}, which does not exist"
            yield refusal("agent", f"{message}; write it, or name another one")


def _of_variables(
    plan: Plan, environ: Mapping[str, str], done: Collection[str]
) -> Iterator[PreflightFinding]:
    """Yields unset variables that commands read. An expression is judged only if it is a plain variable."""
    for planned in planned_commands(plan, done):
        words = (planned.command,) if isinstance(planned.command, str) else planned.command
        for name in dict.fromkeys(name for word in words for name in _VARIABLE.findall(word)):
            # Weft reads the variable when it renders the template, from the environment that the user starts it
            # with.
            if name not in environ:
                message = (
                    f"{planned.purpose} reads env.{name}, which is not set; set it before you start Weft"
                )
                yield PreflightFinding(kind="variable", message=message, refuses=not planned.may_be_skipped)


def _of_approval(plan: Plan, folder: Path, environ: Mapping[str, str]) -> Iterator[PreflightFinding]:
    """Yields missing approvals. A run asks for them on a terminal, and is refused elsewhere."""
    layer, project = project_layer(plan), project_of(folder).project
    if layer is None and not plan.hosts:
        return
    from weft.app.project import approval  # noqa: PLC0415 - most projects have neither

    path = folder / os.path.basename(plan.document.file)  # noqa: PTH119 - as written
    requests = [approval.request_of_hosts(plan, path, project, environ)]
    if layer is not None:
        requests.insert(0, approval.request_of(layer, project, environ, user=user_layer(plan)))
    for request in requests:
        if request is not None and not request.is_approved:
            command = approval.approve_command(project, request.plan)
            how = command if request.plan else "weft config approve"
            message = f"{approval.describe_request(request)}; `{how}` shows and approves them"
            yield warning("approval", message)


def _of_sandboxes(plan: Plan, environ: Mapping[str, str]) -> Iterator[PreflightFinding]:
    message = trouble(plan, environ)
    if message:
        yield refusal("sandbox", message)


# Files and notifications


def _of_brought_files(plan: Plan, folder: Path) -> Iterator[PreflightFinding]:
    wanted = {
        (name, pattern)
        for scope in {id(scope): scope for scope in plan.scopes}.values()
        for name, patterns in (("copy", scope.settings.copy), ("link", scope.settings.link))
        for pattern in patterns
        if scope.settings.isolation != "none"
    }
    for name, pattern in sorted(wanted):
        copies, links = ([pattern], []) if name == "copy" else ([], [pattern])
        if folder.is_dir() and not select_files(folder, copies, links):
            message = f"`{name}: {pattern}` matches no file in {folder}, so slices get none"
            yield warning("file", f"{message}; make it before the run, or remove the line")


def _of_notifications(plan: Plan, project: Path, environ: Mapping[str, str]) -> Iterator[PreflightFinding]:
    for notify in plan.notify:
        program = None if notify.run is None else required_program(notify.run)
        if program is None:
            continue
        searched = str(project / program) if "/" in program else program
        if find_program(searched, environ) is None:
            message = f"`notify` runs {program}, which is not there, so you would not be notified"
            yield warning("notify", f"{message}; install it, or write another command")

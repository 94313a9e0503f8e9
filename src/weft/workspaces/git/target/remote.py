"""The remote that the target is pushed to.

Git contacts the remote with the user's own configuration and credentials. It has no terminal and no input, ssh
runs in batch mode, and each contact has a time limit after which all of its processes are killed: a question for a
password, or a remote that never answers, cannot hang a run. A push is never forced.
"""

import os
import re
import signal
from contextlib import suppress
from threading import Lock

from msgspec import Struct

from weft.ports.target import PushError, RemoteMovedError
from weft.ports.workspaces import HeldError
from weft.workspaces.git.base.merge_tree import commit_merge, message, try_merge
from weft.workspaces.git.base.program import Git, GitOutput
from weft.workspaces.git.base.refs import is_ancestor
from weft.workspaces.git.plan_repository import PlanRepository

TIME_LIMIT = 120.0
"""Seconds for one contact with the remote."""

# git has no exit code for "the remote is ahead"; only the line about the ref says so.
_BEHIND = (
    r"\[rejected\].*\((fetch first|non-fast-forward|stale info)\)"
    # the branch moved between git's question for its tip and the update
    r"|\[remote rejected\].*\((cannot lock ref .* but expected|incorrect old value)"
)
_REFUSED = r"\[(?:remote )?rejected\].*"
_UNATTENDED = {"SSH_ASKPASS_REQUIRE": "never", "GCM_INTERACTIVE": "never"}
_BATCH_SSH = "ssh -o BatchMode=yes"
UPSTREAM = "true"
"""Stands for the upstream of the target, in place of the name of a remote."""


class _Branch(Struct, frozen=True):
    """A branch of a remote."""

    remote: str
    ref: str

    @property
    def name(self) -> str:
        return self.ref.removeprefix("refs/heads/")

    def push_command(self, target: str) -> str:
        """Returns the command for a person."""
        return f"git push {self.remote} {target if self.name == target else f'{target}:{self.name}'}"


class Remote:
    """The remote of the target."""

    def __init__(self, plan_repository: PlanRepository, *, time_limit: float = TIME_LIMIT) -> None:
        self._repository = plan_repository
        self._git = plan_repository.git
        self._time_limit = time_limit
        self._hangs_up = False
        self._group = 0
        """The process group of the running contact; 0 if there is none."""
        self._lock = Lock()

    def push(self, remote: str, commit: str) -> None:
        branch = self._branch(remote)
        answer = self._contact("push", "--porcelain", "--no-verify", branch.remote, f"{commit}:{branch.ref}")
        if answer.exit_code == 0:
            return
        target = self._repository.ends.target
        if re.search(_BEHIND, answer.text):
            raise RemoteMovedError(
                f"{branch.remote} has commits that {target} lacks; type: git pull --no-rebase {branch.remote} "
                f"{branch.name} && {branch.push_command(target)}"
            )
        # Git writes to standard output which refs the remote has refused, and why.
        words = "\n".join(filter(None, (_words(answer), *re.findall(_REFUSED, answer.text))))
        raise PushError(
            words or f"git push ended with exit code {answer.exit_code}", command=branch.push_command(target)
        )

    def fetch(self, remote: str) -> str:
        """Fetches and returns the commit of the remote branch."""
        branch = self._branch(remote)
        note = f"refs/weft/fetched/{self._repository.names.plan}"
        answer = self._contact(
            # A ref of Weft's own: the user's remote-tracking branches and FETCH_HEAD stay as they are.
            "fetch",
            "--no-tags",
            "--no-write-fetch-head",
            "--quiet",
            branch.remote,
            f"+{branch.ref}:{note}",
        )
        if answer.exit_code:
            raise PushError(_words(answer) or f"git fetch ended with exit code {answer.exit_code}")
        return self._git.line("rev-parse", "--verify", f"{note}^{{commit}}")

    def merge(self, remote: str, base: str, theirs: str) -> str | None:
        """Returns a merge of the target at `base` and the remote's `theirs`; None if the target has the latter."""
        if is_ancestor(self._git, theirs, base):
            return None
        if is_ancestor(self._git, base, theirs):
            return theirs
        branch = self._branch(remote)
        target = self._repository.ends.target
        trial = try_merge(self._git, base, theirs)
        if trial.conflicts:
            files = [conflict.path for conflict in trial.conflicts]
            raise HeldError(
                f"{target} and {branch.remote} have changed the same files: {', '.join(files[:5])}; type: "
                f"git pull --no-rebase {branch.remote} {branch.name}, resolve the conflicts, and type: "
                f"{branch.push_command(target)}",
                files,
                conflict=True,
            )
        subject = message(f"Merge {target} of {branch.remote}", {"Weft-Plan": self._repository.plan})
        identity = self._repository.repository.identity
        return commit_merge(self._git, trial.tree, (base, theirs), subject, identity=identity)

    def _branch(self, remote: str) -> _Branch:
        """Returns the branch on the remote. `true` stands for the upstream of the target."""
        target = self._repository.ends.target
        if remote != UPSTREAM:
            return _Branch(remote, f"refs/heads/{target}")
        upstream = _upstream(self._git, target)
        if upstream is None:
            raise PushError(_without_upstream(target))
        return upstream

    def _configuration(self, key: str) -> str:
        return self._git.ask("config", "--get", key).text

    def _contact(self, *command: str) -> GitOutput:
        env = dict(_UNATTENDED)
        if not self._git.has_variable("GIT_SSH_COMMAND", "GIT_SSH") and not self._configuration(
            "core.sshCommand"
        ):
            env["GIT_SSH_COMMAND"] = _BATCH_SSH
        try:
            answer = self._git.ask_within(
                self._time_limit, *command, stdin=b"", env=env, started=self._has_started
            )
        finally:
            with self._lock:  # the kernel may reuse the process id from here on
                self._group = 0
        if self._hangs_up and answer.exit_code:
            raise PushError("it was ended because the run stops; the resumed run pushes again")
        return answer

    def _has_started(self, group: int) -> None:
        with self._lock:
            self._group = group
        if self._hangs_up:
            self.hang_up()

    def hang_up(self) -> None:
        """Ends the running contact, and every later one."""
        # The flag is set before the lock is taken. A contact that starts at this moment sees either the flag
        # or, if it has stored its group already, is killed below.
        self._hangs_up = True
        with self._lock:
            if self._group:
                with suppress(ProcessLookupError):
                    os.killpg(self._group, signal.SIGKILL)


def missing_remote(git: Git, target: str, remote: str) -> str:
    """Returns why the target cannot be pushed, according to git's configuration; empty if it can."""
    if remote == UPSTREAM:
        return _without_upstream(target) if _upstream(git, target) is None else ""
    names = git.line("remote").splitlines()
    if remote in names:
        return ""
    choice = f"write `merge: {{push: {names[0]}}}`, or " if names else ""
    missing = f"`merge.push` names the remote {remote}, which does not exist"
    return f"{missing}; {choice}type: git remote add {remote} URL"


def _upstream(git: Git, target: str) -> _Branch | None:
    name, ref = (git.ask("config", "--get", f"branch.{target}.{key}").text for key in ("remote", "merge"))
    return _Branch(name, ref) if name and ref and name != "." else None


def _without_upstream(target: str) -> str:
    return (
        f"{target} has no upstream to push to; type: git push --set-upstream REMOTE {target} (or name the remote "
        "in the plan: `merge: {push: REMOTE}`)"
    )


def _words(answer: GitOutput) -> str:
    """Returns git's message about a failure, without hints."""
    lines = (line.rstrip() for line in answer.message.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("hint:"))

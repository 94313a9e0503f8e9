"""Wraps the commands of steps in sandboxes, and distinguishes failures of bubblewrap from failures of commands."""

import re

from msgspec import Struct
from msgspec.structs import replace

from weft.plan.sandbox import Sandbox
from weft.ports.host import EndReason, JobEnded
from weft.runtime.sandbox.call import SandboxCall, bwrap_argv
from weft.runtime.sandbox.view import SandboxContext, StepNeeds, view

_OWN_FAILURE = 1
_NO_PROGRAM = re.compile(r"execvp (.+): ([^:]+)")

Commands = tuple[tuple[str, ...], ...]


class Boxes(Struct, frozen=True, kw_only=True):
    program: str
    """The path of bubblewrap."""
    context: SandboxContext

    def around(self, commands: Commands, needs: StepNeeds, sandbox: Sandbox) -> Commands:
        box = SandboxCall(
            program=self.program,
            places=view(self.context, needs, sandbox),
            network=sandbox.network,
            cwd=str(needs.workspace.resolve()),
        )
        return tuple(bwrap_argv(box, command) for command in commands)


def with_sandbox_failure(ended: JobEnded) -> JobEnded:
    """Returns the end of a job; if bubblewrap failed or found no program, as one that was never started.

    Bubblewrap reports this in one line before the command inside can write anything.
    """
    errors = (ended.stderr or "").removesuffix("\n")
    # A command could write such a line as well, but then the line would hardly be its whole output.
    is_own = errors.startswith("bwrap: ") and "\n" not in errors and ended.stdout == ""
    if ended.why is not EndReason.EXITED or ended.exit_code != _OWN_FAILURE or not is_own:
        return ended
    trouble = errors.removeprefix("bwrap: ")
    missing = _NO_PROGRAM.fullmatch(trouble)
    if missing is None:
        message = f"bubblewrap cannot create its sandbox: {trouble}"
    else:
        message = (
            f"cannot run {missing[1]}: {missing[2]} in its sandbox; to show it more, use `read` of `sandbox`"
        )
    return replace(ended, why=EndReason.NOT_STARTED, exit_code=None, message=message)

"""Isolation of a step's processes from the user's files: a home of their own, and a sandbox.

A step in a sandbox always has its own home, because the sandbox hides the user's.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from weft.engine.messages.orders import Launch
from weft.errors import WeftError
from weft.plan.model import Plan
from weft.plan.sandbox import Sandbox
from weft.runtime.homes import Homes, home_variables
from weft.safe_files import locate, open_folder

if TYPE_CHECKING:
    from weft.runtime.sandbox.boxes import Boxes, Commands

_NOTHING: Mapping[str, str] = {}


class StepIsolation(Struct, frozen=True, kw_only=True):
    """The isolation of one step."""

    sandbox: Sandbox = Sandbox()
    home: Path | None = None

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables for its environment; those of the plan take precedence."""
        if self.home is None:
            return _NOTHING
        variables = home_variables(self.home)
        return variables | {"TMPDIR": "/tmp"} if self.sandbox.is_on else variables  # noqa: S108 - its own


class Isolation:
    def __init__(self, plan: Plan, homes: Homes, boxes: "Boxes | None" = None) -> None:
        """`boxes` is None if sandboxes do not work here."""
        self._plan = plan
        self._homes = homes
        self._boxes = boxes

    def sandbox(self, launch: Launch) -> Sandbox:
        """Returns the sandbox of a step: its own settings override those of its agent and of the plan."""
        sandbox = self._plan.scopes[launch.row].settings.sandbox
        # From the general to the specific; each may set only some of the fields.
        for parts in (None if launch.agent is None else launch.agent.sandbox, launch.sandbox):
            if parts:
                sandbox = structs.replace(sandbox, **parts)
        return sandbox

    def of(self, launch: Launch) -> StepIsolation:
        """Returns the isolation of a step, and creates its home.

        Raises `OSError`, and `WeftError` if a needed sandbox does not work here.
        """
        sandbox = self.sandbox(launch)
        if sandbox.is_on and self._boxes is None:
            raise WeftError("sandboxes do not work here; type: weft doctor")
        has_home = sandbox.is_on or self._has_home(launch)
        return StepIsolation(sandbox=sandbox, home=self._homes.of(launch.path) if has_home else None)

    def _has_home(self, launch: Launch) -> bool:
        of_agent = None if launch.agent is None else launch.agent.isolated_home
        return self._plan.scopes[launch.row].settings.isolated_home if of_agent is None else of_agent

    def boxed(
        self, apart: StepIsolation, commands: "Commands", cwd: Path, result: Path, search: str
    ) -> "Commands":
        """Returns the commands, in a sandbox if the step has one. The step reports in the file `result`."""
        if not apart.sandbox.is_on:
            return commands
        from weft.runtime.sandbox.view import StepNeeds  # noqa: PLC0415 - most plans have no sandboxes

        assert self._boxes is not None
        assert apart.home is not None
        open_folder(result.parent, make=True).close()
        tree, file = locate(result)
        tree.remove(file)  # an earlier step in a sandbox could have forged a report
        needs = StepNeeds(
            workspace=cwd,
            home=apart.home,
            output=result.parent,
            programs=tuple(command[0] for command in commands),
            search=search,
        )
        return self._boxes.around(commands, needs, apart.sandbox)


def boxed_prefix(prefix: str) -> str:
    """Returns the prefix of the files that a step in a sandbox may write, given the prefix of its output.

    These files have a directory of their own. A step that could write to the directory of its output could replace
    an output file by a link, and Weft would write to any file of the user.
    """
    folder, _, name = prefix.rpartition("/")
    return f"{folder}@sandbox/{name}"

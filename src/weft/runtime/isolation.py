"""What keeps the processes of a step apart from what is the user's: a home of their own, and a sandbox.

In a sandbox there is always a home of its own, as the user's is not to be seen.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, structs

from weft.engine.messages.orders import Launch
from weft.errors import WeftError
from weft.plan.model import Plan
from weft.plan.sandbox import Sandbox
from weft.runtime.homes import Homes, home_variables
from weft.runtime.sandbox.boxes import Boxes, Commands
from weft.runtime.sandbox.view import StepNeeds
from weft.safe_files import locate, open_folder

_NOTHING: Mapping[str, str] = {}


class StepIsolation(Struct, frozen=True, kw_only=True):
    """What holds for one step."""

    sandbox: Sandbox = Sandbox()
    home: Path | None = None

    @property
    def variables(self) -> Mapping[str, str]:
        """For its environment; what the plan sets goes before them."""
        if self.home is None:
            return _NOTHING
        variables = home_variables(self.home)
        return variables | {"TMPDIR": "/tmp"} if self.sandbox.is_on else variables  # noqa: S108 - its own


class Isolation:
    def __init__(self, plan: Plan, homes: Homes, boxes: Boxes | None = None) -> None:
        """`boxes`: None if none can be made here."""
        self._plan = plan
        self._homes = homes
        self._boxes = boxes

    def sandbox(self, launch: Launch) -> Sandbox:
        """Returns the sandbox of a step: its own settings override those of its agent and of the plan."""
        sandbox = self._plan.scopes[launch.row].settings.sandbox
        for parts in (None if launch.agent is None else launch.agent.sandbox, launch.sandbox):
            if parts:
                sandbox = structs.replace(sandbox, **parts)
        return sandbox

    def of(self, launch: Launch) -> StepIsolation:
        """With its home made; raises `OSError`, and `WeftError` if there can be no sandbox."""
        sandbox = self.sandbox(launch)
        if sandbox.is_on and self._boxes is None:
            raise WeftError("sandboxes do not work here; type: weft doctor")
        has_home = sandbox.is_on or self._has_home(launch)
        return StepIsolation(sandbox=sandbox, home=self._homes.of(launch.path) if has_home else None)

    def _has_home(self, launch: Launch) -> bool:
        of_agent = None if launch.agent is None else launch.agent.isolated_home
        return self._plan.scopes[launch.row].settings.isolated_home if of_agent is None else of_agent

    def boxed(
        self, apart: StepIsolation, commands: Commands, cwd: Path, result: Path, search: str
    ) -> Commands:
        """The commands, in a sandbox if there is to be one; its report is to be in the file `result`."""
        if not apart.sandbox.is_on:
            return commands
        assert self._boxes is not None
        assert apart.home is not None
        open_folder(result.parent, make=True).close()
        tree, file = locate(result)
        tree.remove(file)  # a step before it could have left one for it
        needs = StepNeeds(
            workspace=cwd,
            home=apart.home,
            output=result.parent,
            programs=tuple(command[0] for command in commands),
            search=search,
        )
        return self._boxes.around(commands, needs, apart.sandbox)


def boxed_prefix(prefix: str) -> str:
    """What the names of files begin with that a step in a sandbox may write, for those of its output.

    They are in a directory of their own: who could write where its output is kept could have us write anywhere.
    """
    folder, _, name = prefix.rpartition("/")
    return f"{folder}@sandbox/{name}"

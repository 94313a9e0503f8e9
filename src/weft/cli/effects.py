"""The effect of each command on a run or a project.

A command that does not declare its effect cannot be registered.

A step of a run may use commands that read, but none that change something; see `weft.app.project.step_limits`.
"""

import os
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import click


class CommandEffect(Enum):
    """Whether a command only reads or also changes something."""

    READS = "reads"
    """Changes no run and no project: it prints, or writes a file that the user names."""
    CHANGES = "changes"
    """Changes a run, a project or the user's settings, or spends money."""


class WeftCommand(click.Command):
    """A command with a declared effect. Inside a step, a command that changes something is refused."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - as click has it
        effect: CommandEffect,
        changes_with: Sequence[str] = (),
        **extra: Any,  # noqa: ANN401 - as click has it
    ) -> None:
        """`changes_with` names the parameters with which a reading command changes something."""
        super().__init__(*args, **extra)
        self.effect = effect
        self.changes_with = tuple(changes_with)

    def effect_of(self, params: Mapping[str, object]) -> CommandEffect:
        """Returns the effect of the command with these parameters."""
        return CommandEffect.CHANGES if any(params[name] for name in self.changes_with) else self.effect

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        if self.effect_of(ctx.params) is CommandEffect.CHANGES:
            from weft.app.project.step_limits import refuse_inside_step

            options = [f"--{name}" for name in self.changes_with if ctx.params[name]]
            folder = Path(ctx.find_root().params["directory"])
            # In one place, before any command runs: a command that forgot the check would be a way out of the
            # sandbox.
            refuse_inside_step(folder, " ".join([ctx.command_path, *options]), os.environ)
        return super().invoke(ctx)


class WeftGroup(click.Group):
    """A group of commands that all declare their effect."""

    command_class = WeftCommand

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        if not isinstance(cmd, WeftCommand | WeftGroup):
            raise TypeError(
                f"the command {name or cmd.name} declares no effect: give it cls=WeftCommand and effect=…"
            )
        super().add_command(cmd, name)

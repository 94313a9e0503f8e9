"""Homes of steps: a directory for each slice of a run, in which programs find nothing of the user's.

It is one for all steps of a slice, so that an agent finds the conversation that an earlier step of the slice has
had, and no two slices get in each other's way. It is kept as long as the run may go on.

Programs look for their things by variables, so these are set: HOME, those of the XDG standard, and those that
agents have for themselves. All of the agents', whatever the step: a command may call any of them. The user's name
and address are all that is taken over, as git does not commit without.
"""

from collections.abc import Mapping
from pathlib import Path

from weft.ids import file_name
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.safe_files import locate

XDG = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
    "XDG_RUNTIME_DIR": ".run",
}
VARIABLES: Mapping[str, str] = XDG | {
    name: place for adapter in AGENT_PROGRAMS.values() for name, place in adapter.home.items()
}
"""Each with its place in a home."""


class Homes:
    def __init__(self, root: Path, *, git_config: str = "") -> None:
        """`git_config`: what git is to know in them."""
        self._root = root
        self._git_config = git_config
        self._made: set[str] = set()

    def of(self, path: str) -> Path:
        """That of a subplan; it is there. Raises `OSError`."""
        home = self._root / file_name(path)
        if path not in self._made:
            self._make(home)
            self._made.add(path)
        return home

    def _make(self, home: Path) -> None:
        tree, place = locate(home)
        tree.make(place)
        for name in VARIABLES.values():
            if name != "." and not Path(name).suffix:  # else it is the home itself, or a file
                tree.make(f"{place}/{name}")
        config = f"{place}/.gitconfig"
        if self._git_config and not tree.exists(config):
            tree.replace(config, self._git_config.encode())


def home_variables(home: Path) -> dict[str, str]:
    return {"HOME": str(home), **{name: str(home / place) for name, place in VARIABLES.items()}}

"""Homes of steps: a home directory for each slice of a run, without any files of the user.

All steps of a slice share one home, so that an agent finds the conversation of an earlier step of the slice, and
slices do not disturb each other. A home is kept as long as the run can be resumed.

Programs find their files by variables, so Weft sets HOME, the variables of the XDG standard, and those of all
agents: any command may call any agent. Only the user's name and e-mail address are copied, because git does not
commit without them.
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
"""Variables, each with its path in the home."""


class Homes:
    def __init__(self, root: Path, *, git_config: str = "") -> None:
        """`git_config` is the content of the git configuration in each home."""
        self._root = root
        self._git_config = git_config
        self._made: set[str] = set()

    def of(self, path: str) -> Path:
        """Returns the home of a subplan, and creates it if necessary. Raises `OSError`."""
        home = self._root / file_name(path)
        if path not in self._made:
            self._make(home)
            self._made.add(path)
        return home

    def _make(self, home: Path) -> None:
        tree, place = locate(home)
        tree.make(place)
        for name in VARIABLES.values():
            if name != "." and not Path(name).suffix:  # otherwise it is the home itself, or a file
                tree.make(f"{place}/{name}")
        config = f"{place}/.gitconfig"
        # A step may have changed its configuration, for later steps of the slice.
        if self._git_config and not tree.exists(config):
            tree.replace(config, self._git_config.encode())


def home_variables(home: Path) -> dict[str, str]:
    return {"HOME": str(home), **{name: str(home / place) for name, place in VARIABLES.items()}}

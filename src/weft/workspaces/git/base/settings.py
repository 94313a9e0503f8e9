"""git's configuration as one listing, which answers what would otherwise take one process per key."""

import re
import subprocess
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from weft.workspaces.git.base.repository_programs import LISTING, entries, overrides

_TRUE = frozenset({"true", "yes", "on"})
_NUMBER = re.compile(r"[+-]?\d+[kmg]?")


class GitSettings:
    """The settings that hold in a directory, as `git config --list` reports them."""

    def __init__(self, listing: bytes) -> None:
        self._listing = listing

    @cached_property
    def replaced(self) -> Mapping[str, str]:
        """The repository's settings that make git run programs, with the values that replace them."""
        return overrides(self._listing)

    @cached_property
    def _values(self) -> Mapping[str, str]:
        # git lists the files from the most general to the most specific, and the last value of a key holds.
        return {key: value for _, key, value in entries(self._listing)}

    def value(self, key: str) -> str | None:
        """Returns the value of a key, None without one. Section and name are lowercase, as git lists them."""
        return self._values.get(key)

    def keys(self, prefix: str) -> list[str]:
        """Returns the keys that start with a prefix."""
        return [key for key in self._values if key.startswith(prefix)]

    def is_true(self, key: str) -> bool:
        """Returns whether git takes the value of a key for true."""
        # git's rule for booleans: a word, or any number except zero, with an optional unit.
        value = (self.value(key) or "").lower()
        return value in _TRUE or bool(_NUMBER.fullmatch(value) and value.strip("+-0kmg"))


def settings_in(directory: Path, environ: Mapping[str, str]) -> GitSettings:
    """Returns the settings that hold in a directory; none without git or the directory."""
    try:
        listed = subprocess.run(  # noqa: S603 - an argv of our own
            ("git", *LISTING),  # noqa: S607 - the git that the user has
            cwd=directory,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            start_new_session=True,
        )
    except OSError:  # git or the directory is missing; the next command reports that
        return GitSettings(b"")
    return GitSettings(listed.stdout)

"""Programs that a repository's own configuration names, and settings that keep git from running them.

`.git/config`, `config.worktree` and their includes can name programs for almost everything that git does: filters,
diffs, merges, pagers, helpers. An unpacked archive can contain such files, and a step may have written them.
Looking at a project must not run the project's programs, so Weft resets each such key to the user's own value or
to a harmless one. The user's own configuration stays in force.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

LISTING = ("config", "--list", "--show-scope", "-z")
"""The command that prints the listing for this module."""
NO_TRANSPORT = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
"""Variables that keep git from contacting remotes, so that no helper, proxy or ssh command runs."""
_OF_REPOSITORY = frozenset({"local", "worktree"})
_FAILS = "false"
"""A program that fails, for settings where git takes an empty command for success."""
# Section and key are lowercase in the listing; the subsection between them keeps its case.
_NEUTRAL = (
    (r"filter\..*\.(clean|smudge|process)", ""),
    (r"filter\..*\.required", "false"),
    # An empty textconv is an error; `cat` shows the file as it is.
    (r"diff\..*\.textconv", "cat"),
    (r"diff\.external|diff\..*\.command", ""),
    # A driver that fails makes a conflict, which is honest; an empty one would count as a successful merge.
    (r"merge\..*\.driver", _FAILS),
    (r"gpg\.(.*\.)?program|gpg\.ssh\.defaultkeycommand", _FAILS),
    (r"core\.(pager|editor|askpass|sshcommand|gitproxy|alternaterefscommand)|sequence\.editor", ""),
    (r"pager\..*", "false"),
    (r"credential\.(.*\.)?helper|interactive\.difffilter|trailer\..*\.(command|cmd)", ""),
    (r"remote\..*\.(uploadpack|receivepack|vcs|proxy)|uploadpack\.packobjectshook", ""),
    (r"log\.showsignature", "false"),
)
_PATTERN = re.compile(
    "|".join(f"(?P<n{number}>{key})" for number, (key, _) in enumerate(_NEUTRAL)), re.DOTALL
)


def overrides(listing: bytes) -> dict[str, str]:
    """Returns the keys of the repository that make git run programs, each with its replacement value."""
    user_values: dict[str, str] = {}
    neutral_values: dict[str, str] = {}
    for scope, key, value in entries(listing):
        neutral = _neutral(key)
        if scope not in _OF_REPOSITORY:
            user_values[key] = value
        elif neutral is not None:
            neutral_values[key] = neutral
    return {key: user_values.get(key, neutral) for key, neutral in neutral_values.items()}


def entries(listing: bytes) -> Iterator[tuple[str, str, str]]:
    """Yields scope, key and value of each setting in a listing."""
    parts = listing.decode(errors="surrogateescape").split("\0")
    for scope, entry in zip(parts[::2], parts[1::2], strict=False):
        key, newline, value = entry.partition("\n")
        yield scope, key, value if newline else "true"  # git reads a key without a value as true


def _neutral(key: str) -> str | None:
    match = _PATTERN.fullmatch(key)
    return None if match is None or match.lastgroup is None else _NEUTRAL[int(match.lastgroup[1:])][1]


def variables(settings: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Returns variables that add these settings to those that the environment already passes to git."""
    count = environ.get("GIT_CONFIG_COUNT", "")
    # The user may pass settings in the same way. Ours come after theirs, and the last value of a key holds.
    first = int(count) if count.isdecimal() else 0
    values = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (key, value) in enumerate(settings.items(), first):
        values |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return values


# Filters on the files of a step


_FILTERS: dict[tuple[str, ...], tuple[str, ...]] = {}
"""The options by git directory and configuration, because each listing costs a process."""


def without_filters(directory: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns options that turn the user's filters off, because a step could choose the filtered files."""
    relevant = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
    key = (environ["GIT_DIR"], *(environ.get(name, "") for name in relevant))
    if key not in _FILTERS:
        completed = subprocess.run(
            ("git", "config", "--name-only", "-z", "--get-regexp", r"^filter\."),  # noqa: S607 - the user's
            cwd=directory,
            env={**environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        names = {os.fsdecode(name).rpartition(".")[0] for name in completed.stdout.split(b"\0") if name}
        neutral = ("clean=", "smudge=", "process=", "required=false")
        _FILTERS[key] = tuple(
            part for name in sorted(names) for setting in neutral for part in ("-c", f"{name}.{setting}")
        )
    return _FILTERS[key]

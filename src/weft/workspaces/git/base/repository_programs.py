"""Programs that a repository's own configuration names, and how git is kept from running them.

`.git/config`, `config.worktree` and the files that they include can name programs for almost everything that git
does: filters, diffs, merges, pagers, helpers. They come with a directory that was unpacked, and a step may have
written them. To look at a project must not run what the project brings, so each such key is set back to the value
that the user has for it, or to one that does nothing. What the user has in their own configuration counts.
"""

import re
from collections.abc import Iterator, Mapping

LISTING = ("config", "--list", "--show-scope", "-z")
"""The command whose output is read here."""
NO_TRANSPORT = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
"""Variables with which git reaches no remote repository, so that no helper, proxy or ssh command runs."""
_OF_REPOSITORY = frozenset({"local", "worktree"})
_FAILS = "false"
"""A program that fails, where git takes an empty one for success."""
# Section and name are lowercase in the listing; what is between them is as written.
_NEUTRAL = (
    (r"filter\..*\.(clean|smudge|process)", ""),
    (r"filter\..*\.required", "false"),
    (r"diff\..*\.textconv", "cat"),
    (r"diff\.external|diff\..*\.command", ""),
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
    """The keys that the repository sets and that have git run something, each with the value that replaces it."""
    users: dict[str, str] = {}
    brought: dict[str, str] = {}
    for scope, key, value in _entries(listing):
        neutral = _neutral(key)
        if scope not in _OF_REPOSITORY:
            users[key] = value
        elif neutral is not None:
            brought[key] = neutral
    return {key: users.get(key, neutral) for key, neutral in brought.items()}


def _entries(listing: bytes) -> Iterator[tuple[str, str, str]]:
    parts = listing.decode(errors="surrogateescape").split("\0")
    for scope, entry in zip(parts[::2], parts[1::2], strict=False):
        key, newline, value = entry.partition("\n")
        yield scope, key, value if newline else "true"  # a key without a value is a yes


def _neutral(key: str) -> str | None:
    match = _PATTERN.fullmatch(key)
    return None if match is None or match.lastgroup is None else _NEUTRAL[int(match.lastgroup[1:])][1]


def variables(settings: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Variables by which git takes these settings, after those that the environment has already."""
    count = environ.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    values = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (key, value) in enumerate(settings.items(), first):
        values |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return values

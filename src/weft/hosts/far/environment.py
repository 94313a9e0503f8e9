"""The variables that jobs inherit on this machine: those of the user's account, by their names.

The coordinator sends the names; the values, which may be keys, do not leave the machine.
"""

from collections.abc import Mapping, Sequence

from weft.search_path import search_path


def inherited(environ: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Returns the variables with these names; `LC_*` and `*_API_KEY` stand for many."""
    exact = {*names}
    prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
    suffixes = tuple(name[1:] for name in names if name.startswith("*"))
    variables = {
        name: value
        for name, value in environ.items()
        if (name in exact or name.startswith(prefixes) or name.endswith(suffixes)) and _is_text(value)
    }
    return variables | {"PATH": search_path(environ)}


def _is_text(value: str) -> bool:
    return value.encode(errors="replace").decode() == value

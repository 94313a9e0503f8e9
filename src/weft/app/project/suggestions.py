"""Commands that the user can type exactly as Weft prints them.

A suggestion is a command quoted for the shell, with a few words about its effect. It has no placeholders. Tests
collect the suggestions of every command and run them.
"""

import shlex

from msgspec import Struct


class Suggestion(Struct, frozen=True):
    command: str
    """The command as the user types it."""
    does: str = ""
    """Its effect, in a few words."""


def suggest(*words: str, does: str = "") -> Suggestion:
    return Suggestion(shlex.join(words), does)

"""Commands that a person can type as they are printed.

Whatever Weft suggests is a suggestion: words that are quoted for the shell, and a few words about what they do. No
suggestion holds a placeholder. Tests collect the suggestions of every command and type them.
"""

import shlex

from msgspec import Struct


class Suggestion(Struct, frozen=True):
    command: str
    """As it is typed."""
    does: str = ""
    """What it does, in a few words."""


def suggest(*words: str, does: str = "") -> Suggestion:
    return Suggestion(shlex.join(words), does)

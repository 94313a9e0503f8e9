"""What an agent does, in a form that people can read: it reads a file, edits one, runs a command, says something.

Agents write streams of JSON for programs. The adapter of an agent describes one line of its stream at a time, and
keeps no state: a tool call and its result are two descriptions with the same `call`. `ActivityReader` in
`weft.agents.shared.activity_reader` joins them, adds the byte offsets and bounds everything.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum

from msgspec import Struct


class Verb(StrEnum):
    """The kinds of activities. The value is the word that views show."""

    READS = "reads"
    EDITS = "edits"
    WRITES = "writes"
    DELETES = "deletes"
    RUNS = "runs"
    SEARCHES = "searches"
    LISTS = "lists"
    FETCHES = "fetches"
    PLANS = "plans"
    DELEGATES = "delegates"
    USES = "uses"
    """Any other tool."""
    SAYS = "says"
    THINKS = "thinks"
    REPORTS = "reports"
    """An error or a warning of the agent's program."""
    PRINTS = "prints"
    """A line that the adapter does not understand; it is shown as it is."""


PATHS = frozenset({Verb.READS, Verb.EDITS, Verb.WRITES, Verb.DELETES, Verb.LISTS})
"""Activities whose object is a path."""
TEXTS = frozenset({Verb.SAYS, Verb.THINKS, Verb.REPORTS, Verb.PRINTS})
"""Activities whose object is text, which may have several lines."""


class Activity(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that an agent does."""

    verb: Verb
    object: str = ""
    """A path, a command line, a pattern or a text, according to the verb."""
    added: int | None = None
    """Lines added by an edit; None if that is unknown."""
    removed: int | None = None
    outcome: str = ""
    """How a tool call ended, in a few words: `2 failed, 3 passed`, `exit code 1`. Empty if that is unknown."""
    is_bad: bool = False
    """Whether the tool call failed."""
    is_open: bool = False
    """Whether the result of the tool call has not been seen."""
    call: str = ""
    """The agent's own id of the tool call or the message."""
    is_part: bool = False
    """Whether the text continues that of the activity before, if both have the same `call`."""
    at: float | None = None
    """When it happened, if the stream says so."""
    start: int = 0
    """The offset of its first byte in the stream."""
    end: int = 0
    """The offset after its last byte, that of the result of a tool call if there is one."""
    index: int = 0
    """The number of the activity among those of its line. `start` and `index` together identify it."""


class CallResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The end of a tool call that an earlier line reported."""

    call: str
    outcome: str = ""
    is_bad: bool = False
    added: int | None = None
    removed: int | None = None


LineDescription = Sequence[Activity | CallResult]
DescribeLine = Callable[[str], LineDescription | None]
"""Describes one line of a stream.

Empty if there is nothing to show; None if the line is not understood and is to be shown as it is. It never raises.
"""

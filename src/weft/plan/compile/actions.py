"""The kinds of actions of a net's transitions. Views need them without the nets."""

from enum import StrEnum


class ActionKind(StrEnum):
    """What a transition does between its start and its finish."""

    NONE = ""
    """It takes no time."""
    AGENT = "agent"
    RUN = "run"
    VERIFY = "verify"
    ASK = "ask"
    WORKSPACE = "workspace"
    MERGE = "merge"
    RESOLVE = "resolve"
    LAND = "land"

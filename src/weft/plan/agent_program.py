"""The record of an agent that Weft can run. Each module of `weft.agents` declares its own."""

from collections.abc import Mapping

from msgspec import Struct

ANY_KEY = "*_API_KEY"
"""Stands for every variable with this ending: the agent works with many providers."""


class Login(Struct, frozen=True, repr_omit_defaults=True):
    """A file that a program creates when the user logs in."""

    file: str
    folder: str
    """Its directory, relative to the home directory."""
    variable: str = ""
    """An environment variable that names another directory."""


class Access(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The ways to authenticate an agent that calls models itself, and what it reports about its spending."""

    variables: tuple[str, ...] = ()
    """Any one of them is enough; the usual one comes first."""
    logins: tuple[Login, ...] = ()
    reports: tuple[str, ...] = ()
    """The kinds of spending that it reports: cost, tokens."""


class AgentProgram(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """An agent that Weft can run: its program, and what it needs and can do."""

    name: str
    """The value of `use` in a plan."""
    doc: str
    title: str = ""
    """The name of the program in messages."""
    program: str | None = None
    """The program it needs on the machine; None if it is a part of Weft or named in the plan."""
    install: str | None = None
    """The command that installs the program."""
    requires: str = ""
    """The key that it needs in a plan: `command` or `script`. An agent that needs none can be named by steps."""
    home: Mapping[str, str] = {}
    """Variables for where it keeps its settings, logins and conversations, with paths inside a home."""
    forks: bool = False
    """Whether two steps can continue one conversation at the same time without disturbing each other."""
    resumes: bool = True
    """Whether a step can continue the conversation of another."""
    reads_only: bool = False
    """Whether it has a mode in which it changes nothing, for steps with `read_only`."""
    needs_model: bool = False
    """Whether a model must be set because it has no default."""
    end: str = ""
    """The output that marks a successful end."""
    sign_in: str = ""
    """Advice for a missing or invalid key."""
    access: Access | None = None
    """None if the plan decides what the agent runs, and so which credentials it needs."""

"""The port to agents: adapters build the command line of an agent and interpret its result. Pure.

An adapter is a module with these functions, registered in a dict by the name that a plan's `use:` gives.
"""

from collections.abc import Mapping
from typing import Protocol, TypeGuard

from msgspec import Struct, field

from weft.engine.messages.facts import StepOutcome
from weft.plan.model import Agent
from weft.plan.prices import Usage


class AgentCall(Struct, frozen=True, kw_only=True):
    """One call of an agent."""

    agent: Agent
    prompt: str
    model: str | None = None
    session: str | None = None
    fork: bool = False
    read_only: bool = False
    plan_dir: str
    """The directory to which file names in the plan are relative."""
    cwd: str
    result_file: str
    """The path at which the process may report more as JSON than its output says; also passed as WEFT_RESULT."""


class Invocation(Struct, frozen=True, kw_only=True):
    """The process to start for a call."""

    argv: tuple[str, ...]
    stdin: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])


class AgentEnded(Struct, frozen=True, kw_only=True):
    """The end of an agent's process that was not stopped."""

    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str
    result_file: str | None
    """The contents of the result file; None if there is none."""
    at: float


class Verdict(Struct, frozen=True, kw_only=True):
    """The adapter's interpretation of an ended process."""

    how: StepOutcome
    """done, failed, infra or limited."""
    result: str = ""
    message: str = ""
    lasting: bool = False
    """Whether a retry cannot help, as with a wrong key."""
    cost: int | None = None
    tokens: int | None = None
    usage: Usage | None = None
    """The same tokens by kind, if that is known."""
    session: str | None = None
    until: float | None = None


class AgentAdapter(Protocol):
    """The functions of an adapter."""

    def invoke(self, call: AgentCall) -> Invocation:
        """Returns the process to start; raises `InputError` if the agent's settings are incomplete."""
        ...

    def judge(self, call: AgentCall, ended: AgentEnded) -> Verdict:
        """Interprets the end of the process."""
        ...


class Progress(Struct, frozen=True, kw_only=True):
    """The total spending so far of a process that still runs; None for what it does not report."""

    cost: int | None = None
    """In micro-dollars."""
    tokens: int | None = None
    usage: Usage | None = None


class MeteredAdapter(AgentAdapter, Protocol):
    """An adapter whose agents report their spending while they work. Not every adapter is one."""

    PROGRESS_IN: str
    """Where they report it: `result_file` or `stdout`."""

    def progress(self, call: AgentCall, text: str) -> Progress | None:
        """Reads the spending from the text so far: all of it, or the last lines of a long text. It may be cut."""
        ...


def is_metered(adapter: AgentAdapter) -> TypeGuard[MeteredAdapter]:
    return hasattr(adapter, "progress")

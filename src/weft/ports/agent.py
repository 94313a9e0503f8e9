"""An agent: how a program that works by a prompt is called, and what became of it. Pure.

An adapter is a module with these functions, listed in a dict by the name that a plan's `use:` gives.
"""

from collections.abc import Mapping
from typing import Protocol, TypeGuard

from msgspec import Struct, field

from weft.engine.run.facts import How
from weft.plan.model import Agent
from weft.plan.prices import Usage


class AgentCall(Struct, frozen=True, kw_only=True):
    agent: Agent
    prompt: str
    model: str | None = None
    session: str | None = None
    fork: bool = False
    read_only: bool = False
    plan_dir: str
    """What file names in the plan are relative to."""
    cwd: str
    result_file: str
    """Where the process may leave JSON that says more than its output; also in its environment as WEFT_RESULT."""


class Invocation(Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    stdin: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])


class AgentEnded(Struct, frozen=True, kw_only=True):
    """A process of an agent that ended by itself."""

    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str
    result_file: str | None
    """What it left in the result file; None if there is none."""
    at: float


class Verdict(Struct, frozen=True, kw_only=True):
    how: How
    """done, failed, infra or limited."""
    result: str = ""
    message: str = ""
    lasting: bool = False
    """Of a failure: whether another try cannot help, as with a wrong key."""
    cost: int | None = None
    tokens: int | None = None
    usage: Usage | None = None
    """The same tokens by kind, if that is known."""
    session: str | None = None
    until: float | None = None


class AgentAdapter(Protocol):
    def invoke(self, call: AgentCall) -> Invocation: ...

    def judge(self, call: AgentCall, ended: AgentEnded) -> Verdict: ...


class Progress(Struct, frozen=True, kw_only=True):
    """What a process that still runs has spent so far, all in all; None is what it does not tell."""

    cost: int | None = None
    """In micro-dollars."""
    tokens: int | None = None
    usage: Usage | None = None


class MeteredAdapter(AgentAdapter, Protocol):
    """One whose agents tell what they spend while they work. Not every adapter is one."""

    PROGRESS_IN: str
    """Where they tell it: `result_file` or `stdout`."""

    def progress(self, call: AgentCall, text: str) -> Progress | None:
        """What is said there so far: all of it, or if it is long its last lines. It may end in the middle."""
        ...


def is_metered(adapter: AgentAdapter) -> TypeGuard[MeteredAdapter]:
    return hasattr(adapter, "progress")

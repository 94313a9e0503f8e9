"""The port to agents: adapters build the command line of an agent and interpret its result. Pure.

Each module of `weft.agents` with an adapter declares it as `ADAPTER`.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from weft.engine.messages.facts import StepOutcome
from weft.plan.agent_program import AgentProgram
from weft.plan.prices import Usage
from weft.ports.activity import DescribeLine

if TYPE_CHECKING:  # `weft status` describes what agents do, and needs no plan for that
    from weft.plan.model import Agent


class AgentCall(Struct, frozen=True, kw_only=True):
    """One call of an agent."""

    agent: "Agent"
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


class Progress(Struct, frozen=True, kw_only=True):
    """The total spending so far of a process that still runs; None for what it does not report."""

    cost: int | None = None
    """In micro-dollars."""
    tokens: int | None = None
    usage: Usage | None = None


class ProgressSource(StrEnum):
    """Where agents report their spending while they work."""

    RESULT_FILE = "result_file"
    STDOUT = "stdout"


class AgentAdapter(Struct, frozen=True, kw_only=True):
    """An agent and how to call it."""

    program: AgentProgram
    invoke: Callable[[AgentCall], Invocation]
    """Returns the process to start; raises `InputError` if the agent's settings are incomplete."""
    judge: Callable[[AgentCall, AgentEnded], Verdict]
    """Interprets the end of the process."""
    progress: Callable[[AgentCall, str], Progress | None] | None = None
    """Reads the spending from the text so far: all of it, or the last lines of a long text. It may be cut.

    None if the agent reports its spending only at its end.
    """
    progress_in: ProgressSource = ProgressSource.RESULT_FILE
    describe: DescribeLine | None = None
    """Describes a line of standard output for people; None if the output is text that people can read."""
    describe_errors: DescribeLine | None = None
    """The same for standard error."""

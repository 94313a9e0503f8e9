"""Answers about one subplan: its attempts, why it waits, its log and its changes."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from weft.app.read_model.run_shapes import PoolHolder
from weft.app.views.needs_model import Action, Need
from weft.app.views.snapshot_model import ShownState


class Attempt(Struct, frozen=True, kw_only=True):
    """One execution of a step."""

    step: str
    attempt: int
    execution: int
    """1, or more if the attempt was interrupted."""
    firing: int
    action: str
    """`agent`, `run`, `merge` and so on."""
    agent: str
    model: str
    command: str
    started_at: float
    ended_at: float | None
    outcome: str
    """`running`, or how it ended: `done`, `failed`, `rejected`, `timeout` and so on."""
    message: str
    """What went wrong."""
    feedback: str
    """What it learned about the failure before it; empty for a first attempt."""
    exit_code: int | None
    tail: Sequence[str]
    """The last lines of its output, if it did not succeed."""
    cost: int | None
    """None if unknown."""
    tokens: int | None
    session: str
    """The conversation of the agent."""
    has_output: bool


class StepRow(Struct, frozen=True, kw_only=True):
    """A step of the pipeline."""

    name: str
    state: Literal["pending", "running", "done", "failed", "skipped"]
    kind: str
    """`agent coder`, `run`, `verify` and so on."""


class WaitLink(Struct, frozen=True, kw_only=True):
    """A subplan that another one waits for."""

    path: str
    state: ShownState
    why: str
    """Why it has not completed, in one line."""
    depth: int
    """How many subplans are between it and the one that was asked about."""


class LackedPool(Struct, frozen=True, kw_only=True):
    """A pool without room for the work of a subplan."""

    name: str
    step: str
    """The step that needs it; empty for the start of a slice."""
    holders: Sequence[PoolHolder]
    """At most 20."""
    more: int
    """Holders beyond these."""


class Why(Struct, frozen=True, kw_only=True):
    """Why a subplan is where it is."""

    sentence: str
    chain: Sequence[WaitLink]
    """What it waits for, up to what runs; at most 50."""
    more: int
    """Dependencies beyond these."""
    pools: Sequence[LackedPool]
    """The pools that it waits for."""


class SubplanDetail(Struct, frozen=True, kw_only=True):
    """Everything about a subplan but its log and its changes."""

    path: str
    row: int
    title: str
    leaf: bool
    state: ShownState
    reason: str
    message: str
    cause: str
    """The subplan or step that made it fail, if that was another one."""
    landing: str
    commit: str
    """Where it has landed; empty if it has not."""
    branch: str
    files: Sequence[str]
    """The patterns of files that it declares."""
    depends_on: Sequence[str]
    needed_by: Sequence[str]
    """At most 100."""
    cost: int
    unknown_costs: int
    tokens: int
    started_at: float | None
    ended_at: float | None
    steps: Sequence[StepRow]
    attempts: Sequence[Attempt]
    """In order; the last 500."""
    why: Why
    prompt: str
    """As the plan has it."""
    needs: Sequence[Need]
    actions: Sequence[Action]
    """What can be done with it now."""


class LogPart(Struct, frozen=True, kw_only=True):
    """An output that can be read: one execution of a step."""

    step: str
    attempt: int
    part: str
    """Identifies it in requests."""
    outcome: str
    started_at: float
    bytes: int
    """Of both streams, as far as they are kept."""


class LogLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of output."""

    at: int
    """The byte at which it starts; in readable logs, that of the activity. `at` and `index` identify the line."""
    index: int = 0
    """The number of the line among those with the same `at`."""
    text: str
    """Without its line end; at most 4,000 characters. It may hold ANSI sequences and anything else."""
    stream: Literal["out", "err"] = "out"
    kind: str = ""
    """In readable logs `tool`, `says`, `thinks`, `detail` (more of a thought), `reports` or `prints`."""
    is_error: bool = False
    """Whether it looks like an error."""
    is_cut: bool = False
    """Whether the line is longer than its text."""


class LogPage(Struct, frozen=True, kw_only=True):
    """A piece of a log."""

    path: str
    part: str
    parts: Sequence[LogPart]
    """All outputs of the subplan, the newest last."""
    stream: Literal["out", "err"]
    start: int
    """The byte of the first line."""
    end: int
    """The byte after the last line: the `from` of the next request."""
    size: int
    """The bytes that the stream has by now."""
    left_out: int | None
    """Bytes in the middle that were not kept; None until the step has ended."""
    gap_at: int | None
    """The byte at which they are missing."""
    is_ended: bool
    """Whether nothing more will come."""
    is_raw: bool
    """Whether the request asked for the stream as it was written; otherwise an agent's activities are shown."""
    lines: Sequence[LogLine]


class LogMatches(Struct, frozen=True, kw_only=True):
    """Lines that contain a text."""

    part: str
    stream: Literal["out", "err"]
    total: int
    """The true number of matching lines."""
    is_whole: bool
    """Whether all of the log was searched; a very long log is searched for a limited time."""
    lines: Sequence[LogLine]
    """The first 500 of them, after `from`."""


class FileRow(Struct, frozen=True, kw_only=True):
    """A changed file."""

    path: str
    status: Literal["added", "changed", "deleted"]
    added: int | None
    """Lines; None for a binary file."""
    removed: int | None
    is_committed: bool


class FileDiffText(Struct, frozen=True, kw_only=True):
    """The change of one file."""

    path: str
    text: str
    """As git writes it; empty for a binary file and for one that is too large."""
    is_binary: bool
    is_too_large: bool
    """Whether it has more than 3,000 changed lines; `force=1` shows it anyway."""


class ChangeSet(Struct, frozen=True, kw_only=True):
    """The changes of a subplan."""

    path: str
    branch: str
    start: str
    """The two commits."""
    head: str
    last_attempt: str
    """The commit from which the last attempt started; empty if there was only one."""
    files: Sequence[FileRow]
    """At most 300, unless `force=1`."""
    more: int
    """Files beyond these."""
    added: int
    removed: int
    is_large: bool
    """Whether it has more than 3,000 lines or 300 files."""
    file: FileDiffText | None
    """The file that was asked for."""

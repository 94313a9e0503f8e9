"""What agents do, read from the stored output of their steps.

The coordinator stores the output as it arrives and does not parse it; the process that shows it does. All reading
is by byte offset, so nothing is read twice, and a long output is never read as a whole to show its end.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from weft.agents.adapters import adapter_of
from weft.agents.shared.activity_reader import ActivityReader
from weft.app.project.places import Places
from weft.app.record.output import last_line
from weft.errors import InputError
from weft.ids import SubplanPath, file_name
from weft.plan.templates.render import render
from weft.ports.activity import Activity, DescribeLine
from weft.ports.host import JobRecords, OutputPart, PartState
from weft.workspaces.git.base.names import dotted

if TYPE_CHECKING:  # `weft status` has no plan, which is slow to import
    from weft.plan.model import Plan

PAGE = 1 << 20
_PARTS = (OutputPart.OUT_TAIL, OutputPart.ERR_TAIL, OutputPart.OUT, OutputPart.ERR)
_LOOKED_AT = (1 << 16, 1 << 20)
"""Bytes at the end of an output in which the last activity is searched: first so many, then so many."""


class AgentOutput(Struct, frozen=True, kw_only=True):
    """The stored output of a step that runs an agent."""

    records: JobRecords
    output: str
    """Its name in the records."""
    use: str
    """The adapter of the agent, as the plan names it in `use`."""
    roots: tuple[str, ...] = ()
    """Directories to which paths are shown relative."""

    def describe(self, part: OutputPart) -> DescribeLine | None:
        """Returns how to describe a line of this part; None if it is text that people can read."""
        return describer(self.use, part)


def describer(use: str, part: OutputPart) -> DescribeLine | None:
    try:
        adapter = adapter_of(use)
    except InputError:  # a plan of a version with other agents
        return None
    return adapter.describe if part in {OutputPart.OUT, OutputPart.OUT_TAIL} else adapter.describe_errors


class ActivityPage(Struct, frozen=True, kw_only=True):
    """A piece of an output as activities."""

    activities: Sequence[Activity]
    next_offset: int
    """Where to continue. Activities that were still open come again, with the same `start` and `index`."""


def activities(
    agent: AgentOutput, part: OutputPart = OutputPart.OUT, *, offset: int = 0, most: int = PAGE
) -> ActivityPage:
    """Returns the activities in at most `most` bytes of a part, from `offset` on, which is the start of a line.

    Each has the offsets of its bytes. A tool call and its result are one activity. There are none if the part is
    text that people can read.
    """
    describe = agent.describe(part)
    if describe is None:
        return ActivityPage(activities=(), next_offset=offset)
    reader = ActivityReader(describe, agent.roots, offset=offset)
    data = agent.records.read(agent.output, part, offset, most)
    updates = reader.feed(data)
    # A full page may end far behind an open call; reading then has to go forward.
    next_offset = reader.line_offset if len(data) == most else reader.resume_offset
    if next_offset == offset and len(data) == most:  # one line fills the page
        next_offset = offset + most
    return ActivityPage(activities=in_last_state(reader, updates), next_offset=next_offset)


def in_last_state(reader: ActivityReader, updates: Sequence[Activity]) -> list[Activity]:
    """Returns each activity once, in its last state, in the order in which they started."""
    unfinished = reader.unfinished
    every = [*updates, *([] if unfinished is None else [unfinished])]
    return list({(activity.start, activity.index): activity for activity in every}.values())


def workspace_roots(places: Places, plan: str, path: str, worktrees: str) -> tuple[str, ...]:
    """Returns the directories in which a slice may work, to which its paths are shown relative.

    `worktrees` is the setting of that name.
    """
    worktree = render(worktrees, {"slice": {"path": dotted(path)}, "plan": {"id": plan}})
    folder = places.work(plan) / file_name(path)
    return (str(places.project / worktree), str(folder), str(places.project))


class AgentOutputs:
    """The outputs of the agents of one run."""

    def __init__(self, plan: "Plan", places: Places, records: JobRecords) -> None:
        self._plan = plan
        self._places = places
        self.records = records

    def of(self, path: str, agent: str, output: str) -> AgentOutput:
        """Returns the output with that name, of a step of the subplan `path` that runs `agent`."""
        plan = self._plan
        # Asked once for each step, so that an index of all paths would only cost memory.
        worktrees = plan.scopes[plan.outline.paths.index(SubplanPath(path))].settings.worktrees
        return AgentOutput(
            records=self.records,
            output=output,
            use=plan.agents[agent].use if agent in plan.agents else "",
            roots=workspace_roots(self._places, plan.id, path, worktrees),
        )


# --- the last activity ---


class Glimpse(Struct, frozen=True, kw_only=True):
    """What a running step does now."""

    activity: Activity | None = None
    """The last activity; None if the output is text, or there is none."""
    line: str = ""
    """The last line of an output that is text."""
    changed_at: float | None = None
    """When the step last wrote, in seconds since the epoch; None if it has not written."""

    def silence(self, started_at: float, now: float) -> float:
        """Returns for how many seconds the step has written nothing."""
        return max(0.0, now - max(started_at, self.changed_at or 0.0))


class LastActivity:
    """The last activity of a running step. Each update reads only what is new, and never much."""

    def __init__(self, agent: AgentOutput) -> None:
        self._agent = agent
        self._states: dict[OutputPart, PartState] = {}
        self._ends: dict[OutputPart, _PartEnd] = {}
        self._glimpse = Glimpse()

    def update(self) -> Glimpse:
        states = _states(self._agent)
        if states != self._states:
            self._states = states
            self._glimpse = self._look(states)
        return self._glimpse

    def _look(self, states: Mapping[OutputPart, PartState]) -> Glimpse:
        agent = self._agent
        changed_at = max(state.changed_at for state in states.values()) / 1e9 if states else None
        for part in sorted(states, key=lambda part: states[part].changed_at, reverse=True):
            describe = agent.describe(part)
            if describe is None:
                continue
            end = self._ends.setdefault(part, _PartEnd(agent, part, describe))
            activity = end.update(states[part])
            if activity is not None:
                return Glimpse(activity=activity, changed_at=changed_at)
        is_stream = agent.describe(OutputPart.OUT) is not None
        return Glimpse(
            line="" if is_stream else last_line(agent.records, agent.output), changed_at=changed_at
        )


class _PartEnd:
    """The end of a part that grows, and the last activity in it."""

    def __init__(self, agent: AgentOutput, part: OutputPart, describe: DescribeLine) -> None:
        self._agent = agent
        self._part = part
        self._describe = describe
        self._reader = ActivityReader(describe, agent.roots)
        self._read = 0
        self._version = 0
        self._last: Activity | None = None

    def update(self, state: PartState) -> Activity | None:
        is_new = state.version != self._version or state.size < self._read
        if is_new or state.size - self._read > _LOOKED_AT[0]:
            self._version = state.version
            # A result that was read can fill the end of an output, so more of it is read if need be.
            for most in _LOOKED_AT:
                self._jump(max(0, state.size - most))
                if self._advance(state.size) or state.size <= most:
                    break
        else:
            self._advance(state.size)
        return self._last

    def _jump(self, offset: int) -> None:
        """Continues at the first line that starts after the offset."""
        if offset:
            data = self._agent.records.read(self._agent.output, self._part, offset, _LOOKED_AT[1])
            offset += data.find(b"\n") + 1 or len(data)
        self._reader = ActivityReader(self._describe, self._agent.roots, offset=offset)
        self._read = offset

    def _advance(self, size: int) -> bool:
        """Reads up to `size`, and returns whether there was an activity."""
        data = self._agent.records.read(self._agent.output, self._part, self._read, max(0, size - self._read))
        self._read += len(data)
        seen = in_last_state(self._reader, self._reader.feed(data))
        self._last = seen[-1] if seen else self._last
        return bool(seen)


def glimpse(agent: AgentOutput) -> Glimpse:
    """Returns what a running step does now."""
    return LastActivity(agent).update()


def _states(agent: AgentOutput) -> dict[OutputPart, PartState]:
    states = ((part, agent.records.state(agent.output, part)) for part in _PARTS)
    return {part: state for part, state in states if state is not None and state.size}

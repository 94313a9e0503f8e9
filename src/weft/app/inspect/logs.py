"""What the steps of a subplan wrote, step by step in the order in which they began.

A merge or a landing comes to a process only if what has come together must be verified; and it may have several,
one after the other, if the branch moves meanwhile. The journal has one beginning and one end for all of them. What
each wrote is in files of its own, and whether there was any is seen from those, or from how it ended.
"""

import os
import re
from collections.abc import Iterator
from enum import Enum, auto

from msgspec import Struct, field
from msgspec.structs import replace

from weft.app.record.journal import Alone, RecordedRun, ignore_absence
from weft.app.record.output_files import chunks, size
from weft.app.record.run_plan import plan_of
from weft.app.record.step_selection import VERIFIED, WHOLE, StepSelection, chosen
from weft.engine.messages.events import Event, Recorded
from weft.engine.messages.facts import Ended
from weft.errors import InputError
from weft.runtime.jobs import SETUP, output_prefix
from weft.safe_files import locate

STREAMS = ("out", "err")
_FILE = re.compile(r"(?:(\d+)\.)?(?:out|err)")
"""How the name of a file goes on after what it begins with."""
_AGAIN = Event(
    kind="step_finished",
    outcome="done",
    data={"message": "the branch had moved meanwhile, so it was merged and verified again"},
)
_NO_FAILURE = frozenset({"done", "cancelled", "stopped"})
_PROCESS = ("exit_code", "signal")
"""One of these is told of what was a process."""


class StepLog(Struct, kw_only=True, eq=False):
    """One execution of a step."""

    subplan: str
    step: str
    attempt: int
    command: str
    prefix: str
    """What the names of its files begin with."""
    is_told: bool = False
    """Whether it has been said that it began."""
    round: int = 0
    """Of a verify of what has come together: the how-manieth for the same merge."""
    read: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STREAMS, 0))
    """How much of each stream has been told."""
    end: Event | None = None

    @property
    def name(self) -> str:
        """As it can be typed after `weft logs`."""
        return f"{self.subplan or WHOLE}:{self.step}"


Key = tuple[int, int]
"""A firing, and the number of its execution."""


class LogStreams(Enum):
    STARTED = auto()
    OUTPUT = auto()
    LEFT_OUT = auto()
    """Not all was kept."""
    ENDED = auto()


class Piece(Struct, frozen=True, kw_only=True):
    what: LogStreams
    log: StepLog
    stream: str = ""
    """`out` or `err`."""
    data: bytes = b""
    left_out: int = 0
    """Bytes of the stream at this point that were not kept."""


def pieces(
    book: RecordedRun, name: str | None, *, follow: bool = False, alone: Alone = ignore_absence
) -> Iterator[Piece]:
    """What was written in a subplan, `store/model`, or in one of its steps, `store/model:code`.

    Without a name, the output of the steps that failed or run. With `follow` also what is written from now on,
    until the run is over; then what is written at the same time comes as it is written.
    """
    which = _chosen(book, WHOLE if name is None else name)
    book.require_sight(which.rows, which.typed)
    selection = _Selection(everything=True) if name is not None else _failed_or_running(book)
    under_way: dict[Key, _Execution] = {}
    after, is_empty = 0, True
    for is_news in book.looks(follow=follow, alone=alone):
        for one in book.journal.events(book.run.run, after=after) if is_news else ():
            after = one.seq
            if which.has(one.event) and selection.has(one):
                _hear(one.event, under_way, which, book)
        for key, execution in [*under_way.items()]:
            for piece in execution.tell():
                is_empty = False
                yield piece
            if execution.end is not None:
                del under_way[key]
    if is_empty and name is not None:
        raise _nothing(book, which)


def _chosen(book: RecordedRun, name: str) -> StepSelection:
    try:
        return chosen(plan_of(book), name)
    except InputError as error:
        only = book.chosen()
        if not only:
            raise
        raise InputError(f"{error} (run {book.run.run} was for {', '.join(only)} only)") from None


def _hear(event: Event, under_way: "dict[Key, _Execution]", which: StepSelection, book: RecordedRun) -> None:
    key = _key(event)
    if event.kind == "verify":
        _hear_verify(event, under_way, which, book)
    elif event.kind == "step_started" and (command := which.command(event)):
        is_ours = event.step == SETUP or event.step in VERIFIED
        attempt = 1 if is_ours else event.attempt
        folder = book.places.logs(book.run.run)
        log = StepLog(
            subplan=event.subplan,
            step=event.step,
            attempt=attempt,
            command=command,
            prefix=output_prefix(folder, event.subplan, event.step, (attempt, *key)),
        )
        under_way[key] = _Rounds(log) if event.step in VERIFIED else _Execution(log)
    elif event.kind == "step_finished" and key in under_way:
        under_way[key].end = event


_QUEUE = -1
"""Stands for a firing in the keys of what the landing queue verifies."""


def _hear_verify(
    event: Event, under_way: "dict[Key, _Execution]", which: StepSelection, book: RecordedRun
) -> None:
    """The landing queue verifies what would land, for several subplans at once."""
    own = {key: each for key, each in under_way.items() if key[0] == _QUEUE}
    if event.outcome != "started":
        for each in own.values():  # there is one at a time
            each.end = each.end or event
        return
    log = StepLog(
        subplan=which.entry_of(event) or "",
        step=event.step,
        attempt=1,
        command=" && ".join(event.data["commands"]),
        prefix=str(book.places.logs(book.run.run) / event.data["log"]),
    )
    under_way[_QUEUE, max((number for _, number in own), default=0) + 1] = _Execution(log)


def _key(event: Event) -> Key:
    return event.data.get("firing", 0), event.data.get("execution", 1)


# --- what failed or runs ---


class _Selection(Struct, frozen=True, kw_only=True):
    """Which executions to show."""

    everything: bool = False
    keys: frozenset[Key] = frozenset()
    seen: int = 0
    """The last event that was looked at; every execution that starts later is shown."""

    def has(self, recorded: Recorded) -> bool:
        return self.everything or recorded.seq > self.seen or _key(recorded.event) in self.keys


def _failed_or_running(book: RecordedRun) -> _Selection:
    """The executions that have not ended, and of each subplan that did not succeed the last ones that failed."""
    running: dict[Key, Event] = {}
    last: dict[tuple[str, str], tuple[Key, str]] = {}
    seen = 0
    for recorded in book.journal.events(book.run.run):
        event, seen = recorded.event, recorded.seq
        if event.kind == "step_started":
            running[_key(event)] = event
        elif event.kind == "step_finished" and running.pop(_key(event), None) is not None:
            last[event.subplan, event.step] = (_key(event), event.outcome)
    states = book.journal.states(book.run.run)
    failed = {
        key
        for (subplan, step), (key, outcome) in last.items()
        if outcome not in _NO_FAILURE and (states.get(subplan) == "failed" or step in VERIFIED)
    }
    return _Selection(keys=frozenset(failed | running.keys()), seen=seen)


class _Execution:
    """What was begun once: one process."""

    def __init__(self, log: StepLog) -> None:
        self._log = log
        self.end: Event | None = None

    def tell(self) -> Iterator[Piece]:
        self._log.end = self.end
        yield from _tell(self._log)


class _Rounds(_Execution):
    """A merge or a landing: none, or several, one after the other."""

    def __init__(self, log: StepLog) -> None:
        super().__init__(log)
        self._rounds: dict[int, StepLog] = {}

    def tell(self) -> Iterator[Piece]:
        self._look()
        last = max(self._rounds, default=0)
        for number in sorted(self._rounds):
            log = self._rounds[number]
            if log.end is None:
                log.end = self.end if number == last else _AGAIN
                yield from _tell(log)

    def _look(self) -> None:
        for number in _numbers(self._log.prefix):
            self._begun(number)
        if self.end is not None and not self._rounds and any(one in self.end.data for one in _PROCESS):
            self._begun(0)  # it wrote nothing

    def _begun(self, number: int) -> None:
        prefix = f"{self._log.prefix}.{number}" if number else self._log.prefix
        log = replace(self._log, prefix=prefix, round=number + 1, read=dict.fromkeys(STREAMS, 0))
        self._rounds.setdefault(number, log)


def _numbers(prefix: str) -> set[int]:
    """Of which rounds there are files."""
    folder, name = os.path.split(prefix)
    tree, below = locate(folder)
    try:
        files = tree.names(below)
    except OSError:
        return set()
    endings = (file.removeprefix(f"{name}.") for file in files if file.startswith(f"{name}."))
    return {int(found[1] or 0) for ending in endings if (found := _FILE.fullmatch(ending))}


# --- the output of one step ---


def _tell(log: StepLog) -> Iterator[Piece]:
    """What has not been told yet."""
    if not log.is_told:
        log.is_told = True
        yield Piece(what=LogStreams.STARTED, log=log)
    for stream in STREAMS:
        for data in chunks(f"{log.prefix}.{stream}", log.read[stream]):
            log.read[stream] += len(data)
            yield Piece(what=LogStreams.OUTPUT, log=log, stream=stream, data=data)
        if log.end is not None:
            yield from _rest(log, stream)
    if log.end is not None:
        yield Piece(what=LogStreams.ENDED, log=log)


def _rest(log: StepLog, stream: str) -> Iterator[Piece]:
    """What came after the beginning that is kept as it comes. Of that only the end is there."""
    tail = f"{log.prefix}.{stream}.tail"
    left_out = _written(log, stream) - log.read[stream] - size(tail)
    if left_out > 0:
        yield Piece(what=LogStreams.LEFT_OUT, log=log, stream=stream, left_out=left_out)
    for data in chunks(tail, 0):
        yield Piece(what=LogStreams.OUTPUT, log=log, stream=stream, data=data)


def _written(log: StepLog, stream: str) -> int:
    """How many bytes it wrote, if that is known."""
    fact = log.end.fact if log.end is not None else None
    if not isinstance(fact, Ended):
        return 0
    return fact.stdout_bytes if stream == "out" else fact.stderr_bytes


# --- nothing at all ---


def _nothing(book: RecordedRun, which: StepSelection) -> InputError:
    said = f"no process of {which.typed} has been started in run {book.run.run}"
    earlier = _earlier(book, which)
    return InputError(
        f"{said}; for an earlier one, type: weft logs {which.typed} --run {earlier}" if earlier else said
    )


def _earlier(book: RecordedRun, which: StepSelection) -> str | None:
    """The run that has last done what this one took over."""
    runs = [one.run for one in book.journal.runs(book.run.plan)]
    for run in runs[runs.index(book.run.run) + 1 :]:
        if any(one.event.kind == "step_started" and which.has(one.event) for one in book.journal.events(run)):
            return run
    return None

"""What the steps of a subplan wrote, step by step in the order in which they began."""

from collections.abc import Iterator
from enum import Enum, auto

from msgspec import Struct

from weft.app.journals import Alone, Book, nobody_minds
from weft.app.run_output import chunks, size
from weft.app.run_steps import Chosen, chosen
from weft.engine.run.events import Event
from weft.engine.run.facts import Ended
from weft.errors import InputError
from weft.runtime.jobs import SETUP, output_prefix

STREAMS = ("out", "err")


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
    read: dict[str, int]
    """How much of each stream has been told."""
    end: Event | None = None

    @property
    def name(self) -> str:
        return f"{self.subplan}:{self.step}"


class What(Enum):
    STARTED = auto()
    OUTPUT = auto()
    LEFT_OUT = auto()
    """Not all was kept."""
    ENDED = auto()


class Piece(Struct, frozen=True, kw_only=True):
    what: What
    log: StepLog
    stream: str = ""
    """`out` or `err`."""
    data: bytes = b""
    left_out: int = 0
    """Bytes of the stream at this point that were not kept."""


def pieces(book: Book, name: str, *, follow: bool = False, alone: Alone = nobody_minds) -> Iterator[Piece]:
    """What was written in a subplan, `store/model`, or in one of its steps, `store/model:code`.

    With `follow` also what is written from now on, until the run is over; then what is written at the same time
    comes as it is written.
    """
    which = chosen(book.plan(), name)
    logs: dict[tuple[int, int], StepLog] = {}
    after, is_empty = 0, True
    for is_news in book.looks(follow=follow, alone=alone):
        for one in book.journal.events(book.run.run, after=after) if is_news else ():
            after = one.seq
            if which.has(one.event):
                _hear(one.event, logs, which, book)
        for key, log in [*logs.items()]:
            is_empty = False
            yield from _tell(log)
            if log.end is not None:
                del logs[key]
    if is_empty:
        raise _nothing(book, which)


def _hear(event: Event, logs: dict[tuple[int, int], StepLog], which: Chosen, book: Book) -> None:
    key = (event.data.get("firing", 0), event.data.get("execution", 1))
    if event.kind == "step_started" and (command := which.command(event)):
        attempt = 1 if event.step == SETUP else event.attempt
        folder = book.places.logs(book.run.run)
        logs[key] = StepLog(
            subplan=event.subplan,
            step=event.step,
            attempt=attempt,
            command=command,
            prefix=output_prefix(folder, event.subplan, event.step, (attempt, *key)),
            read=dict.fromkeys(STREAMS, 0),
        )
    elif event.kind == "step_finished" and key in logs:
        logs[key].end = event


# --- the output of one step ---


def _tell(log: StepLog) -> Iterator[Piece]:
    """What has not been told yet."""
    if not log.is_told:
        log.is_told = True
        yield Piece(what=What.STARTED, log=log)
    for stream in STREAMS:
        for data in chunks(f"{log.prefix}.{stream}", log.read[stream]):
            log.read[stream] += len(data)
            yield Piece(what=What.OUTPUT, log=log, stream=stream, data=data)
        if log.end is not None:
            yield from _rest(log, stream)
    if log.end is not None:
        yield Piece(what=What.ENDED, log=log)


def _rest(log: StepLog, stream: str) -> Iterator[Piece]:
    """What came after the beginning that is kept as it comes. Of that only the end is there."""
    tail = f"{log.prefix}.{stream}.tail"
    left_out = _written(log, stream) - log.read[stream] - size(tail)
    if left_out > 0:
        yield Piece(what=What.LEFT_OUT, log=log, stream=stream, left_out=left_out)
    for data in chunks(tail, 0):
        yield Piece(what=What.OUTPUT, log=log, stream=stream, data=data)


def _written(log: StepLog, stream: str) -> int:
    """How many bytes it wrote, if that is known."""
    fact = log.end.fact if log.end is not None else None
    if not isinstance(fact, Ended):
        return 0
    return fact.stdout_bytes if stream == "out" else fact.stderr_bytes


# --- nothing at all ---


def _nothing(book: Book, which: Chosen) -> InputError:
    said = f"no process of {which.typed} has been started in run {book.run.run}"
    earlier = _earlier(book, which)
    return InputError(
        f"{said}; for an earlier one, type: weft logs {which.typed} --run {earlier}" if earlier else said
    )


def _earlier(book: Book, which: Chosen) -> str | None:
    """The run that has last done what this one took over."""
    runs = [one.run for one in book.journal.runs(book.run.plan)]
    for run in runs[runs.index(book.run.run) + 1 :]:
        if any(one.event.kind == "step_started" and which.has(one.event) for one in book.journal.events(run)):
            return run
    return None

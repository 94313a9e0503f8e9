"""How people steer a run: pause it, let it go on, stop it; all of it or some subplans.

What is wanted is a request in the journal, with a number; the coordinator takes it up within a moment, and it is
part of the run from then on, for every later coordinator, too. A stop is meant for the coordinator that is there
now: where there is none, nothing is left for the next one to trip over.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from weft.app.record.journal import RecordedRun
from weft.app.record.run_record import recorded_plan
from weft.engine.messages.facts import ControlState
from weft.engine.messages.run_status import UNFINISHED
from weft.engine.state.control_requests import ControlRequests
from weft.errors import InputError, WeftError
from weft.plan.text.problems import suggestion
from weft.ports.journal import JournalReader

PATIENCE = 10.0
"""Seconds in which a coordinator that is well takes up what is asked of it."""
LOOKS_EVERY = 0.05

Sign = Callable[[], None]
"""To be called now and then while one waits."""


def no_sign() -> None:
    pass


class ControlResult(Struct, frozen=True, kw_only=True):
    """What came of it."""

    run: str
    wanted: ControlState
    subplans: tuple[str, ...]
    """Of these; none: of all."""
    changed: bool
    """Whether it was not so before."""
    alive: bool
    """Whether anybody runs it."""
    state: str
    """Of the run, then."""
    under_way: tuple[str, ...] = ()
    """The steps that are under way there."""
    start_command: str
    """The command that resumes the run."""


class DeafError(WeftError):
    """The coordinator does not take up what it is asked."""


def chosen(book: RecordedRun, names: Sequence[str]) -> tuple[str, ...]:
    """The paths of these subplans; a last part that is no other's will do."""
    paths: Iterable[str] = recorded_plan(book.run).paths if names else ()
    return tuple(_chosen(name, paths, book.run.run) for name in names)


def _chosen(name: str, paths: Iterable[str], run: str) -> str:
    known = list(paths)
    plain = name.strip("/")
    if plain in known:
        return plain
    fitting = [path for path in known if path.endswith(f"/{plain}")]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InputError(f"{name!r} may be {' or '.join(fitting[:3])}; say which")
    raise InputError(f"run {run} has no subplan {name!r}{suggestion(name, known)}")


def wishes_of(book: RecordedRun) -> ControlRequests:
    """What people want of the parts of a run, as far as it has taken that up."""
    return wishes_in(book.journal, book.run.run)


def wishes_in(journal: JournalReader, run: str) -> ControlRequests:
    """The same, of any run."""
    found = ControlRequests()
    for glimpse in journal.glance(run):
        if glimpse.kind in {"paused", "resumed"}:
            found.says(glimpse.subplan, ControlState(glimpse.outcome))
        elif glimpse.kind == "recovered":
            found.forget_stops()
    return found


def steer(
    book: RecordedRun,
    wanted: ControlState,
    names: Sequence[str] = (),
    *,
    now: bool = False,
    sign: Sign = no_sign,
) -> ControlResult:
    """Has it done; returns when the coordinator has taken it up. Raises `DeafError` if it does not."""
    subplans = chosen(book, names)
    alive = book.is_run_by_somebody() and not book.has_left()
    wishes = wishes_of(book)
    changed = not all(wishes.holds(path, wanted) for path in subplans or ("",))
    if wanted is ControlState.STOP and not subplans:
        changed = True
    leaves_word = alive or (wanted is ControlState.GO and changed)
    if changed and leaves_word and book.state() in UNFINISHED:
        for path in subplans or ("",):
            _ask(book, path, wanted, now=now)
        if alive:
            alive = await_taken(book, "control", sign)
    else:
        changed = False
    steps = under_way(book, subplans) if alive else ()
    return ControlResult(
        run=book.run.run,
        wanted=wanted,
        subplans=subplans,
        changed=changed,
        alive=alive,
        state=book.state(),
        under_way=steps,
        start_command=book.start_command(),
    )


def _ask(book: RecordedRun, path: str, wanted: ControlState, *, now: bool) -> None:
    data: dict[str, object] = {"wanted": str(wanted), **({"now": True} if now else {})}
    book.journal.ask(book.run.run, "control", subplan=path, step="", data=data, at=time.time())


def await_taken(book: RecordedRun, kind: str, sign: Sign) -> bool:
    """Until all of this kind is taken up; whether the coordinator was there to the end."""
    until = time.monotonic() + PATIENCE
    while any(request.kind == kind for request in book.journal.requests(book.run.run)):
        if not book.is_run_by_somebody() or book.has_left():
            return False
        if time.monotonic() > until:
            raise deaf_error(book)
        time.sleep(LOOKS_EVERY)
        sign()
    return True


def deaf_error(book: RecordedRun) -> DeafError:
    holder = book.journal.holder()
    pid = "" if holder is None else f" (process {holder.pid})"
    return DeafError(
        f"the coordinator{pid} is alive and has not taken this up within {PATIENCE:.0f} s; it will when it goes "
        "on. What may be wrong with it: weft doctor"
    )


def await_end(book: RecordedRun, sign: Sign = no_sign) -> None:
    """Until nobody runs it any more: whoever stops writes so before it goes."""
    while book.is_run_by_somebody():
        time.sleep(LOOKS_EVERY)
        sign()


def under_way(book: RecordedRun, subplans: Sequence[str] = ()) -> tuple[str, ...]:
    """The steps that run now, as `store/model:code`."""
    states = book.journal.states(book.run.run)
    wanted = [
        path for path, state in states.items() if state == "running" and _is_within(path, subplans or ("",))
    ]
    steps: dict[tuple[str, str], None] = {}
    for one in book.journal.lives(book.run.run, wanted):
        if one.kind == "step_started":
            steps[one.subplan, one.step] = None
        elif one.kind == "step_finished":
            steps.pop((one.subplan, one.step), None)
    return tuple(f"{path}:{step}" for path, step in steps)


def _is_within(path: str, subplans: Sequence[str]) -> bool:
    return any(not one or path == one or path.startswith(f"{one}/") for one in subplans)


def refuse_to_retry(book: RecordedRun, names: Sequence[str]) -> tuple[str, ...]:
    """The subplans that are to be done once more; raises if that makes no sense now."""
    subplans = chosen(book, names)
    holder = book.journal.holder()
    if holder is not None and book.is_run_by_somebody():
        raise WeftError(
            f"run {book.run.run} is under way (process {holder.pid}); what failed in it can be done once more "
            "when it has ended, or after: weft stop"
        )
    states = book.journal.states(book.run.run)
    for path in subplans:
        state = states.get(path, "pending")
        if state != "failed":
            raise InputError(f"{path} has not failed: it is {state}; {_instead_of_retry(book, states)}")
    if not subplans and "failed" not in states.values():
        raise InputError(f"nothing has failed in run {book.run.run}; {_instead_of_retry(book, states)}")
    return subplans


def _instead_of_retry(book: RecordedRun, states: Mapping[str, str]) -> str:
    if "failed" in states.values():
        return "to retry what has failed, type: weft retry"
    if book.state() in UNFINISHED:
        return f"to resume the run, type: {book.start_command()}"
    return f"to do everything once more, type: {book.start_command()} --fresh"

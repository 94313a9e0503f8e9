"""Pause, resume or stop a run or some of its subplans.

A command writes a numbered request into the journal. The coordinator takes it up within a moment; from then on it
is part of the run, also for later coordinators. A stop concerns only the present coordinator: without one, no
request is written, so that it cannot stop the next coordinator.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from weft.app.record.journal import RecordedRun
from weft.app.record.run_record import recorded_plan
from weft.app.views.run_fold import RunFold
from weft.engine.messages.event_codec import kinds_of
from weft.engine.messages.events import PausedEvent, RecoveredEvent, ResumedEvent
from weft.engine.messages.facts import ControlState
from weft.engine.state.control_requests import ControlRequests
from weft.errors import InputError, WeftError
from weft.plan.text.problems import suggestion
from weft.ports.journal import JournalReader
from weft.terms import UNFINISHED

_CONTROL = kinds_of(PausedEvent, ResumedEvent, RecoveredEvent)
PATIENCE = 10.0
"""Seconds within which a healthy coordinator takes up a request."""
POLL_INTERVAL = 0.05

Sign = Callable[[], None]
"""Called regularly during a wait, to show that the command is alive."""


def no_sign() -> None:
    pass


class ControlResult(Struct, frozen=True, kw_only=True):
    """The result of a request to pause, resume or stop."""

    run: str
    wanted: ControlState
    subplans: tuple[str, ...]
    """The subplans concerned; empty for the whole run."""
    changed: bool
    """Whether the request changed anything."""
    alive: bool
    """Whether a coordinator works on the run."""
    state: str
    """The state of the run after the request."""
    under_way: tuple[str, ...] = ()
    """The running steps of these subplans."""
    start_command: str
    """The command that resumes the run."""


class UnresponsiveError(WeftError):
    """The coordinator does not take up a request."""


def chosen(recorded_run: RecordedRun, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the paths of the named subplans; the last part of a path is enough if it is unique."""
    paths: Iterable[str] = recorded_plan(recorded_run.run).paths if names else ()
    return tuple(_resolve_name(name, paths, recorded_run.run.run) for name in names)


def _resolve_name(name: str, paths: Iterable[str], run: str) -> str:
    candidates = list(paths)
    plain = name.strip("/")  # `store/` is the same subplan as `store`
    if plain in candidates:
        return plain
    matches = [path for path in candidates if path.endswith(f"/{plain}")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InputError(f"{name!r} may be {' or '.join(matches[:3])}; say which")
    raise InputError(f"run {run} has no subplan {name!r}{suggestion(name, candidates)}")


def control_requests_of(recorded_run: RecordedRun) -> ControlRequests:
    """Returns the control requests that the run has taken up."""
    return control_requests_in(recorded_run.journal, recorded_run.run.run)


def control_requests_in(journal: JournalReader, run: str) -> ControlRequests:
    """Returns the control requests that a run of the journal has taken up."""
    fold = RunFold()
    # A glimpse is decoded only on demand. Of a long run, a few events in a hundred thousand are control requests.
    for glimpse in journal.notable_events(run):
        if glimpse.kind in _CONTROL:
            fold.apply(glimpse.event(), glimpse.at, glimpse.seq)
    return fold.control_requests


def steer(
    recorded_run: RecordedRun,
    wanted: ControlState,
    names: Sequence[str] = (),
    *,
    now: bool = False,
    sign: Sign = no_sign,
) -> ControlResult:
    """Requests the control state and waits until the coordinator has taken it up.

    Raises `UnresponsiveError` if the coordinator does not take it up.
    """
    subplans = chosen(recorded_run, names)
    alive = recorded_run.has_coordinator() and not recorded_run.has_left()
    requests = control_requests_of(recorded_run)
    changed = not all(requests.holds(path, wanted) for path in subplans or ("",))
    # A stop of the whole run is never a repetition: a second one means "at once".
    if wanted is ControlState.STOP and not subplans:
        changed = True
    # Without a coordinator, only a resume is worth recording: the pause it ends is in the journal and would hold
    # the next coordinator too. A pause or a stop of a run that does not run would surprise the user who starts it
    # next.
    is_requested = alive or (wanted is ControlState.GO and changed)
    if changed and is_requested and recorded_run.state() in UNFINISHED:
        for path in subplans or ("",):
            _ask(recorded_run, path, wanted, now=now)
        if alive:
            alive = await_taken(recorded_run, "control", sign)
    else:
        changed = False
    steps = under_way(recorded_run, subplans) if alive else ()
    return ControlResult(
        run=recorded_run.run.run,
        wanted=wanted,
        subplans=subplans,
        changed=changed,
        alive=alive,
        state=recorded_run.state(),
        under_way=steps,
        start_command=recorded_run.start_command(),
    )


def _ask(recorded_run: RecordedRun, path: str, wanted: ControlState, *, now: bool) -> None:
    data: dict[str, object] = {"wanted": str(wanted), **({"now": True} if now else {})}
    recorded_run.journal.ask(
        recorded_run.run.run, "control", subplan=path, step="", data=data, at=time.time()
    )


def await_taken(recorded_run: RecordedRun, kind: str, sign: Sign) -> bool:
    """Waits until all requests of this kind are taken up; returns False if the coordinator left before that."""
    until = time.monotonic() + PATIENCE
    while any(request.kind == kind for request in recorded_run.journal.requests(recorded_run.run.run)):
        # The request stays in the journal, so the next coordinator takes it up; there is no point in waiting for
        # that.
        if not recorded_run.has_coordinator() or recorded_run.has_left():
            return False
        if time.monotonic() > until:
            raise unresponsive_error(recorded_run)
        time.sleep(POLL_INTERVAL)
        sign()
    return True


def unresponsive_error(recorded_run: RecordedRun) -> UnresponsiveError:
    holder = recorded_run.journal.holder()
    pid = "" if holder is None else f" (process {holder.pid})"
    return UnresponsiveError(
        f"the coordinator{pid} is alive and has not handled this within {PATIENCE:.0f} s; it will when it "
        f"responds again. To find the cause, type: weft doctor"
    )


def await_end(recorded_run: RecordedRun, sign: Sign = no_sign) -> None:
    """Waits until the coordinator has exited. It records the end of its run before it exits."""
    while recorded_run.has_coordinator():
        time.sleep(POLL_INTERVAL)
        sign()


def under_way(recorded_run: RecordedRun, subplans: Sequence[str] = ()) -> tuple[str, ...]:
    """Returns the running steps as `store/model:code`."""
    states = recorded_run.journal.states(recorded_run.run.run)
    running = [
        path for path, state in states.items() if state == "running" and _is_within(path, subplans or ("",))
    ]
    fold = RunFold()
    # Reads only the events of the running subplans, so that the answer does not take longer in a large run.
    for glimpse in recorded_run.journal.step_events(recorded_run.run.run, running):
        fold.apply(glimpse.event(), glimpse.at, glimpse.seq)
    steps = [(step, path) for path, row in fold.by_path.items() for step in row.steps.values()]
    steps.sort(key=lambda each: (each[0].started_at, each[0].firing))
    return tuple(f"{path}:{step.step}" for step, path in steps)


def _is_within(path: str, subplans: Sequence[str]) -> bool:
    return any(not subplan or path == subplan or path.startswith(f"{subplan}/") for subplan in subplans)


def refuse_to_retry(
    recorded_run: RecordedRun, names: Sequence[str], *, has_feedback: bool = False, stops: bool = False
) -> tuple[str, ...]:
    """Returns the paths of the subplans to retry; raises an error if they cannot be retried now.

    `stops`: whether an active run is to be stopped first.
    """
    subplans = chosen(recorded_run, names)
    holder = recorded_run.journal.holder()
    if holder is not None and not stops and recorded_run.has_coordinator():
        raise WeftError(
            f"run {recorded_run.run.run} is running (process {holder.pid}); retry when it has ended, or add "
            f"--stop: it stops the run, and a new run continues all of it and retries what has failed"
            + (", with the feedback" if has_feedback else "")
        )
    states = recorded_run.journal.states(recorded_run.run.run)
    if has_feedback:
        from weft.app.control.feedback_check import refuse_feedback  # noqa: PLC0415 - loads the whole plan

        refuse_feedback(recorded_run, {path: states.get(path, "pending") for path in subplans})
    for path in subplans:
        state = states.get(path, "pending")
        if state != "failed" and not (has_feedback and state == "completed"):
            raise InputError(
                f"{path} has not failed: it is {state}; {_instead_of_retry(recorded_run, states)}"
            )
    if not subplans and "failed" not in states.values():
        raise InputError(
            f"nothing has failed in run {recorded_run.run.run}; {_instead_of_retry(recorded_run, states)}"
        )
    if not subplans and recorded_run.state() in UNFINISHED:
        # Without names, the run would be resumed, and in a run what has failed stays failed.
        return _failed_slices(states)
    return subplans


def _failed_slices(states: Mapping[str, str]) -> tuple[str, ...]:
    groups = {path.rpartition("/")[0] for path in states}
    return tuple(path for path, state in states.items() if state == "failed" and path not in groups)


def _instead_of_retry(recorded_run: RecordedRun, states: Mapping[str, str]) -> str:
    if "failed" in states.values():
        return "to retry what has failed, type: weft retry"
    if recorded_run.state() in UNFINISHED:
        return f"to resume the run, type: {recorded_run.start_command()}"
    return f"to repeat everything, type: {recorded_run.start_command()} --fresh"

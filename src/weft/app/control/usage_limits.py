"""End the usage limits of a run early.

An agent that met a usage limit is parked until the limit ends. The user may know that it has ended already: the
provider was wrong, or the account has more credit. As with all requests, the journal stores it: the coordinator
takes it up at once and, without one, the next coordinator does.
"""

import time

from msgspec import Struct

from weft.app.control.control import Sign, await_taken, no_sign
from weft.app.record.journal import RecordedRun
from weft.app.views.run_fold import RunFold
from weft.engine.messages.event_codec import kinds_of
from weft.engine.messages.events import LimitedEvent, LimitsEndedEvent
from weft.terms import UNFINISHED

_KIND = "limits"
_LIMITS = kinds_of(LimitedEvent, LimitsEndedEvent)


class EndedLimits(Struct, frozen=True, kw_only=True):
    """The result of the request."""

    run: str
    agents: tuple[str, ...]
    """The agents that had a usage limit."""
    changed: bool
    """Whether a request was written; False if no agent has a limit or the same request is already pending."""
    alive: bool
    """Whether a coordinator works on the run."""
    state: str
    """The state of the run."""
    start_command: str
    """The command that resumes the run."""


def end_limits(recorded_run: RecordedRun, *, sign: Sign = no_sign) -> EndedLimits:
    """Ends all usage limits of the run and waits until its coordinator, if any, has taken up the request."""
    run, state = recorded_run.run.run, recorded_run.state()
    alive = recorded_run.has_coordinator() and not recorded_run.has_left()
    agents = _limited_agents(recorded_run) if state in UNFINISHED else ()
    # A second request would end limits that the agents meet after the first one has been handled.
    changed = bool(agents) and not any(
        request.kind == _KIND for request in recorded_run.journal.requests(run)
    )
    if changed:
        recorded_run.journal.ask(run, _KIND, subplan="", step="", data={}, at=time.time())
    if agents and alive:
        alive = await_taken(recorded_run, _KIND, sign)
    return EndedLimits(
        run=run,
        agents=agents,
        changed=changed,
        alive=alive,
        state=state,
        start_command=recorded_run.start_command(),
    )


def _limited_agents(recorded_run: RecordedRun) -> tuple[str, ...]:
    fold = RunFold()
    for glimpse in recorded_run.journal.notable_events(recorded_run.run.run):
        if glimpse.kind in _LIMITS:
            fold.apply(glimpse.event(), glimpse.at, glimpse.seq)
    return tuple(sorted({name for limit in fold.signals.limits(time.time()) for name in limit.agents}))

"""Connects a run to its notifications. A plan without `notify` loads no notification code."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from weft.app.project.places import Places
from weft.engine.messages.events import Recorded
from weft.plan.model import Plan
from weft.ports.journal import JournalReader


class NotificationHook(Protocol):
    """Receives the events of a run and sends notifications."""

    def receive(self, events: Sequence[Recorded]) -> None:
        """Takes events that are in the journal already. Returns at once."""
        ...

    async def finish(self) -> None:
        """Waits a bounded time until all notices have been sent."""
        ...


class _NoNotifications:
    def receive(self, events: Sequence[Recorded]) -> None:
        pass

    async def finish(self) -> None:
        pass


def make_hook(
    plan: Plan,
    run: str,
    *,
    places: Places,
    journal: JournalReader,
    observer: object,
    environ: Mapping[str, str],
) -> NotificationHook:
    """Returns the hook of a plan. It reports undelivered notices to `observer` if that is a `NoteListener`."""
    if not plan.notify:
        return _NoNotifications()
    from weft.app.notify.notifier import Notifier  # noqa: PLC0415 - threads and HTTP, which most plans do not need

    return Notifier(plan, history=journal.events(run), places=places, observer=observer, environ=environ)
